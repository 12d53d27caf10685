"""Files that only grow: one JSON object a line."""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import stat
from pathlib import Path
from typing import Any

from pysgrld.run import jsonio
from pysgrld.run.files import Written, digest_of, fail_point, open_regular, read_small, write_all
from pysgrld.run.whole import replace_file

logger = logging.getLogger(__name__)

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW

#: Bytes of a line; one beyond is none of ours.
LONGEST = 16 << 20


def _open(path: Path) -> int:
    """Open a file to write to; a pipe in its place would swallow lines until it blocks."""
    fd = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def append(path: Path, record: dict[str, Any], point: str) -> None:
    """Append one object to a file, as a line; NaN and infinity become null.

    The file must exist, so that a folder which somebody removed is noticed.

    Raises
    ------
    OSError
        If it could not be written; nothing of the line is then left.
    """
    data = jsonio.line(jsonio.plain(record, nonfinite_is_null=True))
    fail_point(f"{point}.open")
    fd = _open(path)
    try:
        size = os.fstat(fd).st_size
        # A process that was killed in mid-line must not spoil the next line as well.
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            write_all(fd, data, point)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
            raise
    finally:
        os.close(fd)


def read(path: Path, last: int | None = None) -> list[dict[str, Any]]:
    """Read all objects of a file; a line that was never finished is left out.

    Parameters
    ----------
    path : Path
    last : int, optional
        Read whole lines in so many bytes at the end alone: memory does not grow with the file.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    records = []
    with open_regular(path) as (fd, size), os.fdopen(os.dup(fd), "rb") as file:
        where = str(path)
        whole = last is None or size <= last
        if last is not None and size > last:
            file.seek(size - last - 1)
            file.readline(LONGEST)  # the end of a line, if no more than that
        for number in itertools.count(1):
            if whole:
                where = f"{path}:{number}"
            line = file.readline(min(LONGEST, size - file.tell()))
            if not line.endswith(b"\n"):
                if len(line) < LONGEST:
                    break
                raise OSError(errno.EFBIG, "a line is longer than any of sgmc's", where)
            if line == b"\n":
                continue
            try:
                record = jsonio.parse(line)
                if not isinstance(record, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                logger.warning("%s: skipped: %s", where, error)
                continue
            records.append(record)
    return records


def make_durable(path: Path, point: str, *, anew: bool) -> Written:
    """Flush all lines of a file to disk, and return its size and digest for the manifest.

    Parameters
    ----------
    path : Path
    point : str
    anew : bool
        Write them into another file, which takes the place of this one: after a failed fsync the
        next one succeeds on the same file, whatever became of the data.

    Raises
    ------
    OSError
        If the file cannot be read or flushed.
    """
    if anew:
        return replace_file(path, [read_small(path, path.stat().st_size)], point)
    with open_regular(path) as (fd, size):
        fail_point(f"{point}.fsync")
        os.fsync(fd)
    return digest_of(path, size)


def truncate(path: Path, size: int, point: str) -> None:
    """Cut a file back to `size` bytes, durably.

    Raises
    ------
    OSError
        If that fails; the file is then whole or cut, nothing between.
    """
    fd = _open(path)
    try:
        if os.fstat(fd).st_size > size:
            fail_point(f"{point}.truncate")
            os.ftruncate(fd, size)
            fail_point(f"{point}.fsync")
            os.fsync(fd)
    finally:
        os.close(fd)
