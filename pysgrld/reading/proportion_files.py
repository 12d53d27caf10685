"""Writers of topic proportions as NumPy, CSV, JSON lines or Parquet, one row per document."""

from __future__ import annotations

import abc
import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.corpus.about.details import Named
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.types import Array, Doubles, Int64s

#: Maximum number of rows in a Parquet row group.
GROUP = 65_536
#: Maximum number of bytes of a row group in memory, so that a row group of long rows has fewer
#: rows.
WAITING = 1 << 25
#: Number of decimals of a share in JSON lines that list only the greatest shares.
_DECIMALS = 6
#: A spreadsheet takes a cell for a formula if the cell begins with one of these characters.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class InferredBlock(NamedTuple):
    """Topic proportions of several consecutive documents.

    Attributes
    ----------
    first : int
        Row of the first document in the corpus.
    lengths : (n,) int64
        Number of known tokens of each document.
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
        """Arrays by name: proportions, and the bounds of intervals if there are any."""
        values = {"": self.theta}
        if self.low is not None and self.high is not None:
            values |= {"low": self.low, "high": self.high}
        return values


class Layout(NamedTuple):
    """Content and format of the rows in a file of proportions.

    Attributes
    ----------
    topics : int
        Number of topics K.
    intervals : bool
        True if rows contain bounds of intervals in addition to the proportions.
    top : int or None
        Number of topics listed for a document, the greatest shares first, or None for all; not CSV
        and NumPy.
    dense : bool
        Parquet: True if each topic has a column; otherwise each document has a list of topics.
    fields : tuple of str, or None
        Metadata fields that follow a document's id, or None if documents have no ids.
    names : mapping of int to str
        Names of the topics, for JSON lines that list topics.
    """

    topics: int
    intervals: bool = False
    top: int | None = None
    dense: bool = False
    fields: tuple[str, ...] | None = None
    names: Mapping[int, str] = MappingProxyType({})


class RowWriter(abc.ABC):
    """Writer of topic proportions to an open file; it takes one group of documents at a time.

    Parameters
    ----------
    file : binary file
        Seekable if the format is ``.npy``.
    layout : Layout

    Attributes
    ----------
    about : tuple of str
        Names of the columns that describe the document.
    names : list of str
        Names of the values of a topic, the keys of `InferredBlock.values`.
    columns : list of str
        Names of the columns if each topic has its own: all proportions first, then bounds.
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
        """Write the rows of a group of documents."""

    def end(self, rows: int) -> None:  # noqa: B027 - most formats have nothing to add
        """Complete the file, given its final number of rows."""


class NpyWriter(RowWriter):
    """Writer of a float32 NumPy array: proportions, D x K, or with interval bounds, D x 3 x K.

    The header contains the number of rows, so the header is written again when that number is
    known. NumPy pads the header, so that the length of the header is the same for any number of
    rows.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__(file, layout)
        self.end(0)

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a group of documents."""
        values = list(block.values.values())
        rows = np.empty((len(block.lengths), len(values), block.theta.shape[1]), "<f4")
        for i, array in enumerate(values):
            rows[:, i] = array
        # Without intervals, the header gives the shape (n, K), but `rows` has the shape (n, 1, K).
        # The bytes are the same.
        self.file.write(rows.data)

    def end(self, rows: int) -> None:
        """Write the header again, now with the final number of rows."""
        shape = (3, self.layout.topics) if self.layout.intervals else (self.layout.topics,)
        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, *shape)}
        self.file.seek(0)
        np.lib.format.write_array_header_1_0(self.file, head)


class CsvWriter(RowWriter):
    """Writer of CSV: a header, then one row per document, with one column per topic."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__(file, layout)
        file.writelines(csv_lines([[*self.about, *self.columns]]))

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a group of documents."""
        values = list(block.values.values())
        rows = core.decimals(values[0] if len(values) == 1 else np.hstack(values), separator=",")
        heads = csv_lines([name.id, *name.values] for name in block.names)
        parts = [head[:-1] + b"," for head in heads] or repeat(b""), rows, repeat(b"\n")
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))


class JsonLinesWriter(RowWriter):
    """Writer of JSON lines: one line per document, with lists of one value per topic.

    With `Layout.top`, the line has a list of the topics with the greatest shares: an object with
    number, name, share and bounds for each.
    """

    def write(self, block: InferredBlock) -> None:
        """Write the rows of a group of documents."""
        # A line begins with the row number, id, fields and number of tokens. The lists of topics
        # follow.
        text, fields, heads = json.JSONEncoder().encode, self.layout.fields, []
        for i, length in enumerate(block.lengths.tolist()):
            about = ""
            if block.names:
                name = block.names[i]
                about = f', "id": {text(name.id)}'
                if fields:
                    about += f', "fields": {text(dict(zip(fields, name.values, strict=True)))}'
            heads.append(f'{{"document": {block.first + i}{about}, "tokens": {length}'.encode())
        if self.layout.top is not None:
            self._write_greatest(heads, block, self.layout.top)
            return
        parts: list[Iterable[bytes]] = [heads]
        for value, array in block.values.items():
            lists = core.decimals(array, separator=", ", point=True)
            parts += repeat(f', "{value or "topics"}": ['.encode()), lists, repeat(b"]")
        parts.append(repeat(b"}\n"))
        self.file.write(b"".join(chain.from_iterable(zip(*parts, strict=False))))

    def _write_greatest(self, heads: list[bytes], block: InferredBlock, top: int) -> None:
        """Write a JSON line for each document: its head from ``heads``, then its main topics."""
        order = core.greatest(block.theta, top=min(top, block.theta.shape[1]))
        values = {
            value or "share": np.take_along_axis(array, order, axis=1).tolist()
            for value, array in block.values.items()
        }
        for i, (head, ids) in enumerate(zip(heads, order.tolist(), strict=True)):
            listed = [
                {"topic": k, "name": self.layout.names.get(k, "")}
                | {value: round(rows[i][j], _DECIMALS) for value, rows in values.items()}
                for j, k in enumerate(ids)
            ]
            self.file.write(head + f', "topics": {json.dumps(listed)}}}\n'.encode())


