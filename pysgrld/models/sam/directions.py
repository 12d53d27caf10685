"""Documents as unit vectors: counts, weighted and divided by their Euclidean norm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.corpus.minibatches import Source
from pysgrld.types import Documents, Doubles, Int32s, Int64s, Positions

#: Documents that are looked at together.
BLOCK = 4096


class Directions(NamedTuple):
    """Documents as unit vectors, in compressed sparse rows; one without weight is 0.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nnz,) int32
    values : (nnz,) float64
    """

    indptr: Int64s
    indices: Int32s
    values: Doubles

    @property
    def weightless(self) -> np.ndarray:
        """Say of each document whether it has no weight, (n,) bool."""
        n = len(self.indptr) - 1
        holders = np.repeat(np.arange(n), np.diff(self.indptr))
        found: np.ndarray = np.bincount(holders, self.values != 0.0, n) == 0
        return found


def directions(documents: Documents, idf: Doubles) -> Directions:
    """Weigh counts n_dw by idf_w, and divide every document by its norm.

    Parameters
    ----------
    documents : Documents
    idf : (V,) float64
        Weights of words: 1 for ``tf``.
    """
    weights = documents.counts * idf[documents.indices]
    norms = np.sqrt(documents.summed(weights * weights))
    with np.errstate(divide="ignore"):
        scale = np.where(norms > 0.0, 1.0 / norms, 0.0)
    values = weights * np.repeat(scale, np.diff(documents.indptr))
    return Directions(documents.indptr, documents.indices, values)


def inverse_frequencies(source: Source, train: Positions, words: int) -> Doubles:
    """Give ln(D / df_w) of every word over the training documents, (V,); 0 of a word that none has."""
    frequency = np.zeros(words, np.int64)
    for begin in range(0, len(train), BLOCK):
        some = source.take(train[begin : begin + BLOCK])
        frequency += np.bincount(some.indices, minlength=words)
    found: Doubles = log(len(train) / np.maximum(1, frequency))
    found[frequency == 0] = 0.0
    return found


def mean_direction(source: Source, train: Positions, idf: Doubles) -> Doubles:
    """Give the normalised sum of the training documents' directions, (V,); 0 of those without weight."""
    total = np.zeros(len(idf))
    for begin in range(0, len(train), BLOCK):
        found = directions(source.take(train[begin : begin + BLOCK]), idf)
        total += np.bincount(found.indices, found.values, len(idf))
    norm = float(np.sqrt((total * total).sum()))
    return total / norm if norm > 0.0 else total
