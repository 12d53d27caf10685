"""Topic proportions of new documents, as a stream: some documents in memory at a time."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pysgrld.corpus.about.stream import Named, NamedDocuments
from pysgrld.errors import UsageError
from pysgrld.reading.results import Results
from pysgrld.types import Documents, Doubles, Int64s

#: Documents that are looked at together, at most.
DOCUMENTS = 4096
#: What a cell begins with that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class InferredBlock(NamedTuple):
    """Proportions of consecutive documents.

    Attributes
    ----------
    first : int
        Row of the first of them in the corpus.
    theta : (n, K) float64
        Rows sum to 1.
    lengths : (n,) int64
        Known tokens of each document.
    """

    first: int
    theta: Doubles
    lengths: Int64s


class Inferred(NamedTuple):
    """Numbers of documents that got proportions, and of those among them without a known word."""

    documents: int
    empty: int


def infer(results: Results, blocks: Iterable[Documents], at: int = 0) -> Iterator[InferredBlock]:
    """Infer topic proportions under the posterior-mean topics, in the order of the documents.

    theta = (alpha + E[n_dk]) / (K alpha + N_d) for LDA; a document without a known word gets the
    prior's mean, 1/K. A document's result depends on its counts, its row and the seed alone.

    Parameters
    ----------
    results : Results
    blocks : iterable of Documents
        Over the run's words (`Results.documents`).
    at : int
        The layer whose topics are meant, counted from 0.
    """
    first = 0
    for whole in blocks:
        for begin in range(0, len(whole), DOCUMENTS):
            documents = whole.take(np.arange(begin, min(begin + DOCUMENTS, len(whole))))
            ids = np.arange(first, first + len(documents))
            theta = results.fitted.proportions(results.mean, documents, ids, at)
            yield InferredBlock(first, theta, documents.lengths)
            first += len(documents)


# ---- how it is written

Write = Callable[[IO[bytes], InferredBlock, list[Named], tuple[str, ...]], None]


def _npy(
    file: IO[bytes], block: InferredBlock, names: list[Named], fields: tuple[str, ...]
) -> None:
    file.write(block.theta.astype("<f4").tobytes())


def _csv(
    file: IO[bytes], block: InferredBlock, names: list[Named], fields: tuple[str, ...]
) -> None:
    if not names:
        np.savetxt(file, block.theta, fmt="%.7g", delimiter=",")
    for name, row in zip(names, block.theta, strict=bool(names)):
        file.write(_cells((name.id, *name.values, *(f"{p:.7g}" for p in row))))


def _cells(values: tuple[str | int | float | bool | None, ...]) -> bytes:
    """Write a line of CSV; text that a spreadsheet would take for a formula gets a quote sign."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(
        "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
        for value in values
    )
    return line.getvalue().encode("utf-8", "replace")


def _jsonl(
    file: IO[bytes], block: InferredBlock, names: list[Named], fields: tuple[str, ...]
) -> None:
    for i, (row, length) in enumerate(zip(block.theta, block.lengths.tolist(), strict=True)):
        record: dict[str, Any] = {"document": block.first + i}
        if names:
            record["id"] = names[i].id
        if fields:
            record["fields"] = dict(zip(fields, names[i].values, strict=True))
        record |= {"tokens": length, "topics": [float(f"{p:.7g}") for p in row]}
        file.write(json.dumps(record).encode() + b"\n")


_WRITERS: dict[str, Write] = {".npy": _npy, ".csv": _csv, ".jsonl": _jsonl}


def check_suffix(path: str) -> str:
    """Say how a file is to be written, by its name; standard output takes JSON lines.

    Raises
    ------
    UsageError
        If the name does not tell.
    """
    suffix = ".jsonl" if path == "-" else Path(path).suffix
    if suffix not in _WRITERS:
        raise UsageError(f"-o {path}: name a file that ends in {', '.join(_WRITERS)}")
    return suffix


def write_proportions(
    results: Results, blocks: Iterable[Documents], file: IO[bytes], suffix: str, at: int = 0
) -> Inferred:
    """Infer documents and write their proportions, one row each, in their order.

    Rows of JSON and CSV have the ids and the fields of `NamedDocuments`.
    A ``.npy`` file must be seekable: its header says how many rows there are.
    """
    topics = results.layers[at]
    named = blocks if isinstance(blocks, NamedDocuments) else None
    if suffix == ".npy":
        _npy_header(file, 0, topics)
    elif suffix == ".csv":
        before = ("id", *named.fields) if named else ()
        file.write(_cells((*before, *(f"topic{k}" for k in range(topics)))))
    documents = empty = 0
    for block in infer(results, blocks, at):
        names = named.names(len(block.lengths)) if named else []
        _WRITERS[suffix](file, block, names, named.fields if named else ())
        file.flush()  # whoever reads a pipe need not wait for the next documents
        documents += len(block.lengths)
        empty += int((block.lengths == 0).sum())
    if suffix == ".npy":
        file.seek(0)
        _npy_header(file, documents, topics)
    return Inferred(documents, empty)


def _npy_header(file: IO[bytes], rows: int, topics: int) -> None:
    """Write the header of a matrix, as long for any number of rows (NumPy leaves room for it)."""
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": (rows, topics)}
    )
