"""Readers for plain text, in which a document is a line or a file, and for folders of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pysgrld.corpus.about.details import FieldError, FieldReader
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts, field_names
from pysgrld.corpus.formats.table_head import columns_without_names
from pysgrld.corpus.formats.text_fields import MAIL_TITLE, NAMES, chosen, joined, usual
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError, MissingInputError, Severity

#: Function that converts the content of a file. It returns a text in UTF-8 and a title (or None),
#: or a record with named fields. It raises `BadDocument` if the file is not in the format.
Extract = Callable[[bytes, CorpusOptions], tuple[bytes, str | None] | dict[str, Any]]

#: A batch of documents of a folder is full if it has `TOGETHER` documents or `SIZE` bytes of text.
TOGETHER, SIZE = 256, 2**22


def read_lines(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per line of a file; an empty line makes an empty document.

    A first line that is a usual name of a text field, such as "text", is a header.
    """
    context.noticed.by_line.append(source.label)
    if fields := columns_without_names(source.head):
        context.log(
            f"{source.label}: each line has {fields} tab-separated fields, which are all read "
            "as text; to read only one field, give --header-line none and --text-field columnN, "
            "where N is the number of the field",
            Severity.WARNING,
        )
    header = _header(source.head)
    if header is not None:
        context.log(f"{source.label}: skipped the first line, {header!r}, which is a header")
    shift = 0 if header is None else 1

    def texts(documents: list[bytes], first: int) -> Texts:
        lines = range(first, first + len(documents))
        records = range(first - shift, lines.stop - shift) if shift else None
        return Texts(documents, source.label, lines, records=records)

    for block in source.lines(context.bad):
        if not block:
            if context.keep_empty:
                yield texts([b""], source.line)
            continue
        documents = block.split(b"\n")
        if block.endswith(b"\n"):
            documents.pop()
        skipped = shift if source.line == 0 else 0
        yield texts(documents[skipped:], source.line + 1 + skipped)


def _header(head: bytes) -> str | None:
    """Return the first line if it is a header, that is, a usual name of a text field; else None."""
    line, *below = head.split(b"\n", 2)
    name = line.decode("utf-8", "replace").strip().strip('"')
    return name if len(below) > 1 and name and usual([name], NAMES) else None


def all_of(data: bytes, options: CorpusOptions) -> tuple[bytes, None]:
    """Return the content of a plain-text file as a document's text, and None as its title."""
    return data, None


def read_file(source: Lines, context: Context, extract: Extract) -> Iterator[Texts]:
    """Yield a file as one document. An invalid file is skipped or becomes an empty document."""
    reader = FieldReader(context.wanted)
    try:
        text = _document(source, context, extract, reader)
    except BadDocument as bad:
        context.bad(bad.reason, str(bad), source.label, None)
        if not context.keep_empty:
            return
        text = b""
        reader.add({})
    yield Texts([text], source.label, None, fields=reader.fields())


def read_folder(
    folder: Path,
    files: Sequence[Path],
    context: Context,
    opened: Callable[[Path], Lines],
    read: Callable[[Lines], Extract | Iterator[Texts]],
    on_digest: Callable[[str], None],
) -> Iterator[Texts]:
    """Yield the documents in the files of a folder; a file is one document or has many records.

    Parameters
    ----------
    folder : Path
    files : sequence of Path
        Files to read, below the folder.
    context : Context
    opened : callable (Path) -> Lines
        Opens a file.
    read : callable (Lines) -> callable or iterator of Texts
        Returns a function that converts the file to one document, or an iterator over the documents
        in the file.
    on_digest : callable (str) -> None
        Called with the SHA-256 of each file.
    """
    documents: list[bytes] = []
    labels: list[str] = []
    reader = FieldReader(context.wanted)

    def texts() -> Texts:
        fields = reader.fields()
        paths = (Path(label).relative_to(folder).as_posix() for label in labels)
        fields = fields._replace(
            ids=[document_id or path for document_id, path in zip(fields.ids, paths, strict=True)]
        )
        batch = Texts(list(documents), list(labels), None, fields=fields)
        documents.clear()
        labels.clear()
        return batch

    size = 0
    for path in files:
        text, wrong = b"", None
        with opened(path) as source:
            how = read(source)
            if callable(how):
                try:
                    text = _document(source, context, how, reader, str(folder))
                except BadDocument as bad:
                    wrong = bad
            else:
                if documents:
                    yield texts()
                    size = 0
                yield from how
            if source.is_utf8:
                context.noticed.utf8.append(str(path))
            on_digest(source.digest())
        if not callable(how):
            continue
        if wrong is not None:
            if documents:  # First yield the documents before the invalid document.
                yield texts()
                size = 0
            context.bad(wrong.reason, str(wrong), str(path), None)
            if not context.keep_empty:
                continue
            reader.add({})
        documents.append(text)
        labels.append(str(path))
        size += len(text)
        if len(documents) >= TOGETHER or size >= SIZE:
            yield texts()
            size = 0
    if documents:
        yield texts()


def _document(
    source: Lines, context: Context, extract: Extract, reader: FieldReader, label: str = ""
) -> bytes:
    """Return the text of a one-document file, and add the document's other fields to ``reader``.

    Neither the file nor the text may be longer than a line may be (``max-line``).

    Raises
    ------
    BadDocument
        If the document is bad. Its fields are then not added.
    """
    parts, size, limit = [], 0, context.options.max_line
    for block in source.blocks():
        parts.append(block)
        size += len(block)
        if size > limit:
            break
    else:
        try:
            extracted = extract(b"".join(parts), context.options)
        except MissingInputError as error:
            raise MissingInputError(f"{source.label}: {error}") from None
        if isinstance(extracted, dict):
            title = reader.wanted.title
            fields = list(extracted)
            text_fields = chosen(
                context, label or source.label, fields, [extracted], MAIL_TITLE
            ).wanted
            values = (_named(extracted, name, source.label) for name in text_fields.text or ())
            text = joined(value.encode("utf-8", "replace") for value in values)
            record = {n: v for n, v in extracted.items() if n not in (text_fields.text or ())}
            record[title] = extracted.get(text_fields.title)
        else:
            text = extracted[0]
            record = {reader.wanted.title: extracted[1]}
        size = len(text)
    if size > limit:
        raise BadDocument(
            "line too long",
            f"the document has more than {limit} bytes; allow more with --set max-line=SIZE",
        )
    try:
        reader.add(record)
    except FieldError as error:
        raise BadDocument("field not plain", str(error)) from None
    return text


def _named(record: dict[str, Any], name: str, label: str) -> str:
    """Return the value of a text field of a record, or an empty text if the value is null.

    Raises
    ------
    CorpusError
        If the field is missing.
    """
    if name not in record:
        raise CorpusError(
            f"no field {name!r} (the fields are {field_names(record)}; choose one with "
            "--text-field)",
            label,
        )
    return str(record[name] or "")
