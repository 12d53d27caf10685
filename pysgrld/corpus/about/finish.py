"""The folder of documents' names, made of what was spooled while they were read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.collector import ID, DetailsCollector, SpelledColumn
from pysgrld.corpus.about.columns import Rows, write_column
from pysgrld.corpus.about.tail import TOGETHER, Tail, picked, write_array
from pysgrld.corpus.digests import digest
from pysgrld.corpus.vectors import Vector, stamp_of
from pysgrld.errors import CorpusError, plural
from pysgrld.run.files import fsync_folder, write_new
from pysgrld.types import Array, Int64s

#: The folder within that of the corpus, and the list of what is in it.
FOLDER, CONTENTS = "documents", "columns.json"
#: How many documents of the inputs came before each; there only where some were left out.
PLACES = f"{FOLDER}/origin-place.npy"
#: Hashes of ids that are sorted together.
SORTED = 2**20

Stays = npt.NDArray[np.bool_]


class ColumnSource(NamedTuple):
    """A column to be written: its role and name, its values, and the row of each document in them."""

    role: str
    name: str
    values: SpelledColumn
    rows: Rows
    kind: str | None


#: Gives columns for the documents of a collector, of which these rows stay and have these ids.
Further = Callable[[DetailsCollector, Rows, SpelledColumn | None], list[ColumnSource]]


def write_about(
    collector: DetailsCollector,
    corpus: Path,
    stays: Stays | None,
    log: Callable[[str], None],
    further: Further | None = None,
    asked: Mapping[str, tuple[tuple[str, str], str]] | None = None,
    *,
    read: int | None = None,
) -> dict[str, Any]:
    """Write what is known of the documents that stay into the folder of a corpus.

    Parameters
    ----------
    collector : DetailsCollector
    corpus : Path
    stays : (documents,) bool, optional
        Which documents there are in the end; all of them where it is not given.
    log : callable
        Told what a person should know of ids and columns.
    further : callable (collector, rows, ids), optional
        Gives columns that were read elsewhere; they take the place of those of the same role and name.
    asked : mapping, optional
        Of each field that a person has asked for: its role and name, and the option.
    read : int, optional
        Documents of the inputs, those that were left out too, where the places of all are known.

    Returns
    -------
    dict
        Digest and stamp of each file, by its name in the corpus's folder.

    Raises
    ------
    CorpusError
        If values are not of the kind that was said, or no document has a field that was asked for.
    """
    place = corpus / FOLDER
    shutil.rmtree(place, ignore_errors=True)  # of a process that was killed before it had committed
    place.mkdir()

    def rows() -> Iterator[Int64s]:
        for start in range(0, collector.documents, TOGETHER):
            stop = min(start + TOGETHER, collector.documents)
            yield (
                np.arange(start, stop)
                if stays is None
                else start + np.flatnonzero(stays[start:stop])
            )

    firsts = _firsts(collector, rows)
    documents = collector.documents if stays is None else int(stays.sum())
    origin = ["file", "row"]
    if firsts is not None:
        origin.append("piece")
    if read is not None and (read != documents or firsts is not None):
        origin.append("place")
    for part in origin:
        tail = collector.origin[part]
        write_array(place / f"origin-{part}.npy", tail.dtype, _some(tail.vector(), rows))
    names = collector.names.spelled()
    write_column(names, lambda: iter([np.arange(len(names.tags))]), "string", place, "files", "")
    sources = {
        (role, name): ColumnSource(role, name, column, rows, kind)
        for (role, name), (column, kind) in collector.spelled().items()
    }
    if further is not None:
        ids = sources.get((ID, ""))
        found = further(collector, rows, ids.values if ids else None)
        sources |= {(source.role, source.name): source for source in found}
    columns = [_write(source, place, n, log, firsts) for n, source in enumerate(sources.values())]
    there = {(c["role"], c["name"]) for c in columns if c["missing"] < documents}
    for field, (key, option) in (asked or {}).items():
        if key not in there:
            raise CorpusError(f"no document has a field {field[:40]!r} ({option})")
    texts = 0
    if collector.texts is not None and not collector.texts.empty:
        if stays is None or stays.all():
            texts = collector.texts.finish(place)
        else:
            texts = collector.texts.finish_some(place, stays)
    listed = json.dumps({"columns": columns, "texts": texts, "read": read}, indent=1)
    write_new(place / CONTENTS, [listed.encode() + b"\n"], "store")
    parts = {}
    for path in sorted(place.iterdir()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        parts[f"{FOLDER}/{path.name}"] = {"sha256": digest(path), "stamp": stamp_of(path.stat())}
    fsync_folder(place, "store")
    return parts


def _some(vector: Vector, rows: Rows) -> Iterator[Array]:
    for some in rows():
        yield picked(vector, some)


def _firsts(collector: DetailsCollector, rows: Rows) -> Stays | None:
    """Tell the documents that stay and are whole, or a first piece; None where none is a piece."""
    pieces = np.concatenate(
        [*_some(collector.origin["piece"].vector(), rows), np.zeros(0, np.int32)]
    )
    return pieces <= 1 if pieces.any() else None


def _write(
    source: ColumnSource, place: Path, number: int, log: Callable[[str], None], firsts: Stays | None
) -> dict[str, Any]:
    """Write a column under its number, and give what the list says of it."""
    stem = f"c{number}"
    written = write_column(source.values, source.rows, source.kind, place, stem, source.name)
    if written.mixed:
        log(
            f"column {source.name[:40]!r} has values of several kinds ({', '.join(written.mixed)}): kept "
            f"as {'text' if written.kind == 'string' else 'categories'}"
        )
    if source.role == ID and (again := _again(source, place / f"{stem}.hashes", firsts)):
        log(f"warning: {plural(again, 'document')} with an id that one before has; all are kept")
    return {
        "role": source.role,
        "name": source.name,
        "kind": written.kind,
        "missing": written.missing,
        "file": stem,
    }


def _again(source: ColumnSource, path: Path, firsts: Stays | None) -> int:
    """Count the documents whose id an earlier one has, by their hashes, in bounded memory."""
    tail, at = Tail(path, "<i8"), 0
    for piece in source.values.pieces(source.rows()):
        values = piece.values()
        if firsts is not None:
            some = firsts[at : at + len(values)]
            at += len(values)
            values = [value for value, first in zip(values, some, strict=True) if first]
        tail.append([hash(value) for value in values if value])
    vector, again = tail.vector(), 0
    groups = 1 + len(vector) // SORTED
    for group in range(groups):
        parts = [
            part[part % groups == group]
            for start in range(0, len(vector), SORTED)
            for part in [vector.read(start, start + SORTED)]
        ]
        same = np.concatenate([*parts, np.zeros(0, np.int64)])
        again += len(same) - len(np.unique(same))
    path.unlink()
    return again
