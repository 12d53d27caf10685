"""Intervals of quantities, computed from stored samples, and remarks on what the intervals mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import split_by_chain
from pysgrld.evaluate.convergence import bulk_sizes
from pysgrld.types import Array, Doubles

#: Minimum number of stored samples from which an interval is computed.
ENOUGH = 20
#: Fraction of the samples that lie within an interval.
SHARE = 0.9
#: Lower bound of an estimated effective sample size. Estimates from the few samples of a slow chain
#: are imprecise.
LEAST = 2.5


class Spread(NamedTuple):
    """Spread of posterior samples, compared with the spread of the exact posterior.

    Attributes
    ----------
    algo : str
    faithful : bool
        True if the draws have the spread of the posterior, as in exact samplers: the intervals are
        then credible intervals.
    noise : float or None
        Factor by which minibatch noise inflates the variance of draws given the counts; 1 for exact
        samplers, None if unknown.
    width : float or None
        Approximate width of the intervals, divided by the width of credible intervals.
    remedy : str or None
        Training options that would give credible intervals.
    ess : mapping of str to float
        Median effective sample sizes of the Gibbs refinement, by kind of quantity.
    chains : int
        Number of chains that are pooled.
    stretch : float or None
        Approximate width of intervals for other texts like these, divided by the width of credible
        intervals for these documents alone. None if intervals are for these documents alone.
    """

    algo: str
    faithful: bool
    noise: float | None
    width: float | None
    remedy: str | None
    ess: Mapping[str, float] = MappingProxyType({})
    chains: int = 1
    stretch: float | None = None

    @property
    def sense(self) -> dict[str, str]:
        """Fields ``interval_of`` and ``population``, which define the type of the intervals."""
        return sense_of(self.faithful, "these" if self.stretch is None else "alike")

    @property
    def title(self) -> str:
        """Title of the intervals in a table, such as "90 % interval"."""
        return f"{100 * SHARE:.0f} % {'interval' if self.faithful else 'of draws'}"

    @property
    def relative_width(self) -> str:
        """Width of the intervals as a phrase, such as "1.4 times as wide as" or "as wide as"."""
        width = f"{self.width:.2g}"
        return "as wide as" if width == "1" else f"{width} times as wide as"

    def remark(self) -> str | None:
        """Return a remark on what the intervals mean, or None if no remark is needed."""
        if self.faithful and self.stretch is not None:
            return (
                f"valid for other texts like these; about {self.stretch:.1f} times as wide as "
                "intervals for only these documents (--population these), as estimated by "
                "training on resampled documents"
            )
        if self.faithful and self.chains > 1:
            return (
                "computed from all chains that have the topic, with equal weight; wider if "
                "the chains disagree"
            )
        if self.faithful and self.ess:
            sizes = ", ".join(f"{n:.0f} for {quantity}" for quantity, n in self.ess.items())
            return f"intervals allow for the effective sample size (ESS): {sizes}"
        if self.faithful:
            return None
        if self.ess:
            return (
                "the Gibbs refinement may not have converged, so these are ranges of draws, not "
                f"credible intervals; for credible intervals, use {self.remedy}"
            )
        if self.noise is None or self.width is None:
            return (
                f"{self.algo} may inflate the variance of samples by an unknown amount; compare "
                f"with {self.remedy or '--algo gibbs'}"
            )
        return (
            f"with minibatch noise, these ranges are about {self.relative_width} credible "
            f"intervals, and may be shifted; for credible intervals, use {self.remedy}"
        )


def sense_of(is_posterior: bool, population: str) -> dict[str, str]:
    """Return the fields ``interval_of`` and ``population``, which define the type of intervals.

    Parameters
    ----------
    is_posterior : bool
        True for credible intervals, False for ranges of draws of another spread.
    population : str
        "alike" if the intervals hold for other texts like these, "these" if they hold for these
        documents alone.

    Returns
    -------
    dict of str to str
        ``interval_of`` ("posterior" or "draws") and ``population``.
    """
    return {"interval_of": "posterior" if is_posterior else "draws", "population": population}


def bounds(draws: Array, effective: Doubles | None = None) -> tuple[Doubles, Doubles]:
    """Return the 5 % and the 95 % quantile of posterior samples along the first axis.

    The i-th smallest of S draws is the quantile i / (S + 1). The true value is exchangeable with
    draws from its posterior, so the true value lies between the bounds nine times in ten for any
    number of draws. With NumPy's default, (i - 1) / (S - 1), the bounds of 20 draws would cover 81
    %.

    Parameters
    ----------
    draws : (S, ...)
    effective : (...) float64, optional
        Effective sample sizes n of draws that are not independent. The variance of such draws is
        about (n - 1) / n of the posterior's, and the variance of their mean is 1 / n of it:
        distances of the bounds from the mean are therefore multiplied by sqrt((1 + 1/n) / (1 -
        1/n)), and no bound is below 0.

    Returns
    -------
    (Doubles, Doubles)
        Lower and upper bounds, in the shape of one draw.
    """
    tail = (1.0 - SHARE) / 2
    low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0, method="weibull")
    if effective is not None:
        # Use an effective sample size n of at least 2, even for a single sample, because n = 1
        # would give an infinite factor.
        n = np.clip(np.nan_to_num(effective, nan=len(draws)), LEAST, max(2, len(draws)))
        factor, mean = np.sqrt((1 + 1 / n) / (1 - 1 / n)), draws.mean(axis=0, dtype=np.float64)
        low, high = np.maximum(0.0, mean + (low - mean) * factor), mean + (high - mean) * factor
    return low, high


class Interval(NamedTuple):
    """Bounds between which 90 % of the samples lie, for each of several values.

    Attributes
    ----------
    low, high : float64 arrays
        The 5 % and 95 % quantiles over the samples.
    low_open, high_open : bool arrays
        True if the quantile is known only to lie below the given bound, because top-word samples
        lack the value.
    ess : float64 array
        Effective sample sizes; NaN if an effective sample size is unknown, or the value never
        changes.
    """

    low: Doubles
    high: Doubles
    low_open: Array
    high_open: Array
    ess: Doubles


def effective_sizes(chains: Sequence[Array], *, exact: bool) -> Doubles:
    """Return effective sample sizes of several quantities, from pooled samples of all chains.

    Parameters
    ----------
    chains : sequence of (S, ...)
        Draws of each chain, in the order of iterations; longer chains are cut to the shortest.
    exact : bool
        True for draws of Gibbs refinements, which take draws from their chains in turn.
    """
    parts = [
        split_by_chain(draws) if exact else np.asarray(draws, np.float64)[None] for draws in chains
    ]
    least = min(part.shape[1] for part in parts)
    return bulk_sizes(np.concatenate([part[:, :least] for part in parts]))


def interval(
    chains: Sequence[Sequence[tuple[Array, Array]]], has: Array | None = None, *, exact: bool
) -> Interval | None:
    """Return the bounds of 90 % intervals, or None if a chain has fewer than 20 samples.

    Samples of several chains are pooled, so that differences between chains are part of the
    uncertainty. The bounds are widened because the number of chains is small.

    Parameters
    ----------
    chains : sequence of sequence of (values, censored)
        For each chain, its kept samples in the order of iterations: the values, (K, ...), and an
        array of the same shape that is True for values that are only upper bounds.
    has : (C, K) bool, optional
        True if the draws of a chain count for a topic; by default all draws count.
    exact : bool
        True for draws of Gibbs refinements, which take draws from their chains in turn: bounds then
        allow for the effective sample size.

    Returns
    -------
    Interval or None
        Bounds of shape (K, ...).
    """
    if min(map(len, chains)) < ENOUGH:
        return None
    values = [np.stack([value for value, _ in chain]) for chain in chains]
    censored = [np.stack([missing for _, missing in chain]) for chain in chains]
    if has is None:
        has = np.ones((len(chains), values[0].shape[1]), bool)
    shape = values[0].shape[1:]
    none = np.zeros(shape, bool)
    result = Interval(np.empty(shape), np.empty(shape), none, none.copy(), np.full(shape, np.nan))
    # Process together the topics that occur in the same set of chains.
    for pattern in np.unique(has, axis=1).T:
        topics = np.flatnonzero((has == pattern[:, None]).all(axis=0))
        which = np.flatnonzero(pattern)
        drawn = [values[c][:, topics] for c in which]
        has_size = len(drawn) > 1 or (exact and len(drawn[0]) >= ENOUGH * 2)
        effective = effective_sizes(drawn, exact=exact) if has_size else None
        pooled = np.concatenate(drawn)
        result.low[topics], result.high[topics] = bounds(pooled, effective)
        if effective is not None:
            result.ess[topics] = effective
        missing = np.concatenate([censored[c][:, topics] for c in which])
        # The true value of a censored probability may be lower than the stored value. A bound of an
        # interval is open if it could be lower for this reason.
        if missing.any():
            less, full = bounds(np.where(missing, pooled - 1.0, pooled)), bounds(pooled)
            result.low_open[topics] = less[0] < full[0]
            result.high_open[topics] = less[1] < full[1]
    return result
