"""Folders for work in hand, which the next start removes if this process is killed.

A folder is held by the kernel's lock on itself, and its name tells the host: what another host
works on is never touched, even where locks do not reach across.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

#: Begins the name of such a folder.
PREFIX = ".sgmc-"
_NUMBER = re.compile("[0-9a-f]{8}")


def _prefix() -> str:
    return f"{PREFIX}{re.sub(r'[^A-Za-z0-9.]', '_', socket.gethostname())[:64]}-"


def scratch_name() -> str:
    """Return a name that no other process has, and that `sweep` knows."""
    return f"{_prefix()}{secrets.token_hex(4)}"


def _hold(path: Path) -> int | None:
    """Lock a folder, and return its descriptor; None where folders cannot be locked.

    Raises
    ------
    BlockingIOError
        If another process has it.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise
    except OSError:
        os.close(fd)
        return None
    return fd


def sweep(parent: Path) -> None:
    """Remove what killed processes of this host have left; never an error."""
    with contextlib.suppress(OSError):
        for path in parent.glob(f"{_prefix()}*"):
            if not _NUMBER.fullmatch(path.name.removeprefix(_prefix())):
                continue  # whatever it is, it was not made here
            with contextlib.suppress(OSError):
                if (fd := _hold(path)) is not None:
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(fd)


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder beside what is to come of it; it is removed at the end.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    sweep(parent)
    while True:
        path = parent / scratch_name()
        path.mkdir()
        # Another process may sweep it before it is locked here: then it is gone, or about to be.
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            fd = _hold(path)
            if fd is None or path.exists():
                break
            os.close(fd)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if fd is not None:
            os.close(fd)
