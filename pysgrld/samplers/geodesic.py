"""Stochastic-gradient geodesic Monte Carlo, SGGMC and gSGNHT (Liu, Zhu and Song 2016).

A step of size eps is A B O B A (eq. 5 to 8): A follows geodesics for eps/2, B is friction for eps/2, and
O is v <- v + Lambda(x) (-eps gradient + noise). Friction takes the fraction a = C eps of the velocity in
a step. As a does not depend on eps, C is larger for smaller steps; the paper's code has
eps = sqrt(gamma / D) and the same a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from pysgrld.samplers.points import Points
from pysgrld.samplers.sampler import SamplerSettings
from pysgrld.samplers.state import Potential
from pysgrld.types import Array, Block, Doubles, Key


@dataclass(frozen=True)
class GeodesicSettings(SamplerSettings):
    """Settings of SGGMC and gSGNHT.

    Attributes
    ----------
    friction : float
        Fraction a of the velocity that friction takes in a step: C times the step size.
    inner_steps : int
        Number of steps with each minibatch.
    resample : {"on", "off"}
        Whether each of the steps samples the documents again; if not, the steps reuse the samples
        of the first one, as in the released code.
    noise_estimate : {"on", "off"}
        Whether the noise of minibatches is estimated and subtracted from the injected noise.
    """

    friction: float = 0.5
    inner_steps: int = 1
    resample: Literal["on", "off"] = "on"
    noise_estimate: Literal["on", "off"] = "on"


class Geodesic(Points):
    """Points on spheres that are updated by stochastic-gradient geodesic Monte Carlo."""

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Make ``inner_steps`` steps A B O B A (see the module docstring) of size ``h``."""
        settings, noise = self.block.settings, self.block.settings.noise_estimate == "on"
        for part in range(settings.inner_steps):
            # The exponent is limited, because velocities would soon overflow with a larger factor.
            damp = math.exp(min(-0.5 * self.friction(h), 700.0))
            self.move(0.5 * h, damp)
            if part and settings.resample == "off":
                slope = statistics.evaluate(self.x, noise=noise)
            else:
                slope = statistics.sample_and_evaluate(key, part, self.x, noise=noise)
            sd: float | Doubles = math.sqrt(2.0 * settings.friction)
            # Subtract the variance of minibatch noise, which is a part of the required noise.
            if slope.noise is not None:
                sd = np.sqrt(np.maximum(0.0, sd**2 - h * h * slope.noise))
            self.change_velocities(key, part, slope.gradient, h, sd, damp)
            self.move(0.5 * h)
            self.friction(h)

    def friction(self, h: float) -> float:
        """Return the friction per step, which is constant unless a subclass adapts it."""
        del h  # The argument is unused, because the friction is constant.
        return float(self.block.settings.friction)


class Thermostat(Geodesic):
    """Points on spheres, updated by geodesic Monte Carlo with a thermostat (adaptive friction).

    Friction grows while the points move too fast, and falls while they move too slowly.

    ``zeta`` (1,) is xi eps. The temperature is measured in the K (V - 1) intrinsic dimensions of the
    spheres: the ambient K V of the released code is wrong by V / (V - 1), a factor of 2 on a circle.
    """

    names: ClassVar[tuple[str, ...]] = (*Points.names, "zeta")
    zeta: Doubles

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state; the friction xi starts at the constant C."""
        return super().new_arrays(block) | {"zeta": np.array([block.settings.friction])}

    def friction(self, h: float) -> float:
        """Adapt the friction xi by half a step, given the temperature; return friction per step.

        xi may become negative.
        """
        self.zeta += (self.metrics()["temperature"] - 1.0) * 0.5 * h * h
        return float(self.zeta[0])
