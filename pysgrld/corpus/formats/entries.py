"""Lines "document word count" below a header that says how many: UCI and Matrix Market."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from pysgrld.corpus._sparse import COUNT, PATTERN, parse_entries
from pysgrld.corpus.formats.rows import LARGEST, REAL_DATA, Entries
from pysgrld.corpus.formats.vocabulary_files import quoted
from pysgrld.errors import CorpusError, plural

_NAMES = ("documents", "words", "entries")


class MatrixHeader(NamedTuple):
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


def header_of(
    fields: list[bytes], lines: tuple[int, int, int], first: int, label: str, form: str
) -> MatrixHeader:
    """Check the three numbers of a header.

    Parameters
    ----------
    fields : list of bytes
        Three.
    lines, first
        See `MatrixHeader`.
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
    return MatrixHeader(numbers[0], numbers[1], numbers[2], lines, first)


def read_entries(
    label: str, header: MatrixHeader, form: int, ordered: bool, blocks: Iterator[bytes]
) -> Iterator[Entries]:
    """Parse all entries and hold the header to what it says of them.

    Parameters
    ----------
    label : str
        The file.
    header : MatrixHeader
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


def _explain(line: bytes, last: int, header: MatrixHeader, form: int) -> str:
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


def wrong_count(field: bytes, strict: bool) -> str:
    """Say why a field of a file is no count.

    Parameters
    ----------
    field : bytes
        What stands in its place.
    strict : bool
        Whether it must be written in digits and be at least 1; else it may be 0, or written 3.0.

    Returns
    -------
    str
        Empty if it is one.
    """
    what = f"count {quoted(field)}"
    if field.isdigit():
        if not field.strip(b"0"):
            return "a count of 0" if strict else ""
        return f"{what} is above {LARGEST}" if len(field) > 18 or int(field) > LARGEST else ""
    try:
        value = math.nan if strict else float(field)
    except ValueError:
        value = math.nan
    if value > LARGEST and not math.isinf(value):
        return f"{what} is above {LARGEST}"
    if 0 <= value <= LARGEST and value == int(value) and b"_" not in field and field[:1] != b"+":
        return ""
    real = 0 < value < LARGEST and value != int(value)
    return f"{what} is not a whole number of at least {int(strict)}" + (REAL_DATA if real else "")
