"""The stored corpus: documents as memory-mapped arrays, opened with every number checked.

Documents are copied out by position, not from the mapped pages, and checked again: a folder that is
cut or changed while it is used must end in a sentence, and a page that is gone ends the process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pysgrld.corpus._gather import CUT, gather
from pysgrld.corpus.digests import digest
from pysgrld.corpus.names import missing
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError, SgmcError
from pysgrld.types import Array, Documents, Int32s, Int64s

FORMAT, VERSION = "sgmc-corpus", 1
ARRAYS: dict[str, np.dtype[Any]] = {
    "indptr": np.dtype("<i8"),
    "indices": np.dtype("<i4"),
    "counts": np.dtype("<i4"),
}

#: The files of a stored corpus, by which it is whole.
PARTS = (*(f"{name}.npy" for name in ARRAYS), "vocab.txt", "meta.json")

#: Entries that are looked at together: some ten megabytes.
BLOCK = 2**20


class Corpus:
    """A stored corpus. Made by `open_corpus` or `Corpus.open`, never directly.

    Attributes
    ----------
    path : Path
        Its folder.
    documents, words, tokens : int
        D, V, and the sum of all counts.
    vocabulary : tuple of str
        Word of each id.
    fingerprint : str
        SHA-256 of arrays and vocabulary, in hexadecimal, computed when they were written.
    provenance : dict
        Inputs, options, where the vocabulary came from, what was skipped and dropped.
    indptr : (D + 1,) int64
    indices, counts : (nnz,) int32
        As in `Documents`, memory-mapped and read-only.
    """

    def __init__(
        self,
        path: Path,
        meta: dict[str, Any],
        vocabulary: tuple[str, ...],
        indptr: Int64s,
        indices: Int32s,
        counts: Int32s,
        files: dict[str, Pieces],
    ) -> None:
        self.path, self.vocabulary = path, vocabulary
        self._files, self._written = files, meta.get("files")
        self.indptr, self.indices, self.counts = indptr, indices, counts
        self.documents, self.words = len(indptr) - 1, len(vocabulary)
        self.tokens: int = meta["tokens"]
        self.fingerprint: str = meta["fingerprint"]
        self.provenance: dict[str, Any] = meta["provenance"]

    def __repr__(self) -> str:
        return (
            f"<Corpus {self.path}: {self.documents} documents, {self.words} words, "
            f"{self.tokens} tokens>"
        )

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Open a stored corpus and check every number in it, in blocks.

        The vocabulary must be what was written, by its SHA-256, and so must arrays that have another
        size or time of modification than they had then.

        Parameters
        ----------
        path : str or Path
            A folder written by ``sgmc corpus build``.

        Raises
        ------
        MissingInputError
            If there is no such folder, or a file of it cannot be read.
        CorpusError
            If a file is missing, damaged, or does not fit the others.
        """
        path = Path(path)
        meta = _meta(path)
        vocabulary = read_vocabulary(_part(path, "vocab.txt"), exact=True)
        found = {name: _array(path, name, dtype) for name, dtype in ARRAYS.items()}
        indptr, indices, counts = (array for array, _ in found.values())
        shapes = {
            "documents": (meta["documents"], len(indptr) - 1),
            "words": (meta["words"], len(vocabulary)),
            "nnz": (meta["nnz"], len(indices)),
            "counts": (len(indices), len(counts)),
        }
        for name, (said, is_now) in shapes.items():
            if said != is_now:
                raise _damaged(path, f"{name}: {said} expected, {is_now} found")
        files = {name: pieces for name, (_, pieces) in found.items()}
        corpus = cls(path, meta, vocabulary, indptr, indices, counts, files)
        tokens = corpus._check()
        if tokens != corpus.tokens:
            raise _damaged(path, f"tokens: {corpus.tokens} expected, {tokens} found")
        corpus.verify(whole=False)
        return corpus

    @property
    def reading(self) -> dict[str, Any]:
        """Options that made the vocabulary, by their names, defaults resolved; empty if unknown."""
        record: dict[str, Any] = self.provenance.get("of", self.provenance)
        found: dict[str, Any] = record.get("reading", {})
        return found

    def verify(self, *, whole: bool = True) -> None:
        """Check that the corpus is what was written: every byte of it, by SHA-256.

        Parameters
        ----------
        whole : bool
            Also arrays that have the size and the time of modification that they had then.

        Raises
        ------
        CorpusError
            If a file was changed.
        """
        written = self._written if isinstance(self._written, dict) else {}
        digests = []
        for name in PARTS[:-1]:
            path, said = self.path / name, written.get(name) or {}
            array = self._files.get(name.removesuffix(".npy"))
            if not whole and array is not None and array.stamp == said.get("stamp"):
                digests.append(str(said["sha256"]))
                continue
            digests.append(digest(path, skip=array.offset if array else 0))
            if said.get("sha256", digests[-1]) != digests[-1]:
                raise _damaged(self.path, f"{name} was changed since it was written")
        if fingerprint_of(digests) != self.fingerprint:
            raise _damaged(self.path, "it was changed since it was written")

    def take(self, ids: npt.ArrayLike) -> Documents:
        """Copy documents out of the corpus.

        Parameters
        ----------
        ids : (n,) integers in [0, D)
            In any order; repeats are fine.

        Raises
        ------
        IndexError
            If an id is out of range.
        CorpusError
            If the folder was changed since it was opened.
        """
        rows = np.asarray(ids, np.int64)
        if rows.size and (rows.min() < 0 or rows.max() >= self.documents):
            raise IndexError(f"document ids must be in [0, {self.documents})")
        spans = self._files["indptr"].read(rows, np.full(len(rows), 2)).reshape(-1, 2)
        lengths = spans[:, 1] - spans[:, 0]
        if rows.size and (lengths.min() < 0 or spans.min() < 0 or spans.max() > len(self.indices)):
            raise _changed(self.path, "indptr.npy")
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        starts = np.ascontiguousarray(spans[:, 0])
        indices = self._files["indices"].read(starts, lengths)
        counts = self._files["counts"].read(starts, lengths)
        if len(indices) and (indices.min() < 0 or indices.max() >= self.words):
            raise _changed(self.path, "indices.npy")
        if len(counts) and counts.min() < 1:
            raise _changed(self.path, "counts.npy")
        return Documents(indptr, indices, counts)

    def blocks(self, entries: int = BLOCK) -> Iterator[Documents]:
        """Yield all documents in order, about so many entries at a time; none is ever cut.

        Raises
        ------
        CorpusError
            If the folder was cut since it was opened.
        """
        for block in cut(self.indptr, self.indices, self.counts, entries):
            for file in self._files.values():
                file.check()
            yield block

    def lengths(self) -> Int64s:
        """Return the tokens of every document: (D,) int64."""
        return self._lengths

    @cached_property
    def _lengths(self) -> Int64s:
        lengths = np.empty(self.documents, np.int64)
        start = 0
        for block in self.blocks():
            total = np.zeros(len(block.counts) + 1, np.int64)
            np.cumsum(block.counts, out=total[1:])
            lengths[start : start + len(block)] = np.diff(total[block.indptr])
            start += len(block)
        return lengths

    def word_counts(self) -> Int64s:
        """Return the occurrences of every word: (V,) int64."""
        return self._word_counts

    @cached_property
    def _word_counts(self) -> Int64s:
        totals = np.zeros(self.words, np.int64)
        for start in range(0, len(self.indices), BLOCK):
            np.add.at(
                totals, self.indices[start : start + BLOCK], self.counts[start : start + BLOCK]
            )
            release_pages(self.indices, self.counts)
        return totals

    def _check(self) -> int:
        """Check the arrays in blocks, and return the number of tokens."""
        nnz = len(self.indices)
        if self.indptr[0] != 0 or self.indptr[-1] != nnz:
            raise _damaged(self.path, "indptr.npy does not span the entries")
        for start in range(0, self.documents, BLOCK):
            steps = np.diff(self.indptr[start : start + BLOCK + 1])
            if steps.min() < 0:
                raise _damaged(self.path, "indptr.npy decreases")
        tokens = 0
        for start in range(0, nnz, BLOCK):
            indices = self.indices[start : start + BLOCK + 1]  # one more, to compare across blocks
            counts = self.counts[start : start + BLOCK]
            if indices.min() < 0 or indices.max() >= self.words:
                raise _damaged(self.path, "indices.npy has a word id out of range")
            if counts.min() < 1:
                raise _damaged(self.path, "counts.npy has a count below 1")
            tokens += int(counts.sum(dtype=np.int64))
            falls = start + 1 + np.flatnonzero(indices[1:] <= indices[:-1])
            at = np.searchsorted(self.indptr, falls)
            if not np.array_equal(self.indptr[at], falls):
                raise _damaged(self.path, "indices.npy does not increase within a document")
            release_pages(self.indptr, self.indices, self.counts)
        return tokens


