"""Columns in the end: the kind of each found out, and its values written as that kind needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.about.collector import Piece, SpelledColumn
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
from pysgrld.corpus.about.tail import write_array
from pysgrld.corpus.vectors import ArrayFile
from pysgrld.errors import CorpusError
from pysgrld.types import Array, Int64s

#: Most different values of a column that is taken for categories, and of one that is said to be so.
LEVELS, MOST_LEVELS = 1000, 2**20

#: Rows of all documents, some at a time, -1 where there is none; each call begins anew.
Rows = Callable[[], Iterator[Int64s]]

#: The values of kinds that are numbers, and what stands for none.
NUMBERS: dict[str, tuple[str, float]] = {
    "integer": ("<i8", NONE),
    "real": ("<f8", np.nan),
    "time": ("<i8", NONE),
    "flag": ("<i1", -1),
}
_TYPES = {INTEGER: "integer", REAL: "real", FLAG: "flag", TIME: "time"}


class WrittenColumn(NamedTuple):
    """A column that was written.

    Attributes
    ----------
    kind : str
    missing : int
        Documents without a value.
    mixed : list of str
        What its values were, if not all of one kind.
    """

    kind: str
    missing: int
    mixed: list[str]


def kind_of(column: SpelledColumn, rows: Rows) -> tuple[str, list[str]]:
    """Find out the kind of a column, and what its values were if that is not all of one kind."""
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


def write_column(
    column: SpelledColumn, rows: Rows, kind: str | None, place: Path, stem: str, name: str
) -> WrittenColumn:
    """Write a column to the files that begin with a stem.

    Parameters
    ----------
    column : SpelledColumn
    rows : callable
    kind : str or None
        None: it is found out.
    place : Path
        The folder.
    stem : str
    name : str
        As messages call it.

    Raises
    ------
    CorpusError
        If values are not of the kind that was said.
    """
    mixed: list[str] = []
    if kind is None:
        kind, mixed = kind_of(column, rows)
    if kind == "string":
        missing = _strings(column, rows, place, stem)
    elif kind == "category":
        missing = _categories(column, rows, place, stem, name)
    else:
        missing = _numbers(column, rows, place / f"{stem}.npy", kind, name)
    return WrittenColumn(kind, missing, mixed)


def _strings(column: SpelledColumn, rows: Rows, place: Path, stem: str) -> int:
    missing = total = 0
    ends = ArrayFile(place / f"{stem}.ends.npy", np.dtype("<i8"))
    try:
        with (place / f"{stem}.utf8").open("wb") as file:
            for piece in column.pieces(rows()):
                file.write(piece.data.tobytes())
                ends.append(total + np.cumsum(piece.lengths))
                total += len(piece.data)
                missing += int((piece.lengths == 0).sum())
        ends.finish()
    finally:
        ends.file.close()
    return missing


def _categories(column: SpelledColumn, rows: Rows, place: Path, stem: str, name: str) -> int:
    numbers: dict[bytes, int] = {}
    missing = 0

    def codes() -> Iterator[Array]:
        nonlocal missing
        for piece in column.pieces(rows()):
            found = [numbers.setdefault(v, len(numbers)) if v else -1 for v in piece.values()]
            if len(numbers) > MOST_LEVELS:
                raise CorpusError(
                    f"column {name[:40]!r} has more than {MOST_LEVELS:,} different values, too "
                    "many for a category; make it a string (NAME:string)"
                )
            missing += found.count(-1)
            yield np.array(found, np.int32)

    write_array(place / f"{stem}.codes.npy", "<i4", codes())
    with (place / f"{stem}.values.jsonl").open("w", encoding="ascii") as file:
        file.writelines(json.dumps(level.decode()) + "\n" for level in numbers)
    return missing


def _numbers(column: SpelledColumn, rows: Rows, path: Path, kind: str, name: str) -> int:
    parse, (dtype, none) = PARSERS[kind], NUMBERS[kind]
    missing = 0

    def convert(piece: Piece) -> Array:
        nonlocal missing
        found: list[Any] = []
        for value in piece.values():
            number = parse(value) if value else None
            if value and number is None:
                found_it = value[:40].decode(errors="replace")
                raise CorpusError(f"column {name[:40]!r} has {found_it!r}, which is no {kind}")
            missing += number is None
            found.append(none if number is None else number)
        return np.array(found, dtype)

    write_array(path, dtype, map(convert, column.pieces(rows())))
    return missing
