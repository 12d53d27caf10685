"""``sgmc train --chains``: independent chains, stopped and resumed as one run."""

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pysgrld.run import RunDirectory, find_chains

from .conftest import BIBLE, SMALL

pytestmark = pytest.mark.cli

SGMC = Path(sys.executable).with_name("sgmc")
#: Long enough to be interrupted, with all files that a chain leaves.
LONG = (*SMALL[:-1], "200", "--eval-every", "25")


def digest(run):
    """Return digests of the latest checkpoint's state and of all stored samples."""
    found = hashlib.sha256()
    newest = max((run / "checkpoints").glob("step-*"))
    found.update((newest / "state.safetensors").read_bytes())
    for path in sorted((run / "samples").glob("step-*")):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def states(folder):
    return [RunDirectory.open(run).status.get("state") for run in find_chains(folder)]


def wait_for(what, seconds=200):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def under_way(folder, number):
    """Return True if all chains have passed their first evaluation."""
    chains = find_chains(folder)
    return len(chains) == number and all((c / "metrics.jsonl").stat().st_size for c in chains)


@contextlib.contextmanager
def started(sgmc, *args):
    """The running command, which is killed if the test fails in the meantime."""
    with sgmc.start(*args) as process:
        try:
            yield process
        finally:
            process.kill()


def ended_midway(sgmc, args, end, chain="chain-*"):
    """Return the process that `end` ended, and its output; a run that was faster is begun again.

    The end comes when a chain of that name has been evaluated.
    """
    metrics = f"all/{chain}/metrics.jsonl"
    for _ in range(10):
        with started(sgmc, *args) as process:
            wait_for(lambda: any(path.stat().st_size for path in sgmc.folder.glob(metrics)))
            end(process)
            said = process.stderr.read()
            process.wait(timeout=60)
        if process.returncode != 0:
            break
        shutil.rmtree(sgmc.folder / "all")
    return process, said


@pytest.fixture(scope="module")
def undisturbed_chains(sgmc_module, quarter):
    sgmc_module("train", quarter, *LONG, "--chains", "3", "--out", "whole", "--threads", "2")
    return [digest(run) for run in find_chains(sgmc_module.folder / "whole")]


def test_each_chain_is_a_run_and_the_first_is_the_plain_one(several, trained, undisturbed):
    """Red with: the number of the chain left out of the keys; held-out documents chosen by it."""
    folder = several.folder / "sgmc-runs/bible-scir"
    chains = find_chains(folder)
    assert [run.name for run in chains] == ["chain-1", "chain-2", "chain-3"]
    found = [several.topics_hash(f"sgmc-runs/bible-scir/{run.name}") for run in chains]
    assert found[0] == undisturbed
    assert len(set(found)) == 3
    plain = trained.folder / "sgmc-runs/bible-scir"
    assert digest(chains[0]) == digest(plain)
    same = [f"holdout/{part}/counts.npz" for part in ("observed", "held-out")]
    same += ["vocab.txt", "word-counts.npy"]
    for run in chains:
        assert RunDirectory.open(run).status["state"] == "finished"
        for name in same:
            assert (run / name).read_bytes() == (plain / name).read_bytes(), name
    assert [RunDirectory.open(run).config["options"]["chain-id"] for run in chains] == [1, 2, 3]


def test_the_end_names_what_can_be_looked_at(sgmc, quarter):
    """Red with: no 'sgmc eval', which scores all chains together; one where nothing is held out."""
    short = ("train", quarter, *SMALL, "--iterations", "25", "--chains", "2")
    looks = ["diagnose", "report --open", "topics"]
    for out, more, commands in (("a", (), [*looks, "eval"]), ("b", ("--holdout", "0"), looks)):
        said = sgmc(*short, *more, "--out", out).stderr.splitlines()[-len(commands) - 1 :]
        assert said[0].endswith(f"2 chains are in {out}; look at the results with:")
        assert [line.split("sgmc ")[1] for line in said[1:]] == [f"{c} {out}" for c in commands]


