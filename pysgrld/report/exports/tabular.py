"""Tables that are written a block of rows at a time: CSV and Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from pysgrld.reading.proportion_files import csv_lines, require_pyarrow
from pysgrld.run.whole import whole_file

#: Bytes of rows that wait until a row group of Parquet is written: smaller ones make large files.
_WAITING = 1 << 25


class TableColumn(NamedTuple):
    """A column of a table; its kind is one of `pysgrld.corpus.about`, or topic, share or figure."""

    name: str
    kind: str


class TableWriter(Protocol):
    """Writes blocks of rows to an open file, as they come."""

    def __init__(self, file: IO[bytes], columns: Sequence[TableColumn]) -> None:
        """Begin the table."""

    def write(self, values: Sequence[Any]) -> None:
        """Write some rows: a sequence of values for each column, None where there is none."""

    def end(self) -> None:
        """Complete the file."""


class CsvTable:
    """One header, then a line for each row; numbers that are not whole have seven digits."""

    def __init__(self, file: IO[bytes], columns: Sequence[TableColumn]) -> None:
        self.file = file
        file.writelines(csv_lines([[column.name for column in columns]]))

    def write(self, values: Sequence[Any]) -> None:
        """Write some rows."""
        plain = [part.tolist() if isinstance(part, np.ndarray) else part for part in values]
        self.file.writelines(csv_lines([*map(_cell, row)] for row in zip(*plain, strict=True)))

    def end(self) -> None:
        """Add nothing."""


class ParquetTable:
    """A table of Parquet whose columns have types; categories are dictionaries, times are UTC."""

    def __init__(self, file: IO[bytes], columns: Sequence[TableColumn]) -> None:
        pa, pq = require_pyarrow()
        self._pa = pa
        types = {
            "string": pa.string(),
            "category": pa.dictionary(pa.int32(), pa.string()),
            "integer": pa.int64(),
            "real": pa.float64(),
            "time": pa.timestamp("us", tz="UTC"),
            "flag": pa.bool_(),
            "topic": pa.int32(),
            "share": pa.float32(),
            "figure": pa.float64(),
        }
        self._schema = pa.schema([(column.name, types[column.kind]) for column in columns])
        self._kinds = [column.kind for column in columns]
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[Any] = []
        self._bytes = 0

    def write(self, values: Sequence[Any]) -> None:
        """Take some rows; full row groups are written."""
        arrays = [
            self._pa.array(_times(part) if kind == "time" else part, field.type, from_pandas=True)
            for part, kind, field in zip(values, self._kinds, self._schema, strict=True)
        ]
        table = self._pa.Table.from_arrays(arrays, schema=self._schema)
        self._waiting.append(table)
        self._bytes += table.nbytes
        if self._bytes >= _WAITING:
            self._flush()

    def end(self) -> None:
        """Write the last rows and the foot of the file."""
        if self._waiting:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        table = self._pa.concat_tables(self._waiting).unify_dictionaries()
        self._waiting, self._bytes = [], 0
        self._writer.write_table(table, row_group_size=max(1, len(table)))


def _cell(value: Any) -> Any:
    """Round a number to seven digits; NaN is no value."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if value == value else None
    return value


def _times(values: Sequence[str | None]) -> Any:
    return np.array(["NaT" if value is None else value for value in values], "datetime64[us]")


TABLES: dict[str, type[TableWriter]] = {"csv": CsvTable, "parquet": ParquetTable}


@contextlib.contextmanager
def whole_table(path: Path, format: str, columns: Sequence[TableColumn]) -> Iterator[TableWriter]:
    """Open a table that has its name when it is complete.

    Raises
    ------
    MissingInputError
        If what writes the format is not installed.
    OutputError
        If it cannot be created.
    WriteError
        If writing fails; what was there before is intact.
    """
    with whole_file(path) as file:
        table = TABLES[format](file, columns)
        try:
            yield table
        except BaseException:
            with contextlib.suppress(Exception):
                table.end()  # its writer has to let go of the file, which is given up
            raise
        table.end()
