"""Files and folders that appear by a rename when they are complete, and are never half there."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from pysgrld.errors import OutputError, SgmcError, WriteError
from pysgrld.run.files import Buffer, Written, rename, temporary_name, write_new


@contextlib.contextmanager
def replacing(path: Path, point: str) -> Iterator[Path]:
    """Give another name beside a path; what is written there takes its place, durably.

    Readers see the old contents or the new ones. On any error whatever has the other name is
    removed, and the path is as it was.

    Parameters
    ----------
    path : Path
        A file; or a folder that is not there, or empty.
    point : str
        Of the fail points (`pysgrld.run.files`).

    Raises
    ------
    OSError
        If the rename fails.
    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        yield temporary
        rename(temporary, path, point)
    except BaseException:
        with contextlib.suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink()
        raise


def replace_file(path: Path, pieces: Iterable[Buffer], point: str) -> Written:
    """Give a file new contents at one instant.

    Raises
    ------
    OSError
        If any system call fails; the old contents are then intact.
    """
    with replacing(path, point) as temporary:
        return write_new(temporary, pieces, point)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that a person asked for; it has its name when it is complete.

    Folders above it are made.

    Raises
    ------
    OutputError
        If it cannot be created.
    WriteError
        If writing fails; what was there before is intact.
    """
    try:
        with replacing(path, "output") as temporary:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = temporary.open("x+b")
            except OSError as error:
                reason = error.strerror or error
                raise OutputError(f"{path}: cannot be created: {reason}") from error
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
    except SgmcError:  # of what was to be written: an input that is gone is an OSError, too
        raise
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written: {error.strerror or error}; free space and try again"
        ) from error


def refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Refuse to write over files that are there, unless that is wanted.

    Raises
    ------
    OutputError
        If one is there and `force` is not set, or is a folder.
    """
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; name a file")
        if not force and os.path.lexists(path):
            raise OutputError(f"{path}: is there already; --force replaces it")


def refuse_full_folder(path: Path, advice: str) -> None:
    """Refuse to make a folder where something is; an empty folder is nothing.

    Raises
    ------
    OutputError
        Ending in the advice.
    """
    if path.exists() and not (path.is_dir() and next(path.iterdir(), None) is None):
        raise OutputError(f"{path}: is there already; {advice}")
