"""Reader for tables in CSV or TSV; each row is a document, and the header names the columns.

A record is bad if a quotation mark in it is never closed, or if text follows a closing quotation
mark. If bad records are skipped, reading resumes at the second line of the bad record. In a table
separated by tabs, a line with as many fields as the header is always a record; only cells that are
quoted as a whole lose their quotation marks.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice

from pysgrld.corpus._columns import plain_records
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats.headers import (
    is_row,
    labels_left_out,
    lines_above,
    numbered_names,
    rows_of_labels,
)
from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.formats.table_head import delimiter_of
from pysgrld.corpus.formats.text_fields import (
    NAMES,
    called_otherwise,
    chosen,
    joined,
    of_delimited,
    usual,
)
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural

#: Maximum number of records that are split at a time.
TOGETHER = 1024
#: Pattern of a cell that is quoted as a whole.
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_REASONS = {
    "expected after": "text follows a closing quotation mark",
    "unexpected end": "a quotation mark is never closed",
    "new-line": "a carriage return is not followed by a newline; end each line with a newline",
}


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per record of a table, and skip blank lines."""
    limit = context.options.max_line
    # Raise the csv module's limit on the length of a field. `_RecordLines` already limits the size
    # of a record.
    csv.field_size_limit(max(csv.field_size_limit(), limit + 1))
    lines = _RecordLines(source, context)
    quoted = context.options.quote != "none"
    delimiter, names = _names(lines, context, source, quoted=quoted)
    sample = of_delimited(source.head, delimiter, names)
    n_labels = rows_of_labels([list(row.values()) for row in sample[:2]])
    if n_labels:
        context.log(labels_left_out(source.label, n_labels))
    context = chosen(context, source.label, names, sample[n_labels:])
    fields = context.wanted
    for name in fields.text or ():
        if name not in names:
            raise CorpusError(
                f"no field {name!r} in the header (the fields are {field_names(names)}; choose one "
                "with --text-field, or another header line with --header-line N)",
                source.label,
                lines.header,
            )
    counts = Counter(names)
    positions = {name: i for i, name in reversed([*enumerate(names)])}
    kept = [n for n in fields.among(names) if counts[n] == 1 or not fields.is_optional(n)]
    for name in kept:
        if counts[name] > 1:
            raise CorpusError(
                f"the header has more than one field {name[:40]!r}; rename one",
                source.label,
                lines.header,
            )
    places = {name: positions[name] for name in kept}
    places |= {n: positions[same[0]] for n, same in called_otherwise(fields, names).items()}
    columns = [positions[name] for name in fields.text or ()]
    alone = columns[0] if len(columns) == 1 else None
    lines.fields = len(names)
    batch = Batch(source.label, context, typed=False)
    records = _records(lines, delimiter, quoted=quoted)
    n_headers = 0
    for record, number in islice(records, n_labels, None):
        try:
            if isinstance(record, BadDocument):
                raise record
            # Skip a row that repeats the header, unless this is a metadata table.
            if (
                fields.text
                and record[-1] == names[-1]
                and [record[0].lstrip("\ufeff"), *record[1:]] == names
            ):
                n_headers += 1
                continue
            if len(record) != len(names):
                raise BadDocument(
                    "wrong number of fields",
                    f"the record has {plural(len(record), 'field')}, but the header has "
                    f"{len(names)}",
                )
            if alone is None:
                text = joined(record[i].encode("utf-8", "surrogateescape") for i in columns)
            else:
                text = record[alone].encode("utf-8", "surrogateescape")
            batch.add(text, {name: record[place] for name, place in places.items()}, number)
        except BadDocument as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if lines.broken:
        context.log(
            f"{source.label}: {plural(lines.broken, 'record')} have line breaks within a quoted "
            "field (--set quote=none reads quotation marks as plain characters)"
        )
    if n_headers:
        context.log(
            f"{source.label}: skipped {plural(n_headers, 'further header')} among the records"
        )
    if batch:
        yield batch.texts()


