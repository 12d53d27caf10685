"""Plain text: one document a line, or one a file."""

from __future__ import annotations

from collections.abc import Iterator

from pysgrld.corpus.formats.protocol import Context, Texts, Whole
from pysgrld.corpus.lines import Lines
from pysgrld.corpus.reading import CorpusOptions

SUFFIXES = (".txt", ".text")


def sniff(head: bytes, name: str) -> bool:
    """Take whatever no other format recognised for text; reading may find that it is none."""
    return True


def read(source: Lines, context: Context) -> Iterator[Texts]:
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


def text(data: bytes, options: CorpusOptions) -> Whole:
    """Give all of a file as one document."""
    return Whole(data)
