"""Temporary files in which ids, titles and columns are collected while inputs are read.

All values are stored as texts in the spelling of the input, because the kind of a column is known
only after its last value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus._columns import distinct, spelled_values
from pysgrld.corpus.about.details import MOST, DocumentDetails, WantedFields, too_many_columns
from pysgrld.corpus.about.scalars import CELL, INTEGER, MISSING, REAL, STRING, spelled
from pysgrld.corpus.about.texts import TextWriter
from pysgrld.corpus.about.values import ValueRules
from pysgrld.corpus.vectors import TOGETHER, GrowingFile, Vector, between
from pysgrld.types import Array, Int64s

#: Vectors that record from which place of the input each document was read, with the NumPy types
#: of their values.
_ORIGIN = {"file": "<i4", "row": "<i8", "record": "<i8", "place": "<i8", "piece": "<i4"}
#: Maximum total size in bytes of the values that are in memory at a time. A single value may be
#: larger.
BYTES = 2**25
#: A column has one of these roles: it has ids of documents, titles of documents, or other values.
ID, TITLE, COLUMN = "id", "title", "column"


class Piece(NamedTuple):
    """Values of a column for consecutive documents, as type tags, lengths and concatenated bytes."""

    tags: npt.NDArray[np.uint8]
    lengths: Int64s
    data: Array

    def values(self) -> list[bytes]:
        """Split the concatenated bytes, and return the value of each document."""
        whole, ends = self.data.tobytes(), np.cumsum(self.lengths).tolist()
        return [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    def distinct(self) -> tuple[list[bytes], npt.NDArray[np.int32]]:
        """Return the distinct values, and the index of each document's value among them."""
        values, numbers = distinct(self.data, self.lengths)
        return values, numbers


