"""Posterior draws of a learned Dirichlet parameter eta, which all words and topics share.

A priori eta - `FLOAT_ETA` has an exponential distribution, such that eta has the mean
`pysgrld.options.priors.ETA`. With a smaller eta, topics could not be stored in single precision.
The logarithm of eta is updated by slice sampling (Neal 2003), which leaves the distribution exactly
invariant:

- `GivenTopics`: given phi, prod_k Gamma(V eta) / Gamma(eta)^V prod_w phi_kw^(eta - 1). A
  probability at its floor in single precision is known only to lie below the floor: its factor is
  the integral up to the floor, floor^eta / eta. Rows of topics are unnormalised; their sums carry
  no information here, as the distribution of phi given eta is the same at any scale
  (docs/internals/mathematics.md, "Learned priors").
- `GivenCounts`: given the counts N_kw of the whole corpus, phi integrated out:
  prod_k Gamma(V eta) / Gamma(V eta + N_k) prod_w Gamma(eta + N_kw) / Gamma(eta).

Array: ``eta`` (1,) float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import dot, log
from pysgrld.options.priors import ETA
from pysgrld.samplers.log_rows import FLOAT_ETA
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import Block, Doubles, Floats, Int32s, Key

#: Upper bound of eta.
MOST = 1e6
#: Slice sampling begins with an interval of this width for log(eta). Each extension of the interval
#: has the same width.
_WIDTH = 0.1
#: Maximum number of points tried in an update by slice sampling. It guarantees that the loop ends,
#: and is never reached in practice.
_TRIES = 200
#: Logarithms are summed for this number of rows of the topic matrix at a time. The number limits
#: memory and fixes the order of summation.
_TOGETHER = 4096


class Concentration(BlockState[Any]):
    """State of a learned Dirichlet parameter eta; subclasses draw eta from different statistics."""

    names = ("eta",)
    of_topics = "eta"
    eta: Doubles

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Any]:
        """Create a state with eta at its prior mean; nothing is drawn."""
        del key
        return cls(block, threads, eta=np.array([block.prior]))

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return a vector, (16,) float32, with eta as the first element and zeros as padding."""
        del words
        row = np.zeros(padded_width(1), np.float32)
        row[0] = self.eta[0]
        return row

    def _draw(self, key: Key, log_likelihood: Callable[[float], float]) -> None:
        """Draw eta by slice sampling, given its log likelihood as a function of eta."""
        ordinals = np.arange(_TRIES + 2)
        u = core.uniforms(
            np.zeros(len(ordinals), np.int64),
            ordinals,
            key.seed,
            key.chain,
            core.Purpose.eta_slice,
            key.step,
        )

        def log_density(x: float) -> float:  # The argument x is log(eta).
            eta = math.exp(x)
            return log_likelihood(eta) - (eta - FLOAT_ETA) / (ETA - FLOAT_ETA) + x

        low, high = math.log(FLOAT_ETA), math.log(MOST)
        self.eta[0] = math.exp(slice_sample(log_density, math.log(self.eta[0]), low, high, u))


class GivenTopics(Concentration):
    """A learned Dirichlet parameter eta that is drawn given the topics."""

    def step(self, key: Key, statistics: Floats, h: float) -> None:
        """Draw eta given the topics' word probabilities; the step size ``h`` is unused.

        ``statistics`` is phi of all words, (V, Kp), with any number of padding columns.
        """
        del h
        v, k = self.block.hyper
        cells = v * k
        logs, n_above_floor = 0.0, 0
        for begin in range(0, int(v), _TOGETHER):
            phi = statistics[begin : begin + _TOGETHER, : int(k)]
            seen = phi[phi > core.PHI_FLOOR]
            logs += float(log(seen.astype(np.float64)).sum())
            n_above_floor += len(seen)
        below, floor = cells - n_above_floor, math.log(core.PHI_FLOOR)

        def log_likelihood(eta: float) -> float:
            return (
                k * math.lgamma(v * eta)
                - cells * math.lgamma(eta)
                + (eta - 1.0) * logs
                + below * (eta * floor - math.log(eta))
            )

        self._draw(key, log_likelihood)


class GivenCounts(Concentration):
    """A learned Dirichlet parameter eta that is drawn given the whole corpus's topic counts.

    The counts are whole tokens.
    """

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw eta given each word's token count in each topic; the step size ``h`` is unused.

        The topics are integrated out.
        """
        del h
        v, k = self.block.hyper
        cell_counts = np.rint(statistics.counts[:, : int(k)] * statistics.factor).astype(np.int64)
        totals = cell_counts.sum(axis=0).tolist()
        # log Gamma(eta + n) - log Gamma(eta) is the sum of log(eta + j) over all j < n. `beyond[j]`
        # is the number of counts n that are above j.
        beyond = np.bincount(cell_counts.ravel())[::-1].cumsum()[::-1][1:].astype(np.float64)
        offsets = np.arange(len(beyond), dtype=np.float64)

        def log_likelihood(eta: float) -> float:
            rising = sum(math.lgamma(v * eta) - math.lgamma(v * eta + n) for n in totals)
            return rising + dot(beyond, log(eta + offsets))

        self._draw(key, log_likelihood)


def slice_sample(
    log_density: Callable[[float], float], x: float, low: float, high: float, u: Doubles
) -> float:
    """Update a number by slice sampling, with stepping out and shrinkage.

    This leaves the number's distribution invariant: Neal (2003), figures 3 and 5.

    Parameters
    ----------
    log_density : callable
        Log density of the number, up to a constant.
    x : float
        Current value, within the bounds.
    low, high : float
        Bounds of the number.
    u : (n,) float64
        Uniforms in (0, 1): the first for the level, the second for the position of the interval.
    """
    level = log_density(x) + math.log(u[0])
    lower = x - _WIDTH * u[1]
    right = lower + _WIDTH
    while lower > low and log_density(lower) > level:
        lower -= _WIDTH
    while right < high and log_density(right) > level:
        right += _WIDTH
    lower, right = max(lower, low), min(right, high)
    for share in map(float, u[2:]):
        tried: float = lower + share * (right - lower)
        if log_density(tried) >= level:
            return tried
        if tried < x:
            lower = tried
        else:
            right = tried
    return x
