"""Topic proportions of new documents, streamed: a block of documents in memory at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import UsageError
from pysgrld.estimators import proportions
from pysgrld.results import Results
from pysgrld.types import Doubles, Int64s

#: Documents, and about how many of their entries, that are looked at together.
DOCUMENTS, ENTRIES = 4096, 1 << 18


class Block(NamedTuple):
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
    """How many documents got proportions, and how many of them have no known word."""

    documents: int
    empty: int


def infer(results: Results, corpus: Corpus, tell: Callable[[int], None]) -> Iterator[Block]:
    """Topic proportions under the posterior-mean topics, in the order of the corpus.

    theta = (alpha + E[n_dk]) / (K alpha + N_d); a document without a known word gets the prior's
    mean, 1/K. A document's result depends on its counts, its row and the seed alone.

    Parameters
    ----------
    results : Results
    corpus : Corpus
        Over the run's words (`Results.read`).
    tell : callable
        Told how many documents are done.
    """
    first = 0
    for whole in corpus.blocks(ENTRIES):
        for begin in range(0, len(whole), DOCUMENTS):
            documents = whole.take(np.arange(begin, min(begin + DOCUMENTS, len(whole))))
            ids = np.arange(first, first + len(documents))
            theta = proportions(
                results.mean.phi, documents, ids, results.k, results.alpha, results.seed,
                results.threads,
            )  # fmt: skip
            yield Block(first, theta, documents.lengths)
            first += len(documents)
            tell(first)


# ---- how it is written

Write = Callable[[IO[bytes], Block], None]


def _npy(file: IO[bytes], block: Block) -> None:
    file.write(block.theta.astype("<f4").tobytes())


def _csv(file: IO[bytes], block: Block) -> None:
    np.savetxt(file, block.theta, fmt="%.7g", delimiter=",")


def _jsonl(file: IO[bytes], block: Block) -> None:
    for i, (row, length) in enumerate(zip(block.theta, block.lengths.tolist(), strict=True)):
        record = {
            "document": block.first + i,
            "tokens": length,
            "topics": [float(f"{p:.7g}") for p in row],
        }
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
    results: Results, corpus: Corpus, file: IO[bytes], suffix: str, tell: Callable[[int], None]
) -> Inferred:
    """Infer the documents of a corpus and write them, one row each, in their order."""
    if suffix == ".npy":
        shape = (corpus.documents, results.k)
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
    elif suffix == ".csv":
        file.write((",".join(f"topic{k}" for k in range(results.k)) + "\n").encode())
    empty = 0
    for block in infer(results, corpus, tell):
        _WRITERS[suffix](file, block)
        empty += int((block.lengths == 0).sum())
    return Inferred(corpus.documents, empty)
