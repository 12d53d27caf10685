"""UCI bag of words and Matrix Market: lines "document word count" below a header that says how many.

A UCI file begins with three lines D, W, NNZ; documents come in order. A Matrix Market file has a banner,
comments, and a line "documents words entries"; where documents do not come in order (a matrix that was
written by columns), entries are sorted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from pysgrld.corpus._sparse import COUNT, PATTERN, REAL, parse_entries
from pysgrld.corpus.formats.counts import (
    LARGEST,
    RUN,
    Entries,
    Grouping,
    find_words,
    in_order,
    quoted,
    refuse_line,
    wrong_count,
)
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural

_NAMES = ("documents", "words", "entries")
_BANNER = b"%%MatrixMarket"
_UCI = "a UCI file begins with three lines D, W, NNZ"
_MARKET = "below its comments a Matrix Market file has a line: documents words entries"
#: How numbers are written, by what the banner calls them.
_NUMBERS: dict[bytes, int] = {
    b"integer": REAL,
    b"unsigned-integer": REAL,
    b"real": REAL,
    b"double": REAL,
    b"pattern": PATTERN,
}


def read_uci(source: Lines, context: Context) -> CountedDocuments:
    """Read the header, find the words, and leave the entries to be iterated."""
    lines = source.lines(refuse_line)
    head = b""
    while head.count(b"\n") < 3 and (more := next(lines, b"")):
        head += more
    first, second, third, rest = (head.split(b"\n", 3) + [b""] * 4)[:4]
    fields = [field.strip() for field in (first, second, third)]
    header = _header_of(fields, (1, 2, 3), 4, source.label, _UCI)
    vocabulary, origin = find_words(source, context, header.words, header.documents, line=2)
    grouping = Grouping(source.label, context, header.documents, header.words, line=1)
    entries = _entries(source.label, header, COUNT, True, chain([rest], lines))
    return CountedDocuments(vocabulary, origin, grouping.blocks(entries), numbered=True)


def read_matrix_market(source: Lines, context: Context) -> CountedDocuments:
    """Read the header, find the words, and leave the entries to be iterated.

    Documents are rows. Where they come in order they are streamed; else the entries are sorted first, on
    disk if they are many.
    """
    lines = source.lines(refuse_line)
    number, rest = 0, b""

    def line() -> bytes | None:
        nonlocal number, rest
        rest = rest or next(lines, b"")
        if not rest:
            return None
        first, _, rest = rest.partition(b"\n")
        number += 1
        return first

    form = _banner(line() or b"", source.label)
    size = line()
    while size is not None and (not size.strip() or size.startswith(b"%")):
        size = line()
    fields = (size or b"").split()
    if len(fields) != 3:
        raise CorpusError(
            f"{quoted(size or b'')} where the size should be; {_MARKET}", source.label, number
        )
    header = _header_of(fields, (number,) * 3, number + 1, source.label, _MARKET)
    vocabulary, origin = find_words(source, context, header.words, header.documents, number)
    entries = _entries(source.label, header, form, False, chain([rest] if rest else [], lines))
    grouping = Grouping(source.label, context, header.documents, header.words, number)
    return CountedDocuments(
        vocabulary, origin, grouping.blocks(_by_document(entries, source, context)), numbered=True
    )


def _banner(line: bytes, label: str) -> int:
    """Check the first line of a Matrix Market file, and return how its numbers are written."""
    words = line.lower().split()
    if len(words) != 5 or words[0] != _BANNER.lower() or words[1] != b"matrix":
        raise CorpusError(
            f"{quoted(line)} is no banner; a Matrix Market file begins with "
            "%%MatrixMarket matrix coordinate integer general",
            label,
            1,
        )
    if words[2] != b"coordinate":
        raise CorpusError(
            "a dense matrix (array); write the counts sparse, as %%MatrixMarket matrix "
            "coordinate integer general",
            label,
            1,
        )
    if words[4] != b"general":
        raise CorpusError(
            f"a matrix said to be {quoted(words[4])}; one of documents x words is general", label, 1
        )
    if words[3] not in _NUMBERS:
        raise CorpusError(f"numbers are {quoted(words[3])}; counts are integer", label, 1)
    return _NUMBERS[words[3]]


def _by_document(parts: Iterator[Entries], source: Lines, context: Context) -> Iterator[Entries]:
    """Bring entries into the order of their documents, if the first of them are not in it.

    In a file that was written row by row the words fall from one row to the next; by columns, the
    documents do. Whatever is small enough to be held may come in any order.
    """
    start, size = [], 0
    for part in parts:
        start.append(part)
        size += len(part.rows)
        if size >= RUN:
            break
    rows = np.concatenate([part.rows for part in start]) if start else np.empty(0, np.int64)
    words = np.concatenate([part.words for part in start]) if start else rows
    falls = bool(np.any(rows[1:] < rows[:-1]))
    by_rows = not falls and (size < RUN or bool(np.any(words[1:] < words[:-1])))
    del rows, words
    every = chain(start, parts)
    if not by_rows:
        return in_order(every, context.scratch)
    return _same_order(every, source.label)


def _same_order(parts: Iterator[Entries], label: str) -> Iterator[Entries]:
    """Pass entries on, and refuse a document that comes after a later one."""
    last = 0
    for part in parts:
        if len(part.rows):
            steps = np.diff(part.rows, prepend=last)
            if steps.min() < 0:
                at = int(np.argmax(steps < 0))
                before = int(part.rows[at] - steps[at])
                raise CorpusError(
                    f"document {part.rows[at]} after document {before}, while all before were in "
                    "order; sort the file by document",
                    label,
                    None if part.line is None else part.line + at,
                )
            last = int(part.rows[-1])
        yield part


class _Header(NamedTuple):
    """The numbers that a file of entries gives above them, and where it does.

    Attributes
    ----------
    documents, words, entries : int
        D, W and NNZ.
    lines : (int, int, int)
        Where it says so.
    first : int
        Line of the first entry.
    """

    documents: int
    words: int
    entries: int
    lines: tuple[int, int, int]
    first: int


def _header_of(
    fields: list[bytes], lines: tuple[int, int, int], first: int, label: str, form: str
) -> _Header:
    """Check the three numbers of a header.

    Parameters
    ----------
    fields : list of bytes
        Three.
    lines, first
        See `_Header`.
    label : str
        The file.
    form : str
        What its header should be, for the message.

    Raises
    ------
    CorpusError
    """
    numbers = []
    for name, field, line in zip(_NAMES, fields, lines, strict=True):
        what = f"the header's number of {name} is {quoted(field)}"
        if not field.isdigit():
            raise CorpusError(f"{what}, not a whole number; {form}", label, line)
        if len(field.lstrip(b"0")) > 18 or (name == "words" and int(field) > LARGEST):
            raise CorpusError(f"{what}: more than can be", label, line)
        numbers.append(int(field))
    return _Header(numbers[0], numbers[1], numbers[2], lines, first)


def _entries(
    label: str, header: _Header, form: int, ordered: bool, blocks: Iterator[bytes]
) -> Iterator[Entries]:
    """Parse all entries and hold the header to what it says of them.

    Parameters
    ----------
    label : str
        The file.
    header : _Header
    form : {COUNT, REAL, PATTERN}
        How counts are written (`pysgrld.corpus._sparse`).
    ordered : bool
        Whether documents must be in order.
    blocks : iterator of bytes
        Whole lines, the first of them `header.first`.

    Raises
    ------
    CorpusError
        If a line is wrong, or there are more or fewer than the header says.
    """
    line, seen, last = header.first, 0, int(ordered)
    blank = 0  # the first of the blank lines at the end
    for block in blocks:
        if blank:
            if block.strip():
                raise CorpusError("a blank line among the entries; take it out", label, blank)
            continue
        rows, words, counts, wrong = parse_entries(
            block, last, header.documents, header.words, form
        )
        excess = header.entries - seen
        if len(rows) > excess:
            raise CorpusError(
                f"the header promises {plural(header.entries, 'entry', 'entries')}, but there are more; "
                f"line {header.lines[2]} is wrong",
                label,
                line + excess,
            )
        if ordered and len(rows):
            last = int(rows[-1])
        if wrong >= 0:
            lines = block.split(b"\n")
            if b"".join(lines[wrong:]).strip():
                message = _explain(lines[wrong], last, header, form)
                raise CorpusError(message, label, line + wrong)
            blank = line + wrong
        yield Entries(rows, words, counts, line)
        seen += len(rows)
        line += len(rows)
    if seen < header.entries:
        raise CorpusError(
            f"the header promises {plural(header.entries, 'entry', 'entries')}, but the file ends "
            f"after {seen:,}; it was cut off, or line {header.lines[2]} is wrong",
            label,
            line - 1,
        )


def _explain(line: bytes, last: int, header: _Header, form: int) -> str:
    names = ("document", "word", "count")[: 2 if form == PATTERN else 3]
    entry = f"{'two' if form == PATTERN else 'three'} whole numbers, {' '.join(names)}"
    fields = line.split()
    if not fields:
        return "a blank line among the entries; take it out"
    if len(fields) != len(names):
        return f"{quoted(line)} is not an entry: {entry}"
    limits = (header.documents, header.words)
    for name, field, limit in zip(names[:2], fields, limits, strict=False):
        if not field.isdigit():
            return f"{name} {quoted(field)} is not a whole number of at least 1"
        if not field.strip(b"0"):
            return f"{name} 0: they begin at 1"
        if len(field.lstrip(b"0")) > 18 or int(field) > limit:
            return f"{name} {quoted(field)} is above {limit}, as the header says"
    if form != PATTERN and (why := wrong_count(fields[2], form == COUNT)):
        return why
    if int(fields[0]) < last:
        return f"document {int(fields[0])} after document {last}; sort the file by document"
    return f"{quoted(line)} is not an entry: {entry}"
