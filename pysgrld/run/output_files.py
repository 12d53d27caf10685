"""Files that a person asked for: each has its name when it is complete."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pysgrld.errors import OutputError, SgmcError, WriteError
from pysgrld.run.files import TEMPORARY, advice_on, flock, open_regular, replacing, sync
from pysgrld.run.ownership import is_marked, list_of, refuse_new


def _new_and_held(path: Path, temporary: Path) -> IO[bytes]:
    """Create a file that takes the place of another, lock it, and remove its unfinished predecessors.

    The kernel drops the lock of a killed process, so only files without a live process are removed.
    """
    for rest in path.parent.glob(f"{TEMPORARY}*"):
        if rest.name.rpartition("-")[0] != f"{TEMPORARY}{path.name}" or not is_marked(rest.name):
            continue  # another file, or a user's own
        with contextlib.suppress(OSError), open_regular(rest) as (fd, _):
            if flock(fd):
                rest.unlink()
    while True:
        file = temporary.open("x+b")
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process found it before it was locked


def regular_target(path: Path) -> Path:
    """Return the file that writing to a path replaces or makes: the target of a symbolic link.

    Raises
    ------
    OutputError
        If there is something that is no regular file, as a device or a pipe.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        if os.path.lexists(target) and not stat.S_ISREG(target.lstat().st_mode):
            raise OutputError(f"{path}: is no regular file; name a file")
    except (OSError, RuntimeError) as error:  # circular links
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{path}: cannot be written: {reason}; name another file") from None
    return target


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that a person asked for; it has its name when it is complete.

    Missing parent folders are made, and the unfinished file of a killed process is removed. If the
    path is a symbolic link, its target is written. In a folder with a list of files
    (`pysgrld.run.ownership`) the file is added to the list.

    Parameters
    ----------
    path : Path

    Yields
    ------
    IO[bytes]
        The temporary file, open for writing and reading; it gets its name at the end.

    Raises
    ------
    OutputError
        If it cannot be created.
    WriteError
        If writing fails; earlier contents are intact.
    """
    path = regular_target(path)
    try:
        with contextlib.ExitStack() as held, replacing(path, "output") as temporary:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = _new_and_held(path, temporary)
                # the lock is held until the file has its name
                held.callback(os.close, os.dup(file.fileno()))
            except OSError as error:
                reason = error.strerror or error
                raise OutputError(f"{path}: cannot be created: {reason}") from error
            with file:
                yield file
                file.flush()
                sync(file.fileno())
            refuse_new(path)
            if (files := list_of(path.parent)) is not None:
                files.add(path.name, temporary)
    except SgmcError:  # an error within the block: a missing input is an OSError, too
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"{path}: cannot be written: {reason}; {advice_on(error)}") from error
