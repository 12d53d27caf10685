"""One writer at a time."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pysgrld.errors import LockedError, OutputError
from pysgrld.run import _failpoints
from pysgrld.run.lock import hold

HOLD = """
import sys
from pathlib import Path
from pysgrld.run.lock import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


#: A process for which the file system has no locks.
WITHOUT_FLOCK = """
from pysgrld.run import _failpoints
_failpoints.arm("lock.flock:ENOLCK:1+")
"""


def other_process(path: Path, code: str = HOLD) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SLURM_JOB_ID": "4711"}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(path.absolute())],
        cwd=path.parent if path.parent.is_dir() else None,  # not the sources of a clone
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def forge(path: Path, **changes: object) -> None:
    who = {"host": socket.gethostname(), "pid": 1, "job": None, "restart": 0, "start": "then"}
    path.write_text(json.dumps({**who, **changes}))


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_second_process_is_turned_away_and_told_who_holds_it(tmp_path: Path) -> None:
    with other_process(tmp_path / "lock") as process:
        for break_lock in (False, True):
            with (
                pytest.raises(LockedError) as caught,
                hold(tmp_path / "lock", break_lock=break_lock),
            ):
                pass
            for part in (socket.gethostname(), f"pid {process.pid}", "job 4711"):
                assert part in str(caught.value)
        assert caught.value.exit_code == 75
        process.communicate("\n")
    with hold(tmp_path / "lock"):
        pass


def test_the_same_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    with (
        hold(tmp_path / "lock"),
        pytest.raises(LockedError, match=f"pid {os.getpid()}"),
        hold(tmp_path / "lock"),
    ):
        pass


def test_a_holder_that_ends_in_order_leaves_no_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with hold(tmp_path / "lock"):
            assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert (tmp_path / "lock").read_text() == ""
    assert not caplog.records


def test_the_lock_of_a_killed_process_is_taken_over_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with other_process(tmp_path / "lock") as process:
        process.kill()
    with caplog.at_level(logging.WARNING), hold(tmp_path / "lock"):
        pass
    assert f"pid {process.pid}, which died" in caplog.text


def test_a_number_that_is_used_again_does_not_hold_the_lock(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forge(tmp_path / "lock", pid=os.getppid())
    with hold(tmp_path / "lock"):
        pass
    assert "in place of" in caplog.text


def test_the_lock_of_another_host_is_not_taken_without_being_told_to(tmp_path: Path) -> None:
    forge(tmp_path / "lock", host="elsewhere", pid=dead_pid(), job="12")
    with pytest.raises(LockedError, match=r"elsewhere.*job 12.*--break-lock"):
        hold(tmp_path / "lock").__enter__()
    with hold(tmp_path / "lock", break_lock=True):
        pass


def test_a_job_that_the_batch_system_has_restarted_elsewhere_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(tmp_path / "lock", host="elsewhere", job="12", restart=0)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    with pytest.raises(LockedError), hold(tmp_path / "lock"):
        pass
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with hold(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("content", ["", "{", '{"host": 5}', "\0" * 10])
def test_a_lock_file_without_sense_holds_nobody_up(content: str, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(content)
    with hold(tmp_path / "lock", break_lock=content.startswith('{"')):
        pass


@pytest.mark.parametrize("name", ["lock", "lock.held"])
@pytest.mark.parametrize("content", ["[]", "of a door\n", '{"door": 1}'])
def test_a_file_that_is_no_lock_is_left_alone(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red with: a file of a user emptied, or deleted with --break-lock."""
    if name == "lock.held":
        monkeypatch.setattr("pysgrld.run.lock.flock", lambda fd: False)
        (tmp_path / "lock").touch()
    (tmp_path / name).write_text(content)
    os.utime(tmp_path / name, (0, 0))
    with (
        pytest.raises(OutputError, match=f"{name}: was not written by sgmc"),
        hold(tmp_path / "lock", break_lock=True),
    ):
        pass
    assert (tmp_path / name).read_text() == content


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="lock: cannot be opened") as caught:
        hold(tmp_path / "gone" / "lock").__enter__()
    assert caught.value.exit_code == 73
    assert not (tmp_path / "gone").exists()


def test_without_flock_a_living_number_of_this_host_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_flock(fd: int, how: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("pysgrld.run.files.fcntl.flock", no_flock)
    forge(tmp_path / "lock", pid=os.getppid())
    with pytest.raises(LockedError, match=f"pid {os.getppid()}"), hold(tmp_path / "lock"):
        pass
    forge(tmp_path / "lock", pid=dead_pid())
    with hold(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("first_locks", [True, False])
def test_a_process_with_locks_and_one_without_see_each_other(
    tmp_path: Path, first_locks: bool
) -> None:
    """Locks of a network file system may work for one process of a host and fail for another.

    Red with: a live holder that was taken over, as if it had ended without a word.
    """
    other = HOLD if first_locks else WITHOUT_FLOCK + HOLD
    with other_process(tmp_path / "lock", other) as process:
        _failpoints.arm("lock.flock:ENOLCK:1+" if first_locks else None)
        try:
            with pytest.raises(LockedError, match=f"pid {process.pid}"), hold(tmp_path / "lock"):
                pass
        finally:
            _failpoints.arm(None)
        process.communicate("\n")
    with hold(tmp_path / "lock"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_the_same_process_cannot_hold_it_twice_whatever_its_locks_do(tmp_path: Path) -> None:
    try:
        for points in ((None, "lock.flock:ENOLCK:1+"), ("lock.flock:ENOLCK:1+", None)):
            _failpoints.arm(points[0])
            with hold(tmp_path / "lock"):
                _failpoints.arm(points[1])
                with (
                    pytest.raises(LockedError, match=f"pid {os.getpid()}"),
                    hold(tmp_path / "lock"),
                ):
                    pass
    finally:
        _failpoints.arm(None)


def test_a_file_that_a_killed_process_without_locks_has_left_is_removed(tmp_path: Path) -> None:
    forge(tmp_path / "lock.held", pid=dead_pid())
    with hold(tmp_path / "lock"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
