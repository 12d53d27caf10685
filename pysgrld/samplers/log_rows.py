"""Topics stored as logarithms of unnormalised word weights, which may be arbitrarily small.

``log_g`` (V, K) float64 are the logarithms. A Gamma(0.01) variate is below the smallest float32
with probability 0.36. For training that is harmless down to eta = 0.01: if such a value becomes 0,
the next state is the same, up to events of probability below 1e-38. For a smaller eta, samplers
that explore the sparse tail keep logarithms. Only this module states this rule.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import exp, log, logaddexp
from pysgrld.samplers.rows import Rows, draw_initial_rows
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import Block, Doubles, Floats, Int32s, Key

#: Smallest Dirichlet parameter eta for which single precision is exact enough to store topics.
FLOAT_ETA = 0.01


def log_sums(log_g: Doubles) -> Doubles:
    """Return the logarithm of each topic's sum of exp(log_g) over all words, (K,)."""
    top = log_g.max(axis=0)
    return np.asarray(top + log(exp(log_g - top).sum(axis=0)))


def gamma_shapes(counts: Counts, block: Block) -> Doubles:
    """Return the gamma shape eta + N_kw of each word in each topic, (V, K).

    N_kw is the estimated number of the word's tokens in the topic.
    """
    v, k = block.shape
    a = np.full((v, k), block.prior)
    a[counts.rows] += counts.counts[:, :k] * counts.factor
    return a


def cir_transition(
    key: Key,
    log_g: Doubles,
    shape: Doubles,
    *,
    stream: int,
    h: float,
    threads: int,
    kappa: Doubles | None = None,
) -> None:
    """Update log gamma variates in place by one Cox-Ingersoll-Ross (CIR) transition.

    The transition is exact for any length, even an infinite one.

    Kernel: cpp/kernels/simplex_scir_log.cpp (Baker et al. 2018, section 2.3).

    Parameters
    ----------
    key : Key
    log_g : (V, K) float64
    shape : (V, K) float64
        Shape of the stationary gamma distribution of each element, > 0.
    stream : int
        Separates this block's randomness from that of other blocks.
    h : float
        Length, > 0.
    threads : int
    kappa : (K,) float64, optional
        Rate of the process of each topic; 1 by default.
    """
    core.simplex_scir_log(
        log_g=log_g, shape=shape, h=h, kappa=kappa, **key._asdict(), stream=stream, threads=threads
    )


class LogRows(BlockState[Counts]):
    """Topics stored as logarithms in double precision; subclasses for samplers differ in `step`."""

    names = ("log_g",)
    log_g: Doubles

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Counts]:
        """Draw initial rows in single precision, as `Rows` does, and convert them to logarithms."""
        g = draw_initial_rows(key, block, threads)["g"][:, : block.shape[1]]
        log_g = log(np.maximum(g, np.finfo(np.float32).tiny).astype(np.float64))
        return LogWarmUp(block, threads, cls, log_g=log_g)

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return the probabilities phi of the given words in each topic, with a small lower bound.

        Because of the bound, each token can have some topic.
        """
        k = self.block.shape[1]
        sums = log_sums(self.log_g)
        chosen = self.log_g if words is None else self.log_g[words]
        phi = core.zeros(len(chosen), padded_width(k), "float32")
        phi[:, :k] = np.maximum(exp(chosen - sums), core.PHI_FLOOR)
        return phi

    def summary(self) -> Doubles:
        """Return each topic's largest logarithm, (K,)."""
        return np.asarray(self.log_g.max(axis=0))


class LogWarmUp(LogRows):
    """Topics stored as logarithms, in the noise-free warm-up (means of CIR transitions)."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make the noise-free step g <- g e^-h + (eta + N)(1 - e^-h), with N the counts."""
        del key
        towards = log(gamma_shapes(statistics, self.block)) + math.log(-math.expm1(-h))
        self.log_g = logaddexp(self.log_g - h, towards)


LogRows.warm_up = LogWarmUp


class RowsOrLogs(Rows):
    """Topics stored as rows, or as logarithms if eta is too small for single precision."""

    logs: ClassVar[type[LogRows]]

    @classmethod
    def form(cls, block: Block) -> type[BlockState[Any]]:
        """Return the state class: rows, or logarithms if eta is too small for single precision."""
        return cls.logs if block.prior < FLOAT_ETA else cls
