"""Forward simulation of deep LDA in NumPy: the joint distribution for many copies of a corpus.

Arrays have a leading axis of copies, R, where 1 stands for all: phi[l] (R, K_{l-1}, K_l), r (R, K_L),
theta[l] (R, D, K_l), c (R, D, L) with c[..., 0] = c^(2). Layers from 0; all gammas by their rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

FLOOR = 1e-30


class Prior(NamedTuple):
    """Constants of the documents' local variables."""

    a0: float = 3.0
    b0: float = 2.5
    e0: float = 5.0
    f0: float = 5.0


class Locals(NamedTuple):
    """Draw documents' variables, and the Poisson counts of their words, (R, D, V)."""

    theta: list[np.ndarray]
    c: np.ndarray
    x: np.ndarray


def gammas(rng, shape, rate):
    """Draw Gamma(shape, 1/rate), at least the minimum stored by the kernel."""
    return np.maximum(rng.gamma(shape) / rate, FLOOR)


def mixed(phi, theta):
    """Return Phi theta: shapes of the layer below, or means of the counts."""
    return theta @ phi.transpose(0, 2, 1)


def forward(rng, phi, r, documents, prior) -> Locals:
    """Draw everything about documents from the model (Cong et al. 2017, eq. 1)."""
    shape = np.broadcast_to(r[:, None, :], (len(r), documents, r.shape[1]))
    p = rng.beta(prior.a0, prior.b0, shape.shape[:2])
    c = [(1 - p) / p] + [rng.gamma(prior.e0, 1 / prior.f0, p.shape) for _ in phi[1:]]
    theta = []
    for topics, rate in zip(phi[::-1], c[::-1], strict=True):
        theta.insert(0, gammas(rng, shape, rate[..., None]))
        shape = mixed(topics, theta[0])
    return Locals(theta, np.stack(c, axis=-1), rng.poisson(shape))


def split(rng, y, phi, theta):
    """Return word counts by topic, (R, D, K_{l-1}, K_l)."""
    weights = phi[:, None] * theta[:, :, None, :]
    return rng.multinomial(y, weights / weights.sum(axis=-1, keepdims=True))


def tables(rng, n, shape):
    """Draw CRT(n, shape), one customer at a time."""
    count = np.minimum(n, 1)
    for before in range(1, int(n.max(initial=0))):
        count += (rng.random(n.shape) * (shape + before) < shape) & (n > before)
    return count


def upward(rng, x, phi, theta, r):
    """Draw the counts of all layers, (A, n) each, and the top layer's tables (R, D, K_L)."""
    shapes = [mixed(topics, above) for topics, above in zip(phi[1:], theta[1:], strict=True)]
    shapes.append(np.broadcast_to(r[:, None, :], theta[-1].shape))
    counts, y = [], x
    for topics, own, shape in zip(phi, theta, shapes, strict=True):
        a = split(rng, y, topics, own)
        n = a.sum(axis=2)
        counts.append((a, n))
        y = tables(rng, n, shape)
    return counts, y


def top_q(c):
    """Return q^(L+1) of each document by the recursion q <- ln(1 + q / c) from 1."""
    q = np.ones(c.shape[:-1])
    for rate in np.moveaxis(c, -1, 0):
        q = np.log1p(q / rate)
    return q


def crt_pmf(n, shape, most=None):
    """Return P(l), l = 0 .. most, of CRT(n, shape), one customer at a time."""
    p = np.zeros((n if most is None else most) + 1)
    p[0] = 1.0
    for before in range(n):
        new = shape / (shape + before)
        p[1:] = p[1:] * (1 - new) + p[:-1] * new
        p[0] *= 1 - new
    return p


def crt_moments(n, shape):
    """Return the mean and variance of CRT(n, shape)."""
    mean = shape * (special.digamma(n + shape) - special.digamma(shape))
    spread = special.polygamma(1, n + shape) - special.polygamma(1, shape)
    return mean, mean + shape**2 * spread


def tlasgr(phi, a, pace, z, edge=np.abs):
    """Make one step of topics in columns, (V, K): eq. 13 to 15 and the authors' projection.

    ``a`` = eta + counts, ``pace`` = eps / M; ``edge`` brings back what left the simplex.
    """
    x = phi + pace * (a - a.sum(axis=0) * phi) + np.sqrt(2 * pace * phi) * z
    u = x - (x.sum(axis=0) - 1) * phi
    return edge(u) / edge(u).sum(axis=0)


def clip(u):
    """What is above 0, and 0."""
    return np.maximum(u, 0.0)
