"""Distances between topics, and a map, a tree and colours computed from the distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.types import Doubles, Floats, Int64s

#: Minimum number of topics for a map.
FEWEST = 4
#: Number of nearest neighbours of a topic. The quality of a map is the fraction of these neighbours
#: that are also nearest on the map.
NEIGHBOURS = 5
#: A map is shown only if it keeps at least this fraction of nearest neighbours.
KEPT = 0.1
#: Inner products of topics are summed over this number of words at a time, which limits memory.
_BLOCK = 8192
#: Number of steps of t-SNE.
_STEPS = 300
#: Number of first steps of t-SNE in which similarities are exaggerated.
_EXAGGERATED = 75
#: Factor by which similarities are exaggerated in the first steps of t-SNE.
_FACTOR = 4.0
#: Perplexity of t-SNE, which is the effective number of neighbours.
_PERPLEXITY = 12.0


def distances(phi: Floats, shown: Int64s, *, signed: bool) -> Doubles:
    """Return the distances between all topics, from 0 to 1, (n, n).

    For distributions p and q, this is the Hellinger distance sqrt(1 - sum of sqrt(p q)). For
    directions, it is sqrt((1 - cosine) / 2), half the chord between them.

    Parameters
    ----------
    phi : (V, K or more)
    shown : (n,) int64
        The topics to compare.
    signed : bool
        Whether topics are directions.
    """
    n = len(shown)
    product = np.zeros((n, n))
    for begin in range(0, len(phi), _BLOCK):
        part = phi[begin : begin + _BLOCK][:, shown]
        part = part if signed else np.sqrt(part)
        product += part.T @ part
    # Later steps require a matrix that is exactly symmetric with zeros on the diagonal.
    scale = np.sqrt(np.maximum(np.diag(product), 1e-30))
    like = np.clip(product / np.outer(scale, scale), -1.0, 1.0)
    apart = np.sqrt(np.maximum((1.0 - like) / (2.0 if signed else 1.0), 0.0))
    matrix: Doubles = (apart + apart.T) / 2
    np.fill_diagonal(matrix, 0.0)
    return matrix


def principal_axes(distance: Doubles) -> Doubles:
    """Return positions in the plane, (n, 2), by classical multidimensional scaling of distances.

    The coordinates are the first two eigenvectors of the doubly centred squared distances. The
    largest entry of each is positive, so that the result does not depend on the linear algebra
    library.
    """
    squares = distance**2
    middle = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * middle)
    axes = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    largest = np.abs(axes).argmax(axis=0)
    signed_axes: Doubles = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return signed_axes


def tsne(distance: Doubles, begin: Doubles) -> Doubles:
    """Return the layout, (n, 2), that t-SNE computes from an initial layout.

    The gradient is exact and the result deterministic: 300 steps of gradient descent with gains and
    momentum.

    References
    ----------
    van der Maaten and Hinton (2008), Visualizing data using t-SNE.
    """
    n = len(distance)
    p = _likeness(distance**2, min(_PERPLEXITY, (n - 1) / 3))
    p = np.maximum((p + p.T) / (2 * n), 1e-12)
    y = 1e-2 * begin / max(float(begin.std()), 1e-30)
    moved, gains = np.zeros_like(y), np.ones_like(y)
    rate = max(n / _FACTOR / 4, 10.0)
    for step in range(_STEPS):
        early = step < _EXAGGERATED
        square = (y**2).sum(axis=1)
        q = 1.0 / (1.0 + np.maximum(square[:, None] + square - 2.0 * (y @ y.T), 0.0))
        np.fill_diagonal(q, 0.0)
        pull = ((_FACTOR if early else 1.0) * p - q / q.sum()) * q
        slope = 4.0 * (pull.sum(axis=1)[:, None] * y - pull @ y)
        gains = np.maximum(np.where(slope * moved < 0, gains + 0.2, gains * 0.8), 0.01)
        moved = (0.5 if early else 0.8) * moved - rate * gains * slope
        y = y + moved
    centred: Doubles = y - y.mean(axis=0)
    return centred


def _likeness(squares: Doubles, perplexity: float) -> Doubles:
    """Return t-SNE's probabilities of each point's neighbours, (n, n), for the given perplexity."""
    n = len(squares)
    other = ~np.eye(n, dtype=bool)
    nearest = np.where(other, squares, np.inf).min(axis=1)[:, None]
    low, high, beta = np.zeros((n, 1)), np.full((n, 1), np.inf), np.ones((n, 1))
    p, gap = np.zeros_like(squares), np.maximum(squares - nearest, 0.0)
    for _ in range(60):
        p = np.where(other, np.exp(-beta * gap), 0.0)
        total = p.sum(axis=1, keepdims=True)
        entropy = np.log(total) + beta * (p * gap).sum(axis=1, keepdims=True) / total
        many = entropy > np.log(perplexity)
        low, high = np.where(many, beta, low), np.where(many, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    normalised: Doubles = p / p.sum(axis=1, keepdims=True)
    return normalised


def kept_neighbours(distance: Doubles, points: Doubles, n: int = NEIGHBOURS) -> float:
    """Return the mean fraction of a topic's n nearest topics that are also nearest on the map."""
    flat = ((points[:, None] - points) ** 2).sum(axis=2)
    n = min(n, len(distance) - 1)
    itself = np.diag(np.full(len(distance), np.inf))
    near = [np.argsort(d + itself, axis=1, kind="stable")[:, :n] for d in (distance, flat)]
    n_common = [len(np.intersect1d(a, b)) for a, b in zip(*near, strict=True)]
    return float(np.mean(n_common)) / n


