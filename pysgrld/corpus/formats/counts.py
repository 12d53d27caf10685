"""Functions that all readers of word counts share.

They find the words, and group the entries of a file (pairs of document and word with a count) by
document. Entries that are not in order are sorted by document first. If they do not fit into memory,
sorted parts (runs) are written to a temporary file without a name, which the system always removes,
and then merged.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from pysgrld.corpus.formats.protocol import Context
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import NUMBERS
from pysgrld.corpus.vocabulary import read_genes, read_vocabulary
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Array, Documents, Int32s, Int64s

#: Maximum of a count, and of a word id.
LARGEST = 2**31 - 1
#: Advice at the end of a message about a value that is not a whole number.
REAL_DATA = (
    "; for real-valued data, divide the values by a unit such as 0.01, round them to whole "
    "numbers, and train with --link real"
)
#: If a document has more entries in memory than this number, entries of the same word are merged.
MANY = 2**24
#: Number of entries that are sorted in memory at a time. They take 32 MiB.
RUN = 2**21

_RECORD = np.dtype([("row", "<i8"), ("word", "<i4"), ("count", "<i4")])


def find_words(
    source: Lines,
    context: Context,
    words: int | None = None,
    documents: int | None = None,
    line: int | None = None,
) -> tuple[tuple[str, ...] | None, str]:
    """Read the words of a file of counts from the file of ``--vocab``, or from a file next to it.

    Parameters
    ----------
    source : Lines
    context : Context
    words, documents : int, optional
        Numbers of words and documents in the header of the file.
    line : int, optional
        Line of the header with these numbers.

    Returns
    -------
    vocabulary : tuple of str or None
        None if there is no such file; words are then named by their numbers, after a warning.
    origin : str
        Origin of the vocabulary, for the record.

    Raises
    ------
    CorpusError
        If the number of words differs from the file's header, or the vocabulary itself is invalid.
    """
    option = context.options.vocab
    path: str | Path | None = context.beside if option is None else option
    if path is None:
        context.log(
            f"{source.label}: warning: there is no vocab.*.txt next to this file, so words are "
            "shown as numbers from 1; give the words with --vocab FILE"
        )
        return None, NUMBERS
    vocabulary = read_vocabulary(path)
    if words is not None and len(vocabulary) != words:
        only = "only " if len(vocabulary) < words else ""
        turned = "without --transpose" if context.options.transpose == "on" else "--transpose"
        raise CorpusError(
            f"the file has counts of {plural(words, 'word')}, but the vocabulary {path} has "
            f"{only}{len(vocabulary):,}; "
            + (
                f"the file has {documents:,} documents, as many as the vocabulary has words, so "
                f"rows and columns may be exchanged: try {turned}"
                if documents == len(vocabulary)
                else "give the vocabulary of this file with --vocab"
            ),
            source.label,
            line,
        )
    return vocabulary, str(path) if option is not None else Path(path).name


def words_of_counts(
    source: Lines, context: Context, words: int, documents: int, line: int | None = None
) -> tuple[tuple[str, ...] | None, str, tuple[str, ...] | None]:
    """Return the words of a count matrix, the name of their source, and the documents' ids.

    A single-cell matrix has genes as words and barcodes as ids, in separate files. For any other
    matrix the ids are None, and `find_words` finds the words.

    Raises
    ------
    CorpusError
        If the number of words or of ids differs from the file's header.
    """
    cells = context.single_cells
    if cells is None:
        return *find_words(source, context, words, documents, line), None
    if context.options.vocab is not None:
        context = context._replace(beside=cells.genes)
        vocabulary, origin = find_words(source, context, words, documents, line)
    else:
        vocabulary, origin = read_genes(cells.genes), cells.genes.name
    ids = read_vocabulary(cells.barcodes)
    for name, path, values, number in (
        ("row", cells.genes, vocabulary or (), words),
        ("column", cells.barcodes, ids, documents),
    ):
        if len(values) != number:
            raise CorpusError(
                f"the matrix has {plural(number, name)}, but {path} has "
                f"{plural(len(values), 'line')}; download all three files again",
                source.label,
                line,
            )
    return vocabulary, origin, ids


def not_transposed(context: Context, source: Lines) -> None:
    """Raise an error if --transpose is used with a format in which each line is a document.

    Raises
    ------
    CorpusError
    """
    if context.options.transpose == "on":
        raise CorpusError(
            "each line of this format is a document; leave out --transpose", source.label
        )


def refuse_line(reason: str, message: str, path: str, line: int | None) -> None:
    """Raise the error for a line of a file of counts that exceeds the maximum length."""
    raise CorpusError(f"{message}: this is not a file of counts; give such a file", path, line)


def quoted(field: bytes) -> str:
    """Return a field of a file in quotes for a message, shortened to 40 bytes.

    Parameters
    ----------
    field : bytes
        Field of a file.

    Returns
    -------
    str
        The field, escaped.
    """
    text = field[:40].decode("utf-8", "backslashreplace").strip()
    return repr(text + "..." if len(field) > 40 else text)


def wrong_count(field: bytes, strict: bool) -> str:
    """Return an error message if a field is not a valid count, else an empty text.

    Parameters
    ----------
    field : bytes
        Field of a file that should be a count.
    strict : bool
        Whether the count must be in digits and at least 1; else it may also be 0, or written as
        3.0.

    Returns
    -------
    str
        The message; empty if the field is a count.
    """
    label = f"count {quoted(field)}"
    if field.isdigit():
        if not field.strip(b"0"):
            return "the count is 0; leave out the entry" if strict else ""
        return f"{label} is above {LARGEST}" if len(field) > 18 or int(field) > LARGEST else ""
    try:
        value = math.nan if strict else float(field)
    except ValueError:
        value = math.nan
    if value > LARGEST and not math.isinf(value):
        return f"{label} is above {LARGEST}"
    if 0 <= value <= LARGEST and value == int(value) and b"_" not in field and field[:1] != b"+":
        return ""
    real = 0 < value < LARGEST and value != int(value)
    return f"{label} is not a whole number of at least {int(strict)}" + (REAL_DATA if real else "")


class Entries(NamedTuple):
    """Consecutive entries of a count matrix, each with a document, a word and a count.

    Attributes
    ----------
    rows : (n,) int64
        Number of the document of each entry, from 1.
    words : (n,) int32
        Id of the word of each entry, from 0.
    counts : (n,) int32
        Count of each entry, at least 0.
    line : int or None
        Line of the first entry in its file; the other entries follow, one per line.
    """

    rows: Int64s
    words: Int32s
    counts: Int32s
    line: int | None


def canonical(
    rows: Int64s,
    words: Int32s,
    counts: Int32s,
    wrong: Callable[[str, int], CorpusError],
    *,
    first: int = 1,
    add_up: bool = False,
) -> tuple[Int64s, Int32s, Int32s]:
    """Sort each document's entries by word; add up repeated words, or raise an error for them.

    Parameters
    ----------
    rows : (n,) int64
        Number of the document of each entry; never decreasing.
    words, counts : (n,) int32
    wrong : callable (message, position) -> CorpusError
        Returns the error about the entry at a position.
    first : int
        Number of the first word in the file.
    add_up : bool
        Whether the counts of a repeated word are added up; else a repeated word is an error.

    Raises
    ------
    CorpusError
        If a word is repeated and `add_up` is False, or a document has more than 2^31 - 1 tokens.
    """
    if len(rows) == 0:
        return rows, words, counts
    again = rows[1:] == rows[:-1]
    # True for an entry with the same word as the entry before.
    same = np.zeros(0, np.bool_)
    if np.any(again & (words[1:] <= words[:-1])):
        order = np.lexsort((words, rows))
        words, counts = words[order], counts[order]
        same = again & (words[1:] == words[:-1])
        if same.any() and not add_up:
            twice = np.flatnonzero(same) + 1
            # lexsort is stable. If two entries have the same word, `twice` has the entry that is
            # later in the file, and the error reports this entry.
            position = twice[np.argmin(order[twice])]
            message = f"word {words[position] + first} occurs twice in document {rows[position]}"
            raise wrong(
                f"{message}; write one entry with the sum of the counts", int(order[position])
            )
    starts = np.flatnonzero(np.concatenate([[True], ~again]))
    tokens = np.add.reduceat(counts.astype(np.int64), starts)
    if tokens.max() > LARGEST:
        most = int(np.argmax(tokens > LARGEST))
        position = int(starts[most])
        raise wrong(
            f"document {rows[position]} has {tokens[most]} tokens, but the maximum is {LARGEST}; "
            "split the document",
            position,
        )
    if same.any():
        ones = np.flatnonzero(np.concatenate([[True], ~same]))
        counts = np.add.reduceat(counts, ones).astype(np.int32)
        rows, words = rows[ones], words[ones]
    return rows, words, counts


def transposed(parts: Iterable[Entries]) -> Iterator[Entries]:
    """Exchange rows and columns of entries, for a matrix with words in its rows.

    Parameters
    ----------
    parts : iterable of Entries
        Entries with words as rows.

    Yields
    ------
    Entries
        The same entries with documents as rows.
    """
    for part in parts:
        words = (part.rows - 1).astype(np.int32)
        yield Entries(part.words.astype(np.int64) + 1, words, part.counts, part.line)


class Grouping:
    """Converter of entries, which are sorted by document, to blocks of whole documents.

    Parameters
    ----------
    label : str
        Name of the file in messages.
    context : Context
    documents, words : int
        Numbers of documents and words, from the header or counted.
    line : int, optional
        Line of the header with the number of documents, if any.
    sure : bool
        Whether the number of documents is certainly right. Otherwise the file may have only a
        limited number of documents without entries.
    add_up : bool
        See `canonical`.
    """

    def __init__(
        self,
        label: str,
        context: Context,
        documents: int,
        words: int,
        line: int | None = None,
        *,
        sure: bool = False,
        add_up: bool = False,
    ) -> None:
        self.label, self.context = label, context
        self.documents, self.words, self.header_line = documents, words, line
        self.sure, self.add_up = sure, add_up
        self.present = self.absent = self.last = 0
        none = np.empty(0, np.int32)
        self.held = Entries(np.empty(0, np.int64), none, none, None)

    def blocks(self, parts: Iterable[Entries]) -> Iterator[tuple[Documents, Int64s]]:
        """Yield blocks of documents, and each document's 1-based number in the matrix.

        Documents without entries are yielded as empty documents if empty documents are kept.
        """
        for part in parts:
            if not len(part.rows):
                continue
            held = self.held
            self.held = Entries(
                np.concatenate([held.rows, part.rows]),
                np.concatenate([held.words, part.words]),
                np.concatenate([held.counts, part.counts]),
                held.line if len(held.rows) else part.line,
            )
            rows = self.held.rows
            ready = int(np.searchsorted(rows, rows[-1]))
            if len(rows) - ready > min(self.words, MANY):
                # The last document has more entries than the vocabulary has words, so words must be
                # repeated.
                rows, words, counts, line = self.held
                new = canonical(
                    rows[ready:],
                    words[ready:],
                    counts[ready:],
                    lambda message, position: self._error(message, ready + position),  # noqa: B023
                    add_up=self.add_up,
                )
                if self.add_up:
                    self.held = Entries(
                        np.concatenate([rows[:ready], new[0]]),
                        np.concatenate([words[:ready], new[1]]),
                        np.concatenate([counts[:ready], new[2]]),
                        line,
                    )
            if ready:
                yield from self._take(ready)
        if len(self.held.rows):
            yield from self._take(len(self.held.rows))
        # If many documents at the end of the file have no entry, the header's number of documents
        # is wrong.
        gap = self.documents - self.last
        most = self.present + 1000 if self.context.keep_empty else self.documents // 100
        if gap > most and not self.sure:
            raise CorpusError(
                f"the header promises {plural(self.documents, 'document')}, but the last document "
                f"with words is number {self.last}; the file is incomplete, or its header is wrong",
                self.label,
                self.header_line,
            )
        if gap and self.context.keep_empty:
            nothing = np.empty(0, np.int32)
            for start in range(0, gap, 2**20):
                size = min(2**20, gap - start)
                numbers = self.last + 1 + np.arange(start, start + size)
                yield Documents(np.zeros(size + 1, np.int64), nothing, nothing), numbers
        elif gap:
            self.context.absent(gap)

    def _error(self, message: str, position: int) -> CorpusError:
        line = self.held.line
        return CorpusError(message, self.label, None if line is None else line + position)

    def _take(self, n: int) -> Iterator[tuple[Documents, Int64s]]:
        """Yield the first n collected entries as a block of whole documents, and then drop them."""
        rows, words, counts, line = self.held
        positions = np.flatnonzero(counts[:n])
        if len(positions):
            rows, words, counts = canonical(
                rows[positions],
                words[positions],
                counts[positions],
                lambda message, position: self._error(message, int(positions[position])),
                add_up=self.add_up,
            )
            starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
            present = rows[starts]
            lengths = np.diff(np.append(starts, len(rows)))
            self.present += len(starts)
            gap = int(present[-1]) - self.last - len(starts)
            self.absent += gap
            if self.context.keep_empty and gap:
                if self.absent > 1_000_000 + self.present and not self.sure:
                    raise self._error(
                        f"document number {present[-1]} is too large, because only "
                        f"{plural(self.present, 'document')} with words were read so far; "
                        "number documents without gaps",
                        0,
                    )
                counts_by_id = np.zeros(int(present[-1]) - self.last, np.int64)
                counts_by_id[present - self.last - 1] = lengths
                lengths = counts_by_id
                present = np.arange(self.last + 1, int(present[-1]) + 1)
            elif gap:
                self.context.absent(gap)
            self.last = int(present[-1])
            indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            yield Documents(indptr, words, counts), present
        held = self.held
        self.held = Entries(
            held.rows[n:], held.words[n:], held.counts[n:], None if line is None else line + n
        )


def in_order(parts: Iterable[Entries], scratch: Path | None) -> Iterator[Entries]:
    """Sort entries by document, on disk if they do not fit into memory.

    The entries of a document keep their order.

    Parameters
    ----------
    parts : iterable of Entries
    scratch : Path, optional
        Folder with space for 16 bytes per entry; by default the system's folder of temporary files.

    Yields
    ------
    Entries
        Entries with document numbers that never decrease, and with `line` None.

    Raises
    ------
    OSError
        If the disk is full.
    """
    held: list[Array] = []
    size = 0
    runs: list[_Run] = []
    file: BinaryIO | None = None
    try:
        for part in parts:
            records = np.empty(len(part.rows), _RECORD)
            records["row"], records["word"], records["count"] = part.rows, part.words, part.counts
            held.append(records)
            size += len(records)
            if size >= RUN:
                if file is None:
                    file = cast(BinaryIO, tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115
                start = file.seek(0, 2)
                file.write(_sorted(held).data.cast("B"))
                runs.append(_Run(np.empty(0, _RECORD), start, size))
                held, size = [], 0
        last = _sorted(held)
        if file is None:
            yield _entries(last)
        else:
            yield from _merged([*runs, _Run(last)], file)
    finally:
        if file is not None:
            file.close()


@dataclass
class _Run:
    """Sorted run of entries for merging; only its beginning is in memory.

    Attributes
    ----------
    ready : array
        The next entries.
    start : int
        Position in the temporary file of the other entries.
    left : int
        Number of the other entries.
    """

    ready: Array
    start: int = 0
    left: int = 0


def _merged(runs: list[_Run], file: BinaryIO) -> Iterator[Entries]:
    """Merge sorted runs of entries, and yield the entries; only parts of the runs are in memory."""
    portion = max(RUN // len(runs), 1)
    while True:
        for run in runs:
            if not len(run.ready) and run.left:
                file.seek(run.start)
                data = file.read(min(portion, run.left) * _RECORD.itemsize)
                run.ready = np.frombuffer(data, _RECORD)
                run.start += len(data)
                run.left -= len(run.ready)
        runs = [run for run in runs if len(run.ready)]
        if not runs:
            return
        # Only the entries in `run.ready` of a sorted run are in memory. All entries on disk have at
        # least the document number of the last entry in memory. `limit` is the smallest of these
        # document numbers, so entries up to `limit` can be merged now.
        limits = [int(run.ready["row"][-1]) for run in runs if run.left]
        limit = min(limits) if limits else int(max(run.ready["row"][-1] for run in runs))
        taken = []
        for run in runs:
            n = int(np.searchsorted(run.ready["row"], limit, "right"))
            taken.append(run.ready[:n])
            run.ready = run.ready[n:]
        yield _entries(_sorted(taken))


def _sorted(parts: list[Array]) -> Array:
    records = np.concatenate(parts) if parts else np.empty(0, _RECORD)
    return records[np.argsort(records["row"], kind="stable")]


def _entries(records: Array) -> Entries:
    rows, words, counts = (np.ascontiguousarray(records[name]) for name in _RECORD.names or ())
    return Entries(rows, words, counts, None)
