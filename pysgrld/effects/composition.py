"""Regression of topic shares on document columns, with the uncertainty of its coefficients.

A prior that all documents share would pull the proportions of short documents towards its mean, and
a regression on draws of proportions would understate the effects of columns (Mislevy 1991). This
module therefore draws no proportions. It allocates a document's words to topics by fixed weights,
and then corrects for the expected confusion of one topic with another (as Hopkins & King 2010 do
for categories of documents). The resulting shares are unbiased for every document, however short,
and so is every mean over documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pysgrld.report.population import Sampled
from pysgrld.types import Array, Documents, Doubles, Floats, Int64s

#: Number of bootstrap weightings of the documents.
WEIGHTINGS = 400
#: Maximum number of values in one block.
_CELLS = 1 << 22
#: Approximate maximum number of documents with separate bootstrap weights. If there are more
#: documents, several documents form a group with a common weight.
_UNITS = 20_000
#: Number of documents processed in one block.
_CACHED = 8_192
#: Fixed seed of the documents' weights, so that repeated calls give the same effects.
_SEED = 1981
#: Minimum weight of a topic when words are allocated to topics, as a fraction of the weight 1/K.
#: It keeps inactive topics from receiving the weight 0.
_LEAST = 0.1
#: A contrast of coefficients is left out of a joint test if its variance has fewer degrees of
#: freedom than this number.
_FEWEST = 5.0
#: A direction of the contrasts is redundant if its singular value is below this fraction of the
#: greatest singular value. Joint tests leave out redundant directions.
_RANK = 1e-8
#: Maximum leverage of a unit (a document or a cluster). The leverage is the weight of the unit's
#: observed shares in the shares that the regression predicts for the unit.
_LEVERAGE = 0.99


class WordAllocation(NamedTuple):
    """Allocation of words to topics, and the matrices that correct the errors of this allocation.

    Attributes
    ----------
    weights : (V, K) float32
        Each topic's share of a word's occurrences in all documents; any weights give unbiased
        results.
    back : (S, K, K) float64
        For each draw of the topics, the inverse of a matrix; row k of this matrix has the expected
        allocated shares of a document that has only topic k.
    """

    weights: Floats
    back: Doubles

    @classmethod
    def from_topics(
        cls, mean: Array, weights: Doubles | None, drawn: Iterable[Array]
    ) -> WordAllocation:
        """Compute the word allocation from the mean topics, and its corrections from topic draws.

        Parameters
        ----------
        mean : (K, V)
            The mean topics.
        weights : (K,) float64, optional
            Shares of the topics in the corpus; by default equal shares.
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
        """Return the topic shares of documents, (n, K), without correction of allocation errors.

        They are the means, over the words of a document, of the words' allocation to topics.
        """
        from scipy.sparse import csr_matrix

        shape = len(documents), len(self.weights)
        entries = documents.counts.astype(np.float32), documents.indices, documents.indptr
        sorted_shares: Doubles = (csr_matrix(entries, shape=shape) @ self.weights).astype(
            np.float64
        )
        sorted_shares /= documents.lengths[:, None]
        return sorted_shares