class Map(NamedTuple):
    """Positions of topics in a plane, with the fraction of neighbours that they preserve.

    Attributes
    ----------
    points : (n, 2) float64
        Coordinates from 0 to 1.
    kept : float
        Mean fraction of a topic's nearest topics that are also nearest to it on the map.
    neighbours : int
        Number of nearest topics used for `kept`.
    how : str
        The name of the method.
    """

    points: Doubles
    kept: float
    neighbours: int
    how: str


def laid_out(distance: Doubles) -> Map | None:
    """Lay out topics in the plane by two methods, and return the map that keeps more neighbours.

    Returns None if both maps keep too few neighbours, or for fewer than `FEWEST` topics.

    Parameters
    ----------
    distance : (n, n)
    """
    if len(distance) < FEWEST:
        return None
    axes = principal_axes(distance)
    layouts = {
        "principal axes": axes,
        "t-SNE started from the principal axes": tsne(distance, axes),
    }
    n = min(NEIGHBOURS, max(1, (len(distance) - 1) // 3))
    kept_shares = {how: kept_neighbours(distance, points, n) for how, points in layouts.items()}
    how = max(kept_shares, key=lambda name: (kept_shares[name], name))
    if kept_shares[how] < KEPT:
        return None
    points = layouts[how] - layouts[how].min(axis=0)
    spread = points.max(axis=0)
    return Map(points / np.where(spread > 0, spread, 1.0), kept_shares[how], n, how)


class Tree(NamedTuple):
    """Binary tree of topics, made by repeatedly joining the most similar topics.

    Attributes
    ----------
    merges : list of (int, int, float, int)
        The two joined nodes, their distance, and the number of leaves of the new node; merge i
        makes node n + i.
    order : (n,) int64
        Order of the leaves in which the tree has no crossings and similar leaves are close.
    """

    merges: list[tuple[int, int, float, int]]
    order: Int64s


def average_linkage(distance: Doubles) -> Tree:
    """Build a tree by average linkage: repeatedly join the two groups with the least mean distance.

    This uses chains of nearest neighbours, which take O(n^2) time and memory.

    Parameters
    ----------
    distance : (n, n)

    References
    ----------
    Murtagh (1983), A survey of recent advances in hierarchical clustering algorithms.
    """
    n = len(distance)
    d = distance.astype(np.float64).copy()
    np.fill_diagonal(d, np.inf)
    size = np.ones(n)
    joined: list[tuple[int, int, float]] = []
    chain: list[int] = []
    alive = np.ones(n, bool)
    for _ in range(n - 1):
        if not chain:
            chain = [int(alive.argmax())]
        while True:
            last = chain[-1]
            near = int(d[last].argmin())
            if len(chain) > 1 and d[last, chain[-2]] <= d[last, near]:
                near = chain[-2]
                break
            chain.append(near)
        a, b = min(last, near), max(last, near)
        joined.append((a, b, float(d[a, b])))
        del chain[-2:]
        row = (size[a] * d[a] + size[b] * d[b]) / (size[a] + size[b])
        d[a], d[:, a] = row, row
        d[b], d[:, b] = np.inf, np.inf
        d[a, a] = np.inf
        size[a] += size[b]
        alive[b] = False
    # Give numbers to the merges, in the order of height. Each merge joins two sequences of leaves
    # at their most similar ends.
    name, leaves = list(range(n)), {k: [k] for k in range(n)}
    merges = []
    for i, (a, b, height) in enumerate(sorted(joined, key=lambda m: m[2])):
        # If node a was joined to another node, continue with the node that replaced it.
        while name[a] < 0:
            a = -1 - name[a]
        while name[b] < 0:
            b = -1 - name[b]
        one, other = sorted((name[a], name[b]))
        first_leaves, right = leaves.pop(one), leaves.pop(other)
        ways = [(x, y) for x in (first_leaves, first_leaves[::-1]) for y in (right, right[::-1])]
        first_leaves, right = min(ways, key=lambda way: distance[way[0][-1], way[1][0]])
        leaves[n + i] = first_leaves + right
        merges.append((one, other, height, len(first_leaves) + len(right)))
        # Node n + i replaces nodes a and b. `name[a]` is the number of the new node. `name[b]` is
        # -1 - a, which refers to node a.
        name[a], name[b] = n + i, -1 - a
    return Tree(merges, np.array(leaves[2 * n - 2] if n else [], np.int64))


def hues(order: Int64s) -> Int64s:
    """Return a hue in degrees for each topic, (n,), so that neighbours in the tree look similar.

    Hues of adjacent leaves are alternately even and odd: the page draws odd hues darker, so that
    two adjacent blues or greens can be distinguished.
    """
    place = np.arange(len(order))
    hue_of_topic = np.empty(len(order), np.int64)
    hue_of_topic[order] = (
        2 * np.round(10 + 165 * place / max(1, len(order))).astype(np.int64) + place % 2
    )
    return hue_of_topic
