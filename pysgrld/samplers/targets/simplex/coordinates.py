"""Four coordinate systems of a Dirichlet posterior, and the Langevin dynamics of each.

Patterson and Teh (2013), section 3 and Table 1, derived anew: every drift is checked by finite
differences (tests/statistical/test_langevin.py). A point is u, of m coordinates; it stands for
probabilities phi of d categories. With a = alpha + n, N = sum of n, A = sum of a, and "ref" the last
category:

=================  ==================  =======================================================
reduced-mean       u = phi, m = d - 1  open simplex
reduced-natural    phi = softmax(u,0)  u = log(phi / phi_ref), m = d - 1: mirrored Langevin's y
expanded-mean      phi = u / sum u     u = g > 0, prior Gamma(alpha), m = d: SGRLD's g
expanded-natural   phi = softmax(u)    exp(u) has the prior Gamma(alpha), m = d
=================  ==================  =======================================================

L is the log density in the coordinates u, Jacobian included. The drift with a Riemannian metric G is
G^-1 grad L + div G^-1, and ``spread`` multiplies by a square root of G^-1. The metric of the reduced
systems is N times Fisher's of one observation; that of the expanded ones is the Gamma prior's.
The paper prints the curvature terms of the reduced-mean system without their factor 1/N.

All functions take arrays with any leading axes: u (..., m), a (..., d), results (...) or (..., m).
"""

# ruff: noqa: D102 (docstrings of the base class are not repeated)
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from pysgrld.types import Doubles


class Point(NamedTuple):
    """A place where a chain is, in the coordinates and as probabilities; leading axes as they come.

    Attributes
    ----------
    u : (..., m) float64
        Coordinates.
    log_phi, phi : (..., d) float64
        Probabilities of the categories, and their logarithms.
    log_mass : (...) float64
        Logarithm of the sum of g; 0 in reduced coordinates, which have none.
    """

    u: Doubles
    log_phi: Doubles
    phi: Doubles
    log_mass: Doubles


class Target(NamedTuple):
    """A Dirichlet posterior, by its prior and counts.

    Attributes
    ----------
    alpha : (d,) float64
        Prior, > 0.
    n : (..., d) float64
        Counts, or an estimate of them by a minibatch.
    total : float
        N, the sum of all counts; above 0 where a metric has it.
    """

    alpha: Doubles
    n: Doubles
    total: float

    @property
    def a(self) -> Doubles:
        """Shapes a = alpha + n of the posterior, (..., d)."""
        return self.alpha + self.n


class Coordinates(ABC):
    """A coordinate system u of the simplex, with the Langevin dynamics of a Dirichlet posterior in it.

    Attributes
    ----------
    folded : bool
        Whether coordinates are positive, and a proposal is mirrored at zero.
    reduced : bool
        Whether there are d - 1 coordinates, instead of d and a scale.
    """

    folded = False
    reduced = False

    @abstractmethod
    def start(self, log_g: Doubles) -> Doubles:
        """Give the coordinates, (..., m), of unnormalised probabilities.

        Parameters
        ----------
        log_g : (..., d) float64
            Their logarithms.
        """

    @abstractmethod
    def look(self, u: Doubles) -> Point:
        """Give the point at some coordinates.

        Parameters
        ----------
        u : (..., m) float64
            Coordinates; outside the simplex the point has NaN in it.
        """

    @abstractmethod
    def log_density(self, p: Point, t: Target) -> Doubles:
        """Compute the log density L in these coordinates, (...), up to a constant.

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        t : Target
            Prior and counts.
        """

    @abstractmethod
    def gradient(self, p: Point, t: Target) -> Doubles:
        """Compute the gradient of L, (..., m): the drift of plain Langevin dynamics.

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        t : Target
            Prior and counts.
        """

    @abstractmethod
    def drift(self, p: Point, t: Target) -> Doubles:
        """Compute the drift with the metric, G^-1 grad L + div G^-1, (..., m).

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        t : Target
            Prior and counts.
        """

    @abstractmethod
    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        """Multiply a vector by a square root of G^-1, (..., m).

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        t : Target
            Prior and counts.
        z : (..., m) float64
            The vector: noise.
        """

    @abstractmethod
    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        """Measure a vector by the metric: v' G v, (...), and log det G, (...), up to a constant.

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        t : Target
            Prior and counts.
        v : (..., m) float64
            The vector: a difference of two places.
        """


class _Expanded(Coordinates):
    """Systems of d coordinates, whose metric is diagonal."""

    @abstractmethod
    def variance(self, p: Point) -> Doubles:
        """Give the diagonal of G^-1, (..., d).

        Parameters
        ----------
        p : Point
            Where the chains are, with any leading axes.
        """

    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        return np.asarray(np.sqrt(self.variance(p)) * z)

    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        variance = self.variance(p)
        return (v * v / variance).sum(-1), -np.log(variance).sum(-1)


class _Reduced(Coordinates):
    """Systems of d - 1 coordinates, whose metric is N (diag - rank one) or the inverse of one."""

    reduced = True


