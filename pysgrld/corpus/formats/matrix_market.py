"""Matrix Market: a banner, comments, "documents words entries", then "document word count"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from pysgrld.corpus._sparse import PATTERN, REAL
from pysgrld.corpus.formats.entries import MatrixHeader, header_of, read_entries
from pysgrld.corpus.formats.protocol import Context, CountedDocuments
from pysgrld.corpus.formats.rows import Entries, Grouping
from pysgrld.corpus.formats.sorting import RUN, in_order
from pysgrld.corpus.formats.vocabulary_files import find_words, quoted, refuse_line
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

SUFFIXES = (".mtx", ".mm")

_BANNER = b"%%MatrixMarket"
_FORM = "below its comments a Matrix Market file has a line: documents words entries"


def sniff(head: bytes, name: str) -> bool:
    """Whether the banner begins the file, or the file is named so."""
    return head.startswith(_BANNER) or name.lower().endswith(SUFFIXES)


def read(source: Lines, context: Context) -> CountedDocuments:
    """Read the header, find the words, and leave the entries to be iterated.

    Documents are rows. Where they come in order they are streamed; else (a matrix that was written
    by columns) the entries are sorted first, on disk if they are many.
    """
    lines = source.lines(refuse_line)
    form, header, rest = _header(source, lines)
    vocabulary, origin = find_words(
        source, context, header.words, header.documents, header.lines[1]
    )
    entries = read_entries(source.label, header, form, False, chain([rest] if rest else [], lines))
    grouping = Grouping(source.label, context, header.documents, header.words, header.lines[0])
    return CountedDocuments(
        vocabulary, origin, grouping.blocks(_in_order(entries, source, context)), numbered=True
    )


def _header(source: Lines, lines: Iterator[bytes]) -> tuple[int, MatrixHeader, bytes]:
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
            f"{quoted(size or b'')} where the size should be; {_FORM}", source.label, number
        )
    header = header_of(fields, (number,) * 3, number + 1, source.label, _FORM)
    return form, header, rest


def _banner(line: bytes, label: str) -> int:
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
    forms: dict[bytes, int] = {
        b"integer": REAL,
        b"unsigned-integer": REAL,
        b"real": REAL,
        b"double": REAL,
        b"pattern": PATTERN,
    }
    if words[3] not in forms:
        raise CorpusError(f"numbers are {quoted(words[3])}; counts are integer", label, 1)
    return forms[words[3]]


def _in_order(parts: Iterator[Entries], source: Lines, context: Context) -> Iterator[Entries]:
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
    return _checked(every, source.label)


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
