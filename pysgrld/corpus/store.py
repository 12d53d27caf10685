"""The stored corpus: documents in vectors on disk, opened with every number checked.

What is copied out is checked again: a folder that is cut or changed while it is used must end in a
sentence.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.stored import About, names_of
from pysgrld.corpus.digests import digest
from pysgrld.corpus.names import missing
from pysgrld.corpus.vectors import Vector, changed
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError, SgmcError
from pysgrld.run.files import open_regular, read_small
from pysgrld.types import Documents, Int64s

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
    nnz : int
        Pairs of a document and a word of it.
    parts : dict
        Files about the documents, with their digests; none in a corpus of 0.1.0.
    """

    def __init__(
        self,
        path: Path,
        meta: dict[str, Any],
        vocabulary: tuple[str, ...],
        vectors: dict[str, Vector],
    ) -> None:
        self.path, self.vocabulary = path, vocabulary
        self._vectors, self._written = vectors, meta.get("files")
        self.documents, self.words = len(vectors["indptr"]) - 1, len(vocabulary)
        self.nnz = len(vectors["indices"])
        self.tokens: int = meta["tokens"]
        self.fingerprint: str = meta["fingerprint"]
        self.provenance: dict[str, Any] = meta["provenance"]
        self.parts: dict[str, Any] = meta.get("parts", {})

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
        vocabulary = _vocabulary(path, meta)
        vectors = {name: _vector(path, name) for name in ARRAYS}
        corpus = cls(path, meta, vocabulary, vectors)
        shapes = {
            "documents": (meta["documents"], corpus.documents),
            "words": (meta["words"], corpus.words),
            "nnz": (meta["nnz"], corpus.nnz),
            "counts": (corpus.nnz, len(vectors["counts"])),
        }
        for name, (said, is_now) in shapes.items():
            if said != is_now:
                raise _damaged(path, f"{name}: {said} expected, {is_now} found")
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

    @cached_property
    def about(self) -> About:
        """Who the documents are: ids, titles, origins, columns and texts, as far as they are known.

        Raises
        ------
        CorpusError
            If a file of these is missing or was changed.
        """
        return About(self.path, self.parts, self.documents)

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
            vector = self._vectors.get(name.removesuffix(".npy"))
            if not whole and vector is not None and vector.stamp == said.get("stamp"):
                digests.append(str(said["sha256"]))
                continue
            digests.append(digest(path, skip=vector.offset if vector else 0))
            if said.get("sha256", digests[-1]) != digests[-1]:
                raise _damaged(self.path, f"{name} was changed since it was written")
        if fingerprint_of(digests) != self.fingerprint:
            raise _damaged(self.path, "it was changed since it was written")
        if whole:
            self.about.verify()

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
        spans = self._vectors["indptr"].gather(rows, np.full(len(rows), 2)).reshape(-1, 2)
        lengths = spans[:, 1] - spans[:, 0]
        if rows.size and (lengths.min() < 0 or spans.min() < 0 or spans.max() > self.nnz):
            raise changed(self._vectors["indptr"].path)
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        starts = np.ascontiguousarray(spans[:, 0])
        indices, counts = (self._vectors[n].gather(starts, lengths) for n in ("indices", "counts"))
        return self._proper(Documents(indptr, indices, counts))

    def blocks(self, entries: int = BLOCK) -> Iterator[Documents]:
        """Yield all documents in order, about so many entries at a time; none is ever cut.

        Raises
        ------
        CorpusError
            If the folder was changed since it was opened.
        """
        return map(self._proper, cut(self._vectors, entries))

    def _proper(self, block: Documents) -> Documents:
        """Refuse documents that have words or counts which there cannot be."""
        if len(block.indices):
            if block.indices.min() < 0 or block.indices.max() >= self.words:
                raise changed(self._vectors["indices"].path)
            if block.counts.min() < 1:
                raise changed(self._vectors["counts"].path)
        return block

    def lengths(self) -> Int64s:
        """Return the tokens of every document: (D,) int64."""
        return self._sums[0]

    def distinct_words(self) -> Int64s:
        """Return how many different words every document has: (D,) int64."""
        return self._sums[1]

    def word_counts(self) -> Int64s:
        """Return the occurrences of every word: (V,) int64."""
        return self._sums[2]

    @cached_property
    def _sums(self) -> tuple[Int64s, Int64s, Int64s]:
        lengths, distinct = np.empty((2, self.documents), np.int64)
        totals = np.zeros(self.words, np.int64)
        start = 0
        for block in self.blocks():
            total = np.zeros(len(block.counts) + 1, np.int64)
            np.cumsum(block.counts, out=total[1:])
            stop = start + len(block)
            lengths[start:stop] = np.diff(total[block.indptr])
            distinct[start:stop] = np.diff(block.indptr)
            np.add.at(totals, block.indices, block.counts)
            start = stop
        return lengths, distinct, totals

    def _check(self) -> int:
        """Check every number, in blocks, and return the sum of the counts."""
        indptr = self._vectors["indptr"]
        first, last = int(indptr.read(0, 1)[0]), 0
        for start in range(0, len(indptr), BLOCK):
            ends = indptr.read(start, start + BLOCK)
            if ends[0] < last or (np.diff(ends) < 0).any():
                raise _damaged(self.path, "indptr.npy decreases")
            last = int(ends[-1])
        if first != 0 or last != self.nnz:
            raise _damaged(self.path, "indptr.npy does not span the entries")
        tokens = 0
        for block in cut(self._vectors):
            indices = block.indices
            if len(indices) and (indices.min() < 0 or indices.max() >= self.words):
                raise _damaged(self.path, "indices.npy has a word id out of range")
            if len(indices) and block.counts.min() < 1:
                raise _damaged(self.path, "counts.npy has a count below 1")
            tokens += block.tokens
            begins = np.zeros(len(indices) + 1, bool)
            begins[block.indptr] = True
            if (indices[1:] <= indices[:-1])[~begins[1:-1]].any():
                raise _damaged(self.path, "indices.npy does not increase within a document")
        return tokens


