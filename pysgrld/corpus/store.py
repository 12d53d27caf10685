"""The stored corpus: word counts of documents, as arrays in a folder on disk.

Values are checked when the corpus is opened, and again when they are read, so that a folder that is
truncated or changed during use leads to an error message. If the corpus has more than
`LOOKED_THROUGH` documents and entries (pairs of a document and a word), only the sizes of the files
are checked when it is opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.reading import (
    AUTO,
    NAMED_WORDS,
    NUMBERED,
    NUMBERS,
    OF_TABLES,
    OF_WORDS,
    USUAL_TEXT_FIELD,
)
from pysgrld.corpus.slices import slices_of
from pysgrld.corpus.stored_files import (
    ARRAYS,
    PACKED,
    PARTS,
    WORD_COUNTS,
    damaged,
    digest,
    fingerprint_of,
    part_of,
    read_header,
    vocabulary_of,
    with_files,
)
from pysgrld.corpus.vectors import Vector, changed, members
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError
from pysgrld.options.paths import path_exists
from pysgrld.run.files import open_regular
from pysgrld.types import Documents, Int32s, Int64s, Slicing, WordTotals

if TYPE_CHECKING:
    from pysgrld.corpus.about.stored import About

#: Probabilities of the quantiles of document lengths that `describe` reports.
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
#: Number of entries (pairs of a document and a word) that are processed at a time. They take about
#: ten megabytes.
BLOCK = 2**20
#: Maximum of a count in sums of squares. Larger counts are replaced by this maximum, so
#: that sums over a block are exact in double precision.
MOST_REPEATED = 2**15
#: If a corpus has at most this number of documents and entries together, opening the corpus checks
#: all numbers in its arrays.
LOOKED_THROUGH = 10**8


class Totals(NamedTuple):
    """Maximum sizes of the documents of a corpus, and the number of occurrences of each word.

    Attributes
    ----------
    longest : int
        Number of tokens of the longest document; 0 if the corpus is empty.
    longest_row : int
        Position of the first document with this length.
    widest : int
        Maximum number of different words in a document.
    words : WordTotals
        Number of occurrences of each word.
    """

    longest: int
    longest_row: int
    widest: int
    words: WordTotals

    @property
    def word_counts(self) -> Int64s:
        """Number of occurrences of each word in the corpus, shape (V,)."""
        return self.words.occurrences


class Corpus:
    """A stored corpus with methods that read its documents; `open_corpus` and `open` create it.

    Attributes
    ----------
    path : Path
        Folder of the corpus.
    documents, words, tokens : int
        D, V, and the sum of all counts.
    vocabulary : tuple of str
        Word of each id.
    fingerprint : str
        SHA-256 of arrays and vocabulary, in hexadecimal, computed when they were written.
    nnz : int
        Number of pairs of a document and a word in it.
    parts : dict
        Files with details of the documents, and their digests; empty in a corpus of version 0.1.0.
    """

    def __init__(
        self,
        path: Path,
        meta: dict[str, Any],
        vocabulary: tuple[str, ...],
        vectors: dict[str, Vector],
    ) -> None:
        self.path, self.vocabulary = path, vocabulary
        self._vectors, self._written = vectors, meta.get("files") or {}
        self.documents, self.words = vectors["indptr"].size - 1, len(vocabulary)
        self.nnz = vectors["indices"].size
        self.tokens: int = meta["tokens"]
        self.fingerprint: str = meta["fingerprint"]
        self._provenance: dict[str, Any] = meta["provenance"]
        self.parts: dict[str, Any] = meta.get("parts") or {}
        self._totals_written = meta.get("totals")
        self._slices: Int32s | None = None
        self._copies = 1
        self._looked_through = self.nnz + self.documents <= LOOKED_THROUGH

    def __repr__(self) -> str:
        return (
            f"<Corpus {self.path}: {self.documents} documents, {self.words} words, "
            f"{self.tokens} tokens>"
        )

    @classmethod
    def open(cls, path: str | Path) -> Corpus:
        """Open a stored corpus; check all numbers of its arrays unless it is very large.

        The SHA-256 is checked for the vocabulary, and for arrays if their size or time of
        modification differs from the record. If documents and entries are more than
        `LOOKED_THROUGH`, only the sizes of arrays are compared, and no array is read.

        Parameters
        ----------
        path : str or Path
            A folder written by ``sgmc corpus build``.

        Raises
        ------
        MissingInputError
            If the folder is missing, or a file of it cannot be read.
        CorpusError
            If a file is missing, damaged, or does not fit the others.
        """
        path = Path(path)
        meta = read_header(path)
        words = vocabulary_of(path)
        with part_of(words.parent, words.name), open_regular(words, links=True) as (_, size):
            pass
        written = (meta.get("files") or {}).get("vocab.txt") or {}
        if (written.get("stamp") or [size])[0] != size:
            raise damaged(path, "vocab.txt was changed since it was written")
        vectors = {}
        packed = path_exists(path / PACKED)
        for name, dtype in ARRAYS.items():
            file = PACKED if packed else f"{name}.npy"
            bad = damaged(path, f"{file} is not a vector of {dtype.name}, or is incomplete")
            with part_of(path, file) as part:
                try:
                    lies = members(part)[f"{name}.npy"] if packed else (0, None)
                    vectors[name] = Vector.open(part, dtype, *lies)
                except (ValueError, EOFError, KeyError):
                    raise bad from None
            if name == "indptr" and vectors[name].size == 0:
                raise bad
        corpus = cls(path, meta, _words_of(words), vectors)
        shapes = {
            "documents": (meta["documents"], corpus.documents),
            "words": (meta["words"], corpus.words),
            "nnz": (meta["nnz"], corpus.nnz),
            "counts": (corpus.nnz, vectors["counts"].size),
        }
        where = {"documents": "indptr", "nnz": "indices", "counts": "counts"}
        for name, (expected, is_now) in shapes.items():
            if expected != is_now:
                file = vectors[where[name]].path.name if name in where else words.name
                problem = f"{name}: meta.json records {expected}, but {file} has {is_now}"
                raise damaged(path, problem)
        if corpus._looked_through:
            corpus._check()
        corpus.verify(whole=False)
        return corpus

    @property
    def reading(self) -> dict[str, Any]:
        """Options with which the documents were read, by the options' names.

        Defaults are resolved. The dict is empty if the options are unknown.
        """
        record: dict[str, Any] = self._provenance
        # A sample of a corpus has the reading options of that corpus, which may be a sample too.
        while isinstance(record.get("of"), dict):
            record = record["of"]
        read_options: dict[str, Any] = record.get("reading") or {}
        if "token-pattern" not in read_options:  # Only texts have a token pattern.
            chosen = record.get("vocabulary") or {}
            if not read_options or "from" not in chosen:
                return read_options
            numbered = chosen["from"] == NUMBERS
            return read_options | {OF_WORDS: NUMBERED if numbered else NAMED_WORDS}
        # Import late, because `sources` imports all input formats.
        from pysgrld.corpus.sources import text_field_of

        options = record.get("options") or {}
        if options.get("text_field") in (AUTO, USUAL_TEXT_FIELD):
            options = options | {"text_field": text_field_of(record)}
        fields = {name: options.get(name.replace("-", "_")) for name in OF_TABLES}
        return read_options | {name: field for name, field in fields.items() if field is not None}

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Record of inputs, reading options, skipped documents, and the vocabulary's origin."""
        return with_files(self.path, self._provenance, self.parts)

    @property
    def earlier_documents(self) -> int:
        """Number of leading documents that come from the corpus of an earlier run."""
        return self._provenance.get("earlier") or 0

    @cached_property
    def about(self) -> About:
        """Reader of the ids, titles, origins, columns and texts of the documents.

        Raises
        ------
        CorpusError
            If a file with these details is missing or was changed.
        """
        from pysgrld.corpus.about.stored import About  # Import late, because it is slow.

        read = self._provenance.get("documents_read")
        # A sample of a corpus has no record of how many documents were read. It omits no document,
        # so all its documents were read.
        if not isinstance(read, int):
            read = self.documents
        return About(self.path, self.parts, self.documents, read)

    def verify(self, *, whole: bool = True) -> None:
        """Compare the SHA-256 of each file of the corpus with the recorded SHA-256.

        Parameters
        ----------
        whole : bool
            Whether arrays with an unchanged size and time of modification are checked as well.

        Raises
        ------
        CorpusError
            If a file was changed.
        """
        written = self._written
        digests = []
        for name in PARTS[:-1]:
            vector, record = self._vectors.get(name.removesuffix(".npy")), written.get(name) or {}
            stamp = record.get("stamp")
            if not whole and vector is not None and isinstance(stamp, list) and "sha256" in record:
                recorded = (
                    2 if self._looked_through else 1
                    # Compare sizes and modification times. In a very large corpus, compare sizes
                    # only.
                )
                if vector.stamp[:recorded] == stamp[:recorded]:
                    digests.append(str(record["sha256"]))
                    continue
            digests.append(vector.digest() if vector else digest(vocabulary_of(self.path)))
            if record.get("sha256", digests[-1]) != digests[-1]:
                raise damaged(self.path, f"{name} was changed since it was written")
        if fingerprint_of(digests) != self.fingerprint:
            # If all files agree with their records in meta.json, meta.json itself was changed.
            culprit = "meta.json" if len(written) >= len(digests) else "it"
            raise damaged(self.path, f"{culprit} was changed since it was written")
        if whole:
            if not self._looked_through:
                self._check()
            _ = self.totals
            self.about.verify()

    def take(self, ids: npt.ArrayLike) -> Documents:
        """Read the documents with the given ids, in the order of the ids.

        Parameters
        ----------
        ids : (n,) integers in [0, D)
            Ids in any order; they may be repeated.

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
        block = self._in_slices(Documents(indptr, indices, counts), rows)
        if wrong := self._wrong(block):
            raise changed(self._vectors[wrong[0]].path)
        return block

    def slice_by(self, slicing: Slicing | None) -> Self:
        """Assign the documents to time slices; return this corpus.

        Raises
        ------
        CorpusError
            If the column is missing, or a document has no value in it.
        """
        if slicing is not None:
            values = self.column(slicing.field)
            self._slices = slices_of(slicing, values, lambda row: self.about.ids([row])[0])
            self._copies = len(slicing.names)
        return self

    def column(self, name: str) -> list[Any]:
        """Return each document's value of a column, or None if the value is missing.

        Raises
        ------
        CorpusError
            If the column is missing.
        """
        names = [column.name for column in self.about.columns]
        if name not in names:
            advice = (
                f"its columns are {', '.join(names[:20])}" if names else "the corpus has no columns"
            )
            raise CorpusError(f"no column {name[:40]!r}; {advice}", self.path)
        return self.about.values(name, np.arange(self.documents))

    @property
    def slices(self) -> Int32s | None:
        """Index of each document's time slice, shape (D,), or None without time slices."""
        return self._slices

    def _in_slices(self, block: Documents, rows: Int64s) -> Documents:
        """Return a block of documents, with their time slices if the corpus has them."""
        if self._slices is None:
            return block
        return replace(block, slices=self._slices[rows], copies=self._copies)

    def blocks(self, entries: int = BLOCK) -> Iterator[Documents]:
        """Yield all documents in order, in blocks of about `entries` pairs of document and word.

        Raises
        ------
        CorpusError
            If the folder was changed since it was opened.
        """
        first = 0
        for block in cut(self._vectors, entries):
            if wrong := self._wrong(block):
                raise changed(self._vectors[wrong[0]].path)
            yield self._in_slices(block, np.arange(first, first + len(block)))
            first += len(block)

    def _wrong(self, block: Documents) -> tuple[str, str] | None:
        """Return the name of an invalid array and the problem, or None if all are valid."""
        indices = block.indices
        if len(indices) == 0:
            return None
        if indices.min() < 0 or indices.max() >= self.words:
            return "indices", "has a word id out of range (not in the vocabulary)"
        if block.counts.min() < 1:
            return "counts", "has a count below 1"
        begins = np.zeros(len(indices) + 1, bool)
        begins[block.indptr] = True
        if (indices[1:] <= indices[:-1])[~begins[1:-1]].any():
            return "indices", "has unsorted or repeated word ids within a document"
        return None

    def lengths(self) -> Int64s:
        """Read all documents; return the number of tokens of each document, shape (D,)."""
        lengths = [np.zeros(0, np.int64), *(block.lengths for block in self.blocks())]
        return np.concatenate(lengths)

    @cached_property
    def totals(self) -> Totals:
        """Maximum sizes of documents, and number of occurrences of each word.

        Raises
        ------
        CorpusError
            If the file of word counts is missing or was changed.
        """
        written = self._totals_written
        if written is None:
            return count(self.blocks(), self.words)
        bad = damaged(self.path, f"{WORD_COUNTS} was changed since it was written")
        with part_of(self.path, WORD_COUNTS) as path:
            try:
                counts = Vector.open(path, np.dtype("<i8")).read(0, 2 * self.words)
                longest, row, widest = (int(written[name]) for name in Totals._fields[:-1])
                digest_written = written["words"]
                words = WordTotals(*counts.reshape(2, self.words))
            except (ValueError, EOFError, TypeError, KeyError):
                raise bad from None
        totals = Totals(longest, row, widest, words)
        if (
            hashlib.sha256(counts.tobytes()).hexdigest() != digest_written
            or int(words.occurrences.sum()) != self.tokens
            or not 0 <= longest <= self.tokens
        ):
            raise bad
        return totals

    def _check(self) -> None:
        """Check all arrays of the corpus; raise an error if a value or the token count is wrong."""
        indptr = self._vectors["indptr"]
        first, last = int(indptr.read(0, 1)[0]), 0
        for start in range(0, indptr.size, BLOCK):
            ends = indptr.read(start, start + BLOCK)
            if ends[0] < last or (np.diff(ends) < 0).any():
                raise damaged(self.path, f"{indptr.path.name} decreases")
            last = int(ends[-1])
        if first != 0 or last != self.nnz:
            raise damaged(self.path, f"{indptr.path.name} does not cover all stored counts")
        tokens = 0
        for block in cut(self._vectors):
            wrong = self._wrong(block)
            if wrong:
                raise damaged(self.path, f"{self._vectors[wrong[0]].path.name} {wrong[1]}")
            tokens += block.tokens
        if tokens != self.tokens:
            file = self._vectors["counts"].path.name
            problem = f"{file} has {tokens} tokens, but meta.json records {self.tokens}"
            raise damaged(self.path, problem)


