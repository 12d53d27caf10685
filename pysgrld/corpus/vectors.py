"""Vectors in files, read by position and never mapped.

A page of a mapped file that is gone (the file was cut, the disk is failing) ends the process by
SIGBUS; a read says so in words, and costs what copying from mapped pages costs.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any, Self

import numpy as np

from pysgrld.corpus._gather import CUT, gather
from pysgrld.corpus.names import missing
from pysgrld.errors import CorpusError
from pysgrld.run.files import open_regular
from pysgrld.types import Array, Int64s


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
        #: What tells without reading that a file is what it was.
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


def stamp_of(status: os.stat_result) -> list[int]:
    """Give what tells without reading that a file is what it was: its size and when it was changed."""
    return [status.st_size, status.st_mtime_ns]


def changed(path: Path) -> CorpusError:
    """Return the error which says that a file of a stored corpus was changed in mid-use."""
    return CorpusError(
        f"{path.name} was changed while it was used; leave a corpus alone as long as runs read it",
        path.parent,
    )
