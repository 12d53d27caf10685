"""Topic proportions of new documents, as a stream: some documents in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO, NamedTuple

import numpy as np

from pysgrld.corpus.about.stream import NamedDocuments
from pysgrld.corpus.prefetch import run_ahead
from pysgrld.errors import UsageError, plural
from pysgrld.reading.inferred import WRITERS, InferredBlock, Layout
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.results import Results
from pysgrld.types import Documents, Doubles, Int64s

#: Documents that are looked at together, at most.
DOCUMENTS = 4096
#: Bytes that their draws may take: fewer documents are looked at together where K S is large.
ROOM = 1 << 26
#: Documents whose quantiles are taken together.
_TOGETHER = 128


class Inferred(NamedTuple):
    """Numbers of documents that got proportions, and of those among them without a known word."""

    documents: int
    empty: int


def steps_of(results: Results, draws: int) -> list[int]:
    """Give the iterations of the kept samples that intervals are read from, at most so many.

    Raises
    ------
    UsageError
        If there are too few, or topics cannot be followed from one to the other.
    """
    fitted, steps = results.fitted, results.draw_steps(draws)
    if fitted.draws and fitted.no_mean:
        raise UsageError(
            f"{results.path}: {fitted.no_mean}, so that their probabilities have no intervals: leave "
            "--draws out"
        )
    if not fitted.draws:
        raise UsageError(f"{results.path}: {results.no_samples}: leave --draws out")
    if len(steps) < ENOUGH:
        raise UsageError(
            f"{results.path}: keeps {plural(len(steps), 'sample')}, and --draws wants {ENOUGH} of them: "
            "leave it out, or train longer"
        )
    return steps


def infer(
    results: Results,
    blocks: Iterable[Documents],
    at: int = 0,
    steps: list[int] | None = None,
    first: int = 0,
) -> Iterator[InferredBlock]:
    """Infer topic proportions under the posterior-mean topics, in the order of the documents.

    theta = (alpha + E[n_dk]) / (K alpha + N_d) for LDA; a document without a known word gets the
    prior's mean, 1/K. A document's result depends on its counts, its row and the seed alone.

    With intervals theta is the mean of the draws that these are read from, so that both tell of the same
    posterior: under the mean of the topics documents look surer than under most draws of them.

    Parameters
    ----------
    results : Results
    blocks : iterable of Documents
        Over the run's words (`Results.documents`).
    at : int
        The layer whose topics are meant, counted from 0.
    steps : list of int, optional
        Kept samples that intervals are read from (`steps_of`); no intervals where None.
    first : int
        Row of the first document in its corpus.
    """
    most = DOCUMENTS
    if steps:
        most = max(1, min(most, ROOM // (4 * len(steps) * results.layers[at])))
    for whole in blocks:
        for begin in range(0, len(whole), most):
            documents = whole.take(np.arange(begin, min(begin + most, len(whole))))
            ids = np.arange(first, first + len(documents))
            if steps:
                found = _drawn(results, documents, ids, steps, at)
                yield InferredBlock(first, documents.lengths, *found)
            else:
                theta = _expected(results, documents, ids, at)
                yield InferredBlock(first, documents.lengths, theta)
            first += len(documents)


def ahead(blocks: Iterator[InferredBlock]) -> Iterator[InferredBlock]:
    """Infer the next block on a thread of its own, while the last one is written."""
    with closing(run_ahead(blocks, 1, lambda: None)) as found:
        yield from found


def _expected(results: Results, documents: Documents, ids: Int64s, at: int) -> Doubles:
    """Give the proportions under the mean topics, (n, K)."""
    return results.fitted.proportions(results.mean, documents, ids, at)


def _drawn(
    results: Results, documents: Documents, ids: Int64s, steps: list[int], at: int
) -> tuple[Doubles, Doubles, Doubles]:
    """Give the mean of the proportions' draws, and the bounds of their intervals, (n, K) each."""
    shape = (len(ids), results.layers[at])
    draws = np.empty((len(steps), *shape), np.float32)
    for s, draw in enumerate(results.each_document_draw(documents, ids, steps, at)):
        draws[s] = draw.theta
    theta, low, high = (np.empty(shape) for _ in range(3))
    for begin in range(0, len(ids), _TOGETHER):
        some = slice(begin, begin + _TOGETHER)
        theta[some] = draws[:, some].mean(axis=0, dtype=np.float64)
        low[some], high[some] = bounds(draws[:, some])
    empty = np.flatnonzero(documents.lengths == 0)
    if len(empty):  # the prior's mean is known: draws of it only come near
        theta[empty] = _expected(results, documents.take(empty), ids[empty], at)
    return theta, low, high


def write_proportions(
    results: Results,
    blocks: Iterable[Documents],
    file: IO[bytes],
    suffix: str,
    at: int = 0,
    steps: list[int] | None = None,
    *,
    top: int | None = None,
    dense: bool = False,
) -> Inferred:
    """Infer documents and write their proportions, one row each, in their order.

    A ``.npy`` file must be seekable: its header says how many rows there are. The others are those of
    `infer`, and of `pysgrld.reading.inferred.Layout`; those of `NamedDocuments` have ids and fields.
    """
    named = blocks if isinstance(blocks, NamedDocuments) else None
    fields = None if named is None else named.fields
    layout = Layout(results.layers[at], steps is not None, top, dense, fields)
    writer = WRITERS[suffix](file, layout)
    documents = empty = 0
    try:
        for block in ahead(infer(results, blocks, at, steps)):
            names = named.names(len(block.lengths)) if named else []
            writer.write(block._replace(names=names))
            file.flush()  # whoever reads a pipe need not wait for the next documents
            documents += len(block.lengths)
            empty += int((block.lengths == 0).sum())
    finally:
        writer.end(documents)  # also of a file that is given up: its writer has to let go of it
    return Inferred(documents, empty)
