"""Two works, and helpers that write them in the form of a file that a program exports."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from typing import Any, NamedTuple

FIRST = "Mice sleep in winter, and birds fly in summer over the sea."
SECOND = "Fish swim in the river when the water is warm enough for them."
TEXTS = (FIRST, SECOND)
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


class Export(NamedTuple):
    """A file exported by a program.

    Attributes
    ----------
    name : str
        File name.
    content : bytes
    texts : tuple of str
        The texts of its documents with words.
    titles : tuple of str
        Their titles; empty if the export has none.
    year : str
        The column of the years 2001 and 2002; empty if there is none.
    options : dict
        Options that a person needs.
    refused : str
        Pattern of the message; empty if the file is read.
    """

    name: str
    content: bytes
    texts: tuple[str, ...] = TEXTS
    titles: tuple[str, ...] = ()
    year: str = ""
    options: dict[str, Any] = {}
    refused: str = ""


def table(
    header: str, *rows: dict[str, str], delimiter: str = ",", above: str = "", bom: bool = False
) -> bytes:
    """Write a table whose rows have values in some of the columns."""
    names = header.split(",")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    for row in rows:
        assert not {*row} - {*names}, row
        writer.writerow([row.get(name, "") for name in names])
    return (above + out.getvalue()).encode("utf-8-sig" if bom else "utf-8")


def works(title: str, text: str, year: str, **more: str) -> list[dict[str, str]]:
    """Return the rows of two works under the names of an export's columns."""
    return [
        {title: t, text: a, year: y, **more}
        for t, a, y in zip(("Sleep", "Fish"), TEXTS, ("2001", "2002"), strict=True)
    ]


def jsonl(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def each(template: str) -> str:
    """Fill a template with the number, title, year and text of both works."""
    rows = zip(("Sleep", "Fish"), ("2001", "2002"), TEXTS, strict=True)
    return "".join(
        template.replace("{n}", str(i))
        .replace("{t}", t)
        .replace("{y}", y)
        .replace("{a}", a)
        .replace("{html}", escape(f"<p>{a}</p>"))
        for i, (t, y, a) in enumerate(rows, 1)
    )


TITLES = ("Sleep", "Fish")
