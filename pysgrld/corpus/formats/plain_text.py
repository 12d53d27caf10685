"""Text: a document a line, or files that are one document each, by themselves or all of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pysgrld.corpus.about.details import Fields
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import MissingInputError

#: Makes text in UTF-8, and a title or None, of all that is in a file; raises `BadDocument` if it is none.
Extract = Callable[[bytes, CorpusOptions], tuple[bytes, str | None]]

#: Documents of a folder, and bytes of them, that are handed on together.
TOGETHER, SIZE = 256, 2**22


def read_lines(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a line; an empty line is a document without words."""
    context.noticed.by_line.append(source.label)
    for block in source.lines(context.bad):
        if not block:
            if context.keep_empty:
                yield Texts([b""], source.label, range(source.line, source.line + 1))
            continue
        documents = block.split(b"\n")
        if block.endswith(b"\n"):
            documents.pop()
        first = source.line + 1
        yield Texts(documents, source.label, range(first, first + len(documents)))


def all_of(data: bytes, options: CorpusOptions) -> tuple[bytes, None]:
    """Return all of a file as one document without a title."""
    return data, None


def read_file(source: Lines, context: Context, extract: Extract) -> Iterator[Texts]:
    """Yield the one document of a file, if it is a good one."""
    try:
        text, title = _document(source, context, extract)
    except BadDocument as bad:
        context.bad(bad.reason, str(bad), source.label, None)
        if not context.keep_empty:
            return
        text, title = b"", None
    yield Texts([text], source.label, None, fields=Fields([None], [title], {}))


def read_folder(
    folder: Path,
    files: Sequence[tuple[Path, Extract, str]],
    context: Context,
    on_read: Callable[[int], None],
    on_digest: Callable[[str], None],
) -> Iterator[Texts]:
    """Yield one document a file of a folder.

    Parameters
    ----------
    folder : Path
    files : sequence of (Path, callable, str)
        Each with what makes a document of it, and the encoding of its text.
    context : Context
    on_read : callable (int) -> None
        Told how many bytes were taken from a file, each time.
    on_digest : callable (str) -> None
        Told the SHA-256 of each file.
    """
    documents: list[bytes] = []
    titles: list[str | None] = []
    labels: list[str] = []

    def texts() -> Texts:
        ids = [Path(label).relative_to(folder).as_posix() for label in labels]
        found = Texts(list(documents), list(labels), None, fields=Fields(ids, list(titles), {}))
        for held in (documents, titles, labels):
            held.clear()
        return found

    size = 0
    for path, extract, encoding in files:
        text, title, wrong = b"", None, None
        with Lines(path, context.options.max_line, on_read, encoding=encoding) as source:
            try:
                text, title = _document(source, context, extract)
            except BadDocument as bad:
                wrong = bad
            if source.is_utf8:
                context.noticed.utf8.append(str(path))
            on_digest(source.digest())
        if wrong is not None:
            if documents:  # what comes before it is told of first
                yield texts()
                size = 0
            context.bad(wrong.reason, str(wrong), str(path), None)
            if not context.keep_empty:
                continue
        documents.append(text)
        titles.append(title)
        labels.append(str(path))
        size += len(text)
        if len(documents) >= TOGETHER or size >= SIZE:
            yield texts()
            size = 0
    if documents:
        yield texts()


def _document(source: Lines, context: Context, extract: Extract) -> tuple[bytes, str | None]:
    """Make text and title of a file; neither the file nor the text may be longer than a line."""
    parts, size, limit = [], 0, context.options.max_line
    for block in source.blocks():
        parts.append(block)
        size += len(block)
        if size > limit:
            break
    try:
        text, title = (b"", None) if size > limit else extract(b"".join(parts), context.options)
    except MissingInputError as error:
        raise MissingInputError(f"{source.label}: {error}") from None
    if max(size, len(text)) > limit:
        raise BadDocument("line too long", f"a document of more than {limit} bytes (--max-line)")
    return text, title
