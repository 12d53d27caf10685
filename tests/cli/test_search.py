"""The search on the command line: the same decisions whatever stops it, and on any processes."""

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.models.choices import Choices
from pysgrld.options.priors import usual_topics
from pysgrld.run import _failpoints
from pysgrld.run.lock import hold
from pysgrld.search.folder import SearchRequest, find
from pysgrld.search.plan import Contender
from pysgrld.search.rounds import Cell, Round

from .conftest import Sgmc

#: A search of seconds, over a corpus of four topics; one is dropped in the first round.
ARGS = ("-k", "2,4,6", "--threads", "1", "--sweeps", "4", "--set", "warm-up=20", "--epochs", "80")
ARGS += ("--set", "starts=1", "--alpha", "0.1")
FILES = ("search.json", "rounds.jsonl")
#: Folder of a search without --out.
PLACE = "sgmc-runs/planted-search"


def write_planted(folder, name="planted", seed=3):
    """Write documents of two out of four topics, each topic with twelve words."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(240):
        topics = rng.choice(4, 2, replace=False)
        of = np.where(rng.random(24) < 0.7, topics[0], topics[1])
        lines.append(" ".join(f"w{12 * t + int(12 * rng.random() ** 2)}" for t in of))
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


def decisions(folder):
    return [(folder / name).read_bytes() for name in FILES]


class Searched(NamedTuple):
    """A finished search: its folder, its tasks, and its output."""

    folder: Path
    rounds: list[int]
    stopped: CompletedProcess
    ended: CompletedProcess


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A search by array tasks, which is once stopped immediately. Not to be changed."""
    folder, rounds = tmp_path_factory.mktemp("search"), []
    write_planted(folder)

    sgmc = Sgmc(folder)

    def search(*args, code=0):
        narrow = os.environ | {"COLUMNS": "80"}
        return sgmc("search", *args, "-q", "--threads", "1", code=code, env=narrow)

    said = search("planted.txt", *ARGS, "--out", PLACE, "--tasks").stdout
    while number := int(said):
        rounds.append(number)
        for task in range(number, 0, -1):
            search(PLACE, "--task", task)
        said = search(PLACE, "--tasks").stdout
        if len(rounds) == 1:
            stopped = search(PLACE, "--time-limit", "0.001s", code=85)
    return Searched(folder, rounds, stopped, search(PLACE))


@pytest.fixture
def fresh(tmp_path):
    """A folder with the corpus, in which no search has begun."""
    write_planted(tmp_path)
    return Sgmc(tmp_path)


@pytest.fixture
def within(whole, monkeypatch):
    """Call the command in this process, where the undisturbed search is."""
    monkeypatch.chdir(whole.folder)

    def call(*args, code=0, **env):
        done = CliRunner().invoke(main, list(args), env=env)
        assert done.exit_code == code, done.output
        return done

    return call


def kill_in(command, *args, word):
    """Kill a search and all its processes when a line contains the given word."""
    with command.start("search", "planted.txt", *args) as process:
        for line in process.stderr:
            if re.search(word, line):
                break
        process.kill()
        pids = [
            status["pid"]
            for path in command.folder.rglob("status.json")
            if (status := json.loads(path.read_text()))["state"] == "running"
        ]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(timeout=60)
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_planted_number_of_topics_is_in_the_answers_range(whole, within):
    """As JSON has it, where it is asked for once more by its folder."""
    told = json.loads(within("search", "planted-search", "--json", "--threads", "1").stdout)
    sizes = {row["name"]: row["topics"] for row in told["rows"]}
    assert sizes[told["smallest"]] <= 4 <= sizes[told["best"]]
    planted = next(row for row in told["rows"] if row["topics"] == 4)
    assert planted["found"] > 0.95
    assert [row["dropped"] for row in told["rows"]] == [32, None, None]
    assert all((whole.folder / path).is_file() for path in told["files"])


def test_the_table_and_two_answers_are_printed(whole):
    out = whole.ended.stdout
    assert "For predicting: K = " in out
    assert "For reading: " in out
    head, first, *_ = out.splitlines()
    assert head.endswith("dropped after")
    assert (first[:5], first[-9:]) == ("K = 2", "32 epochs")
    assert max(map(len, out.partition("Look at")[0].splitlines())) <= 80


