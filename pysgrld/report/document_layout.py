"""Positions of documents in a plane in which documents with similar topics are close."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.types import Array, Doubles, Floats, Int64s

#: Minimum number of documents for a map.
FEWEST = 20
#: Number of nearest neighbours of a document. The quality of a map is the fraction of these
#: neighbours that are also nearest on the map.
NEIGHBOURS = 10
#: Number of nearest neighbours that attract a landmark.
_ATTRACTING = 30
#: Perplexity of t-SNE, which is the effective number of neighbours that attract a landmark.
_PERPLEXITY = 12.0
#: Number of steps of gradient descent for the layout of the landmarks.
_STEPS = 240
#: Number of first steps in which the attraction of landmarks is exaggerated.
_EARLY = 70
#: Factor by which the attraction of landmarks is exaggerated in the first steps.
_EXAGGERATION = 12.0
#: Number of documents that are laid out first, which are called landmarks. Every other document
#: starts between its nearest landmarks.
LANDMARKS = 3_000
#: Number of neighbours that attract each document in the layout of all documents.
_ATTRACTING_ALL = 10
#: Number of steps of gradient descent for the layout of all documents.
_STEPS_ALL = 40
#: Mean number of documents per cell, which is a group of documents around one centre.
_CELL = 60
#: Number of nearest cells in which the neighbours of a document are searched.
_CELLS = 6
#: A document that t-SNE does not lay out is placed between this number of nearest documents.
_BETWEEN = 3
#: If t-SNE does not lay out a document, its nearest documents are searched in this number of cells.
_CELLS_BETWEEN = 2
#: Documents that would have the same position are moved apart by a shift of this width.
_SHIFT = 0.004
#: Maximum number of documents used to measure the quality of a map. The documents are evenly
#: spaced.
_JUDGED = 1_000
#: Up to this number of documents, repulsion is computed exactly. For more documents, repulsion is
#: computed on a grid, which is faster.
_EXACT = 400
#: Maximum number of documents for which similarities are computed at a time.
_BLOCK = 512
#: Maximum number of similarities computed at a time.
_SIMILARITIES = 1 << 21
#: Spacing of the grid's nodes.
_SPACING = 0.8
#: Possible numbers of nodes on a side of the grid. They have small prime factors, so that the
#: Fourier transform is fast.
_SIDES = (24, 32, 48, 64, 96, 128, 192)
#: Square roots of proportions are multiples of 1 / `_STEP`. Products of such numbers, and sums of
#: products up to 4, are exact in single precision. Similarities therefore have the same bits for
#: any number of threads.
_STEP = 2048
#: Initial positions are rounded to this number of decimals, because the results of different
#: machines differ only in later decimals.
_DIGITS = 5


class DocumentLayout(NamedTuple):
    """Positions of documents in the plane.

    Attributes
    ----------
    points : (n, 2) float64
        Coordinates from 0 to 1.
    kept : float
        Mean fraction of a document's nearest documents that are also nearest to it on the map.
    neighbours : int
        Number of nearest documents used for `kept`.
    """

    points: Doubles
    kept: float
    neighbours: int


def lay_out_documents(theta: Floats | npt.NDArray[np.float16]) -> DocumentLayout | None:
    """Compute positions of documents in the plane by t-SNE of square roots of topic proportions.

    The initial positions are the first two principal components, the number of steps is fixed, and
    no random numbers are used, so equal proportions give equal positions. Returns None for fewer
    than `FEWEST` documents or fewer than two topics.

    Parameters
    ----------
    theta : (n, K)
        Proportions.
    """
    n = len(theta)
    if n < FEWEST or theta.shape[1] < 2:
        return None
    roots = _roots(theta)
    landmarks = _spaced(n, LANDMARKS)
    marked = roots[landmarks]
    near = nearest(marked, marked, min(_ATTRACTING, len(marked) - 1), np.arange(len(marked)))
    points = _descend(_start(marked), *near, _STEPS, _EARLY)
    if n > len(landmarks):
        cells = _Cells(roots, marked)
        near = cells.nearest(roots, min(_ATTRACTING_ALL, len(marked) - 1), own=np.arange(n))
        # `_shifts` separates documents that would have the same position.
        begin = _between(points, *_blocks(roots, marked, _BETWEEN)) + _shifts(n)
        points = _descend(begin, *near, _STEPS_ALL, 0)
    count, judged = min(NEIGHBOURS, n - 1), _spaced(n, _JUDGED)
    true, _ = nearest(roots[judged], roots, count, judged)
    shown = _nearest_points(points, judged, count)
    kept = float((true[:, :, None] == shown[:, None, :]).any(axis=2).mean())
    points -= points.min(axis=0)
    spread = points.max(axis=0)
    return DocumentLayout(points / np.where(spread > 0, spread, 1.0), kept, count)


def _spaced(n: int, most: int) -> Int64s:
    """Return the indices 0 to n - 1, or `most` evenly spaced indices if n exceeds `most`."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def nearest(rows: Floats, others: Floats, count: int, own: Int64s | None) -> tuple[Int64s, Doubles]:
    """Return each row's ``count`` nearest documents, with squared Hellinger distances.

    Parameters
    ----------
    rows : (n, K) float32
        Square roots of proportions, of norm 1.
    others : (m, K) float32
        Square roots of the proportions of the documents that are searched.
    count : int
    own : (n,) int64 or None
        Index of each row in ``others``, so that no document is its own neighbour, or None if no row
        is in ``others``.

    Returns
    -------
    index : (n, count) int64
        Indices into ``others``.
    squares : (n, count) float64
    """
    n = len(rows)
    index, squares = np.empty((n, count), np.int64), np.empty((n, count))
    size = _block_size(len(others))
    for begin in range(0, n, size):
        block = np.arange(begin, min(begin + size, n))
        apart = _apart(rows[block], others)
        if own is not None:
            apart[np.arange(len(block)), own[block]] = np.inf
        index[block], squares[block] = _least(apart, count)
    return index, np.maximum(squares, 0.0)


