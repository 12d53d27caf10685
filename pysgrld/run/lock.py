"""One process at a time writes into a run.

The lock is the kernel's (`flock`): it ends with the process, however that ends. The file's content
says who holds it, for the one who is turned away; a holder that ends in order empties the file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import LockedError, OutputError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.files import fail_point, write_all

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
    """Who this process is, as the lock and the status have it."""
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "job": job_id(),
        "restart": int(os.environ.get("SLURM_RESTART_COUNT") or 0),
        "start": jsonio.now(),
    }


def _read_holder(fd: int) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        found = jsonio.parse(os.pread(fd, 4096, 0))
        if isinstance(found, dict):
            return found
    return {}


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
    """Decide about a holder that did not end in order."""
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


@contextlib.contextmanager
def hold(path: Path, *, break_lock: bool = False) -> Iterator[None]:
    """Hold the lock of a run.

    Parameters
    ----------
    path : Path
        The file ``lock`` in the run directory.
    break_lock : bool
        Take over a lock that a process of another host has left. A lock that a live process holds
        by `flock` is never broken.

    Raises
    ------
    LockedError
        Naming host, pid and job of the holder.
    OutputError
        If the file cannot be opened.
    WriteError
        If it cannot be written.
    """
    me = holder()
    try:
        fail_point("lock.open")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be opened for writing: {error.strerror}; the run directory must be "
            "there and writable"
        ) from error
    try:
        flocked = True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(path, _read_holder(fd), "wait for it, or use another --out") from None
        except OSError as error:
            if error.errno not in _NO_FLOCK:
                raise WriteError(f"{path}: cannot be locked: {error.strerror}") from error
            logger.warning("%s: this file system has no locks; start one process only", path)
            flocked = False
        if not break_lock:
            _judge(path, _read_holder(fd), me, flocked=flocked)
        try:
            os.ftruncate(fd, 0)
            write_all(fd, jsonio.line(me), "lock")
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror}") from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
    finally:
        os.close(fd)
