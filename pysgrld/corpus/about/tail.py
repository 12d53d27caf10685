"""Files that grow at their end while a corpus is read, none of them open in between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus.vectors import ArrayFile, Vector
from pysgrld.types import Array, Int64s

#: Bytes that are held back until they are written together.
HELD = 2**18
#: Values that are copied together.
TOGETHER = 2**16


class Tail:
    """A file of values that grows; a folder may have hundreds of them.

    Parameters
    ----------
    path : Path
    dtype : numpy.dtype
    size : int, optional
        Go on after so many values; begin a new file otherwise.
    """

    def __init__(self, path: Path, dtype: str, size: int | None = None) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self.size = size or 0
        self._parts: list[bytes] = []
        self._held = 0
        if size is None:
            path.write_bytes(b"")
        else:
            os.truncate(path, size * self.dtype.itemsize)

    def append(self, values: Array | list[int] | bytes) -> None:
        """Add values at the end; bytes are values as they lie in the file."""
        if not isinstance(values, bytes):
            values = np.ascontiguousarray(values, self.dtype).tobytes()
        self._parts.append(values)
        self._held += len(values)
        self.size += len(values) // self.dtype.itemsize
        if self._held >= HELD:
            self.write()

    def write(self) -> None:
        """Write what was held back."""
        if self._held:
            with self.path.open("ab") as file:
                file.write(b"".join(self._parts))
            self._parts, self._held = [], 0

    def flush(self) -> int:
        """Force all to disk, and return the number of values."""
        self.write()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        return self.size

    def vector(self) -> Vector:
        """Open all that was written so far for reading."""
        self.write()
        return Vector(self.path, self.dtype, 0, self.size)

    def link(self, path: Path) -> None:
        """Give the file, which is at its end, another name, durably; a copy where there are no links."""
        self.flush()
        try:
            path.hardlink_to(self.path)
        except OSError:
            shutil.copyfile(self.path, path)


def pieces(vector: Vector) -> Iterator[Array]:
    """Yield all values of a vector, some at a time."""
    for start in range(0, len(vector), TOGETHER):
        yield vector.read(start, start + TOGETHER)


def picked(vector: Vector, rows: Int64s) -> Array:
    """Read single values of a vector."""
    return spans(vector, rows, np.ones(len(rows), np.int64))


def between(ends: Vector, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Read where values begin and end, of a vector that says where each ends."""
    last = picked(ends, rows)
    if len(rows) > 1 and np.array_equal(rows[1:], rows[:-1] + 1):
        before = picked(ends, rows[:1] - 1) if rows[0] else np.zeros(1, np.int64)
        return np.concatenate([before, last[:-1]]), last
    return np.where(rows > 0, picked(ends, np.maximum(rows - 1, 0)), 0), last


def spans(vector: Vector, starts: Int64s, lengths: Int64s) -> Array:
    """Read spans of a vector, at once where each begins at the end of the one before."""
    if len(starts) and np.array_equal(starts[1:], (starts + lengths)[:-1]):
        return vector.read(int(starts[0]), int(starts[-1] + lengths[-1]))
    return vector.gather(starts, lengths)


def write_array(path: Path, dtype: Any, parts: Iterator[Array]) -> None:
    """Write a ``.npy`` file of vectors one after the other, durably."""
    file = ArrayFile(path, np.dtype(dtype))
    try:
        for part in parts:
            file.append(part)
        file.finish()
    finally:
        file.file.close()
