"""Files of documents' proportions: one class for each format, which takes block after block."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from pysgrld.core import core
from pysgrld.corpus.about.stream import Named
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.types import Array, Doubles, Floats, Int64s

#: Rows of a row group of Parquet, and bytes of them that wait in memory at most: wide rows make
#: smaller groups.
GROUP, WAITING = 65_536, 1 << 25
#: What a cell begins with that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class InferredBlock(NamedTuple):
    """Proportions of consecutive documents.

    Attributes
    ----------
    first : int
        Row of the first of them in the corpus.
    lengths : (n,) int64
        Known tokens of each document.
    theta : (n, K) float64
        Rows sum to 1.
    low, high : (n, K) float64, or None
        Bounds of each proportion's 90 % interval, where they are wanted.
    names : sequence of Named
        Ids of the documents and values of their fields; empty where they are not known.
    """

    first: int
    lengths: Int64s
    theta: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    names: Sequence[Named] = ()

    @property
    def values(self) -> dict[str, Doubles]:
        """Values of each topic by name: proportions, then bounds where there are some."""
        found = {"": self.theta}
        if self.low is not None and self.high is not None:
            found |= {"low": self.low, "high": self.high}
        return found


class Layout(NamedTuple):
    """Which values a row has, and in which form.

    Attributes
    ----------
    topics : int
        K.
    intervals : bool
        Whether bounds of intervals are beside the proportions.
    top : int or None
        Of a table of Parquet: how many topics of a document are listed, the greatest; None for all.
    dense : bool
        Of a table of Parquet: whether each topic has a column, and not each document a list.
    fields : tuple of str, or None
        Fields that follow a document's id; None where documents have no names.
    """

    topics: int
    intervals: bool = False
    top: int | None = None
    dense: bool = False
    fields: tuple[str, ...] | None = None

    @property
    def about(self) -> tuple[str, ...]:
        """Names of the columns that say which document it is."""
        return () if self.fields is None else ("id", *self.fields)

    @property
    def names(self) -> list[str]:
        """Names of the values of a topic, as `InferredBlock.values` has them."""
        return ["", "low", "high"] if self.intervals else [""]

    @property
    def columns(self) -> list[str]:
        """Names of columns of which each topic has its own: all proportions first, then bounds."""
        return [
            f"topic{k}_{name}" if name else f"topic{k}"
            for name in self.names
            for k in range(self.topics)
        ]


class RowWriter(Protocol):
    """Writes blocks of rows to an open file, as they come."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        """Begin the file."""

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""

    def end(self, rows: int) -> None:
        """Complete the file, which has so many rows."""


class Npy:
    """An array of float32, D x K; with intervals D x 3 x K: proportions, low, high.

    The file must be seekable: its header says how many rows there are.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.file = file
        self.shape = (3, layout.topics) if layout.intervals else (layout.topics,)
        self._header(0)

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        values = list(block.values.values())
        rows = np.empty((len(block.lengths), len(values), block.theta.shape[1]), "<f4")
        for i, of in enumerate(values):
            rows[:, i] = of
        self.file.write(rows.data)  # (n, 1, K) has the bytes of (n, K)

    def end(self, rows: int) -> None:
        """Write the header again, as long for any number of rows (NumPy leaves room for it)."""
        self.file.seek(0)
        self._header(rows)

    def _header(self, rows: int) -> None:
        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, *self.shape)}
        np.lib.format.write_array_header_1_0(self.file, head)


