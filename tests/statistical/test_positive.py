"""SCIR for one positive number, gamma and lognormal. A chain is a replicate.

Baker et al. (2018), section 2.3; docs/internals/mathematics.md, "One positive number".
"""

import numpy as np
import pytest
from oracles.judge import KS, Z, ks, z_mean, z_variance
from scipy import special, stats

from pysgrld.samplers.targets import simplex

pytestmark = pytest.mark.statistical

COUNTS = np.array([0, 3, 1, 1, 7, 2, 0, 4])
CHAINS = 20_000


@pytest.mark.parametrize("shape", [1e-3, pytest.param(0.3, marks=pytest.mark.nightly), 4.0])
def test_any_gamma_target_is_met_by_every_step(shape):
    """Red with: the rate left out; shape 1.02 times."""
    for h in (0.3, 30.0):
        x = simplex.gamma(
            shape=shape,
            rate=5.0,
            step_size=h,
            samples=1,
            burn_in=int(30 / h) + 20,
            chains=20_000,
            seed=1,
        )[0]
        assert abs(z_mean(x, special.digamma(shape) - np.log(5.0))) < Z
        assert abs(z_variance(x, special.polygamma(1, shape), x.mean())) < Z


def test_all_counts_give_the_posterior_of_their_mean():
    """Red with: number of counts not added to the rate."""
    x = np.exp(
        simplex.gamma(COUNTS, shape=0.5, rate=2.0, step_size=40.0, samples=1, chains=CHAINS)[0]
    )
    assert ks(x, lambda v: special.gammainc(0.5 + 18, v * 10)) < KS


@pytest.mark.parametrize("h", [pytest.param(0.05, marks=pytest.mark.nightly), 1.0])
def test_minibatches_of_counts_widen_the_gamma_by_tanh_of_half_the_step(h):
    """Baker et al. (2018), corollary 3.2.

    Red with: the scale N/n left out; minibatches of twice the size.
    """
    n = len(COUNTS)
    x = np.exp(
        simplex.gamma(
            COUNTS,
            shape=0.5,
            rate=2.0,
            step_size=h,
            minibatch=3,
            samples=1,
            burn_in=int(12 / h),
            chains=CHAINS,
            seed=2,
        )[0]
    ) * (2 + n)
    a, spread = 0.5 + COUNTS.sum(), (n / 3) ** 2 * 3 * COUNTS.var()
    assert abs(z_mean(x, a)) < Z
    assert abs(z_variance(x, a + np.tanh(h / 2) * spread, a)) < Z


def test_the_mean_and_variance_on_the_way_are_those_of_the_corollary():
    """4 steps of .3. Red with: e^-h of the variance's first term in place of e^-h - e^-2h."""
    h, steps, g0 = 0.3, 4, 40.0
    log_x = simplex.gamma(
        COUNTS,
        shape=0.5,
        rate=2.0,
        step_size=h,
        minibatch=3,
        samples=1,
        burn_in=steps - 1,
        chains=CHAINS,
        start=g0 / 10,
        seed=3,
    )
    x = np.exp(log_x[0]) * 10
    a, spread = 0.5 + COUNTS.sum(), (8 / 3) ** 2 * 3 * COUNTS.var()
    e = np.exp(-h * steps)
    mean = g0 * e + a * (1 - e)
    variance = 2 * g0 * (e - e * e) + a * (1 - e) ** 2 + (1 - e * e) * np.tanh(h / 2) * spread
    assert abs(z_mean(x, mean)) < Z
    assert abs(z_variance(x, variance, mean)) < Z


LOGS = np.log([0.2, 3.0, 1.1, 5.0, 0.7])


def test_lognormal_targets_are_met_by_every_step():
    """Red with: variance v (1 - e^-h); prior variance for its inverse."""
    v = 1 / (1 / 0.5 + 5 / 2.0)
    m = v * (1.5 / 0.5 + LOGS.sum() / 2.0)
    for h in (0.1, 3.0):
        x = simplex.lognormal(
            np.exp(LOGS),
            noise=2.0,
            mean=1.5,
            variance=0.5,
            step_size=h,
            samples=1,
            burn_in=int(20 / h),
            chains=CHAINS,
            seed=1,
        )[0]
        assert ks(x, stats.norm(m, np.sqrt(v)).cdf, above=-np.inf) < KS


@pytest.mark.parametrize("h", [pytest.param(0.05, marks=pytest.mark.nightly), 1.0])
def test_minibatches_widen_the_lognormal_by_tanh_of_half_the_step(h):
    """Red with: the scale N/n left out; tanh(h) for tanh(h/2)."""
    v = 1 / (1 / 0.5 + 5 / 2.0)
    m = v * (1.5 / 0.5 + LOGS.sum() / 2.0)
    x = simplex.lognormal(
        np.exp(LOGS),
        noise=2.0,
        mean=1.5,
        variance=0.5,
        step_size=h,
        minibatch=2,
        samples=1,
        burn_in=int(12 / h),
        chains=CHAINS,
        seed=2,
    )[0]
    spread = (v / 2.0 * 5 / 2) ** 2 * 2 * LOGS.var()
    assert abs(z_mean(x, m)) < Z
    assert abs(z_variance(x, v + np.tanh(h / 2) * spread, m)) < Z


def test_draws_are_those_after_the_burn_in_and_thinned():
    """Red with: the first draw before the burn-in."""
    every = simplex.lognormal(samples=12, chains=2, seed=3)
    some = simplex.lognormal(samples=3, burn_in=3, thin=3, chains=2, seed=3)
    np.testing.assert_array_equal(some, every[[5, 8, 11]])
    every, some = (simplex.gamma(shape=1.0, samples=n, burn_in=12 - n, chains=2) for n in (12, 3))
    np.testing.assert_array_equal(some, every[9:])


@pytest.mark.parametrize(
    ("target", "changes", "message"),
    [
        ("gamma", {"shape": 0.0}, "shape is 0.0"),
        ("gamma", {"counts": [1.5]}, "whole"),
        ("gamma", {"counts": "a"}, "a vector of finite numbers"),
        ("gamma", {"counts": [[1]]}, "a vector of finite numbers"),
        ("gamma", {"minibatch": 3}, "no minibatch can be drawn"),
        ("gamma", {"start": -1.0}, "start is -1.0"),
        ("gamma", {"step_size": 0.0}, "step_size"),
        ("gamma", {"samples": 0}, "samples"),
        ("lognormal", {"observations": [0.0]}, "> 0"),
        ("lognormal", {"variance": 0.0}, "variance is 0.0"),
        ("lognormal", {"mean": np.nan}, "mean is nan"),
    ],
)
def test_a_wrong_argument_is_named(target, changes, message):
    arguments = ({"shape": 1.0} if target == "gamma" else {}) | changes
    with pytest.raises(ValueError, match=message):
        getattr(simplex, target)(**arguments)
