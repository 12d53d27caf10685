"""Readers for spreadsheets, and for reference lists in RIS and BibTeX.

The optional libraries python-calamine, rispy and bibtexparser read spreadsheets, RIS and BibTeX.
These libraries do not bound their memory. A spreadsheet is therefore read only after a check of its
unpacked size and of its cells, and a reference list in chunks of whole references ("works").
"""

from __future__ import annotations

import io
import logging
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

from pysgrld.corpus.formats.headers import (
    header_row,
    is_row,
    labels_left_out,
    numbered_names,
    rows_of_labels,
)
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts, field_names
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.formats.text_fields import SAMPLED
from pysgrld.corpus.lines import Lines, undecodable
from pysgrld.errors import CorpusError, MissingInputError, plural

#: Any workbook may unpack to this number of bytes.
SMALL = 2**26
#: A larger workbook may unpack to this multiple of its packed size. Ordinary workbooks unpack to
#: ten times their size, malicious workbooks to a thousand times.
RATIO = 50
#: Maximum number of bytes to which a workbook may unpack, unless the setting max-input allows more.
LARGEST = 2**29
#: Number of bytes that each cell of a sheet is assumed to take in memory. The library calamine also
#: allocates memory for the empty cells in the rectangle around a sheet's values. The total must not
#: exceed the limit on unpacked bytes.
PER_CELL = 16
#: Number of bytes of a reference list that are parsed at a time.
CHUNK = 2**18
#: Maximum size of a reference in bytes. Parsers need about a hundred times as much memory.
LONGEST = 2**21
#: Number of bytes at the start of a reference list that are searched for fields.
LOOKED_AT = 2**22
#: Numbered records. In place of an invalid record, the list has an error.
_Records = list[Numbered]


class _Chunk(NamedTuple):
    """Part of a reference list; references are never divided between parts.

    Attributes
    ----------
    text : str or BadDocument
        The text, or the error if a reference is too long for a chunk.
    lines : int
        Number of lines before the chunk.
    size : int
        Size of the chunk in bytes.
    """

    text: str | BadDocument
    lines: int
    size: int


#: Fields that rispy names differently in some kinds of references, with their usual names.
_RIS = {"primary_title": "title", "notes_abstract": "abstract", "first_authors": "authors"}


