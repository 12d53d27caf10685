"""Langevin dynamics on a Dirichlet posterior, with or without a metric and a Metropolis step.

Patterson and Teh (2013), section 3 and Table 1, derived again: every drift is checked by finite
differences (tests/statistical/test_langevin.py). A point has m coordinates u and represents the
probabilities phi of d categories. With a = alpha + n, N = sum of n, A = sum of a, and "ref" the
last category:

=================  ==================  =======================================================
reduced-mean       u = phi, m = d - 1  open simplex
reduced-natural    phi = softmax(u,0)  u = log(phi / phi_ref), m = d - 1: mirrored Langevin's y
expanded-mean      phi = u / sum u     u = g > 0, prior Gamma(alpha), m = d: SGRLD's g
expanded-natural   phi = softmax(u)    exp(u) has the prior Gamma(alpha), m = d
=================  ==================  =======================================================

L is the log density in the coordinates u, Jacobian included. The metric G of the reduced systems is N
times Fisher's of one observation; that of the expanded ones is the Gamma prior's. The paper prints the
curvature terms of the reduced-mean system without their factor 1/N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError
from pysgrld.samplers.targets.common import (
    Draws,
    Noise,
    Progress,
    check_numbers,
    check_posterior,
    check_sizes,
    count_minibatch,
    iterations,
    log_total,
    safe_log,
    start_rows,
)
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
    """Sample a posterior of category probabilities by Langevin proposals.

    From u the proposal is u + h m(u) + sqrt(2h) R(u) z: plain, m is the gradient of the log density
    and R = 1; Riemannian, m is G^-1 times it plus div G^-1, and R a square root of G^-1. Positive
    coordinates are mirrored at zero, and the density of the proposal is then the folded normal's.
    `coordinates` has the formulas. If many counts are 0, two methods work: plain steps in natural
    coordinates, and Riemannian steps in expanded-mean coordinates. The other methods are included
    to show why they fail.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category; d >= 2.
    coordinates : {"reduced-mean", "reduced-natural", "expanded-mean", "expanded-natural"}
        Coordinate system that proposals are made in: a name of `COORDINATES`.
    riemannian : bool
        Whether steps follow the metric. The metric of reduced coordinates
        needs at least one observation.
    adjusted : bool
        Whether a Metropolis step makes the chain exact. Without it every valid proposal
        is accepted; a proposal that is not finite, or left the simplex, is refused and counted.
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
        Called at intervals with the fraction of iterations done, in [0, 1]; an exception that it
        raises ends the chains.

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
    simplex, eq. (2), (3) and section 3; the metrics are listed in its Table 1.

    Examples
    --------
    >>> from pysgrld import simplex
    >>> draws = simplex.langevin([3, 1, 0], alpha=2.0, step_size=0.05, samples=3000, chains=20)
    >>> bool(abs(draws.omega[300:, :, 0].mean() - 0.5) < 0.01)
    True
    """
    check_sizes(samples, burn_in, thin, chains, minibatch)
    n, prior = check_posterior(counts, alpha, minibatch)
    h = check_numbers("step_size", step_size, chains)[:, None]
    if coordinates not in COORDINATES:
        raise UsageError(f"coordinates is {coordinates!r}: wanted {', '.join(COORDINATES)}")
    system = COORDINATES[coordinates]
    if len(n) < 2:
        raise UsageError("counts has only one category; give two or more")
    if riemannian and system.reduced and not n.any():
        raise UsageError(
            f"counts are all 0, but riemannian=True with coordinates={coordinates!r} needs at "
            "least one count above 0"
        )
    if adjusted and minibatch is not None:
        raise UsageError(
            "minibatch cannot be combined with adjusted=True, because a Metropolis test needs all "
            "observations; leave out one of them"
        )

    total = float(n.sum())
    target = Target(prior + n, total)
    log_g = safe_log(start_rows(len(n), chains, start, seed, prior[0])["g"][:, :chains]).T
    noise = Noise(chains, len(n) - system.reduced, seed)
    log_omega, log_mass = np.empty((samples, *log_g.shape)), np.empty((samples, chains))
    accepted, refused = np.zeros(chains), np.zeros(chains, np.int64)
    with np.errstate(all="ignore"):
        place = system.place(system.start(log_g), target, h, riemannian)
        for t, draw in iterations(samples, burn_in, thin, progress):
            if minibatch is not None:
                minibatch_counts = count_minibatch(n, minibatch, chains, Key(seed, 0, t))[
                    :, :chains
                ].T
                target = Target(prior + minibatch_counts * (total / minibatch), total)
                place = system.place(place.u, target, h, riemannian)
            z, uniform = noise.draw(t)
            move = system.multiply_noise(place, target, z) if riemannian else z
            u = place.mean + np.sqrt(2.0 * h) * move
            proposal = system.place(np.abs(u) if system.is_reflected else u, target, h, riemannian)
            if adjusted:
                forth = system.log_q(place, proposal.u, target, h, riemannian)
                back = system.log_q(proposal, place.u, target, h, riemannian)
                log_ratio = proposal.log_density - place.log_density + back - forth
                possible = np.isfinite(log_ratio)
                taken = possible & (np.log(uniform) < log_ratio)
            else:
                # A proposal is valid if it is finite and in the simplex. A proposal g = 0 is
                # valid, because later steps of the chain can leave 0.
                finite = np.isfinite(proposal.u).all(-1) & np.isfinite(proposal.mean).all(-1)
                taken = possible = np.asarray(finite & (proposal.phi >= 0.0).all(-1))
            accepted += taken
            refused += ~possible
            if not taken.all():
                parts = zip(proposal, place, strict=True)
                proposal = Place(
                    *(np.where(taken[:, None] if a.ndim == 2 else taken, a, b) for a, b in parts)
                )
            place = proposal
            if draw is not None:
                log_omega[draw], log_mass[draw] = place.log_phi, place.log_mass
    return Draws(log_omega, log_mass, accepted / (burn_in + samples * thin), refused)


class Target(NamedTuple):
    """Dirichlet posterior of category probabilities, which the chains sample.

    Attributes
    ----------
    a : (..., d) float64
        Its parameters, alpha + n; n may be estimated from a minibatch.
    total : float
        N, the sum of all counts; above 0 if the metric uses it.
    """

    a: Doubles
    total: float


class Place(NamedTuple):
    """Positions of chains in the simplex, and terms for computing proposals from these positions.

    Arrays may have leading axes.

    Attributes
    ----------
    u : (..., m) float64
        Coordinates.
    log_phi, phi : (..., d) float64
        Probabilities of the categories, and their logarithms; NaN outside the simplex.
    log_mass : (...) float64
        Logarithm of the sum of g; 0 in reduced coordinates, which have none.
    log_density : (...) float64
        L, up to a constant.
    mean : (..., m) float64
        Mean of the proposals.
    """

    u: Doubles
    log_phi: Doubles
    phi: Doubles
    log_mass: Doubles
    log_density: Doubles
    mean: Doubles


class Coordinates(NamedTuple):
    """A coordinate system u of the simplex, with Langevin dynamics of a Dirichlet posterior in u.

    Arrays may have any leading axes: u (..., m), a (..., d), results (...) or (..., m).

    Attributes
    ----------
    reduced : bool
        Whether there are d - 1 coordinates, instead of d and a scale.
    natural : bool
        Whether they are logarithms; the others are bounded by 0.
    """

    reduced: bool
    natural: bool

    @property
    def is_reflected(self) -> bool:
        """True if coordinates are positive, so that proposals are reflected at zero."""
        return not (self.reduced or self.natural)

    def start(self, log_g: Doubles) -> Doubles:
        """Return the coordinates, (..., m), that correspond to unnormalised probabilities.

        Parameters
        ----------
        log_g : (..., d) float64
            Logarithms of the unnormalised probabilities.
        """
        if self.natural:
            return log_g[..., :-1] - log_g[..., -1:] if self.reduced else log_g.copy()
        return np.exp(_normalise_logs(log_g))[..., :-1] if self.reduced else np.exp(log_g)

    def place(self, u: Doubles, t: Target, h: Doubles | float, riemannian: bool) -> Place:
        """Return the positions at given coordinates, with terms for computing proposals from them.

        Parameters
        ----------
        u : (..., m) float64
            Coordinates.
        t : Target
            The posterior.
        h : (..., 1) float64
            Diffusion time of a step.
        riemannian : bool
            Whether steps follow the metric.
        """
        log_mass = np.zeros(u.shape[:-1])
        if self.reduced and self.natural:
            log_phi = _normalise_logs(np.concatenate([u, np.zeros((*u.shape[:-1], 1))], -1))
            phi = np.exp(log_phi)
            log_density = (t.a * log_phi).sum(-1)
        elif self.reduced:
            phi = np.concatenate([u, 1.0 - u.sum(-1, keepdims=True)], -1)
            log_phi = np.log(phi)
            log_density = ((t.a - 1.0) * log_phi).sum(-1)
        elif self.natural:
            log_mass = log_total(u, -1)
            log_phi = u - log_mass[..., None]
            phi = np.exp(log_phi)
            log_density = (t.a * u - np.exp(u)).sum(-1) - t.total * log_mass
        else:
            phi = u / u.sum(-1, keepdims=True)
            log_phi, log_mass = np.log(phi), np.log(u.sum(-1))
            prior = ((t.a - 1.0) * np.log(u) - u).sum(-1)
            log_density = prior - t.total * log_mass
        mean = u + h * self.drift(u, phi, t, riemannian)
        return Place(u, log_phi, phi, log_mass, log_density, mean)

    def drift(self, u: Doubles, phi: Doubles, t: Target, riemannian: bool) -> Doubles:
        """Return the drift of Langevin dynamics at a position, with or without the metric.

        It is grad L or, with the metric, G^-1 grad L + div G^-1, (..., m).

        Parameters
        ----------
        u : (..., m) float64
            Coordinates.
        phi : (..., d) float64
            Probabilities of the categories at ``u``.
        t : Target
            The posterior.
        riemannian : bool
            Whether steps follow the metric.
        """
        a, total = t.a, t.total
        # If steps follow the metric, drift and gradient exchange coordinates. The drift in mean
        # coordinates is the gradient in natural coordinates, divided by N. The drift in natural
        # coordinates is the gradient in mean coordinates, divided by N.
        if self.reduced:
            if self.natural == riemannian:
                by_phi = (a - 1.0) / phi
                gradient = by_phi[..., :-1] - by_phi[..., -1:]
            else:
                gradient = a[..., :-1] - a.sum(-1, keepdims=True) * phi[..., :-1]
            return np.asarray(gradient / total if riemannian else gradient)
        if self.natural:
            gradient = a - total * phi - np.exp(u)
            return np.asarray(np.exp(-u) * (gradient - 1.0) if riemannian else gradient)
        if riemannian:
            return np.asarray(a - u - total * phi)
        return np.asarray((a - 1.0) / u - total / u.sum(-1, keepdims=True) - 1.0)

    def multiply_noise(self, p: Place, t: Target, z: Doubles) -> Doubles:
        """Multiply a noise vector by a square root of the inverse metric G^-1, (..., m).

        Parameters
        ----------
        p : Place
            Positions of the chains.
        t : Target
            The posterior.
        z : (..., m) float64
            The vector, which is noise.
        """
        if not self.reduced:
            return np.asarray(np.sqrt(np.exp(-p.u) if self.natural else p.u) * z)
        q, root = np.sqrt(p.phi[..., :-1]), np.sqrt(p.phi[..., -1:])
        shared = (q * z).sum(-1, keepdims=True)
        if self.natural:
            # Multiply by B / sqrt(N), where B B' / N is the inverse metric: B B' = diag(1/phi) + 1
            # 1' / phi_ref, B = diag(1/q) (I + c q q'), q = sqrt(phi), root = sqrt(phi_ref) and c =
            # 1 / (root (1 + root)).
            move = z / q + shared / (root * (1.0 + root))
        else:
            # Multiply by B / sqrt(N), where B B' / N is the inverse metric: B B' = diag(u) - u u',
            # B = diag(q) (I - q q' / (1 + root)), q = sqrt(u) and root = sqrt(phi_ref).
            move = q * (z - q * (shared / (1.0 + root)))
        return np.asarray(move / np.sqrt(t.total))

    def metric(self, p: Place, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        """Return the squared length of a vector in the metric, and the metric's log determinant.

        They are v' G v for the vector v, (...), and log det G, (...), up to a constant.

        Parameters
        ----------
        p : Place
            Positions of the chains.
        t : Target
            The posterior.
        v : (..., m) float64
            The vector v, a difference of two positions.
        """
        if not self.reduced:
            variance = np.exp(-p.u) if self.natural else p.u
            return (v * v / variance).sum(-1), -np.log(variance).sum(-1)
        if self.natural:
            mean = (p.phi[..., :-1] * v).sum(-1, keepdims=True)
            square = (p.phi[..., :-1] * (v - mean) ** 2).sum(-1)
            square += p.phi[..., -1] * mean[..., 0] ** 2
            return t.total * square, p.log_phi.sum(-1)
        square = (v * v / p.u).sum(-1) + v.sum(-1) ** 2 / p.phi[..., -1]
        return t.total * square, -p.log_phi.sum(-1)

    def log_q(self, origin: Place, to: Doubles, t: Target, h: Doubles, riemannian: bool) -> Doubles:
        """Return the log density of proposing ``to`` from ``origin``, (chains,), up to a constant.

        Parameters
        ----------
        origin : Place
            Positions of the chains.
        to : (chains, m) float64
            Coordinates of the proposals.
        t : Target
            The posterior.
        h : (chains, 1) float64
            Diffusion time of the step.
        riemannian : bool
            Whether steps follow the metric.
        """
        mean, four_h = origin.mean, 4.0 * h
        if self.is_reflected:
            variance = origin.u if riemannian else np.ones(())
            near = -((to - mean) ** 2) / (four_h * variance)
            mirrored = -((to + mean) ** 2) / (four_h * variance)
            density = np.logaddexp(near, mirrored) - 0.5 * np.log(variance)
            return np.asarray(density.sum(-1))
        away = to - mean
        if not riemannian:
            return np.asarray(-(away * away).sum(-1) / four_h[:, 0])
        square, log_det = self.metric(origin, t, away)
        return np.asarray(0.5 * log_det - square / four_h[:, 0])


def _normalise_logs(log_g: Doubles) -> Doubles:
    """Subtract the log of the sum of exponentials from logarithms.

    The largest logarithm is subtracted first, which rounds less than `log_total`.
    """
    top = log_g.max(-1, keepdims=True)
    return np.asarray(log_g - top - np.log(np.exp(log_g - top).sum(-1, keepdims=True)))


#: Coordinate systems by their names in the table of the module's docstring.
COORDINATES = {
    "reduced-mean": Coordinates(reduced=True, natural=False),
    "reduced-natural": Coordinates(reduced=True, natural=True),
    "expanded-mean": Coordinates(reduced=False, natural=False),
    "expanded-natural": Coordinates(reduced=False, natural=True),
}
