"""Steps of unnormalised topics, dense and in double: ``g`` and the counts N_kw are (V, K)."""

from __future__ import annotations

import numpy as np
from oracles.philox import Address, uniform_open
from oracles.xoshiro import row_words
from scipy import special, stats


def simplex_start(shape, scale, seed, chain, stream):
    """Draw Gamma(1) by inversion, from block k of word row w."""
    address = Address(seed, chain, "init", 0, stream)
    v, k = shape
    u = [[uniform_open(address.block(j, w)[0]) for j in range(k)] for w in range(v)]
    return -scale * np.log(np.array(u).reshape(shape))


def simplex_phi(g):
    """Return rows normalised over words."""
    return g / g.sum(axis=0)


def simplex_relax(g, counts, eta, h):
    """Return the mean of the CIR transition (Baker et al. 2018, corollary 3.2)."""
    return g * np.exp(-h) + (eta + counts) * -np.expm1(-h)


def sgrld_normals(shape, seed, chain, step, stream):
    """Return the noise of an SGRLD step."""
    return row_normals(shape, Address(seed, chain, "sgrld_noise", step, stream))


def box_muller(a, b):
    """Return two normals per pair of words, from an angle whose low bits span an eighth of the circle."""
    angle = np.pi / 4 * (b << np.uint32(3)).view(np.int32) / 2.0**31
    sine, cosine = np.sin(angle), np.cos(angle)
    z = np.stack(
        [
            np.where(b >> 31, cosine, sine) * (1.0 - 2.0 * (b >> np.uint32(30) & 1)),
            np.where(b >> 31, sine, cosine) * (1.0 - 2.0 * (b >> np.uint32(29) & 1)),
        ]
    )
    return z * np.sqrt(-2 * np.log(uniform_open(a.astype(int))))


def row_normals(shape, address, part=0):
    """Box and Muller: two vectors of words give two vectors of normals, through 64 padded rows."""
    v, k = shape
    stride = -(-k // 16) * 16
    blocks = []
    for first in range(0, v, 64):
        entity = first + (part << 32)
        words = row_words(address, entity, 64 * stride // 16).reshape(-1, 2, 16)
        z = box_muller(words[:, 0], words[:, 1]).swapaxes(0, 1)
        blocks.append(z.reshape(64, stride)[:, :k])
    return np.concatenate(blocks)[:v]


def simplex_sgrld(g, counts, eta, h, z):
    """Make a step by Patterson and Teh (2013), eq. 10, in which all terms use the old state."""
    drift = eta - g + counts - g / g.sum(axis=0) * counts.sum(axis=0)
    return np.abs(g + h * drift + np.sqrt(2 * h * g) * z)


def simplex_sgrhmc(g, r, counts, eta, rate, h, z):
    """Make a step by Ma, Chen and Fox (2015), section 3.2, in q = 2 sqrt(g); return g and r."""
    r = np.exp(-h * g) * r + np.sqrt(-np.expm1(-2 * h * g)) * z
    q, rho, c = 2 * np.sqrt(g), rate + counts.sum(axis=0) / g.sum(axis=0), 2 * (eta + counts) - 1
    kick, low = h * rho / 4, c < -1e-3
    low_q, low_r = log_flow(q, r - kick * q, np.where(low, c, -1.0), h)
    low_r = low_r - kick * low_q
    stiff, ahead = 1 + h * h * rho / 8, q + h * r / 2
    root = np.sqrt(np.maximum(ahead**2 + stiff * h * h * c, 0))
    m = (ahead + np.where(ahead < 0, -root, root)) / (2 * stiff)
    force = c / m - rho * m / 2
    moved = q + h * r + h * h * force / 2
    fast = np.where(moved < 0, -1, 1) * (r + h * force)
    return np.where(low, low_q, moved) ** 2 / 4, np.where(low, low_r, fast)


def log_flow(q, r, c, h):
    """Follow q'' = c / q for h, c < 0, mirrored at 0: a uniform rotation in distribution."""
    x = r / np.sqrt(-c)
    apex = q * np.exp(x * x / 2)
    turn = special.ndtr(x) - h * np.sqrt(-c) / (np.sqrt(2 * np.pi) * apex)
    x = special.ndtri(turn - np.floor(turn))
    return apex * np.exp(-x * x / 2), x * np.sqrt(-c)


def cir(rng, g, a, h):
    """Draw from the transition, a Poisson mixture of gammas.

    docs/internals/mathematics.md, "The transition".
    """
    e, c = np.exp(-h), -np.expm1(-h)
    return c * rng.gamma(a + rng.poisson(g * e / c))


def cir_cdf(x, g, a, h):
    """Return P(g' <= x | g), of a scaled noncentral chi-square with 2a degrees of freedom."""
    e, c = np.exp(-h), -np.expm1(-h)
    return stats.ncx2.cdf(2 * np.asarray(x) / c, 2 * a, 2 * g * e / c)


def cir_moments(g, a, h):
    """Return the mean and variance of one transition."""
    e, c = np.exp(-h), -np.expm1(-h)
    return g * e + a * c, 2 * g * e * c + a * c * c


def folded_moments(m, v):
    """Return the mean and variance of |N(m, v)| (docs/internals/mathematics.md, "SGRLD")."""
    s = np.sqrt(v)
    mean = s * np.sqrt(2 / np.pi) * np.exp(-m * m / (2 * v)) + m * (1 - 2 * stats.norm.cdf(-m / s))
    return mean, m * m + v - mean**2
