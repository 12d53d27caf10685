"""Plain text: one document a line, or one file of a folder each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pysgrld.corpus.formats.kinds import Context, Texts
from pysgrld.corpus.stream import Stream

#: Documents of a folder that are handed on together.
TOGETHER = 256


def sniff(head: bytes, name: str) -> bool:
    """Whatever nothing else recognised is text, or is found not to be when it is read."""
    return True


def read(stream: Stream, context: Context) -> Iterator[Texts]:
    """One document a line; an empty line is a document without words."""
    for block in stream.lines(context.bad):
        if not block:
            if context.keep_empty:
                yield Texts([b""], stream.label, range(stream.line, stream.line + 1))
            continue
        documents = block.split(b"\n")
        if block.endswith(b"\n"):
            documents.pop()
        first = stream.line + 1
        yield Texts(documents, stream.label, range(first, first + len(documents)))


def read_folder(
    files: Sequence[Path], context: Context, on_read: Callable[[int], None]
) -> Iterator[Texts]:
    """One document a file."""
    documents: list[bytes] = []
    labels: list[str] = []
    size, limit = 0, context.options.max_line
    for path in files:
        text = _whole(path, limit, on_read)
        if text is not None:
            documents.append(text)
            labels.append(str(path))
            size += len(text)
        if text is None or len(documents) >= TOGETHER or size >= 2**22:
            yield Texts(documents, labels, None)
            documents, labels, size = [], [], 0
        if text is None:
            message = f"a document of more than {limit} bytes (--max-line)"
            context.bad("line too long", message, str(path), None)
            if context.keep_empty:
                yield Texts([b""], [str(path)], None)
    if documents:
        yield Texts(documents, labels, None)


def _whole(path: Path, limit: int, on_read: Callable[[int], None]) -> bytes | None:
    """All of a file; None if it is larger than the limit."""
    parts, size = [], 0
    with Stream(path, limit, on_read) as stream:
        for block in stream.blocks():
            parts.append(block)
            size += len(block)
            if size > limit:
                return None
    return b"".join(parts)
