"""Signals, limits and suspension: a checkpoint, exit code 85, and then the same model."""

import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from faults.forks import wait_until
from faults.records import check_intact, events, left_behind, metrics, record
from trial_counts import counts

from pysgrld.run import RunDirectory

STOPS = [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGXCPU]

#: A run that does not end by itself.
ENDLESS = ("--iterations", "1000000", "--eval-every", "1h", "--checkpoint-every", "1h")


@pytest.fixture(scope="module")
def undisturbed(forks_of_module):
    forks = forks_of_module
    forks(*forks.train())
    return record(forks.folder / "run"), metrics(forks.folder / "run")


def ended_by(run, number, step):
    """Check that the run was interrupted by the signal after the iteration, with a checkpoint."""
    status = RunDirectory.open(run).status
    assert (status["state"], status["reason"]) == ("interrupted", signal.Signals(number).name)
    assert (status["step"], check_intact(run)) == (step, step)


@pytest.mark.row(8)
@counts(1, 40)
@pytest.mark.parametrize(
    "number",
    # the others are answered as the next test has it
    [
        *(signal.SIGUSR1, signal.SIGINT),
        *(pytest.param(n, marks=pytest.mark.nightly) for n in (signal.SIGTERM, signal.SIGXCPU)),
    ],
)
def test_a_signal_at_a_random_step_ends_it_after_that_step(forks, undisturbed, trials, number, n):
    """Count the reaction in iterations: none begins after the one that was running.

    Red with: the flag read every second iteration only.
    """
    rng = random.Random(number)
    for trial in range(n):
        step, run = rng.randint(1, 59), forks.folder / f"run-{trial}"
        args = ("signal_at", step, [int(number)])
        child = forks.start(*args[1:], *forks.train(run.name), call=args[0])
        assert child.wait() == 85, child.stderr
        ended_by(run, number, step)
        forks(*forks.train(run.name))
        assert record(run) == undisturbed[0]
        lines = [line for line in metrics(run) if line["iteration"] != step or step % 7 == 0]
        assert lines == undisturbed[1]
        trials()


@pytest.mark.row(8)
@pytest.mark.parametrize("number", STOPS)
def test_a_signal_from_outside_is_answered_within_an_iteration(forks, trials, number):
    """Suspend the process to see its iteration, so that no clock matters."""
    place = forks.folder / "step"
    child = forks.start(place, *forks.train("run", *ENDLESS), call="tell_step")

    def step():
        data = place.read_bytes() if place.exists() else b""
        return struct.unpack("q", data)[0] if data else 0

    wait_until(lambda: step() > 20)
    child.kill(signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "T")
    stood = step()
    child.kill(number)
    child.kill(signal.SIGCONT)
    assert child.wait() == 85, child.stderr
    last = RunDirectory.open(forks.folder / "run").status["step"]
    assert stood <= last <= stood + 1
    ended_by(forks.folder / "run", number, last)
    trials()


@pytest.mark.row(8)
@pytest.mark.parametrize(
    "number",
    # each of them as the test above has it
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.nightly) for n in STOPS if n != signal.SIGTERM),
    ],
)
def test_the_real_command_ends_with_85(forks, trials, number):
    command = [Path(sys.executable).with_name("sgmc"), *map(str, forks.train("run", *ENDLESS))]
    run = forks.folder / "run"
    with subprocess.Popen(command, cwd=forks.folder, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: RunDirectory.open(run).status if (run / "config.json").exists() else {})
        process.send_signal(number)
        said = process.stderr.read()
        assert process.wait(timeout=60) == 85, said
    assert f"sgmc: {number.name}: stopped after iteration" in said
    ended_by(run, number, RunDirectory.open(run).status["step"])
    trials()


@pytest.mark.row(8)
def test_a_signal_after_the_end_changes_no_exit_code(forks, trials):
    """Red with: the usual effect of SIGTERM while Python ends (-15 for a run that is finished)."""
    code = (
        "import atexit, os, signal, sys\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGTERM)\n"  # called last
        "from pysgrld.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", code, *map(str, forks.train("run")), "-q"]
    assert subprocess.run(command, cwd=forks.folder, check=False, timeout=120).returncode == 0
    trials()