def test_decisions_are_those_of_an_array_after_a_kill_in_every_round_and_for_two_jobs(whole, fresh):
    """And before there is a plan. Red with: a round begun anew; decisions that look at the clock; chains
    of the last round numbered otherwise; a folder that is told in the plan."""
    for word in ("held-out", r"k-4: .* done", r"k-6, chain 1: .* done"):
        kill_in(fresh, *ARGS, "--out", "killed", word=word)
    done = fresh("search", "planted.txt", *ARGS, "--out", "killed", "--jobs", "2")
    assert "round 1" not in done.stderr
    assert "For reading: " in done.stdout
    assert decisions(fresh.folder / "killed") == decisions(whole.folder / PLACE)


def test_an_array_has_the_tasks_of_each_round(whole, within):
    assert whole.rounds == [3, 4]
    assert "nothing to do" in within("search", PLACE, "--task", "1").stderr


def test_a_search_that_is_stopped_prints_what_is_known_so_far(whole):
    """Red with: nothing on standard output; what was dropped among those that are left."""
    out, err = whole.stopped.stdout, whole.stopped.stderr
    assert [line.split()[-1] for line in out.splitlines()] == ["2", "epochs", "done", "done"]
    assert out.count("0 of 2 chains done") == 2
    assert err.endswith("run the same command again to continue\n")


def test_a_search_of_a_stored_corpus_goes_on_by_its_folder(fresh, monkeypatch):
    """Red with: a corpus looked for in the search's own folder alone; another one taken for it."""
    monkeypatch.chdir(fresh.folder)

    def sgmc(*args):
        return CliRunner().invoke(main, [*args, "--threads", "1", "-q"])

    sgmc("corpus", "build", "planted.txt", "-o", "built")
    begun = sgmc("search", "built", "-k", "2,4", "--epochs", "4", "--out", "s", "--tasks")
    assert begun.stdout == "4\n"
    trained = sgmc("search", "s", "--task", "1")
    assert trained.exit_code == 0, trained.output
    assert (fresh.folder / "s/k-2/chain-1/status.json").is_file()

    (fresh.folder / "built").rename(fresh.folder / "before")
    write_planted(fresh.folder, "other", seed=4)
    sgmc("corpus", "build", "other.txt", "-o", "built")
    refused = sgmc("search", "s", "--task", "2")
    assert (refused.exit_code, "its corpus is no longer at" in refused.stderr) == (66, True)


def test_a_run_that_was_killed_as_it_went_on_is_not_done(fresh, monkeypatch):
    """Its record has the budget of the next round before it has trained. Red with: status
    written last."""
    monkeypatch.chdir(fresh.folder)
    cell = Cell(Contender("k-2", (0,), {"topics": 2}), 1)
    current_round = Round(2, 2.0, False, (cell,))

    def train(epochs):
        args = ("-k", "2", "--threads", "1", "--epochs", epochs, "--out", "k-2/chain-1")
        return CliRunner().invoke(main, ["train", "planted.txt", *args]).exit_code

    assert train(1) == 0
    _failpoints.arm("status.*:EIO:1+")
    try:
        assert train(2) != 0
    finally:
        _failpoints.arm(None)
    assert not current_round.is_done(cell, fresh.folder)
    assert train(2) == 0
    assert current_round.is_done(cell, fresh.folder)


def test_a_search_that_another_process_holds_is_refused(whole, within):
    with hold(whole.folder / PLACE / "lock"):
        done = within("search", "planted-search", code=75)
    assert "is in use by host" in done.stderr


def test_a_search_is_a_line_and_its_runs_are_listed_where_they_are_asked_for(within):
    """Red with: runs of searches among the others; those of one that is named put together, too."""
    head, line, *rest = within("runs", COLUMNS="120").stdout.splitlines()
    assert (head.split()[0], rest) == ("run", [])
    assert line.split()[:5] == ["planted-search", "lda", "scir", "2,4,6", "216"]
    assert " 3 settings, finished  perplexity 22." in line
    for args, first in (
        (("--all",), "planted-search/k-2/chain-1"),
        ((PLACE,), "k-2/chain-1"),
        (("planted-search",), "k-2/chain-1"),
    ):
        _, *lines = within("runs", *args, COLUMNS="120").stdout.splitlines()
        assert len(lines) == 5
        assert lines[0].split()[:4] == [first, "lda", "scir", "2"]
        assert all("finished" in line and "perplexity" in line for line in lines)
    assert len(json.loads(within("runs", "--json").stdout)) == 5


