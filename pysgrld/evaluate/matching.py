"""Matching of topics of several models: similarities, and the best one-to-one assignment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.types import Array, Doubles, Floats, Int64s

#: Topics of two chains count as the same topic if their overlap (the probability that they have in
#: common) is at least this number.
SAME = 0.7
#: Two topics count as the same topic if their proportions in the same documents have at least this
#: correlation. Topics with an overlap of 0.5 to 0.6 have a correlation of 0.76 on average.
CORRELATED = 0.7


def affinity(a: Floats, b: Floats) -> Doubles:
    """Return Bhattacharyya coefficients of each row of ``a`` with each row of ``b``, (K, K).

    The coefficient of rows p and q is the sum over words of sqrt(p q): 1 for equal distributions, 0
    without a word in common. Because it is a product of matrices, a thousand topics over a large
    vocabulary take seconds.

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows that sum to 1.

    Returns
    -------
    array of float64, (K, K)
        Sums over words of sqrt(a b), from 0 to 1.
    """
    product: Doubles = (np.sqrt(a) @ np.sqrt(b).T).astype(np.float64)
    return product


def overlap(a: Floats, b: Floats) -> Doubles:
    """Return the overlap of each topic (row) of ``a`` with the same row of ``b``, (K,).

    The overlap of rows p and q is the sum over words of min(p, q), which is 1 minus the total
    variation distance.

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows that sum to 1.

    Returns
    -------
    array of float64, (K,)
        Sums over words of min(a, b), from 0 to 1.
    """
    return np.array([np.minimum(p, q).sum(dtype=np.float64) for p, q in zip(a, b, strict=True)])


class Likeness(NamedTuple):
    """Similarity measures of topics from different draws, as functions of two (K, V) matrices.

    Attributes
    ----------
    similarity : callable
        Returns the similarity of every row of the first matrix with every row of the second, (K,
        K), by which topics are matched.
    overlap : callable
        Returns the overlap of each row of the first matrix with the same row of the second, (K,),
        at most 1; users see this number.
    """

    similarity: Callable[[Floats, Floats], Doubles]
    overlap: Callable[[Floats, Floats], Doubles]


#: Measures for topics that are distributions over words.
DISTRIBUTIONS = Likeness(affinity, overlap)


def correlations(first: Doubles, second: Doubles) -> Doubles:
    """Return the correlation of each column of one matrix with each column of another, (K, L).

    The correlation with a constant column is 0.

    Parameters
    ----------
    first : array of float64, (n, K)
        Values of K quantities in n documents.
    second : array of float64, (n, L)
        Values of L quantities in the same documents.

    Returns
    -------
    array of float64, (K, L)
        Pearson's correlations, from -1 to 1.
    """

    def standard(values: Doubles) -> Doubles:
        values = values - values.mean(axis=0)
        norm = np.sqrt((values**2).sum(axis=0))
        scaled: Doubles = values / np.where(norm > 0, norm, np.inf)
        return scaled

    products: Doubles = standard(first).T @ standard(second)
    return products


def assign(similarity: Doubles) -> Int64s:
    """Match rows of a similarity matrix with columns one-to-one, with a maximal sum, (K,).

    The algorithm of shortest augmenting paths (Jonker and Volgenant 1987; Crouse 2016) is exact. It
    takes time K cubed at worst, but far less if most rows have different best columns.

    Parameters
    ----------
    similarity : (K, K)
        Finite similarities.
    """
    cost = similarity.max(initial=0.0) - np.asarray(similarity, np.float64)
    n = len(cost)
    # Start with dual variables for which no reduced cost is negative, and match each row with its
    # best column if this column is free.
    v = cost.min(axis=0, initial=np.inf)
    u = (cost - v).min(axis=1, initial=np.inf)
    partner, owner = np.full(n, -1), np.full(n, -1)
    for i, j in enumerate((cost - v).argmin(axis=1) if n else []):
        if owner[j] < 0:
            partner[i], owner[j] = j, i
    for start in np.flatnonzero(partner < 0).tolist():
        shortest, before = np.full(n, np.inf), np.full(n, -1)
        open_ = np.ones(n, bool)
        scanned, i, reached = [start], start, 0.0
        while True:
            through = reached + cost[i] - u[i] - v
            nearer = open_ & (through < shortest)
            shortest[nearer], before[nearer] = through[nearer], i
            j = int(np.where(open_, shortest, np.inf).argmin())
            reached, open_[j] = shortest[j], False
            if owner[j] < 0:
                break
            i = int(owner[j])
            scanned.append(i)
        u[start] += reached
        for row in scanned[1:]:
            u[row] += reached - shortest[partner[row]]
        v[~open_] -= reached - shortest[~open_]
        while True:  # Reassign the columns along the augmenting path.
            i = int(before[j])
            owner[j] = i
            partner[i], j = j, partner[i]
            if i == start:
                break
    return partner


class Matched(NamedTuple):
    """Topics of several chains, matched one-to-one with the first chain's topics.

    Attributes
    ----------
    rows : (C, K) int64
        Each chain's counterpart of each topic of the first chain.
    common : (C, C, K) float64
        Overlap of a topic's counterparts in every two chains.
    has : (C, K) bool
        True if the chain has the topic: if it belongs to the largest set of chains, including the
        first chain, in which every two counterparts overlap by at least `SAME`.
    """

    rows: Int64s
    common: Doubles
    has: Array

    @property
    def found(self) -> Int64s:
        """Number of chains that have each topic of the first chain, (K,), at least 1."""
        number: Int64s = self.has.sum(axis=0)
        return number


def match(topics: Sequence[Floats], likeness: Likeness) -> Matched:
    """Match the topics of several chains with the first chain's topics, and find common topics.

    Parameters
    ----------
    topics : sequence of (K, V)
        Topics of each chain.
    likeness : Likeness
    """
    first, *other_chains = topics
    rows = [
        np.arange(len(first)),
        *(assign(likeness.similarity(first, other)) for other in other_chains),
    ]
    aligned = [chain[chain_rows] for chain, chain_rows in zip(topics, rows, strict=True)]
    common = np.ones((len(topics), len(topics), len(first)))
    for a, b in itertools.combinations(range(len(topics)), 2):
        common[a, b] = common[b, a] = likeness.overlap(aligned[a], aligned[b])
    has = np.zeros((len(topics), len(first)), bool)
    for k in range(len(first)):
        has[finders(common[:, :, k]), k] = True
    return Matched(np.stack(rows), common, has)


def finders(common: Doubles) -> list[int]:
    """Return the numbers of all chains that have a given topic of the first chain, ascending.

    Parameters
    ----------
    common : (C, C) float64
        Overlap of the topic's counterparts in every two chains.
    """
    alike = (common >= SAME).tolist()

    def together(chains: Sequence[int]) -> list[int]:
        # Find the largest set of chains in which the topic's counterparts in every two chains are
        # similar.
        most: list[int] = []
        for i, chain in enumerate(chains):
            if len(chains) - i <= len(most):
                break
            group = [chain, *together([c for c in chains[i + 1 :] if alike[chain][c]])]
            most = max(most, group, key=len)
        return most

    order = np.argsort(-common[0], kind="stable").tolist()
    return sorted([0, *together([chain for chain in order if chain and alike[0][chain]])])
