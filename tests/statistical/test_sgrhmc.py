"""SGRHMC keeps gamma laws of every shape, and has no bias that a shorter step does not remove.

Ma, Chen and Fox (2015), section 3.2; docs/internals/mathematics.md, "SGRHMC".
"""

import numpy as np
import pytest
from oracles.judge import Z, z_mean, z_variance
from statistical.chains import WORK

from pysgrld.core import core

pytestmark = pytest.mark.statistical

ROWS, K = 10, 2000


def after(shape, rate, h, steps):
    """g and r of 20,000 chains from exact draws, after some steps, and the share of small g."""
    rng = np.random.default_rng(0)
    g, r = core.zeros(ROWS, K, "float32"), core.zeros(ROWS, K, "float32")
    g[:], r[:] = rng.gamma(shape, 1 / rate, g.shape), rng.normal(size=g.shape)
    sums = g.sum(axis=0, dtype=np.float64)
    nothing = {"rows": np.zeros(0, np.int32), "counts": np.zeros((0, K), np.int64), "factor": 1.0}
    where = {"seed": 1, "chain": 0, "stream": 0, "work": WORK, "threads": 1, "topics": K}
    for t in range(steps):
        core.simplex_sgrhmc(
            g=g, sums=sums, r=r, eta=shape, rate=rate, h=h, step=t, **nothing, **where
        )
    return g.astype(np.float64).ravel(), r.astype(np.float64).ravel()


@pytest.mark.parametrize(
    ("shape", "rate", "h"),
    [
        (0.01, 1.0, 0.2),
        (0.1, 1.0, 0.1),
        (0.3, 1.0, 0.1),
        (0.3, 4.0, 0.05),
        (0.5, 1.0, 0.2),
        (1.0, 1.0, 0.1),
        (3.0, 1.0, 0.2),
        (40.0, 0.5, 0.2),
    ],
)
def test_gamma_laws_stay(shape, rate, h):
    """Mean, variance, small values, and the normal law of momenta, after a hundred steps.

    Red with: 2a for 2a - 1, or 2a - 2, the correction left out; noise of variance h g; the midpoint
    rule below one half, which heats at any step; rho q for rho q / 2; clipped in place of mirrored.
    """
    g, r = after(shape, rate, h, 100)
    assert abs(z_mean(g, shape / rate)) < Z
    assert abs(z_variance(g, shape / rate**2, shape / rate)) < Z
    start = np.random.default_rng(0).gamma(shape, 1 / rate, (ROWS, K)).astype(np.float32)
    small = 0.1 * shape / rate
    assert (g < small).mean() == pytest.approx((start < small).mean(), abs=0.015)
    assert abs(z_mean(r * r, 1.0)) < Z