class Regression:
    """Weighted least-squares regression of topic shares on columns; documents come in chunks.

    The Bayesian bootstrap (Rubin 1981) measures the variation over other samples of documents: each
    document or cluster gets R random weights from Exp(1). For the design matrix X, the weights W
    and the shares U, only X'WX (R, P, P) and X'WU (R, P, K) are stored.

    Parameters
    ----------
    design : (n, P) float64
        Design matrix of full rank.
    units : (n,) int64
        Cluster of each document, counted from 0; if None, each document is a unit of its own.
    topics : int
        Number of topics K.
    weightings : int
        Number of weightings R.
    """

    def __init__(self, design: Doubles, units: Int64s | None, topics: int, weightings: int) -> None:
        n, p = design.shape
        # Columns are made orthogonal, so that single precision suffices even for a column of years
        # next to a constant column.
        self._root: Doubles = np.asarray(np.linalg.qr(design / np.sqrt(n), mode="r"), np.float64)
        self._design: Doubles = np.asarray(np.linalg.solve(self._root.T, design.T).T, np.float64)
        self._units, self._topics = units, topics
        self._number = n if units is None else int(units.max()) + 1
        # If there are very many documents, groups of documents have a common weight, which loses
        # little accuracy.
        self._together = max(1, n // _UNITS) if units is None else 1
        self._rng = np.random.default_rng(_SEED)
        # In weighting 0, all weights are 1.
        self._inner = np.zeros((weightings + 1, p * p))
        self._outer = np.zeros((weightings + 1, p * topics))
        self._weights = None if units is None else self._drawn(self._number)
        leverage = self._of_units((self._design**2).sum(axis=1)) / n
        self._leverage = np.minimum(leverage, _LEVERAGE)

    def to_orthogonal_basis(self, contrast: Doubles) -> Doubles:
        """Convert a contrast of the coefficients, (P,), to the basis of the orthogonal columns."""
        solution: Doubles = np.asarray(np.linalg.solve(self._root.T, contrast), np.float64)
        return solution

    def add(self, begin: int, shares: Doubles) -> None:
        """Add the shares of a chunk that begins at document ``begin``; add chunks in order."""
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
            # The documents of a group are `number` positions apart.
            transposed = x.transpose(1, 2, 0)
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
        """Return the regression coefficients, unweighted and for R sets of bootstrap weights.

        The shape is (1 + R, P, K). The coefficients belong to the orthogonal columns;
        `to_orthogonal_basis` converts contrasts to this basis.
        """
        p = self._design.shape[1]
        inner = self._inner.reshape(-1, p, p)
        # Add a small ridge, so that a solution exists even if a weighting nearly omits a rare
        # category.
        ridge = np.trace(inner, axis1=1, axis2=2)[:, None, None] / p * np.eye(p)
        outer = self._outer.reshape(-1, p, self._topics)
        solution: Doubles = np.linalg.solve(inner + 1e-9 * ridge, outer)
        return solution

    def parts(self, places: Int64s, contrast: Doubles) -> tuple[Doubles, Doubles]:
        """Return rows of the orthogonal design, (m, P), and each row's product with a contrast."""
        rows: Doubles = self._design[places]
        return rows, rows @ self.to_orthogonal_basis(contrast)

    def freedom(self, contrast: Doubles) -> tuple[float, float]:
        """Return the small-sample scale factor and the degrees of freedom of a contrast, (P,).

        The factor multiplies the deviations of the bootstrap. For a mean over n units, weights from
        Exp(1) give (n - 1) / (n + 1) of the unbiased variance, and Student's t has n - 1 degrees of
        freedom. For a combination in which units have parts l, n is replaced by (sum of l^2)^2 /
        (sum of l^4), and 1 / n by the leverages of the units.
        """
        return self.freedom_along(self.to_orthogonal_basis(contrast))

    def freedom_along(self, way: Doubles) -> tuple[float, float]:
        """Return the results of `freedom` for a contrast in the basis of the orthogonal columns."""
        n, p = self._number, self._design.shape[1]
        if self._units is None:  # Use blocks that fit into a processor's cache.
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
    """Fitted regression, from which estimates, influences of documents and tests are computed.

    Parameters
    ----------
    regression : Regression
        Regression to which all documents were added.
    back : (S, K, K) float64
        `WordAllocation.back`.

    Attributes
    ----------
    draws : int
        Number of draws of the topics S.
    """

    def __init__(self, regression: Regression, back: Doubles) -> None:
        self._regression = regression
        coefficients = regression.coefficients()
        self._centre, self._others = coefficients[0], coefficients[1:] - coefficients[0]
        self.draws = len(back)
        self._back = back if len(back) > 1 else np.repeat(back, 2, axis=0)

    def weights(self, places: Int64s, contrast: Doubles) -> Doubles:
        """Return the weight of each given document in the estimate of a contrast, (m,)."""
        return self._regression.parts(places, contrast)[1]

    def influence(self, places: Int64s, shares: Floats, contrast: Doubles) -> Doubles:
        """Return the influence of each document on a linear combination of coefficients, (m, K).

        Parameters
        ----------
        places : (m,) int64
            Rows of the design.
        shares : (m, K) float32
            Uncorrected shares of these documents, from `WordAllocation.shares`.
        contrast : (P,) float64
        """
        rows, parts = self._regression.parts(places, contrast)
        residuals = (shares - rows @ self._centre) @ self._back.mean(axis=0)
        influence: Doubles = parts[:, None] * residuals
        return influence

    def estimate(self, contrast: Doubles) -> Sampled:
        """Estimate, for each topic, a linear combination of coefficients, with its uncertainty."""
        stretch, freedom = self._regression.freedom(contrast)
        k = self._back.shape[1]
        turned = self._regression.to_orthogonal_basis(contrast)
        drawn = turned @ self._centre @ self._back
        over = self._corrected(stretch * np.einsum("p,rpk->rk", turned, self._others))
        return Sampled(drawn, over, np.zeros(k), np.full(k, freedom))

    def _corrected(self, weighted: Doubles) -> Doubles:
        """Correct R sets of shares, (R, ..., K), for allocation errors estimated by topic draws."""
        draws, corrected = len(self._back), np.empty_like(weighted)
        for s, back in enumerate(self._back):
            piece = slice(s * len(weighted) // draws, (s + 1) * len(weighted) // draws)
            corrected[piece] = weighted[piece] @ back
        return corrected

    def test(self, contrasts: Doubles) -> Doubles:
        """Return each topic's p-value for the hypothesis that all given contrasts are 0.

        The test is Hotelling's T^2. The covariances over documents and over draws of the topics are
        combined by Rubin's rules, as in `Sampled.in_errors`.

        Parameters
        ----------
        contrasts : (q, P) float64
            Combinations, which may be linearly dependent. Combinations that depend on too few
            documents are left out.

        Returns
        -------
        (K,) float64
            P-values; NaN if there are too few documents.
        """
        from scipy.special import fdtrc

        turned = np.array(
            [self._regression.to_orthogonal_basis(contrast) for contrast in contrasts]
        )
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


def bootstrap_sets(draws: int) -> int:
    """Return the number of sets of bootstrap weights for a number of topic draws.

    Parameters
    ----------
    draws : int
        Number of draws of the topics.

    Returns
    -------
    int
        A multiple of ``draws`` near `WEIGHTINGS`.
    """
    draws = max(2, draws)
    return draws * max(1, WEIGHTINGS // draws)
