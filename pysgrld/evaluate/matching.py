"""Matching of topics of several models: similarities, and the best one-to-one assignment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.types import Array, Doubles, Floats, Int64s

#: Probability in common from which on topics of two chains are called the same.
SAME = 0.7
#: Correlation of proportions in the same documents from which on two topics are called the same. Topics
#: with an overlap of 0.5 to 0.6 have a correlation of 0.76 on average.
CORRELATED = 0.7


def affinity(a: Floats, b: Floats) -> Doubles:
    """Return the Bhattacharyya coefficients of the rows of two matrices of probabilities, (K, K).

    Sum over words of sqrt(p q): 1 for the same distribution, 0 for no word in common. A product of
    matrices, so that a thousand topics over a large vocabulary take seconds.

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows that sum to 1.

    Returns
    -------
    array of float64, (K, K)
        sum over words of sqrt(a b), 0 to 1.
    """
    product: Doubles = (np.sqrt(a) @ np.sqrt(b).T).astype(np.float64)
    return product


def overlap(a: Floats, b: Floats) -> Doubles:
    """Return the probability that each row of ``a`` has in common with the same row of ``b``, (K,).

    Sum over words of min(p, q), which is 1 minus the total variation distance: at least 0, at most 1.

    Parameters
    ----------
    a, b : array of float, (K, V)
        Rows that sum to 1.

    Returns
    -------
    array of float64, (K,)
        sum over words of min(a, b), 0 to 1.
    """
    return np.array([np.minimum(p, q).sum(dtype=np.float64) for p, q in zip(a, b, strict=True)])


class Likeness(NamedTuple):
    """A similarity measure of topics from different draws, as functions of two matrices (K, V).

    Attributes
    ----------
    similarity : callable
        Similarity of every row of the one with every row of the other, (K, K): topics are matched by it.
    overlap : callable
        What each row of the one has in common with the same row of the other, (K,), at most 1: the
        number that is shown.
    """

    similarity: Callable[[Floats, Floats], Doubles]
    overlap: Callable[[Floats, Floats], Doubles]


#: Of topics that are distributions over words.
DISTRIBUTIONS = Likeness(affinity, overlap)


def correlations(first: Doubles, second: Doubles) -> Doubles:
    """Return the correlations of the columns of two matrices, (K, L); 0 if a column is constant.

    Parameters
    ----------
    first : array of float64, (n, K)
        Values of K quantities in n documents.
    second : array of float64, (n, L)
        Values of L quantities in the same documents.

    Returns
    -------
    array of float64, (K, L)
        Pearson's correlations, -1 to 1.
    """

    def standard(values: Doubles) -> Doubles:
        values = values - values.mean(axis=0)
        norm = np.sqrt((values**2).sum(axis=0))
        scaled: Doubles = values / np.where(norm > 0, norm, np.inf)
        return scaled

    products: Doubles = standard(first).T @ standard(second)
    return products


def assign(similarity: Doubles) -> Int64s:
    """Assign each row a column, one to one, so that the sum of similarities is largest, (K,).

    Shortest augmenting paths (Jonker and Volgenant 1987; Crouse 2016): exact, K cubed at worst, far
    less if most rows have a partner of their own.

    Parameters
    ----------
    similarity : (K, K)
        Finite.
    """
    cost = similarity.max(initial=0.0) - np.asarray(similarity, np.float64)
    n = len(cost)
    # duals that leave no cost below 0, and the rows that have a best partner for themselves
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
        while True:  # hand on partners along the path
            i = int(before[j])
            owner[j] = i
            partner[i], j = j, partner[i]
            if i == start:
                break
    return partner


class Matched(NamedTuple):
    """Topics of several chains, matched one to one with the topics of the first.

    Attributes
    ----------
    rows : (C, K) int64
        The topic of each chain that is the counterpart of each topic of the first.
    common : (C, C, K) float64
        What a topic's counterparts in any two chains have in common.
    has : (C, K) bool
        Whether a chain has the topic: it belongs to the largest set of chains, the first among
        them, in which any two have `SAME` of the topic in common.
    """

    rows: Int64s
    common: Doubles
    has: Array

    @property
    def found(self) -> Int64s:
        """Number of chains that have each topic, at least 1, (K,)."""
        number: Int64s = self.has.sum(axis=0)
        return number


def match(topics: Sequence[Floats], likeness: Likeness) -> Matched:
    """Match the topics of several chains with the topics of the first, and mark the chains with each.

    Parameters
    ----------
    topics : sequence of (K, V)
        Of each chain.
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
    """Return the chains that have a topic of the first one, as defined by `Matched.has`, ascending.

    Parameters
    ----------
    common : (C, C) float64
        Probability that the topic has in common in any two chains.
    """
    alike = (common >= SAME).tolist()

    def together(chains: Sequence[int]) -> list[int]:
        # the largest set of chains in which any two are similar
        most: list[int] = []
        for i, chain in enumerate(chains):
            if len(chains) - i <= len(most):
                break
            group = [chain, *together([c for c in chains[i + 1 :] if alike[chain][c]])]
            most = max(most, group, key=len)
        return most

    order = np.argsort(-common[0], kind="stable").tolist()
    return sorted([0, *together([chain for chain in order if chain and alike[0][chain]])])
