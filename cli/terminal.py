"""Output of text to a terminal: its width, line breaks, and escapes of control characters."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import click

from pysgrld.errors import OutputError

#: Maximum width of a paragraph in columns, even on a wider terminal.
PARAGRAPH = 100
#: Characters that a terminal interprets: control characters, line ends, and marks of the direction
#: of writing.
_ACTED_ON = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def echo(text: str = "", *, err: bool = False) -> None:
    """Print text with all control characters escaped except line ends.

    Parameters
    ----------
    text : str
    err : bool
        True to print to standard error.
    """
    write("\n".join(map(shown, text.split("\n"))), err=err)


def write(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print text as it is, without escaping control characters.

    Parameters
    ----------
    text : str
    nl : bool
        True to end the text with a line end.
    err : bool
        True to print to standard error.
    """
    with named("standard error" if err else "standard output"):
        click.echo(text, nl=nl, err=err)


@contextmanager
def named(stream: str) -> Iterator[None]:
    """Context manager that adds a stream's name to an `OSError` that names no file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or stream
        raise


def standard_output() -> IO[bytes]:
    """Return standard output as a binary stream.

    Raises
    ------
    OutputError
        If the program that started this one has closed it.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("standard output is closed; give an output file with --out")
    return sys.stdout.buffer


def shown(text: str) -> str:
    """Replace control characters by escapes in the syntax of Python's strings."""
    return _ACTED_ON.sub(lambda match: ascii(match[0])[1:-1], text)


def shown_in_json(text: str) -> str:
    """Escape the control characters that `json.dumps` leaves unescaped in JSON text."""
    return "\n".join(
        _ACTED_ON.sub(lambda match: f"\\u{ord(match[0]):04x}", line) for line in text.split("\n")
    )


def room() -> int:
    """Return the width of lines, at least 40: from ``COLUMNS``, else the terminal, else 80."""
    return max(40, shutil.get_terminal_size().columns)


def screen_rows() -> int | None:
    """Return the number of rows of the terminal, at least 10, or None if there is no terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return max(10, shutil.get_terminal_size().lines)


def width(text: str) -> int:
    """Return the width of a text in terminal columns; East Asian characters take two columns."""
    signs = shown(text)
    if signs.isascii():
        return len(signs)
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in signs
    )


def shortened(text: str, columns: int) -> str:
    """Shorten a text to at most `columns` terminal columns; dots replace the end that is cut."""
    if width(text) <= columns:
        return text
    part = text[: max(0, columns - 3)]
    while width(part) > columns - 3 and part:
        part = part[:-1]
    return f"{part.rstrip()}..."


def wrap(words: Sequence[str], columns: int) -> list[str]:
    """Distribute words over lines of at most `columns` columns, without splitting words."""
    lines: list[str] = []
    for word in words:
        if lines and width(lines[-1]) + 1 + width(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def fill(line: str, columns: int | None = None) -> str:
    """Break a paragraph into lines, and indent all lines except the first.

    Parameters
    ----------
    line : str
    columns : int, optional
        Maximum width of a line; by default the width of the terminal, but at most 100.
    """
    return textwrap.fill(
        line,
        columns or min(PARAGRAPH, room()),
        break_on_hyphens=False,
        break_long_words=False,
        subsequent_indent="  ",
    )


def table(
    rows: Sequence[Sequence[str]], columns: int, *, left: Collection[str], spare: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Lay out a table within a maximum width.

    Columns listed in `spare` are dropped until the table fits. If the table is still too wide, a
    first cell that is too long gets a line of its own.

    Parameters
    ----------
    rows : sequence of sequence of str
        Rows of cells; the first row has the headings.
    columns : int
        Maximum width of the table.
    left : collection of str
        Headings of columns that are left-aligned; the first column always is.
    spare : sequence of str
        Headings of columns that may be dropped, in the order in which they are dropped.

    Returns
    -------
    list of str, list of str
        The lines, and the headings of the dropped columns.
    """
    heads = list(rows[0])
    gone: list[str] = []
    columns_of = zip(heads, zip(*rows, strict=True), strict=True)
    widths = {head: max(map(width, cells)) for head, cells in columns_of}
    going = [head for head in spare if head in widths]
    while sum(widths.values()) + 2 * (len(widths) - 1) > columns and going:
        gone.append(going.pop(0))
        del widths[gone[-1]]
    columns_left = [i for i, head in enumerate(heads) if head in widths]
    first = columns - sum(list(widths.values())[1:]) - 2 * (len(widths) - 1)
    if first >= width(heads[0]):
        widths[heads[0]] = min(first, widths[heads[0]])
    lines = []
    for row in rows:
        cells = [row[i] for i in columns_left]
        if width(cells[0]) > widths[heads[0]]:
            lines.append(cells[0])
            cells[0] = ""
        padded = []
        for column, (cell, (head, wide)) in enumerate(zip(cells, widths.items(), strict=True)):
            blanks = " " * (wide - width(cell))
            padded.append(cell + blanks if column == 0 or head in left else blanks + cell)
        lines.append("  ".join(padded).rstrip())
    return lines, [head for head in heads if head in gone]
