"""Locks of runs and of scratch folders; a locked run has only one writing process.

The lock of a run is a kernel lock (`flock`), which ends with the process in any case. The locked
file describes the holder, for the message of a process that cannot take the lock; a holder that
ends regularly empties the file. If the file system has no such locks, a second file, ``lock.held``,
is used instead (`LockFile`).

A scratch folder has a kernel lock on itself, and the next start removes it if its process was
killed. Its name contains the host's name, so that no host removes the scratch folder of another,
even if locks do not work between hosts.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import GoneError, LockedError, OutputError, WriteError
from pysgrld.run import jsonio
from pysgrld.run.files import NO_FLOCK, fail_point, flock, temporary_name, write_all
from pysgrld.run.machine import job_id
from pysgrld.run.ownership import is_marked, marked_name

logger = logging.getLogger(__name__)

#: Number of seconds between updates of a `LockFile`.
INTERVAL = 20.0
#: The holder of a `LockFile` may have died if this number of seconds pass without an update.
SILENT = 200.0

#: Prefix of the names of scratch folders.
PREFIX = ".sgmc-"

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW

#: Results of `os.fstat` for all lock files that this process holds, with or without `flock`.
_held_here: list[os.stat_result] = []


def is_same(path: Path, fd: int) -> bool:
    """Return True if a path still refers to the given open file, or if this cannot be checked.

    Parameters
    ----------
    path : Path
    fd : int
        An open file.

    Returns
    -------
    bool
        False if the path refers to another file or is missing.
    """
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


# ---- the lock of a run


def holder() -> dict[str, Any]:
    """Return this process's host, pid, job and the current time, for lock files and the status."""
    return {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "job": job_id(),
        "restart": int(os.environ.get("SLURM_RESTART_COUNT") or 0),
        "start": jsonio.utc_now(),
    }


class Lock:
    """Lock of a run; the constructor takes the lock, and `release` releases it.

    Parameters
    ----------
    path : Path
        The file ``lock`` in the run directory.
    break_lock : bool
        True to take over a lock that a process of another host has left. A lock is never taken over
        while a live process holds it by `flock` or still touches its file.

    Raises
    ------
    LockedError
        If another process holds the lock; the message names its host, pid and job.
    OutputError
        If the file cannot be opened.
    WriteError
        If the file cannot be written.
    """

    def __init__(self, path: Path, *, break_lock: bool = False) -> None:
        self.path = path
        self._stand_in: LockFile | None = None
        self._own: os.stat_result | None = None
        me = holder()
        try:
            fail_point("lock.open")
            self._fd = os.open(path, os.O_CREAT | _FLAGS, 0o666)
        except OSError as error:
            raise OutputError(
                f"{path}: cannot be opened for writing: {error.strerror}; the run directory must "
                "exist and be writable"
            ) from error
        try:
            try:
                fail_point("lock.flock")
                flocked = flock(self._fd)
            except BlockingIOError:
                # Wait briefly, because the file may still describe an earlier holder that has
                # ended.
                for _ in range(50):
                    who = _read_holder(self._fd)
                    if who and (who.get("host") != me["host"] or _alive(who.get("pid"))):
                        break
                    time.sleep(0.01)
                raise _refusal(path, who, "wait for that process, or use another --out") from None
            except OSError as error:
                if error.errno not in NO_FLOCK:
                    raise WriteError(f"{path}: cannot be locked: {error.strerror}") from error
                flocked = False
            refuse_foreign_lock(path, self._fd)
            try:
                if flocked:  # A process on a host without working locks may hold ``lock.held``.
                    LockFile.remove_old(path, me, break_lock=break_lock)
                else:
                    self._stand_in = LockFile(path, me, break_lock=break_lock)
                old = _read_holder(self._fd)
                if old and not break_lock:
                    self._take_over(old, me, flocked=flocked)
                os.ftruncate(self._fd, 0)
                write_all(self._fd, jsonio.line(me), "lock")
                if flocked:  # A host without working locks may have created ``lock.held`` by now.
                    LockFile.remove_old(path, me, break_lock=break_lock)
            except OSError as error:
                raise WriteError(f"{path}: cannot be written: {error.strerror}") from error
        except BaseException:
            self.release(ours=False)
            raise
        self._own = os.fstat(self._fd)
        _held_here.append(self._own)

    def _take_over(self, old: Mapping[str, Any], me: Mapping[str, Any], *, flocked: bool) -> None:
        """Take over the lock of a killed holder; raise an error if the holder may be alive."""
        if old.get("host") == me["host"]:
            # If this kernel has granted `flock`, the old holder has ended, even if another process
            # now has its pid. Without `flock`, the pid is the only evidence.
            is_other = old.get("pid") != me["pid"] and _alive(old.get("pid"))
            if not flocked and (is_other or _is_held_here(os.fstat(self._fd))):
                raise _refusal(self.path, old, "wait for that process, or stop it")
        elif not _same_job_restarted(old, me):
            raise _refusal(self.path, old, "if that process has died, give --break-lock")
        logger.warning(
            "%s: continuing in place of the process on host %s, pid %s, which died without "
            "releasing its lock",
            self.path.parent,
            old.get("host"),
            old.get("pid"),
        )

    def moved(self, path: Path) -> None:
        """Record the lock's new path after its folder was renamed."""
        self.path = path
        if self._stand_in:
            self._stand_in.path = path.with_name(self._stand_in.path.name)

    def check(self) -> None:
        """Raise an error unless the folder is still the folder that was locked.

        Raises
        ------
        GoneError
            If the folder was removed or replaced, or another process has taken over the lock.
        """
        stand_in = self._stand_in
        if not is_same(self.path, self._fd) or (
            stand_in and not is_same(stand_in.path, stand_in.fd)
        ):
            raise GoneError(
                f"{self.path.parent}: was removed or taken over by another process during "
                "writing; nothing more is written"
            )

    def release(self, *, ours: bool = True) -> None:
        """Release the lock; if ``ours`` (it was taken successfully), empty the lock file."""
        if ours and is_same(self.path, self._fd):
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
        if self._stand_in:
            self._stand_in.release()
        if self._own is not None:
            _held_here.remove(self._own)
            self._own = None
        os.close(self._fd)


