"""SGGMC and gSGNHT: stochastic-gradient Monte Carlo along geodesics (Liu, Zhu and Song 2016).

A step of size eps is A B O B A (eq. 5 to 8): A follows geodesics for eps/2, B is friction for eps/2, and
O is v <- v + Lambda(x) (-eps gradient + noise). Friction is the share a = C eps of a step, so that a
smaller step has more friction; the paper's code has eps = sqrt(gamma / D) and the same a.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from pysgrld.samplers.protocol import Potential
from pysgrld.samplers.sphere.points import Points
from pysgrld.types import Array, Block, Doubles, Key


class Geodesic(Points):
    """Points that move by stochastic-gradient geodesic Monte Carlo."""

    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Make the steps A B O B A of size ``h``, as many as the block's dynamics say."""
        for part in range(self.dynamics.parts):
            self.breathe(h)
            self.drift(0.5 * h, self.damp)
            slope = statistics.drawn(key, part, self.x)
            sd: float | Doubles = math.sqrt(2.0 * self.dynamics.friction)
            if slope.noise is not None:  # what minibatches add is left out
                sd = np.sqrt(np.maximum(0.0, sd**2 - h * h * slope.noise))
            self.push(key, part, slope.gradient, h, sd, self.damp)
            self.drift(0.5 * h)
            self.breathe(h)

    @property
    def friction(self) -> float:
        """Share of the velocity that friction takes in a step."""
        return self.dynamics.friction

    @property
    def damp(self) -> float:
        """Factor by which half of a step's friction slows points, or negative friction speeds them up."""
        return math.exp(min(-0.5 * self.friction, 700.0))  # what is faster is not finite soon

    def breathe(self, h: float) -> None:
        """Do nothing: friction stays what it is."""
        del h


class Thermostat(Geodesic):
    """Points with a thermostat: friction that grows while they are too fast, and falls while too slow.

    ``zeta`` (1,) is xi eps. The temperature is measured in the K (V - 1) intrinsic dimensions of the
    spheres: the ambient K V of the released code is wrong by V / (V - 1), a factor of 2 on a circle.
    """

    names: ClassVar[tuple[str, ...]] = (*Points.names, "zeta")
    zeta: Doubles

    @classmethod
    def own(cls, block: Block) -> dict[str, Array]:
        """Make the arrays of a state that has not begun; xi starts at C."""
        assert block.dynamics is not None
        return super().own(block) | {"zeta": np.array([block.dynamics.friction])}

    @property
    def friction(self) -> float:
        """Share of the velocity that friction takes in a step; negative ones are legal."""
        return float(self.zeta[0])

    def breathe(self, h: float) -> None:
        """Let xi follow the temperature for half of a step of size ``h``."""
        self.zeta += (self.figures()["temperature"] - 1.0) * 0.5 * h * h
