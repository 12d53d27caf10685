"""Writing of output files for the user; a file gets its name only when it is complete."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pysgrld.errors import OutputError, SgmcError, WriteError
from pysgrld.run.files import TEMPORARY, flock, open_regular, replace_on_exit, sync, write_advice
from pysgrld.run.ownership import is_marked, read_file_list, refuse_new


def _new_and_held(path: Path, temporary: Path) -> IO[bytes]:
    """Create and lock a temporary file for `path`, and remove files that killed processes left.

    The kernel ends the lock of a killed process, so only files without a live process are removed.
    """
    for rest in path.parent.glob(f"{TEMPORARY}*"):
        if rest.name.rpartition("-")[0] != f"{TEMPORARY}{path.name}" or not is_marked(rest.name):
            continue  # The temporary file is for another output file, or sgmc did not write it.
        with contextlib.suppress(OSError), open_regular(rest) as (fd, _):
            if flock(fd):
                rest.unlink()
    while True:
        file = temporary.open("x+b")
        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # Another process removed the file before it was locked, so try again.


def regular_target(path: Path) -> Path:
    """Return `path`, or the file to which `path` points if it is a symbolic link.

    Raises
    ------
    OutputError
        If the path is not a regular file, for example a device or a pipe.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        if os.path.lexists(target) and not stat.S_ISREG(target.lstat().st_mode):
            raise OutputError(f"{path}: is not a regular file; choose another file")
    except (OSError, RuntimeError) as error:  # A RuntimeError means that the links are circular.
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{path}: cannot be written: {reason}; choose another file") from None
    return target


@contextlib.contextmanager
def open_output(path: Path) -> Iterator[IO[bytes]]:
    """Open an output file; it gets its final name only when it is complete.

    Missing parent folders are created, and temporary files of killed processes are removed. If the
    path is a symbolic link, its target is written. If the folder has a list of files
    (`pysgrld.run.ownership`), the file is added to the list.

    Parameters
    ----------
    path : Path

    Yields
    ------
    IO[bytes]
        The temporary file, open for reading and writing, which is renamed to `path` at the end.

    Raises
    ------
    OutputError
        If the file cannot be created.
    WriteError
        If writing fails; earlier contents are intact.
    """
    path = regular_target(path)
    try:
        with contextlib.ExitStack() as held, replace_on_exit(path, "output") as temporary:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = _new_and_held(path, temporary)
                # The copied descriptor holds the lock until the file has its final name.
                held.callback(os.close, os.dup(file.fileno()))
            except OSError as error:
                reason = error.strerror or error
                raise OutputError(
                    f"{path}: cannot be created: {reason}; choose another file"
                ) from error
            with file:
                yield file
                file.flush()
                sync(file.fileno())
            refuse_new(path)
            if (files := read_file_list(path.parent)) is not None:
                files.add(path.name, temporary)
    except SgmcError:  # An SgmcError may be an OSError, but its message is complete.
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"{path}: cannot be written: {reason}; {write_advice(error)}") from error
