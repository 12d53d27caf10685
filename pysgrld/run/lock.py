"""One process at a time writes into a run.

The lock is the kernel's (`flock`): it ends with the process, however that ends. The file's content
says who holds it, for the one who is turned away; a holder that ends in order empties the file. Where
the file system has no such locks a second file, ``lock.held``, stands in (`pysgrld.run.lock_file`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import GoneError, LockedError, OutputError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.files import fail_point, write_all
from pysgrld.run.lock_file import SILENT, Beat, is_same

logger = logging.getLogger(__name__)

#: Where batch systems say which job this is: SLURM, PBS, LSF, Grid Engine, HTCondor.
_JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "CONDOR_JOB_ID")

#: Errors of a file system that has no `flock`.
_NO_FLOCK = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def job_id(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the batch job that this process runs in, None outside of one."""
    environment = os.environ if environment is None else environment
    return next((environment[name] for name in _JOB_VARIABLES if environment.get(name)), None)


def holder() -> dict[str, Any]:
    """Describe this process, for the lock and the status: host, pid, job, start."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "job": job_id(),
        "restart": int(os.environ.get("SLURM_RESTART_COUNT") or 0),
        "start": jsonio.now(),
    }


def _parse_holder(data: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        found = jsonio.parse(data)
        if isinstance(found, dict):
            return found
    return {}


def _read_holder(fd: int) -> dict[str, Any]:
    return _parse_holder(os.pread(fd, 4096, 0))


def _read_live_holder(fd: int) -> dict[str, Any]:
    """Read who holds a lock; wait a little where the file still names one that has ended."""
    for _ in range(50):
        who = _read_holder(fd)
        if who and (who.get("host") != socket.gethostname() or _alive(who.get("pid"))):
            break
        time.sleep(0.01)
    return who


def _alive(pid: Any) -> bool:
    if type(pid) is not int or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _refusal(path: Path, who: Mapping[str, Any], advice: str) -> LockedError:
    if not who:
        return LockedError(f"{path.parent}: is in use by another process; {advice}")
    job = f", job {who.get('job')}" if who.get("job") else ""
    return LockedError(
        f"{path.parent}: is in use by host {who.get('host')}, pid {who.get('pid')}{job}, since "
        f"{who.get('start')}; {advice}"
    )


def _same_job_restarted(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the batch system has restarted the holder's job: then the holder has ended."""
    count = old.get("restart")
    return (
        new["job"] is not None
        and old.get("job") == new["job"]
        and type(count) is int
        and count < new["restart"]
    )


def _judge(path: Path, old: Mapping[str, Any], new: Mapping[str, Any], *, flocked: bool) -> None:
    """Refuse or take over the lock of a holder that did not end in order."""
    if not old:
        return
    if old.get("host") == new["host"]:
        # With flock granted by this very kernel the old holder has ended, whatever its number is
        # used for now. Without flock its number is all there is to go by.
        if not flocked and old.get("pid") != new["pid"] and _alive(old.get("pid")):
            raise _refusal(path, old, "wait for it, or stop it")
    elif not _same_job_restarted(old, new):
        raise _refusal(
            path, old, "if it has ended there without a word, take the lock with --break-lock"
        )
    logger.warning(
        "%s: the lock of host %s, pid %s is taken over: that process ended without a word",
        path.parent,
        old.get("host"),
        old.get("pid"),
    )


class Lock:
    """The lock of a run; held from the moment it is made until `release`.

    Parameters
    ----------
    path : Path
        The file ``lock`` in the run directory.
    break_lock : bool
        Take over a lock that a process of another host has left. A lock that a live process holds
        by `flock`, or still touches, is never broken.

    Raises
    ------
    LockedError
        Naming host, pid and job of the holder.
    OutputError
        If the file cannot be opened.
    WriteError
        If it cannot be written.
    """

    def __init__(self, path: Path, *, break_lock: bool = False) -> None:
        self.path = path
        self._beat: Beat | None = None
        me = holder()
        try:
            fail_point("lock.open")
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise OutputError(
                f"{path}: cannot be opened for writing: {error.strerror}; the run directory must "
                "be there and writable"
            ) from error
        try:
            flocked = self._flock()
            try:
                if not flocked:
                    self._stand_in(me, broken=break_lock)
                if not break_lock:
                    _judge(path, _read_holder(self._fd), me, flocked=flocked)
                os.ftruncate(self._fd, 0)
                write_all(self._fd, jsonio.line(me), "lock")
            except OSError as error:
                raise WriteError(f"{path}: cannot be written: {error.strerror}") from error
        except BaseException:
            self._close()
            raise

    def _flock(self) -> bool:
        """Ask the kernel for the lock; False where it has none to give."""
        try:
            fail_point("lock.flock")
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(
                self.path, _read_live_holder(self._fd), "wait for it, or use another --out"
            ) from None
        except OSError as error:
            if error.errno not in _NO_FLOCK:
                raise WriteError(f"{self.path}: cannot be locked: {error.strerror}") from error
            return False
        return True

    def _stand_in(self, me: Mapping[str, Any], *, broken: bool) -> None:
        """Hold the file that stands in for the kernel's lock."""

        def judge(data: bytes, silent: float) -> None:
            old = _parse_holder(data)
            here = old.get("host") == me["host"]
            if (here and not _alive(old.get("pid"))) or _same_job_restarted(old, me):
                return
            if silent < SILENT:
                raise _refusal(self.path, old, "wait for it, or use another --out")
            if not broken:
                raise _refusal(
                    self.path,
                    old,
                    f"it has given no sign of life for {silent:.0f} s; if it has "
                    "ended without a word, take the lock with --break-lock",
                )

        self._beat = Beat(self.path.with_name(f"{self.path.name}.held"), jsonio.line(me), judge)

    def moved(self, path: Path) -> None:
        """Follow the file, whose folder was renamed."""
        self.path = path
        if self._beat:
            self._beat.path = path.with_name(self._beat.path.name)

    def check(self) -> None:
        """Make sure that the folder is still the one that was locked.

        Raises
        ------
        GoneError
            If somebody has removed or replaced it, or has taken over the lock.
        """
        if not is_same(self.path, self._fd) or (self._beat and not self._beat.still()):
            raise GoneError(
                f"{self.path.parent}: was removed, or taken over by another process, while this "
                "one was writing to it; nothing more is written"
            )

    def release(self) -> None:
        """Let others write; the file no longer names anybody."""
        if is_same(self.path, self._fd):
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
        self._close()

    def _close(self) -> None:
        if self._beat:
            self._beat.release()
        os.close(self._fd)


@contextlib.contextmanager
def hold(path: Path, *, break_lock: bool = False) -> Iterator[Lock]:
    """Hold the lock of a run while the block runs; as `Lock`."""
    lock = Lock(path, break_lock=break_lock)
    try:
        yield lock
    finally:
        lock.release()