@pytest.mark.row(9)
@counts(2, 50)
def test_a_second_interrupt_while_writing_ends_with_130_and_harms_nothing(
    forks, undisturbed, trials, n
):
    """At one of the points between which a checkpoint, a line or the status comes to be."""
    rng = random.Random(9)
    points = [
        "state.write",
        "state.fsync",
        "manifest.write",
        "checkpoint.fsync_folder",
        "commit.rename",
        "commit.fsync_folder",
        "log.write",
        "status.rename",
    ]
    for trial in range(n):
        run = forks.folder / f"run-{trial}"
        point, nth = rng.choice(points), rng.randint(1, 10)  # as often as the status is written
        args = (point, nth, [int(signal.SIGINT)] * 2, *forks.train(run.name))
        child = forks.start(*args, call="signal_in")
        assert child.wait() == 130, child.stderr
        assert "stopped immediately" in child.stderr
        assert "Traceback" not in child.stderr
        check_intact(run)
        forks(*forks.train(run.name))
        assert (record(run), metrics(run)) == undisturbed
        assert left_behind(run) == []
        trials()


@pytest.mark.row(10)
def test_a_storm_of_signals_makes_one_checkpoint(forks, trials):
    args = ("--eval-every", "1h", "--checkpoint-every", "1h")
    storm = [int(signal.SIGUSR1)] * 1000
    child = forks.start(20, storm, *forks.train("run", *args), call="signal_at")
    assert child.wait() == 85, child.stderr
    run = forks.folder / "run"
    assert [e["step"] for e in events(run, "checkpoint")] == [20]
    ended_by(run, signal.SIGUSR1, 20)
    trials()


@pytest.mark.row(11)
def test_asking_for_checkpoints_all_the_time_changes_nothing(forks, undisturbed, trials):
    """SIGUSR2 after each iteration."""
    child = forks.start(
        *forks.train("run", "--checkpoint-every", "1h"), call="checkpoints_all_the_time"
    )
    run = forks.folder / "run"
    assert child.wait() == 0, child.stderr
    assert len(events(run, "checkpoint")) > 50
    assert (record(run), metrics(run)) == undisturbed
    trials()


def ended_at(child):
    """Return the time at the end of a process that trained by a clock of its own, in seconds."""
    assert child.wait() == 85, child.stderr
    assert "time limit: stopped" in child.stderr
    return float(child.stderr.rpartition("the time is ")[2])


@pytest.mark.row(13)
@pytest.mark.parametrize(("iteration", "write"), [(0.1, 0.01), (0.05, 0.3), (4.0, 0.001)])
def test_a_time_limit_is_kept(forks, trials, iteration, write):
    """By a clock that iterations and flushes move on: fast ones, slow disks, slow iterations.

    Red with: a limit that leaves no room for the last checkpoint.
    """
    args = forks.train("run", *ENDLESS, "--time-limit", "40s")
    child = forks.start(iteration, write, 0, 0.0, *args, call="own_clock")
    run = forks.folder / "run"
    end = ended_at(child)
    assert end < 40.0
    assert end > 35.0 - iteration - 30.0 * write
    assert check_intact(run) == RunDirectory.open(run).status["step"] > 0
    trials()


@pytest.mark.row(16)
def test_a_run_that_was_suspended_keeps_its_limit_and_says_so(forks, trials):
    """By a clock that moves on by 100 seconds while the process stands still.

    Red with: no gap long enough to be one.
    """
    args = forks.train("run", *ENDLESS, "--time-limit", "130s")
    child = forks.start(0.1, 0.01, 30, 100.0, *args, call="own_clock")
    run = forks.folder / "run"
    assert ended_at(child) < 130.0
    [gap] = events(run, "gap")
    assert 99.0 < gap["seconds"] < 102.0
    assert "was suspended for" in child.stderr
    step = RunDirectory.open(run).status["step"]
    assert step > gap["step"] + 10, "it went on until the limit"
    assert metrics(run)
    assert RunDirectory.open(run).read_metrics()[-1]["train_seconds"] < 31
    trials()


@pytest.mark.row(8)
def test_the_signal_that_stops_and_the_exit_code_can_be_chosen(forks, undisturbed, trials):
    """For sites that send another signal, and queues that requeue on another code."""
    args = forks.train("run", "--set", "stop-signal=USR2", "--set", "requeue-exit-code=99")
    child = forks.start(30, [int(signal.SIGUSR2)], *args, call="signal_at")
    assert child.wait() == 99, child.stderr
    ended_by(forks.folder / "run", signal.SIGUSR2, 30)
    forks(*forks.train("run"))
    assert record(forks.folder / "run") == undisturbed[0]
    trials()
