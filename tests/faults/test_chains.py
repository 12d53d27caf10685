"""Several chains, one of which is suspended, silent or killed: it is named, and the others end."""

import contextlib
import os
import signal
import subprocess
import time

import pytest
from faults import children
from faults.forks import wait_until
from faults_runs import SGMC, command_line, sgmc, write_corpus

from pysgrld.errors import Interrupted
from pysgrld.run import RunDirectory, StopFlag, find_chains
from pysgrld.train import processes, several

#: A budget that is never used up: no test waits for it.
ENDLESS = command_line(iterations=10_000_000, eval_every="1h", checkpoint_every="1h")


class Heard:
    """A watcher that stores what chains report."""

    def __init__(self):
        self.lines = []

    def of_run(self, number, event, *values):
        self.lines.append((number, event, *values))


@contextlib.contextmanager
def chains(folder, *more, number=2):
    """Chains running in ``folder/all``, and the process that started them; all end with the test."""
    write_corpus(folder / "corpus.txt")
    command = [
        SGMC,
        "train",
        "corpus.txt",
        *ENDLESS,
        "--chains",
        str(number),
        "--out",
        "all",
        *more,
    ]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: status(folder) == ["running"] * number or process.poll() is not None)
            runs = find_chains(folder / "all") if process.poll() is None else []
            yield process, [RunDirectory.open(run).status["pid"] for run in runs]
        finally:
            process.kill()


def status(folder):
    return [RunDirectory.open(run).status.get("state") for run in find_chains(folder / "all")]


def ended(process, within=120):
    """Return the exit code and the output, if in time."""
    said = process.communicate(timeout=within)[1]
    assert "Traceback" not in said
    return process.returncode, said


@pytest.mark.row(75)
@pytest.mark.parametrize(
    "number",
    # the others stop a chain that is not suspended, too: tests/faults/test_signals.py
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.nightly) for n in (signal.SIGINT, signal.SIGUSR1)),
    ],
)
def test_a_suspended_chain_is_woken_to_stop(tmp_path, trials, number):
    """Red with: chains asked, and not woken: the parent waited for ever."""
    with chains(tmp_path) as (process, pids):
        os.kill(pids[1], signal.SIGSTOP)
        os.kill(process.pid, number)
        code, said = ended(process)
    assert code == 85
    assert f"{number.name}: chains 1, 2 stopped, with a checkpoint of each" in said
    assert status(tmp_path) == ["interrupted"] * 2
    trials()


@pytest.mark.row(75)
def test_a_suspended_chain_does_not_outlast_the_time_limit(tmp_path, trials):
    """Red with: the time limit left to the chains alone."""
    for limit in (6, 24, 96):  # on a slow machine the first limits end a run that has only begun
        folder = tmp_path / str(limit)
        folder.mkdir()
        with chains(folder, "--time-limit", f"{limit}s") as (process, pids):
            for pid in pids[1:]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            is_suspended = pids and status(folder) == ["running"] * 2
            code, said = ended(process, 240)
        if is_suspended:
            break
    assert code == 85
    assert "sgmc: time limit: chains 1, 2 stopped" in said
    assert status(folder) == ["interrupted"] * 2
    assert RunDirectory.open(folder / "all" / "chain-1").status["reason"] == "time limit"
    trials()


@pytest.mark.row(75)
def test_a_chain_that_does_nothing_is_killed_and_named(monkeypatch, trials):
    """Red with: the process waited for without an end."""
    monkeypatch.setattr(processes, "in_process", children.chain)
    hear = processes._handle_event

    def hear_and_wait_less(run, *args):
        hear(run, *args)
        monkeypatch.setattr(processes, "GRACE", 1.0)  # the chain that obeys has ended

    monkeypatch.setattr(processes, "_handle_event", hear_and_wait_less)
    stop, heard = StopFlag(), Heard()
    stop.stop("SIGTERM")
    began = time.monotonic()
    found = processes.run_all(["deaf", "obeys"], heard, stop)
    assert time.monotonic() - began < 200
    why = "did nothing for 1 seconds when asked to stop, and was killed"
    assert heard.lines == [(1, "failed", why)]
    with pytest.raises(
        Interrupted, match=r"SIGTERM: chain 2 stopped, .*; chain 1 failed, see above"
    ):
        processes.raise_failures(found, several._named, "all")
    trials()


@pytest.mark.row(76)
@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("SIGKILL", 87),
        *(pytest.param(name, 70, marks=pytest.mark.nightly) for name in ("SIGSEGV", "SIGABRT")),
    ],
    ids=str,
)
def test_the_signal_that_ended_a_chain_is_named(tmp_path, trials, number, code):
    """Red with: a chain that was killed told of without the signal."""
    with chains(tmp_path) as (process, pids):
        os.kill(pids[1], signal.Signals[number])
        said = "".join(iter_until(process.stderr, "chain 2: error"))
        os.kill(process.pid, signal.SIGTERM)
        found, rest = ended(process)
    assert f" by {number}" in said
    assert found == 85
    assert "chain 1 stopped" in rest
    assert "chain 2 failed, see above; run the same command again" in rest
    done = sgmc(
        tmp_path,
        "train",
        "corpus.txt",
        *ENDLESS,
        *("--iterations", "1", "--chains", "2", "--out", "all"),
    )
    assert "2 chains are in all" in done.stderr
    trials()


@pytest.mark.row(76)
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "was killed by SIGKILL, most often because memory ran out"),
        (signal.SIGSEGV, "was ended by SIGSEGV"),
    ],
)
def test_a_chain_killed_while_it_stops_is_not_said_to_have_saved(monkeypatch, trials, number, said):
    """Red with: every process that ended by a signal after a stop counted as stopped in order."""
    monkeypatch.setattr(processes, "in_process", children.chain)
    stop, heard = StopFlag(), Heard()
    start = processes._start

    def start_and_kill(tasks, chains, stop):
        start(tasks, chains, stop)
        os.kill(chains[-1].process.pid, number)

    monkeypatch.setattr(processes, "_start", start_and_kill)
    stop.stop("SIGTERM")
    processes.run_all(["deaf"], heard, stop)
    assert heard.lines == [(1, "failed", said)]
    trials()


def iter_until(lines, word):
    """Return the lines up to the first with the given word."""
    for line in lines:
        yield line
        if word in line:
            return
