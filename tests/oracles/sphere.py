"""Points on spheres and the spherical admixture model in plain NumPy, with a vector per document."""

import numpy as np
from oracles.philox import uniform_open
from oracles.simplex import box_muller
from scipy.special import gammaln, ive


def log_normaliser(d, kappa):
    """Return ln c_d(kappa) of the von Mises-Fisher density, for small orders."""
    nu = d / 2 - 1
    return nu * np.log(kappa) - d / 2 * np.log(2 * np.pi) - np.log(ive(nu, kappa)) - kappa


def area(d):
    """Return the log area of the unit sphere in R^d."""
    return np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)


def energy(beta, documents, theta, centre, kappa0, sigma, kappa):
    """Return minus the log collapsed joint density of topics and documents, up to constants."""
    resultant = kappa0 * centre + sigma * beta.sum(axis=1)
    mixed = theta @ beta.T
    cosines = (documents * mixed).sum(axis=1) / np.linalg.norm(mixed, axis=1)
    return log_normaliser(len(beta), np.linalg.norm(resultant)) - kappa * cosines.sum()


def numerical_gradient(f, x, step=1e-6):
    """Return the gradient of f at x by central differences."""
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = x.copy()
        moved[at] += step
        up = f(moved)
        moved[at] -= 2 * step
        slope[at] = (up - f(moved)) / (2 * step)
    return slope


def geodesic(x, v, t):
    """Follow great circles from x (columns) with velocities v for a time t."""
    pace = np.linalg.norm(v, axis=0)
    across = np.divide(v, pace, out=np.zeros_like(v), where=pace > 0)
    c, s = np.cos(pace * t), np.sin(pace * t)
    return x * c + across * s, v * c - x * (pace * s)


def tangent(x, g):
    """Project g (columns) to the tangent spaces at x."""
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


def statistics(beta, documents, samples):
    """Sum over samples (n, N, K) theta /

    w

    , c theta theta' /

    w

    ^2, and c; w = beta theta.
    """
    mixed = np.einsum("vk,dsk->dsv", beta, samples)
    norms = np.linalg.norm(mixed, axis=2)
    cosines = np.einsum("dv,dsv->ds", documents, mixed) / norms
    outer = np.einsum("ds,dsk,dsj->kj", cosines / norms**2, samples, samples)
    return (samples / norms[..., None]).sum(axis=1), outer, cosines.sum(axis=1)


def proportions_energy(theta, gram, along, kappa, alpha):
    """Return -ln p(theta | v, beta) on the simplex, up to constants, and its Euclidean gradient."""
    mixed = gram @ theta
    n = np.sqrt(theta @ mixed)
    c = theta @ along / n
    energy = -kappa * c - (alpha - 1) * np.log(theta).sum()
    return energy, -(alpha - 1) / theta - kappa / n * (along - c / n * mixed)


def root_energy(x, gram, along, kappa, alpha):
    """Return the same on the sphere of square roots, whose surface is stretched by prod |x_k|."""
    energy, slope = proportions_energy(x * x, gram, along, kappa, alpha)
    return energy - np.log(np.abs(x)).sum(), 2 * x * slope - 1 / x


def walk(address, entity, theta, gram, along, kappa, alpha, length, trajectories, leaps, chart):
    """Run trajectories of a document's proportions; return each end, and whether it was accepted.

    Trajectory t takes words t (B + 1) to t (B + 1) + B - 1 of the entity, B = ceil(K/4), for its
    velocity, four topics a word, and the next for the uniform of Metropolis's rule.
    """
    k, root = len(theta), chart == "root"
    blocks, energy_of = -(-k // 4), root_energy if root else proportions_energy
    place = np.sqrt(theta) if root else theta.copy()

    def flat(x, g):
        return tangent(x, g) if root else g - g.mean()

    ends, taken = [], []
    for t in range(trajectories):
        words = [address.block(t * (blocks + 1) + j, entity) for j in range(blocks + 1)]
        w = np.array(words, np.uint32)
        z = np.stack([box_muller(w[:-1, i], w[:-1, i + 1]) for i in (0, 2)], axis=1)
        x, v = place, z.transpose(2, 1, 0).reshape(-1)[:k]
        v = flat(x, v)
        energy, slope = energy_of(x, gram, along, kappa, alpha)
        start = energy + v @ v / 2
        for _ in range(leaps):
            v = v - length / 2 * flat(x, slope)
            x, v = geodesic(x, v, length) if root else reflected(x, v, length)
            energy, slope = energy_of(x, gram, along, kappa, alpha)
            v = v - length / 2 * flat(x, slope)
        taken.append(np.log(uniform_open(words[-1][0])) <= start - energy - v @ v / 2)
        place = x if taken[-1] else place
        ends.append(place**2 if root else place)
    return np.array(ends), np.array(taken)


def von_mises_fisher(rng, mean, kappa):
    """One draw around each row of unit vectors (n, 3), whose cosine has an inverse CDF in closed form."""
    u = rng.random(len(mean))
    cosine = 1 + np.log(u + (1 - u) * np.exp(-2 * kappa)) / kappa
    side = rng.normal(size=mean.shape)
    side -= mean * (side * mean).sum(axis=1, keepdims=True)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return mean * cosine[:, None] + side * np.sqrt(1 - cosine**2)[:, None]
