"""Geodesic Monte Carlo on any energy of unit vectors, exact or by gradients that have noise.

docs/mathematics.md, "Steps on spheres", has the formulas. Chains are the first axis of every array,
coordinates the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError
from pysgrld.samplers.targets.simplex.common import (
    Progress,
    check_schedule,
    check_sizes,
    iterations,
)
from pysgrld.samplers.targets.sphere.geometry import unit
from pysgrld.samplers.targets.sphere.gradients import Energy, Gradients, ObservedEnergy
from pysgrld.samplers.targets.sphere.motion import (
    ALGORITHMS,
    KINDS,
    Constants,
    MovingPoints,
    require_finite,
)
from pysgrld.types import Doubles, Int64s, Schedule


class SphereDraws(NamedTuple):
    """Draws from chains on spheres.

    Attributes
    ----------
    x : (samples, chains, d) or (samples, chains, vectors, d) float64
        Unit vectors.
    temperature : (chains,) float64
        Mean squared velocity for each intrinsic dimension, after the burn-in: 1 in equilibrium, more
        where noise of gradients is not accounted for.
    friction : (samples, chains) float64
        Friction as a thermostat had it; constant for ``sggmc``, 0 for ``gmc``.
    accepted : (chains,) float64
        Share of the trajectories that were accepted; 1 where there is nothing to accept.
    clipped : (chains,) int64
        Steps whose gradients had more noise, by its estimate, than is added: steps are too long, or
        friction too low, where there are many.
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
    """Sample unit vectors with a given energy by geodesic Monte Carlo, many chains at a time.

    A chain is a unit vector, or several that move together, with velocities tangent to their spheres.
    Steps follow great circles exactly, whatever the number of coordinates; nothing has to be said in
    angles. docs/mathematics.md, "Steps on spheres", has the equations.

    Parameters
    ----------
    target : object
        Has ``gradient(x)``; with ``gmc`` also ``energy(x)``, with ``minibatch`` also ``observations`` and
        ``estimates(x, chosen)``, as `gradients.ObservedEnergy` describes them. A
        `VonMisesFisher` is one.
    start : (chains, d) or (chains, vectors, d) array_like
        Vectors that chains start from, of any length above 0.
    algo : {"sggmc", "gsgnht", "gmc"}
        Sampler. ``sggmc``: constant friction; exact for small steps if the noise of gradients is known.
        ``gsgnht``: friction by a thermostat, which finds what is needed where the noise is the same in
        all directions. ``gmc``: trajectories that are accepted or refused; exact for every step, for
        gradients without noise.
    step_size : float or (A, B, C)
        Integrator's step eps > 0, constant or A (1 + t/B)^(-C) with A, B > 0 and C in [0, 1].
    friction : float
        Friction C > 0 for a unit of time; ``gsgnht`` starts at it. Not for ``gmc``.
    gradient_noise : float
        Variance of normal noise that is added to every component of the gradient, to see what it does;
        not for ``gmc``.
    minibatch : int, optional
        Observations of a chain's gradient, at least 1, drawn with replacement; by default the gradient
        is exact. Not for ``gmc``.
    noise_estimate : float or "fisher", optional
        Variance of a component of the gradient, which is left out of the noise that is added: a number
        of at most 2 C / eps, or the covariance of a minibatch's own estimates, of two observations or
        more. By default nothing is left out. Not for ``gmc``.
    leaps : int
        Steps of a trajectory, at least 1: ``gmc`` alone.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    seed : int
        Seed, at least 0; draws of one chain do not depend on the others.
    progress : callable (part), optional
        Called now and then with the part of the iterations that is done, in [0, 1]; an exception that it
        raises ends them.

    Returns
    -------
    SphereDraws
        Points, and how the chains went.

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
        raise UsageError(
            f"algo is {algo!r}: wanted {', '.join(ALGORITHMS[:-1])} or {ALGORITHMS[-1]}"
        )
    gradients = Gradients(target, x, minibatch, gradient_noise, noise_estimate, seed)
    moved = KINDS[algo](gradients, x, Constants(schedule.a, friction, leaps, seed))
    return follow(moved, schedule, samples, burn_in, thin, progress)


def follow(
    moved: MovingPoints,
    schedule: Schedule,
    samples: int,
    burn_in: int = 0,
    thin: int = 1,
    progress: Progress | None = None,
) -> SphereDraws:
    """Move chains, and keep draws of them.

    Parameters
    ----------
    moved : MovingPoints
        The chains.
    schedule : Schedule
        Step of every iteration.
    samples, burn_in, thin, progress
        As `sample` has them.

    Raises
    ------
    NumericalError
        If a chain is not finite any more.
    """
    x = np.empty((samples, *moved.x.shape))
    warmth, friction = np.zeros(len(moved.x)), np.empty((samples, len(moved.x)))
    with np.errstate(all="ignore"):
        for t, at in iterations(samples, burn_in, thin, progress):
            moved.step(t, schedule(t))
            if t >= burn_in:
                warmth += moved.warmth()
            if at is not None:
                require_finite(moved.x, t)
                x[at] = moved.x
                friction[at] = moved.friction.reshape(-1)
    warmth /= samples * thin
    accepted = moved.accepted / (burn_in + samples * thin)
    return SphereDraws(x, warmth, friction, accepted, moved.clipped)
