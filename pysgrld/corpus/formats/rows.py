"""Entries of a matrix to documents: each with its words in order, each word once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pysgrld.corpus.formats.protocol import Context
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Documents, Int32s, Int64s

LARGEST = 2**31 - 1
#: What can be done with reals that are not negative.
REAL_DATA = "; for real data write whole multiples of a unit and train with --link real"

#: Entries of one document that are held before it is looked for words that come twice.
MANY = 2**24


class Entries(NamedTuple):
    """Some entries of a matrix of counts.

    Attributes
    ----------
    rows : (n,) int64
        Documents, from 1.
    words : (n,) int32
        From 0.
    counts : (n,) int32
        At least 0.
    line : int or None
        Where the first of them stands in its file, each of the others a line further.
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
    """Bring the words of each document into order, each once.

    Parameters
    ----------
    rows : (n,) int64
        Never decreasing.
    words, counts : (n,) int32
    wrong : callable (message, position) -> CorpusError
        Makes the error about an entry.
    first : int
        What the file calls the first word.
    add_up : bool
        A word that comes twice has the sum of its counts; else it is an error.

    Raises
    ------
    CorpusError
        If a word comes twice, or a document has more than 2^31 - 1 tokens.
    """
    if len(rows) == 0:
        return rows, words, counts
    again = rows[1:] == rows[:-1]
    same = np.zeros(0, np.bool_)  # as the word before
    if np.any(again & (words[1:] <= words[:-1])):
        order = np.lexsort((words, rows))
        words, counts = words[order], counts[order]
        same = again & (words[1:] == words[:-1])
        if same.any() and not add_up:
            twice = np.flatnonzero(same) + 1
            at = twice[np.argmin(order[twice])]  # lexsort is stable: the later of the two
            message = f"word {words[at] + first} comes twice in document {rows[at]}"
            raise wrong(f"{message}; add the counts up", int(order[at]))
    starts = np.flatnonzero(np.concatenate([[True], ~again]))
    tokens = np.add.reduceat(counts.astype(np.int64), starts)
    if tokens.max() > LARGEST:
        most = int(np.argmax(tokens > LARGEST))
        at = int(starts[most])
        raise wrong(f"document {rows[at]} has {tokens[most]} tokens, more than {LARGEST}", at)
    if same.any():
        ones = np.flatnonzero(np.concatenate([[True], ~same]))
        counts = np.add.reduceat(counts, ones).astype(np.int32)
        rows, words = rows[ones], words[ones]
    return rows, words, counts


class Grouping:
    """Groups entries that come in the order of their documents into blocks of documents.

    Parameters
    ----------
    label : str
        The file, in messages.
    context : Context
    documents, words : int
        How many there are, or are said to be.
    line : int, optional
        Where the number of documents is said, if in a line.
    sure : bool
        Whether that number is known to be right; else it is believed only within limits.
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
        """Yield all documents and their numbers, from 1.

        Absent ones are empty rows if documents keep their place.
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
            if len(rows) - ready > min(self.words, MANY):  # words come twice: spare memory
                self._compact(ready)
            if ready:
                yield from self._give(ready)
        if len(self.held.rows):
            yield from self._give(len(self.held.rows))
        yield from self._end()

    def _error(self, message: str, position: int) -> CorpusError:
        line = self.held.line
        return CorpusError(message, self.label, None if line is None else line + position)

    def _compact(self, ready: int) -> None:
        """Add up the last document before it is complete: it has more entries than words."""
        rows, words, counts, line = self.held

        def wrong(message: str, position: int) -> CorpusError:
            return self._error(message, ready + position)

        new = canonical(rows[ready:], words[ready:], counts[ready:], wrong, add_up=self.add_up)
        if self.add_up:
            self.held = Entries(
                np.concatenate([rows[:ready], new[0]]),
                np.concatenate([words[:ready], new[1]]),
                np.concatenate([counts[:ready], new[2]]),
                line,
            )

    def _give(self, n: int) -> Iterator[tuple[Documents, Int64s]]:
        """Return the first n entries, whole documents, as a block, and forget them."""
        rows, words, counts, line = self.held
        some = np.flatnonzero(counts[:n])

        def wrong(message: str, position: int) -> CorpusError:
            return self._error(message, int(some[position]))

        if len(some):
            yield self._documents(
                *canonical(rows[some], words[some], counts[some], wrong, add_up=self.add_up)
            )
        self.held = Entries(rows[n:], words[n:], counts[n:], None if line is None else line + n)

    def _documents(self, rows: Int64s, words: Int32s, counts: Int32s) -> tuple[Documents, Int64s]:
        starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
        present = rows[starts]
        lengths = np.diff(np.append(starts, len(rows)))
        self.present += len(starts)
        gap = int(present[-1]) - self.last - len(starts)
        self.absent += gap
        if self.context.keep_empty and gap:
            if self.absent > 1_000_000 + self.present and not self.sure:
                raise self._error(
                    f"document {present[-1]}, but so far only "
                    f"{plural(self.present, 'document')} with words",
                    0,
                )
            kept = np.zeros(int(present[-1]) - self.last, np.int64)
            kept[present - self.last - 1] = lengths
            lengths = kept
            present = np.arange(self.last + 1, int(present[-1]) + 1)
        elif gap:
            self.context.absent(gap)
        self.last = int(present[-1])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Documents(indptr, words, counts), present

    def _end(self) -> Iterator[tuple[Documents, Int64s]]:
        """Account for the documents after the last one that has words.

        The end of a file is where a wrong header shows, so only some may be missing there.
        """
        gap = self.documents - self.last
        most = self.present + 1000 if self.context.keep_empty else self.documents // 100
        if gap > most and not self.sure:
            raise CorpusError(
                f"the header promises {plural(self.documents, 'document')}, but the last one with "
                f"words is {self.last}; the file was cut off, or the header is wrong",
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
