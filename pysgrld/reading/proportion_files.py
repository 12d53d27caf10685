"""Files of topic proportions, a row for each document: NumPy, CSV, JSON lines and Parquet."""

from __future__ import annotations

import abc
import csv
import json
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.corpus.about.details import Named
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.types import Array, Doubles, Int64s

#: Rows of a row group of Parquet, and bytes of them that wait in memory at most: wide rows make
#: smaller groups.
GROUP, WAITING = 65_536, 1 << 25
#: First characters of a cell that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class InferredBlock(NamedTuple):
    """Proportions of consecutive documents.

    Attributes
    ----------
    first : int
        Row of the first document in the corpus.
    lengths : (n,) int64
        Known tokens of each document.
    theta : (n, K) float64
        Rows sum to 1.
    low, high : (n, K) float64, or None
        Bounds of each proportion's 90 % interval, or None without intervals.
    names : sequence of Named
        Ids of the documents and values of their fields; empty if they are unknown.
    """

    first: int
    lengths: Int64s
    theta: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    names: Sequence[Named] = ()

    @property
    def values(self) -> dict[str, Doubles]:
        """Values of each topic by name: proportions, then bounds if it has intervals."""
        values = {"": self.theta}
        if self.low is not None and self.high is not None:
            values |= {"low": self.low, "high": self.high}
        return values


class Layout(NamedTuple):
    """The values that a row of a file has, and their form.

    Attributes
    ----------
    topics : int
        K.
    intervals : bool
        True if rows have bounds of intervals in addition to the proportions.
    top : int or None
        Parquet: number of topics listed for a document, the greatest shares first, or None for all.
    dense : bool
        Parquet: True if each topic has a column; else each document has a list of topics.
    fields : tuple of str, or None
        Fields that follow a document's id, or None if documents have no names.
    """

    topics: int
    intervals: bool = False
    top: int | None = None
    dense: bool = False
    fields: tuple[str, ...] | None = None


class RowWriter(abc.ABC):
    """Writer of blocks of rows to an open file, as they come.

    Parameters
    ----------
    file : binary file
        Seekable if the format is ``.npy``.
    layout : Layout

    Attributes
    ----------
    about : tuple of str
        Names of the columns that identify the document.
    names : list of str
        Names of the values of a topic, as `InferredBlock.values` has them.
    columns : list of str
        Names of columns if each topic has its own: all proportions first, then bounds.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.file, self.layout = file, layout
        self.about = () if layout.fields is None else ("id", *layout.fields)
        self.names = ["", "low", "high"] if layout.intervals else [""]
        self.columns = [
            f"topic{k}_{name}" if name else f"topic{k}"
            for name in self.names
            for k in range(layout.topics)
        ]

    @abc.abstractmethod
    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""

    def end(self, rows: int) -> None:  # noqa: B027 - most formats have nothing to add
        """Complete the file, which has `rows` rows."""


class NpyWriter(RowWriter):
    """An array of float32, D x K; with intervals D x 3 x K: proportions, low, high.

    The header holds the number of rows, and is written again when it is known; NumPy leaves room in
    it, so that its length is the same for any number.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__(file, layout)
        self.end(0)

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        values = list(block.values.values())
        rows = np.empty((len(block.lengths), len(values), block.theta.shape[1]), "<f4")
        for i, array in enumerate(values):
            rows[:, i] = array
        self.file.write(rows.data)  # (n, 1, K) has the bytes of (n, K)

    def end(self, rows: int) -> None:
        """Write the header with the number of rows."""
        shape = (3, self.layout.topics) if self.layout.intervals else (self.layout.topics,)
        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, *shape)}
        self.file.seek(0)
        np.lib.format.write_array_header_1_0(self.file, head)