class ParquetWriter(RowWriter):
    """Writer of a Parquet table with row number, id, fields, tokens, topics and topics' shares.

    Topics and shares are lists, which begin with the greatest share. Dense tables have a column for
    each topic instead. Fields are stored as text, because the types of later values are unknown
    when the table begins.
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
        # Dictionary encoding is used only for columns with repeated values. Proportions, row
        # numbers and ids hardly repeat, and the search for equal values would take most of the
        # time.
        repeated = [*self.about[1:], "tokens", "topics.list.element"]
        self._writer = pq.ParquetWriter(
            file, self.schema, compression="zstd", use_dictionary=repeated
        )
        wide = layout.topics if layout.dense else min(layout.top or layout.topics, layout.topics)
        self._group = max(1, min(GROUP, WAITING // (4 * wide * (1 + len(self.names)))))
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, block: InferredBlock) -> None:
        """Buffer the rows of a group of documents, and write each row group that is full."""
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
        """Write the buffered rows and the footer of the file."""
        if self._rows:
            self._flush(self._rows)
        self._writer.close()

    def _flush(self, rows: int) -> None:
        """Write the first ``rows`` buffered rows as a row group."""
        table = self._pa.Table.from_batches(self._waiting, self.schema)
        self._writer.write_table(table.slice(0, rows), row_group_size=rows)
        self._waiting = table.slice(rows).to_batches()
        self._rows -= rows


def csv_lines(rows: Iterable[Sequence[str | int | float | bool | None]]) -> list[bytes]:
    """Format rows as lines of CSV, with an apostrophe before text that looks like a formula.

    Parameters
    ----------
    rows : iterable of Sequence[str or int or float or bool or None]
        Cells of each row.

    Returns
    -------
    list of bytes
        A line of UTF-8 for each row, including its line end.
    """
    lines = _Lines()
    # The csv module quotes each cell that contains a character of the line terminator. The
    # terminator \r\n therefore makes the module quote cells that contain \r or \n.
    csv.writer(lines, lineterminator="\r\n").writerows(
        ["'" + v if isinstance(v, str) and v.startswith(_FORMULA) else v for v in row]
        for row in rows
    )
    return lines


class _Lines(list[bytes]):
    """List with a method ``write`` that appends a line; the lines end with a line feed."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix("\r\n").encode("utf-8", "replace") + b"\n")


WRITERS: dict[str, type[RowWriter]] = {
    ".npy": NpyWriter,
    ".csv": CsvWriter,
    ".jsonl": JsonLinesWriter,
    ".parquet": ParquetWriter,
}


def check_suffix(path: str, *, top: bool = False, dense: bool = False) -> str:
    """Check the suffix of an output file, and return it (``.jsonl`` for standard output, "-").

    Parameters
    ----------
    path : str
    top, dense : bool
        Whether the user asks for the greatest topics of a document, or for a column for each topic.

    Returns
    -------
    str
        The suffix, including its dot.

    Raises
    ------
    UsageError
        If the name has no known suffix, or the suffix of another format.
    MissingInputError
        If the library that writes the format is not installed.
    """
    suffix = ".jsonl" if path == "-" else Path(path).suffix
    if suffix not in WRITERS:
        raise UsageError(f"-o {path}: give a file name that ends in {', '.join(WRITERS)}")
    check_writer(suffix, f"-o {path}", top=top, dense=dense)
    return suffix


def check_writer(suffix: str, typed: str, *, top: bool = False, dense: bool = False) -> None:
    """Raise an error if a format lacks a requested option, or if its library is missing.

    Parameters
    ----------
    suffix : str
        A key of `WRITERS`.
    typed : str
        The text with which the user named the format, for messages.
    top, dense : bool
        Whether the user asks for the greatest topics of a document, or for a column for each topic.

    Raises
    ------
    UsageError
        If the format does not have that option.
    MissingInputError
        If the library that writes the format is not installed.
    """
    if suffix == ".parquet":
        require_pyarrow()
    elif dense or (top and suffix != ".jsonl"):
        raise UsageError(
            f"{typed}: --top applies only to .parquet and .jsonl, and --dense to .parquet; leave "
            "them out, or change the file name"
        )


def require_pyarrow() -> tuple[Any, Any]:
    """Import and return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Returns
    -------
    (object, object)
        The two modules.

    Raises
    ------
    MissingInputError
        If pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingInputError("writing Parquet needs PyArrow: pip install pyarrow") from None
    return pyarrow, pyarrow.parquet
