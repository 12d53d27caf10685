"""Detection of a table in delimited text, by a header with field names or by quoted cells."""

from __future__ import annotations

import csv
import io
import re
from itertools import islice

from pysgrld.corpus.formats.text_fields import NAMES, long_text, plain_names

#: Delimiters that are tried, the most reliable first.
DELIMITERS = ("\t", ";", "|", "~", "^", ",")
#: Number of records that are examined.
_RECORDS = 50
#: Maximum number of characters in a field name.
_LONGEST = 40
#: A header may have a single usual name, which is the name of a text field. Such a header is
#: accepted only if the table has more than this number of records (including the header).
_FEW = 2
#: Number of lines at the start of a file that are searched for the header.
_ABOVE = 5
#: Usual field names in the spelling of `plain_names`. A line is a header if it has two of these
#: names, or one usual name of a text field.
_USUAL = frozenset(
    (
        *NAMES,
        *(
            "id",
            "key",
            "title",
            "ti",
            "author",
            "authors",
            "au",
            "year",
            "py",
            "date",
            "doi",
            "pmid",
            "pt",
        ),
        *(
            "label",
            "category",
            "class",
            "topic",
            "url",
            "source",
            "journal",
            "keywords",
            "name",
            "user",
        ),
        *("description", "summary", "comment", "review", "message", "language", "status"),
        *("respondentid", "collectorid", "responseid", "datesubmitted", "submitdate", "startdate"),
        *("enddate", "recordeddate", "ipaddress", "timestamp", "createddate"),
        *("articletitle", "publicationyear", "sourcetitle", "documenttitle", "createdat", "score"),
    )
)


def delimiter_of(head: bytes) -> str | None:
    """Detect the delimiter of a table in its first lines; return None if they are not a table.

    Few texts contain tabs, but most contain commas. With any delimiter, a text is a table if its
    header has two usual names or one usual name of a text field, or if all cells are quoted. With
    tabs, a header of short names and a column of long texts are enough.

    Parameters
    ----------
    head : bytes
        The first lines of the file in UTF-8. The last line may be incomplete.
    """
    text = head.decode("utf-8", "replace")
    for _ in range(_ABOVE):
        line, _, below = text.partition("\n")
        for delimiter in DELIMITERS:
            if delimiter in line and (_is_table(text, delimiter) or _is_quoted(text, delimiter)):
                return delimiter
        text = below  # The first line may be a title, so try again without it.
    return None


def _is_quoted(text: str, delimiter: str) -> bool:
    """Return True if all lines have the same number of cells and all cells are quoted."""
    if not text.startswith('"'):
        return False
    lines = [line for line in text.split("\n", _RECORDS)[:_RECORDS] if line]
    lines = lines[: None if text.endswith("\n") else -1]
    quoted = re.compile(rf'"(?:[^"]|"")*"(?:{re.escape(delimiter)}"(?:[^"]|"")*")+\r?')
    widths = {line.count(f'"{delimiter}"') for line in lines if quoted.fullmatch(line)}
    whole = all(map(quoted.fullmatch, lines))
    return len(lines) > 1 and whole and len(widths) == 1


def _is_table(text: str, delimiter: str) -> bool:
    first = text.partition("\n")[0].split(delimiter)
    n_usual = len(_USUAL.intersection(plain_names(name.strip('" \r') for name in first)))
    # If the header has two usual names, its other names may be long, such as questions of a survey.
    # Two more characters than `_LONGEST` are allowed, for quotation marks around a name.
    if n_usual < 2 and any(len(name) > _LONGEST + 2 for name in first):
        return False
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        records = [record for record in islice(reader, _RECORDS + 1) if record]
    except csv.Error:
        return False
    if len(records) > 2 and len(records) <= _RECORDS:
        records.pop()  # The last record may be cut off.
    if len(records) < 2:
        return False
    names = [name.strip() for name in records[0]]
    while names and not names[-1]:
        names.pop()
    plain = plain_names(names)
    usual = _USUAL.intersection(plain)
    # R and pandas leave the first name of the header empty, above the names of rows.
    if len(names) < 2 or not all(plain[1:]) or any(plain.count(name) > 1 for name in NAMES):
        return False
    if any((len(name) > _LONGEST and n_usual < 2) or name.isdigit() for name in names):
        return False
    if all(len(record) == len(names) + 1 for record in records[1:]):
        names = ["", *names]  # R may leave out the first name of the header
    elif any(not len(names) <= len(record) <= len(records[0]) for record in records[1:]):
        return False
    if len(usual) > 1 or (usual & frozenset(NAMES) and len(records) > _FEW):
        return True
    rows = [dict(zip(names, record, strict=False)) for record in records[1:]]
    short = all(len(name.split()) <= 3 for name in names)
    return delimiter == "\t" and short and len(rows) > 1 and long_text(names, rows) is not None


def columns_without_names(head: bytes) -> int:
    """Return the number of tab-separated fields per line, or 0 if it differs between lines."""
    whole = head.splitlines()[: None if head.endswith(b"\n") else -1]
    lines = [line for line in whole[:_RECORDS] if line.strip()]
    numbers = {line.count(b"\t") for line in lines}
    return numbers.pop() + 1 if len(lines) > 2 and len(numbers) == 1 and numbers != {0} else 0