def cut(vectors: Mapping[str, Vector], entries: int = BLOCK) -> Iterator[Documents]:
    """Read stored documents in order; yield them in blocks of limited size.

    Parameters
    ----------
    vectors : mapping of str to Vector
        Vectors "indptr", "indices" and "counts".
    entries : int, optional
        Approximate maximum number of entries (pairs of document and word) of a block.

    Yields
    ------
    Documents
        Consecutive documents.

    Raises
    ------
    CorpusError
        If a file was changed since it was opened.
    """
    indptr, indices, counts = (vectors[name] for name in ARRAYS)
    start, documents = 0, indptr.size - 1
    while start < documents:
        ends = indptr.read(start, start + entries + 1)
        taken = max(int(np.searchsorted(ends[1:], ends[0] + entries, "right")), 1)
        ends = ends[: taken + 1]
        first, last = int(ends[0]), int(ends[-1])
        if not 0 <= first <= last <= indices.size or (np.diff(ends) < 0).any():
            raise changed(indptr.path)
        yield Documents(ends - first, indices.read(first, last), counts.read(first, last))
        start += taken


def _words_of(path: Path) -> tuple[str, ...]:
    """Return the words of a vocabulary file, from the cache if it was the last file read.

    The held-out documents of a run have the vocabulary of the run's corpus, which may have millions
    of words, so that reading it twice would be slow.
    """
    sha256 = digest(path)
    if sha256 not in _last_words:
        words = read_vocabulary(path, exact=True)
        _last_words.clear()
        _last_words[sha256] = words
    return _last_words[sha256]


