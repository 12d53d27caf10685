"""A corpus of nine tokens, whose posterior sums over all 512 assignments.

docs/internals/mathematics.md, "Nine tokens".
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln

K, V, ALPHA, ETA = 2, 4, 0.3, 0.7
DOCUMENTS = ((0, 0, 1), (1, 2), (2, 2, 0, 3))
WORD = np.concatenate(DOCUMENTS)
DOC = np.repeat(np.arange(3), [len(d) for d in DOCUMENTS])
#: (document, word) of the held-out tokens.
HELD_OUT = ((0, 2), (1, 1), (2, 0), (2, 2))


def coassigned(z: np.ndarray) -> dict[str, np.ndarray]:
    """Return label-free functions of assignments, (..., 9) -> (...)."""
    return {
        "z1 = z2": z[..., 0] == z[..., 1],
        "z1 = z3": z[..., 0] == z[..., 2],
        "z1 = z4": z[..., 0] == z[..., 3],
        "z6 = z7": z[..., 5] == z[..., 6],
        "z1 = z8": z[..., 0] == z[..., 7],
        "n0^2": (z == 0).sum(-1) ** 2,
    }


def counts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return n_dk (3, K) and n_kw (K, V) of one assignment."""
    n_dk, n_kw = np.zeros((3, K)), np.zeros((K, V))
    np.add.at(n_dk, (DOC, z), 1)
    np.add.at(n_kw, (z, WORD), 1)
    return n_dk, n_kw


def enumerate_posterior(
    alpha: float = ALPHA, eta: float = ETA, seeds: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return posterior expectations, by summing p(x, z) over every z.

    docs/internals/mathematics.md, "Latent Dirichlet allocation". ``seeds`` (K, V) are added to eta.
    """
    prior = np.full((K, V), eta) + (0.0 if seeds is None else seeds)
    mass = prior.sum(1)
    every = np.array(list(product(range(K), repeat=len(WORD))))
    log_p, square, mean, each, predictive = [], [], [], [], []
    for z in every:
        n_dk, n_kw = counts(z)
        n_k, n_d = n_kw.sum(1), n_dk.sum(1)
        log_p.append(
            np.sum(gammaln(K * alpha) - gammaln(K * alpha + n_d))
            + np.sum(gammaln(alpha + n_dk) - gammaln(alpha))
            + np.sum(gammaln(mass) - gammaln(mass + n_k))
            + np.sum(gammaln(prior + n_kw) - gammaln(prior))
        )
        a, total = prior + n_kw, (mass + n_k)[:, None]
        square.append((a * (a + 1) / (total * (total + 1))).sum(0))  # E[phi^2 | z], over topics
        each.append(a / total)
        mean.append((a / total).mean(0))
        predictive.append((alpha + n_dk) / (K * alpha + n_d)[:, None] @ (a / total))
    log_p = np.array(log_p)
    statistics = np.logaddexp.reduce(log_p)
    p = np.exp(log_p - statistics)
    out = {name: p @ f for name, f in coassigned(every).items()}
    out |= {
        "phi": np.tensordot(p, np.array(each), 1),
        "z": p @ (every == 0),
        "log p(x)": statistics,
        "sum phi_k0^2": p @ np.array(square)[:, 0],
        "sum phi_k2^2": p @ np.array(square)[:, 2],
        "mean phi": p @ np.array(mean),
        "predictive": np.tensordot(p, np.array(predictive), 1),
    }
    held = np.array([out["predictive"][d, w] for d, w in HELD_OUT])
    out["perplexity"] = np.exp(-np.log(held).mean())
    return out
