"""Log densities of count vectors, without the multinomial coefficient, which no model changes."""

from __future__ import annotations

import math

import numpy as np

from pysgrld.types import Documents, Doubles


def logsumexp(logs: Doubles) -> Doubles:
    """Logarithm of the sums of exponentials along rows."""
    top = logs.max(axis=1)
    summed: Doubles = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return summed


def log_likelihoods(documents: Documents, log_phi: Doubles) -> Doubles:
    """sum_w n_dw log phi_jw, (n, J); no document may be empty."""
    terms = documents.counts[:, None] * log_phi[documents.indices]
    found: Doubles = np.add.reduceat(terms, documents.indptr[:-1], axis=0)
    return found


def prior_predictive(documents: Documents, words: int, base: float) -> Doubles:
    """Log density of documents under a component that is not known at all, (n,)."""
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    terms = lgamma(base + documents.counts) - math.lgamma(base)
    inside = np.add.reduceat(terms, documents.indptr[:-1])
    total = words * base
    found: Doubles = inside + math.lgamma(total) - lgamma(total + documents.lengths)
    return found
