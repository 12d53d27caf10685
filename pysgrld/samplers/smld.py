"""SMLD, stochastic mirrored Langevin dynamics (Hsieh, Kavis, Rolland and Cevher 2018, section 5.2).

Kernel: cpp/kernels/simplex_smld.cpp. The state is dual: ``y`` (V, Kp) float32 is log(phi / phi of
the last word), and ``log_sums`` (Kp,) float64 are the logarithms of the sums of exp(y). Noise has
the same size for all words. The log weight of a word that a topic does not use therefore moves no
faster than the log weight of a word that the topic uses. The tail of the posterior is explored in a
time of order 1/eta^2, which is longer than any run.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from pysgrld.core import core
from pysgrld.core.arithmetic import exp, log
from pysgrld.options.option import Steps
from pysgrld.samplers.rows import Rows, StateFromRows, totals
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Doubles, Floats, Int32s, Key


def default_step(facts: SamplerFacts, settings: SamplerSettings) -> Steps:
    """Return a step size that is stable for an average topic.

    The bound follows from the curvature of the dual (Hsieh et al. 2018).
    """
    del settings
    curvature = facts.words * facts.eta + facts.tokens / facts.topics
    return (min(0.5 / curvature, 0.01), 1000.0, 0.55)


class Dual(StateFromRows):
    """Topics in dual coordinates, updated by Langevin steps with isotropic noise."""

    names = ("y", "log_sums")
    of_topics = "log_sums"
    y: Floats
    log_sums: Doubles

    #: True if exp(y) is approximated by 1 + y.
    approximate: ClassVar[bool] = False

    @classmethod
    def from_warm_up(cls, warm: Rows) -> Self:
        """Start sampling with the rows of the warm-up, converted to dual coordinates.

        The probabilities phi do not change.
        """
        k = warm.block.shape[1]
        y = core.zeros(len(warm.g), warm.g.shape[1], "float32")
        g = warm.g[:, :k]
        if cls.approximate:
            y[:-1, :k] = g[:-1] / g[-1] - 1.0
            unnormalised = np.maximum(1.0 + y[:, :k].astype(np.float64), 1e-8)
        else:
            log_g = log(np.maximum(g, np.finfo(np.float32).tiny).astype(np.float64))
            y[:, :k] = log_g - log_g[-1]
            unnormalised = exp(y[:, :k].astype(np.float64))
        log_sums = np.zeros(y.shape[1])
        log_sums[:k] = log(unnormalised.sum(axis=0))
        return cls(warm.block, warm.threads, y=y, log_sums=log_sums)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make a Langevin step of the dual coordinates y.

        y <- y + h (eta + N - (V eta + N.) phi) + sqrt(2h) z, with N the estimated counts, N. their
        sums over words, and z ~ N(0, 1). The last y of a topic stays 0.
        """
        v, k = self.block.shape
        core.simplex_smld(
            y=self.y,
            log_sums=self.log_sums,
            topics=k,
            eta=self.block.prior,
            rows=statistics.rows,
            counts=statistics.counts,
            factor=statistics.factor,
            h=h,
            totals=totals(statistics, self.block) + v * self.block.prior,
            approximate=self.approximate,
            **key._asdict(),
            stream=self.block.stream,
            work=self.work,
            threads=self.threads,
        )

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return the probabilities phi of the given words in each topic, (R, Kp)."""
        return core.simplex_smld_phi(
            y=self.y,
            log_sums=self.log_sums,
            topics=self.block.shape[1],
            rows=words,
            approximate=self.approximate,
            work=None if words is None else self.work,
            threads=self.threads,
        )


class ApproximateDual(Dual):
    """Topics in dual coordinates, with exp(y) approximated by 1 + y as in the paper's code.

    The approximation is at least 1e-8.
    """

    approximate = True
