"""Langevin dynamics on a Dirichlet posterior, with and without a metric and a Metropolis step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError
from pysgrld.samplers.targets.simplex.common import (
    Draws,
    Noise,
    Progress,
    check_alpha,
    check_counts,
    check_minibatch,
    check_sizes,
    count_minibatch,
    iterations,
    safe_log,
    start_rows,
)
from pysgrld.samplers.targets.simplex.coordinates import COORDINATES, Coordinates, Point, Target
from pysgrld.types import Doubles, Key


def langevin(
    counts: npt.ArrayLike,
    *,
    coordinates: str = "expanded-mean",
    riemannian: bool = True,
    adjusted: bool = True,
    alpha: npt.ArrayLike = 0.1,
    step_size: npt.ArrayLike = 0.01,
    minibatch: int | None = None,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Draws:
    """Sample the posterior of category probabilities by Langevin proposals.

    From u the proposal is u + h m(u) + sqrt(2h) R(u) z: plain, m is the gradient of the log density
    and R = 1; Riemannian, m is G^-1 times it plus div G^-1, and R a square root of G^-1. Positive
    coordinates are mirrored at zero, and the density of the proposal is then the folded normal's.
    `coordinates` has the formulas. Which work where many counts are 0: plain steps in
    natural coordinates, Riemannian ones in expanded-mean coordinates. The others are here to show why
    they do not.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category; d >= 2.
    coordinates : {"reduced-mean", "reduced-natural", "expanded-mean", "expanded-natural"}
        Coordinate system that proposals are made in: a name of `COORDINATES`.
    riemannian : bool
        Whether steps follow the metric. That of reduced coordinates needs an observation.
    adjusted : bool
        Whether a Metropolis step makes the chain exact. Without it everything is accepted that can
        be: a proposal that is not finite, or left the simplex, is not taken and is counted.
    alpha : float or (d,) floats
        Dirichlet prior, in (0, 10^9): one for all categories, or one for each.
    step_size : float or (chains,) floats
        Diffusion time h > 0 (the paper's epsilon is 2h): one for all chains, or one for each.
    minibatch : int, optional
        Observations per iteration, at least 1, drawn with replacement; only without ``adjusted``.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    chains : int
        Independent chains, at least 1; draws of one do not depend on the others.
    start : (d,) positive numbers, optional
        Unnormalised starting point of every chain; by default Gamma(1) draws.
    seed : int
        Seed, at least 0; the draws depend on nothing else than the arguments.
    progress : callable (part), optional
        Called now and then with the part of the iterations that is done, in [0, 1]; an exception that it
        raises ends them.

    Returns
    -------
    Draws
        With ``accepted`` and ``refused``.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.

    References
    ----------
    Patterson and Teh (2013), Stochastic gradient Riemannian Langevin dynamics on the probability
    simplex, eq. (2), (3) and section 3; the metrics are of its Table 1.

    Examples
    --------
    >>> from pysgrld import simplex
    >>> draws = simplex.langevin([3, 1, 0], alpha=2.0, step_size=0.05, samples=3000, chains=20)
    >>> bool(abs(draws.omega[300:, :, 0].mean() - 0.5) < 0.01)
    True
    """
    n = check_counts(counts)
    check_sizes(samples, burn_in, thin, chains, minibatch)
    check_minibatch(minibatch, int(n.sum()))
    prior, h = check_alpha(alpha, len(n)), _steps(step_size, chains)
    if coordinates not in COORDINATES:
        raise UsageError(f"coordinates is {coordinates!r}: wanted {', '.join(COORDINATES)}")
    system = COORDINATES[coordinates]
    if len(n) < 2:
        raise UsageError("counts has one category: wanted two or more")
    if riemannian and system.reduced and not n.any():
        raise UsageError(f"counts are all 0: the metric of {coordinates} needs an observation")
    if adjusted and minibatch is not None:
        raise UsageError("minibatch: a Metropolis step needs all observations; adjusted=False")

    total = float(n.sum())
    target = Target(prior, n.astype(np.float64), total)
    log_g = safe_log(start_rows(len(n), chains, start, seed, prior[0])["g"][:, :chains]).T
    noise = Noise(chains, len(n) - system.reduced, seed)
    log_omega, log_mass = np.empty((samples, *log_g.shape)), np.empty((samples, chains))
    accepted, refused = np.zeros(chains), np.zeros(chains, np.int64)
    walk = _Walk(system, h, riemannian)
    with np.errstate(all="ignore"):
        here = walk.place(system.start(log_g), target)
        for t, at in iterations(samples, burn_in, thin, progress):
            if minibatch is not None:
                some = count_minibatch(n, minibatch, chains, Key(seed, 0, t))[:, :chains].T
                target = Target(prior, some.astype(np.float64) * (total / minibatch), total)
                here = walk.place(here.point.u, target)
            z, uniform = noise.at(t)
            there = walk.place(walk.propose(here, target, z), target)
            if adjusted:
                log_ratio = walk.log_ratio(here, there, target)
                possible = np.isfinite(log_ratio)
                taken = possible & (np.log(uniform) < log_ratio)
            else:
                taken = possible = walk.possible(there)
            accepted += taken
            refused += ~possible
            here = there if taken.all() else _choose(taken, there, here)
            if at is not None:
                log_omega[at], log_mass[at] = here.point.log_phi, here.point.log_mass
    return Draws(log_omega, log_mass, accepted / (burn_in + samples * thin), refused)


def _steps(step_size: npt.ArrayLike, chains: int) -> Doubles:
    try:
        h = np.asarray(step_size, np.float64)
    except (TypeError, ValueError):
        h = np.zeros(0)
    if h.shape not in ((), (chains,)) or not (np.isfinite(h) & (h > 0)).all():
        raise UsageError(
            f"step_size is {step_size!r}: wanted a number above 0, or one for each of {chains} chains"
        )
    return np.broadcast_to(h, (chains,))[:, None]


class _Place:
    """A point, its log density, and the mean of the proposals from it."""

    __slots__ = ("log_density", "mean", "point")

    def __init__(self, point: Point, mean: Doubles, log_density: Doubles) -> None:
        self.point, self.mean, self.log_density = point, mean, log_density


class _Walk:
    """The proposals of one coordinate system, plain or Riemannian, with steps h (chains, 1)."""

    def __init__(self, system: Coordinates, h: Doubles, riemannian: bool) -> None:
        self.system, self.h, self.riemannian = system, h, riemannian

    def place(self, u: Doubles, target: Target) -> _Place:
        """Give the place of some coordinates: point, log density and mean of the next proposal.

        Parameters
        ----------
        u : (chains, m) float64
            Coordinates.
        target : Target
            The posterior.
        """
        system = self.system
        point = system.look(u)
        slope = (system.drift if self.riemannian else system.gradient)(point, target)
        return _Place(point, u + self.h * slope, system.log_density(point, target))

    def propose(self, here: _Place, target: Target, z: Doubles) -> Doubles:
        """Give the coordinates, (chains, m), of a proposal.

        Parameters
        ----------
        here : place
            Where the chains are.
        target : Target
            The posterior.
        z : (chains, m) float64
            Standard normals.
        """
        move = self.system.spread(here.point, target, z) if self.riemannian else z
        to = here.mean + np.sqrt(2.0 * self.h) * move
        return np.abs(to) if self.system.folded else to

    def possible(self, there: _Place) -> npt.NDArray[np.bool_]:
        """Say whether a proposal is finite and in the simplex; a g of exactly 0 may be left again.

        Parameters
        ----------
        there : place
            The proposals.
        """
        finite = np.isfinite(there.point.u).all(-1) & np.isfinite(there.mean).all(-1)
        return np.asarray(finite & (there.point.phi >= 0.0).all(-1))

    def log_ratio(self, here: _Place, there: _Place, target: Target) -> Doubles:
        """Compute the log of the ratio of Metropolis and Hastings, (chains,).

        Parameters
        ----------
        here, there : place
            Where the chains are, and the proposals.
        target : Target
            The posterior.
        """
        forth = self.log_q(here, there.point.u, target)
        back = self.log_q(there, here.point.u, target)
        return there.log_density - here.log_density + back - forth

    def log_q(self, origin: _Place, to: Doubles, target: Target) -> Doubles:
        """Compute the log density of a proposal, (chains,), up to a constant.

        Parameters
        ----------
        origin : place
            Where the chains are.
        to : (chains, m) float64
            Coordinates of the proposals.
        target : Target
            The posterior.
        """
        mean, four_h = origin.mean, 4.0 * self.h
        if self.system.folded:
            variance = origin.point.u if self.riemannian else np.ones(())
            near = -((to - mean) ** 2) / (four_h * variance)
            mirrored = -((to + mean) ** 2) / (four_h * variance)
            both = np.logaddexp(near, mirrored) - 0.5 * np.log(variance)
            return np.asarray(both.sum(-1))
        away = to - mean
        if not self.riemannian:
            return np.asarray(-(away * away).sum(-1) / four_h[:, 0])
        square, log_det = self.system.metric(origin.point, target, away)
        return np.asarray(0.5 * log_det - square / four_h[:, 0])


def _choose(taken: npt.NDArray[np.bool_], there: _Place, here: _Place) -> _Place:
    """Give the places of the chains after the step: the proposal of each that took it."""
    wide = taken[:, None]
    pairs = zip(there.point, here.point, strict=True)
    parts = [np.where(wide if a.ndim == 2 else taken, a, b) for a, b in pairs]
    return _Place(
        Point(*parts),
        np.where(wide, there.mean, here.mean),
        np.where(taken, there.log_density, here.log_density),
    )