class _RecordLines:
    """Iterator over a table's lines; it can go back to an earlier line of the current record.

    Attributes
    ----------
    number : int
        Number of the next line.
    header : int
        Line of the header; 0 without a header.
    fields : int or None
        Number of fields of the header; None until it is known.
    broken : int
        Number of records with line breaks in a quoted field.
    """

    def __init__(self, source: Lines, context: Context) -> None:
        self.blocks = source.lines(context.bad)
        self.limit = context.options.max_line
        self.number, self.header, self.broken = 1, 1, 0
        self.fields: int | None = None
        self.block = b""
        self.at = 0  # Offset of the next line in `block`.
        self.record: list[str] = []
        self.starts: list[int] = []  # Offset in `block` of each line of the record.
        self.size = 0

    def begin(self) -> None:
        """Begin a record at the next line."""
        self.record, self.starts, self.size = [], [], 0

    def plain(self, delimiter: str, *, quoted: bool) -> list[list[str]]:
        """Return the next records that are single lines with as many fields as the header."""
        if self.fields is None or self.fields < 2 or not delimiter.isascii():
            return []
        records: list[list[str]]
        records, self.at = plain_records(
            self.block, self.at, ord(delimiter), self.fields, quoted, TOGETHER
        )
        self.number += len(records)
        return records

    def back(self, n_lines: int) -> None:
        """Go back to the line after the first `n_lines` lines of the current record."""
        if n_lines < len(self.starts):
            self.at = self.starts[n_lines]
            self.number -= len(self.starts) - n_lines

    def back_to_first(self) -> None:
        """Go back to the start of the current record, if ``back(1)`` was called before."""
        self.at = self.starts[0]
        self.number -= 1

    def __iter__(self) -> _RecordLines:
        return self

    def __next__(self) -> str:
        if self.at == len(self.block):
            block = next(self.blocks)
            if not block:
                self.number += 1
                raise BadDocument  # The line was too long, so `source` has skipped it.
            begin = self.starts[0] if self.starts else self.at
            self.starts = [start - begin for start in self.starts]
            self.block, self.at = self.block[begin:] + block, self.at - begin
        end = self.block.find(b"\n", self.at) + 1 or len(self.block)
        line = self.block[self.at : end].decode("utf-8", "surrogateescape")
        self.starts.append(self.at)
        self.at = end
        self.number += 1
        self.record.append(line)
        self.size += len(line)
        if self.size > self.limit and len(self.record) > 1:
            self.back(1)
            raise BadDocument(
                "line too long",
                f"the record has more than {self.limit} bytes, or a quotation mark that is never "
                "closed; allow longer records with --set max-line=SIZE",
            )
        return line


