"""Samplers on spheres, for data other than text, such as directions, axes and phases.

- `sample`: any energy with a gradient, of one or several unit vectors, by geodesic Monte Carlo; exact
  (`gmc`), or with gradients that are noisy or from minibatches (`sggmc`, `gsgnht`: Liu, Zhu and Song
  2016).
- `VonMisesFisher`: the distribution, and mixtures of it: density, gradient, exact draws.
- `uniform`: points to start from. `mean_resultant_length`: length of the mean of a distribution.

A step is the integrator's eps. The noise of gradients may be known, estimated, or left to a thermostat.
docs/internals/mathematics.md, "Steps on spheres", has the formulas. Chains are the first axis of every
array, coordinates the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pysgrld.errors import NumericalError, UsageError
from pysgrld.samplers.targets.common import (
    Noise,
    Progress,
    check_numbers,
    check_schedule,
    check_sizes,
    draw_minibatch,
    iterations,
)
from pysgrld.samplers.targets.directions import (
    ADDED,
    CHAINS,
    VonMisesFisher,
    great_circle,
    mean_resultant_length,
    tangent,
    uniform,
    unit,
)
from pysgrld.types import Doubles, Int64s, Key, Schedule

__all__ = ["SphereDraws", "VonMisesFisher", "mean_resultant_length", "sample", "uniform"]

ALGORITHMS = ("sggmc", "gsgnht", "gmc")


class SphereDraws(NamedTuple):
    """Draws from chains on spheres.

    Attributes
    ----------
    x : (samples, chains, d) or (samples, chains, vectors, d) float64
        Unit vectors.
    temperature : (chains,) float64
        Mean squared velocity per intrinsic dimension, after the burn-in: 1 in equilibrium,
        more if the noise of gradients is not accounted for.
    friction : (samples, chains) float64
        Friction, which the thermostat of ``gsgnht`` adapts; constant for ``sggmc``, 0 for ``gmc``.
    accepted : (chains,) float64
        Fraction of the trajectories that were accepted; 1 for samplers without an accept step.
    clipped : (chains,) int64
        Number of steps in which the estimated gradient noise exceeded the noise to add. Many such
        steps mean that steps are too long, or friction is too low.
    """

    x: Doubles
    temperature: Doubles
    friction: Doubles
    accepted: Doubles
    clipped: Int64s


def sample(
    target: Energy | ObservedEnergy,
    start: npt.ArrayLike,
    *,
    algo: str = "sggmc",
    step_size: float | Sequence[float] = 0.01,
    friction: float = 10.0,
    gradient_noise: float = 0.0,
    minibatch: int | None = None,
    noise_estimate: float | str | None = None,
    leaps: int = 10,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> SphereDraws:
    """Sample unit vectors from the density exp(-energy) by geodesic Monte Carlo, in many chains.

    A chain is a unit vector, or several that move together, with velocities tangent to their
    spheres. Steps follow great circles exactly, for any number of coordinates, and no angles are
    needed. docs/internals/mathematics.md, "Steps on spheres", has the equations.

    Parameters
    ----------
    target : object
        Has ``gradient(x)``; with ``gmc`` also ``energy(x)``, with ``minibatch`` also ``observations`` and
        ``estimates(x, chosen)``, as `ObservedEnergy` describes them. A `VonMisesFisher` has the first
        two.
    start : (chains, d) or (chains, vectors, d) array_like
        Vectors that chains start from, of any length above 0.
    algo : {"sggmc", "gsgnht", "gmc"}
        Sampler. ``sggmc``: constant friction; exact for small steps if the noise of gradients is
        known. ``gsgnht``: friction by a thermostat, which adapts to noise that is equal in all
        directions. ``gmc``: trajectories that are accepted or refused; exact for every step, for
        gradients without noise.
    step_size : float or (A, B, C)
        Integrator's step eps > 0, constant or A (1 + t/B)^(-C) with A, B > 0 and C in [0, 1].
    friction : float
        Friction C > 0 per unit of time; ``gsgnht`` starts at it. Not for ``gmc``.
    gradient_noise : float
        Variance of normal noise that is added to every component of the gradient, to study its
        effect; not for ``gmc``.
    minibatch : int, optional
        Number of observations for a chain's gradient, at least 1, drawn with replacement; by default
        the gradient is exact. Not for ``gmc``.
    noise_estimate : float or "fisher", optional
        Noise variance of a gradient component, which is subtracted from the noise that is added: a
        number of at most 2 C / eps, or "fisher" for the covariance of the estimates of a minibatch of
        at least two observations. By default nothing is subtracted. Not for ``gmc``.
    leaps : int
        Number of steps of a trajectory, at least 1; only for ``gmc``.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    seed : int
        Seed, at least 0; draws of one chain do not depend on the others.
    progress : callable (part), optional
        Called at intervals with the fraction of iterations done, in [0, 1]; an exception that it
        raises ends the chains.

    Returns
    -------
    SphereDraws
        Points, and diagnostics of the chains.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.
    NumericalError
        If a chain is not finite any more.

    References
    ----------
    ``sggmc``, ``gsgnht``: Liu, Zhu and Song (2016), Stochastic gradient geodesic MCMC methods, eq. (5) to
    (8). ``gmc``: Byrne and Girolami (2013), Geodesic Monte Carlo on embedded manifolds.

    Examples
    --------
    >>> from pysgrld import sphere
    >>> target = sphere.VonMisesFisher([1, 0, 0], kappa=2)
    >>> draws = sphere.sample(target, target.draw(500), algo="gmc", step_size=0.3, samples=40)
    >>> mean = sphere.mean_resultant_length(3, 2)
    >>> bool(abs(draws.x[..., 0].mean() - mean) < 0.02)
    True
    """
    x = unit(start, "start", (2, 3))
    schedule = check_schedule(step_size)
    check_sizes(samples, burn_in, thin, 1, minibatch)
    if algo not in ALGORITHMS:
        raise UsageError(f"algo is {algo!r}: wanted {', '.join(ALGORITHMS[:-1])} or gmc")
    gradients = Gradients(target, x, minibatch, gradient_noise, noise_estimate, seed)
    moved: FrictionChains | TrajectoryChains
    if algo == "gmc":
        moved = TrajectoryChains(gradients, x, leaps, seed)
    else:
        thermostat = algo == "gsgnht"
        moved = FrictionChains(gradients, x, schedule.a, friction, seed, thermostat=thermostat)
    return follow(moved, schedule, samples, burn_in, thin, progress)


def follow(
    moved: FrictionChains | TrajectoryChains,
    schedule: Schedule,
    samples: int,
    burn_in: int = 0,
    thin: int = 1,
    progress: Progress | None = None,
) -> SphereDraws:
    """Run chains, and return draws from them.

    Parameters
    ----------
    moved : FrictionChains or TrajectoryChains
        The chains.
    schedule : Schedule
        Step of every iteration.
    samples, burn_in, thin, progress
        As in `sample`.

    Raises
    ------
    NumericalError
        If a chain is not finite any more.
    """
    x = np.empty((samples, *moved.x.shape))
    warmth, friction = np.zeros(len(moved.x)), np.empty((samples, len(moved.x)))
    with np.errstate(all="ignore"):
        for t, draw in iterations(samples, burn_in, thin, progress):
            moved.step(t, schedule(t))
            if t >= burn_in:
                warmth += moved.warmth()
            if draw is not None:
                require_finite(moved.x, t)
                x[draw] = moved.x
                friction[draw] = moved.friction.reshape(-1)
    warmth /= samples * thin
    accepted = moved.accepted / (burn_in + samples * thin)
    return SphereDraws(x, warmth, friction, accepted, moved.clipped)


class Energy(Protocol):
    """An energy of unit vectors, which is minus a log density up to a constant."""

    def energy(self, x: Doubles) -> Doubles:
        """Return the energy of the vectors of each chain.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.

        Returns
        -------
        (chains,) or (chains, vectors) float64
            The sum over the vectors of a chain.
        """

    def gradient(self, x: Doubles) -> Doubles:
        """Return the energy's Euclidean gradient, with the shape of x; samplers project it.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.
        """


class ObservedEnergy(Energy, Protocol):
    """An energy that depends on observations, so that minibatches can estimate its gradient.

    Attributes
    ----------
    observations : int
        Number of observations.
    """

    observations: int

    def estimates(self, x: Doubles, chosen: Int64s) -> Doubles:
        """Return a separate estimate of the gradient for each chosen observation.

        It is the prior's gradient plus N times the gradient for the observation.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.
        chosen : (chains, minibatch) int64
            Indices of the observations, from 0.

        Returns
        -------
        (chains, minibatch, d) or (chains, minibatch, vectors, d) float64
            Their mean is an estimate of the gradient.
        """


class Gradients:
    """Gradients of the energy for all chains, with the gradients' noise variance if known.

    Parameters
    ----------
    target : object
        As in `sample`.
    x : (chains, ..., d) float64
        Starting points of the chains.
    minibatch, gradient_noise, noise_estimate, seed
        As in `sample`.

    Attributes
    ----------
    known : float
        Noise variance of a component, if it is given as a number; else 0.
    exact : bool
        Whether the gradients have no noise.

    Raises
    ------
    UsageError
        If an argument is out of range, or the target lacks a required method.
    """

    def __init__(
        self,
        target: Energy | ObservedEnergy,
        x: Doubles,
        minibatch: int | None,
        gradient_noise: float,
        noise_estimate: float | str | None,
        seed: int,
    ) -> None:
        self.target, self.shape, self.seed = target, x.shape, seed
        self.minibatch = minibatch
        self._sd = check_numbers("gradient_noise", gradient_noise, zero=True).item() ** 0.5
        self._noise = Noise(len(x), x[0].size, seed, stream=ADDED)
        self.fisher = isinstance(noise_estimate, str)
        if self.fisher and noise_estimate != "fisher":
            raise UsageError(f"noise_estimate is {noise_estimate!r}; give a variance, or 'fisher'")
        if self.fisher and (minibatch is None or minibatch < 2):
            raise UsageError("noise_estimate='fisher' needs a minibatch of 2 observations or more")
        variance = 0.0 if noise_estimate is None or self.fisher else noise_estimate
        self.known: float = check_numbers("noise_estimate", variance, zero=True).item()
        self.exact = minibatch is None and self._sd == 0 and self.known == 0
        required = ["gradient"] if minibatch is None else ["observations", "estimates"]
        missing = [name for name in required if not hasattr(target, name)]
        if missing:
            case = "without a minibatch" if minibatch is None else "with a minibatch"
            raise UsageError(f"target has no attribute {missing[0]}, which is needed {case}")
        if getattr(target, "observations", 1) < 1:
            raise UsageError("target has no observation, but at least one is needed")
        self.estimate(0, x)

    def estimate(self, t: int, x: Doubles) -> tuple[Doubles, Doubles | float]:
        """Return the gradient of all chains, and the variance of its noise (0 if unknown).

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        x : (chains, ..., d) float64
            Points.

        Returns
        -------
        gradient : (chains, ..., d) float64
            The gradient, perhaps with noise; not projected.
        variance : (chains, n, n) float64, or float
            Covariance of all n coordinates of a chain, or one number for each of them; 0 if nothing
            is known.
        """
        variance: Doubles | float = self.known
        target: Any = self.target
        shape = self.shape
        if self.minibatch is None:
            name, values = "gradient", np.asarray(target.gradient(x), np.float64)
        else:
            key = Key(self.seed, 0, t)
            chosen = draw_minibatch(target.observations, self.minibatch, len(x), key)
            shape = (len(x), self.minibatch, *shape[1:])
            name, values = "estimates", np.asarray(target.estimates(x, chosen), np.float64)
        if values.shape != shape:
            raise UsageError(f"target.{name} returns shape {values.shape} instead of {shape}")
        gradient = values if self.minibatch is None else values.mean(axis=1)
        if self.fisher:  # Estimate the covariance of gradient noise.
            flat = tangent(x[:, None], values).reshape(*values.shape[:2], -1)
            flat = flat - flat.mean(axis=1, keepdims=True)
            variance = np.einsum("cbi,cbj->cij", flat, flat) / (values.shape[1] - 1)
            variance = variance / values.shape[1]
        if self._sd:
            z, _ = self._noise.draw(t)
            gradient = gradient + self._sd * z.reshape(self.shape)
        return gradient, variance

    def energy(self, x: Doubles) -> Doubles:
        """Return the chains' energies, (chains,).

        Parameters
        ----------
        x : (chains, ..., d) float64
            Points.
        """
        energies = np.asarray(self.target.energy(x), np.float64)
        if energies.shape not in (self.shape[:1], self.shape[:-1]):
            shape = self.shape[:-1]
            raise UsageError(f"target.energy returns shape {energies.shape} instead of {shape}")
        return np.asarray(energies.reshape(len(x), -1).sum(axis=1))


class MovingPoints:
    """Positions and velocities of chains under a sampler; subclasses differ in `step`.

    Parameters
    ----------
    gradients : Gradients
        The gradients that move the chains.
    x : (chains, ..., d) float64
        Unit vectors from which chains start.
    seed : int
        As in `sample`.

    Attributes
    ----------
    x, v : (chains, ..., d) float64
        Unit vectors and their velocities.
    dimensions : int
        Total dimension of a chain's spheres: d - 1 for each vector.
    friction : (chains, 1, ...) float64
        Friction of each chain.
    accepted : (chains,) float64
        Number of iterations that were accepted.
    clipped : (chains,) int64
        As in `SphereDraws`.
    """

    def __init__(self, gradients: Gradients, x: Doubles, seed: int) -> None:
        self.gradients, self.x = gradients, x
        self.dimensions = x[0].size // x.shape[-1] * (x.shape[-1] - 1)
        self.friction = np.zeros((len(x), *(1,) * (x.ndim - 1)))
        self.accepted, self.clipped = np.zeros(len(x)), np.zeros(len(x), np.int64)
        self.noise = Noise(len(x), x[0].size, seed, stream=CHAINS)
        self.v = tangent(x, self.noise.draw(0)[0].reshape(x.shape))

    def warmth(self) -> Doubles:
        """Return each chain's mean squared velocity per dimension, (chains,)."""
        flat = self.v.reshape(len(self.v), -1)
        return np.asarray(np.einsum("ci,ci->c", flat, flat) / self.dimensions)