@contextlib.contextmanager
def hold(path: Path, *, break_lock: bool = False) -> Iterator[Lock]:
    """Context manager that holds a run's lock during the block.

    Parameters
    ----------
    path : Path
        Folder of the run.
    break_lock : bool, optional
        As for `Lock`.

    Yields
    ------
    Lock
        The lock, held until the block ends.
    """
    lock = Lock(path, break_lock=break_lock)
    try:
        yield lock
    finally:
        lock.release()


class LockFile:
    """A lock file that only one process can create, for file systems without `flock`.

    The holder touches the file every `INTERVAL` seconds. Wrong clocks of hosts do not matter,
    because the age of the last touch is measured with the clock of the file system.

    Parameters
    ----------
    path : Path
        Path of the lock that this file replaces. The file itself is ``lock.held`` in the same
        folder, and exists only while a process holds the lock.
    me : mapping
        Description of the holder, to be written to the file.
    break_lock : bool
        True to take over the file if its holder has not touched it for `SILENT` seconds.

    Raises
    ------
    LockedError
        If the file exists and its holder may be alive.
    OSError
        If the file cannot be created or written.
    """

    def __init__(self, path: Path, me: Mapping[str, Any], *, break_lock: bool) -> None:
        self.path = _fallback_lock(path)
        while True:
            try:
                self.fd = os.open(self.path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
                break
            except FileExistsError:
                self.remove_old(path, me, break_lock=break_lock)
        self._own = os.fstat(self.fd)
        _held_here.append(self._own)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._touch, name="lock", daemon=True)
        self._thread.start()
        try:
            write_all(self.fd, jsonio.line(me), "lock")
        except BaseException:
            self.release()
            raise

    @staticmethod
    def remove_old(lock: Path, me: Mapping[str, Any], *, break_lock: bool) -> None:
        """Remove the lock file of a holder that has ended; a missing file is not an error.

        Parameters
        ----------
        lock : Path
            Path of the lock that the file replaces.
        me, break_lock
            As for `LockFile`.

        Raises
        ------
        LockedError
            If the holder may be alive.
        """
        path = _fallback_lock(lock)
        try:
            fd = os.open(path, _FLAGS)
        except FileNotFoundError:
            return
        try:
            refuse_foreign_lock(path, fd)
            status = os.fstat(fd)
            silent = 0.0
            if not _is_held_here(status):
                probe = path.with_name(temporary_name(path.name))
                new = os.open(probe, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
                try:
                    silent = max(0.0, os.fstat(new).st_mtime - status.st_mtime)
                finally:
                    os.close(new)
                    probe.unlink()
            old = _read_holder(fd)
        finally:
            os.close(fd)
        same_host = old.get("host") == me["host"]
        if not (same_host and not _alive(old.get("pid"))) and not _same_job_restarted(old, me):
            if silent < SILENT:
                raise _refusal(path, old, "wait for that process, or use another --out")
            if not break_lock:
                raise _refusal(
                    path,
                    old,
                    f"the process has written nothing for {silent:.0f} s; if it has died, give "
                    "--break-lock",
                )
        aside = path.with_name(temporary_name(path.name))
        with contextlib.suppress(FileNotFoundError):
            path.rename(aside)
            # If another process was faster, the file that was renamed belongs to that process. Move
            # the file back.
            if not os.path.samestat(aside.stat(), status):
                with contextlib.suppress(FileExistsError):
                    path.hardlink_to(aside)
            aside.unlink()

    def _touch(self) -> None:
        while not self._stop.wait(INTERVAL):
            with contextlib.suppress(OSError):
                os.utime(self.fd)

    def release(self) -> None:
        """Stop updating the lock file, and remove the file if it still belongs to this process."""
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.stat(), self._own):
                self.path.unlink()
        _held_here.remove(self._own)
        os.close(self.fd)


