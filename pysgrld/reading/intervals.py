"""Intervals of what kept posterior samples vary in, and whether they are credible intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import by_chain
from pysgrld.evaluate.convergence import convergence
from pysgrld.types import Array, Doubles

#: Kept samples from which an interval is read.
ENOUGH = 20
#: Share of the draws that lies within an interval.
SHARE = 0.9
#: Effective size below which none is believed: a few draws of slow chains cannot tell it.
LEAST = 2.5


class Spread(NamedTuple):
    """The draws that intervals are read from, beside the posterior.

    Attributes
    ----------
    algo : str
    faithful : bool
        Whether they are the posterior's, as those of exact samplers are: intervals are credible.
    noise : float or None
        How much minibatch noise inflates their variance given the counts; 1 for exact samplers, None
        where it is not known.
    width : float or None
        About how many times as wide as the posterior's the intervals are.
    remedy : str or None
        Options of training that would make them credible intervals.
    worth : mapping of str to float
        Independent draws that those of an exact stage are worth, by what figures are of: medians.
    chains : int
        Chains that are read as one.
    stretch : float or None
        About how many times as wide as the posterior's intervals are that are for other texts like
        these; None for these documents alone.
    """

    algo: str
    faithful: bool
    noise: float | None
    width: float | None
    remedy: str | None
    worth: Mapping[str, float] = MappingProxyType({})
    chains: int = 1
    stretch: float | None = None

    @property
    def title(self) -> str:
        """Name of the intervals."""
        return f"{100 * SHARE:.0f} % {'interval' if self.faithful else 'of draws'}"

    def remark(self) -> str | None:
        """Return what is to be known of the intervals, in a sentence, or None if nothing is."""
        if self.faithful and self.stretch is not None:
            return (
                f"for other texts like these, about {self.stretch:.1f} times as wide as for these "
                "documents alone (--population these), by replicates on resampled documents"
            )
        if self.faithful and self.chains > 1:
            return (
                "draws of all chains that have a topic, of each as many; where these disagree bounds are "
                "wider, as much as for so few chains"
            )
        if self.faithful and self.worth:
            told = ", ".join(f"{n:.0f} for {of}" for of, n in self.worth.items())
            return f"the draws are worth as many independent ones: {told}; bounds allow for that"
        if self.faithful:
            return None
        if self.worth:
            return (
                "exact draws, of chains that have swept too few times to be sure that they have come to "
                f"rest; {self.remedy} gives intervals"
            )
        if self.noise is None or self.width is None:
            return (
                f"how much more draws of {self.algo} vary than the posterior is not known; compare with "
                f"{self.remedy or '--algo gibbs'}"
            )
        return (
            f"about {self.width:.2g} times as wide as credible intervals, by the noise of minibatches, "
            "and perhaps beside them, as means of topics may be off by more than the posterior's width; "
            f"{self.remedy} gives credible ones, in a run that mixes more slowly"
        )


def bounds(draws: Array, effective: Doubles | None = None) -> tuple[Doubles, Doubles]:
    """Return the 5 % and 95 % quantiles over the first axis, of draws from a posterior.

    The i-th of S draws in order is the quantile i / (S + 1), so that the truth, which is exchangeable
    with draws from its posterior, lies between the bounds nine times in ten, however few they are: with
    (i - 1) / (S - 1), NumPy's own, 20 draws would cover 81 %.

    Parameters
    ----------
    draws : (S, ...)
    effective : (...) float64, optional
        Effective sizes of draws that are not independent. n of these spread by (n - 1) / n of the
        posterior's variance about a mean that is off by 1 / n of it: bounds are farther from the mean by
        sqrt((1 + 1/n) / (1 - 1/n)), and none is below 0.
    """
    tail = (1.0 - SHARE) / 2
    low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0, method="weibull")
    if effective is not None:
        # two at least: of a single draw both bounds are the draw
        n = np.clip(np.nan_to_num(effective, nan=len(draws)), LEAST, max(2, len(draws)))
        factor, mean = np.sqrt((1 + 1 / n) / (1 - 1 / n)), draws.mean(axis=0, dtype=np.float64)
        low, high = np.maximum(0.0, mean + (low - mean) * factor), mean + (high - mean) * factor
    return low, high


class Interval(NamedTuple):
    """Bounds within which 90 % of the draws lie, of values that every sample has.

    Attributes
    ----------
    low, high : float64 arrays
        The 5 % and 95 % quantiles over the samples.
    low_open, high_open : bool arrays
        Whether the quantile lies below what is given, because top-word samples lack the value.
    worth : float64 array
        Effective sizes of the draws; NaN where they are not known, or values never change.
    """

    low: Doubles
    high: Doubles
    low_open: Array
    high_open: Array
    worth: Doubles


def effective_sizes(chains: Sequence[Array], *, exact: bool) -> Doubles:
    """Return the effective sizes of draws of one or several chains together.

    Parameters
    ----------
    chains : sequence of (S, ...)
        Draws of each, in their order; of longer ones the last are left out.
    exact : bool
        Whether they are of exact stages, which draw from one chain of theirs after the other.
    """
    parts = [by_chain(draws) if exact else np.asarray(draws, np.float64)[None] for draws in chains]
    least = min(part.shape[1] for part in parts)
    return convergence(np.concatenate([part[:, :least] for part in parts])).bulk


def interval(
    chains: Sequence[Sequence[tuple[Array, Array]]], has: Array | None = None, *, exact: bool
) -> Interval | None:
    """Return the bounds within which 90 % of the draws lie, or None if a chain has fewer than 20.

    Draws of several chains are pooled: what these differ by belongs to what is not known, and bounds
    allow for how few chains there are.

    Parameters
    ----------
    chains : sequence of sequence of (values, censored)
        Of each chain its kept samples in their order, (K, ...) both: values, and whether they are but
        upper bounds of theirs.
    has : (C, K) bool, optional
        Whose draws count for each topic; by default all.
    exact : bool
        Whether they are of exact stages, of one chain of theirs after the other: bounds then allow for
        the effective size of the draws.
    """
    if min(map(len, chains)) < ENOUGH:
        return None
    values = [np.stack([value for value, _ in chain]) for chain in chains]
    censored = [np.stack([missing for _, missing in chain]) for chain in chains]
    if has is None:
        has = np.ones((len(chains), values[0].shape[1]), bool)
    shape = values[0].shape[1:]
    none = np.zeros(shape, bool)
    found = Interval(np.empty(shape), np.empty(shape), none, none.copy(), np.full(shape, np.nan))
    for some in np.unique(has, axis=1).T:  # topics that the same chains have
        topics = np.flatnonzero((has == some[:, None]).all(axis=0))
        which = np.flatnonzero(some)
        drawn = [values[c][:, topics] for c in which]
        known = len(drawn) > 1 or (exact and len(drawn[0]) >= ENOUGH * 2)
        effective = effective_sizes(drawn, exact=exact) if known else None
        pooled = np.concatenate(drawn)
        found.low[topics], found.high[topics] = bounds(pooled, effective)
        if effective is not None:
            found.worth[topics] = effective
        missing = np.concatenate([censored[c][:, topics] for c in which])
        if (
            missing.any()
        ):  # what a quantile is made of is known unless it would be another one of less
            less, full = bounds(np.where(missing, pooled - 1.0, pooled)), bounds(pooled)
            found.low_open[topics] = less[0] < full[0]
            found.high_open[topics] = less[1] < full[1]
    return found