def test_figures_of_another_chain_are_those_of_its_training(several):
    """Red with: documents scored, or rows looked at, with the first chain's keys."""
    run = several.folder / "sgmc-runs/bible-scir/chain-2"
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    found = json.loads(several("eval", "bible-scir/chain-2", "--json").stdout)
    for name in ("perplexity", "point_perplexity", "unigram_perplexity"):
        assert found[name] == last[name]


def test_eval_scores_the_mean_of_all_chains_below_that_of_the_first(several):
    """Red with: a mean of logarithms, or of perplexities; another chain's figures as the first's."""
    folder = several.folder / "sgmc-runs/bible-scir"
    chains = find_chains(folder)
    p = [
        RunDirectory.open(run).load_checkpoint(required=True).arrays["completion.mean"]
        for run in chains
    ]
    counts = np.load(chains[0] / "holdout/held-out/counts.npz")["counts"]
    expected = np.exp(-(counts @ np.log(np.mean(p, axis=0))) / counts.sum())
    found = json.loads(several("eval", "bible-scir", "--json").stdout)
    alone = json.loads(several("eval", "bible-scir/chain-1", "--json").stdout)
    assert found["pooled_perplexity"] == pytest.approx(expected, rel=1e-12)
    assert found["chains"] == 3
    assert found["perplexity"] == alone["perplexity"] > found["pooled_perplexity"]
    assert not {"chains", "pooled_perplexity"} & alone.keys()
    assert re.search(r"^  all 3 chains +[\d,]+ ± ", several("eval").stdout, re.MULTILINE)


def test_eval_of_other_documents_pools_the_samples_of_all_chains(several, tmp_path):
    _, words, _, *lines = gzip.decompress(BIBLE.read_bytes()).decode().splitlines()
    lines = [line for line in lines if int(line.split()[0]) <= 60]
    path = tmp_path / "docword.first.txt"
    path.write_text("\n".join(["60", words, str(len(lines)), *lines]) + "\n")
    shutil.copy(BIBLE.with_name("vocab.bible.txt"), tmp_path / "vocab.first.txt")
    others = ("--corpus", path, "--json")
    found = json.loads(several("eval", "bible-scir", *others).stdout)
    each = [
        json.loads(several("eval", f"bible-scir/chain-{i}", *others).stdout)["perplexity"]
        for i in (1, 2, 3)
    ]
    assert found["perplexity"] == each[0]
    assert 0.8 * min(each) < found["pooled_perplexity"] < np.exp(np.log(each).mean())


def test_eval_leaves_out_a_chain_without_a_checkpoint_and_says_so(several):
    run = several.folder / "sgmc-runs/bible-scir/chain-2"
    (run / "checkpoints").rename(run / "gone")
    try:
        done = several("eval", "bible-scir", "--json")
    finally:
        (run / "gone").rename(run / "checkpoints")
    assert json.loads(done.stdout)["chains"] == 2
    assert "chain-2: has no readable checkpoint and is ignored" in done.stderr


def test_the_corpus_is_stored_once(several):
    folder = several.folder / "sgmc-runs/bible-scir"
    assert (folder / "corpus" / "meta.json").is_file()
    assert not list(folder.glob("chain-*/corpus"))


def test_commands_take_all_chains_unless_one_is_named(several):
    assert (several.folder / "sgmc-runs/latest").read_text() == "bible-scir\n"
    for command in (["topics"], ["topics", "bible-scir"]):
        assert "of each of 3 chains" in several(*command).stdout
    assert "bible-scir/chain-1" in several("eval").stdout
    assert "bible-scir/chain-2" in several("topics", "bible-scir/chain-2").stdout


def test_a_chain_of_a_job_array_is_the_chain_of_that_number(sgmc, several):
    sgmc.train("--chain-id", "3", "--threads", "1", out="array/chain-3")
    folder = several.folder / "sgmc-runs/bible-scir"
    assert digest(sgmc.folder / "array/chain-3") == digest(folder / "chain-3")
    other = sgmc.train("--chain-id", "2", out="array/chain-3", code=78)
    assert "chain-id: 3 -> 2" in other.stderr


