"""Variational Bayes of LDA in double precision (Hoffman, Blei and Bach 2010, eq. 5).

docs/internals/mathematics.md, "Online variational Bayes".
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln


def log_expectation(a: np.ndarray, axis: int) -> np.ndarray:
    """Return E log of Dirichlet variates whose parameters are along ``axis``."""
    return digamma(a) - digamma(a.sum(axis=axis, keepdims=True))


def fit(lam, table, alpha, passes, tolerance, gamma=None):
    """Return gamma (D, K) and expected counts (K, V), given lambda (K, V) and counts (D, V)."""
    k = len(lam)
    gamma = np.ones((len(table), k)) if gamma is None else gamma.copy()
    beta = np.exp(log_expectation(lam, 1))
    counts = np.zeros_like(lam)
    for d, n in enumerate(table):
        for _ in range(passes):
            e = np.exp(log_expectation(gamma[d], 0))
            fresh = alpha + e * (beta @ (n / (e @ beta)))
            change, gamma[d] = np.abs(fresh - gamma[d]).mean(), fresh
            if change < tolerance:
                break
        e = np.exp(log_expectation(gamma[d], 0))
        counts += e[:, None] * beta * (n / (e @ beta))
    return gamma, counts


def bound(lam, gamma, table, alpha, eta):
    """Return the lower bound with the best responsibilities for ``gamma`` and ``lam``."""
    theta, beta = log_expectation(gamma, 1), log_expectation(lam, 1)
    k, v = lam.shape
    mixed = np.log(np.exp(theta) @ np.exp(beta))
    documents = (
        (table * mixed).sum()
        + ((alpha - gamma) * theta + gammaln(gamma) - gammaln(alpha)).sum()
        + (gammaln(k * alpha) - gammaln(gamma.sum(axis=1))).sum()
    )
    topics = ((eta - lam) * beta + gammaln(lam) - gammaln(eta)).sum() + (
        gammaln(v * eta) - gammaln(lam.sum(axis=1))
    ).sum()
    return documents + topics
