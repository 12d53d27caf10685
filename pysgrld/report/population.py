"""Estimates of topic shares in groups, for the population from which the documents are a sample."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pysgrld.reading.intervals import bounds
from pysgrld.report.document_pass import DocumentVisitor, DrawnBlock
from pysgrld.types import Array, Doubles, Floats, Int64s

#: Maximum number of random weightings of documents in the Bayesian bootstrap.
WEIGHTINGS = 400
#: Maximum number of weighted sums (weightings x groups x topics).
_CELLS = 1_000_000
#: False discovery rate for the signs "surely more" and "surely less".
FALSE = 0.05
#: Seed of the random weights of documents. It is fixed, so that the same run always gives the same
#: page.
_SEED = 1981


class GroupOfEach(NamedTuple):
    """Assignment of documents to groups and, optionally, to clusters.

    Attributes
    ----------
    of : (n,) int64
        Index of each document's group; -1 if it is in no group.
    size : int
        Number of groups.
    cluster : (n,) int64, optional
        Index of each document's cluster, from 0. A cluster has documents from one source, such as
        the chapters of a book. By default each document is a separate cluster.
    """

    of: Int64s
    size: int
    cluster: Int64s | None = None


class EstimatedShares(NamedTuple):
    """Share of each topic in each group and, in the last column, in all documents, (K, groups + 1).

    Attributes
    ----------
    mean : float64
        Share in these documents: mean over the posterior draws.
    low, high : float64
        Bounds of the 90 % interval for documents like these. They are 0 and 1 for a group of fewer
        than two documents (or clusters), which gives no evidence about others, and the mean if no
        samples are kept.
    more, more_low, more_high : float64
        Difference from the share in the other documents, and its 90 % interval; 0 in the last
        column.
    sign : int64
        1 if the topic's share is surely greater in the group than in the other documents, -1 if it is
        surely smaller, else 0. At most 5 % of the signs other than 0 are expected to be wrong.
    """

    mean: Doubles
    low: Doubles
    high: Doubles
    more: Doubles
    more_low: Doubles
    more_high: Doubles
    sign: Int64s


class Population(NamedTuple):
    """Two estimates of topic shares in groups: means over documents, and fractions of the words."""

    documents: EstimatedShares
    words: EstimatedShares


class Sampled(NamedTuple):
    """Draws of topic shares in a set of documents, or of differences of shares between two sets.

    Attributes
    ----------
    drawn : (S, K)
        Shares in each posterior draw.
    over_documents : (R, K)
        Deviations of the mean over draws, in R bootstrap samples of the documents.
    noise : (K,)
        Part of the variance of `drawn` that comes from drawing the topics of single documents.
    freedom : (K,)
        Degrees of freedom of the variance over documents; 0 if the variance is unknown.
    """

    drawn: Doubles
    over_documents: Doubles
    noise: Doubles
    freedom: Doubles

    def topics_variance(self) -> Doubles:
        """Return the variance of the draws that is due to the topics, (K,), at least 0."""
        variance: Doubles = np.maximum(0.0, self.drawn.var(axis=0, ddof=1) - self.noise)
        return variance

    def subtract(self, other: Sampled) -> Sampled:
        """Subtract the shares in ``other``, and compute Welch's degrees of freedom."""
        mine, other_variance = ((part.over_documents**2).mean(axis=0) for part in (self, other))
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = (mine + other_variance) ** 2 / (
                mine**2 / self.freedom + other_variance**2 / other.freedom
            )
        has_freedom = (self.freedom > 0) & (other.freedom > 0)
        # If both variances are 0, Welch's formula is undefined. Then use the smaller number of
        # degrees of freedom.
        least = np.minimum(self.freedom, other.freedom)
        return Sampled(
            self.drawn - other.drawn,
            self.over_documents - other.over_documents,
            self.noise + other.noise,
            np.where(
                has_freedom & np.isfinite(freedom), freedom, np.where(has_freedom, least, 0.0)
            ),
        )

    def interval(self, least: float) -> tuple[Doubles, Doubles]:
        """Return the bounds of 90 % intervals; bounds of unknown variance are ``least`` and 1.

        A mean outside the range from `least` to 1 is moved to the nearer end, and its interval
        moves with it, so that the interval keeps its width on the inner side.
        """
        mean, has_freedom = self.drawn.mean(axis=0), self.freedom > 0
        variance = np.maximum(self.drawn.var(axis=0, ddof=1), 1e-300)
        of_topics = np.sqrt(self.topics_variance() / variance) * (self.drawn - mean)
        freedom = np.where(has_freedom, self.freedom, 1.0)
        chi2 = np.random.default_rng(_SEED + 1).chisquare(freedom, self.over_documents.shape)
        drawn = np.clip(mean, least, 1.0) + np.sqrt(freedom / chi2) * self.over_documents
        drawn += np.repeat(of_topics, len(drawn) // len(of_topics), axis=0)
        low, high = bounds(np.clip(drawn, least, 1.0))
        return np.where(has_freedom, low, least), np.where(has_freedom, high, 1.0)

    def in_errors(self) -> Doubles:
        """Return z-scores: the mean divided by its standard error, or 0 if the error is unknown.

        Variances over documents and of topics are combined by Rubin's rules (1987, 3.1). Student's
        t is converted to a normal deviate by Wallace's (1959) approximation.
        """
        draws, mean, has_freedom = len(self.drawn), self.drawn.mean(axis=0), self.freedom > 0
        over_documents = (self.over_documents**2).mean(axis=0)
        of_topics = self.topics_variance() * (1 + 1 / draws)
        total = np.maximum(over_documents + of_topics, 1e-300)
        parts = over_documents**2 / np.where(has_freedom, self.freedom, 1.0) + of_topics**2 / (
            draws - 1
        )
        freedom = total**2 / np.maximum(parts, 1e-300)
        freedom = np.clip(freedom, 1e-3, 1e9)
        z = np.sqrt(freedom * np.log1p(mean**2 / total / freedom))
        z *= np.sign(mean) * (8 * freedom + 1) / (8 * freedom + 3)
        scores: Doubles = np.where(has_freedom & (over_documents + of_topics > 0), z, 0.0)
        return scores


class _Sums:
    """Sums over the documents of each group, from which the shares of topics are computed.

    Attributes
    ----------
    drawn : (S, G + 1, K)
        Sums for each posterior draw; index G of the second axis is for documents in no group.
    weighted : (R, G + 1, K)
        Sums of the mean over draws, in each of R weightings of the documents.
    size, weighted_size : (G + 1,), (R, G + 1)
        Numbers of documents or words by which the sums are divided to obtain shares.
    noise : (G + 1, K)
        Part of the variance of `drawn` that is due to the draws of single documents.
    """

    def __init__(
        self, draws: int, weightings: int, groups: int, topics: int, *, clustered: bool
    ) -> None:
        self.drawn = np.zeros((draws, groups + 1, topics))
        self.weighted = np.zeros((weightings, groups + 1, topics))
        self.size, self.weighted_size = np.zeros(groups + 1), np.zeros((weightings, groups + 1))
        self.noise = np.zeros((groups + 1, topics))
        # Without clusters of documents, ``_powers`` is used, because it needs less memory. It has
        # the sums over documents of mean^i size^j for i + j = 2 and i + j = 4. With clusters,
        # ``_terms`` has the group, mean proportions, size and cluster of each document.
        self._terms: list[tuple[int, Floats, Doubles, Int64s]] = []
        self._powers: dict[tuple[int, int], Doubles] = {}
        if weightings and not clustered:
            self._powers = {
                (i, total - i): np.zeros((groups + 1, topics))
                for total in (2, 4)
                for i in range(total + 1)
            }
        self._clustered, self._units = clustered and weightings > 0, np.zeros(groups + 1)

    def add(self, group: int, values: Array, sizes: Doubles, weights: Array, units: Int64s) -> None:
        """Add n documents of a group to the sums.

        Shapes are (S, n, K) for values, (n,) for sizes and units, and (R, n) for weights.
        """
        mean = values.mean(axis=0)
        self.drawn[:, group] += values.sum(axis=1, dtype=np.float64)
        self.weighted[:, group] += weights @ mean
        if self._clustered:
            self._terms.append((group, mean, sizes, units))
        exactly = mean.astype(np.float64)
        for (i, j), total in self._powers.items():
            total[group] += (sizes**j) @ exactly**i
        self._units[group] += len(sizes)
        self.size[group] += sizes.sum()
        self.weighted_size[:, group] += weights @ sizes
        if len(values) > 1:
            self.noise[group] += values.var(axis=0, ddof=1).sum(axis=0, dtype=np.float64)

    def sampled(self, inside: Array, n: float) -> Sampled:
        """Return draws of shares in the union of the groups ``inside``; n is the effective size."""
        # If there are no documents, the shares become 0.
        size = max(float(self.size @ inside), 1e-9)
        weighted_size = np.maximum(self.weighted_size @ inside, 1e-9)[:, None]
        drawn, weighted = (
            np.einsum("sgk,g->sk", part, inside) for part in (self.drawn, self.weighted)
        )
        drawn /= size
        # Weights are drawn from Exp(1). The variance of a weighted mean is then (n - 1) / (n + 1)
        # times the unbiased variance.
        unbiased = math.sqrt((n + 1) / (n - 1)) if n >= 2 else 0.0
        freedom = np.zeros(drawn.shape[1])
        if n >= 2 and len(weighted):
            freedom = np.minimum(n - 1, self._freedom(inside, drawn.mean(axis=0)))
        return Sampled(
            drawn,
            unbiased * (weighted / weighted_size - drawn.mean(axis=0)),
            inside @ self.noise / size**2,
            freedom,
        )

    def _freedom(self, inside: Array, share: Doubles) -> Doubles:
        """Return the degrees of freedom, (K,), of the variance between documents or clusters.

        If a few units contribute most of the variance, it is as uncertain as the variance of only
        these units. With deviations e of n units, the degrees of freedom are 2 / (sum e^4 / (sum
        e^2)^2 - 1 / n), which is n for normal deviates.
        """
        if self._clustered:
            selected = [terms for terms in self._terms if inside[terms[0]]]
            units = np.concatenate([units for *_, units in selected])
            apart = np.concatenate([mean - size[:, None] * share for _, mean, size, _ in selected])
            order = np.argsort(units, kind="stable")
            begins = np.flatnonzero(np.diff(units[order], prepend=-1))
            # If some clusters have several documents, add up the deviations of each cluster.
            if len(begins) < len(units):
                apart = np.add.reduceat(apart[order], begins, axis=0)
            number, second, fourth = float(len(apart)), *((apart**i).sum(axis=0) for i in (2, 4))
        else:
            number = max(1.0, float(inside @ self._units))
            second, fourth = (self._central(inside, share, power) for power in (2, 4))
        uneven = np.maximum(fourth, 0.0) / np.maximum(second, 1e-150) ** 2
        freedom: Doubles = 2.0 / np.maximum(uneven - 1.0 / number, 1e-9)
        return np.maximum(1.0, freedom)

    def _central(self, inside: Array, share: Doubles, power: int) -> Doubles:
        """Return the sum of (share in a document - ``share``) ** ``power`` over documents, (K,)."""
        total = np.zeros(len(share))
        for (i, j), sums in self._powers.items():
            if i + j == power:
                total += math.comb(power, i) * (-share) ** j * (inside @ sums)
        return total


@lru_cache(maxsize=1)
def _weights_of(units: int, number: int) -> Array:
    """Draw bootstrap weights of documents or clusters, (units, number).

    The weights are cached, because all groupings of a page use the same weights.
    """
    rng = np.random.default_rng(_SEED)
    return rng.standard_exponential((units, number), dtype=np.float32)


class PopulationShares(DocumentVisitor):
    """Estimator of topics' shares in groups of the population from which documents are drawn.

    The uncertainty about other documents is drawn by the Bayesian bootstrap (Rubin 1981): documents
    (or clusters) get weights from Exp(1), and their shares, averaged over the posterior draws, are
    averaged with these weights. The deviations of the weighted means are multiplied by
    sqrt((n + 1) / (n - 1) f / chi^2(f)) with f degrees of freedom, so that means of few documents
    follow Student's t. Here n is the effective number of documents,
    (sum of sizes)^2 / (sum of squared sizes), and f is small if a few documents cause most of the
    variance. The variation between posterior draws of the topics is added, without the noise of
    single documents, because the differences between documents already contain that noise.

    Parameters
    ----------
    groups : GroupOfEach
    """

    def __init__(self, groups: GroupOfEach) -> None:
        self._groups = groups
        self._units = np.arange(len(groups.of)) if groups.cluster is None else groups.cluster

    def begin(self, draws: int, documents: int, topics: int) -> None:
        """Reset the sums over documents. Without samples, there are no weights and no intervals."""
        cells = (self._groups.size + 1) * topics
        number = draws * max(1, min(WEIGHTINGS, _CELLS // cells) // draws) if draws > 1 else 0
        units = int(self._units.max(initial=-1)) + 1
        shape = draws, number, self._groups.size, topics
        clustered = self._groups.cluster is not None
        self._documents = _Sums(*shape, clustered=clustered)
        self._words = _Sums(*shape, clustered=clustered)
        self._weights = _weights_of(units, number)
        self._lengths = np.zeros(documents)

    def add(self, block: DrawnBlock) -> None:
        """Add a block of documents to the sums of the documents' groups."""
        group_ids, units = self._groups.of[block.at], self._units[block.at]
        lengths = block.lengths.astype(np.float64)
        self._lengths[block.at] = lengths
        for group in np.unique(group_ids):
            members = np.flatnonzero(group_ids == group)
            weights = self._weights[units[members]].T
            member_units = units[members]
            self._documents.add(
                group, block.theta[:, members], np.ones(len(members)), weights, member_units
            )
            self._words.add(
                group, block.tokens[:, members], lengths[members], weights, member_units
            )

    @property
    def shares(self) -> Population:
        """Estimated shares of topics in each group and in all documents."""
        return Population(
            self._estimated(self._documents, np.ones(len(self._lengths))),
            self._estimated(self._words, self._lengths),
        )

    def _estimated(self, sums: _Sums, sizes: Doubles) -> EstimatedShares:
        groups, group_ids = self._groups.size, self._groups.of
        shape = sums.noise.shape
        mean, low, high, log_ratio, more_low, more_high, z = (np.zeros(shape) for _ in range(7))
        for group in range(groups + 1):
            in_group = group_ids == group if group < groups else np.ones(len(group_ids), bool)
            inside = np.eye(groups + 1)[group] if group < groups else np.ones(groups + 1)
            shares = sums.sampled(inside, self._effective(sizes, in_group))
            mean[group] = low[group] = high[group] = shares.drawn.mean(axis=0)
            rest = sums.sampled(1.0 - inside, self._effective(sizes, ~in_group))
            log_ratio[group] = more_low[group] = more_high[group] = mean[group] - rest.drawn.mean(
                axis=0
            )
            if len(sums.weighted):
                low[group], high[group] = shares.interval(0.0)
                difference = shares.subtract(rest)
                more_low[group], more_high[group] = difference.interval(-1.0)
                z[group] = difference.in_errors()
        log_ratio[groups] = more_low[groups] = more_high[groups] = 0.0
        sign = np.zeros(shape, np.int64)
        sign[:groups] = sure_signs(z[:groups])
        return EstimatedShares(mean.T, low.T, high.T, log_ratio.T, more_low.T, more_high.T, sign.T)

    def _effective(self, sizes: Doubles, in_group: Array) -> float:
        """Return the effective number of sampling units (documents or clusters) in a selection."""
        size = np.bincount(self._units[in_group], weights=sizes[in_group])
        return float(size.sum() ** 2 / max(1e-300, (size**2).sum()))


def sure_signs(z: Doubles) -> Int64s:
    """Return the sign of each normal deviate, or 0 if the deviate is not significant.

    At most 5 % of the signs other than 0 are expected to be wrong, by the rule of Benjamini & Hochberg
    (1995), which holds for signs too (Benjamini & Yekutieli 2005).

    Parameters
    ----------
    z : array of float64
        Normal deviates, of any shape.

    Returns
    -------
    array of int64, shape of z
        -1, 0 or 1.
    """
    p = np.array([math.erfc(abs(x) / math.sqrt(2)) for x in z.ravel()])
    sure = discoveries(p).reshape(z.shape)
    signs: Int64s = np.where(sure, np.sign(z), 0.0).astype(np.int64)
    return signs


def discoveries(p: Doubles) -> Array:
    """Return a mask of the p-values, (n,), that are significant at a false discovery rate of 5 %.

    Parameters
    ----------
    p : array of float64, (n,)
        p-values; NaN for a missing test.

    Returns
    -------
    array of bool, (n,)
        True for accepted discoveries.
    """
    p = np.where(np.isfinite(p), p, 1.0)
    order = np.argsort(p)
    passed = np.flatnonzero(p[order] <= FALSE * np.arange(1, len(p) + 1) / max(1, len(p)))
    sure = np.zeros(len(p), bool)
    sure[order[: passed.max(initial=-1) + 1]] = True
    return sure