class CsvWriter(RowWriter):
    """A header, then a row for each document, with a column for each topic."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__(file, layout)
        file.writelines(csv_lines([[*self.about, *self.columns]]))

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        values = list(block.values.values())
        rows = core.decimals(values[0] if len(values) == 1 else np.hstack(values), separator=",")
        heads = csv_lines([name.id, *name.values] for name in block.names)
        parts = [head[:-1] + b"," for head in heads] or repeat(b""), rows, repeat(b"\n")
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))


class JsonLinesWriter(RowWriter):
    """A line for each document, with lists of a value for each topic."""

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        # before the lists of a row: its place, its id, its fields, and its tokens
        text, fields, heads = json.JSONEncoder().encode, self.layout.fields, []
        for i, length in enumerate(block.lengths.tolist()):
            about = ""
            if block.names:
                name = block.names[i]
                about = f', "id": {text(name.id)}'
                if fields:
                    about += f', "fields": {text(dict(zip(fields, name.values, strict=True)))}'
            heads.append(f'{{"document": {block.first + i}{about}, "tokens": {length}'.encode())
        parts: list[Iterable[bytes]] = [heads]
        for value, array in block.values.items():
            lists = core.decimals(array, separator=", ", point=True)
            parts += repeat(f', "{value or "topics"}": ['.encode()), lists, repeat(b"]")
        parts.append(repeat(b"}\n"))
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))


class ParquetWriter(RowWriter):
    """A table of Parquet: row, id, fields, tokens, and lists of topics and shares, greatest first.

    Dense ones have a column for each topic instead. Fields are texts: what a later document has in one
    is not known when the table begins.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__(file, layout)
        pa, pq = require_pyarrow()
        self._pa = pa
        fields = [("row", pa.int64()), *((name, pa.string()) for name in self.about)]
        fields.append(("tokens", pa.int64()))
        if layout.dense:
            fields += [(name, pa.float32()) for name in self.columns]
        else:
            number = pa.uint16() if layout.topics <= 1 << 16 else pa.uint32()
            fields.append(("topics", pa.list_(number)))
            fields += [(name or "share", pa.list_(pa.float32())) for name in self.names]
        self.schema = pa.schema(fields)
        # hardly two proportions, rows or ids are equal: the search for equal ones costs most of the
        # time
        repeated = [*self.about[1:], "tokens", "topics.list.element"]
        self._writer = pq.ParquetWriter(
            file, self.schema, compression="zstd", use_dictionary=repeated
        )
        wide = layout.topics if layout.dense else min(layout.top or layout.topics, layout.topics)
        self._group = max(1, min(GROUP, WAITING // (4 * wide * (1 + len(self.names)))))
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, block: InferredBlock) -> None:
        """Take the rows of a block; full row groups are written."""
        pa, (n, k) = self._pa, block.theta.shape
        about = zip(*((name.id, *name.values) for name in block.names), strict=True)
        columns: list[Any] = [
            np.arange(block.first, block.first + n),
            *(pa.array([None if v is None else str(v) for v in c], pa.string()) for c in about),
            block.lengths,
        ]
        if self.layout.dense:
            for array in block.values.values():
                columns += [*np.ascontiguousarray(array.T, np.float32)]
        else:
            top = min(self.layout.top or k, k)
            order = core.greatest(block.theta, top=top)
            lists: list[Array] = [order]
            lists += [np.take_along_axis(array, order, axis=1) for array in block.values.values()]
            ends = pa.array(np.arange(n + 1, dtype=np.int32) * top)
            for values, field in zip(lists, list(self.schema)[len(columns) :], strict=True):
                kind = field.type.value_type
                flat = pa.array(values.reshape(-1).astype(kind.to_pandas_dtype()), kind)
                columns.append(pa.ListArray.from_arrays(ends, flat))
        self._waiting.append(pa.record_batch(columns, schema=self.schema))
        self._rows += n
        while self._rows >= self._group:
            self._flush(self._group)

    def end(self, rows: int) -> None:
        """Write the last rows and the foot of the file."""
        if self._rows:
            self._flush(self._rows)
        self._writer.close()

    def _flush(self, rows: int) -> None:
        """Write the first `rows` waiting rows as a row group."""
        table = self._pa.Table.from_batches(self._waiting, self.schema)
        self._writer.write_table(table.slice(0, rows), row_group_size=rows)
        self._waiting = table.slice(rows).to_batches()
        self._rows -= rows


def csv_lines(rows: Iterable[Sequence[str | int | float | bool | None]]) -> list[bytes]:
    """Return rows as lines of CSV; text that a spreadsheet would take for a formula gets a quote sign.

    Parameters
    ----------
    rows : iterable of Sequence[str or int or float or bool or None]
        Cells of each row.

    Returns
    -------
    list of bytes
        A line of UTF-8 for each row, with its line end.
    """
    lines = _Lines()
    # the line end contains both signs, so that a cell with either is quoted
    csv.writer(lines, lineterminator="\r\n").writerows(
        ["'" + v if isinstance(v, str) and v.startswith(_FORMULA) else v for v in row]
        for row in rows
    )
    return lines


class _Lines(list[bytes]):
    """A list of the lines that are written to it as to a file; each ends in a line feed."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n").encode("utf-8", "replace") + b"\n")


WRITERS: dict[str, type[RowWriter]] = {
    ".npy": NpyWriter,
    ".csv": CsvWriter,
    ".jsonl": JsonLinesWriter,
    ".parquet": ParquetWriter,
}


def check_suffix(path: str, *, table: bool = False) -> str:
    """Return the key of `WRITERS` that a file's name ends in; ``.jsonl`` for standard output, ``-``.

    Parameters
    ----------
    path : str
    table : bool
        True if the user asks for an option that only a table of Parquet has.

    Returns
    -------
    str
        With its dot.

    Raises
    ------
    UsageError
        If the name has no known suffix, or the suffix of another format.
    MissingInputError
        If the library that writes the format is not installed.
    """
    suffix = ".jsonl" if path == "-" else Path(path).suffix
    if suffix not in WRITERS:
        raise UsageError(f"-o {path}: name a file that ends in {', '.join(WRITERS)}")
    check_writer(suffix, f"-o {path}", table=table)
    return suffix


def check_writer(suffix: str, typed: str, *, table: bool = False) -> None:
    """Raise an error if a format cannot be written: its library is missing, or it is no table.

    Parameters
    ----------
    suffix : str
        One of `WRITERS`.
    typed : str
        The text that the user typed for it.
    table : bool
        True if the user asks for an option that only a table of Parquet has.

    Raises
    ------
    UsageError
        If the format has no such option.
    MissingInputError
        If the library that writes the format is not installed.
    """
    if suffix == ".parquet":
        require_pyarrow()
    elif table:
        raise UsageError(f"{typed}: --top and --dense are for Parquet (.parquet)")


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Returns
    -------
    (object, object)
        The two modules.

    Raises
    ------
    MissingInputError
        If it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingInputError("writing Parquet needs PyArrow: pip install pyarrow") from None
    return pyarrow, pyarrow.parquet
