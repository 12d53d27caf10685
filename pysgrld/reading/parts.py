"""Proportions of many documents as a folder of parts, each a file that is whole or not there.

The same command goes on after a kill with the parts that are missing, and several processes may share the
parts among them. A document's row does not depend on either: it is keyed by its place in the corpus.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.about.stream import Named, NamedDocuments
from pysgrld.corpus.sources import look
from pysgrld.errors import OutputError
from pysgrld.reading.infer import Inferred, ahead, infer
from pysgrld.reading.inferred import WRITERS, InferredBlock, Layout, RowWriter
from pysgrld.reading.results import Results
from pysgrld.run import jsonio
from pysgrld.run.files import make_folder, read_small
from pysgrld.run.whole import replace_file, whole_file
from pysgrld.types import Documents

#: Documents of a part; and of one of those that several processes share, so that each gets some.
DOCUMENTS, SHARED = 1_000_000, 50_000
#: What was inferred, from what, and how; readers of a folder of tables pass over such a name.
RECORD = "_parts.json"

#: The place of some documents' first, the documents, and their names.
_Block = tuple[int, Documents, Sequence[Named]]


class Share(NamedTuple):
    """A process's share of the parts: each ``of``-th, beginning with the one of its number, from 1."""

    number: int = 1
    of: int = 1


class Parts(NamedTuple):
    """A folder of parts that is to be filled.

    Attributes
    ----------
    folder : Path
    suffix : str
        Of the parts, which says how they are written.
    size : int
        Documents of a part.
    share : Share
    there : frozenset of str
        Names of the parts that were there at the beginning.
    """

    folder: Path
    suffix: str
    size: int
    share: Share = Share()
    there: frozenset[str] = frozenset()

    def path(self, number: int) -> Path:
        """Name a part."""
        return self.folder / f"part-{number:06}{self.suffix}"

    def missing(self, number: int) -> bool:
        """Whether a part is for this process to write."""
        mine = number % self.share.of == self.share.number - 1
        return mine and self.path(number).name not in self.there

    def wanted(self, first: int, end: int) -> bool:
        """Whether some of the documents [first, end) belong to a part that is missing."""
        return any(self.missing(n) for n in range(first // self.size, (end - 1) // self.size + 1))


def prepared(parts: Parts, record: dict[str, Any], *, force: bool) -> Parts:
    """Make the folder, or find which parts of the same inference are there.

    Parameters
    ----------
    parts : Parts
    record : dict
        As `described` gives it.
    force : bool
        Remove the parts that are there, and begin anew.

    Raises
    ------
    OutputError
        If it cannot be made, or has something else.
    """
    folder = parts.folder
    there = sorted(folder.glob("part-*")) if folder.is_dir() else []
    old = _read(folder / RECORD)
    if force:
        for path in there:
            path.unlink()
        there = []
    elif old is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(
            f"{folder}: is there already, and has no parts of an inference; name another folder"
        )
    elif old is not None and old != record:
        other = ", ".join(name for name in record if old.get(name) != record[name])
        raise OutputError(
            f"{folder}: has parts of another inference (what differs: {other}); name another folder, or "
            "--force removes them"
        )
    try:
        make_folder(folder, "output")
        replace_file(folder / RECORD, [jsonio.pretty(record)], "output")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return parts._replace(there=frozenset(path.name for path in there))


def described(
    results: Results, path: str, parts: Parts, layout: Layout, at: int, steps: list[int] | None
) -> dict[str, Any]:
    """Describe an inference: all that its rows depend on."""
    topics = hashlib.sha256()
    for name, array in sorted(results.checkpoint.arrays.items()):
        topics.update(name.encode())
        topics.update(np.ascontiguousarray(array).data)
    found = {
        "run": topics.hexdigest(),
        "input": _seen(look(path)),
        "reading": asdict(results.reading_options()),
        "layer": at + 1,
        "draws": steps,
        "columns": [layout.topics, layout.top, layout.dense, list(layout.fields or ())],
        "format": parts.suffix,
        "documents of a part": parts.size,
    }
    described: dict[str, Any] = jsonio.plain(found, where="parts")
    return described


def write_parts(
    results: Results,
    documents: NamedDocuments,
    parts: Parts,
    layout: Layout,
    at: int = 0,
    steps: list[int] | None = None,
) -> Inferred:
    """Infer the documents of the parts that are missing, and write each part when it is whole.

    Parameters
    ----------
    results : Results
    documents : NamedDocuments
        All documents, or at least those that `Parts.wanted` asks for.
    parts : Parts
    layout : Layout
    at : int
        The layer, counted from 0.
    steps : list of int, optional
        As for `infer`.

    Returns
    -------
    Inferred
        Numbers of the documents that were inferred now.
    """
    done = empty = 0
    for number, blocks in _by_part(documents, parts):
        with whole_file(parts.path(number)) as file:
            writer: RowWriter = WRITERS[parts.suffix](file, layout)
            rows = 0
            try:
                for found in ahead(_inferred(results, blocks, at, steps)):
                    writer.write(found)
                    rows += len(found.lengths)
                    empty += int((found.lengths == 0).sum())
            finally:
                writer.end(rows)
        done += rows
    return Inferred(done, empty)


def _inferred(
    results: Results, blocks: Iterator[_Block], at: int, steps: list[int] | None
) -> Iterator[InferredBlock]:
    """Infer the documents of a part, each with its name."""
    for first, block, names in blocks:
        for found in infer(results, [block], at, steps, first):
            here = found.first - first
            yield found._replace(names=names[here : here + len(found.lengths)])


def _by_part(documents: NamedDocuments, parts: Parts) -> Iterator[tuple[int, Iterator[_Block]]]:
    """Group the documents of the parts that are missing; a group has to be taken before the next."""
    cut = _cut(documents, parts)
    head = next(cut, None)
    while head is not None:
        number, rest = head[0] // parts.size, [head]

        def group(number: int = number, rest: list[Any] = rest) -> Iterator[_Block]:
            while rest[0] is not None and rest[0][0] // parts.size == number:
                yield rest[0]
                rest[0] = next(cut, None)

        yield number, group()
        head = rest[0]


def _cut(documents: NamedDocuments, parts: Parts) -> Iterator[_Block]:
    """Cut blocks where parts end, and leave those out of parts that are not missing."""
    for block in documents:
        first, names, begin = documents.first, documents.names(len(block)), 0
        while begin < len(block):
            number = (first + begin) // parts.size
            end = min(len(block), (number + 1) * parts.size - first)
            if parts.missing(number):
                yield first + begin, block.take(np.arange(begin, end)), names[begin:end]
            begin = end


def _seen(record: Any) -> str:
    """Give a digest of what an input looks like: names, sizes, and when files were changed."""

    def plain(file: dict[str, Any]) -> list[Any]:
        return [file["name"], file.get("size"), file.get("stamp", [None])[0]]

    files = [plain(record), *map(plain, record.get("files", ()))]
    return hashlib.sha256(jsonio.pretty({"files": files})).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        found = jsonio.parse(read_small(path))
        return found if isinstance(found, dict) else None
    return None
