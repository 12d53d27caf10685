"""Vectors in files, written from one end to the other, read by position and never mapped.

A page of a mapped file that is gone (the file was cut, the disk is failing) ends the process by
SIGBUS; a read says so in words, and costs what copying from mapped pages costs.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from pysgrld.corpus._gather import CUT, gather
from pysgrld.corpus.names import missing
from pysgrld.errors import CorpusError
from pysgrld.run.files import open_regular
from pysgrld.types import Array, Int64s

#: Bytes before the first value of a vector that `ArrayFile` writes.
HEADER = 128


class Vector:
    """A vector whose values lie one after the other in a file.

    Parameters
    ----------
    path : Path
    dtype : numpy.dtype
    offset : int
        Bytes before the first value.
    size : int
        Number of values.

    Attributes
    ----------
    stamp : list of int
        Size and time of the last change, in nanoseconds, when it was opened.

    Raises
    ------
    OSError
        If there is no such regular file, or it cannot be opened.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], offset: int, size: int) -> None:
        self.path, self.dtype, self.offset, self.size = path, dtype, offset, size
        with open_regular(path, links=True) as (fd, _):
            self._fd = os.dup(fd)
        weakref.finalize(self, os.close, self._fd)
        self.stamp = stamp_of(os.fstat(self._fd))

    @classmethod
    def open(cls, path: Path, dtype: np.dtype[Any]) -> Self:
        """Open a ``.npy`` file that holds a vector of this type, and nothing else.

        Raises
        ------
        ValueError
            If it is not one, or is cut off.
        OSError
            As the class.
        """
        with open_regular(path, links=True) as (fd, length), os.fdopen(os.dup(fd), "rb") as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not a vector as they are written here")
            shape, _, found = np.lib.format.read_array_header_1_0(file)
            offset = file.tell()
        if found != dtype or len(shape) != 1 or offset + shape[0] * dtype.itemsize != length:
            raise ValueError(f"not a vector of {dtype.name}, or cut off")
        return cls(path, dtype, offset, shape[0])

    def __len__(self) -> int:
        return self.size

    def read(self, start: int, stop: int) -> Array:
        """Copy the values from `start` to before `stop`, as far as there are any.

        Raises
        ------
        CorpusError
            If the file was cut since it was opened.
        MissingInputError
            If it cannot be read.
        """
        stop = min(stop, self.size)
        return self.gather(np.array([start]), np.array([max(stop - start, 0)]))

    def gather(self, starts: Int64s, lengths: Int64s) -> Array:
        """Copy the values ``starts[i]`` to ``starts[i] + lengths[i]``, one piece after the other.

        Raises
        ------
        CorpusError, MissingInputError
            As `read`.
        """
        width = self.dtype.itemsize
        out = np.empty(int(lengths.sum()), self.dtype)
        problem = gather(
            self._fd, self.offset + width * starts, width * lengths, out.view(np.uint8)
        )
        if problem == CUT:
            raise changed(self.path)
        if problem:
            raise missing(self.path, OSError(problem, os.strerror(problem)))
        return out


class ArrayFile:
    """A vector that grows at its end, as a ``.npy`` file: its header is written last."""

    def __init__(self, path: Path, dtype: np.dtype[Any], size: int | None = None) -> None:
        """Begin a file, or go on with one after its first ``size`` values."""
        self.dtype, self.size = dtype, size or 0
        self.digest = hashlib.sha256()
        self.file: BinaryIO
        if size is None:
            self.file = path.open("wb")
            self.file.write(bytes(HEADER))
            return
        self.file = path.open("r+b")
        self.file.truncate(HEADER + size * dtype.itemsize)
        self.file.seek(HEADER)
        while block := self.file.read(2**20):
            self.digest.update(block)

    def append(self, values: Array) -> None:
        """Write values after those that are there."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B") if len(values) else b""
        self.digest.update(data)
        self.file.write(data)
        self.size += len(values)

    def flush(self) -> int:
        """Force all values to disk, and return their number."""
        self.file.flush()
        os.fsync(self.file.fileno())
        return self.size

    def finish(self) -> str:
        """Write the header, force all of it to disk, and return the digest of the values."""
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({self.size},), }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little"))
        self.file.write(text.ljust(HEADER - 11).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return self.digest.hexdigest()


def stamp_of(status: os.stat_result) -> list[int]:
    """Return the size and the time of the last change of a file, by which it is taken for unchanged."""
    return [status.st_size, status.st_mtime_ns]


def changed(path: Path) -> CorpusError:
    """Return the error for a file of a stored corpus that was changed while it was used."""
    return CorpusError(
        f"{path.name} was changed while it was used; leave a corpus alone as long as runs read it",
        path.parent,
    )