def test_what_makes_no_sense_is_said_in_a_line(fresh, monkeypatch):
    """Each ends with the code of its kind, and makes nothing."""
    monkeypatch.chdir(fresh.folder)
    (fresh.folder / "full").mkdir()
    (fresh.folder / "full" / "a").write_text("mine")
    for args, code, said in (
        (("-k", "5,x"), 2, "is not a whole number"),
        (("-k", "5,0"), 2, "is not a whole number"),
        (("-k", "5-20"), 2, "separated by commas, such as 10,20,50"),
        (("-k", "5,5"), 2, "twice"),
        (("-k", ""), 2, "is not a whole number"),
        (("-k", "5", "--chains", "1"), 2, "leaves nothing to compare"),
        (("--grid", "eta=x"), 2, "--grid: 'x' is not a number"),
        (("--holdout", "0"), 2, "no documents for comparisons"),
        (("--model", "dpmm", "-k", "5,6"), 2, "--topics does not apply to --model dpmm"),
        (("--tasks", "--task", "2"), 2, "contradict"),
        (("--task", "2", "--jobs", "2"), 2, "--jobs does not apply to --task"),
        (("--task", "2", "--json"), 2, "--json does not apply to --task"),
        (("--task", "2"), 66, "does not exist yet"),
        (("--out", "full"), 73, "contains no search"),
    ):
        done = CliRunner().invoke(main, ["search", "planted.txt", *args])
        assert done.exit_code == code, (args, done.output)
        assert said in done.output
        assert len(done.output.splitlines()) == 1
    done = CliRunner().invoke(main, ["search", "-"])
    assert "store it first" in done.output
    done = CliRunner().invoke(main, ["search", "missing.txt", "-k", "5,10"])
    assert (done.exit_code, "no such file" in done.output) == (66, True)
    assert not (fresh.folder / "sgmc-runs").exists()


def test_another_list_has_a_folder_of_its_own_and_the_same_one_is_found_again(fresh, monkeypatch):
    """So has another corpus of the same name. Red with: either look at what a folder holds left out."""
    monkeypatch.chdir(fresh.folder)
    for topics, number, folder, seed in (
        ("2,4", "2\n", "planted-search", 3),
        ("2,4,8", "3\n", "planted-search-2", 3),
        ("2,4", "2\n", "planted-search", 3),
        ("2,4", "2\n", "planted-search-3", 4),
        ("2,4", "2\n", "planted-search", 3),
    ):
        write_planted(fresh.folder, seed=seed)
        done = CliRunner().invoke(main, ["search", "planted.txt", "-k", topics, "--tasks"])
        assert done.stdout == number, done.output
        plan = json.loads((fresh.folder / "sgmc-runs" / folder / "search.json").read_text())
        assert ",".join(str(c["options"]["topics"]) for c in plan["contenders"]) == topics
    assert sorted(p.name for p in (fresh.folder / "sgmc-runs").iterdir()) == [
        "planted-search",
        "planted-search-2",
        "planted-search-3",
    ]


def test_a_search_without_numbers_finds_its_folder_again(fresh, monkeypatch):
    """Red with: numbers for a corpus that is not read yet; a second folder for the same search."""
    monkeypatch.chdir(fresh.folder)
    for _ in range(2):
        done = CliRunner().invoke(main, ["search", "planted.txt", "--tasks"])
        assert done.stdout == "3\n", done.output
    (folder,) = (fresh.folder / "sgmc-runs").iterdir()
    plan = json.loads((folder / "search.json").read_text())
    usual = usual_topics(plan["corpus"]["training_tokens"])
    assert [c["options"]["topics"] for c in plan["contenders"]][1:] == [usual, 2 * usual]
    assert find(SearchRequest(["planted.txt"], Choices({}))).name == folder.name


def test_another_search_is_not_taken_for_the_one_that_is_there(whole, monkeypatch):
    """Red with: the number of chains, or the corpus, left out of what must not change."""
    folder = PLACE
    monkeypatch.chdir(whole.folder)
    write_planted(whole.folder, "other", seed=4)
    for args, said in (
        (
            ("planted.txt", *ARGS, "-k", "2,4", "--out", folder),
            "list of settings: k-2, k-4, k-6 -> k-2, k-4",
        ),
        (("planted.txt", *ARGS, "--chains", "3", "--out", folder), "chains: 2 -> 3"),
        (("planted.txt", *ARGS, "--seed", "9", "--out", folder), "seed: none -> 9"),
        (("other.txt", *ARGS, "--out", folder), "corpus: "),
        ((folder, "-k", "3"), "resumes with its original options; leave out -k"),
    ):
        done = CliRunner().invoke(main, ["search", *args])
        assert done.exit_code == 78, (args, done.output)
        assert said in done.output
    assert decisions(whole.folder / folder)[1].count(b"\n") == 2