@pytest.mark.parametrize(
    "number",
    [
        # as the test below, and tests/faults/test_chains.py, which asks chains to stop by each of them
        pytest.param(signal.SIGTERM, marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, marks=pytest.mark.nightly),
        pytest.param(signal.SIGUSR1, marks=pytest.mark.nightly),
    ],
)
def test_a_signal_to_the_parent_stops_all_and_the_same_command_goes_on(
    sgmc, quarter, undisturbed_chains, number
):
    """Red with: orders sent to the first chain only; a resumed chain given another number."""
    args = ("train", quarter, *LONG, "--chains", "3", "--out", "all")
    process, said = ended_midway(sgmc, args, lambda process: process.send_signal(number))
    assert process.returncode == 85, said
    assert f"sgmc: {number.name}: chains" in said
    assert "interrupted" in states(sgmc.folder / "all")
    assert "Traceback" not in said
    done = sgmc(*args)
    assert "resumes from iteration" in done.stderr
    assert [digest(run) for run in find_chains(sgmc.folder / "all")] == undisturbed_chains


def test_a_killed_chain_does_not_end_the_others(sgmc, quarter, undisturbed_chains):
    args = ("train", quarter, *LONG, "--chains", "3", "--out", "all")

    def kill(process):
        pid = RunDirectory.open(sgmc.folder / "all/chain-2").status["pid"]
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    process, said = ended_midway(sgmc, args, kill, "chain-2")
    assert process.returncode == 87, said
    assert "chain 2: error: was killed by SIGKILL, most often because memory ran out" in said
    assert "chain 2 failed, and 2 of 3 are done" in said
    assert states(sgmc.folder / "all")[::2] == ["finished", "finished"]
    done = sgmc(*args)
    assert done.stderr.count("already finished; nothing to do") == 2
    assert [digest(run) for run in find_chains(sgmc.folder / "all")] == undisturbed_chains


def test_chains_end_in_order_when_the_parent_is_killed(sgmc, quarter, undisturbed_chains):
    """Red with: the end of the pipe not heard."""
    chains = ("--chains", "2", "--out", "all")
    args = ("train", quarter, *LONG, "--iterations", "1000000", *chains)
    with started(sgmc, *args) as process:
        wait_for(lambda: under_way(sgmc.folder / "all", 2))
        process.kill()
        process.wait()
    wait_for(lambda: states(sgmc.folder / "all") == ["interrupted"] * 2)
    reason = RunDirectory.open(sgmc.folder / "all/chain-1").status["reason"]
    assert "the command that started the runs has ended" in reason
    steps = [RunDirectory.open(run).status["step"] for run in find_chains(sgmc.folder / "all")]
    wait_for(lambda: not any(held(run) for run in find_chains(sgmc.folder / "all")))
    if max(steps) < 200:
        sgmc("train", quarter, *LONG, *chains)
        found = [digest(run) for run in find_chains(sgmc.folder / "all")]
        assert found == undisturbed_chains[:2]


