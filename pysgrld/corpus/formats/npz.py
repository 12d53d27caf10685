"""Reader for sparse matrices of counts in SciPy's format .npz, with a row for each document.

The file is a zip archive of arrays. Every array is read in small parts, so that memory does not
depend on the size of the file. Nothing is ever unpickled.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TypeVar

import numpy as np

from pysgrld.corpus.formats.counts import (
    LARGEST,
    REAL_DATA,
    Entries,
    Grouping,
    find_words,
    in_order,
    transposed,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError
from pysgrld.options.paths import is_file, path_error
from pysgrld.types import Array, Int64s

_MAGIC = b"PK\x03\x04"
_ADVICE = "write the matrix with scipy.sparse.save_npz, one row per document"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufSU][0-9]{1,3})', 'fortran_order': (?:True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), *\} *\n"
)

T = TypeVar("T")
U = TypeVar("U")

#: Maximum number of matrix entries (and of row pointers) that are in memory at a time.
PORTION = 2**18


def read(source: Lines, context: Context) -> CountedDocuments:
    """Check the size of the matrix, and read its words; return the documents as word counts."""
    with _opened(source) as archive:
        form, documents, words = _form(archive)
        size, limit = (
            sum(member.file_size for member in archive.infolist()),
            context.options.max_input,
        )
        if limit is not None and size > limit:
            raise _WrongError(
                f"the file unpacks to {size} bytes, more than --set max-input={limit}; if you "
                "trust the file, allow more"
            )
    entries = _entries(source, form, documents, words)
    sorted_by = "csr"
    if context.options.transpose == "on":
        documents, words, entries, sorted_by = words, documents, transposed(entries), "csc"
    vocabulary, origin = find_words(source, context, words, documents)
    if form != sorted_by:
        entries = in_order(entries, context.scratch)
    # If no row pointers confirm the number of rows, this number may be far too large. The empty
    # documents could then fill the disk. So `sure` is False unless empty documents are left out.
    sure = form == sorted_by or not context.keep_empty
    grouping = Grouping(source.label, context, documents, words, sure=sure, add_up=True)
    return CountedDocuments(vocabulary, origin, grouping.blocks(entries), numbered=True)


@contextmanager
def _opened(source: Lines) -> Iterator[zipfile.ZipFile]:
    """Open the archive for a ``with`` block; convert errors due to damage to a `CorpusError`."""
    if source.path is None or not is_file(source.path):
        raise CorpusError(
            "an .npz file cannot be read from a pipe; give the file's name", source.label
        )
    try:
        with source.path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise CorpusError(
                    "this is not an .npz file; if it is compressed (.gz, .xz and the like), "
                    f"decompress it; otherwise {_ADVICE}",
                    source.label,
                )
            with _tried(zipfile.ZipFile, file) as archive:
                yield archive
    except _WrongError as error:
        raise CorpusError(str(error), source.label) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise CorpusError(_damaged(error), source.label) from None
    except OSError as error:
        raise path_error(source.label, error) from None


def _tried(open_it: Callable[[T], U], source: T) -> U:
    """Open an archive or one of its members; convert any error to a `_WrongError`."""
    try:
        return open_it(source)
    except Exception as error:
        raise _WrongError(_damaged(error)) from None


def _damaged(error: Exception) -> str:
    """Return the message to the user for an error that a damaged archive caused."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return f"the .npz file is damaged ({reason[:100]}); write it again"


class _WrongError(Exception):
    """Error for an invalid archive; its message has the cause, but not the name of the file."""


class _Member:
    """Reader of an array of the archive; it reads the values in order."""

    def __init__(self, archive: zipfile.ZipFile, name: str, kinds: str) -> None:
        self.name = f"{name}.npy"
        try:
            info = archive.getinfo(self.name)
        except KeyError:
            raise _WrongError(f"the file lacks {self.name}; {_ADVICE}") from None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _WrongError(f"{self.name} has an unknown kind of compression; {_ADVICE}")
        self.file: IO[bytes] = _tried(archive.open, info)
        head = self.file.read(10)
        size = int.from_bytes(head[8:10], "little")
        header = _HEADER.fullmatch(self.file.read(size))
        if head[:8] != b"\x93NUMPY\x01\x00" or header is None:
            raise _WrongError(f"{self.name} is not a plain array; {_ADVICE}")
        self.shape = tuple(int(n) for n in header[2].replace(b",", b" ").split())
        self.dtype = np.dtype(header[1].decode())
        if self.dtype.kind not in kinds or (self.dtype.kind in "iuf" and self.dtype.itemsize > 8):
            raise _WrongError(f"{self.name} has values of the wrong type {self.dtype}; {_ADVICE}")
        if info.file_size != 10 + size + math.prod(self.shape) * self.dtype.itemsize:
            raise _WrongError(
                f"the size of {self.name} differs from the size in its header; the file is damaged"
            )

    def length(self) -> int:
        """Return the number of values; raise an error for an array that is not a vector."""
        if len(self.shape) != 1:
            raise _WrongError(f"{self.name} is not a vector; {_ADVICE}")
        return self.shape[0]

    def take(self, n: int) -> Array:
        """Read the next n values; when the last value is read, check the checksum of the array."""
        data = self.file.read(n * self.dtype.itemsize)
        if len(data) != n * self.dtype.itemsize:
            raise _WrongError(f"{self.name} is incomplete; the file is damaged")
        return np.frombuffer(data, self.dtype)