class Csv:
    """A header, then a row for each document, with a column for each topic."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.file = file
        file.write(csv_line([*layout.about, *layout.columns]))

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        values = list(block.values.values())
        rows = core.decimals(values[0] if len(values) == 1 else np.hstack(values), separator=",")
        heads = csv_lines([name.id, *name.values] for name in block.names)
        parts = [head[:-1] + b"," for head in heads] or repeat(b""), rows, repeat(b"\n")
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))

    def end(self, rows: int) -> None:
        """Add nothing."""


class JsonLines:
    """A line for each document, with lists of a value for each topic."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        self.file = file
        self.names, self.fields = [name or "topics" for name in layout.names], layout.fields

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a block."""
        parts: list[Iterable[bytes]] = [self._heads(block)]
        for name, of in zip(self.names, block.values.values(), strict=True):
            lists = core.decimals(of, separator=", ", point=True)
            parts += repeat(f', "{name}": ['.encode()), lists, repeat(b"]")
        parts.append(repeat(b"}\n"))
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))

    def _heads(self, block: InferredBlock) -> Iterator[bytes]:
        """Write what is before the lists of each row: its place, its id, its fields, and its tokens."""
        text = json.JSONEncoder().encode
        for i, length in enumerate(block.lengths.tolist()):
            about = ""
            if block.names:
                name = block.names[i]
                about = f', "id": {text(name.id)}'
                if self.fields:
                    about += f', "fields": {text(dict(zip(self.fields, name.values, strict=True)))}'
            yield f'{{"document": {block.first + i}{about}, "tokens": {length}'.encode()

    def end(self, rows: int) -> None:
        """Add nothing."""


class Parquet:
    """A table of Parquet: row, id, fields, tokens, and lists of topics and shares, greatest first.

    Dense ones have a column for each topic instead. Fields are texts: what a later document has in one
    is not known when the table begins.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        pa, pq = require_pyarrow()
        self.layout, self._pa = layout, pa
        fields = [("row", pa.int64()), *((name, pa.string()) for name in layout.about)]
        fields.append(("tokens", pa.int64()))
        if layout.dense:
            fields += [(name, pa.float32()) for name in layout.columns]
        else:
            number = pa.uint16() if layout.topics <= 1 << 16 else pa.uint32()
            fields.append(("topics", pa.list_(number)))
            fields += [(name or "share", pa.list_(pa.float32())) for name in layout.names]
        self.schema = pa.schema(fields)
        # hardly two proportions, rows or ids are equal: looking for those that are costs most of the time
        repeated = [*layout.about[1:], "tokens", "topics.list.element"]
        self._writer = pq.ParquetWriter(
            file, self.schema, compression="zstd", use_dictionary=repeated
        )
        wide = layout.topics if layout.dense else min(layout.top or layout.topics, layout.topics)
        self._group = max(1, min(GROUP, WAITING // (4 * wide * (1 + len(layout.names)))))
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, block: InferredBlock) -> None:
        """Take the rows of a block; full row groups are written."""
        n = len(block.lengths)
        columns: list[Any] = [np.arange(block.first, block.first + n)]
        columns += self._about(block)
        columns.append(block.lengths)
        columns += self._dense(block) if self.layout.dense else self._lists(block)
        self._waiting.append(self._pa.record_batch(columns, schema=self.schema))
        self._rows += n
        while self._rows >= self._group:
            self._flush(self._group)

    def end(self, rows: int) -> None:
        """Write the last rows and the foot of the file."""
        if self._rows:
            self._flush(self._rows)
        self._writer.close()

    def _about(self, block: InferredBlock) -> list[Any]:
        rows = [(name.id, *name.values) for name in block.names]
        texts = [
            [None if v is None else str(v) for v in column] for column in zip(*rows, strict=True)
        ]
        return [self._pa.array(column, self._pa.string()) for column in texts]

    def _dense(self, block: InferredBlock) -> list[Array]:
        return [c for of in block.values.values() for c in np.ascontiguousarray(of.T, np.float32)]

    def _lists(self, block: InferredBlock) -> list[Any]:
        n, k = block.theta.shape
        top = min(self.layout.top or k, k)
        order = core.greatest(block.theta, top=top)
        ends = self._pa.array(np.arange(n + 1, dtype=np.int32) * top)
        found: list[Floats | Array] = [order]
        found += [np.take_along_axis(of, order, axis=1) for of in block.values.values()]
        types = [field.type.value_type for field in list(self.schema)[2 + len(self.layout.about) :]]
        return [
            self._pa.ListArray.from_arrays(
                ends, self._pa.array(values.reshape(-1).astype(kind.to_pandas_dtype()), kind)
            )
            for values, kind in zip(found, types, strict=True)
        ]

    def _flush(self, rows: int) -> None:
        """Write so many of the rows that wait as a row group."""
        table = self._pa.Table.from_batches(self._waiting, self.schema)
        self._writer.write_table(table.slice(0, rows), row_group_size=rows)
        self._waiting = table.slice(rows).to_batches()
        self._rows -= rows


def csv_line(values: Sequence[str | int | float | bool | None]) -> bytes:
    """Write a line of CSV; text that a spreadsheet would take for a formula gets a quote sign."""
    return csv_lines([values])[0]


def csv_lines(rows: Iterable[Sequence[str | int | float | bool | None]]) -> list[bytes]:
    """Write lines of CSV, each as `csv_line` does."""
    found: list[bytes] = []
    lines = csv.writer(_Lines(found), lineterminator="\n")
    lines.writerows(
        ["'" + v if isinstance(v, str) and v.startswith(_FORMULA) else v for v in row]
        for row in rows
    )
    return found


class _Lines(NamedTuple):
    """A file of whose lines, which are written one at a time, a list is made."""

    found: list[bytes]

    def write(self, line: str) -> None:
        """Take a line."""
        self.found.append(line.encode("utf-8", "replace"))


WRITERS: dict[str, type[RowWriter]] = {
    ".npy": Npy,
    ".csv": Csv,
    ".jsonl": JsonLines,
    ".parquet": Parquet,
}


def check_suffix(path: str, *, table: bool = False) -> str:
    """Say how a file is to be written, by its name; standard output takes JSON lines.

    Parameters
    ----------
    path : str
    table : bool
        Whether something is asked for that only a table of Parquet has.

    Raises
    ------
    UsageError
        If the name does not tell, or that is another format.
    MissingInputError
        If what writes the format is not installed.
    """
    suffix = ".jsonl" if path == "-" else Path(path).suffix
    if suffix not in WRITERS:
        raise UsageError(f"-o {path}: name a file that ends in {', '.join(WRITERS)}")
    check_writer(suffix, f"-o {path}", table=table)
    return suffix


def check_writer(suffix: str, given: str, *, table: bool = False) -> None:
    """Refuse a format that cannot be written here, or not as it is asked for.

    Parameters
    ----------
    suffix : str
        One of `WRITERS`.
    given : str
        What was typed for it.
    table : bool
        Whether something is asked for that only a table of Parquet has.

    Raises
    ------
    UsageError
        If the format has no such thing.
    MissingInputError
        If what writes the format is not installed.
    """
    if suffix == ".parquet":
        require_pyarrow()
    elif table:
        raise UsageError(f"{given}: --top and --dense are for Parquet (.parquet)")


def require_pyarrow() -> tuple[Any, Any]:
    """Give PyArrow, and its part that knows Parquet.

    Raises
    ------
    MissingInputError
        If it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingInputError(
            "writing Parquet needs PyArrow: pip install 'pysgrld[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet
