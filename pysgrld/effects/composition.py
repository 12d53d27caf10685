"""Regression of topic shares on columns of documents, with its sources of uncertainty.

A prior that all documents share would pull the proportions of short documents towards it, and a
regression on draws would understate the effects of columns (Mislevy 1991). This module therefore
draws no proportions. It sorts a document's words to topics by fixed weights, and corrects the
expected confusion of one topic with another (Hopkins & King 2010, whose categories are ours without
a prior). The result is right on average for every document, however short, and so is every mean
over documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pysgrld.report.population import Sampled
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s

#: Weightings of the documents, and numbers of a block of these.
WEIGHTINGS, _CELLS = 400, 1 << 22
#: Units that are weighted one by one, about: of more documents several together have one weight.
_UNITS = 20_000
#: Number of documents that are processed at a time.
_CACHED = 8_192
#: Seed of the documents' weights: the same run has the same effects.
_SEED = 1981
#: Least weight of a topic, relative to an even one, when words are allocated: also of hardly used topics.
_LEAST = 0.1
#: Least degrees of freedom of a combination that is part of a test of several.
_FEWEST = 5.0
#: Combinations shorter than this part of the longest depend on the others.
_RANK = 1e-8
#: Part of a unit's weight in its own prediction, at most.
_LEVERAGE = 0.99


class Sorting(NamedTuple):
    """Allocation of words to topics, and the correction of its errors.

    Attributes
    ----------
    weights : (V, K) float32
        Share of each topic in the uses of a word, over all documents; any weights would do.
    back : (S, K, K) float64
        Inverse, for each draw of the topics, of the matrix of sorted shares of documents with one
        topic alone.
    """

    weights: Floats
    back: Doubles

    @classmethod
    def by(cls, mean: Array, weights: Doubles | None, drawn: Iterable[Array]) -> Sorting:
        """Allocate words to topics by the mean topics.

        Parameters
        ----------
        mean : (K, V)
            The mean topics.
        weights : (K,) float64, optional
            Shares of the topics in the corpus; by default even.
        drawn : iterable of (K, V)
            Posterior draws of the topics.
        """
        k = len(mean)
        even = np.full(k, 1.0 / k) if weights is None else np.maximum(weights, _LEAST / k)
        mass = mean.T.astype(np.float64) * even
        mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        sorted_to = mass.astype(np.float32)
        back = [np.linalg.pinv((phi @ sorted_to).astype(np.float64)) for phi in drawn]
        return cls(sorted_to, np.array(back))

    def shares(self, documents: Documents) -> Doubles:
        """Return the topic shares of documents after allocating their words, (n, K); rows sum to 1."""
        from scipy.sparse import csr_matrix

        shape = len(documents), len(self.weights)
        entries = documents.counts.astype(np.float32), documents.indices, documents.indptr
        sorted_shares: Doubles = (csr_matrix(entries, shape=shape) @ self.weights).astype(
            np.float64
        )
        sorted_shares /= documents.lengths[:, None]
        return sorted_shares


class Regression:
    """Weighted least squares of shares on columns, over chunks of documents in bounded memory.

    The Bayesian bootstrap (Rubin 1981) draws the variation over other documents: documents, or
    clusters of them, get weights of Exp(1). Only X'WX (R, P, P) and X'WU (R, P, K) are stored.

    Parameters
    ----------
    design : (n, P) float64
        Of full rank.
    units : (n,) int64
        The cluster of each document, from 0; or each is a unit of its own.
    topics : int
        K.
    weightings : int
        R.
    """

    def __init__(self, design: Doubles, units: Int64s | None, topics: int, weightings: int) -> None:
        n, p = design.shape
        # orthogonal columns, so that single precision suffices for a year next to a constant
        self._root: Doubles = np.asarray(np.linalg.qr(design / np.sqrt(n), mode="r"), np.float64)
        self._design: Doubles = np.asarray(np.linalg.solve(self._root.T, design.T).T, np.float64)
        self._units, self._topics = units, topics
        self._number = n if units is None else int(units.max()) + 1
        # of very many documents several share a weight: little is lost
        self._together = max(1, n // _UNITS) if units is None else 1
        self._rng = np.random.default_rng(_SEED)
        # the first place has weights of 1
        self._inner = np.zeros((weightings + 1, p * p))
        self._outer = np.zeros((weightings + 1, p * topics))
        self._weights = None if units is None else self._drawn(self._number)
        leverage = self._of_units((self._design**2).sum(axis=1)) / n
        self._leverage = np.minimum(leverage, _LEVERAGE)

    def turned(self, contrast: Doubles) -> Doubles:
        """Return a combination of the design's coefficients, (P,), in the basis of `coefficients`."""
        solution: Doubles = np.asarray(np.linalg.solve(self._root.T, contrast), np.float64)
        return solution

    def add(self, begin: int, shares: Doubles) -> None:
        """Take the shares of the documents from ``begin`` on: chunk after chunk, in order."""
        p, together = self._design.shape[1], self._together
        size = together * max(64, _CELLS // max(p * self._topics, p * p, len(self._inner)))
        for first in range(0, len(shares), size):
            block = shares[first : first + size]
            number = -(-len(block) // together)
            positions = slice(begin + first, begin + first + len(block))
            x, u = (
                np.concatenate((part, np.zeros((number * together - len(block), part.shape[1]))))
                .reshape(together, number, -1)
                .astype(np.float32)
                for part in (self._design[positions], block)
            )
            transposed = x.transpose(1, 2, 0)  # every `number`-th document: they are far apart
            if self._weights is None or self._units is None:
                weights = self._drawn(number)
            else:
                weights = self._weights[self._units[positions]]
            self._inner += weights.T @ (transposed @ x.swapaxes(0, 1)).reshape(number, -1)
            self._outer += weights.T @ (transposed @ u.swapaxes(0, 1)).reshape(number, -1)

    def _drawn(self, units: int) -> Floats:
        weights = np.ones((units, len(self._inner)), np.float32)
        weights[:, 1:] = self._rng.standard_exponential((units, len(self._inner) - 1), np.float32)
        return weights

    def _of_units(self, values: Doubles) -> Doubles:
        if self._units is None:
            return values
        sums: Doubles = np.bincount(self._units, values, self._number).astype(np.float64)
        return sums

    def coefficients(self) -> Doubles:
        """Return the regression coefficients of the shares, (1 + R, P, K): unweighted, then weighted.

        They are the coefficients of orthogonal columns, which `turned` converts.
        """
        p = self._design.shape[1]
        inner = self._inner.reshape(-1, p, p)
        # a weighting may nearly omit a rare level; least squares still has a solution
        ridge = np.trace(inner, axis1=1, axis2=2)[:, None, None] / p * np.eye(p)
        outer = self._outer.reshape(-1, p, self._topics)
        solution: Doubles = np.linalg.solve(inner + 1e-9 * ridge, outer)
        return solution

    def parts(self, places: Int64s, contrast: Doubles) -> tuple[Doubles, Doubles]:
        """Return rows of the orthogonal design, (m, P), and their parts of a contrast, (m,)."""
        rows: Doubles = self._design[places]
        return rows, rows @ self.turned(contrast)

    def freedom(self, contrast: Doubles) -> tuple[float, float]:
        """Return the factor that widens a combination of coefficients, (P,), and its degrees of freedom.

        Weights of Exp(1) vary a mean of n by (n - 1) / (n + 1) of the unbiased estimate, and
        Student's t has n - 1 degrees of freedom. For a combination in which units have parts l, n
        is (sum of l^2)^2 / (sum of l^4), and 1 / n of a unit its leverage.
        """
        return self.freedom_along(self.turned(contrast))

    def freedom_along(self, way: Doubles) -> tuple[float, float]:
        """Return stretch and degrees of freedom, as `freedom`, of a `turned` combination, (P,)."""
        n, p = self._number, self._design.shape[1]
        if self._units is None:  # in blocks that a processor's cache holds
            size = _CACHED
            parts = (self._design[a : a + size] @ way for a in range(0, n, size))
        else:
            size = n
            parts = (self._of_units(self._design @ way) for _ in range(1))
        total = fourth = levered = 0.0
        for begin, part in zip(range(0, n, size), parts, strict=True):
            square = part**2
            total += float(square.sum())
            fourth += float((square**2).sum())
            levered += float((square * self._leverage[begin : begin + len(square)]).sum())
        effective = total**2 / max(fourth, 1e-300)
        if effective < 2 or n <= p:
            return 0.0, 0.0
        stretch = (total + levered) / (total - levered)
        return stretch**0.5, (effective - 1) * (n - p) / (n - 1)


class Fit:
    """Coefficients of one regression, from which all results are computed.

    Parameters
    ----------
    regression : Regression
        That all documents were added to.
    back : (S, K, K) float64
        Of `Sorting`.

    Attributes
    ----------
    draws : int
        S.
    """

    def __init__(self, regression: Regression, back: Doubles) -> None:
        self._regression = regression
        coefficients = regression.coefficients()
        self._centre, self._others = coefficients[0], coefficients[1:] - coefficients[0]
        self.draws = len(back)
        self._back = back if len(back) > 1 else np.repeat(back, 2, axis=0)

    def influence(self, places: Int64s, shares: Floats, contrast: Doubles) -> Doubles:
        """Return the influence of documents on a linear combination of coefficients, (m, K).

        Parameters
        ----------
        places : (m,) int64
            Rows of the design.
        shares : (m, K) float32
            Sorted shares of these documents.
        contrast : (P,) float64
        """
        rows, parts = self._regression.parts(places, contrast)
        residuals = (shares - rows @ self._centre) @ self._back.mean(axis=0)
        influence: Doubles = parts[:, None] * residuals
        return influence

    def of(self, contrast: Doubles) -> Sampled:
        """Return a linear combination of coefficients, (P,), of all topics, for documents like these."""
        stretch, freedom = self._regression.freedom(contrast)
        k = self._back.shape[1]
        turned = self._regression.turned(contrast)
        drawn = turned @ self._centre @ self._back
        over = self._corrected(stretch * np.einsum("p,rpk->rk", turned, self._others))
        return Sampled(drawn, over, np.zeros(k), np.full(k, freedom))

    def _corrected(self, weighted: Doubles) -> Doubles:
        """Correct the weighted shares, (R, ..., K); each draw of the topics has equally many of the R."""
        draws, corrected = len(self._back), np.empty_like(weighted)
        for s, back in enumerate(self._back):
            piece = slice(s * len(weighted) // draws, (s + 1) * len(weighted) // draws)
            corrected[piece] = weighted[piece] @ back
        return corrected

    def test(self, contrasts: Doubles) -> Doubles:
        """Test for each topic whether all of several combinations of coefficients are 0.

        Hotelling's T^2 with the covariance over documents and over draws of the topics, put together
        by Rubin's rules as in `Sampled.in_errors`.

        Parameters
        ----------
        contrasts : (q, P) float64
            They may depend on each other. A combination that rests on few documents is left out.

        Returns
        -------
        (K,) float64
            The p-values, NaN if the documents are too few.
        """
        from scipy.special import fdtrc

        turned = np.array([self._regression.turned(contrast) for contrast in contrasts])
        freedom = np.array([self._regression.freedom_along(way)[1] for way in turned])
        turned = turned[freedom >= _FEWEST]
        topics = self._back.shape[1]
        if not len(turned):
            return np.full(topics, np.nan)
        _, sizes, basis = np.linalg.svd(turned, full_matrices=False)
        basis = basis[sizes > _RANK * sizes[0]]
        q, draws, weightings = len(basis), len(self._back), len(self._others)
        stretch, freedom = np.array([self._regression.freedom_along(way) for way in basis]).T
        drawn = np.einsum("qp,pj,sjk->sqk", basis, self._centre, self._back, optimize=True)
        moved = stretch[:, None] * np.einsum("qp,rpj->rqj", basis, self._others, optimize=True)
        over = self._corrected(moved)
        mean = drawn.mean(axis=0)
        apart = drawn - mean
        over_documents = np.einsum("rqk,rpk->kqp", over, over, optimize=True) / weightings
        of_topics = np.einsum("sqk,spk->kqp", apart, apart, optimize=True) / (draws - 1)
        of_topics *= 1 + 1 / draws
        inverse = np.linalg.pinv(over_documents + of_topics, hermitian=True)
        statistic = np.einsum("qk,kqp,pk->k", mean, inverse, mean, optimize=True)
        part = np.einsum("kqp,kpq->k", of_topics, inverse) / q
        documents = (1 / np.maximum(freedom, 1e-3)).mean() + 1 / weightings
        denominator = 1 / ((1 - part) ** 2 * documents + part**2 / (draws - 1)) - q + 1
        p = fdtrc(
            q, np.maximum(denominator, 1e-3), statistic * denominator / (denominator + q - 1) / q
        )
        tested: Doubles = np.where(denominator > 0, p, np.nan)
        return tested


def weightings_of(draws: int) -> int:
    """Return ``draws`` weightings of the units.

    Parameters
    ----------
    draws : int
        Number of draws of the topics.

    Returns
    -------
    int
        A multiple of `draws`, near `WEIGHTINGS`.
    """
    draws = max(2, draws)
    return draws * max(1, WEIGHTINGS // draws)