def held(run):
    with (run / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def test_a_second_interrupt_ends_all_at_once(sgmc):
    """Red with: the chains left to end by themselves."""
    # One iteration takes seconds, so none ends between the two interrupts.
    seconds = ("-k", "100", "--sweeps", "10000", "--iterations", "1000", "--set", "starts=1")
    args = ("train", BIBLE, *seconds, "--chains", "2", "--out", "all")
    with started(sgmc, *args) as process:
        wait_for(lambda: states(sgmc.folder / "all") == ["running"] * 2)
        pids = [RunDirectory.open(run).status["pid"] for run in find_chains(sgmc.folder / "all")]
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        # two signals that reach a process in a pause are one, so another one follows
        ends = threading.Timer(5.0, process.send_signal, [signal.SIGINT])
        ends.start()
        said = process.stderr.read()
        ends.cancel()
        assert process.wait(timeout=60) == 130, said
    assert "stopped immediately" in said
    assert "Traceback" not in said
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    # No iteration was waited for; a chain that had not begun its first one may have said so.
    found = (sgmc.folder / "all").glob("chain-*/checkpoints/step-*")
    assert {path.name for path in found} <= {"step-00000000"}


def test_a_chain_that_is_held_fails_alone_with_its_code(sgmc, quarter):
    args = ("train", quarter, *SMALL, "--chains", "2", "--out", "all")
    sgmc(*args, "--iterations", "30")
    with (sgmc.folder / "all/chain-2/lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        said = sgmc(*args, code=75).stderr
    assert "chain 2: error: all/chain-2: is " in said
    assert RunDirectory.open(sgmc.folder / "all/chain-1").status["step"] == 60


def test_more_chains_can_be_added_and_done_ones_are_left(sgmc, quarter):
    args = ("train", quarter, *SMALL, "--iterations", "30")
    sgmc(*args, "--chains", "2")
    first = (sgmc.folder / "sgmc-runs/bible-scir/chain-1/log.jsonl").read_bytes()
    done = sgmc(*args, "--chains", "3")
    assert done.stderr.count("already finished") == 2
    assert (sgmc.folder / "sgmc-runs/bible-scir/chain-1/log.jsonl").read_bytes() == first
    sgmc(*args, "--chains", "3")  # all chains are done: a new folder is made, as for a single run
    added, begun = (
        [digest(run) for run in find_chains(sgmc.folder / "sgmc-runs" / name)]
        for name in ("bible-scir", "bible-scir-2")
    )
    assert added == begun
    assert len(begun) == 3
    assert (sgmc.folder / "sgmc-runs/latest").read_text() == "bible-scir-2\n"


def test_text_is_read_once_for_all_chains(sgmc):
    lines = Path(__file__).parents[1] / "data" / "tiny.txt"
    text = "".join(f"{line}\n" for line in lines.read_text().splitlines() for _ in range(20))
    (sgmc.folder / "some.txt").write_text(text)
    args = (
        "train",
        "some.txt",
        "-k",
        "2",
        "--iterations",
        "5",
        "--algo",
        "gibbs",
        "--min-df",
        "1",
        "--max-df",
        "1.0",
        "--chains",
        "2",
        "--out",
        "all",
    )
    said = sgmc(*args).stderr
    assert said.count("reading: ") <= 1
    assert not list((sgmc.folder / "all").glob("chain-*/corpus"))
    prints = {
        RunDirectory.open(run).config["corpus"]["fingerprint"]
        for run in find_chains(sgmc.folder / "all")
    }
    assert len(prints) == 1
    (sgmc.folder / "all").rename(sgmc.folder / "moved")
    found = json.loads(sgmc("eval", "moved", "--coherence", "--json").stdout)
    assert found["coherence"]["documents"] > 0


def test_a_stored_corpus_is_read_where_it_lies(sgmc, quarter):
    sgmc("corpus", "build", quarter, "-o", "built")
    sgmc("train", "built", *SMALL, "--iterations", "2", "--chains", "2", "--out", "all")
    assert sorted(p.name for p in (sgmc.folder / "all").iterdir()) == ["chain-1", "chain-2"]


def test_a_stream_is_read_by_each_chain(sgmc):
    sgmc(
        "train",
        sgmc.corpus,
        *SMALL[:-1],
        "8",
        "--corpus-size",
        "280",
        "--set",
        "shuffle-buffer=80",
        "--chains",
        "2",
        "--out",
        "all",
    )
    chains = find_chains(sgmc.folder / "all")
    assert digest(chains[0]) != digest(chains[1])
    same = [(run / "holdout/observed/counts.npz").read_bytes() for run in chains]
    assert same[0] == same[1]


def test_memory_is_that_of_all_chains(sgmc):
    args = ("train", BIBLE, *SMALL, "--iterations", "25", "--out", "all", "--max-memory", "210M")
    said = sgmc(*args, "--chains", "3", code=87).stderr
    assert "each of 3 runs at a time needs about" in said
    assert "use fewer --chains" in said
    assert not (sgmc.folder / "all").exists()
    sgmc(*args, "--chains", "2")


def test_threads_are_shared_out(sgmc, quarter):
    sgmc(
        "train",
        quarter,
        *SMALL,
        "--iterations",
        "2",
        "--chains",
        "2",
        "--out",
        "all",
        "--threads",
        "5",
    )
    for run in find_chains(sgmc.folder / "all"):
        assert RunDirectory.open(run).config["options"]["threads"] == 2


def test_a_json_log_names_the_chain_of_every_line(sgmc, quarter):
    done = sgmc("train", quarter, *SMALL, "--chains", "2", "--out", "all", "--json-log")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    ends = [
        line["chain"] for line in lines if line["event"] == "evaluation" and line["iteration"] == 60
    ]
    assert sorted(ends) == [1, 2]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-", "--chains", "2"], 2, "store it first with 'sgmc corpus build"),
        ([BIBLE, "--chains", "2", "--chain-id", "2"], 2, "--chain-id does not apply to --chains"),
        ([BIBLE, "--chains", "0"], 2, "--chains"),
        ([BIBLE, "--chains", "two"], 2, "--chains"),
        ([BIBLE, "--chain-id", "0"], 2, "--chain-id"),
        (["nothing.txt", "--chains", "2"], 66, "nothing.txt"),
        ([BIBLE, "--chains", "2", "--resume", "nobody"], 66, "is not a folder of chains"),
    ],
)
def test_bad_usage_is_said_in_one_line(sgmc, args, code, said):
    done = sgmc("train", *args, "--iterations", "2", code=code)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(sgmc.folder.iterdir()) == []