def remember_words(sha256: str, words: tuple[str, ...]) -> None:
    """Put the words of a vocabulary file into the cache, so that opening a corpus is faster.

    Parameters
    ----------
    sha256 : str
        SHA-256 of the file, in hexadecimal.
    words : tuple of str
        Its words; they are ignored if a word is empty or occurs twice.
    """
    if sha256 not in _last_words and all(words) and len(set(words)) == len(words):
        _last_words.clear()
        _last_words[sha256] = words


#: Cache with the words of the last vocabulary file, by the SHA-256 of the file.
_last_words: dict[str, tuple[str, ...]] = {}


def count(blocks: Iterable[Documents], words: int) -> Totals:
    """Compute the totals of a corpus: maximum sizes of documents, and frequencies of words.

    Sums of squared counts are computed too; a count above `MOST_REPEATED` is replaced by it.

    Parameters
    ----------
    blocks : iterable of Documents
        Blocks of at most 2^20 entries or of one document, so that sums in double precision are
        exact.
    words : int
        Number of words, V.
    """
    longest, longest_row, widest, start = 0, 0, 0, 0
    occurrences, squares = np.zeros(words, np.int64), np.zeros(words, np.int64)
    for block in blocks:
        if len(block):
            lengths = block.lengths
            most = int(lengths.argmax())
            if lengths[most] > longest:
                longest, longest_row = int(lengths[most]), start + most
            widest = max(widest, int(np.diff(block.indptr).max()))
            occurrences += np.bincount(block.indices, block.counts, words).astype(np.int64)
            squared = np.minimum(block.counts, MOST_REPEATED).astype(np.float64) ** 2
            squares += np.bincount(block.indices, squared, words).astype(np.int64)
        start += len(block)
    return Totals(longest, longest_row, widest, WordTotals(occurrences, squares))


