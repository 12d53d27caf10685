"""Log densities of vectors of word counts, without the multinomial coefficient.

The coefficient is left out because it is equal in all components.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pysgrld.core.arithmetic import exp, log
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s

#: Documents are processed in blocks. A block has at most this number of values, which take 2 MB,
#: about the size of a core's cache. A value belongs to a component and a document, or to a
#: component and an entry of a document.
CELLS = 1 << 18


def logsumexp(logs: Doubles) -> Doubles:
    """Return the logarithm of each row's sum of exponentials, (n,).

    Parameters
    ----------
    logs : (n, J) float64
        Logarithms.

    Returns
    -------
    (n,) float64
    """
    top = logs.max(axis=1)
    summed: Doubles = top + log(exp(logs - top[:, None]).sum(axis=1))
    return summed


def log_gamma(values: Array) -> Doubles:
    """Return the log gamma function of each value, computed once for each distinct value.

    Parameters
    ----------
    values : array
        Positive numbers, of any shape.

    Returns
    -------
    array of float64
        Logarithms, of the shape of `values`.
    """
    few, inverse = np.unique(values, return_inverse=True)
    logs: Doubles = np.array([math.lgamma(value) for value in few])[inverse].reshape(values.shape)
    return logs


def count_words(documents: Documents, z: Int32s, words: int, components: int) -> Doubles:
    """Count the occurrences of words in each component's documents, (V, J).

    Counts below 2^53 are exact.

    Parameters
    ----------
    documents : Documents
        Documents over V words.
    z : array of int32, (n,)
        Component of each document.
    words : int
        Vocabulary size V.
    components : int
        Number of components J.

    Returns
    -------
    array of float64, (V, J)
        Occurrences of words.
    """
    owner = np.repeat(z, np.diff(documents.indptr))
    cells = documents.indices.astype(np.int64) * components + owner
    counts = np.bincount(cells, documents.counts, minlength=words * components)
    return counts.reshape(words, components).astype(np.float64)


def pieces(n: int, components: int) -> Iterator[Int64s]:
    """Yield document indices in groups with at most `CELLS` pairs of document and component.

    Parameters
    ----------
    n : int
        Number of documents.
    components : int
        Number of components J.

    Yields
    ------
    array of int64
        Consecutive indices.
    """
    room = max(1, CELLS // max(1, components))
    for begin in range(0, n, room):
        yield np.arange(begin, min(n, begin + room))


def log_likelihoods(documents: Documents, log_phi: Doubles | Floats) -> Doubles:
    """Return the log likelihood of each document in each component, (n, J).

    It is sum_w n_dw log phi_jw. No document may be empty.

    Parameters
    ----------
    documents : Documents
        n documents with at least one word each.
    log_phi : array of float, (V, J)
        Logarithms of the components' probabilities.

    Returns
    -------
    array of float64, (n, J)
        Log likelihoods without the multinomial coefficient, in nats.
    """
    n, components = len(documents), log_phi.shape[1]
    logs = np.empty((n, components))
    room = max(1, CELLS // max(1, components))
    begin = 0
    while begin < n:  # Take as many documents as `CELLS` allows, and at least one.
        first = documents.indptr[begin]
        end = int(np.searchsorted(documents.indptr, first + room, side="right")) - 1
        end = min(n, max(begin + 1, end))
        cells = slice(first, documents.indptr[end])
        terms = log_phi[documents.indices[cells]].astype(np.float64, copy=False)
        terms *= documents.counts[cells, None]
        np.add.reduceat(terms, documents.indptr[begin:end] - first, axis=0, out=logs[begin:end])
        begin = end
    return logs


def log_mixture(
    documents: Documents,
    log_phi: Doubles | Floats,
    log_weights: Doubles,
    log_left: Doubles | None = None,
) -> Doubles:
    """Return the log density of each document under a mixture, (n,).

    Parameters
    ----------
    documents : Documents
        Documents, all with words.
    log_phi : (V, J)
    log_weights : (J,)
    log_left : (n,), optional
        Log of a further term to add to the density of each document.
    """
    logs = np.empty(len(documents))
    for piece in pieces(len(documents), log_phi.shape[1]):
        terms = log_likelihoods(documents.take(piece), log_phi) + log_weights
        if log_left is not None:
            terms = np.column_stack((terms, log_left[piece]))
        logs[piece] = logsumexp(terms)
    return logs


def responsibilities(
    documents: Documents, log_phi: Doubles | Floats, log_weights: Doubles
) -> Doubles:
    """Return the probability that each document is in each component, (n, J); rows sum to 1.

    By Bayes' theorem the probability is w_j prod_w phi_jw^n_w, divided by the sum over j. A
    document without words gets the weights. So does a document with words that no component
    explains at the precision of ``log_phi``: its log likelihoods are all minus infinity, and carry
    no information.

    Parameters
    ----------
    documents : Documents
    log_phi : (V, J)
    log_weights : (J,)
        Log weights; at least one is finite.
    """
    logs = np.tile(log_weights, (len(documents), 1))
    non_empty = np.flatnonzero(documents.lengths > 0)
    logs[non_empty] += log_likelihoods(documents.take(non_empty), log_phi)
    logs[~np.isfinite(logs.max(axis=1))] = log_weights
    shares: Doubles = exp(logs - logsumexp(logs)[:, None])
    return shares


def prior_predictive(documents: Documents, words: int, base: float) -> Doubles:
    """Return the log density of each document in a new component, averaged over the prior, (n,).

    Parameters
    ----------
    documents : Documents
        Documents, all with words.
    words : int
        V.
    base : float
        Symmetric Dirichlet parameter, per word.
    """
    terms = log_gamma(base + documents.counts) - math.lgamma(base)
    inside = np.add.reduceat(terms, documents.indptr[:-1])
    total = words * base
    logs: Doubles = inside + math.lgamma(total) - log_gamma(total + documents.lengths)
    return logs
