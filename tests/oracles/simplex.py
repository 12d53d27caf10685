"""Steps of unnormalised topics, dense and in double: ``g`` is (V, K), ``counts`` N_kw is (V, K)."""

from __future__ import annotations

import numpy as np
from oracles.philox import Address, uniform_open
from oracles.xoshiro import row_words
from scipy import stats


def simplex_start(shape, scale, seed, chain, stream):
    """Gamma(1) by inversion: block k of word row w."""
    address = Address(seed, chain, "init", 0, stream)
    v, k = shape
    u = [[uniform_open(address.block(j, w)[0]) for j in range(k)] for w in range(v)]
    return -scale * np.log(np.array(u).reshape(shape))


def simplex_phi(g):
    """Normalised over words."""
    return g / g.sum(axis=0)


def simplex_relax(g, counts, eta, h):
    """Mean of the CIR transition (E.1)."""
    return g * np.exp(-h) + (eta + counts) * -np.expm1(-h)


def sgrld_normals(shape, seed, chain, step, stream):
    """Box and Muller: in a block of 64 rows, two vectors of words make 32 topics of a row."""
    address = Address(seed, chain, "sgrld_noise", step, stream)
    v, k = shape
    vectors = -(-k // 32)
    z = np.zeros((v, vectors, 2, 16))
    for w in range(v):
        if w % 64 == 0:
            words = row_words(address, w, 2 * vectors * 64).reshape(64, vectors, 2, 16)
        a, b = words[w % 64, :, 0], words[w % 64, :, 1]
        angle = np.pi / 4 * (b << np.uint32(3)).view(np.int32) / 2.0**31
        parts = np.where(
            b >> 31 == 0, (np.sin(angle), np.cos(angle)), (np.cos(angle), np.sin(angle))
        )
        for i in range(2):
            sign = 1.0 - 2.0 * (b >> np.uint32(30 - i) & 1)
            z[w, :, i] = np.sqrt(-2 * np.log(uniform_open(a.astype(int)))) * sign * parts[i]
    return z.reshape(v, -1)[:, :k]


def simplex_sgrld(g, counts, eta, h, z):
    """C.1, everything from the old state."""
    drift = eta - g + counts - g / g.sum(axis=0) * counts.sum(axis=0)
    return np.abs(g + h * drift + np.sqrt(2 * h * g) * z)


def cir(rng, g, a, h):
    """E.1: a Poisson mixture of Gammas."""
    e, c = np.exp(-h), -np.expm1(-h)
    return c * rng.gamma(a + rng.poisson(g * e / c))


def cir_cdf(x, g, a, h):
    """P(g' <= x | g): a scaled noncentral chi-square with 2a degrees of freedom."""
    e, c = np.exp(-h), -np.expm1(-h)
    return stats.ncx2.cdf(2 * np.asarray(x) / c, 2 * a, 2 * g * e / c)


def cir_moments(g, a, h):
    """Mean and variance of one transition."""
    e, c = np.exp(-h), -np.expm1(-h)
    return g * e + a * c, 2 * g * e * c + a * c * c


def folded_moments(m, v):
    """Mean and variance of |N(m, v)| (C.1)."""
    s = np.sqrt(v)
    mean = s * np.sqrt(2 / np.pi) * np.exp(-m * m / (2 * v)) + m * (1 - 2 * stats.norm.cdf(-m / s))
    return mean, m * m + v - mean**2
