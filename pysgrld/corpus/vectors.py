"""Vectors in files, which grow by appending or are stored in archives; never memory-mapped.

If a page of a mapped file is lost (the file was truncated, the disk is failing), SIGBUS ends the
process; a read fails with an error instead, and costs as much as copying from mapped pages.
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

#: Maximum size in bytes of a vector that is cached in memory, once more values were gathered than
#: it has; and maximum mean length of pieces copied from the cache, because longer pieces are read
#: as fast from the file.
KEPT, LONG = 1 << 23, 64
#: Number of values read at a time when a whole vector is read.
TOGETHER = 2**16
#: Number of bytes buffered before they are written.
HELD = 2**18
#: Number of bytes before the first value in a ``.npy`` file written by appending.
_HEADER = 128


def _close(fd: int) -> None:
    """Close a file that was only read, and ignore errors of the system."""
    with contextlib.suppress(OSError):
        os.close(fd)


class Vector:
    """Vector of values stored contiguously in a file.

    Parameters
    ----------
    path : Path
    dtype : numpy.dtype
    offset : int
        Number of bytes before the first value.
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
        """Open a ``.npy`` file that consists of one vector of the given type.

        Parameters
        ----------
        path : Path
        dtype : numpy.dtype
        start, length : int
            Offset and size in bytes of the vector, if it is a member of an archive (`members`).

        Raises
        ------
        ValueError
            If the file is not such a vector, or is truncated.
        OSError
            If the path is not a regular file, or cannot be opened.
        """
        with open_regular(path, links=True) as (fd, whole), os.fdopen(os.dup(fd), "rb") as file:
            file.seek(start)
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not a vector file written by sgmc")
            try:
                shape, _, file_dtype = np.lib.format.read_array_header_1_0(file)
            # NumPy parses a header that is not a literal as Python code
            except (tokenize.TokenError, SyntaxError):
                raise ValueError("the header is not a NumPy header") from None
            offset = file.tell()
        end = start + (whole if length is None else length)
        if file_dtype != dtype or len(shape) != 1 or offset + shape[0] * dtype.itemsize != end:
            raise ValueError(f"not a vector of {dtype.name}, or incomplete")
        return cls(path, dtype, offset, shape[0])

    def read(self, start: int, stop: int) -> Array:
        """Return a copy of the values from `start` to before `stop`, fewer at the vector's end.

        Raises
        ------
        CorpusError
            If the file was truncated since it was opened.
        MissingInputError
            If the file cannot be read.
        """
        stop = min(stop, self.size)
        return self.gather(np.array([start]), np.array([max(stop - start, 0)]))

    def blocks(self) -> Iterator[Array]:
        """Yield all values in order, in blocks; raise the errors of `read`."""
        step = 8 * TOGETHER // self.dtype.itemsize
        for start in range(0, self.size, step):
            yield self.read(start, start + step)

    def digest(self) -> str:
        """Return the SHA-256 of all values, in hexadecimal; raise the errors of `read`."""
        hasher = hashlib.sha256()
        for block in self.blocks():
            hasher.update(block.data)
        return hasher.hexdigest()

    def gather(self, starts: Int64s, lengths: Int64s | None = None) -> Array:
        """Return the concatenated values ``starts[i]`` to ``starts[i] + lengths[i]`` for all i.

        Without lengths, one value is copied from each place.

        Raises
        ------
        CorpusError, MissingInputError
            The errors of `read`.
        """
        width = self.dtype.itemsize
        if lengths is None:
            lengths = np.ones(len(starts), np.int64)
        out = np.empty(int(lengths.sum()), self.dtype)
        if len(starts) > 1 and np.array_equal(starts[1:], (starts + lengths)[:-1]):
            starts, lengths = starts[:1], np.array([len(out)])  # read adjacent pieces as one
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
        """Return True if pieces are to be copied from memory, because the file is small and often used.

        Pieces of a file with a changed stamp are read from the file.
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
    """Return the start and end of each value, given a vector of the ends of all values.

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
    """A file to which values are appended; it is open only during writes, as files may be many.

    Parameters
    ----------
    path : Path
    dtype : str or numpy.dtype
    size : int, optional
        Number of values after which to continue a file; by default a new file is started.
    npy : bool
        Whether the file becomes a ``.npy`` file: room is left for its header, and the values are
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
        """Append values; bytes are written unchanged."""
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
        """Force all data to disk, and return the number of values so far."""
        self.write()
        with self.path.open("rb") as file:
            sync(file.fileno())
        return self.size

    def vector(self) -> Vector:
        """Return a readable vector of all values added so far."""
        self.write()
        return Vector(self.path, self.dtype, self.offset, self.size)

    def finish(self) -> str:
        """Complete the ``.npy`` file, sync it to disk, and return the SHA-256 of its values."""
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
    """Write a ``.npz`` file for `numpy.load`, in which `members` can find the members; sync it."""
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
    """Add a member to an archive: bytes, or a ``*.npy`` vector if ``dtype`` is given."""
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        if dtype is not None:
            head = {"descr": dtype, "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(member, head)
        for part in parts:
            member.write(part if isinstance(part, bytes) else part.astype(dtype or "u1").tobytes())


def members(path: Path) -> dict[str, tuple[int, int]]:
    """Return the position and size in bytes of each member of an archive.

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
        If the file is not an archive as written by `new_archive`.
    OSError
        If the path is not a regular file, or cannot be opened.
    """
    places = {}
    with open_regular(path, links=True) as (fd, _), os.fdopen(os.dup(fd), "rb") as file:
        try:
            for info in zipfile.ZipFile(file).infolist():
                if info.compress_type != zipfile.ZIP_STORED:
                    raise ValueError("a member is compressed")
                # the local header, before the member's data, gives the lengths of name and extra
                # field
                file.seek(info.header_offset + 26)
                name, extra = struct.unpack("<HH", file.read(4))
                start = info.header_offset + 30 + name + extra
                places[info.filename] = start, info.file_size
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError) as error:
            raise ValueError(str(error)) from None
    return places


def stamp_of(status: os.stat_result) -> list[int]:
    """Return a file's size and modification time, from which changes are detected."""
    return [status.st_size, status.st_mtime_ns]


def changed(path: Path) -> CorpusError:
    """Return the error for a file of a stored corpus that was changed while in use.

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
        f"{path.name} was changed while it was used; do not change a corpus while a run reads it",
        path.parent,
    )
