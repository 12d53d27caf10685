"""Which process may write: locks, read-only or missing folders, and starts without progress."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faults.forks import wait_until
from faults.records import check_intact, events, left_behind, record
from trial_counts import counts

from pysgrld.run import RunDirectory
from pysgrld.run.lock import SILENT

#: A run that does not end by itself.
ENDLESS = ("--iterations", "1000000", "--eval-every", "1h", "--checkpoint-every", "50")


def running(run):
    """Wait until a run is training."""
    wait_until(lambda: (run / "config.json").exists() and events(run, "checkpoint"))


# ---- row 15


@pytest.mark.row(15)
def test_a_third_start_without_progress_ends_with_70_and_the_next_may_try_again(forks, trials):
    """Each start is killed before its first checkpoint, as by a batch system that starts it again.

    Red with: starts at the very same iteration not counted; a refusal that is no end of a row.
    """
    run = forks.folder / "run"
    forks.start(*forks.train(), fail="commit.rename:kill:4").wait()
    step = check_intact(run)
    assert step > 0
    for round_ in range(2):
        for _ in range(2):
            child = forks.start(*forks.train(), fail="commit.rename:kill")
            assert child.wait() == -signal.SIGKILL, child.stderr
        said = forks(*forks.train(), code=88).splitlines()[-1]
        assert f"the last 2 starts from iteration {step} ended before the next" in said
        assert "run the same command again" in said
        assert "Traceback" not in said
        assert len(events(run, "refused")) == round_ + 1
    forks(*forks.train())
    trials()


@pytest.mark.row(15)
def test_limits_too_short_for_an_iteration_end_with_70(forks, trials):
    """Exit code 85 would be requeued for ever. Red with: early stops never counted."""
    forks(*forks.train("run", "--iterations", "5"))
    said = [
        forks(*forks.train("run", "--time-limit", "0.01s"), code=code) for code in (85, 85, 88, 85)
    ]
    assert "out of time" in said[2]
    forks(*forks.train())
    trials()


@pytest.mark.row(15)
def test_a_person_who_presses_ctrl_c_is_never_locked_out(forks, trials):
    """Red with: every interrupted start counted."""
    for _ in range(4):
        child = forks.start(
            "status.rename", 1, [int(signal.SIGINT)], *forks.train(), call="signal_in"
        )
        assert child.wait() == 85, child.stderr
    forks(*forks.train())
    trials()


# ---- row 22


@pytest.mark.row(22)
@pytest.mark.skipif(os.geteuid() != 0, reason="another user's folder needs root to be made")
def test_a_folder_of_another_user_is_73_before_the_corpus_is_read(forks, trials):
    """The corpus does not exist, so that reading it would be exit code 66."""
    forks.folder.chmod(0o777)
    for parent in list(forks.folder.parents)[:1]:
        parent.chmod(parent.stat().st_mode | 0o055)
    mine = forks.folder / "mine"
    mine.mkdir(mode=0o755)
    for out in (mine, mine / "run"):
        child = forks.start("train", "nowhere.txt", "--out", out, call="as_nobody")
        assert child.wait() == 73, child.stderr
        assert "cannot be written" in child.stderr
        assert list(mine.iterdir()) == []
        trials()


@pytest.mark.row(22)
def test_a_read_only_file_system_is_73_before_the_corpus_is_read(forks, trials):
    """An existing run, and a folder without one."""
    forks(*forks.train("run", "--iterations", "5"))
    place = forks.folder / "read-only"
    place.mkdir()
    script = (
        f"mount --bind -o ro {forks.folder} {place} 2>/dev/null && mount -o remount,ro,bind {place}"
        f' && cd {place} || exit 99; shift; exec "$@"'
    )
    sgmc = Path(sys.executable).with_name("sgmc")
    for out in ("run", "new"):
        command = [
            "unshare",
            "-m",
            "sh",
            "-c",
            script,
            "sh",
            "-",
            sgmc,
            "train",
            "nowhere.txt",
            "--out",
            out,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        except FileNotFoundError:
            pytest.skip("no unshare command here")
        if done.returncode in (1, 99) and "sgmc" not in done.stderr:
            pytest.skip("mounting is not allowed here")
        assert done.returncode == 73, done.stderr
        assert "Read-only file system" in done.stderr
        trials()


# ---- row 23


@pytest.mark.row(23)
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_run_that_is_removed_meanwhile_is_74_and_is_not_made_again(forks, trials, how):
    """Removed, or removed and begun anew by another start under the same name.

    Red with: no look whether the folder is still the one that was locked.
    """
    run = forks.folder / "run"
    child = forks.start(*forks.train("run", *ENDLESS))
    running(run)
    child.kill(signal.SIGSTOP)
    shutil.rmtree(run)
    if how == "replaced":
        forks(*forks.train("run"))
        other = record(run), (run / "log.jsonl").read_bytes()
    child.kill(signal.SIGCONT)
    assert child.wait() == 74, child.stderr
    assert "was removed or taken over" in child.stderr
    if how == "replaced":
        assert (record(run), (run / "log.jsonl").read_bytes()) == other
    else:
        assert not run.exists()
    trials()


# ---- row 24


def has_ended(child):
    """Return True if a process has ended; its server has not waited for it."""
    return Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"


@pytest.mark.row(24)
@pytest.mark.parametrize(
    "before", ["nothing", pytest.param("empty folder", marks=pytest.mark.nightly), "run"]
)
@counts(3, 20)
def test_of_many_starts_one_trains_and_the_others_are_told_who(forks, trials, n, before):
    """So many at the same moment, where nothing, an empty folder or an unfinished run lies."""
    run = forks.folder / "run"
    env, length = {"SLURM_JOB_ID": "4711"}, ("--iterations", "30")
    if before == "run":
        forks.start(*forks.train(), *length, fail="commit.rename:kill:4").wait()
    elif before == "empty folder":
        run.mkdir()
    end = forks.folder / "end"
    args = (end, *forks.train(), *length)
    children = [forks.start(*args, call="wait_for_file", env=env) for _ in range(n)]
    wait_until(lambda: sum(has_ended(child) for child in children) == n - 1)
    end.touch()
    codes = [child.wait() for child in children]
    assert sorted(codes) == [0] + [75] * (n - 1), [child.stderr for child in children]
    winner = children[codes.index(0)]
    for child in children:
        if child is not winner:
            said = child.stderr.splitlines()[-1]
            assert f"host {socket.gethostname()}, pid {winner.pid}, job 4711" in said
            trials()
    end.unlink()
    assert left_behind(forks.folder) == []
    assert [e["event"] for e in events(run)].count("finished") == 1


# ---- row 25


def forge(path, age=0.0, **changes):
    who = {"host": socket.gethostname(), "pid": 1, "job": None, "restart": 0, "start": "then"}
    path.write_text(json.dumps({**who, **changes}) + "\n")
    os.utime(path, (time.time() - age, time.time() - age))


def dead_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.row(25)
def test_a_stale_lock_of_this_host_is_taken_over_with_a_warning(forks, trials):
    forks(*forks.train("run", "--iterations", "5"))
    forge(forks.folder / "run" / "lock", pid=dead_pid())
    assert "which died without releasing its lock" in forks(*forks.train())
    trials()


@pytest.mark.row(25)
def test_a_lock_of_another_host_is_75_until_it_is_broken(forks, trials):
    forks(*forks.train("run", "--iterations", "5"))
    forge(forks.folder / "run" / "lock", host="elsewhere", job="12")
    said = forks(*forks.train(), code=75)
    assert "host elsewhere, pid 1, job 12" in said
    assert "--break-lock" in said
    forks(*forks.train("run", "--break-lock"))
    trials()


@pytest.mark.row(25)
@pytest.mark.parametrize(
    ("who", "age", "args", "code"),
    [
        pytest.param({"pid": os.getppid()}, 1.0, (), 75, marks=pytest.mark.nightly),
        ({"pid": os.getppid()}, 1.0, ("--break-lock",), 75),
        pytest.param({"pid": os.getppid()}, 2 * SILENT, (), 75, marks=pytest.mark.nightly),
        pytest.param(
            {"pid": os.getppid()}, 2 * SILENT, ("--break-lock",), 0, marks=pytest.mark.nightly
        ),
        ({"pid": None}, 1.0, (), 0),
        pytest.param({"host": "elsewhere"}, 1.0, (), 75, marks=pytest.mark.nightly),
        ({"host": "elsewhere"}, 1.0, ("--break-lock",), 75),
        ({"host": "elsewhere"}, 2 * SILENT, (), 75),
        ({"host": "elsewhere"}, 2 * SILENT, ("--break-lock",), 0),
    ],
)
def test_where_there_is_no_flock_the_beat_of_a_file_decides(forks, trials, who, age, args, code):
    """Who may be alive is never pushed aside; who has been silent is, by --break-lock.

    Red with: --break-lock that breaks any lock.
    """
    forks(*forks.train("run", "--iterations", "5"))
    if "pid" in who and who["pid"] is None:
        who = {"pid": dead_pid()}
    forge(forks.folder / "run" / "lock.held", age, **who)
    said = forks(*forks.train("run", *args), code=code, call="no_flock")
    assert code == 0 or f"pid {who.get('pid', 1)}" in said
    assert (forks.folder / "run" / "lock.held").exists() == (code != 0)
    trials()


@pytest.mark.row(24)
def test_without_flock_of_many_starts_one_trains(forks, trials):
    rng = random.Random(24)
    children = []
    for _ in range(10):
        children.append(forks.start(*forks.train("run", *ENDLESS), call="no_flock"))
        time.sleep(rng.uniform(0.0, 0.02))
    run = forks.folder / "run"
    running(run)
    held = (run / "lock.held").stat().st_mtime
    wait_until(lambda: (run / "lock.held").stat().st_mtime > held)  # it beats
    who = json.loads((run / "lock").read_text())["pid"]
    for child in children:
        if child.pid == who:
            continue
        assert child.wait() == 75, child.stderr
        assert f"pid {who}" in child.stderr
        trials()
    os.kill(who, signal.SIGTERM)
    assert next(child for child in children if child.pid == who).wait() == 85
    assert not (run / "lock.held").exists()
    assert left_behind(run) == []


@pytest.mark.row(25)
def test_whose_stand_in_lock_was_taken_while_it_stood_still_writes_no_more(forks, trials):
    """Red with: the holder that never looks at its file again."""
    child = forks.start(*forks.train("run", *ENDLESS), call="no_flock")
    run = forks.folder / "run"
    running(run)
    child.kill(signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "T")
    old = time.time() - 2 * SILENT
    os.utime(run / "lock.held", (old, old))
    forks(*forks.train("run", "--break-lock"), call="no_flock")
    after = record(run)
    child.kill(signal.SIGCONT)
    assert child.wait() == 74, child.stderr
    assert record(run) == after
    assert RunDirectory.open(run).status["state"] == "finished"
    trials()
