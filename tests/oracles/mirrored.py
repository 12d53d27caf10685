"""The dual potential of a Dirichlet posterior (Hsieh et al. 2018, section 3.7) in NumPy.

``y`` (V - 1,): log of each word over the last; ``a`` (V,): prior and counts.
"""

from __future__ import annotations

import numpy as np


def primal(y):
    """Return phi given y, (V,), without overflow."""
    wide = np.append(y, 0.0)
    weights = np.exp(wide - wide.max())
    return weights / weights.sum()


def potential(y, a):
    """Return W(y) up to a constant."""
    top = max(0.0, float(np.max(y)))
    return -np.dot(a[:-1], y) + a.sum() * (top + np.log(np.exp(-top) + np.exp(y - top).sum()))


def gradient(y, a):
    """Of W, (V - 1,)."""
    return -a[:-1] + a.sum() * primal(y)[:-1]