def test_folders_that_hold_something_else_are_refused(sgmc):
    short = {"base": (*SMALL, "--iterations", "21")}
    sgmc.train(out="plain", **short)
    said = sgmc.train("--chains", "2", out="plain", code=73, **short).stderr
    assert "contains a single run instead of chains" in said
    sgmc.train("--chains", "2", out="all", **short)
    assert "give --chains too" in sgmc.train(out="all", code=73, **short).stderr
    again = sgmc.train("--chains", "2", "--resume", "never", out="all", code=73, **short).stderr
    assert "'--resume never' starts a new run" in again
    other = sgmc.train("--chains", "2", "--seed", "4", out="all", code=78, **short).stderr
    assert "all/chain-1: contains a chain with other options" in other
    assert "seed: 0 -> 4" in other
    sgmc.train("--chains", "2", "--resume", "all", out="all", **short)


def test_a_closed_standard_error_stops_nothing(sgmc, quarter):
    command = [
        SGMC,
        "train",
        quarter,
        *SMALL,
        "--iterations",
        "20",
        "--chains",
        "2",
        "--out",
        "all",
    ]
    line = " ".join(map(str, command)) + " 2>&-"
    done = subprocess.run(["sh", "-c", line], cwd=sgmc.folder, check=False, timeout=120)
    assert done.returncode == 0
    assert states(sgmc.folder / "all") == ["finished", "finished"]


def test_a_checkpoint_of_all_is_asked_for_by_a_signal(sgmc, quarter):
    args = ("train", quarter, *LONG, "--iterations", "1000000", "--chains", "2", "--out", "all")
    with started(sgmc, *args) as process:
        wait_for(lambda: under_way(sgmc.folder / "all", 2))
        os.kill(process.pid, signal.SIGUSR2)
        folders = [run / "checkpoints" for run in find_chains(sgmc.folder / "all")]
        wait_for(lambda: all(list(folder.glob("step-*")) for folder in folders))
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=60) == 85


@pytest.mark.nightly
def test_a_time_limit_is_that_of_all_chains(sgmc, quarter):
    """tests/faults/test_chains.py has the same with one that is suspended."""
    args = ("train", quarter, *LONG, "--iterations", "1000000", "--chains", "2", "--out", "all")
    said = sgmc(*args, "--time-limit", "12s", code=85).stderr
    assert "sgmc: time limit: chains 1, 2 stopped" in said
    reasons = [RunDirectory.open(run).status["reason"] for run in find_chains(sgmc.folder / "all")]
    assert reasons == ["time limit", "time limit"]


def test_an_error_of_the_disk_is_said_of_each_chain_with_its_code(sgmc, quarter):
    fail = os.environ | {"SGMC_TEST": "1", "SGMC_FAILPOINT": "commit.rename:ENOSPC:1+"}
    args = ("train", quarter, *SMALL, "--chains", "2", "--out", "all", "-q")
    done = sgmc(*args, code=74, env=fail)
    assert "chain 1: error: all/chain-1" in done.stderr
    assert "chain 2: error: all/chain-2" in done.stderr
    assert "chains 1, 2 failed, and 0 of 2 are done" in done.stderr
    assert "Traceback" not in done.stderr
