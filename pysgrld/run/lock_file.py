"""A lock where the file system has none: a file that only one process can create, and that beats.

The holder touches the file every `INTERVAL` seconds. A clock that another host has set wrong cannot
matter: the age of the last touch is read by the clock of the file system itself.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from pysgrld.run.files import temporary_name, write_all

#: Seconds between two touches, and without one until a holder may be taken for dead.
INTERVAL, SILENT = 20.0, 200.0

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class Beat:
    """The file that stands in for a lock of the kernel, while it is held.

    Parameters
    ----------
    path : Path
        Does not exist while nobody holds it.
    me : bytes
        What it says of its holder.
    judge : callable (bytes, float)
        Given what a file that is there says of its holder, and for how many seconds nobody has
        touched it; raises if the holder may be alive.

    Raises
    ------
    OSError
        If the file cannot be created or written.
    """

    #: Files that this very process holds, by device and number.
    _held: ClassVar[set[tuple[int, int]]] = set()

    def __init__(self, path: Path, me: bytes, judge: Callable[[bytes, float], None]) -> None:
        self.path = path
        while True:
            try:
                self._fd = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
                break
            except FileExistsError:
                self._take_over(judge)
        self._own = _number(os.fstat(self._fd))
        self._held.add(self._own)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._touch, name="lock", daemon=True)
        self._thread.start()
        try:
            write_all(self._fd, me, "lock")
        except BaseException:
            self.release()
            raise

    def _take_over(self, judge: Callable[[bytes, float], None]) -> None:
        """Remove the file of a holder that has ended; return at once where it is gone."""
        try:
            fd = os.open(self.path, _FLAGS)
        except FileNotFoundError:
            return
        try:
            status = os.fstat(fd)
            silent = 0.0 if _number(status) in self._held else self._age(status)
            judge(os.pread(fd, 4096, 0), silent)
        finally:
            os.close(fd)
        aside = self.path.with_name(temporary_name(self.path.name))
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(aside)
            # Somebody else may have been faster, and what was moved away is his: it goes back.
            if _number(aside.stat()) != _number(status):
                with contextlib.suppress(FileExistsError):
                    self.path.hardlink_to(aside)
            aside.unlink()

    def _age(self, status: os.stat_result) -> float:
        probe = self.path.with_name(temporary_name(self.path.name))
        fd = os.open(probe, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            now = os.fstat(fd).st_mtime
        finally:
            os.close(fd)
            probe.unlink()
        return max(0.0, now - status.st_mtime)

    def _touch(self) -> None:
        while not self._stop.wait(INTERVAL):
            with contextlib.suppress(OSError):
                os.utime(self._fd)

    def still(self) -> bool:
        """Whether the file is still this one; True also where the system does not tell."""
        return is_same(self.path, self._fd)

    def release(self) -> None:
        """Stop touching the file, and remove it."""
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            if _number(self.path.stat()) == self._own:
                self.path.unlink()
        self._held.discard(self._own)
        os.close(self._fd)


def _number(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def is_same(path: Path, fd: int) -> bool:
    """Whether a name still means an open file; True also where the system does not tell."""
    try:
        return _number(path.stat(follow_symlinks=False)) == _number(os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
