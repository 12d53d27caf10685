"""TLASGR and TLFSGR, Riemannian steps on the simplex itself (Cong, Chen, Liu and Zhou 2017).

Kernel: cpp/kernels/simplex_tlasgr.cpp. The step size has no unit: a step of 1 goes to the conditional
mean of a topic, and a step of 0 does not move the topic. The step is divided by a running estimate M of
the tokens that a topic has in the corpus: one for each topic of each layer (``tlasgr``), or one for all
of them (``tlfsgr``).

Two arrays are added to the rows: ``m``, (K,) or (1,) float64, and ``updates`` (1,) int64, the
number of its updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from pysgrld.core import core
from pysgrld.options.option import Steps
from pysgrld.samplers.rows import Rows, totals
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import Counts, update_scale
from pysgrld.types import Doubles, Int64s, Key, Schedule

#: Maximum step, as a multiple of the distance to the topic's conditional mean. Steps of more than 2
#: times this distance would diverge.
FARTHEST = 1.9


@dataclass(frozen=True)
class ScaledSettings(SamplerSettings):
    """Settings of TLASGR and TLFSGR: boundary rule, and weights of the preconditioner M."""

    boundary: Literal["clip", "reflect"] = "clip"
    scale_weight: Steps = (0.5, 21.0, 0.7)


def default_step(facts: SamplerFacts, settings: ScaledSettings) -> Steps:
    """Return a small constant step size after a warm-up, else the published schedule.

    The boundary leaves mass on each of the V words, also on the words that a topic does not use.
    The mass grows with the step.
    """
    del settings
    return (0.02, 1.0, 0.0) if facts.warm_up > 0 else (1.0, 21.0, 0.7)


class TopicScales(Rows):
    """Topics of sampler ``tlasgr``; a topic's steps are divided by its estimated token count."""

    names = ("g", "sums", "m", "updates")
    #: True if the steps of all topics are divided by the same running estimate. It estimates the
    #: mean token count of a topic in the lowest layer.
    one_scale: ClassVar[bool] = False
    m: Doubles
    updates: Int64s

    @classmethod
    def from_warm_up(cls, warm: Rows) -> Self:
        """Start sampling with the topics of the warm-up; the step scale M is not yet estimated."""
        m = np.zeros(1 if cls.one_scale else warm.block.shape[1])
        return cls(warm.block, warm.threads, **warm.arrays(), m=m, updates=np.zeros(1, np.int64))

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Update the running token estimate M, and make a step divided by M (eq. 13 to 15, 18)."""
        (v, k), settings = self.block.shape, self.block.settings
        tokens = totals(statistics, self.block)
        estimate = np.array([statistics.level]) if self.one_scale else tokens
        m = update_scale(self.m, self.updates, estimate, Schedule(*settings.scale_weight))
        all_of_it = tokens + v * self.block.prior
        # For a topic without tokens, the step is divided by the topic's prior, V eta.
        steps = np.minimum(h / np.maximum(m, v * self.block.prior), FARTHEST / all_of_it)
        core.simplex_tlasgr(
            **self.update_arguments(key, statistics),
            steps=np.broadcast_to(steps, (k,)).copy(),
            totals=all_of_it,
            clip=settings.boundary == "clip",
        )


class OneScale(TopicScales):
    """Topics of the sampler ``tlfsgr``, whose steps have the same preconditioner for all topics."""

    one_scale = True
