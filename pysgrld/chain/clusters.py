"""Clustering of the topics of several short chains into the initial topics of training.

A chain that starts at random climbs the nearest mode of the posterior. The mean of a cluster of
topics keeps features that the short chains have in common, and loses features of a single chain.
Chains that start from such means have more topics in common than chains that start at random
(docs/internals/models.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from pysgrld.types import Doubles, Floats, Int64s

#: Square roots of probabilities are rounded to multiples of this number, so that sums of their
#: products are exact in double precision. Clusters then do not depend on the linear algebra library
#: or on its number of threads.
_UNIT = 2.0**-20
#: The variance between short chains is averaged over this number of top words of a topic.
_TOP = 20
#: A matrix is multiplied in blocks of this number of elements. The product of two blocks takes a
#: tenth of a second.
_BLOCK = 1 << 21


def _do_nothing() -> None:
    """Do nothing; this is the default of the parameter ``waiting`` of functions in this module."""


def cluster_means(topics: Floats, k: int, waiting: Callable[[], None] = _do_nothing) -> Floats:
    """Cluster topics by Ward's method, and return the mean of each cluster, (k, V) float32.

    Ward's method works on square roots of probabilities (Hellinger distance). It repeatedly merges
    the two clusters that increase the within-cluster sum of squares least, until k clusters remain.

    Parameters
    ----------
    topics : (n, V) float32
        Topics of several chains as distributions over words; n is at least k.
    k : int
    waiting : callable
        Called several times a second; it may raise an exception to stop.
    """
    clusters = ward(topics, k, waiting)
    means = np.zeros((k, topics.shape[1]))
    sizes = np.zeros(k)
    for topic, cluster in zip(topics, clusters.tolist(), strict=True):
        means[cluster] += topic
        sizes[cluster] += 1
    return (means / sizes[:, None]).astype(np.float32)


def start_variance(topics: Floats, means: Floats) -> Doubles | None:
    """Compute the variance of each topic between chains, from square roots of probabilities, (k,).

    In each chain, the topic that is most similar to the mean of a cluster is compared. The variance
    is half the squared difference between two chains, summed over the top 20 words of the mean; the
    median over all pairs of chains is not affected by a chain that lacks the topic.

    Parameters
    ----------
    topics : (n, V) float32
        Topics of several chains, k rows for each chain.
    means : (k, V) float32
        Means of clusters.

    Returns
    -------
    float64 array or None
        The variance, divided by the probability of the top words. None for a single chain.
    """
    k = len(means)
    if len(topics) < 2 * k:
        return None
    top = np.argsort(-means, axis=1, kind="stable")[:, :_TOP]
    roots, values = _roots(means), []
    for begin in range(0, len(topics), k):
        chain = _roots(topics[begin : begin + k])
        match = (roots @ chain.T).argmax(axis=1)
        values.append(np.take_along_axis(chain[match], top, axis=1))
    pairs = itertools.combinations(values, 2)
    squares = [((first - second) ** 2).sum(axis=1) for first, second in pairs]
    probability = (np.take_along_axis(roots, top, axis=1) ** 2).sum(axis=1)
    # Sort, because np.median would import numpy.ma, which takes time.
    ordered = np.sort(squares, axis=0)
    median = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    variance: Doubles = median / 2 / np.maximum(probability, _UNIT)
    return variance


def cluster_bytes(n: int, words: int) -> int:
    """Return the bytes of memory that clustering n topics over V words adds to the topics' memory.

    Parameters
    ----------
    n : int
        Number of topics.
    words : int
        Number of words V.

    Returns
    -------
    int
    """
    return 8 * n * n + 6 * 8 * max(_BLOCK, words)


def cluster_seconds(n: int, words: int) -> float:
    """Return an upper estimate of the time in seconds for clustering n topics over V words.

    Parameters
    ----------
    n : int
        Number of topics.
    words : int
        Number of words V.

    Returns
    -------
    float
    """
    return n * n * (5e-11 * words + 1e-7)


def distances(topics: Floats, waiting: Callable[[], None] = _do_nothing) -> Doubles:
    """Compute squared Euclidean distances between topics, on the square-root scale, (n, n).

    The results are exact in double precision. The distances are computed in blocks, so that each
    step is short and at most two blocks of square roots are in memory.

    Parameters
    ----------
    topics : array of float32, (n, V)
        Topics as rows that sum to 1.
    waiting : callable, optional
        Called regularly; it may raise an exception to stop.

    Returns
    -------
    array of float64, (n, n)
        Twice the squared Hellinger distances.
    """
    n, words = topics.shape
    rows = max(1, _BLOCK // max(1, words))
    result = np.empty((n, n))
    for i in range(0, n, rows):
        block = _roots(topics[i : i + rows])
        length = np.einsum("ij,ij->i", block, block)
        for j in range(i, n, rows):
            waiting()
            right = _roots(topics[j : j + rows])
            squares = length[:, None] + np.einsum("ij,ij->i", right, right)
            squares -= 2.0 * (block @ right.T)
            np.maximum(squares, 0.0, out=squares)
            result[i : i + rows, j : j + rows] = squares
            result[j : j + rows, i : i + rows] = squares.T
    return result


def _roots(topics: Floats) -> Doubles:
    """Return square roots of probabilities, rounded to multiples of `_UNIT`."""
    roots = np.sqrt(topics.astype(np.float64))
    roots /= _UNIT
    np.rint(roots, out=roots)
    roots *= _UNIT
    return roots


def ward(topics: Floats, k: int, waiting: Callable[[], None] = _do_nothing) -> Int64s:
    """Cluster topics by Ward's method, and return the cluster of each topic, 0 to k - 1, (n,).

    Clusters are numbered in the order of their first topics.

    Distances between clusters are updated by the rule of Lance and Williams (1967).

    Parameters
    ----------
    topics : array of float32, (n, V)
        Topics as rows that sum to 1.
    k : int
        Number of clusters, at most n.
    waiting : callable, optional
        Called regularly; it may raise an exception to stop.

    Returns
    -------
    array of int64, (n,)
        Clusters by Ward's rule.
    """
    n, cost = len(topics), distances(topics, waiting)
    np.fill_diagonal(cost, np.inf)
    rows = np.arange(n)
    cluster, size = np.arange(n), np.ones(n)
    nearest = np.empty(n, np.int64)
    for row in range(n):
        nearest[row] = cost[row].argmin()
    for _ in range(n - k):
        waiting()
        a = int(cost[rows, nearest].argmin())
        b = int(nearest[a])
        a, b = min(a, b), max(a, b)
        joined = (size[a] + size) * cost[a] + (size[b] + size) * cost[b] - size * cost[a, b]
        joined /= size[a] + size[b] + size
        joined[[a, b]] = np.inf
        stale = (nearest == a) | (nearest == b)
        cost[a], cost[:, a] = joined, joined
        cost[b], cost[:, b] = np.inf, np.inf
        size[a] += size[b]
        cluster[cluster == b] = a
        closer = joined < cost[rows, nearest]
        nearest[closer] = a
        stale[a] = True
        for row in np.flatnonzero(stale).tolist():
            nearest[row] = cost[row].argmin()
    _, clusters = np.unique(cluster, return_inverse=True)
    return np.asarray(clusters, np.int64)