def _apart(rows: Floats, others: Floats) -> Floats:
    """Return the exact squared Hellinger distances between ``rows`` and ``others``, (n, m)."""
    products: Floats = rows @ others.T
    return np.subtract(1.0, products, out=products)


def _block_size(others: int) -> int:
    """Return the number of documents in a block, whose distances to ``others`` fit in memory."""
    return max(1, min(_BLOCK, _SIMILARITIES // max(others, 1)))


def _roots(theta: Floats | npt.NDArray[np.float16]) -> Floats:
    """Return the square roots of proportions, scaled to norm 1, as multiples of 1 / `_STEP`."""
    roots: Floats = np.sqrt(np.maximum(theta.astype(np.float32), 0.0))
    roots *= _STEP / np.maximum(np.linalg.norm(roots, axis=1, keepdims=True), 1e-12)
    exact: Floats = (np.rint(roots) / _STEP).astype(np.float32)
    return exact


def _blocks(rows: Floats, others: Floats, count: int) -> tuple[Int64s, Floats]:
    """Return the indices of the rows of ``others`` nearest to each row, and squared distances."""
    count = min(count, len(others))
    index, squares = (
        np.empty((len(rows), count), np.int64),
        np.empty((len(rows), count), np.float32),
    )
    size = _block_size(len(others))
    for first in range(0, len(rows), size):
        block = slice(first, first + size)
        index[block], squares[block] = _least(_apart(rows[block], others), count)
    return index, squares


def _between(points: Doubles, index: Int64s, squares: Floats | Doubles) -> Doubles:
    """Return the mean of the points that each row of ``index`` lists, weighted by similarity."""
    weight = 1.0 / (np.maximum(squares, 0.0) + 1e-3)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray((points[index] * weight[:, :, None]).sum(axis=1))


def _shifts(n: int) -> Doubles:
    """Return quasi-random offsets, from -0.5 to 0.5, which separate equal positions, (n, 2)."""
    steps = np.arange(1, n + 1)[:, None] * (0.7548776662466927, 0.5698402909980532)
    return np.asarray(steps % 1.0 - 0.5)


class _Cells:
    """Search index for nearest documents: each document is in the cell of its nearest centre.

    The centres are evenly spaced landmarks.

    Parameters
    ----------
    roots : (n, K) float32
        Square roots of the documents' proportions, of norm 1.
    marked : (m, K) float32
        Square roots of the landmarks' proportions, of norm 1.
    """

    def __init__(self, roots: Floats, marked: Floats) -> None:
        least = 2 * _ATTRACTING_ALL
        self._roots = roots
        self._centres = marked[_spaced(len(marked), max(least, len(roots) // _CELL))]
        own, _ = _blocks(roots, self._centres, 1)
        self._members = self._groups(own[:, 0])

    def _groups(self, cells: Int64s) -> list[Int64s]:
        """Return the indices of the documents of each cell, ascending."""
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(len(self._centres) + 1))
        return [order[a:b] for a, b in pairwise(ends)]

    def nearest(
        self, rows: Floats, count: int, *, own: Int64s | None = None, reach: int = _CELLS
    ) -> tuple[Int64s, Doubles]:
        """Return each row's ``count`` nearest documents, with squared Hellinger distances.

        Rows in the same cell are searched together, in all cells that are near any of these rows.

        Parameters
        ----------
        rows : (m, K) float32
        count : int
        own : (m,) int64, optional
            Index of each row among the documents, so that no document is its own neighbour.
        reach : int
            Number of nearest cells of each row that are searched.

        Returns
        -------
        index : (m, count) int64
        squares : (m, count) float64
        """
        cells, _ = _blocks(rows, self._centres, reach)
        index, squares = np.empty((len(rows), count), np.int64), np.empty((len(rows), count))
        for mine in self._groups(cells[:, 0]):
            if not len(mine):
                continue
            some = np.concatenate([self._members[cell] for cell in np.unique(cells[mine])])
            if len(some) <= count:
                some = np.arange(len(self._roots))
            some.sort()
            places = None if own is None else np.searchsorted(some, own[mine])
            near, squares[mine] = nearest(rows[mine], self._roots[some], count, places)
            index[mine] = some[near]
        return index, squares


class Placement:
    """Function that places further documents between the most similar documents of a layout.

    Parameters
    ----------
    theta : (n, K)
        Proportions of the documents of the layout.
    points : (n, 2)
        Positions of the documents of the layout.
    """

    def __init__(self, theta: npt.NDArray[np.float16], points: Doubles) -> None:
        roots = _roots(theta)
        self._cells, self._points = _Cells(roots, roots[_spaced(len(roots), LANDMARKS)]), points

    def __call__(self, theta: npt.NDArray[np.float16]) -> Doubles:
        """Return positions from 0 to 1, shape (m, 2), for documents with proportions (m, K)."""
        near = self._cells.nearest(_roots(theta), _BETWEEN, reach=_CELLS_BETWEEN)
        between = _between(self._points, *near) + _SHIFT * _shifts(len(theta))
        return np.asarray(np.clip(between, 0.0, 1.0))


def _nearest_points(points: Doubles, judged: Int64s, count: int) -> Int64s:
    """Return the indices of the ``count`` points nearest to each of the points in ``judged``."""
    index = np.empty((len(judged), count), np.int64)
    size = _block_size(len(points))
    for begin in range(0, len(judged), size):
        rows = judged[begin : begin + size]
        across, along = (points[rows, axis, None] - points[:, axis] for axis in (0, 1))
        apart = across**2 + along**2
        apart[np.arange(len(rows)), rows] = np.inf
        index[begin : begin + len(rows)] = _least(apart, count)[0]
    return index


def _least(values: Array, count: int) -> tuple[Int64s, Array]:
    """Return the indices and values of the ``count`` smallest entries of each row, ascending."""
    count = min(count, values.shape[1])
    if count < values.shape[1]:
        some = np.argpartition(values, count - 1, axis=1)[:, :count]
    else:
        some = np.tile(np.arange(count), (len(values), 1))
    # Sort by index first, so that equal values stay in the order of the documents.
    some.sort(axis=1)
    chosen = np.take_along_axis(values, some, axis=1)
    order = np.argsort(chosen, axis=1, kind="stable")
    return np.take_along_axis(some, order, 1), np.take_along_axis(chosen, order, 1)


def _start(roots: Floats) -> Doubles:
    """Return initial positions, (n, 2): two principal components with standard deviation 1."""
    centred = (roots - roots.mean(axis=0)).astype(np.float64)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    strongest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[strongest, [0, 1]] < 0, -1.0, 1.0)
    flat = centred @ axes
    start: Doubles = np.round(flat / np.maximum(flat.std(axis=0), 1e-9), _DIGITS)
    return start


def _attraction(squares: Doubles) -> Doubles:
    """Return t-SNE's probabilities of neighbours, (n, count), whose sum over all is 1/2."""
    n, count = squares.shape
    gap = squares - squares[:, :1]
    low, high, beta = np.zeros((n, 1)), np.full((n, 1), np.inf), np.full((n, 1), 10.0)
    target = np.log(min(_PERPLEXITY, count / 2 + 0.5))
    p = np.empty_like(gap)
    for _ in range(50):
        p = np.exp(-beta * gap)
        total = p.sum(axis=1, keepdims=True)
        many = np.log(total) + beta * (p * gap).sum(axis=1, keepdims=True) / total > target
        low, high = np.where(many, beta, low), np.where(many, high, beta)
        # If all distances are equal, no beta reaches the target entropy, so beta is limited.
        beta = np.minimum(np.where(np.isinf(high), beta * 2, (low + high) / 2), 1e7)
    p /= 2 * n * p.sum(axis=1, keepdims=True)
    return p


def _descend(y: Doubles, index: Int64s, squares: Doubles, steps: int, early: int) -> Doubles:
    """Return the points, (n, 2), after gradient descent of t-SNE with momentum and gains.

    Parameters
    ----------
    y : (n, 2)
        Initial positions.
    index, squares : (n, count)
        Neighbours of each document, and squared distances to them.
    steps, early : int
        Number of steps, and number of first steps in which attraction is exaggerated.

    References
    ----------
    van der Maaten and Hinton (2008), Visualizing data using t-SNE.
    Linderman, Rachh, Hoskins, Steinerberger and Kluger (2019), Fast interpolation-based t-SNE.
    Belkina, Ciccolella, Anno, Halpert, Spidlen and Snyder-Cappione (2019), on the step size.
    """
    n = len(y)
    p, flat = _attraction(squares), index.ravel()
    rate = max(n / (_EXAGGERATION if early else 4.0), 20.0)
    moved, gains, repulsion = (
        np.zeros_like(y),
        np.ones_like(y),
        _exact if n <= _EXACT else _Repulsion(),
    )
    for step in range(steps):
        is_early = step < early
        # All values of a coordinate are contiguous in memory, which makes each operation faster.
        apart = [own[:, None] - own[index] for own in np.ascontiguousarray(y.T)]
        pull = apart[0] ** 2
        pull += apart[1] ** 2
        pull += 1.0
        np.divide(p, pull, out=pull)
        attracted = np.empty_like(y)
        for axis, force in enumerate(apart):
            force *= pull
            attracted[:, axis] = force.sum(axis=1) - np.bincount(flat, force.ravel(), n)
        slope = 4.0 * ((_EXAGGERATION if is_early else 1.0) * attracted - repulsion(y))
        gains = np.maximum(np.where(slope * moved < 0, gains + 0.2, gains * 0.8), 0.01)
        moved = (0.5 if is_early else 0.8) * moved - rate * gains * slope
        y = y + moved
        y -= y.mean(axis=0)
    return y


def _exact(y: Doubles) -> Doubles:
    """Return the repulsion of each point by all other points, computed exactly, (n, 2)."""
    norms = (y**2).sum(axis=1)
    q = 1.0 / (1.0 + np.maximum(norms[:, None] + norms - 2.0 * (y @ y.T), 0.0))
    np.fill_diagonal(q, 0.0)
    total, square = max(float(q.sum()), 1e-12), q**2
    return np.asarray((square.sum(axis=1)[:, None] * y - square @ y) / total)


class _Repulsion:
    """Repulsion of each point by all other points, computed on a grid by Fourier transforms."""

    def __init__(self) -> None:
        self._transformed: dict[tuple[int, float], list[Doubles]] = {}

    def __call__(self, y: Doubles) -> Doubles:
        """Return the repulsion of each point, (n, 2)."""
        low = y.min(axis=0)
        span = float((y.max(axis=0) - low).max())
        spacing = _SPACING
        while span > spacing * (_SIDES[-1] - 2):
            spacing *= 1.25
        side = next(m for m in _SIDES if span <= spacing * (m - 2))
        place = ((y - low) / spacing).T
        node = place.astype(np.int64)
        part = place - node
        # Find the four grid nodes around each point, and the fraction of the point's charge that
        # each of these nodes gets.
        corners = [(a, b) for a in (0, 1) for b in (0, 1)]
        first = node[0] * side + node[1]
        nodes = np.stack([first + a * side + b for a, b in corners])
        ends = [(1.0 - along, along) for along in part]
        weights = np.stack([ends[0][a] * ends[1][b] for a, b in corners])
        inverse, squared = self._kernels(side, spacing)
        grids = np.empty((3, side * side))
        for grid, charge in zip(grids, (np.ones(len(y)), *y.T), strict=True):
            grid[:] = np.bincount(nodes.ravel(), (weights * charge).ravel(), side * side)
        # Both transforms pad the grid with zeros to twice its size. The first transform leaves out
        # the padding rows, because they would remain zero.
        along = np.fft.rfft(grids.reshape(3, side, side), 2 * side, axis=2)
        spread = np.fft.fft(along, 2 * side, axis=1)
        # Compute the sum of 1 / (1 + d^2) over all pairs of points, by Parseval's theorem. `rfft`
        # computes half of the columns. Each column except the first and the last represents two
        # columns of the whole transform, so it counts twice.
        power = (spread[0].real ** 2 + spread[0].imag ** 2) * inverse
        pairs = 2.0 * power.sum() - power[:, 0].sum() - power[:, -1].sum()
        total = max(float(pairs) / (2 * side) ** 2 - len(y), 1e-12)
        # Compute the inverse of rfft2, but only for the rows and columns that are needed.
        rows = np.fft.ifft(spread * squared, axis=1)[:, :side]
        fields = np.fft.irfft(rows, 2 * side, axis=2)[:, :, :side].reshape(3, -1)
        ones, *moments = [(field[nodes] * weights).sum(axis=0) for field in fields]
        force = np.stack([y[:, i] * ones - moments[i] for i in (0, 1)], axis=1)
        return np.asarray(force / total)

    def _kernels(self, side: int, spacing: float) -> list[Doubles]:
        """Return Fourier transforms of 1 / (1 + d^2) and of its square, for grid distances d.

        The transforms are real, because the kernels are even.
        """
        key = side, spacing
        if key not in self._transformed:
            offset = np.minimum(np.arange(2 * side), 2 * side - np.arange(2 * side)) * spacing
            kernel = 1.0 / (1.0 + offset[:, None] ** 2 + offset**2)
            self._transformed[key] = [np.fft.rfft2(values).real for values in (kernel, kernel**2)]
        return self._transformed[key]


def densest_points(points: Doubles, group: Int64s, weight: Doubles, groups: int) -> Doubles:
    """Return the point at which each group is densest, (groups, 2); NaN for an empty group.

    Mean shift starts at the group's weighted median, so a group in two parts gets a point in the
    heavier part.

    Parameters
    ----------
    points : (n, 2)
        Coordinates from 0 to 1.
    group : (n,) int64
    weight : (n,)
    groups : int
    """
    result = np.full((groups, 2), np.nan)
    for k in range(groups):
        mine = np.flatnonzero(group == k)
        total = weight[mine].sum()
        if total <= 0:
            continue
        some, heavy = points[mine], weight[mine]
        centre = np.array(
            [
                some[order, axis][np.searchsorted(np.cumsum(heavy[order]), total / 2)]
                for axis, order in enumerate(np.argsort(some, axis=0, kind="stable").T)
            ]
        )
        for _ in range(12):
            near = heavy * np.exp(-((some - centre) ** 2).sum(axis=1) / (2 * 0.05**2))
            if near.sum() <= 0:
                break
            centre = (near[:, None] * some).sum(axis=0) / near.sum()
        result[k] = centre
    return result
