"""Simulation-based calibration on a Dirichlet posterior, and a control that must fail.

docs/internals/mathematics.md, "Calibration".
"""

import numpy as np
import pytest
from oracles.judge import P, uniform_p
from statistical.chains import WORK

from pysgrld.core import core

pytestmark = pytest.mark.statistical

REPLICATES, D, N, PRIOR, DRAWS, THIN = 2000, 4, 12, 0.5, 99, 5


def ranks(n, seed=1):
    """Ranks, 0 to 99, of phi_0 and phi_3 of the prior among 99 draws; minibatches of ``n``."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(D, PRIOR), REPLICATES)
    observed = rng.multinomial(N, phi)  # (replicates, D)
    g = core.zeros(D, REPLICATES, "float32")
    g[:] = (observed + PRIOR).T
    sums = g.sum(axis=0, dtype=np.float64)
    below = np.zeros((2, REPLICATES), int)
    for t in range(10 + DRAWS * THIN):
        counts = observed if n == N else rng.multinomial(n, observed / N)
        core.simplex_scir(
            g=g,
            sums=sums,
            topics=REPLICATES,
            eta=PRIOR,
            rows=np.arange(D, dtype=np.int32),
            counts=np.ascontiguousarray(counts.T),
            factor=N / n,
            h=1.0,
            seed=seed,
            chain=0,
            step=t,
            stream=0,
            work=WORK,
            threads=1,
        )
        if t >= 10 and (t - 10) % THIN == THIN - 1:
            below += g[[0, 3]] / sums < phi[:, [0, 3]].T
    return below


def test_ranks_of_the_truth_are_uniform():
    """Red with: eta/2 in the kernel; minibatches of 6 of the 12 observations."""
    for rank in ranks(N):
        assert uniform_p(rank // 5, 20) > P


def test_minibatches_widen_the_posterior_and_the_histogram_shows_it():
    """The negative control: ranks heap up in the middle.

    Red with: all 12 observations in place of 3.
    """
    for rank in ranks(3):
        assert uniform_p(rank // 5, 20) < 1e-12
        histogram = np.bincount(rank // 5, minlength=20)
        assert histogram[8:12].sum() > 1.3 * (histogram[:2].sum() + histogram[-2:].sum())