def refuse_foreign_lock(path: Path, fd: int) -> None:
    """Raise an error if a file has the name of a lock but was not written by sgmc.

    Parameters
    ----------
    path : Path
    fd : int
        Descriptor of the open file.

    Raises
    ------
    OutputError
    """
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    # After a power failure, the file may have only the start of an entry, or zero bytes.
    content = os.pread(fd, 4096, 0).strip(b"\0") if regular else b"?"
    if content[:7] != b'{"host"'[: len(content)]:
        raise OutputError(
            f"{path}: was not written by sgmc, but has the name of a lock file; move it away, or "
            "choose another folder"
        )


def _fallback_lock(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.held")


def _is_held_here(status: os.stat_result) -> bool:
    return any(os.path.samestat(status, held) for held in _held_here)


def _read_holder(fd: int) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        holder = jsonio.parse(os.pread(fd, 4096, 0))
        if isinstance(holder, dict):
            return holder
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


def _same_job_restarted(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return True if this process is a later restart of the batch job that held the lock."""
    count = old.get("restart")
    return (
        new["job"] is not None
        and old.get("job") == new["job"]
        and type(count) is int
        and count < new["restart"]
    )


def _refusal(path: Path, who: Mapping[str, Any], advice: str) -> LockedError:
    if not who:
        return LockedError(f"{path.parent}: is in use by another process; {advice}")
    job = f", job {who.get('job')}" if who.get("job") else ""
    return LockedError(
        f"{path.parent}: is in use by host {who.get('host')}, pid {who.get('pid')}{job}, since "
        f"{who.get('start')}; {advice}"
    )


# ---- scratch folders


def scratch_name() -> str:
    """Return a unique name for a scratch folder, in a form that `sweep` recognises."""
    return marked_name(_scratch_stem())


def _scratch_stem() -> str:
    host = re.sub(r"[^A-Za-z0-9.]", "_", os.uname().nodename)[:64]
    return f"{PREFIX}{host}"


def hold_folder(path: Path) -> int | None:
    """Lock a folder and return its descriptor, or return None if folders cannot be locked.

    Parameters
    ----------
    path : Path

    Returns
    -------
    int or None
        Descriptor. The caller has to close it, which ends the lock.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if flock(fd):
            return fd
    except BlockingIOError:
        os.close(fd)
        raise
    except OSError:
        pass
    os.close(fd)
    return None


def sweep(parent: Path) -> None:
    """Remove scratch folders that killed processes left on this host; never raise an error."""
    stem = _scratch_stem()
    with contextlib.suppress(OSError):
        for path in parent.glob(f"{stem}-*"):
            if path.name.rpartition("-")[0] != stem or not is_marked(path.name):
                continue  # The folder belongs to another host, or sgmc did not create it.
            with contextlib.suppress(OSError):
                if (fd := hold_folder(path)) is not None:
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(fd)


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Context manager that creates a scratch folder in a parent folder, and removes it at the end.

    Parameters
    ----------
    parent : Path

    Yields
    ------
    Path
        The folder, locked while the block runs.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """
    sweep(parent)
    while True:
        path = parent / scratch_name()
        path.mkdir()
        # Another process may remove the folder before this process has locked it.
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            fd = hold_folder(path)
            if fd is None or path.exists():
                break
            os.close(fd)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if fd is not None:
            os.close(fd)
