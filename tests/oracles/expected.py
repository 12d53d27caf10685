"""Collapsed variational inference of documents given topics, in double precision.

Asuncion, Welling, Smyth and Teh (2009), eq. 8; docs/internals/mathematics.md, "New documents".
"""

from __future__ import annotations

from itertools import product

import numpy as np


def counts(phi: np.ndarray, table: np.ndarray, alpha: float | np.ndarray, passes: int):
    """Return expected topic counts (D, K), given phi (V, K) and word counts (D, V)."""
    found = np.zeros((len(table), phi.shape[1]))
    for d, n in enumerate(table):
        share = phi / phi.sum(axis=1, keepdims=True)
        for _ in range(passes):
            share = (alpha + n @ share - share) * phi
            share /= share.sum(axis=1, keepdims=True)
        found[d] = n @ share
    return found


def exact(phi: np.ndarray, words: list[int], alpha: np.ndarray) -> np.ndarray:
    """Return a document's posterior mean topic counts (K,), summed over all topics of its tokens."""
    k, n = phi.shape[1], len(words)
    every = np.array(list(product(range(k), repeat=n)))
    tokens = (every[:, :, None] == np.arange(k)).sum(axis=1)
    weight = np.ones(len(every))
    for i, word in enumerate(words):
        weight *= phi[word, every[:, i]]
    for j in range(n):  # Gamma(alpha + n) / Gamma(alpha), factor by factor
        weight *= np.where(tokens > j, alpha + j, 1.0).prod(axis=1)
    return weight @ tokens / weight.sum()