def _form(archive: zipfile.ZipFile) -> tuple[str, int, int]:
    """Read the storage format, the number of rows and the number of columns of the matrix."""
    member = _Member(archive, "format", "SU")
    if member.shape != () or member.dtype.itemsize > 64:
        raise _WrongError(f"format.npy does not contain the name of a sparse format; {_ADVICE}")
    value = member.take(1)[0]
    form = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if form not in ("csr", "csc", "coo"):
        raise _WrongError(
            f"the sparse format {form[:10]!r} cannot be read; convert the matrix to csr "
            "(X.tocsr()) and save it again"
        )
    member = _Member(archive, "shape", "iu")
    shape = [int(n) for n in member.take(member.length())] if member.length() <= 8 else []
    if len(shape) != 2:
        raise _WrongError(f"the array is not a matrix; {_ADVICE}")
    if not (0 <= shape[0] < 2**62 and 0 <= shape[1] <= LARGEST):
        raise _WrongError(
            f"the matrix is too large: {shape[0]} x {shape[1]}; save a smaller matrix"
        )
    return form, shape[0], shape[1]


def _entries(source: Lines, form: str, documents: int, words: int) -> Iterator[Entries]:
    """Yield all entries of the matrix in the order in which they are stored."""
    size = source.path.stat().st_size if source.path is not None else 0
    reported = source.file.tell()
    with _opened(source) as archive:
        data = _Member(archive, "data", "biuf")
        pieces = _coordinates if form == "coo" else _compressed
        major = words if form == "csc" else documents
        done = 0
        for first, second in pieces(archive, data.length(), major):
            rows, columns = (second, first) if form == "csc" else (first, second)
            yield _checked(rows, columns, data.take(len(rows)), documents, words)
            done += len(rows)
            # Progress is reported in bytes of the file, in proportion to the entries that were
            # read.
            if source.on_read is not None:
                now = max(reported, size * done // data.length())
                source.on_read(now - reported)
                reported = now
    if source.on_read is not None:
        source.on_read(size - reported)


def _compressed(
    archive: zipfile.ZipFile, entries: int, major: int
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the major (compressed) and the minor index of each entry of a CSR or CSC matrix."""
    indptr, indices = _Member(archive, "indptr", "iu"), _Member(archive, "indices", "iu")
    if indptr.length() != major + 1 or indices.length() != entries:
        raise _WrongError(
            f"the arrays indptr, indices and data have {indptr.length()}, {indices.length()} "
            f"and {entries} values, but must have {major + 1}, {entries} and {entries}; "
            f"{_ADVICE}"
        )
    before = int(indptr.take(1)[0])
    for start in range(0, major, PORTION):
        ends = indptr.take(min(PORTION, major - start)).astype(np.int64)
        if before < 0 or np.any(np.diff(ends, prepend=before) < 0) or ends[-1] > entries:
            raise _WrongError(
                "indptr.npy decreases, or refers to entries that do not exist; the file is damaged"
            )
        if start == 0 and before != 0:
            break
        ids = np.arange(start, start + len(ends), dtype=np.int64)
        last = int(ends[-1])
        for begin in range(before, last, PORTION):
            end = min(begin + PORTION, last)
            clipped = np.clip(ends, begin, end)
            lengths: Int64s = clipped - np.concatenate([[begin], clipped[:-1]])
            yield np.repeat(ids, lengths), indices.take(end - begin).astype(np.int64)
        before = last
    if before != entries:
        raise _WrongError(
            "indptr.npy does not cover all entries of the matrix; the file is damaged"
        )


def _coordinates(
    archive: zipfile.ZipFile, entries: int, major: int
) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the row and the column of each entry of a matrix in coordinate (COO) format."""
    row, col = _Member(archive, "row", "iu"), _Member(archive, "col", "iu")
    if row.length() != entries or col.length() != entries:
        raise _WrongError(
            f"row, col and data must have equal lengths, but have {row.length()}, {col.length()} "
            f"and {entries}; {_ADVICE}"
        )
    for start in range(0, entries, PORTION):
        n = min(PORTION, entries - start)
        yield row.take(n).astype(np.int64), col.take(n).astype(np.int64)


def _checked(rows: Int64s, columns: Int64s, values: Array, documents: int, words: int) -> Entries:
    """Check the rows, columns and counts of a matrix, and convert them to entries."""
    for name, ids, size in (("document", rows, documents), ("word", columns, words)):
        if len(ids) and (ids.min() < 0 or ids.max() >= size):
            i = int(np.argmax((ids < 0) | (ids >= size)))
            where = f" in document {int(rows[i]) + 1}" if name == "word" else ""
            raise _WrongError(
                f"{name} {int(ids[i]) + 1}{where} is out of range: shape.npy allows 1 to {size}; "
                "the file is damaged"
            )
    with np.errstate(invalid="ignore"):
        good = (values >= 0) & (values <= LARGEST)
        if values.dtype.kind == "f":
            good &= values == np.floor(values)
    if not good.all():
        i = int(np.argmin(good))
        hint = REAL_DATA if 0 < values[i] < LARGEST else ""
        raise _WrongError(
            f"document {rows[i] + 1}, word {columns[i] + 1}: the count {values[i]} is not a "
            f"whole number from 0 to {LARGEST}{hint}"
        )
    return Entries(rows + 1, columns.astype(np.int32), values.astype(np.int32), None)
