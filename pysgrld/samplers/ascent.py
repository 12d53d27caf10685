"""Variational Bayes on spheres: points move along geodesics to a minimum of an energy.

Reisinger, Waters, Silverthorn and Mooney (2010) follow the gradient. A step has the length of Barzilai
and Borwein, computed from the change of the gradient in the last step; it is halved until the energy
falls. Online (Liu, Zhu and Song 2016, section 5.3), points go the fraction w of the way to the optimum
of the minibatch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pysgrld.options.option import Steps
from pysgrld.samplers.points import Points
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import EnergyGradient, Potential
from pysgrld.types import Array, Block, Doubles, Key

#: Points count as converged if a step reduces the energy by less than this fraction of the
#: reduction so far.
TOLERANCE = 1e-4
#: Maximum number of times that a step is halved.
_HALVINGS = 40
#: A step must reduce the energy by at least this fraction of the reduction that the gradient
#: predicts.
_ENOUGH = 1e-4


@dataclass(frozen=True)
class AscentSettings(SamplerSettings):
    """Settings of variational Bayes on spheres: the maximum number of steps per minibatch."""

    inner_steps: int = 10


def default_step(facts: SamplerFacts, settings: AscentSettings) -> Steps:
    """Return the step-size schedule w_t = (5 + t)^-0.8 of Liu, Zhu and Song (2016)."""
    del facts, settings
    return (5.0**-0.8, 5.0, 0.8)


class Ascent(Points):
    """Points on spheres that move to a minimum of an energy.

    Velocities give the direction of the current step only, so they are not stored.

    Attributes
    ----------
    time : (1,) float64
        Time for which the next step follows the gradient: radians over the gradient's length; 0 before
        the first step.
    """

    names: ClassVar[tuple[str, ...]] = ("x", "time")
    time: Doubles

    def __init__(self, block: Block, threads: int, then: None = None, /, **arrays: Array) -> None:
        super().__init__(block, threads, then, **arrays)
        self.v, self.squares = np.zeros_like(self.x), np.zeros(self.x.shape[1])

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state, with their values before the first step."""
        return {"x": super().new_arrays(block)["x"], "time": np.zeros(1)}

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Search for a minimum of the energy, and move the points a fraction ``h`` of the way.

        At most ``inner_steps`` steps are made.
        """
        before = self.x.copy()
        slope = statistics.sample_and_evaluate(key, 0, self.x)
        first = slope.energy
        self.set_velocities(key, slope)
        for _ in range(self.block.settings.inner_steps):
            old = slope.energy
            slope = self.search_line(key, statistics, slope)
            if old - slope.energy <= TOLERANCE * (first - slope.energy):
                break
        if h < 1.0:
            self.x *= h
            self.x += (1.0 - h) * before
            self.stop()
            self.move(0.0)

    def stop(self) -> None:
        """Set all velocities to 0."""
        self.v[:], self.squares[:] = 0.0, 0.0

    def set_velocities(self, key: Key, slope: EnergyGradient) -> None:
        """Set the velocities to minus the projected gradient.

        If no step was made yet, also set the step length, so that the fastest point moves by one
        radian.
        """
        self.stop()
        self.change_velocities(key, 0, slope.gradient, 1.0)
        if not self.time[0]:
            self.time[0] = 1.0 / np.sqrt(max(self.squares.max(), 1e-300))

    def search_line(self, key: Key, statistics: Potential, slope: EnergyGradient) -> EnergyGradient:
        """Move along the velocities by a step that reduces the energy; return energy and gradient.

        Energy and gradient belong to the new points, or to the old points if no step length reduces
        the energy.
        """
        before, toward, squares = self.x.copy(), self.v.copy(), self.squares.copy()
        steep = _ENOUGH * float(squares.sum())
        for _ in range(_HALVINGS):
            self.move(float(self.time[0]))
            energy = statistics.evaluate(self.x)
            if energy.energy < slope.energy - steep * self.time[0]:
                carried = self.v.copy()
                self.set_velocities(key, energy)
                turned = carried - self.v
                bent = float((turned * turned).sum())
                if bent > 0.0:
                    self.time *= abs(float((carried * turned).sum())) / bent
                return energy
            self.time *= 0.5
            self.x[:], self.v[:], self.squares[:] = before, toward, squares
        return slope

    def metrics(self) -> dict[str, float]:
        """Return no metrics, because these points have no temperature."""
        return {}

    def summary(self) -> Doubles:
        """Return the squared norm of each topic, (K,)."""
        x = self.x[:, : self.block.shape[1]]
        squared_norms: Doubles = (x * x).sum(axis=0)
        return squared_norms