class Pieces:
    """The file of a vector whose values begin at byte ``offset``, read by position.

    Raises
    ------
    OSError
        If it cannot be opened.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], offset: int) -> None:
        self.path, self.dtype, self.offset = path, dtype, offset
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)
        status = os.fstat(self._fd)
        self._size, self.stamp = status.st_size, stamp_of(status)

    def read(self, starts: Int64s, lengths: Int64s) -> Array:
        """Copy the values ``starts[i]`` to ``starts[i] + lengths[i]``, one piece after the other."""
        width = self.dtype.itemsize
        out = np.empty(int(lengths.sum()), self.dtype)
        problem = gather(
            self._fd, self.offset + width * starts, width * lengths, out.view(np.uint8)
        )
        if problem == CUT:
            raise _changed(self.path.parent, self.path.name)
        if problem:
            raise missing(self.path, OSError(problem, os.strerror(problem)))
        return out

    def check(self) -> None:
        """Refuse a file that has another length now: pages that are gone must not be touched."""
        if os.fstat(self._fd).st_size != self._size:
            raise _changed(self.path.parent, self.path.name)


def stamp_of(status: os.stat_result) -> list[int]:
    """Give what tells without reading that a file is what it was: its size and when it was changed."""
    return [status.st_size, status.st_mtime_ns]


def fingerprint_of(digests: Sequence[str]) -> str:
    """Give the fingerprint of a corpus: of the SHA-256 of its arrays' values and its vocabulary."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def cut(
    indptr: Int64s, indices: Int32s, counts: Int32s, entries: int = BLOCK
) -> Iterator[Documents]:
    """Cut arrays into blocks of documents, about so many entries and at most so many documents."""
    start, documents = 0, len(indptr) - 1
    while start < documents:
        ends = indptr[start + 1 : start + 1 + entries]
        stop = start + max(int(np.searchsorted(ends, indptr[start] + entries, "right")), 1)
        first, last = int(indptr[start]), int(indptr[stop])
        yield Documents(indptr[start : stop + 1] - first, indices[first:last], counts[first:last])
        release_pages(indptr, indices, counts)
        start = stop