class ReducedMean(_Reduced):
    """The system u = the first d - 1 probabilities."""

    def start(self, log_g: Doubles) -> Doubles:
        return np.asarray(np.exp(_normalised(log_g)))[..., :-1]

    def look(self, u: Doubles) -> Point:
        phi = np.concatenate([u, 1.0 - u.sum(-1, keepdims=True)], -1)
        return Point(u, np.log(phi), phi, np.zeros(u.shape[:-1]))

    def log_density(self, p: Point, t: Target) -> Doubles:
        return np.asarray(((t.a - 1.0) * p.log_phi).sum(-1))

    def gradient(self, p: Point, t: Target) -> Doubles:
        slope = (t.a - 1.0) / p.phi
        return np.asarray(slope[..., :-1] - slope[..., -1:])

    def drift(self, p: Point, t: Target) -> Doubles:
        a = t.a
        return np.asarray((a[..., :-1] - a.sum(-1, keepdims=True) * p.u) / t.total)

    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        # diag(u) - u u' = B B',  B = diag(q) (I - q q' / (1 + sqrt(phi_ref))),  q = sqrt(u)
        q, root = np.sqrt(p.u), np.sqrt(p.phi[..., -1:])
        shared = (q * z).sum(-1, keepdims=True) / (1.0 + root)
        return np.asarray(q * (z - q * shared) / np.sqrt(t.total))

    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        square = (v * v / p.u).sum(-1) + v.sum(-1) ** 2 / p.phi[..., -1]
        return t.total * square, -p.log_phi.sum(-1)


class ReducedNatural(_Reduced):
    """The system u = log(phi / phi_ref), without boundary: plain Langevin here is mirrored Langevin."""

    def start(self, log_g: Doubles) -> Doubles:
        return log_g[..., :-1] - log_g[..., -1:]

    def look(self, u: Doubles) -> Point:
        log_phi = _normalised(np.concatenate([u, np.zeros((*u.shape[:-1], 1))], -1))
        return Point(u, log_phi, np.exp(log_phi), np.zeros(u.shape[:-1]))

    def log_density(self, p: Point, t: Target) -> Doubles:
        return np.asarray((t.a * p.log_phi).sum(-1))

    def gradient(self, p: Point, t: Target) -> Doubles:
        a = t.a
        return np.asarray(a[..., :-1] - a.sum(-1, keepdims=True) * p.phi[..., :-1])

    def drift(self, p: Point, t: Target) -> Doubles:
        slope = (t.a - 1.0) / p.phi
        return np.asarray((slope[..., :-1] - slope[..., -1:]) / t.total)

    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        # diag(1/phi) + 1 1' / phi_ref = B B',  B = diag(1/q) (I + c q q'),  q = sqrt(phi)
        q, root = np.sqrt(p.phi[..., :-1]), np.sqrt(p.phi[..., -1:])
        shared = (q * z).sum(-1, keepdims=True) / (root * (1.0 + root))
        return np.asarray((z / q + shared) / np.sqrt(t.total))

    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        mean = (p.phi[..., :-1] * v).sum(-1, keepdims=True)
        square = (p.phi[..., :-1] * (v - mean) ** 2).sum(-1) + p.phi[..., -1] * mean[..., 0] ** 2
        return t.total * square, p.log_phi.sum(-1)


class ExpandedMean(_Expanded):
    """The system u = g > 0, a Gamma(alpha) each under the prior, reflected at zero."""

    folded = True

    def start(self, log_g: Doubles) -> Doubles:
        return np.asarray(np.exp(log_g))

    def look(self, u: Doubles) -> Point:
        total = u.sum(-1, keepdims=True)
        phi = u / total
        return Point(u, np.log(phi), phi, np.log(total[..., 0]))

    def log_density(self, p: Point, t: Target) -> Doubles:
        prior = ((t.a - 1.0) * np.log(p.u) - p.u).sum(-1)
        return np.asarray(prior - t.total * p.log_mass)

    def gradient(self, p: Point, t: Target) -> Doubles:
        total = p.u.sum(-1, keepdims=True)
        return np.asarray((t.a - 1.0) / p.u - t.total / total - 1.0)

    def drift(self, p: Point, t: Target) -> Doubles:
        return np.asarray(t.a - p.u - t.total * p.phi)

    def variance(self, p: Point) -> Doubles:
        return p.u


class ExpandedNatural(_Expanded):
    """The system u = log g, g being a Gamma(alpha) each under the prior."""

    def start(self, log_g: Doubles) -> Doubles:
        return log_g.copy()

    def look(self, u: Doubles) -> Point:
        top = u.max(-1, keepdims=True)
        log_mass = top + np.log(np.exp(u - top).sum(-1, keepdims=True))
        log_phi = u - log_mass
        return Point(u, log_phi, np.exp(log_phi), log_mass[..., 0])

    def log_density(self, p: Point, t: Target) -> Doubles:
        return np.asarray((t.a * p.u - np.exp(p.u)).sum(-1) - t.total * p.log_mass)

    def gradient(self, p: Point, t: Target) -> Doubles:
        return np.asarray(t.a - t.total * p.phi - np.exp(p.u))

    def drift(self, p: Point, t: Target) -> Doubles:
        return np.asarray(np.exp(-p.u) * (self.gradient(p, t) - 1.0))

    def variance(self, p: Point) -> Doubles:
        return np.asarray(np.exp(-p.u))


def _normalised(log_g: Doubles) -> Doubles:
    top = log_g.max(-1, keepdims=True)
    return np.asarray(log_g - top - np.log(np.exp(log_g - top).sum(-1, keepdims=True)))


COORDINATES: dict[str, Coordinates] = {
    "reduced-mean": ReducedMean(),
    "reduced-natural": ReducedNatural(),
    "expanded-mean": ExpandedMean(),
    "expanded-natural": ExpandedNatural(),
}
