"""A start from what several short chains have found: their topics in clusters, as many as a chain has.

A chain that starts at random climbs the hill of the posterior that it is near. What short chains have in
common survives in the mean of a cluster, what one of them alone has does not: chains that start there
find more of the same topics than chains that start at random (docs/internals/models.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.types import Doubles, Floats, Int64s

#: Square roots of probabilities are multiples of this, so that sums of their products are exact in double
#: precision: the clusters are the same whatever library multiplies, on however many threads.
_UNIT = 2.0**-20


def cluster_means(topics: Sequence[Floats], k: int) -> Floats:
    """Return the means of clusters of topics, (k, V) float32.

    Clusters are Ward's, of square roots of probabilities (Hellinger distance): the two whose union adds
    least to the sum of squares are united until there are k.

    Parameters
    ----------
    topics : sequence of (K, V)
        Distributions over words of several chains; K times their number is at least k.
    k : int
    """
    every = np.concatenate(list(topics))
    of = ward(every, k)
    means = np.zeros((k, every.shape[1]))
    sizes = np.zeros(k)
    for topic, cluster in zip(every, of.tolist(), strict=True):
        means[cluster] += topic
        sizes[cluster] += 1
    return (means / sizes[:, None]).astype(np.float32)


def distances(topics: Floats) -> Doubles:
    """Return the squared distances of square roots of probabilities, (n, n), exact in their last bit."""
    root = np.rint(np.sqrt(topics.astype(np.float64)) / _UNIT) * _UNIT
    length = np.einsum("ij,ij->i", root, root)
    found: Doubles = np.maximum(length[:, None] + length - 2.0 * (root @ root.T), 0.0)
    return found


def ward(topics: Floats, k: int) -> Int64s:
    """Return the cluster, 0 to k - 1, of each of n topics, (n,), in the order of their first members.

    Distances between clusters are updated by the rule of Lance and Williams (1967).
    """
    n, cost = len(topics), distances(topics)
    np.fill_diagonal(cost, np.inf)
    cluster, size = np.arange(n), np.ones(n)
    nearest = cost.argmin(axis=1)
    for _ in range(n - k):
        a = int(cost[np.arange(n), nearest].argmin())
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
        closer = joined < cost[np.arange(n), nearest]
        nearest[closer] = a
        stale[a] = True
        for row in np.flatnonzero(stale).tolist():
            nearest[row] = cost[row].argmin()
    _, of = np.unique(cluster, return_inverse=True)
    return np.asarray(of, np.int64)
