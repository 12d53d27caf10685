"""The archive of who the documents are, made of what was collected while they were read.

Which kind a column has is found out, its values are written as that kind needs, and texts get an
archive of their own.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.collector import ID, DetailsCollector, SpelledColumn
from pysgrld.corpus.about.fields import (
    CELL,
    FLAG,
    INTEGER,
    MISSING,
    NONE,
    PARSERS,
    REAL,
    STRING,
    TIME,
)
from pysgrld.corpus.stored_files import DOCUMENTS, TEXTS, digest
from pysgrld.corpus.vectors import TOGETHER, GrowingFile, add_member, new_archive, stamp_of
from pysgrld.errors import CorpusError, plural
from pysgrld.types import Int64s

#: The member of the archive that lists its columns.
CONTENTS = "columns.json"
#: Most different values of a column that is taken for categories, and of one that is said to be so.
LEVELS, MOST_LEVELS = 1000, 2**20
#: Hashes of ids that are sorted together.
SORTED = 2**20
#: The values of kinds that are numbers, and what stands for none.
NUMBERS: dict[str, tuple[str, float]] = {
    "integer": ("<i8", NONE),
    "real": ("<f8", np.nan),
    "time": ("<i8", NONE),
    "flag": ("<i1", -1),
}
_TYPES = {INTEGER: "integer", REAL: "real", FLAG: "flag", TIME: "time"}

Stays = npt.NDArray[np.bool_]
#: Rows of all documents, some at a time, -1 where there is none; each call begins anew.
Rows = Callable[[], Iterator[Int64s]]


class ColumnSource(NamedTuple):
    """A column to be written.

    Attributes
    ----------
    role, name : str
    values : SpelledColumn
    rows : callable
        The row of each document in the values.
    kind : str or None
        None: it is found out.
    """

    role: str
    name: str
    values: SpelledColumn
    rows: Rows
    kind: str | None


#: Returns columns for the collected documents, of which these rows stay and have these ids.
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
    """Write what is known of the documents that stay to archives in the folder of a corpus.

    Parameters
    ----------
    collector : DetailsCollector
    corpus : Path
    stays : (documents,) bool, optional
        Which documents there are in the end; all of them where it is not given.
    log : callable
        Told what a person should know of ids and columns.
    further : callable (collector, rows, ids), optional
        Returns columns that were read elsewhere; they take the place of those of the same role and name.
    asked : mapping, optional
        Of each field that a person has asked for: its role and name, and the option.
    read : int, optional
        Documents of the inputs, those that were left out too, where the places of all are known.

    Returns
    -------
    dict
        Digest and stamp of each archive, by its name.

    Raises
    ------
    CorpusError
        If values are not of the kind that was said, or no document has a field that was asked for.
    """

    def rows() -> Iterator[Int64s]:
        for start in range(0, collector.documents, TOGETHER):
            stop = min(start + TOGETHER, collector.documents)
            if stays is None:
                yield np.arange(start, stop)
            else:
                yield start + np.flatnonzero(stays[start:stop])

    for name in (DOCUMENTS, TEXTS):  # of a process that was killed before it had committed
        (corpus / name).unlink(missing_ok=True)
    documents = collector.documents if stays is None else int(stays.sum())
    vectors = {part: file.vector() for part, file in collector.origin.items()}
    pieces = np.concatenate([*map(vectors["piece"].gather, rows()), np.zeros(0, np.int32)])
    firsts = pieces <= 1 if pieces.any() else None  # documents that are whole, or a first piece
    if firsts is None:
        del vectors["piece"]
    if read is None or (read == documents and firsts is None):
        del vectors["place"]
    with new_archive(corpus / DOCUMENTS) as archive:
        for part, vector in vectors.items():
            found = map(vector.gather, rows())
            add_member(archive, f"origin-{part}.npy", found, vector.dtype.str, documents)
        files = collector.names.tags.size
        names = collector.names.spelled(files)
        source = ColumnSource("", "", names, lambda: iter([np.arange(files)]), "string")
        write_column(archive, source, files, "files", log)
        sources = {
            (role, name): ColumnSource(role, name, column, rows, kind)
            for (role, name), (column, kind) in collector.spelled().items()
        }
        if further is not None:
            ids = sources.get((ID, ""))
            columns = further(collector, rows, ids.values if ids else None)
            sources |= {(source.role, source.name): source for source in columns}
        listed: list[dict[str, Any]] = []
        for number, source in enumerate(sources.values()):
            stem = f"c{number}"
            kind, missing = write_column(archive, source, documents, stem, log)
            column = {"role": source.role, "name": source.name, "kind": kind, "missing": missing}
            listed.append(column | {"file": stem})
            if source.role == ID and (again := _again(source, collector.folder / "hashes", firsts)):
                log(
                    f"warning: {plural(again, 'document')} with an id that one before has; all are kept"
                )
        there = {(c["role"], c["name"]) for c in listed if c["missing"] < documents}
        for field, (key, option) in (asked or {}).items():
            if key not in there:
                raise CorpusError(f"no document has a field {field[:40]!r} ({option})")
        texts = 0
        if collector.texts is not None and not collector.texts.empty:
            texts = collector.texts.finish(corpus / TEXTS, stays)
        contents = {"columns": listed, "texts": texts, "read": read}
        add_member(archive, CONTENTS, [json.dumps(contents, indent=1).encode() + b"\n"])
    return {
        path.name: {"sha256": digest(path), "stamp": stamp_of(path.stat())}
        for path in (corpus / DOCUMENTS, corpus / TEXTS)
        if path.exists()
    }


def write_column(
    archive: zipfile.ZipFile,
    source: ColumnSource,
    documents: int,
    stem: str,
    log: Callable[[str], None],
) -> tuple[str, int]:
    """Write a column to members of an archive whose names begin with a stem.

    Returns
    -------
    kind : str
    missing : int
        Documents without a value.

    Raises
    ------
    CorpusError
        If values are not of the kind that was said.
    """
    column, rows, kind, name = source.values, source.rows, source.kind, source.name[:40]
    missing = 0
    if kind is None:
        kind, mixed = kind_of(column, rows)
        if mixed:
            log(
                f"column {name!r} has values of several kinds ({', '.join(mixed)}): kept as "
                f"{'text' if kind == 'string' else 'categories'}"
            )

    if kind == "string":

        def ends() -> Iterator[Int64s]:
            nonlocal missing
            total = 0
            for some in rows():
                _, lengths = column.spans(some)
                missing += int((lengths == 0).sum())
                yield total + np.cumsum(lengths)
                total += int(lengths.sum())

        add_member(archive, f"{stem}.ends.npy", ends(), "<i8", documents)
        add_member(archive, f"{stem}.utf8", (piece.data for piece in column.pieces(rows())))
        return kind, missing

    if kind == "category":
        numbers: dict[bytes, int] = {}

        def codes() -> Iterator[npt.NDArray[np.int32]]:
            nonlocal missing
            for piece in column.pieces(rows()):
                found = [numbers.setdefault(v, len(numbers)) if v else -1 for v in piece.values()]
                if len(numbers) > MOST_LEVELS:
                    raise CorpusError(
                        f"column {name!r} has more than {MOST_LEVELS:,} different values, too many for "
                        "a category; make it a string (NAME:string)"
                    )
                missing += found.count(-1)
                yield np.array(found, np.int32)

        add_member(archive, f"{stem}.codes.npy", codes(), "<i4", documents)
        levels = (json.dumps(level.decode()).encode() + b"\n" for level in numbers)
        add_member(archive, f"{stem}.values.jsonl", levels)
        return kind, missing

    parse, (dtype, none) = PARSERS[kind], NUMBERS[kind]

    def converted() -> Iterator[npt.NDArray[Any]]:
        nonlocal missing
        for piece in column.pieces(rows()):
            found: list[Any] = []
            for value in piece.values():
                number = parse(value) if value else None
                if value and number is None:
                    found_it = value[:40].decode(errors="replace")
                    raise CorpusError(f"column {name!r} has {found_it!r}, which is no {kind}")
                missing += number is None
                found.append(none if number is None else number)
            yield np.array(found, dtype)

    add_member(archive, f"{stem}.npy", converted(), dtype, documents)
    return kind, missing


def kind_of(column: SpelledColumn, rows: Rows) -> tuple[str, list[str]]:
    """Return the kind of a column, and what its values were if that is not all of one kind."""
    seen: set[int] = set()
    levels: set[bytes] = set()
    possible = {"integer": True, "real": True, "time": True}
    documents = 0
    for piece in column.pieces(rows()):
        tags = set(np.unique(piece.tags).tolist()) - {MISSING}
        seen |= tags
        documents += len(piece.tags)
        if len(levels) <= LEVELS or any(possible.values()):
            distinct = {value for value in piece.values() if value}
            if len(levels) <= LEVELS:
                levels |= distinct
            for kind in (kind for kind, may in possible.items() if may):
                possible[kind] = all(PARSERS[kind](value) is not None for value in distinct)
    if not seen:
        return "string", []
    if len(seen) == 1 or seen == {INTEGER, REAL}:
        typed = "real" if REAL in seen else _TYPES.get(next(iter(seen)))
        if typed and possible.get(typed, True):
            return typed, []
    if seen == {CELL}:
        for kind in ("integer", "real"):
            if possible[kind]:
                return kind, []
    if seen <= {STRING, CELL, TIME} and possible["time"]:
        return "time", []
    mixed = sorted({_TYPES.get(tag, "string") for tag in seen})
    few = len(levels) <= LEVELS and 2 * len(levels) <= documents
    return "category" if few else "string", mixed if len(mixed) > 1 else []


def _again(source: ColumnSource, path: Path, firsts: Stays | None) -> int:
    """Count the documents whose id an earlier one has, by their hashes in a file, in bounded memory."""
    file, at = GrowingFile(path, "<i8"), 0
    for piece in source.values.pieces(source.rows()):
        values = piece.values()
        if firsts is not None:
            some = firsts[at : at + len(values)]
            at += len(values)
            values = [value for value, first in zip(values, some, strict=True) if first]
        file.append([hash(value) for value in values if value])
    vector, again = file.vector(), 0
    groups = 1 + len(vector) // SORTED
    for group in range(groups):
        parts = [block[block % groups == group] for block in vector.blocks()]
        same = np.concatenate([*parts, np.zeros(0, np.int64)])
        again += len(same) - len(np.unique(same))
    path.unlink()
    return again
