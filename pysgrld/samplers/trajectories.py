"""Geodesic Monte Carlo on the whole corpus (Byrne and Girolami 2013; Liu et al. 2016, section 5.3).

Trajectories of leapfrog steps along geodesics are accepted by Metropolis's rule. With one sample of
every document's proportions, which continue from the last iteration, it is a blocked Gibbs sampler
(GMC-bGibbs). With several samples the energy is an expected one, and the method an approximation
(GMC-apprMH).

In the first iterations, if the settings ask for it, the step size is adapted towards an acceptance of
`ACCEPTED` by dual averaging (Hoffman and Gelman 2014, section 3.2); then it is constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core
from pysgrld.samplers.points import Points
from pysgrld.samplers.sampler import SamplerSettings
from pysgrld.samplers.state import BlockState, Potential
from pysgrld.types import Array, Block, Doubles, Key

#: Target acceptance probability of trajectories with an adapted step size.
ACCEPTED = 0.65
#: Constant gamma of dual averaging in Hoffman and Gelman (2014), section 3.2.1.
SHRINKAGE = 0.05
#: Constant t0 of dual averaging.
DELAY = 10.0
#: Constant kappa of dual averaging.
FORGETTING = 0.75
#: Constant exp(mu) of dual averaging, divided by the first step size. The adapted step size is
#: shrunk towards exp(mu).
AMBITION = 10.0


@dataclass(frozen=True)
class TrajectorySettings(SamplerSettings):
    """Settings of geodesic Monte Carlo.

    Attributes
    ----------
    leapfrog_steps : int
        Number of steps of a trajectory.
    adapted_iterations : int
        Number of first iterations in which the step size is adapted.
    """

    leapfrog_steps: int = 5
    adapted_iterations: int = 0


class Trajectories(Points):
    """Points on spheres that are updated by trajectories, each accepted or rejected.

    ``accepted`` (2,) counts the accepted trajectories and all trajectories.
    """

    names: ClassVar[tuple[str, ...]] = (*Points.names, "accepted")
    accepted: Doubles

    @classmethod
    def form(cls, block: Block) -> type[BlockState[Any]]:
        """Return `AdaptedTrajectories` if the settings request adaptation, else this class."""
        return AdaptedTrajectories if block.settings.adapted_iterations else cls

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state, with their values before the first step."""
        return super().new_arrays(block) | {"accepted": np.zeros(2)}

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Follow a trajectory of steps of size ``h``, and accept or reject its end point."""
        self.follow(key, statistics, h)

    def follow(self, key: Key, statistics: Potential, h: float) -> float:
        """Follow a trajectory, accept or reject its end point; return the acceptance probability."""
        slope = statistics.sample_and_evaluate(key, 0, self.x)
        before = {name: array.copy() for name, array in self.arrays().items()}
        self.v[:], self.squares[:] = 0.0, 0.0
        self.change_velocities(key, 0, np.zeros_like(self.x), sd=1.0)
        start = slope.energy + 0.5 * self.kinetic()
        for part in range(self.block.settings.leapfrog_steps):
            if part:
                slope = statistics.evaluate(self.x)
            self.change_velocities(key, 0, slope.gradient, h if part else 0.5 * h)
            self.move(h)
        slope = statistics.evaluate(self.x)
        self.change_velocities(key, 0, slope.gradient, 0.5 * h)
        gained = start - slope.energy - 0.5 * self.kinetic()
        if math.isnan(gained):  # The energy overflowed, so reject the trajectory.
            gained = -math.inf
        self.accepted[1] += 1.0
        if math.log(uniform(key)) <= gained:
            self.accepted[0] += 1.0
        else:
            for name in Points.names:
                getattr(self, name)[...] = before[name]
        return math.exp(min(0.0, gained))

    def metrics(self) -> dict[str, float]:
        """Return the fraction of accepted trajectories."""
        accepted, every = self.accepted.tolist()
        return {"acceptance": accepted / max(1.0, every)}

    def kinetic(self) -> float:
        """Return the sum of squared velocities."""
        return math.fsum(self.squares[: self.block.shape[1]].tolist())


class AdaptedTrajectories(Trajectories):
    """Points on spheres that are updated by trajectories with an adapted step size.

    ``adapted`` (3,) has the logarithms of two factors of the step size, of the next iteration and
    averaged over iterations, and the mean shortfall of acceptance.
    """

    names: ClassVar[tuple[str, ...]] = (*Trajectories.names, "adapted")
    adapted: Doubles

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state, with their values before the first step."""
        return super().new_arrays(block) | {"adapted": np.zeros(3)}

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Follow a trajectory with step size ``h`` times a factor, which early iterations adapt."""
        adapts = key.step < self.block.settings.adapted_iterations
        acceptance = self.follow(key, statistics, h * math.exp(self.adapted[0 if adapts else 1]))
        if adapts:
            self.adapt(key.step + 1, acceptance)

    def adapt(self, m: int, acceptance: float) -> None:
        """Adapt the step size, given the acceptance probability of iteration ``m`` (1, 2, ...)."""
        log_factor, average, shortfall = self.adapted.tolist()
        shortfall += (ACCEPTED - acceptance - shortfall) / (m + DELAY)
        log_factor = math.log(AMBITION) - math.sqrt(m) / SHRINKAGE * shortfall
        average += m**-FORGETTING * (log_factor - average)
        self.adapted[:] = log_factor, average, shortfall


def uniform(key: Key) -> float:
    """Draw the uniform variate that decides whether an iteration's trajectory is accepted."""
    index = np.zeros(1, np.int64)
    purpose = core.Purpose.sphere_accept
    return float(core.uniforms(index, index, key.seed, key.chain, purpose, key.step)[0])
