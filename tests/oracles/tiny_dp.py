"""A Dirichlet-process mixture of four observations, whose posterior sums over all 15 partitions.

docs/internals/mathematics.md, "Four observations".
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

X = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2], [0, 1, 2]])
BASE, SHAPE, RATE = 0.5, 2.0, 2.0


def partitions(n: int) -> list[list[int]]:
    """Return labels in order of appearance, one list for each partition of n things."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*p, j] for p in found for j in range(max(p) + 2)]
    return found


def marginal(x: np.ndarray) -> float:
    """Return the log probability of a component's counts, with its parameter integrated out."""
    total = x.sum(axis=0)
    d = len(total)
    return float(
        gammaln(d * BASE)
        - gammaln(d * BASE + total.sum())
        + (gammaln(BASE + total) - gammaln(BASE)).sum()
    )


def posterior() -> dict[str, float]:
    """Return expectations that do not depend on labels."""
    n, weights, means, found = len(X), [], [], []

    def prior(c: float, k: int, power: int) -> float:
        log_p = (SHAPE - 1 + k + power) * np.log(c) - RATE * c + gammaln(c) - gammaln(c + n)
        return float(np.exp(log_p))

    for labels in partitions(n):
        z = np.array(labels)
        k = int(z.max()) + 1
        sizes = np.bincount(z)
        likelihood = np.exp(sum(marginal(X[z == j]) for j in range(k)) + gammaln(sizes).sum())
        weights.append(likelihood * quad(prior, 0, np.inf, (k, 0))[0])
        means.append(likelihood * quad(prior, 0, np.inf, (k, 1))[0])
        found.append(functions(z[None]))
    p = np.array(weights) / sum(weights)
    values = {name: float(p @ [f[name][0] for f in found]) for name in found[0]}
    return values | {"c": sum(means) / sum(weights)}


def functions(z: np.ndarray) -> dict[str, np.ndarray]:
    """Return label-free functions of allocations, one row of (n, 4) each."""
    return {
        "z1 = z2": z[:, 0] == z[:, 1],
        "z1 = z3": z[:, 0] == z[:, 2],
        "z3 = z4": z[:, 2] == z[:, 3],
        "z2 = z4": z[:, 1] == z[:, 3],
        "clusters": np.array([len(set(row)) for row in z.tolist()]),
    }