def release_pages(*arrays: Array) -> None:
    """Unmap the pages of mapped arrays that were read: memory stays flat however long they are."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)


def is_stored(path: Path) -> bool:
    """Whether a folder is a stored corpus, be it a damaged one."""
    return (path / "meta.json").is_file() or (path / "indptr.npy").is_file()


def _damaged(path: Path, what: str) -> CorpusError:
    return CorpusError(f"a damaged corpus ({what}); build it again with `sgmc corpus build`", path)


def _changed(path: Path, name: str) -> CorpusError:
    return CorpusError(
        f"{name} was changed while it was used; leave a corpus alone as long as runs read it", path
    )


def _part(path: Path, name: str) -> Path:
    part = path / name
    try:
        with part.open("rb"):
            return part
    except FileNotFoundError:
        if not path.is_dir():
            raise missing(path, FileNotFoundError()) from None
        raise _damaged(path, f"{name} is missing") from None
    except OSError as error:
        raise missing(part, error) from None


def _meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(_part(path, "meta.json").read_bytes())
    except SgmcError:
        raise
    except (ValueError, RecursionError):
        raise _damaged(path, "meta.json is not JSON") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise CorpusError("not a corpus of sgmc (meta.json says something else)", path)
    if meta.get("version") != VERSION:
        raise CorpusError(
            f"a corpus of version {meta.get('version')!r}, but this sgmc reads version {VERSION}; "
            "use the sgmc that wrote it, or build it again",
            path,
        )
    kinds = {"documents": int, "words": int, "nnz": int, "tokens": int}
    for key, kind in {**kinds, "fingerprint": str, "provenance": dict}.items():
        if not isinstance(meta.get(key), kind):
            raise _damaged(path, f"meta.json has no proper {key!r}")
    return meta


def _array(path: Path, name: str, dtype: np.dtype[Any]) -> tuple[Array, Pieces]:
    part = _part(path, f"{name}.npy")
    try:
        array = np.load(part, mmap_mode="r", allow_pickle=False)
        good = array.dtype == dtype and array.ndim == 1 and array.flags.c_contiguous
    except MemoryError:
        raise
    except Exception as error:  # a damaged header fails in many ways, and all of them mean this
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError from None
        good = False
    if not good or (name == "indptr" and len(array) == 0):
        raise _damaged(path, f"{name}.npy is not a vector of {dtype.name}, or is cut off")
    plain: Array = array.view(np.ndarray)
    return plain, Pieces(part, dtype, array.offset)
