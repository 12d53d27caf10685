"""UCI bag of words: three numbers D, W, NNZ, then lines "document word count", ids from 1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from pysgrld.corpus._tokenize import parse_triples
from pysgrld.corpus.formats.kinds import Context, Counts
from pysgrld.corpus.inputs import COMPRESSED, stem
from pysgrld.corpus.stream import Stream
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError
from pysgrld.types import Documents, Int32s, Int64s

LARGEST = 2**31 - 1
_HEADER = re.compile(rb"(?:[ \t]*[+-]?[0-9]+[ \t\r]*\n){3}(?:\s*$|[ \t]*[+-]?[0-9])")
_NAMES = ("documents", "words", "entries")


def sniff(head: bytes, name: str) -> bool:
    """Three lines of one number each, then a number; or a file named ``docword.*``."""
    return bool(_HEADER.match(head)) or name.startswith("docword.")


def vocabulary_beside(path: Path) -> Path | None:
    """Find the vocabulary of a file of counts.

    ``vocab.NAME.txt`` beside ``docword.NAME.txt``; else the same with the last dotted parts of
    NAME left out one by one; else the only ``vocab.*.txt`` there. Any of them may be compressed.
    """
    parts = stem(path).split(".")
    for end in range(len(parts), 0, -1):
        for suffix in ("", *COMPRESSED):
            found = path.parent / f"vocab.{'.'.join(parts[:end])}.txt{suffix}"
            if found.is_file():
                return found
    every = [p for s in ("", *COMPRESSED) for p in path.parent.glob(f"vocab.*.txt{s}")]
    return every[0] if len(every) == 1 else None


def read(stream: Stream, context: Context) -> Counts:
    """Read the header, find the words, and leave the entries to be iterated."""
    lines = stream.lines(_refuse)
    documents, words, entries, rest = _header(stream, lines)
    vocabulary, origin = _words(stream, context, words)
    reader = _Entries(stream, context, documents, words, entries)
    return Counts(vocabulary, origin, reader.blocks(rest, lines))


def _refuse(reason: str, message: str, path: str, line: int | None) -> None:
    raise CorpusError(f"{message}: this is no file of counts", path, line)


def _header(stream: Stream, lines: Iterator[bytes]) -> tuple[int, int, int, bytes]:
    head = b""
    while head.count(b"\n") < 3 and (more := next(lines, b"")):
        head += more
    fields = head.split(b"\n", 3)
    numbers: list[int] = []
    for number in range(3):
        field = fields[number].strip() if number < len(fields) else b""
        what = f"the header's number of {_NAMES[number]}"
        if not field.isdigit():
            raise CorpusError(
                f"{what} is {_shown(field)}, not a whole number; a UCI file begins with three "
                "lines D, W, NNZ",
                stream.label,
                number + 1,
            )
        if len(field.lstrip(b"0")) > 18 or (number == 1 and int(field) > LARGEST):
            raise CorpusError(
                f"{what} is {_shown(field)}: more than can be", stream.label, number + 1
            )
        numbers.append(int(field))
    return numbers[0], numbers[1], numbers[2], fields[3] if len(fields) > 3 else b""


def _words(stream: Stream, context: Context, words: int) -> tuple[tuple[str, ...] | None, str]:
    given = context.options.vocab
    found: str | Path | None = given
    if found is None and stream.path is not None:
        found = vocabulary_beside(stream.path)
    if found is None:
        context.log(
            f"{stream.label}: warning: no vocab.*.txt beside it, so words are called by their "
            "number; name them with --vocab FILE"
        )
        return None, "numbers"
    vocabulary = read_vocabulary(found)
    if len(vocabulary) < words:
        raise CorpusError(
            f"it counts {words} words, but the vocabulary {found} has only {len(vocabulary)}; "
            "give the right one with --vocab",
            stream.label,
            2,
        )
    return vocabulary, str(found) if given is not None else Path(found).name


class _Entries:
    """The entries of one file, and those of the document that is not complete yet."""

    def __init__(
        self, stream: Stream, context: Context, documents: int, words: int, entries: int
    ) -> None:
        self.label, self.context = stream.label, context
        self.documents, self.words, self.entries = documents, words, entries
        self.line = 4  # of the next line
        self.held_line = 4  # of the first entry that is held
        self.blank_line = 0  # first of the blank lines at the end
        self.seen = self.present = self.absent = self.last = 0
        self.ids: Int64s = np.empty(0, np.int64)
        self.indices: Int32s = np.empty(0, np.int32)
        self.counts: Int32s = np.empty(0, np.int32)

    def blocks(self, rest: bytes, lines: Iterator[bytes]) -> Iterator[Documents]:
        """All documents; absent ones are empty rows if documents keep their place."""
        for block in chain([rest], lines):
            self._add(block)
            ready = int(np.searchsorted(self.ids, self.ids[-1:])[0]) if len(self.ids) else 0
            if len(self.ids) - ready > self.words:  # then a word comes twice, and memory is spared
                ready = len(self.ids)
            if ready:
                yield self._give(ready)
        if self.seen < self.entries:
            raise self._error(
                f"the header promises {self.entries} entries, but the file ends after "
                f"{self.seen}; it was cut off, or its third line is wrong",
                self.line - 1,
            )
        if len(self.ids):
            yield self._give(len(self.ids))
        yield from self._end()

    def _error(self, message: str, line: int) -> CorpusError:
        return CorpusError(message, self.label, line)

    def _add(self, block: bytes) -> None:
        """Hold the entries of some lines."""
        if self.blank_line:
            if block.strip():
                raise self._error("a blank line among the entries; take it out", self.blank_line)
            return
        first = int(self.ids[-1]) if len(self.ids) else self.last + 1
        ids, indices, counts, wrong = parse_triples(block, first, self.documents, self.words)
        excess = self.entries - self.seen
        if len(ids) > excess:
            raise self._error(
                f"the header promises {self.entries} entries, but there are more; "
                "its third line is wrong",
                self.line + excess,
            )
        if wrong >= 0:
            lines = block.split(b"\n")
            if b"".join(lines[wrong:]).strip():
                last = int(ids[-1]) if len(ids) else first
                raise self._error(self._explain(lines[wrong], last), self.line + wrong)
            self.blank_line = self.line + wrong
        self.ids = np.concatenate([self.ids, ids])
        self.indices = np.concatenate([self.indices, indices])
        self.counts = np.concatenate([self.counts, counts])
        self.seen += len(ids)
        self.line += len(ids)

    def _explain(self, line: bytes, last: int) -> str:
        fields = line.split()
        if not fields:
            return "a blank line among the entries; take it out"
        if len(fields) != 3:
            return f"{_shown(line)} is not an entry: three whole numbers, document word count"
        limits = (self.documents, self.words, LARGEST)
        for name, field, limit in zip(("document", "word", "count"), fields, limits, strict=True):
            if not field.isdigit():
                return f"{name} {_shown(field)} is not a whole number of at least 1"
            if not field.strip(b"0"):
                return f"{name} 0: they begin at 1" if name != "count" else "a count of 0"
            if len(field.lstrip(b"0")) > 18 or int(field) > limit:
                most = f"{limit}" if name == "count" else f"{limit}, as the header says"
                return f"{name} {_shown(field)} is above {most}"
        if int(fields[0]) < last:
            return f"document {int(fields[0])} after document {last}; sort the file by document"
        return f"{_shown(line)} is not an entry: three whole numbers, document word count"

    def _give(self, n: int) -> Documents:
        """Let go of the first n entries, whole documents."""
        ids, indices, counts = self.ids[:n], self.indices[:n], self.counts[:n]
        line, self.held_line = self.held_line, self.held_line + n
        self.ids, self.indices, self.counts = self.ids[n:], self.indices[n:], self.counts[n:]
        new = ids[1:] != ids[:-1]
        if not np.all(new | (indices[1:] > indices[:-1])):
            order = np.lexsort((indices, ids))
            ids, indices, counts = ids[order], indices[order], counts[order]
            twice = np.flatnonzero((indices[1:] == indices[:-1]) & ~new) + 1
            if len(twice):
                at = twice[np.argmin(order[twice])]  # lexsort is stable: the later of the two
                raise self._error(
                    f"word {indices[at] + 1} comes twice in document {ids[at]}; add the counts up",
                    line + int(order[at]),
                )
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        tokens = np.add.reduceat(counts.astype(np.int64), starts)
        if tokens.max() > LARGEST:
            at = int(np.argmax(tokens > LARGEST))
            raise self._error(
                f"document {ids[starts[at]]} has {tokens[at]} tokens, more than {LARGEST}",
                line + int(starts[at]),
            )
        present = ids[starts]
        lengths = np.diff(np.append(starts, n))
        self.present += len(starts)
        gap = int(present[-1]) - self.last - len(starts)
        self.absent += gap
        if self.context.keep_empty and gap:
            if self.absent > 1_000_000 + self.present:
                raise self._error(
                    f"document {present[-1]}, but only {self.present} documents so far have words",
                    line,
                )
            rows = np.zeros(int(present[-1]) - self.last, np.int64)
            rows[present - self.last - 1] = lengths
            lengths = rows
        elif gap:
            self.context.absent(gap)
        self.last = int(present[-1])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return Documents(indptr, indices, counts)

    def _end(self) -> Iterator[Documents]:
        """Account for the documents after the last one that has words.

        The end of a file is where a wrong header shows, so only some may be missing there.
        """
        gap = self.documents - self.last
        if gap > (self.present + 1000 if self.context.keep_empty else self.documents // 100):
            raise self._error(
                f"the header promises {self.documents} documents, but the last one with words is "
                f"{self.last}; the file was cut off, or its first line is wrong",
                1,
            )
        if gap and self.context.keep_empty:
            nothing = np.empty(0, np.int32)
            yield Documents(np.zeros(gap + 1, np.int64), nothing, nothing)
        elif gap:
            self.context.absent(gap)


def _shown(field: bytes) -> str:
    """A field as a message can show it."""
    text = field[:40].decode("utf-8", "backslashreplace").strip()
    return repr(text + "..." if len(field) > 40 else text)
