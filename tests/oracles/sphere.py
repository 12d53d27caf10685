"""Points on spheres and the spherical admixture model, written plainly in NumPy, a vector a document."""

import numpy as np
from scipy.special import gammaln, ive


def log_normaliser(d, kappa):
    """ln c_d(kappa) of the von Mises-Fisher density, for small orders."""
    nu = d / 2 - 1
    return nu * np.log(kappa) - d / 2 * np.log(2 * np.pi) - np.log(ive(nu, kappa)) - kappa


def area(d):
    """Logarithm of the area of the unit sphere of R^d."""
    return np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)


def energy(beta, documents, theta, centre, kappa0, sigma, kappa):
    """Minus the log of the collapsed joint density of topics and documents, but for constants."""
    resultant = kappa0 * centre + sigma * beta.sum(axis=1)
    mixed = theta @ beta.T
    cosines = (documents * mixed).sum(axis=1) / np.linalg.norm(mixed, axis=1)
    return log_normaliser(len(beta), np.linalg.norm(resultant)) - kappa * cosines.sum()


def numerical_gradient(f, x, step=1e-6):
    """The gradient of f at x by central differences."""
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = x.copy()
        moved[at] += step
        up = f(moved)
        moved[at] -= 2 * step
        slope[at] = (up - f(moved)) / (2 * step)
    return slope


def geodesic(x, v, t):
    """Follow great circles from x, columns, with velocities v for a time t."""
    pace = np.linalg.norm(v, axis=0)
    across = np.divide(v, pace, out=np.zeros_like(v), where=pace > 0)
    c, s = np.cos(pace * t), np.sin(pace * t)
    return x * c + across * s, v * c - x * (pace * s)


def tangent(x, g):
    """Project g, columns, to the tangent spaces at x."""
    return g - x * (x * g).sum(axis=0)


def reflected(theta, v, t):
    """Move along a line in the simplex, reflected at its faces, for a time t."""
    theta, v, k = theta.copy(), v.copy(), len(theta)
    while True:
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = np.where(v < 0, -theta / v, np.inf)
        face = int(hits.argmin())
        if hits[face] >= t:
            return theta + t * v, v
        theta, t = theta + hits[face] * v, t - hits[face]
        theta[face] = 0.0
        v = v - 2 * k * (v[face] - v.mean()) / (k - 1) * (np.eye(k)[face] - 1 / k)
