"""Vectors in files: grown at their end, put together in archives, read by position and never mapped.

A page of a mapped file that is gone (the file was cut, the disk is failing) ends the process by
SIGBUS; a read fails with an error instead, and costs as much as copying from mapped pages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tokenize
import weakref
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pysgrld.corpus._gather import CUT, copy, gather
from pysgrld.errors import CorpusError
from pysgrld.options.paths import refusal_of
from pysgrld.run.files import open_regular, sync
from pysgrld.types import Array, Int64s

#: Largest vector, in bytes, that is kept in memory after as many values were gathered as it has; and the
#: mean length of pieces from which reading costs no more than copying.
KEPT, LONG = 1 << 23, 64
#: Values in one read when a whole vector is read.
TOGETHER = 2**16
#: Bytes that are held back until they are written together.
HELD = 2**18
#: Bytes before the first value of a ``.npy`` file that grew.
_HEADER = 128


def _close(fd: int) -> None:
    """Close a file that was read: an error of the system means nothing then."""
    with contextlib.suppress(OSError):
        os.close(fd)


class Vector:
    """Vector with its values stored contiguously in a file.

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
    size : int
    stamp : list of int
        Size and time of the last change, in nanoseconds, when it was opened.

    Raises
    ------
    OSError
        If the path is not a regular file, or cannot be opened.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], offset: int, size: int) -> None:
        self.path, self.dtype, self.offset, self.size = path, dtype, offset, size
        with open_regular(path, links=True) as (fd, _):
            self._fd = os.dup(fd)
        weakref.finalize(self, _close, self._fd)
        self._gathered = 0
        self._whole: Array = np.empty(0, dtype)
        self.stamp = stamp_of(os.fstat(self._fd))

    @classmethod
    def open(
        cls, path: Path, dtype: np.dtype[Any], start: int = 0, length: int | None = None
    ) -> Self:
        """Open a ``.npy`` file that holds a vector of this type, and nothing else.

        Parameters
        ----------
        path : Path
        dtype : numpy.dtype
        start, length : int
            Bytes before it and its size, if it is a member of an archive (`members`).

        Raises
        ------
        ValueError
            If it is not one, or is cut off.
        OSError
            As the class.
        """
        with open_regular(path, links=True) as (fd, whole), os.fdopen(os.dup(fd), "rb") as file:
            file.seek(start)
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not a vector as they are written here")
            try:
                shape, _, file_dtype = np.lib.format.read_array_header_1_0(file)
            except (tokenize.TokenError, SyntaxError):  # NumPy parses the header as Python again
                raise ValueError("not a header of NumPy's") from None
            offset = file.tell()
        end = start + (whole if length is None else length)
        if file_dtype != dtype or len(shape) != 1 or offset + shape[0] * dtype.itemsize != end:
            raise ValueError(f"not a vector of {dtype.name}, or cut off")
        return cls(path, dtype, offset, shape[0])

    def read(self, start: int, stop: int) -> Array:
        """Copy the values from `start` to before `stop`, fewer at the end of the vector.

        Raises
        ------
        CorpusError
            If the file was cut since it was opened.
        MissingInputError
            If it cannot be read.
        """
        stop = min(stop, self.size)
        return self.gather(np.array([start]), np.array([max(stop - start, 0)]))

    def blocks(self) -> Iterator[Array]:
        """Yield all values in order, in blocks; raises the errors of `read`."""
        step = 8 * TOGETHER // self.dtype.itemsize
        for start in range(0, self.size, step):
            yield self.read(start, start + step)

    def digest(self) -> str:
        """Return the SHA-256 of all values, in hexadecimal; raises the errors of `read`."""
        hasher = hashlib.sha256()
        for block in self.blocks():
            hasher.update(block.data)
        return hasher.hexdigest()

    def gather(self, starts: Int64s, lengths: Int64s | None = None) -> Array:
        """Copy the values ``starts[i]`` to ``starts[i] + lengths[i]``, one piece after the other.

        Without lengths, one value is copied from each place.

        Raises
        ------
        CorpusError, MissingInputError
            As `read`.
        """
        width = self.dtype.itemsize
        if lengths is None:
            lengths = np.ones(len(starts), np.int64)
        out = np.empty(int(lengths.sum()), self.dtype)
        if len(starts) > 1 and np.array_equal(starts[1:], (starts + lengths)[:-1]):
            starts, lengths = starts[:1], np.array([len(out)])  # one piece
        into = out.view(np.uint8)
        if self._in_memory(len(starts), len(out)):
            problem = copy(self._whole.view(np.uint8), width * starts, width * lengths, into)
        else:
            problem = gather(self._fd, self.offset + width * starts, width * lengths, into)
        if problem == CUT:
            raise changed(self.path)
        if problem:
            raise refusal_of(self.path, OSError(problem, os.strerror(problem)))
        return out

    def _in_memory(self, pieces: int, values: int) -> bool:
        """Return True if pieces are copied from memory: many short pieces of a small file, repeatedly.

        A file that has another stamp by now is read as it is.
        """
        self._gathered += values
        if values > LONG * pieces or pieces < 2 or self.size * self.dtype.itemsize > KEPT:
            return False
        if self._gathered <= self.size or stamp_of(os.fstat(self._fd)) != self.stamp:
            return False
        if not len(self._whole):
            self._whole = self.read(0, self.size)
        return True