def fingerprint_of(digests: Sequence[str]) -> str:
    """Give the fingerprint of a corpus: of the SHA-256 of its arrays' values and its vocabulary."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def cut(vectors: Mapping[str, Vector], entries: int = BLOCK) -> Iterator[Documents]:
    """Cut stored documents into blocks, about so many entries and at most so many documents.

    Raises
    ------
    CorpusError
        If a file was changed since it was opened.
    """
    indptr, indices, counts = (vectors[name] for name in ARRAYS)
    start, documents = 0, len(indptr) - 1
    while start < documents:
        ends = indptr.read(start, start + entries + 1)
        taken = max(int(np.searchsorted(ends[1:], ends[0] + entries, "right")), 1)
        ends = ends[: taken + 1]
        first, last = int(ends[0]), int(ends[-1])
        if not 0 <= first <= last <= len(indices) or (np.diff(ends) < 0).any():
            raise changed(indptr.path)
        yield Documents(ends - first, indices.read(first, last), counts.read(first, last))
        start += taken


def parts_of(path: Path) -> list[str]:
    """List the files of a stored corpus, by their names in its folder, those about documents too.

    Raises
    ------
    CorpusError
        If ``meta.json`` is none of ours.
    """
    return [*PARTS, *names_of(_meta(path).get("parts", {}))]


def is_stored(path: Path) -> bool:
    """Whether a folder is a stored corpus, be it a damaged one."""
    return (path / "meta.json").is_file() or (path / "indptr.npy").is_file()


def _damaged(path: Path, what: str) -> CorpusError:
    advice = "build it again with `sgmc corpus build`; of a run: restore it, or train anew"
    return CorpusError(f"a damaged corpus ({what}); {advice}", path)


@contextlib.contextmanager
def _part(path: Path, name: str) -> Iterator[Path]:
    """Say of a file of a stored corpus that it is missing, or cannot be read."""
    part = path / name
    try:
        yield part
    except FileNotFoundError:
        if not path.is_dir():
            raise missing(path, FileNotFoundError()) from None
        raise _damaged(path, f"{name} is missing") from None
    except OSError as error:
        raise missing(part, error) from None


def _meta(path: Path) -> dict[str, Any]:
    try:
        with _part(path, "meta.json") as part:
            meta = json.loads(read_small(part, links=True))
    except SgmcError:
        raise
    except (ValueError, RecursionError):
        raise _damaged(path, "meta.json is not JSON") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise CorpusError(
            "not a corpus of sgmc (meta.json says something else); of a folder of "
            "texts, move meta.json away",
            path,
        )
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
    if not isinstance(meta.get("parts", {}), dict):
        raise _damaged(path, "meta.json has no proper 'parts'")
    return meta


def _vocabulary(path: Path, meta: Mapping[str, Any]) -> tuple[str, ...]:
    with _part(path, "vocab.txt") as part, open_regular(part, links=True) as (_, size):
        pass
    written = meta["files"].get("vocab.txt") if isinstance(meta.get("files"), dict) else None
    if isinstance(written, dict) and written.get("stamp", [size])[0] != size:
        raise _damaged(path, "vocab.txt was changed since it was written")
    return read_vocabulary(part, exact=True)


def _vector(path: Path, name: str) -> Vector:
    bad = _damaged(path, f"{name}.npy is not a vector of {ARRAYS[name].name}, or is cut off")
    with _part(path, f"{name}.npy") as part:
        try:
            vector = Vector.open(part, ARRAYS[name])
        except (ValueError, EOFError):
            raise bad from None
    if name == "indptr" and len(vector) == 0:
        raise bad
    return vector
