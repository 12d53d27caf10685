"""Chains of points on spheres: geodesic Monte Carlo, with friction, with a thermostat, or exact."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from pysgrld.errors import NumericalError, UsageError
from pysgrld.samplers.targets.simplex.common import Noise
from pysgrld.samplers.targets.sphere.geometry import CHAINS, great_circle, tangent
from pysgrld.samplers.targets.sphere.gradients import Gradients, checked
from pysgrld.types import Doubles


class Constants(NamedTuple):
    """Constants of dynamics, as `sample` has them.

    Attributes
    ----------
    h : float
        The longest step.
    friction, leaps, seed
        As `sample` has them.
    """

    h: float
    friction: float
    leaps: int
    seed: int


class MovingPoints:
    """Chains under a sampler: where they are, and how they move.

    Parameters
    ----------
    gradients : Gradients
        What the chains are moved by.
    x : (chains, ..., d) float64
        Unit vectors that they start from.
    constants : Constants
        Of the dynamics.

    Attributes
    ----------
    x, v : (chains, ..., d) float64
        Unit vectors and their velocities.
    dimensions : int
        Dimensions of a chain's spheres together: d - 1 for each vector.
    friction : (chains, 1, ...) float64
        Friction of each chain.
    accepted : (chains,) float64
        Iterations that were not refused.
    clipped : (chains,) int64
        As `SphereDraws` has it.
    """

    def __init__(self, gradients: Gradients, x: Doubles, constants: Constants) -> None:
        self.gradients, self.x = gradients, x
        self.dimensions = x[0].size // x.shape[-1] * (x.shape[-1] - 1)
        self.friction = np.zeros((len(x), *(1,) * (x.ndim - 1)))
        self.accepted, self.clipped = np.zeros(len(x)), np.zeros(len(x), np.int64)
        self.noise = Noise(len(x), x[0].size, constants.seed, stream=CHAINS)
        self.v = tangent(x, self.noise.at(0)[0].reshape(x.shape))

    @abstractmethod
    def step(self, t: int, h: float) -> None:
        """Move all chains by one iteration.

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        h : float
            Integrator's step, > 0.
        """

    def warmth(self) -> Doubles:
        """Compute the squared velocities for each dimension, (chains,)."""
        flat = self.v.reshape(len(self.v), -1)
        return np.asarray(np.einsum("ci,ci->c", flat, flat) / self.dimensions)


class FrictionChains(MovingPoints):
    """Chains of SGGMC: Liu, Zhu and Song (2016), eq. (5), (7), (8)."""

    def __init__(self, gradients: Gradients, x: Doubles, constants: Constants) -> None:
        super().__init__(gradients, x, constants)
        self.constant = checked("friction", constants.friction)
        self.friction += self.constant
        known, most = gradients.known, 2.0 * self.constant / constants.h
        if known > most:
            raise UsageError(
                f"noise_estimate is {known:g}: at most 2 C / eps = {most:g} can be left out; take a "
                "smaller step_size, or more friction"
            )

    def step(self, t: int, h: float) -> None:
        """Make the steps A B O B A: great circles, friction, gradient and noise.

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        h : float
            Integrator's step, > 0.
        """
        self.breathe(h)
        self.x, self.v = great_circle(self.x, self.v, 0.5 * h)
        damp = np.exp(-0.5 * h * self.friction)
        gradient, variance = self.gradients.at(t, self.x)
        require_finite(gradient, t)
        force = self.spread(self.noise.at(t + 1)[0], h, variance) - h * gradient
        self.v = damp * (damp * self.v + tangent(self.x, force))
        self.x, self.v = great_circle(self.x, self.v, 0.5 * h)
        self.breathe(h)
        self.accepted += 1.0

    def breathe(self, h: float) -> None:
        """Let friction change during half of a step; here it is constant.

        Parameters
        ----------
        h : float
            Integrator's step.
        """

    def spread(self, z: Doubles, h: float, variance: Doubles | float) -> Doubles:
        """Give the noise of a step: of variance 2 C h, less what the gradient has already.

        Parameters
        ----------
        z : (chains, n) float64
            Standard normals.
        h : float
            Integrator's step.
        variance : float, or (chains, n, n) float64
            As `Gradients.at` gives it.
        """
        most = 2.0 * self.constant * h
        if isinstance(variance, float):
            z = (most - h * h * variance) ** 0.5 * z
            return z.reshape(self.x.shape)
        values, vectors = np.linalg.eigh(-h * h * variance)
        values += most
        self.clipped += (values < 0.0).any(axis=1)
        along = np.sqrt(np.maximum(values, 0.0)) * np.einsum("cij,ci->cj", vectors, z)
        return np.asarray(np.einsum("cij,cj->ci", vectors, along)).reshape(self.x.shape)


class ThermostatChains(FrictionChains):
    """Chains of gSGNHT, each with a thermostat: Liu, Zhu and Song (2016), eq. (6)."""

    def breathe(self, h: float) -> None:
        """Let friction grow while the points are too fast, and fall while they are too slow.

        Parameters
        ----------
        h : float
            Integrator's step.
        """
        self.friction += (self.warmth() - 1.0).reshape(self.friction.shape) * 0.5 * h


class TrajectoryChains(MovingPoints):
    """Chains of geodesic Monte Carlo, each with an accept step: Byrne and Girolami (2013)."""

    def __init__(self, gradients: Gradients, x: Doubles, constants: Constants) -> None:
        super().__init__(gradients, x, constants)
        if not gradients.exact:
            raise UsageError(
                "gmc needs exact gradients: leave out minibatch, gradient_noise and noise_estimate"
            )
        if not hasattr(gradients.target, "energy"):
            raise UsageError("target has no energy, which is needed here")
        self.leaps = constants.leaps
        if int(self.leaps) != self.leaps or self.leaps < 1:
            raise UsageError(f"leaps is {self.leaps}: wanted a whole number of at least 1")

    def step(self, t: int, h: float) -> None:
        """Follow a trajectory of leapfrog steps, and accept or refuse where it ends.

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        h : float
            Integrator's step, > 0.
        """
        z, uniform = self.noise.at(t + 1)
        before = self.x
        self.v = tangent(before, z.reshape(before.shape))
        total = self.total()
        slope, _ = self.gradients.at(t, self.x)
        for _ in range(self.leaps):
            self.v = self.v - 0.5 * h * tangent(self.x, slope)
            self.x, self.v = great_circle(self.x, self.v, h)
            slope, _ = self.gradients.at(t, self.x)
            self.v = self.v - 0.5 * h * tangent(self.x, slope)
        taken = np.log(uniform) <= total - self.total()
        self.accepted += taken
        self.x = np.where(taken.reshape(-1, *(1,) * (before.ndim - 1)), self.x, before)

    def total(self) -> Doubles:
        """Compute energies and kinetic energies together, (chains,)."""
        return np.asarray(self.gradients.energy(self.x) + 0.5 * self.dimensions * self.warmth())


def require_finite(values: Doubles, t: int) -> None:
    """Refuse to go on from numbers that are none.

    Parameters
    ----------
    values : (chains, ...) float64
    t : int
        Number of the iteration, for the message.

    Raises
    ------
    NumericalError
        Naming the first chain.
    """
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        raise NumericalError(
            f"chain {bad[0]} is not finite any more at iteration {t}: take a smaller step_size"
        )


KINDS: dict[str, type[MovingPoints]] = {
    "sggmc": FrictionChains,
    "gsgnht": ThermostatChains,
    "gmc": TrajectoryChains,
}
ALGORITHMS = tuple(KINDS)
