"""Plain text: one document a line, or one file of a folder each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pysgrld.corpus.about.wanted import Fields
from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.lines import Lines

SUFFIXES = (".txt", ".text")

#: Documents of a folder that are handed on together.
TOGETHER = 256


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


def read_folder(
    folder: Path,
    files: Sequence[Path],
    context: Context,
    on_read: Callable[[int], None],
    on_digest: Callable[[str], None],
) -> Iterator[Texts]:
    """Yield one document a file; ``on_digest`` is told what each of them holds, as SHA-256."""
    documents: list[bytes] = []
    labels: list[str] = []
    size, limit = 0, context.options.max_line
    for path in files:
        text = _whole(path, context, on_read, on_digest)
        if text is not None:
            documents.append(text)
            labels.append(str(path))
            size += len(text)
        if text is None or len(documents) >= TOGETHER or size >= 2**22:
            yield Texts(documents, labels, None, fields=_called(folder, labels))
            documents, labels, size = [], [], 0
        if text is None:
            message = f"a document of more than {limit} bytes (--max-line)"
            context.bad("line too long", message, str(path), None)
            if context.keep_empty:
                yield Texts([b""], [str(path)], None, fields=_called(folder, [str(path)]))
    if documents:
        yield Texts(documents, labels, None, fields=_called(folder, labels))


def _called(folder: Path, labels: list[str]) -> Fields:
    """Call documents by their files' names within the folder."""
    ids = [Path(label).relative_to(folder).as_posix() for label in labels]
    return Fields(ids, [None] * len(ids), {})


def _whole(
    path: Path, context: Context, on_read: Callable[[int], None], on_digest: Callable[[str], None]
) -> bytes | None:
    """Return all of a file; None if it is larger than the limit."""
    parts, size, limit = [], 0, context.options.max_line
    with Lines(path, limit, on_read, encoding=context.options.encoding) as source:
        for block in source.blocks():
            parts.append(block)
            size += len(block)
            if size > limit:
                break
        if source.guess.utf8:
            context.noticed.utf8.append(str(path))
        on_digest(source.digest())
    if size > limit:
        return None
    return b"".join(parts)
