"""SIGKILL at any time, and at every point of the protocol."""

import os
import random
import shutil
import signal
import time

import pytest
from faults.records import acknowledged, check_intact, exported, left_behind, metrics, record
from trial_counts import counts

from pysgrld.run import RunDirectory

#: Long enough to be killed some times on its way, in short chains and after them.
LONG = ("--iterations", "120", "--set", "starts=3")
#: Five checkpoints.
BRIEF = ("--iterations", "20")

#: Points that a start passes after which something else is on the disk, by what they belong to.
POINTS = {
    "create": ["create.mkdir", "create.write", "create.fsync", "create.rename", "lock.write"],
    "prepare": ["corpus.rename", "word-counts.rename", "latest.rename"],
    "checkpoint": [
        "checkpoint.mkdir",
        "state.open",
        "state.write",
        "state.fsync",
        "metrics.fsync",
        "manifest.open",
        "manifest.write",
        "manifest.fsync",
        "checkpoint.fsync_folder",
        "commit.rename",
        "commit.fsync_folder",
        "hint.rename",
        "log.write",
        "sample.unlink",
    ],
    "lines": ["metrics.write", "sample.write", "sample.rename", "sample.drop", "status.rename"],
}
#: Flushes, before which a kill leaves on the disk what it leaves at the next point.
SAME = {
    *("create.fsync", "state.fsync", "manifest.fsync"),
    *("checkpoint.fsync_folder", "commit.fsync_folder"),
}


@pytest.fixture(scope="module")
def undisturbed(forks_of_module):
    """Return the record, metrics and topics of undisturbed runs, by their arguments."""
    forks = forks_of_module
    known = {}

    def give(*args):
        if args not in known:
            forks(*forks.train("run", *args))
            run = forks.folder / "run"
            known[args] = record(run), metrics(run), exported(forks, run)
            shutil.rmtree(run)
        return known[args]

    return give


@pytest.mark.row(1)
@counts(3, 200)
def test_kills_at_random_times_lose_nothing_and_change_nothing(forks, undisturbed, trials, n):
    """One run is killed again and again until it is done, then the next."""
    rng, kills, number = random.Random(n), 0, 0
    while kills < n:
        number += 1
        run, code = forks.folder / f"run-{number}", None
        while code != 0:
            child = forks.start(*forks.train(run.name, *LONG))
            if kills < n:
                time.sleep(rng.uniform(0.0, 0.2))
                child.kill()
            code = child.wait()
            assert code in (-signal.SIGKILL, 0, 88), child.stderr
            if code == -signal.SIGKILL and (run / "config.json").exists():
                check_intact(run)
                kills += 1
                trials()
        assert left_behind(run) == []
        assert (record(run), metrics(run), exported(forks, run)) == undisturbed(*LONG)
    assert left_behind(forks.folder) == []


@pytest.mark.row(2)
@counts(1, 20)
@pytest.mark.parametrize(
    "point",
    [
        pytest.param(p, marks=pytest.mark.nightly) if p in SAME else p
        for points in POINTS.values()
        for p in points
    ],
)
def test_a_kill_at_a_point_of_the_protocol_leaves_the_old_or_the_new(
    forks, undisturbed, trials, point, n
):
    """Red with: a run that was killed before its last line of metrics taken for done."""
    rng = random.Random(point)
    passes = 1 if point in POINTS["prepare"] or point.startswith("create") else 5
    for trial in range(n):
        run = forks.folder / f"run-{trial}"
        nth = rng.randint(1, passes)
        child = forks.start(*forks.train(run.name, *BRIEF), fail=f"{point}:kill:{nth}")
        code = child.wait()
        if code == 0:  # the point is passed less often than that
            shutil.rmtree(run)
            forks.start(*forks.train(run.name, *BRIEF), fail=f"{point}:kill").wait()
        else:
            assert code == -signal.SIGKILL, child.stderr
        if (run / "config.json").exists():
            check_intact(run)
        forks(*forks.train(run.name, *BRIEF))
        assert (record(run), metrics(run)) == undisturbed(*BRIEF)[:2]
        assert left_behind(forks.folder) == []
        trials()


@pytest.mark.row(3)
@counts(2, 100)
def test_a_kill_while_old_checkpoints_are_deleted_leaves_a_good_one(forks, undisturbed, trials, n):
    rng = random.Random(3)
    for trial in range(n):
        run = forks.folder / f"run-{trial}"
        point = rng.choice(["rename", "unlink", "rmdir"])
        keep = ("--set", f"keep={rng.randint(1, 3)}")
        child = forks.start(
            *forks.train(run.name, *keep), fail=f"retention.{point}:kill:{rng.randint(1, 10)}"
        )
        assert child.wait() == -signal.SIGKILL, child.stderr
        assert check_intact(run) >= acknowledged(run) > 0
        forks(*forks.train(run.name, *keep))
        assert (record(run), left_behind(run)) == (undisturbed()[0], [])
        trials()


@pytest.mark.row(4)
@counts(2, 100)
def test_a_kill_while_a_run_goes_back_is_made_good_by_the_next_start(forks, undisturbed, trials, n):
    """The run is killed with lines and samples after its last checkpoint, then while these go.

    Red with: metrics not cut.
    """
    rng = random.Random(4)
    often = ("--eval-every", "3")  # more than one line after the last checkpoint
    forks.start(*forks.train("template", *often), fail="commit.rename:kill:6").wait()
    template = forks.folder / "template"
    assert metrics(template)[-1]["iteration"] > check_intact(template) > 0
    points = [
        "metrics.truncate",
        "metrics.fsync",
        "sample.unlink",
        "sample.fsync_folder",
        "sample.restore",
        "status.rename",
        "log.write",
    ]
    done = 0
    while done < n:
        run = forks.folder / f"run-{done}"
        shutil.copytree(template, run)
        for _ in range(rng.randint(1, 2)):  # sometimes twice in a row
            child = forks.start(*forks.train(run.name, *often), fail=f"{rng.choice(points)}:kill")
            assert child.wait() in (-signal.SIGKILL, 0), child.stderr
        forks(*forks.train(run.name, *often))
        iterations = [line["iteration"] for line in metrics(run)]
        assert iterations == sorted(set(iterations))
        assert (record(run), metrics(run)) == undisturbed(*often)[:2]
        trials()
        done += 1


@pytest.mark.row(1)
def test_a_real_process_that_is_killed_goes_on(forks, undisturbed, trials):
    """The same through a new interpreter, as a person starts it."""
    import subprocess
    import sys
    from pathlib import Path

    command = [Path(sys.executable).with_name("sgmc"), *map(str, forks.train("run", *LONG))]
    run = forks.folder / "run"
    env = os.environ | {"SGMC_TEST": "1", "SGMC_FAILPOINT": "commit.rename:kill:4"}
    done = subprocess.run(
        command, cwd=forks.folder, stderr=subprocess.DEVNULL, check=False, env=env
    )
    assert done.returncode == -signal.SIGKILL
    assert check_intact(run) > 0
    assert RunDirectory.open(run).status["state"] == "running"
    subprocess.run(command, cwd=forks.folder, stderr=subprocess.DEVNULL, check=True)
    assert (record(run), metrics(run)) == undisturbed(*LONG)[:2]
    trials()
