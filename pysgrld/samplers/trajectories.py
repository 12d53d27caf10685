"""Geodesic Monte Carlo on the whole corpus (Byrne and Girolami 2013; Liu et al. 2016, section 5.3).

Trajectories of leapfrog steps along geodesics are accepted by Metropolis's rule. With one sample of
every document's proportions, which continue from the last iteration, it is a blocked Gibbs sampler
(GMC-bGibbs). With several samples the energy is an expected one, and the method an approximation
(GMC-apprMH).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pysgrld.core import core
from pysgrld.samplers.points import Points
from pysgrld.samplers.sampler import SamplerSettings
from pysgrld.samplers.state import Potential
from pysgrld.types import Array, Block, Doubles, Key


@dataclass(frozen=True)
class TrajectorySettings(SamplerSettings):
    """Settings of geodesic Monte Carlo: the number of steps of a trajectory."""

    leapfrog_steps: int = 5


class Trajectories(Points):
    """Points on spheres that are updated by trajectories, each accepted or rejected.

    ``accepted`` (2,) counts the accepted trajectories and all trajectories.
    """

    names: ClassVar[tuple[str, ...]] = (*Points.names, "accepted")
    accepted: Doubles

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state, with their values before the first step."""
        return super().new_arrays(block) | {"accepted": np.zeros(2)}

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Follow a trajectory of steps of size ``h``, and accept or reject its end."""
        slope = statistics.drawn(key, 0, self.x)
        before = {name: array.copy() for name, array in self.arrays().items()}
        self.v[:], self.squares[:] = 0.0, 0.0
        self.push(key, 0, np.zeros_like(self.x), sd=1.0)
        start = slope.energy + 0.5 * self.kinetic()
        for part in range(self.block.settings.leapfrog_steps):
            if part:
                slope = statistics.at(self.x)
            self.push(key, 0, slope.gradient, h if part else 0.5 * h)
            self.drift(h)
        slope = statistics.at(self.x)
        self.push(key, 0, slope.gradient, 0.5 * h)
        gained = start - slope.energy - 0.5 * self.kinetic()
        self.accepted[1] += 1.0
        if math.log(uniform(key)) <= gained:
            self.accepted[0] += 1.0
            return
        for name in Points.names:
            getattr(self, name)[...] = before[name]

    def figures(self) -> dict[str, float]:
        """Return the fraction of accepted trajectories."""
        accepted, every = self.accepted.tolist()
        return {"acceptance": accepted / max(1.0, every)}

    def kinetic(self) -> float:
        """Return the sum of squared velocities."""
        return math.fsum(self.squares[: self.block.shape[1]].tolist())


def uniform(key: Key) -> float:
    """Draw the uniform variate that decides whether an iteration's trajectory is accepted."""
    index = np.zeros(1, np.int64)
    purpose = core.Purpose.sphere_accept
    return float(core.uniforms(index, index, key.seed, key.chain, purpose, key.step)[0])
