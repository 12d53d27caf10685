"""Document completion with fixed topics, by enumerating K^N assignments.

Patterson and Teh (2013), eq. 15: docs/internals/mathematics.md, "Document completion".
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln


def theta_hat(phi: np.ndarray, words: list[int], alpha: float) -> np.ndarray:
    """Return E[(alpha + n_dk) / (K alpha + N_d) | words, phi] for phi (V, K)."""
    k = phi.shape[1]
    total, mean = 0.0, np.zeros(k)
    for z in product(range(k), repeat=len(words)):
        n = np.bincount(z, minlength=k)
        p = np.exp(gammaln(alpha + n).sum()) * np.prod(
            [phi[w, t] for w, t in zip(words, z, strict=True)]
        )
        total += p
        mean += p * (alpha + n) / (k * alpha + len(words))
    return mean / total
