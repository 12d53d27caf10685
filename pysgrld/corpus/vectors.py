"""Vectors of numbers in files: parts can be read, and values can be appended.

Files are not memory-mapped. If a page of a mapped file is lost (the file was truncated, the disk is
failing), SIGBUS ends the process; a read fails with an error instead, and takes as long as copying
from mapped pages.
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
from pysgrld.options.paths import path_error
from pysgrld.run.files import open_regular, sync
from pysgrld.types import Array, Int64s

#: Maximum size in bytes of a vector that is cached in memory. A vector is cached as soon as more
#: values were read than it has.
KEPT = 1 << 23
#: A vector is not cached if more values than this are read at a time on average, because reading
#: them from the file is as fast.
LONG = 64
#: Number of values that are read at a time if the whole vector is read.
TOGETHER = 2**16
#: Number of bytes that are collected in memory before they are written to the file.
HELD = 2**18
#: Size in bytes of the header of a ``.npy`` file to which values are appended.
_HEADER = 128


def _close(fd: int) -> None:
    """Close a file that was opened for reading, and ignore errors."""
    with contextlib.suppress(OSError):
        os.close(fd)


class Vector:
    """Vector of numbers that is stored in a file; parts can be read.

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
        Size and modification time (in nanoseconds) of the file when it was opened.

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
        """Open a vector in a ``.npy`` file, or in a ``.npy`` member of an archive.

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
                raise ValueError("the file is not a vector written by sgmc")
            try:
                shape, _, file_dtype = np.lib.format.read_array_header_1_0(file)
            # To read a damaged header, NumPy would parse it as Python code.
            except (tokenize.TokenError, SyntaxError):
                raise ValueError("the header of the file is not a NumPy header") from None
            offset = file.tell()
        end = start + (whole if length is None else length)
        if file_dtype != dtype or len(shape) != 1 or offset + shape[0] * dtype.itemsize != end:
            raise ValueError(f"the file is not a vector of {dtype.name}, or is incomplete")
        return cls(path, dtype, offset, shape[0])

    def read(self, start: int, stop: int) -> Array:
        """Read the values from position `start` to before `stop`, or to the end of the vector.

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
        """Yield blocks of all values in order."""
        step = 8 * TOGETHER // self.dtype.itemsize
        for start in range(0, self.size, step):
            yield self.read(start, start + step)

    def digest(self) -> str:
        """Read all values; return their SHA-256 in hexadecimal."""
        hasher = hashlib.sha256()
        for block in self.blocks():
            hasher.update(block.data)
        return hasher.hexdigest()

    def gather(self, starts: Int64s, lengths: Int64s | None = None) -> Array:
        """Read pieces of the vector; return all pieces as one array.

        Piece i begins at ``starts[i]`` and has ``lengths[i]`` values, or one value without lengths.

        Raises
        ------
        CorpusError, MissingInputError
            The errors of `read`, or a piece is not within the vector.
        """
        width = self.dtype.itemsize
        if lengths is None:
            lengths = np.ones(len(starts), np.int64)
        if ((starts < 0) | (starts > self.size - lengths)).any():
            raise CorpusError(
                f"{self.path.name} lacks values to which the corpus refers; restore the corpus from "
                "a backup, or build it again",
                self.path.parent,
            )
        out = np.empty(int(lengths.sum()), self.dtype)
        if len(starts) > 1 and np.array_equal(starts[1:], (starts + lengths)[:-1]):
            # Adjacent pieces of the vector are read as a single piece.
            starts, lengths = starts[:1], np.array([len(out)])
        into = out.view(np.uint8)
        if self._in_memory(len(starts), len(out)):
            problem = copy(self._whole.view(np.uint8), width * starts, width * lengths, into)
        else:
            problem = gather(self._fd, self.offset + width * starts, width * lengths, into)
        if problem == CUT:
            raise changed(self.path)
        if problem:
            raise path_error(self.path, OSError(problem, os.strerror(problem)))
        return out

    def _in_memory(self, pieces: int, values: int) -> bool:
        """Return True if the vector is cached in memory; cache it if it is small and often read.

        A small vector that is often used is cached. A file with a changed stamp is read again.
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
    """Return the starts and ends of texts, given a vector with the end of each text.

    Parameters
    ----------
    ends : Vector
        End of each text, ascending; the first text begins at 0.
    rows : array of int64, (n,)
        Numbers of the texts.

    Returns
    -------
    begins, ends : array of int64, (n,)
        Start and end of each text.
    """
    last = ends.gather(rows)
    if len(rows) > 1 and np.array_equal(rows[1:], rows[:-1] + 1):
        before = ends.gather(rows[:1] - 1) if rows[0] else np.zeros(1, np.int64)
        return np.concatenate([before, last[:-1]]), last
    return np.where(rows > 0, ends.gather(np.maximum(rows - 1, 0)), 0), last


class GrowingFile:
    """Vector of numbers in a file, to which values are appended.

    The file is open only while it is written, because many files may be in use.

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
        """Append values, which are numbers, or the bytes of numbers of the vector's type."""
        if not isinstance(values, bytes):
            values = np.ascontiguousarray(values, self.dtype).tobytes()
        self._held.append(values)
        self._bytes_held += len(values)
        self.size += len(values) // self.dtype.itemsize
        if self._bytes_held >= HELD:
            self.write()

    def write(self) -> None:
        """Write the values that were collected in memory to the file."""
        if not self._bytes_held:
            return
        data = b"".join(self._held)
        with self.path.open("ab") as file:
            file.write(data)
        if self._digest is not None:
            self._digest.update(data)
        self._held, self._bytes_held = [], 0

    def flush(self) -> int:
        """Force all data to disk; return the number of values appended so far."""
        self.write()
        with self.path.open("rb") as file:
            sync(file.fileno())
        return self.size

    def vector(self) -> Vector:
        """Return a vector that reads the values appended so far."""
        self.write()
        return Vector(self.path, self.dtype, self.offset, self.size)

    def finish(self) -> str:
        """Write the header of the ``.npy`` file, and force it to disk; return the SHA-256."""
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
    """Create an uncompressed ``.npz`` file for a ``with`` block; force it to disk at the end."""
    with path.open("xb") as file:
        with zipfile.ZipFile(file, "w") as archive:  # Members of the archive are not compressed.
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
    """Add a member to an archive: a ``.npy`` vector if ``dtype`` is given, otherwise bytes."""
    with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        if dtype is not None:
            head = {"descr": dtype, "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(member, head)
        for part in parts:
            member.write(part if isinstance(part, bytes) else part.astype(dtype or "u1").tobytes())


def members(path: Path) -> dict[str, tuple[int, int]]:
    """Return the position and size in bytes of each archive member's data, by the member's name.

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
                # A member begins with a local header of 30 bytes, its name and an extra field. Then
                # its data follow. The last four bytes of the header state the lengths of the name
                # and of the extra field.
                file.seek(info.header_offset + 26)
                name, extra = struct.unpack("<HH", file.read(4))
                start = info.header_offset + 30 + name + extra
                places[info.filename] = start, info.file_size
        except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError) as error:
            raise ValueError(str(error)) from None
    return places


def stamp_of(status: os.stat_result) -> list[int]:
    """Return the size and modification time of a file, which show whether the file has changed."""
    return [status.st_size, status.st_mtime_ns]


def changed(path: Path) -> CorpusError:
    """Return the error for a file of a stored corpus that was changed after it was opened.

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
