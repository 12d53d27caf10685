"""TLASGR and TLFSGR: Riemannian steps on the simplex itself (Cong, Chen, Liu and Zhou 2017).

Kernel: cpp/kernels/simplex_tlasgr.cpp. The step size is free of units: 1 goes to the conditional
mean of a topic, 0 stays. It is divided by a running estimate M of the tokens that a topic has in the
corpus: of each topic of each layer (``tlasgr``), or one for all of them (``tlfsgr``).

To the arrays of rows come ``m``, (K,) or (1,) float64, and ``updates`` (1,) int64, how often it was
updated.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from pysgrld.core import core
from pysgrld.options.resolved import Steps
from pysgrld.samplers.protocol import Counts, StepFacts
from pysgrld.samplers.running import no_estimate, update
from pysgrld.samplers.simplex.rows import Rows, totals
from pysgrld.types import Block, Doubles, Int64s, Key

#: Most of the way to a topic's conditional mean that a step may go: beyond 2 it would diverge.
FARTHEST = 1.9


def default_step(facts: StepFacts) -> Steps:
    """Give a small constant step after a warm-up; without one, the published schedule.

    The edge leaves mass on each of the V words, also on those that a topic does not use: the more, the
    longer the step.
    """
    return (0.02, 1.0, 0.0) if facts.warm_up > 0 else (1.0, 21.0, 0.7)


class ScaledRows(Rows):
    """Rows that move by steps over a running scale."""

    names = ("g", "sums", "m", "updates")
    m: Doubles
    updates: Int64s

    @classmethod
    def settled(cls, warm: Rows) -> Self:
        """Go on with the rows as they are, their scales unknown as yet."""
        m, updates = no_estimate(cls.scales(warm.block))
        return cls(warm.block, warm.threads, **warm.arrays(), m=m, updates=updates)

    @staticmethod
    @abstractmethod
    def scales(block: Block) -> int:
        """Give the number of running scales."""

    @abstractmethod
    def estimate(self, found: Counts) -> Doubles:
        """Estimate the scales by a minibatch, (K,) or (1,)."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make one step (eq. 13 to 15, 18), by the scale that this minibatch has already changed."""
        v, k = self.block.shape
        m = update(self.m, self.updates, self.estimate(statistics), self.block.weight)
        all_of_it = totals(statistics, self.block) + v * self.block.prior
        # a topic that got nothing has its prior to go by
        steps = np.minimum(h / np.maximum(m, v * self.block.prior), FARTHEST / all_of_it)
        core.simplex_tlasgr(
            **self.arguments(key, statistics),
            steps=np.broadcast_to(steps, (k,)).copy(),
            totals=all_of_it,
            clip=self.block.clip,
        )


class TopicScales(ScaledRows):
    """Rows with a scale for each topic: ``tlasgr``."""

    @staticmethod
    def scales(block: Block) -> int:
        """Give K."""
        return block.shape[1]

    def estimate(self, found: Counts) -> Doubles:
        """Give N_k, (K,)."""
        return totals(found, self.block)


class OneScale(ScaledRows):
    """Rows with one scale, the mean over the topics of the lowest layer: ``tlfsgr``."""

    @staticmethod
    def scales(block: Block) -> int:
        """Give 1."""
        del block
        return 1

    def estimate(self, found: Counts) -> Doubles:
        """Give N / K of the lowest layer, (1,)."""
        return np.array([found.level])