class SpelledColumn(NamedTuple):
    """Column on disk; values are looked up by row number, and are texts as written in the input.

    Attributes
    ----------
    tags, ends, text : Vector
        Vectors of the type tag of each value, of the end of each value in ``text``, and of the
        concatenated bytes of all values.
    """

    tags: Vector
    ends: Vector
    text: Vector

    def spans(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return start and length of each row's value in ``text``; the length is 0 for row -1."""
        starts, ends = between(self.ends, np.maximum(rows, 0))
        return starts, np.where(rows < 0, 0, ends - starts)

    def pieces(self, rows: Iterable[Int64s]) -> Iterator[Piece]:
        """Yield the values of the given rows in bounded memory; row -1 yields a missing value."""
        for block in rows:
            tags = np.where(block < 0, np.uint8(MISSING), self.tags.gather(np.maximum(block, 0)))
            starts, lengths = self.spans(block)
            total = np.cumsum(lengths)
            first = 0
            while first < len(block):
                before = int(total[first - 1]) if first else 0
                stop = max(int(np.searchsorted(total, before + BYTES, "right")), first + 1)
                span = slice(first, stop)
                data = self.text.gather(starts[span], lengths[span])
                yield Piece(tags[span], lengths[span], data)
                first = stop


class GrowingColumn:
    """Growing column in temporary files; values are stored as texts, as written in the input.

    Missing values after the last present value are not stored.

    Parameters
    ----------
    folder : Path
    stem : str
        Prefix of the names of the column's files.
    sizes : sequence of int, optional
        Record that `flush` returned, to resume from.
    """

    def __init__(self, folder: Path, stem: str, sizes: Sequence[int] | None = None) -> None:
        tags, lengths, text = sizes or (None, None, None)
        self.folder, self.stem = folder, stem
        self.tags = GrowingFile(folder / f"{stem}.tags", "u1", tags)
        self.lengths = GrowingFile(folder / f"{stem}.lengths", "<i8", lengths)
        self.text = GrowingFile(folder / f"{stem}.text", "u1", text)

    def append(self, values: Sequence[Any], typed: bool, before: int) -> None:
        """Append values of consecutive documents; ``before`` is the first document's row number."""
        self._pad(before)
        tags, lengths, data = spelled_values(
            values, STRING if typed else CELL, INTEGER, REAL, lambda value: spelled(value, typed)
        )
        self.tags.append(tags)
        self.lengths.append(lengths)
        self.text.append(data)

    def present(self) -> int:
        """Return the number of values that are not missing."""
        return sum(int(np.count_nonzero(tags != MISSING)) for tags in self.tags.vector().blocks())

    def _pad(self, size: int) -> None:
        while (gap := min(size - self.tags.size, TOGETHER)) > 0:
            self.tags.append(bytes(gap))
            self.lengths.append(np.zeros(gap, np.int64))

    def flush(self) -> list[int]:
        """Force all data to disk, and return the file sizes, which are needed to resume writing."""
        return [file.flush() for file in (self.tags, self.lengths, self.text)]

    def spelled(self, size: int) -> SpelledColumn:
        """Return a reader of the values of the first ``size`` documents."""
        self._pad(size)
        ends = GrowingFile(self.folder / f"{self.stem}.ends", "<i8")
        total = 0
        for lengths in self.lengths.vector().blocks():
            ends.append(total + np.cumsum(lengths))
            total += int(lengths.sum())
        return SpelledColumn(self.tags.vector(), ends.vector(), self.text.vector())


class DetailsCollector:
    """Collector that stores the ids, titles, columns and origins of documents in temporary files.

    Parameters
    ----------
    folder : Path
    texts : bool
        Whether texts are kept.
    limit : int or None
        Maximum size in bytes of the compressed texts.
    wanted : WantedFields, optional
        Columns to keep, their kinds if known, and rules for values. By default all columns are
        kept.
    record : dict, optional
        Record that `flush` returned, to resume from.

    Attributes
    ----------
    documents : int
        Number of documents so far.
    kinds : dict of str to str
        Kinds of columns, if they are known.
    several_inputs : bool
        Whether documents come from several inputs, so that ids include file names.
    left_out : dict of str to None
        Names of columns that are not kept, because a value is long or nested.
    """

    def __init__(
        self,
        folder: Path,
        *,
        texts: bool,
        limit: int | None,
        wanted: WantedFields | None = None,
        record: dict[str, Any] | None = None,
    ) -> None:
        self._wanted = wanted
        self.rules = ValueRules() if wanted is None else wanted.rules
        folder.mkdir(exist_ok=True)
        self.folder = folder
        before: dict[str, Any] = record or {}
        self.documents: int = before.get("documents", 0)
        self.kinds: dict[str, str] = before.get("kinds", {})
        kinds = {} if wanted is None else wanted.columns
        self.kinds |= {name: kind for name, kind in kinds.items() if kind is not None}
        self.left_out: dict[str, None] = dict.fromkeys(before.get("left_out", ()))
        self.origin = {
            name: GrowingFile(folder / name, dtype, self.documents if record else None)
            for name, dtype in _ORIGIN.items()
        }
        self.several_inputs: bool = before.get("several_inputs", False)
        self.names = GrowingColumn(folder, "names", before.get("names"))
        self._last: dict[tuple[int, str], int] = {
            (input, name): number for input, name, number in before.get("last", ())
        }
        self.columns = {
            (role, name): GrowingColumn(folder, f"c{i}", sizes)
            for i, (role, name, sizes) in enumerate(before.get("columns", ()))
        }
        self.texts = TextWriter(folder, limit, before.get("texts")) if texts else None

    def is_automatic(self, role: str, name: str) -> bool:
        """Return True if the user did not name a column, so that it is kept only by default."""
        wanted = self._wanted
        if wanted is None or role != COLUMN:
            return False
        return bool(wanted.automatic and name not in wanted.columns)

    def is_full(self) -> bool:
        """Return True if the collector has the maximum number of columns."""
        return sum(1 for role, _ in self.columns if role == COLUMN) >= MOST

    def rare(self) -> list[str]:
        """Return the columns that few documents have, if the number of columns is at its maximum.

        Columns that the user named are never returned. If field names differ between documents,
        they are data, not names, and each of the columns would be as long as the corpus.
        """
        if not self.is_full():
            return []
        return [
            name
            for (role, name), column in self.columns.items()
            if self.is_automatic(role, name) and column.present() * MOST < self.documents
        ]

    def add(self, details: DocumentDetails, base: int = 0) -> None:
        """Add details of the next documents; ``base`` is the document count of earlier inputs."""
        first, size = self.documents, len(details)
        # Files are numbered in the order in which they are read. A file whose documents continue
        # from the previous call of `add` keeps its number.
        last: dict[tuple[int, str], int] = {}
        for name in details.names:
            key = details.input, name
            if key not in self._last:
                self._last[key] = self.names.tags.size
                self.names.append([name], True, self.names.tags.size)
            last[key] = self._last[key]
        self._last = last
        numbers = np.array([last[details.input, name] for name in details.names], np.int64)
        if details.files is not None:
            files = numbers[details.files]
        else:
            files = np.full(size, numbers[0] if len(numbers) else 0)
        self.origin["file"].append(files)
        self.origin["row"].append(details.rows)
        self.origin["record"].append(details.records)
        self.several_inputs |= details.several_inputs
        self.origin["place"].append(np.where(details.places < 0, -1, details.places + base))
        self.origin["piece"].append(np.zeros(size) if details.pieces is None else details.pieces)
        if details.fields is not None:
            values: dict[tuple[str, str], Sequence[Any]] = {
                (ID, ""): details.fields.ids,
                (TITLE, ""): details.fields.titles,
            }
            values |= {(COLUMN, name): column for name, column in details.fields.columns.items()}
            self.left_out |= dict.fromkeys(sorted(details.fields.left_out))
            for (role, name), column in values.items():
                if role == COLUMN and name in self.left_out:
                    continue
                if (role, name) not in self.columns:
                    if role != COLUMN and all(value is None for value in column):
                        continue
                    if role == COLUMN and self.is_full():
                        if self.is_automatic(role, name):
                            continue
                        raise too_many_columns()
                    stem = f"c{len(self.columns)}"
                    self.columns[role, name] = GrowingColumn(self.folder, stem)
                self.columns[role, name].append(column, details.fields.typed, first)
        for name, kind in details.kinds.items():
            self.kinds.setdefault(name, kind)
        if self.texts is not None and details.texts is not None:
            self.texts.add(np.arange(first, first + size), details.texts)
        self.documents += size

    def spelled(self) -> dict[tuple[str, str], tuple[SpelledColumn, str | None]]:
        """Return the stored form of the columns: values and kind, by role (id, title, other) and name.

        The kind is None if it is unknown.
        """
        absent = {*self.left_out, *self.rare()}
        return {
            (role, name): (
                column.spelled(self.documents),
                self.kinds.get(name) if role == COLUMN else "string",
            )
            for (role, name), column in self.columns.items()
            if role != COLUMN or name not in absent
        }

    def file_names(self) -> SpelledColumn:
        """Return a column with the name of each file, in the order of the files' numbers."""
        return self.names.spelled(self.names.tags.size)

    def flush(self) -> dict[str, Any]:
        """Force all data to disk; return a record from which a new collector can continue."""
        for file in self.origin.values():
            file.flush()
        return {
            "documents": self.documents,
            "kinds": self.kinds,
            "left_out": [*self.left_out],
            "several_inputs": self.several_inputs,
            "names": self.names.flush(),
            "last": [[input, name, number] for (input, name), number in self._last.items()],
            "columns": [
                [role, name, column.flush()] for (role, name), column in self.columns.items()
            ],
            "texts": None if self.texts is None else self.texts.flush(),
        }
