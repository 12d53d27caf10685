"""Files that are one document each: by themselves, or all of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pysgrld.corpus.about.fields import Fields
from pysgrld.corpus.formats.protocol import BadFile, Context, Texts, Whole
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import MissingInputError

#: Makes a document of all that is in a file; raises `BadFile` if it is none.
Extract = Callable[[bytes, CorpusOptions], Whole]

#: Documents of a folder that are handed on together.
TOGETHER = 256


def one_document(extract: Extract) -> Callable[[Lines, Context], Iterator[Texts]]:
    """Make a reader of files of a format whose files are one document each."""

    def read(source: Lines, context: Context) -> Iterator[Texts]:
        try:
            text, title = _document(source, extract, context.options)
        except BadFile as bad:
            context.bad(bad.reason, str(bad), source.label, None)
            if not context.keep_empty:
                return
            text, title = Whole(b"")
        yield Texts([text], source.label, None, fields=Fields([None], [title], {}))

    return read


def read_folder(
    folder: Path,
    files: Sequence[tuple[Path, Extract, str]],
    context: Context,
    on_read: Callable[[int], None],
    on_digest: Callable[[str], None],
) -> Iterator[Texts]:
    """Yield one document a file: its path, how it is read, and the encoding of its text.

    ``on_digest`` is told what each of them holds, as SHA-256.
    """
    documents: list[Whole] = []
    labels: list[str] = []
    size = 0
    for path, extract, encoding in files:
        found, wrong = Whole(b""), None
        with Lines(path, context.options.max_line, on_read, encoding=encoding) as source:
            try:
                found = _document(source, extract, context.options)
            except BadFile as bad:
                wrong = bad
            if source.guess.utf8:
                context.noticed.utf8.append(str(path))
            on_digest(source.digest())
        if wrong is not None:
            if documents:  # what comes before it is told of first
                yield _texts(folder, documents, labels)
                documents, labels, size = [], [], 0
            context.bad(wrong.reason, str(wrong), str(path), None)
            if not context.keep_empty:
                continue
        documents.append(found)
        labels.append(str(path))
        size += len(found.text)
        if len(documents) >= TOGETHER or size >= 2**22:
            yield _texts(folder, documents, labels)
            documents, labels, size = [], [], 0
    if documents:
        yield _texts(folder, documents, labels)


def _texts(folder: Path, documents: list[Whole], labels: list[str]) -> Texts:
    """Call documents by their files' names within the folder."""
    ids = [Path(label).relative_to(folder).as_posix() for label in labels]
    fields = Fields(ids, [document.title for document in documents], {})
    return Texts([document.text for document in documents], labels, None, fields=fields)


def _document(source: Lines, extract: Extract, options: CorpusOptions) -> Whole:
    """Make a document of a file; neither may be longer than a line."""
    parts, size, limit = [], 0, options.max_line
    for block in source.blocks():
        parts.append(block)
        size += len(block)
        if size > limit:
            break
    try:
        found = Whole(b"") if size > limit else extract(b"".join(parts), options)
    except MissingInputError as error:
        raise MissingInputError(f"{source.label}: {error}") from None
    if max(size, len(found.text)) > limit:
        raise BadFile("line too long", f"a document of more than {limit} bytes (--max-line)")
    return found
