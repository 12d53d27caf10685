"""Matrix Market: a banner, comments, "documents words entries", then "document word count"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from pysgrld.corpus._sparse import PATTERN, REAL
from pysgrld.corpus.formats.entries import Header, header_of, parsed
from pysgrld.corpus.formats.kinds import Context, Counts
from pysgrld.corpus.formats.rows import Entries, Grouping
from pysgrld.corpus.formats.sorting import RUN, in_order
from pysgrld.corpus.formats.words import find_words, refuse_line, shown
from pysgrld.corpus.stream import Stream
from pysgrld.errors import CorpusError

_BANNER = b"%%MatrixMarket"
_FORM = "below its comments a Matrix Market file has a line: documents words entries"


def sniff(head: bytes, name: str) -> bool:
    """The banner begins the file, or the file is named so."""
    return head.startswith(_BANNER) or name.lower().endswith((".mtx", ".mm"))


def read(stream: Stream, context: Context) -> Counts:
    """Read the header, find the words, and leave the entries to be iterated.

    Documents are rows. Where they come in order they are streamed; else (a matrix that was written
    by columns) the entries are sorted first, on disk if they are many.
    """
    lines = stream.lines(refuse_line)
    form, header, rest = _header(stream, lines)
    vocabulary, origin = find_words(
        stream, context, header.words, header.documents, header.lines[1]
    )
    entries = parsed(stream.label, header, form, False, chain([rest] if rest else [], lines))
    grouping = Grouping(stream.label, context, header.documents, header.words, header.lines[0])
    return Counts(vocabulary, origin, grouping.blocks(_in_order(entries, stream, context)))


def _header(stream: Stream, lines: Iterator[bytes]) -> tuple[int, Header, bytes]:
    number, rest = 0, b""

    def line() -> bytes | None:
        nonlocal number, rest
        rest = rest or next(lines, b"")
        if not rest:
            return None
        first, _, rest = rest.partition(b"\n")
        number += 1
        return first

    form = _banner(line() or b"", stream.label)
    size = line()
    while size is not None and (not size.strip() or size.startswith(b"%")):
        size = line()
    fields = (size or b"").split()
    if len(fields) != 3:
        raise CorpusError(
            f"{shown(size or b'')} where the size should be; {_FORM}", stream.label, number
        )
    header = header_of(fields, (number,) * 3, number + 1, stream.label, _FORM)
    return form, header, rest


def _banner(line: bytes, label: str) -> int:
    words = line.lower().split()
    if len(words) != 5 or words[0] != _BANNER.lower() or words[1] != b"matrix":
        raise CorpusError(
            f"{shown(line)} is no banner; a Matrix Market file begins with "
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
            f"a matrix said to be {shown(words[4])}; one of documents x words is general", label, 1
        )
    forms: dict[bytes, int] = {
        b"integer": REAL,
        b"unsigned-integer": REAL,
        b"real": REAL,
        b"double": REAL,
        b"pattern": PATTERN,
    }
    if words[3] not in forms:
        raise CorpusError(f"numbers are {shown(words[3])}; counts are integer", label, 1)
    return forms[words[3]]


def _in_order(parts: Iterator[Entries], stream: Stream, context: Context) -> Iterator[Entries]:
    """Entries in order of their documents, by what the first of them show.

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
    return _checked(every, stream.label)


def _checked(parts: Iterator[Entries], label: str) -> Iterator[Entries]:
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