def sheet(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per row of a spreadsheet.

    The sheet is the one that the user has named, or else the first sheet with two or more rows.
    """
    library = _library("python_calamine", "a spreadsheet", "python-calamine", source.label)
    limit = context.options.max_input or LARGEST
    data = _whole(source, limit)
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            packed = max(SMALL, RATIO * len(data))
            most = context.options.max_input or min(LARGEST, packed)
            data = _unpacked_workbook(data, most, source.label)
        book = library.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names, rows, title, chosen_sheet = book.sheet_names, [], "", context.options.sheet
        for title in names if chosen_sheet is None else [n for n in names if n == chosen_sheet]:
            cells = book.get_sheet_by_name(title).to_python(skip_empty_area=False)
            rows = [(i, row) for i, row in enumerate(cells, 1) if any(cell != "" for cell in row)]
            if len(rows) > 1:
                break
    except CorpusError:
        raise
    except Exception as error:  # The library calamine may raise any error for a damaged file.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"this is not a spreadsheet, or it is damaged or has a password ({reason[:120]}); "
            "open it in Excel, and save it as .xlsx without a password",
            source.label,
        ) from None
    if chosen_sheet is not None and chosen_sheet not in names:
        raise CorpusError(
            f"no sheet {chosen_sheet[:40]!r}; choose one with --sheet: {field_names(names)}",
            source.label,
        )
    if len(names) > 1 and chosen_sheet is None:
        other_sheets = field_names([name for name in names if name != title])
        context.log(
            f"{source.label}: only the sheet {title!r} is read, not {other_sheets} (choose "
            "another with --sheet NAME)"
        )
    if not rows:
        raise CorpusError(
            "the spreadsheet has no rows; choose another sheet with --sheet", source.label
        )
    rows, has_header = _below_titles(rows, context, source.label)
    heads = [str(cell).strip() for cell in rows[0][1]]
    if not has_header:
        heads = numbered_names(len(heads))
    for name in heads:
        if name and heads.count(name) > 1:
            raise CorpusError(
                f"the table has more than one column {name[:40]!r}; rename one",
                source.label,
                rows[0][0],
            )
    data_rows = rows[1 if has_header else 0 :]
    if n_labels := rows_of_labels([[str(cell) for cell in row] for _, row in data_rows[:2]]):
        context.log(labels_left_out(source.label, n_labels))
    records: _Records = [
        (i, {name: _cell(cell) for name, cell in zip(heads, row, strict=False) if name})
        for i, row in data_rows[n_labels:]
    ]
    yield from texts_of(records, source, context, "row", header=rows[0][0])


def _whole(source: Lines, limit: int) -> bytes:
    """Read a whole file into memory, and refuse a file that is too large.

    Raises
    ------
    CorpusError
        If the file has more than `limit` bytes.
    """
    parts: list[bytes] = []
    size = 0
    for block in source.blocks():
        parts.append(block)
        size += len(block)
        if size > limit:
            raise CorpusError(
                f"the spreadsheet has more than {limit} bytes; if you trust the file, allow more "
                "with --set max-input=SIZE",
                source.label,
            )
    return b"".join(parts)


#: Pattern of a tag of a cell or a row in an Excel sheet. The tag contains the position.
_CELL = re.compile(rb"""<(?:\w+:)?(?:c|row)\b[^>]*?\br\s*=\s*["']([A-Za-z]{0,7})(\d{1,9})["']""")
#: Pattern of the start tag of a table, row or cell in an OpenDocument spreadsheet.
_OPEN_DOCUMENT = re.compile(
    rb"<table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]*?)(/?)>"
)
#: Pattern of the attribute that states how many times a row or cell is repeated.
_REPEATED = re.compile(rb"""-repeated\s*=\s*["'](\d{1,9})["']""")


def _unpacked_workbook(data: bytes, most: int, label: str) -> bytes:
    """Check the unpacked size of a workbook and of its sheets; return an uncompressed copy.

    Raises
    ------
    CorpusError
        If the workbook unpacks to too many bytes, or the cells of a sheet span a rectangle that is
        too large.
    """
    advice = "if you trust the file, allow more with --set max-input=SIZE"
    stored = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > most:
            raise CorpusError(f"the workbook unpacks to {size} bytes; {advice}", label)
        with zipfile.ZipFile(stored, "w") as copy:
            for part in archive.infolist():
                content = archive.read(part)  # `read` verifies the part's size and checksum.
                copy.writestr(part.filename, content)
                rows, columns = _extent(content) if part.filename.endswith(".xml") else (0, 0)
                if rows * columns > most // PER_CELL:
                    raise CorpusError(
                        f"the workbook's cells span {rows} rows and {columns} columns; delete "
                        f"cells far from the table; otherwise, {advice}",
                        label,
                    )
    return stored.getvalue()


def _extent(sheet: bytes) -> tuple[int, int]:
    """Return the largest row number and the largest column number in a sheet."""
    rows = columns = 0
    for cell in _CELL.finditer(sheet):
        column = 0
        for letter in cell[1].upper():
            column = 26 * column + letter - 64
        rows, columns = max(rows, int(cell[2])), max(columns, column)
    # Rows and cells of OpenDocument have no numbers, so they are counted. Empty cells at the end of
    # a row are not counted.
    row = repeated = column = 0
    for tag in _OPEN_DOCUMENT.finditer(sheet):
        times = int(number[1]) if (number := _REPEATED.search(tag[2])) else 1
        if tag[1] == b"table":
            row = repeated = column = 0
        elif tag[1] == b"table-row":
            row, repeated, column = row + repeated, times, 0
        else:
            column += times
            if not tag[3] or b"value-type" in tag[2]:
                rows, columns = max(rows, row + repeated), max(columns, column)
    return rows, columns


def _below_titles(
    rows: list[tuple[int, list[Any]]], context: Context, label: str
) -> tuple[list[tuple[int, list[Any]]], bool]:
    """Skip titles above a table; return the other rows, and True if the first row is a header.

    Raises
    ------
    CorpusError
        If the row that the user has named as the header is empty.
    """
    options = context.options
    if options.header_line:
        below = [(i, row) for i, row in rows if i >= options.header_line]
        if not below or below[0][0] != options.header_line:
            raise CorpusError(
                "this row is empty and cannot be the header; name the row of the header with "
                "--header-line",
                label,
                options.header_line,
            )
        return below, True
    if options.header_line == 0:
        return rows, False
    texts = [[str(cell) for cell in row] for _, row in rows[:SAMPLED]]
    place = header_row(texts)
    if place:
        context.log(
            f"{label}: skipped {plural(place, 'row')} above the header (choose another header row "
            "with --header-line N)"
        )
    is_metadata = context.wanted.text is None  # The first row of a metadata file is a header.
    if not is_metadata and is_row(texts[place], texts[place + 1 :]):
        context.log(
            f"{label}: the first row looks like data, so columns are called column1, column2, ... "
            "(--header-line 1 uses the first row as header)"
        )
        return rows[place:], False
    return rows[place:], True


def _cell(value: Any) -> Any:
    """Return the value of a cell; whole numbers become ints, because Excel stores floats only."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | float | int | date) else str(value)


#: Patterns of the first line of a reference in RIS and in BibTeX. The BibTeX pattern matches each
#: line at which bibtexparser begins an entry.
_RIS_BEGINS = re.compile(rb"^TY  -", re.M)
_BIBTEX_BEGINS = re.compile(rb"^[^\S\n]*@\w*[ \t]*[{(]", re.M)


def ris(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each reference of a list in RIS."""
    library = _library("rispy", "RIS", "rispy", source.label)
    yield from _texts(_ris_records(library, source, context), source, context, "work")


def _ris_records(library: Any, source: Lines, context: Context) -> Iterator[tuple[int, _Records]]:
    """Parse a RIS list in chunks; yield the size in bytes and the references of each chunk."""
    number = 0
    for chunk in _chunks(source, context, _RIS_BEGINS, "work"):
        if isinstance(chunk.text, BadDocument):
            number += 1
            yield chunk.size, [(number, chunk.text)]
            continue
        begun = [line for line in chunk.text.splitlines() if line.startswith("TY  -")]
        try:
            works = library.loads(chunk.text)
        except Exception as error:  # The library rispy may raise errors of many classes.
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise CorpusError(
                f"this list is not RIS ({reason[:120]}); export the list again", source.label
            ) from None
        if len(works) != len(begun):
            raise CorpusError(
                f"{plural(len(begun), 'work')} of the list have a beginning (TY), but "
                f"{len(works)} have an end (ER); export the list again",
                source.label,
                chunk.lines + 1,
            )
        records: _Records = []
        for work in works:
            number += 1
            named = {_RIS[name]: value for name, value in work.items() if name in _RIS}
            records.append((number, named | {n: v for n, v in work.items() if n not in _RIS}))
        yield chunk.size, records


def bibtex(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each entry of a BibTeX list; convert TeX commands to characters."""
    library = _library("bibtexparser", "BibTeX", "bibtexparser", source.label)
    # sgmc reports errors, so the libraries need not log them.
    for name in ("bibtexparser", "pylatexenc"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    yield from _texts(_bibtex_records(library, source, context), source, context, "entry")


def _bibtex_records(
    library: Any, source: Lines, context: Context
) -> Iterator[tuple[int, _Records]]:
    """Parse a BibTeX list in chunks; yield the size in bytes and the entries of each chunk."""
    splitter = import_module("bibtexparser.splitter")
    latex = import_module("bibtexparser.middlewares").LatexDecodingMiddleware()
    # Collect the abbreviations of all chunks, because later chunks may use abbreviations of earlier
    # chunks.
    strings = dict(_MONTHS)
    number = size = 0
    for chunk in _chunks(source, context, _BIBTEX_BEGINS, "entry"):
        records: dict[int, Mapping[str, Any] | BadDocument] = {}
        if isinstance(chunk.text, BadDocument):
            number += 1
            yield chunk.size, [(number, chunk.text)]
            continue
        entries: list[tuple[int, Any, str]] = []
        for block in splitter.Splitter(chunk.text).split().blocks:
            # The parser rejects repeated keys and fields. Use such entries nevertheless.
            entry = getattr(block, "ignore_error_block", None) or block
            try:
                if type(entry).__name__ == "String":
                    strings[entry.key.lower()] = _value(entry.value, strings)
                    size += len(entry.value)
                elif hasattr(entry, "fields_dict"):
                    number += 1
                    for field in entry.fields:
                        value = _value(field.value, strings)
                        field.value = _UNESCAPED.sub(r"\\\g<0>", value)
                    entries.append((number, entry, entry.key))
                    # The number replaces the key, because `Library` rejects repeated keys.
                    entry.key = str(number)
                elif getattr(block, "error", None) is not None:
                    number += 1
                    raise ValueError("this is not an entry of BibTeX")
            except ValueError as error:
                line = chunk.lines + (block.start_line or 0) + 1
                records[number] = BadDocument("not BibTeX", f"{error}, in line {line}")
        if size > LONGEST:
            raise CorpusError(
                f"the abbreviations (@string) have more than {LONGEST} bytes; export the list "
                "again",
                source.label,
            )
        decoded = latex.transform(library.Library([entry for _, entry, _ in entries])).entries
        for (place, _, key), entry in zip(entries, decoded, strict=True):
            fields: dict[str, Any] = {}
            for field in entry.fields:  # Of several fields with the same name, the first counts.
                fields.setdefault(field.key.lower(), field.value)
            records[place] = fields | {"id": key, "type": entry.entry_type}
        yield chunk.size, sorted(records.items())


def _chunks(
    source: Lines, context: Context, begins: re.Pattern[bytes], noun: str
) -> Iterator[_Chunk]:
    """Split a reference list into chunks of whole references.

    Raises
    ------
    CorpusError
        If the list is not in the given encoding, or a line is too long and bad documents are not
        skipped.
    """
    waiting, lines, lost = b"", 0, False
    for block in source.lines(context.bad):
        if not waiting:
            lines = source.line
        if lost:
            begin = begins.search(block)
            if begin is None:
                continue
            lines += block.count(b"\n", 0, begin.start())
            block, lost = block[begin.start() :], False
        waiting += block
        end = last = 0
        for begin in begins.finditer(waiting, 1):
            last = begin.start()
            if last - end >= CHUNK:
                yield _chunk(waiting[end:last], lines, source, context)
                lines += waiting.count(b"\n", end, last)
                end = last
        if len(waiting) - last > LONGEST:
            if last > end:
                yield _chunk(waiting[end:last], lines, source, context)
            bad = BadDocument(
                "line too long",
                f"the {noun} has more than {LONGEST} bytes; shorten its longest field",
            )
            yield _Chunk(bad, lines, len(waiting) - last)
            waiting, end, lost = b"", 0, True
        waiting = waiting[end:]
    if waiting:
        yield _chunk(waiting, lines, source, context)


def _chunk(data: bytes, lines: int, source: Lines, context: Context) -> _Chunk:
    """Decode a chunk of a reference list.

    Raises
    ------
    CorpusError
        If the chunk is not in the given encoding.
    """
    try:
        # Files that were concatenated have byte-order marks in the text.
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\ufeff", "")
    except UnicodeDecodeError as error:
        line = lines + data[: error.start].count(b"\n") + 1
        raise CorpusError(undecodable(context.options.encoding), source.label, line) from None
    return _Chunk(text, lines, len(data))


#: Names of the months, by the abbreviations that are predefined in BibTeX.
_MONTHS = {
    name.lower(): name
    for name in ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
}
#: Pattern of a percent sign or an ampersand without a backslash. In BibTeX, both are plain
#: characters. They are escaped for the TeX decoder, because in TeX a percent sign begins a comment.
_UNESCAPED = re.compile(r"(?<!\\)[%&]")
_PART = re.compile(r'\s*(?:(?P<bare>[^\s{}"#,]+)|(?P<open>[{"]))')


def _value(text: str, strings: Mapping[str, str]) -> str:
    """Evaluate the value of a BibTeX field, in which "#" joins texts, numbers and abbreviations.

    Raises
    ------
    ValueError
        If other text follows the value, such as the next field after a missing comma.
    """
    parts: list[str] = []
    position = 0
    while match := _PART.match(text, position):
        position = match.end()
        if name := match["bare"]:
            parts.append(strings.get(name.lower(), name))
        else:
            begin, depth = position, int(match["open"] == "{")
            while position < len(text) and (depth or text[position] != '"'):
                depth += (
                    {"{": 1, "}": -1}.get(text[position], 0) if text[position - 1] != "\\" else 0
                )
                position += 1
                if match["open"] == "{" and not depth:
                    break
            parts.append(
                text[begin : position - 1] if match["open"] == "{" else text[begin:position]
            )
            position += match["open"] == '"'
        rest = text[position:].lstrip()
        if not rest:
            break
        if not rest.startswith("#"):
            raise ValueError(f"a comma is missing before {rest[:40]!r}")
        position = len(text) - len(rest) + 1
    return "".join(parts)


def _library(module: str, kind: str, package: str, label: str) -> Any:
    """Import an optional library that a format needs.

    Raises
    ------
    MissingInputError
        If the library is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingInputError(
            f"{label}: reading {kind} needs {package}: pip install {package}"
        ) from None


def _texts(
    chunks: Iterator[tuple[int, _Records]], source: Lines, context: Context, noun: str
) -> Iterator[Texts]:
    """Convert references to documents, given the size in bytes and the references of each chunk.

    The references in the first `LOOKED_AT` bytes determine the fields.
    """
    first: list[_Records] = []
    size = 0
    for read, records in chunks:
        first.append(records)
        size += read
        if size >= LOOKED_AT:
            break
    works = (work for records in first for _, work in records if not isinstance(work, BadDocument))
    names = list(dict.fromkeys(chain.from_iterable(works)))
    if not names:  # No record is valid, so report the error of each record.
        for number, bad in chain.from_iterable(first):
            if isinstance(bad, BadDocument):
                context.bad(bad.reason, f"{noun} {number}: {bad}", source.label, None)
    later = chain.from_iterable(records for _, records in chunks)
    yield from texts_of(chain(chain.from_iterable(first), later), source, context, noun, names)
