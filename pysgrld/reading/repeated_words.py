"""Intervals of topic proportions, widened for repeated words in a document.

The posterior of a document's proportions assumes that the words of the document are independent
given its topics. In real text a word that occurs once in a document is likely to occur again (Doyle
and Elkan 2009), so n occurrences of one word are less evidence than n different words. Here the
random unit is therefore the distinct word, with all of its occurrences in the document.

Let the distinct words of a document have random weights from Exp(1). To first order, the variance
of topic k's share of the N tokens is then sum_i c_i^2 (r_ik - theta_k)^2 / N^2, if word i occurs
c_i times and has topic k with probability r_ik, and theta_k is the share. With random weights of
the tokens instead, the variance is sum_i c_i (r_ik - theta_k)^2 / N^2. The deviations of an
interval's bounds from the mean are multiplied by the ratio of the two variances, which is at least
1. The square root of the ratio would be enough if distinct words were independent; but words
related to a repeated word are repeated, too. The ratio was chosen on halves of documents
(docs/calibration.md).
"""

from __future__ import annotations

import numpy as np

from pysgrld.reading.intervals import bounds
from pysgrld.reading.results import Results
from pysgrld.types import Array, Documents, Doubles, Floats

#: Explanation, for users, of intervals that are widened for repeated words.
WIDENED = (
    "Intervals are for other texts like the document. They are wider if the document repeats "
    "its words, because a repeated word is less evidence than a new word."
)
#: Maximum number of values of r (probabilities of topics given words) in memory at a time.
_CELLS = 1 << 22


class Repetition:
    """Factors by which intervals of topic proportions are widened for repeated words.

    Parameters
    ----------
    results : Results
        The open run. Factors are 1 if its intervals are for these documents alone, or if its topics
        are directions.
    layer_index : int
        The layer, counted from 0.
    """

    def __init__(self, results: Results, layer_index: int) -> None:
        widens = not (results.these or results.fitted.signed)
        self._phi = results.phi(layer_index) if widens else None

    def factors(self, documents: Documents, theta: Array) -> Doubles:
        """Return the widening factors, (n, K), of documents with mean proportions theta."""
        n, k = theta.shape
        factors = np.ones((n, k))
        entries = np.diff(documents.indptr)
        repeated = np.flatnonzero(documents.lengths > entries)
        if self._phi is None or not len(repeated):
            return factors
        ends = np.cumsum(entries[repeated]) * k
        cuts = np.searchsorted(ends, np.arange(_CELLS, ends[-1], _CELLS))
        for part in np.split(repeated, np.unique(cuts[cuts > 0])):
            factors[part] = _factors(documents.take(part), self._phi, theta[part])
        return factors


def _factors(documents: Documents, phi: Floats, theta: Array) -> Doubles:
    """Return the factors, (n, K), by which intervals of non-empty documents are widened.

    ``phi`` has the shape (V, K or more).
    """
    begins, counts = documents.indptr[:-1], documents.counts.astype(np.float64)[:, None]
    mean = np.repeat(theta.astype(np.float64), np.diff(documents.indptr), axis=0)
    topics = phi[documents.indices, : theta.shape[1]] * mean
    topics /= np.maximum(topics.sum(axis=1, keepdims=True), 1e-300)
    tokens = counts * (topics - mean) ** 2
    by_kinds, by_tokens = (np.add.reduceat(x, begins, axis=0) for x in (counts * tokens, tokens))
    ratio = np.divide(by_kinds, by_tokens, out=np.ones_like(by_kinds), where=by_tokens > 0)
    factors: Doubles = np.maximum(ratio, 1.0)
    return factors


def proportion_bounds(draws: Array, factors: Doubles) -> tuple[Doubles, Doubles]:
    """Return the bounds of 90 % intervals of proportions, limited to values from 0 to 1.

    Parameters
    ----------
    draws : (S, ...)
    factors : (...)
        Factors by which distances of the bounds from the mean are multiplied (`Repetition`).
    """
    low, high = bounds(draws)
    mean = draws.mean(axis=0, dtype=np.float64)
    return (
        np.maximum(0.0, mean + (low - mean) * factors),
        np.minimum(1.0, mean + (high - mean) * factors),
    )