def _records(
    lines: _RecordLines, delimiter: str, *, quoted: bool
) -> Iterator[tuple[list[str] | BadDocument, int]]:
    """Yield each record of a table, or its error, with the number of the record's first line."""
    parser = csv.reader(
        lines,
        delimiter=delimiter,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    while True:
        first = lines.number
        if records := lines.plain(delimiter, quoted=quoted):
            yield from zip(records, count(first))
            continue
        lines.begin()
        try:
            record = next(parser)
        except StopIteration:
            return
        except BadDocument as bad:
            yield bad, first
        except csv.Error as error:
            cells = _cells(lines, delimiter) if delimiter == "\t" else None
            lines.back(1)
            if cells:
                yield cells, first
                continue
            reason = next(
                (reason for piece, reason in _REASONS.items() if piece in str(error)), error
            )
            advice = (
                " (--set quote=none reads quotation marks as plain characters)"
                if "quotation mark" in str(reason)
                else ""
            )
            yield BadDocument("not CSV", f"not CSV: {reason}{advice}"), first
        else:
            if len(lines.record) > 1 and lines.fields:
                last = lines.number - 1
                swallows = any(line.count("\t") == lines.fields - 1 for line in lines.record[1:])
                cells = None
                if delimiter == "\t" and (swallows or len(record) != lines.fields):
                    cells = _cells(lines, delimiter)
                if cells:
                    lines.back(1)
                    record = cells
                elif _swallows(lines.record, delimiter):
                    lines.back(1)
                    reason = (
                        f"a quotation mark opened here is closed only in line {last}, but the "
                        f"lines between look like records of {lines.fields} fields (--set "
                        "quote=none reads quotation marks as plain characters)"
                    )
                    yield BadDocument("open quote", reason), first
                    continue
                else:
                    lines.broken += 1
            elif delimiter == "\t" and lines.fields and len(record) != lines.fields:
                record = _cells(lines, delimiter) or record
            # Lines of blanks are skipped, as in other readers of tables.
            if len(record) > 1 or (record and "".join(lines.record).strip(" \r\n")):
                yield record, first


def _cells(lines: _RecordLines, delimiter: str) -> list[str] | None:
    """Split the first line of a record into cells; return None if their number is wrong."""
    cells = lines.record[0].rstrip("\r\n").split(delimiter)
    if len(cells) != lines.fields:
        return None
    return [_unquoted(cell) if cell.startswith('"') else cell for cell in cells]


def _unquoted(cell: str) -> str:
    """Remove the quotation marks around a cell, if they enclose all of it."""
    return cell[1:-1].replace('""', '"') if _QUOTED.fullmatch(cell) else cell


def _swallows(record: list[str], delimiter: str) -> bool:
    """Return True if an unclosed quotation mark seems to have joined several records.

    A quotation mark that is never closed makes one record of many lines. Two fields in each line
    are enough evidence only if one field is a number, because a text with line breaks may have a
    comma in each line.
    """
    rows = [line.rstrip("\r\n").split(delimiter) for line in record]
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        return False
    numbers = [i for i, cell in enumerate(rows[0]) if cell.strip().isdigit()]
    if any(not row[i].strip().isdigit() for row in rows for i in numbers):
        return False
    return width > 2 or bool(numbers)


def _names(
    lines: _RecordLines, context: Context, source: Lines, *, quoted: bool
) -> tuple[str, list[str]]:
    """Skip the lines above a table's header; return the delimiter and the field names."""
    options, fields = context.options, context.wanted
    # A table for --metadata needs no text field, and its first row is always the header.
    of_texts = fields.text is not None
    tabs = source.name.lower().endswith(".tsv") or delimiter_of(source.head) == "\t"
    begins = ("\t", ",", ";") if tabs else (",", ";", "\t")
    separators: tuple[str, ...] = (*begins, "|", "~", "^")
    above = lines_above(source.head, separators)
    if options.header_line:
        above = above._replace(lines=options.header_line - 1)
    elif above.lines and above.separator is None:
        skipped = source.head.split(b"\n")[: above.lines]
        if any(line.strip() for line in skipped):
            context.log(
                f"{source.label}: skipped {plural(above.lines, 'line')} above the header (choose "
                "another header line with --header-line N)"
            )
    for _ in range(above.lines):
        next(lines, None)
    if above.separator is not None:
        separators = (above.separator,)
    delimiter, names = _header(lines, fields, source, separators, quoted=quoted)
    lines.header = lines.number - len(lines.record)
    if of_texts and options.header_line is None:
        head = b"\n".join(source.head.split(b"\n")[lines.number - 1 :])
        rows = [
            list(row.values()) for row in of_delimited(head, delimiter, numbered_names(len(names)))
        ]
        has_text_names = fields.text and all(name in names for name in fields.text)
        if not has_text_names and is_row(names, rows):
            context.log(
                f"{source.label}: the first row looks like data, so fields are called column1, "
                "column2, ... (--header-line 1 uses the first row as header)"
            )
            lines.back(0)
            return delimiter, numbered_names(len(names))
    if options.header_line == 0:
        lines.back(0)
        lines.header = 0
        return delimiter, numbered_names(len(names))
    return delimiter, _with_unnamed(names, lines, context, source, delimiter)


def _with_unnamed(
    names: list[str], lines: _RecordLines, context: Context, source: Lines, delimiter: str
) -> list[str]:
    """Add a name for a field that all records have but the header lacks.

    R writes the names of rows without a name in the header. Other programs end each record, but not
    the header, with a separator.
    """
    below = b"\n".join(source.head.split(b"\n")[lines.number - 1 :])
    wider = of_delimited(below, delimiter, numbered_names(len(names) + 1))
    if len(wider) < 2 or of_delimited(below, delimiter, names):
        return names
    if not any(row[f"column{len(names) + 1}"] for row in wider):
        return [*names, ""]
    ids = {row["column1"] for row in wider}
    if len(ids) < len(wider) or "id" in names:
        return names
    context.log(
        f"{source.label}: the header has one name less than the records have fields, so the "
        "first field is used as id"
    )
    return ["id", *names]


def _header(
    lines: _RecordLines,
    fields: WantedFields,
    source: Lines,
    separators: Sequence[str],
    *,
    quoted: bool,
) -> tuple[str, list[str]]:
    """Detect the delimiter of a table by its header; return the delimiter and the field names.

    The first delimiter is chosen with which the header has the text fields, or else the delimiter
    with which the header has the most fields.
    """
    most: list[str] = []
    # Error message for the first delimiter that gives an invalid header.
    best, wrong = separators[0], ""
    for delimiter in separators:
        record, number = next(_records(lines, delimiter, quoted=quoted), ([], 1))
        if isinstance(record, BadDocument):
            if not record.reason:
                raise CorpusError(
                    "the header cannot be read: a line is too long; allow longer lines with --set "
                    "max-line=SIZE",
                    source.label,
                    number,
                )
            wrong = wrong or f"the header cannot be read: {record}"
            lines.back_to_first()
            continue
        names = [name.strip() for name in record]
        if len(names) > len(most):
            most, best = names, delimiter
        text = fields.text
        if text is not None and (all(map(names.count, text)) if text else usual(names, NAMES)):
            return delimiter, names
        lines.back(0)
    if wrong and len(most) < 2:
        raise CorpusError(wrong, source.label, 1)
    next(_records(lines, best, quoted=quoted), None)
    return best, most
