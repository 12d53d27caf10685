"""Detection of a table's header. A table may have no header, or titles above its header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from pysgrld.corpus.about.scalars import integer, real
from pysgrld.corpus.about.values import MISSING_VALUES
from pysgrld.corpus.formats.text_fields import CHARACTERS, NAMES, SAMPLED, WORDS, usual
from pysgrld.errors import plural

#: Number of non-empty rows at the start of a table that are searched for the header.
_ABOVE = 40
#: Cells that count as missing values in a column of numbers.
_MISSING = frozenset(("", *MISSING_VALUES))
#: Pattern of a first line such as "sep=;", which names the separator of a table for Excel.
_SEPARATOR = re.compile(rb"\xef?\xbb?\xbf?\"?sep=(.)\"?\r?\n", re.I)


class Above(NamedTuple):
    """Number of lines above a table's header, and the separator if the first line names it.

    Attributes
    ----------
    lines : int
        Number of lines.
    separator : str or None
        Separator of the table, if the first line names it.
    """

    lines: int
    separator: str | None = None


def lines_above(head: bytes, separators: Sequence[str]) -> Above:
    """Detect the header of a table, and count the lines before it.

    Parameters
    ----------
    head : bytes
        The first bytes of the file.
    separators : sequence of str
        Possible separators of fields, in the order in which they are tried.
    """
    if match := _SEPARATOR.match(head):
        return Above(1, match[1].decode("latin-1"))
    lines = head.decode("utf-8", "replace").splitlines(keepends=True)
    best: tuple[int, int] | None = None
    for separator in separators:
        reader = csv.reader(lines, delimiter=separator)
        rows: list[list[str]] = []
        ends = [0]
        try:
            for row in islice(reader, SAMPLED):
                rows.append(row)
                ends.append(reader.line_num)
        except csv.Error:
            continue
        if len(ends) < SAMPLED and len(lines) == ends[-1] and len(rows) > 3:
            rows.pop()  # The last row may be cut off.
        place = header_row(rows)
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
        if width > 1 and (best is None or width > best[0]):
            best = width, ends[place]
    return Above(best[1] if best else 0)


def header_row(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the first row that is not a title, and so may be the header.

    A title above a table has fewer cells than most rows, or text in only one cell, or text in fewer
    than half as many cells as a typical row.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells of the first rows.

    Returns
    -------
    int
        Index of the row, from 0.
    """
    filled_rows = [(place, row) for place, row in enumerate(rows) if any(map(str.strip, row))]
    if len(filled_rows) < 3:
        return 0
    widths = Counter(len(row) for _, row in filled_rows)
    width, number = widths.most_common(1)[0]
    if width < 2 or 2 * number < len(filled_rows):
        return 0
    filled = sorted(sum(map(bool, map(str.strip, row))) for _, row in filled_rows)[
        len(filled_rows) // 2
    ]
    least = 1 if filled < 3 else max(2, filled // 2)
    n_filled = [sum(map(bool, map(str.strip, row))) for _, row in filled_rows[:_ABOVE]]
    named = (i for i, n in enumerate(n_filled) if n > 1 and usual(filled_rows[i][1], NAMES))
    if (first_named := next(named, None)) is not None and max(
        n_filled[:first_named], default=0
    ) < 2:
        return filled_rows[first_named][0]
    for place, row in filled_rows[:_ABOVE]:
        if len(row) == width and sum(map(bool, map(str.strip, row))) >= least:
            first = filled_rows[0][0]
            return 0 if place == first else place
    return 0


def is_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row of a table is data and not a header.

    A row of data has no usual name of a text field, and no word in a column of numbers. It has a
    number in a column of numbers, or a long text in a column of long texts.

    Parameters
    ----------
    names : sequence of str
        Cells of the first row.
    rows : sequence of sequence of str
        Cells of the rows below.

    Returns
    -------
    bool
        True if the table has no header.
    """
    rows = [row for row in rows if len(row) == len(names)]
    if usual(list(names), NAMES) or len(rows) < 2:
        return False
    is_like_others = False
    for place, name in enumerate(names):
        cells = [row[place].strip() for row in rows if row[place].strip()]
        if not cells:
            continue
        if all(map(_is_number, cells)):
            if name.strip() not in _MISSING and not _is_number(name):
                return False
            is_like_others |= _is_number(name)
        is_like_others |= _is_long(name) and sum(map(_is_long, cells)) * 2 > len(cells)
    return is_like_others


def rows_of_labels(rows: Sequence[Sequence[str]]) -> int:
    """Count the rows below a survey's header that contain questions or ids instead of answers.

    Qualtrics writes two such rows, LimeSurvey (VV) one row of ids, and SurveyMonkey one row with
    kinds of answers.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells of the rows below the header.

    Returns
    -------
    int
        Number of rows of labels; 0 for tables that are no exports of surveys.
    """
    places = [
        i for i, row in enumerate(rows[:2], 1) if any(c.startswith('{"ImportId"') for c in row)
    ]
    if places:
        return places[-1]
    first = [cell.strip() for cell in rows[0]] if rows else []
    is_of_ids = first[:2] == ["id", "submitdate"]
    is_of_kinds = first[:2] == ["", ""] and bool({"Response", "Open-Ended Response"} & {*first})
    return int(is_of_ids or is_of_kinds)


def labels_left_out(label: str, rows: int) -> str:
    """Return the message that rows with questions or ids were left out of a survey."""
    return f"{label}: skipped {plural(rows, 'row')} with survey questions or ids below the header"


def numbered_names(columns: int) -> list[str]:
    """Return the names column1, column2, ... for the columns of a table without a header."""
    return [f"column{i}" for i in range(1, columns + 1)]


def _is_number(cell: str) -> bool:
    text = cell.strip().encode(errors="replace")
    return integer(text) is not None or real(text) is not None


def _is_long(cell: str) -> bool:
    return len(cell) >= CHARACTERS and len(cell.split()) >= WORDS