def between(ends: Vector, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Return the begin and end positions of some values, from a vector of end positions.

    Parameters
    ----------
    ends : Vector
        End of each value, ascending; the first value begins at 0.
    rows : array of int64, (n,)
        Positions of the values.

    Returns
    -------
    begins, ends : array of int64, (n,)
        Bounds of each value.
    """
    last = ends.gather(rows)
    if len(rows) > 1 and np.array_equal(rows[1:], rows[:-1] + 1):
        before = ends.gather(rows[:1] - 1) if rows[0] else np.zeros(1, np.int64)
        return np.concatenate([before, last[:-1]]), last
    return np.where(rows > 0, ends.gather(np.maximum(rows - 1, 0)), 0), last


class GrowingFile:
    """A file of values that grows at its end; as there may be hundreds, none is open in between.

    Parameters
    ----------
    path : Path
    dtype : str or numpy.dtype
    size : int, optional
        Continue after this number of values; without it a new file is started.
    npy : bool
        Whether it is to be a ``.npy`` file in the end: room is left for its header, and its values are
        hashed as they are written.
    """

    def __init__(
        self, path: Path, dtype: npt.DTypeLike, size: int | None = None, *, npy: bool = False
    ) -> None:
        self.path, self.dtype, self.size = path, np.dtype(dtype), size or 0
        self.offset = _HEADER if npy else 0
        self._digest = hashlib.sha256() if npy else None
        self._held: list[bytes] = []
        self._bytes_held = 0
        if size is None:
            path.write_bytes(bytes(self.offset))
            return
        os.truncate(path, self.offset + size * self.dtype.itemsize)
        if self._digest is not None:
            for block in self.vector().blocks():
                self._digest.update(block.data)

    def append(self, values: Array | list[int] | bytes) -> None:
        """Add values at the end; bytes are values as they lie in the file."""
        if not isinstance(values, bytes):
            values = np.ascontiguousarray(values, self.dtype).tobytes()
        self._held.append(values)
        self._bytes_held += len(values)
        self.size += len(values) // self.dtype.itemsize
        if self._bytes_held >= HELD:
            self.write()

    def write(self) -> None:
        """Write the buffered values."""
        if not self._bytes_held:
            return
        data = b"".join(self._held)
        with self.path.open("ab") as file:
            file.write(data)
        if self._digest is not None:
            self._digest.update(data)
        self._held, self._bytes_held = [], 0

    def flush(self) -> int:
        """Force all to disk, and return the number of values."""
        self.write()
        with self.path.open("rb") as file:
            sync(file.fileno())
        return self.size

    def vector(self) -> Vector:
        """Return all that was added so far, open for reading."""
        self.write()
        return Vector(self.path, self.dtype, self.offset, self.size)

    def finish(self) -> str:
        """Make it a ``.npy`` file, durably, and return the SHA-256 of its values in hexadecimal."""
        assert self._digest is not None
        self.write()
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({self.size},), }}"
        with self.path.open("r+b") as file:
            file.write(b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little"))
            file.write(text.ljust(_HEADER - 11).encode() + b"\n")
            file.flush()
            sync(file.fileno())
        return self._digest.hexdigest()


@contextlib.contextmanager
def new_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Write a ``.npz`` file for `numpy.load`, durably; `members` finds its members."""
    with path.open("xb") as file:
        with zipfile.ZipFile(file, "w") as archive:  # not compressed
            yield archive
        file.flush()
        sync(file.fileno())


def add_member(
    archive: zipfile.ZipFile,
    name: str,
    parts: Iterable[Array | bytes],
    dtype: str | None = None,
    size: int = 0,
) -> None:
    """Add a member to an archive: bytes, or a vector of a type and a size (its name ends in ``.npy``)."""
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        if dtype is not None:
            head = {"descr": dtype, "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(member, head)
        for part in parts:
            member.write(part if isinstance(part, bytes) else part.astype(dtype or "u1").tobytes())


def members(path: Path) -> dict[str, tuple[int, int]]:
    """Return the position and the size of each member of an archive, in bytes.

    Parameters
    ----------
    path : Path
        An archive without compression.

    Returns
    -------
    dict of str to (int, int)
        Position and size by member name.

    Raises
    ------
    ValueError
        If it is no archive as `new_archive` writes them.
    OSError
        If the path is not a regular file, or cannot be opened.
    """
    places = {}
    with open_regular(path, links=True) as (fd, _), os.fdopen(os.dup(fd), "rb") as file:
        try:
            for info in zipfile.ZipFile(file).infolist():
                if info.compress_type != zipfile.ZIP_STORED:
                    raise ValueError("a member is compressed")
                # lengths in the header, before the data of the member
                file.seek(info.header_offset + 26)
                name, extra = struct.unpack("<HH", file.read(4))
                start = info.header_offset + 30 + name + extra
                places[info.filename] = start, info.file_size
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError) as error:
            raise ValueError(str(error)) from None
    return places


def stamp_of(status: os.stat_result) -> list[int]:
    """Return the size and the time of the last change of a file, by which it is taken for unchanged."""
    return [status.st_size, status.st_mtime_ns]


def changed(path: Path) -> CorpusError:
    """Return the error for a file of a stored corpus that was changed while it was used.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    CorpusError
        The error, which the caller raises.
    """
    return CorpusError(
        f"{path.name} was changed while it was used; leave a corpus alone as long as runs read it",
        path.parent,
    )
