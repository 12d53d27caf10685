"""CSV and TSV: a header that names the fields, and one field of every record is the text.

A record that cannot be understood, because a quote in it is never closed or something follows a
closing quote, is bad; if such are skipped, reading goes on at the line after its first one.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator

from pysgrld.corpus.about.details import WantedFields
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

_REASONS = {
    "expected after": "something stands after a closing quote",
    "unexpected end": "a quote is never closed",
    "new-line": "a carriage return stands in the middle of a line",
}


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a record; blank lines are nothing."""
    limit = context.options.max_line
    csv.field_size_limit(
        max(csv.field_size_limit(), limit + 1)
    )  # `_RecordLines` is the stricter one
    lines = _RecordLines(source, context)
    delimiter, names = _header(lines, context.wanted, source)
    context = chosen(context, source.label, names, of_delimited(source.head, delimiter, names))
    wanted = context.wanted
    for name in wanted.text or ():
        if name not in names:
            raise CorpusError(
                f"no field {name!r} in the header (it has {field_names(names)}; "
                "choose one with --text-field)",
                source.label,
                1,
            )
    for name in wanted.among(names):
        if names.count(name) > 1:
            raise CorpusError(f"more than one field {name[:40]!r} in the header", source.label, 1)
    places = {name: names.index(name) for name in wanted.among(names)}
    places |= {n: names.index(same[0]) for n, same in called_otherwise(wanted, names).items()}
    columns = [names.index(name) for name in wanted.text or ()]
    batch = Batch(source.label, context, typed=False)
    for record, number in _records(lines, delimiter):
        try:
            if isinstance(record, BadDocument):
                raise record
            if len(record) != len(names):
                raise BadDocument(
                    "wrong number of fields",
                    f"a record of {plural(len(record), 'field')}, but the header has {len(names)}",
                )
            text = joined(record[at].encode("utf-8", "surrogateescape") for at in columns)
            batch.add(text, {name: record[place] for name, place in places.items()}, number)
        except BadDocument as bad:
            batch.refuse(bad, number)
        if batch.full:
            yield batch.texts()
    if batch:
        yield batch.texts()


class _RecordLines:
    """An iterator over lines that keeps those of a record, so that they can come again.

    Attributes
    ----------
    number : int
        Of the next line.
    """

    def __init__(self, source: Lines, context: Context) -> None:
        self.blocks = source.lines(context.bad)
        self.limit = context.options.max_line
        self.number = 1
        self.ready: deque[str] = deque()
        self.record: list[str] = []
        self.size = 0

    def back(self, kept: int) -> None:
        """Put the lines of the record back, all but the first `kept`, so that they come again."""
        again = self.record[kept:]
        self.ready.extendleft(reversed(again))
        self.number -= len(again)

    def back_to_first(self) -> None:
        """Put the first line of the record back too, where `back` has put back all others."""
        self.ready.appendleft(self.record[0])
        self.number -= 1

    def __iter__(self) -> _RecordLines:
        return self

    def __next__(self) -> str:
        if not self.ready:
            block = next(self.blocks)
            if not block:
                self.number += 1
                raise BadDocument  # a line above the limit, which was left out
            lines = block.decode("utf-8", "surrogateescape").split("\n")
            self.ready.extend(line + "\n" for line in lines[:-1])
            if lines[-1]:
                self.ready.append(lines[-1])
        line = self.ready.popleft()
        self.number += 1
        self.record.append(line)
        self.size += len(line)
        if self.size > self.limit and len(self.record) > 1:
            self.back(1)
            raise BadDocument(
                "line too long",
                f"a record of more than {self.limit} bytes (--max-line), or a quote that is never "
                "closed",
            )
        return line


def _records(lines: _RecordLines, delimiter: str) -> Iterator[tuple[list[str] | BadDocument, int]]:
    """Yield records, good and bad, each with the number of its first line."""
    parser = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.record, lines.size = [], 0
        first = lines.number
        try:
            record = next(parser)
        except StopIteration:
            return
        except BadDocument as bad:
            yield bad, first
        except csv.Error as error:
            lines.back(1)
            found = (why for piece, why in _REASONS.items() if piece in str(error))
            yield BadDocument("not CSV", f"not CSV: {next(found, error)}"), first
        else:
            # a line of blanks is nothing, as for other readers of tables
            if len(record) > 1 or (record and "".join(lines.record).strip(" \r\n")):
                yield record, first


def _header(lines: _RecordLines, wanted: WantedFields, source: Lines) -> tuple[str, list[str]]:
    """Return the delimiter that gives the fields of the text, or else the most fields; and the fields."""
    tabs = source.name.lower().endswith(".tsv") or delimiter_of(source.head) == "\t"
    most: list[str] = []
    found, wrong = ",", ""  # what is wrong with it by a delimiter that may be none of it
    for delimiter in ("\t", ",", ";") if tabs else (",", ";", "\t"):
        record, number = next(_records(lines, delimiter), ([], 1))
        if isinstance(record, BadDocument):
            if not record.reason:
                raise CorpusError("no header: a line too long", source.label, number)
            wrong = wrong or f"no header: {record}"
            lines.back_to_first()
            continue
        names = [name.strip() for name in record]
        if len(names) > len(most):
            most, found = names, delimiter
        text = wanted.text
        if text is not None and (all(map(names.count, text)) if text else usual(names, NAMES)):
            return delimiter, names
        lines.back(0)
    if wrong and len(most) < 2:
        raise CorpusError(wrong, source.label, 1)
    next(_records(lines, found), None)
    return found, most