class FrictionChains(MovingPoints):
    """Chains of SGGMC or, with a thermostat, gSGNHT (Liu, Zhu and Song 2016, eq. 5 to 8).

    Parameters
    ----------
    gradients : Gradients
        The gradients that move the chains.
    x : (chains, ..., d) float64
        Unit vectors from which chains start.
    longest : float
        The longest step.
    friction : float
        Friction, or its starting value with a thermostat; > 0.
    seed : int
        As in `sample`.
    thermostat : bool
        Whether friction grows while the points are too fast, and falls while they are too slow.

    Attributes
    ----------
    degrees : int
        Degrees of freedom by which a thermostat divides squared velocities: `dimensions`.
    """

    def __init__(
        self,
        gradients: Gradients,
        x: Doubles,
        longest: float,
        friction: float,
        seed: int,
        *,
        thermostat: bool = False,
    ) -> None:
        super().__init__(gradients, x, seed)
        self.constant: float = check_numbers("friction", friction).item()
        self.friction += self.constant
        self.thermostat, self.degrees = thermostat, self.dimensions
        variance, most = gradients.known, 2.0 * self.constant / longest
        if variance > most:
            raise UsageError(
                f"noise_estimate is {variance:g}, but must be at most 2 * friction / step_size = "
                f"{most:g}; give a smaller step_size, or more friction"
            )

    def step(self, t: int, h: float) -> None:
        """Make a step A B O B A: great circles (A), friction (B), and gradient with noise (O).

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        h : float
            Integrator's step, > 0.
        """
        self.adapt_friction(h)
        self.x, self.v = great_circle(self.x, self.v, 0.5 * h)
        damp = np.exp(-0.5 * h * self.friction)
        gradient, variance = self.gradients.estimate(t, self.x)
        require_finite(gradient, t)
        force = self.scaled_noise(self.noise.draw(t + 1)[0], h, variance) - h * gradient
        self.v = damp * (damp * self.v + tangent(self.x, force))
        self.x, self.v = great_circle(self.x, self.v, 0.5 * h)
        self.adapt_friction(h)
        self.accepted += 1.0

    def adapt_friction(self, h: float) -> None:
        """Adapt the friction over half a step if the chains have a thermostat (eq. 6).

        Parameters
        ----------
        h : float
            Integrator's step.
        """
        if self.thermostat:
            measured = self.warmth() * (self.dimensions / self.degrees)
            self.friction += (measured - 1.0).reshape(self.friction.shape) * 0.5 * h

    def scaled_noise(self, z: Doubles, h: float, variance: Doubles | float) -> Doubles:
        """Return a step's noise, which with the gradient's noise has variance 2 C h (C: friction).

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


class TrajectoryChains(MovingPoints):
    """Chains of geodesic Monte Carlo, each with an accept step (Byrne and Girolami 2013).

    Parameters
    ----------
    gradients : Gradients
        The exact gradients that move the chains.
    x : (chains, ..., d) float64
        Unit vectors from which chains start.
    leaps, seed : int
        As in `sample`.
    """

    def __init__(self, gradients: Gradients, x: Doubles, leaps: int, seed: int) -> None:
        super().__init__(gradients, x, seed)
        if not gradients.exact:
            raise UsageError(
                "gmc needs exact gradients: leave out minibatch, gradient_noise and noise_estimate"
            )
        if not hasattr(gradients.target, "energy"):
            raise UsageError("target has no attribute energy, which algo='gmc' needs")
        if int(leaps) != leaps or leaps < 1:
            raise UsageError(f"leaps is {leaps}: wanted a whole number of at least 1")
        self.leaps = leaps

    def step(self, t: int, h: float) -> None:
        """Follow a trajectory of leapfrog steps, and accept or reject its end point.

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        h : float
            Integrator's step, > 0.
        """
        z, uniform = self.noise.draw(t + 1)
        before = self.x
        self.v = tangent(before, z.reshape(before.shape))
        energy = self.gradients.energy(before) + 0.5 * self.dimensions * self.warmth()
        gradient, _ = self.gradients.estimate(t, self.x)
        for _ in range(self.leaps):
            self.v = self.v - 0.5 * h * tangent(self.x, gradient)
            self.x, self.v = great_circle(self.x, self.v, h)
            gradient, _ = self.gradients.estimate(t, self.x)
            self.v = self.v - 0.5 * h * tangent(self.x, gradient)
        energy -= self.gradients.energy(self.x) + 0.5 * self.dimensions * self.warmth()
        taken = np.log(uniform) <= energy
        self.accepted += taken
        self.x = np.where(taken.reshape(-1, *(1,) * (before.ndim - 1)), self.x, before)


def require_finite(values: Doubles, t: int) -> None:
    """Raise `NumericalError` if a chain has a NaN or an infinity.

    Parameters
    ----------
    values : (chains, ...) float64
        Points or gradients.
    t : int
        Number of the iteration, for the message.

    Raises
    ------
    NumericalError
        The message names the first such chain.
    """
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        raise NumericalError(
            f"values of chain {bad[0]} are not finite at iteration {t}; give a smaller step_size"
        )
