"""Spreadsheets and lists of works, which are small enough to be held in memory.

python-calamine reads spreadsheets, rispy RIS and bibtexparser BibTeX; they are extras.
"""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from typing import Any

from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines, undecodable
from pysgrld.errors import CorpusError, MissingInputError, plural

#: Bytes that a file of these may unpack to, unless --max-input allows more.
LARGEST = 2**30
#: Records by number, with their fields by name; or what is wrong with one.
_Records = list[Numbered]

#: What a field of RIS is called here where rispy has another name, which some kinds of works have.
_RIS = {"primary_title": "title", "notes_abstract": "abstract", "first_authors": "authors"}


def sheet(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a row of the first sheet that has two rows; its first row has the names."""
    library = _library("python_calamine", "a spreadsheet", "python-calamine", source.label)
    data, limit = b"".join(source.blocks()), context.options.max_input or LARGEST
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                size = sum(part.file_size for part in archive.infolist())
            if size > limit:
                raise CorpusError(
                    f"a workbook that unpacks to {size} bytes; allow more with --max-input if it is no "
                    "bomb",
                    source.label,
                )
        book = library.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names, rows, title = book.sheet_names, [], ""
        for title in names:
            cells = book.get_sheet_by_name(title).to_python(skip_empty_area=False)
            rows = [(i, row) for i, row in enumerate(cells, 1) if any(cell != "" for cell in row)]
            if len(rows) > 1:
                break
    except CorpusError:
        raise
    except Exception as error:  # whatever its parsers make of damage
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"no spreadsheet, or damaged ({why[:120]}); save it again, without a password",
            source.label,
        ) from None
    if len(names) > 1:
        context.log(f"{source.label}: of {len(names)} sheets, {title!r} is read")
    if not rows:
        raise CorpusError("a spreadsheet without rows", source.label)
    heads = [str(cell).strip() for cell in rows[0][1]]
    for name in heads:
        if name and heads.count(name) > 1:
            raise CorpusError(f"more than one column {name[:40]!r}", source.label, rows[0][0])
    records: _Records = [
        (i, {name: _cell(cell) for name, cell in zip(heads, row, strict=False) if name})
        for i, row in rows[1:]
    ]
    yield from texts_of(records, source, context, "row")


def _cell(value: Any) -> Any:
    """Return the value of a cell as other formats have it; whole numbers are kept as reals there."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | float | int | date) else str(value)


def ris(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a work of a list in RIS."""
    library = _library("rispy", "RIS", "rispy", source.label)
    text = _text(context, source)
    begun = [line for line in text.splitlines() if line.startswith("TY  -")]
    try:
        found = library.loads(text)
    except Exception as error:  # its own, by kind of fault
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(f"not RIS ({why[:120]}); export it again", source.label) from None
    if len(found) != len(begun):
        raise CorpusError(
            f"{plural(len(begun), 'work')} begin (TY) and {len(found)} end (ER), so that some would be "
            "lost; export it again",
            source.label,
        )
    records: _Records = []
    for number, work in enumerate(found, 1):
        named = {_RIS[name]: value for name, value in work.items() if name in _RIS}
        records.append((number, named | {n: v for n, v in work.items() if n not in _RIS}))
    yield from texts_of(records, source, context, "work")


def bibtex(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document an entry of a list in BibTeX; marks of TeX become the letters that they mean."""
    library = _library("bibtexparser", "BibTeX", "bibtexparser", source.label)
    for name in ("bibtexparser", "pylatexenc"):  # what is wrong is said here
        logging.getLogger(name).setLevel(logging.CRITICAL)
    latex = import_module("bibtexparser.middlewares").LatexDecodingMiddleware()
    found = library.parse_string(_text(context, source), append_middleware=[latex])
    records: _Records = []
    for block in found.blocks:
        entry = getattr(block, "ignore_error_block", None) or block  # of a key that comes twice
        if hasattr(entry, "fields_dict"):
            fields = {name.lower(): field.value for name, field in entry.fields_dict.items()}
            own = {"id": entry.key, "type": entry.entry_type}
            records.append((len(records) + 1, fields | own))
        elif getattr(block, "error", None) is not None:
            line = (block.start_line or 0) + 1
            bad = BadDocument("not BibTeX", f"no entry of BibTeX, in line {line}")
            records.append((len(records) + 1, bad))
    yield from texts_of(records, source, context, "entry")


def _library(module: str, what: str, package: str, label: str) -> Any:
    """Import the library of a format.

    Raises
    ------
    MissingInputError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingInputError(
            f"{label}: reading {what} needs {package}: pip install {package}"
        ) from None


def _text(context: Context, source: Lines) -> str:
    """Return all of a file.

    Raises
    ------
    CorpusError
        If it is not in its encoding, or larger than --max-input.
    """
    data = b"".join(source.blocks())
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CorpusError(undecodable(context.options.encoding), source.label, line) from None