def describe(corpus: Corpus, words: int = 20) -> dict[str, Any]:
    """Return summary statistics of a corpus, as a dict for JSON.

    Parameters
    ----------
    corpus : Corpus
    words : int
        Number of most frequent words to return.

    Returns
    -------
    dict
        ``path``, ``fingerprint``, ``documents``, ``words``, ``tokens``, ``nnz``, ``bytes``; numbers
        of ``empty`` documents and of ``unused_words``, which never occur; ``length_quantiles`` by
        probability, in tokens; ``frequent`` as pairs of word and count; whether documents have
        their own ``ids`` and ``titles``; ``columns`` with ``name``, ``kind``, ``missing``;
        ``texts`` with the number of ``documents`` with a kept text and its ``bytes``;
        ``provenance``.
    """
    about = corpus.about
    lengths, counts = corpus.lengths(), corpus.totals.word_counts
    quantiles = np.quantile(lengths, QUANTILES, method="inverted_cdf")
    most = np.argsort(-counts, kind="stable")[:words]
    return {
        "path": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        "documents": corpus.documents,
        "words": corpus.words,
        "tokens": corpus.tokens,
        "nnz": corpus.nnz,
        "bytes": sum(file.stat().st_size for file in corpus.path.rglob("*") if file.is_file()),
        "empty": int((lengths == 0).sum()),
        "unused_words": int((counts == 0).sum()),
        "length_quantiles": {
            f"{q:g}": int(n) for q, n in zip(QUANTILES, quantiles.tolist(), strict=True)
        },
        "frequent": [(corpus.vocabulary[i], int(counts[i])) for i in most.tolist()],
        "ids": about.has_ids,
        "titles": about.has_titles,
        "columns": [column._asdict() for column in about.columns],
        "texts": {"documents": about.texts_kept, "bytes": about.text_bytes},
        "provenance": corpus.provenance,
    }
