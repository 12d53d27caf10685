"""Writing of ``documents.npz``, the archive of the documents' ids, titles, columns and origins.

The texts of the documents are in a separate archive.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus.about.columns import ID, DetailsCollector, Piece, SpelledColumn
from pysgrld.corpus.about.details import MOST
from pysgrld.corpus.about.scalars import NONE, integer
from pysgrld.corpus.about.values import ColumnReading, ValueRules, read_as
from pysgrld.corpus.stored_files import DOCUMENTS, TEXTS, digest
from pysgrld.corpus.vectors import TOGETHER, GrowingFile, add_member, new_archive, stamp_of
from pysgrld.errors import CorpusError, Log, NoFieldError, Severity, plural
from pysgrld.types import Int64s

#: Maximum total size in bytes of the text columns that are kept although no option names them.
ROOM = 2**26
#: Maximum number of column names in a log message.
NAMED = 8
#: Name of the archive member that lists the columns.
CONTENTS = "columns.json"
#: Maximum number of distinct values of a categorical column whose kind is inferred.
LEVELS = 1000
#: Maximum number of distinct values of a column that the user has declared categorical.
MOST_LEVELS = 2**20
#: Approximate number of hashes of document ids that are sorted at a time, to limit memory.
SORTED = 2**20
#: Kinds of columns that are stored as numbers. For each kind, the values are the NumPy type of the
#: numbers and the number that stands for a missing value.
NUMBERS: dict[str, tuple[str, float]] = {
    "integer": ("<i8", NONE),
    "real": ("<f8", np.nan),
    "time": ("<i8", NONE),
    "flag": ("<i1", -1),
}

Stays = npt.NDArray[np.bool_]
#: Function without arguments that yields blocks of row numbers, with one number for each document
#: of the corpus. A column has the document's value in this row. The number is -1 if the document
#: has no value.
Rows = Callable[[], Iterator[Int64s]]


class ColumnSource(NamedTuple):
    """A column to be written to the archive.

    Attributes
    ----------
    role, name : str
    values : SpelledColumn
    rows : callable
        Yields the row of each document in the values.
    kind : str or None
        Kind of the column; None if it is to be detected.
    rules : ValueRules
        Rules for reading the values.
    """

    role: str
    name: str
    values: SpelledColumn
    rows: Rows
    kind: str | None
    rules: ValueRules = ValueRules()


#: Function that returns the columns of a metadata file. Its arguments are the `DetailsCollector` of
#: the documents, the row numbers of the documents that stay in the corpus, and the ids of all
#: documents, or None.
Further = Callable[[DetailsCollector, Rows, SpelledColumn | None], list[ColumnSource]]


def write_about(
    collector: DetailsCollector,
    corpus: Path,
    stays: Stays | None,
    log: Log,
    further: Further | None = None,
    asked: Mapping[str, tuple[tuple[str, str], str]] | None = None,
    *,
    read: int | None = None,
) -> dict[str, Any]:
    """Write ids, titles, columns and texts of a corpus's documents to two archives in a folder.

    Parameters
    ----------
    collector : DetailsCollector
    corpus : Path
    stays : (documents,) bool, optional
        True for the documents that stay in the corpus; by default all stay.
    log : callable
        Called with remarks on ids and columns.
    further : callable (collector, rows, ids), optional
        Returns columns read elsewhere; they replace columns of the same role and name.
    asked : mapping, optional
        For each field requested by the user: the column's role and name, and the option.
    read : int, optional
        Number of documents of the inputs, including omitted documents, if all their positions are
        known.

    Returns
    -------
    dict
        Digest and stamp of each archive, by its name.

    Raises
    ------
    CorpusError
        If values are not of the declared kind, or no document has a requested field.
    """

    def rows() -> Iterator[Int64s]:
        for start in range(0, collector.documents, TOGETHER):
            stop = min(start + TOGETHER, collector.documents)
            if stays is None:
                yield np.arange(start, stop)
            else:
                yield start + np.flatnonzero(stays[start:stop])

    for name in (DOCUMENTS, TEXTS):  # Remove files that a killed process may have left.
        (corpus / name).unlink(missing_ok=True)
    documents = collector.documents if stays is None else int(stays.sum())
    vectors = {part: file.vector() for part, file in collector.origin.items()}
    firsts: Stays | None = None  # `firsts` is True for the first piece of each document.
    if any(block.any() for block in map(vectors["piece"].gather, rows())):
        firsts = np.concatenate([block <= 1 for block in map(vectors["piece"].gather, rows())])
    else:
        del vectors["piece"]
    if read is None or (read == documents and firsts is None):
        del vectors["place"]
    pairs = ((vectors["row"].gather(block), vectors["record"].gather(block)) for block in rows())
    if all(np.array_equal(row, record) for row, record in pairs):
        del vectors["record"]
    with new_archive(corpus / DOCUMENTS) as archive:
        for part, vector in vectors.items():
            blocks = map(vector.gather, rows())
            add_member(archive, f"origin-{part}.npy", blocks, vector.dtype.str, documents)
        files = collector.names.tags.size
        names = collector.file_names()
        source = ColumnSource("", "", names, lambda: iter([np.arange(files)]), "string")
        write_column(archive, source, files, "files", log)
        sources = {
            (role, name): ColumnSource(role, name, column, rows, kind, collector.rules)
            for (role, name), (column, kind) in collector.spelled().items()
        }
        columns: list[ColumnSource] = []
        if further is not None:
            ids = sources.get((ID, ""))
            columns = further(collector, rows, ids.values if ids else None)
            sources |= {(source.role, source.name): source for source in columns}
        listed: list[dict[str, Any]] = []
        further_columns = {(s.role, s.name) for s in columns}
        automatic = _Automatic(log)
        for number, (key, source) in enumerate(sources.items()):
            stem = f"c{number}"
            if collector.is_automatic(*key) and key not in further_columns:
                if not (written := automatic.write(archive, source, documents, stem)):
                    continue
                kind, missing = written
            else:
                kind, missing = write_column(archive, source, documents, stem, log)
            column = {"role": source.role, "name": source.name, "kind": kind, "missing": missing}
            listed.append(column | {"file": stem})
            if source.role == ID and (again := _again(source, collector.folder / "hashes", firsts)):
                log(
                    f"{plural(again, 'document')} with the same id as an earlier document; all "
                    "are kept",
                    Severity.WARNING,
                )
        automatic.report(collector.left_out, collector.rare())
        present = {(c["role"], c["name"]) for c in listed if c["missing"] < documents}
        for field, (key, option) in (asked or {}).items():
            if key not in present:
                raise NoFieldError(field, option)
        texts = 0
        if collector.texts is not None and not collector.texts.empty:
            texts = collector.texts.finish(corpus / TEXTS, stays)
        contents = {"columns": listed, "texts": texts, "read": read}
        contents["several_inputs"] = collector.several_inputs
        add_member(archive, CONTENTS, [json.dumps(contents, indent=1).encode() + b"\n"])
    return {
        path.name: {"sha256": digest(path), "stamp": stamp_of(path.stat())}
        for path in (corpus / DOCUMENTS, corpus / TEXTS)
        if path.exists()
    }


class _Automatic:
    """Writer of columns that the user did not request; one log message lists all of them.

    Parameters
    ----------
    log : callable
    """

    def __init__(self, log: Log) -> None:
        self.log, self.room = log, ROOM
        self.kept: list[str] = []
        self.large: list[str] = []

    def write(
        self, archive: zipfile.ZipFile, source: ColumnSource, documents: int, stem: str
    ) -> tuple[str, int] | None:
        """Write a column; return its kind and number of missing values, or None if it is left out."""
        size = source.values.text.size
        if not size:
            return None
        reading = _reading(source)
        if reading.kind == "string":
            if size > self.room:
                self.large.append(source.name)
                return None
            self.room -= size
        self.kept.append(source.name)
        return write_column(archive, source, documents, stem, self.log, reading)

    def report(self, left_out: Iterable[str], rare: Sequence[str]) -> None:
        """Log the names of the columns that were kept, and of the columns that were left out."""
        reasons = [
            (self.large, f"they have more than {ROOM >> 20} MB of text"),
            ([*left_out], "they have long texts or nested values"),
            (rare, "fewer documents have values than in the kept columns"),
        ]
        others = [f"{_listed(names)} ({why})" for names, why in reasons if names]
        advice = "choose other columns with --meta-field NAME,..."
        if self.kept:
            left = f"; left out: {', '.join(others)}" if others else ""
            noun = plural(len(self.kept), "column")
            if len(self.kept) >= MOST:
                noun = f"the first {noun}"
            self.log(f"{noun} kept: {_listed(self.kept)}{left} ({advice})")
        elif others:
            self.log(f"no column kept: {', '.join(others)} ({advice})")


def _listed(names: Sequence[str]) -> str:
    """Return a text that lists the first column names, and the number of names that follow."""
    shown = ", ".join(name[:40] for name in names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


def _reading(source: ColumnSource) -> ColumnReading:
    """Return the declared or detected kind of a column, and a function that parses its values."""
    if source.kind == "string":
        return ColumnReading("string", integer, is_strict=True, notes=[])
    pieces = ((*p.distinct(), p.tags) for p in source.values.pieces(source.rows()))
    return read_as(source.name, pieces, source.kind, source.rules, LEVELS)


def write_column(
    archive: zipfile.ZipFile,
    source: ColumnSource,
    documents: int,
    stem: str,
    log: Log,
    reading: ColumnReading | None = None,
) -> tuple[str, int]:
    """Write a column to an archive as one or two members with names that begin with ``stem``.

    Parameters
    ----------
    archive : ZipFile
    source : ColumnSource
    documents : int
    stem : str
    log : callable
        Called with each remark on the values.
    reading : ColumnReading, optional
        Kind of the column and parser of its values, if they are known.

    Returns
    -------
    kind : str
    missing : int
        Number of documents without a value.

    Raises
    ------
    CorpusError
        If values are not of the declared kind.
    """
    column, rows, name = source.values, source.rows, source.name[:40]
    missing = 0
    rules = source.rules

    def trimmed(piece: Piece) -> tuple[list[bytes], npt.NDArray[np.int32]]:
        values, numbers = piece.distinct()
        return rules.trimmed(values), numbers

    def texts() -> Iterator[tuple[Int64s, bytes]]:
        for piece in column.pieces(rows()):
            if source.kind == "string":  # Ids, titles and texts stay as they are.
                yield piece.lengths, piece.data.tobytes()
                continue
            values, numbers = trimmed(piece)
            lengths = np.array([*map(len, values)], np.int64)
            yield lengths[numbers], b"".join(map(values.__getitem__, numbers.tolist()))

    reading = reading or _reading(source)
    for note in reading.notes:
        log(f"column {name!r}: {note}")
    parse, is_strict = reading.parse, reading.is_strict
    kind = reading.kind

    if kind == "string":

        def ends() -> Iterator[Int64s]:
            nonlocal missing
            total = 0
            for lengths, _ in texts():
                missing += int((lengths == 0).sum())
                yield total + np.cumsum(lengths)
                total += int(lengths.sum())

        add_member(archive, f"{stem}.ends.npy", ends(), "<i8", documents)
        add_member(archive, f"{stem}.utf8", (text for _, text in texts()))
        return kind, missing

    if kind == "category":
        numbers: dict[bytes, int] = {}

        def codes() -> Iterator[npt.NDArray[np.int32]]:
            nonlocal missing
            for values, rows_of_values in map(trimmed, column.pieces(rows())):
                for value in filter(None, values):
                    numbers.setdefault(value, len(numbers))
                places = np.array([numbers.get(value, -1) for value in values], np.int32)
                if len(numbers) > MOST_LEVELS:
                    raise CorpusError(
                        f"column {name!r} has more than {MOST_LEVELS:,} different values, too "
                        "many for categories; read it as text: --meta-field NAME:string"
                    )
                codes_of_rows = places[rows_of_values]
                missing += int((codes_of_rows < 0).sum())
                yield codes_of_rows

        add_member(archive, f"{stem}.codes.npy", codes(), "<i4", documents)
        levels = (json.dumps(level.decode()).encode() + b"\n" for level in numbers)
        add_member(archive, f"{stem}.values.jsonl", levels)
        return kind, missing

    dtype, none = NUMBERS[kind]

    def converted() -> Iterator[npt.NDArray[Any]]:
        nonlocal missing
        for values, numbers in map(trimmed, column.pieces(rows())):
            table = np.full(len(values), none, dtype)
            is_missing = np.ones(len(values), np.bool_)
            for place, value in enumerate(values):
                if value and (number := parse(value)) is not None:
                    table[place], is_missing[place] = number, False
                elif value and is_strict:
                    shown = value[:40].decode(errors="replace")
                    raise CorpusError(
                        f"column {name!r} has the value {shown!r}, which is not of the kind "
                        f"{kind}; to keep the column as text, write {name}:string"
                    )
            missing += int(is_missing[numbers].sum())
            yield table[numbers]

    add_member(archive, f"{stem}.npy", converted(), dtype, documents)
    return kind, missing


def _again(source: ColumnSource, path: Path, firsts: Stays | None) -> int:
    """Count the documents that have the same id as an earlier document.

    The ids are compared by hashes, which are stored in the temporary file ``path``.
    """
    file, position = GrowingFile(path, "<i8"), 0
    for piece in source.values.pieces(source.rows()):
        values = piece.values()
        if firsts is not None:
            some = firsts[position : position + len(values)]
            position += len(values)
            values = [value for value, first in zip(values, some, strict=True) if first]
        file.append([hash(value) for value in values if value])
    vector, again = file.vector(), 0
    groups = 1 + vector.size // SORTED
    for group in range(groups):
        parts = [block[block % groups == group] for block in vector.blocks()]
        same = np.sort(np.concatenate([*parts, np.zeros(0, np.int64)]))
        again += int((same[1:] == same[:-1]).sum())
    path.unlink()
    return again
