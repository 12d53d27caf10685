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

# ruff: noqa: D102 (what the base class says is not repeated)
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from pysgrld.types import Doubles


class Point(NamedTuple):
    """Where a chain is: coordinates u (..., m), log phi and phi (..., d), log of the sum of g (...)."""

    u: Doubles
    log_phi: Doubles
    phi: Doubles
    log_mass: Doubles


class Target(NamedTuple):
    """Prior alpha (d,), counts n (..., d), their sum N (a number above 0 where a metric has it)."""

    alpha: Doubles
    n: Doubles
    total: float

    @property
    def a(self) -> Doubles:
        """Shapes alpha + n."""
        return self.alpha + self.n


class Coordinates(ABC):
    """One system. ``folded``: coordinates are positive, and a proposal is mirrored at zero."""

    folded = False
    reduced = False

    @abstractmethod
    def start(self, log_g: Doubles) -> Doubles:
        """Coordinates of unnormalised logarithms (..., d)."""

    @abstractmethod
    def look(self, u: Doubles) -> Point:
        """Probabilities at u."""

    @abstractmethod
    def log_density(self, p: Point, t: Target) -> Doubles:
        """L, up to a constant."""

    @abstractmethod
    def gradient(self, p: Point, t: Target) -> Doubles:
        """Of L: the drift of plain Langevin dynamics."""

    @abstractmethod
    def drift(self, p: Point, t: Target) -> Doubles:
        """G^-1 grad L + div G^-1."""

    @abstractmethod
    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        """A square root of G^-1, times z."""

    @abstractmethod
    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        """Square of v, v' G v, and log det G up to a constant."""


class _Expanded(Coordinates):
    """The metric is diagonal."""

    @abstractmethod
    def variance(self, p: Point) -> Doubles:
        """The diagonal of G^-1."""

    def spread(self, p: Point, t: Target, z: Doubles) -> Doubles:
        return np.asarray(np.sqrt(self.variance(p)) * z)

    def metric(self, p: Point, t: Target, v: Doubles) -> tuple[Doubles, Doubles]:
        variance = self.variance(p)
        return (v * v / variance).sum(-1), -np.log(variance).sum(-1)


class _Reduced(Coordinates):
    """The metric is N (diag - rank one) or the inverse of one: its roots are known."""

    reduced = True


class ReducedMean(_Reduced):
    """u = the first d - 1 probabilities."""

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
    """u = log(phi / phi_ref), no boundary. Plain Langevin here is mirrored Langevin."""

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
    """u = g > 0, a Gamma(alpha) each under the prior, reflected at zero."""

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
    """u = log g."""

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
