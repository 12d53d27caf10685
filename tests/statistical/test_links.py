"""Latent counts behind binary and real data, and deep LDA's chains on such data.

docs/internals/mathematics.md, "Links".
"""

import numpy as np
import pytest
from oracles import deep
from oracles.judge import P, Z, pmf_p, z_mean, z_two, z_variance
from scipy import special
from statistical.deep_chains import fixed, packed, unpacked, visit
from statistical.test_deep_geweke import V, functions, topics

from pysgrld.core import core

pytestmark = pytest.mark.statistical

#: alpha: mean and variance of a Bessel_{-1} variate.
BESSEL = {
    0.01: (1.0000125, 1.25e-5),
    0.5: (1.0309295, 0.0306139),
    3.0: (1.8518855, 0.6724057),
    60.0: (30.2531783, 14.998384),
    2000.0: (1000.2500938, 499.99996),
}


def counts(link, parameter, n=200_000):
    return core.latent_counts(link, np.full(n, float(parameter)), 1)


@pytest.mark.parametrize("alpha", BESSEL)
def test_counts_behind_reals_have_the_moments_of_the_fixture(alpha):
    mean, variance = BESSEL[alpha]
    x = counts("real", alpha**2 / 4)
    assert x.min() >= 1
    if alpha > 0.1:
        assert abs(z_mean(x, mean)) < Z
        assert abs(z_variance(x, variance, mean)) < Z
    else:  # one in eighty thousand is 2
        assert 1 <= (x == 2).sum() <= 10


@pytest.mark.parametrize("alpha", [0.5, 3.0, 29.9, 30.1, 60.0])
def test_counts_behind_reals_have_the_bessel_law(alpha):
    """Red with: alpha/2 to the 2x for the 2x - 1; x^2 for x (x + 1) in the steps up, or down."""
    k = np.arange(1, 200)
    log = (2 * k - 1) * np.log(alpha / 2) - special.gammaln(k + 1) - special.gammaln(k)
    pmf = np.concatenate(([0.0], np.exp(log - alpha) / special.ive(1, alpha)))
    assert pmf.sum() == pytest.approx(1.0)
    assert pmf_p(counts("real", alpha**2 / 4), pmf) > P


@pytest.mark.parametrize("product", [0.0, 1e-30, 1e-16])
def test_the_count_behind_a_real_is_one_where_the_rate_vanishes(product):
    assert (counts("real", product, 1000) == 1).all()


@pytest.mark.parametrize("mean", [0.3, 0.999, 1.0, 3.0, 12.0, 40.0])
def test_counts_behind_ones_are_poisson_without_zero(mean):
    """Red with: below 1, every 1 + Poisson accepted."""
    k = np.arange(200)
    pmf = np.exp(k * np.log(mean) - mean - special.gammaln(k + 1)) / -np.expm1(-mean)
    pmf[0] = 0.0
    x = counts("binary", mean)
    assert pmf_p(x, pmf) > P
    assert abs(z_mean(x, mean / -np.expm1(-mean))) < Z


@pytest.mark.parametrize("mean", [1e-30, 1e-6])
def test_the_count_behind_a_one_of_vanishing_rate_is_one(mean):
    assert (counts("binary", mean) > 1).sum() <= 3


@pytest.mark.parametrize("link", ["binary", "real"])
def test_a_word_that_no_topic_explains_has_one_count(link):
    """A rate of 1e-28, for which weights are lifted. Red with: the lift not undone."""
    arguments = fixed([np.full((1, 2), 1e-14)], np.ones(2), deep.Prior(), link=link)
    words, *_ = visit(
        arguments,
        np.ones((100, 1), np.int64),
        0,
        theta=packed([np.full((100, 2), 1e-14)]),
        rates=np.ones((100, 2)),
    )
    assert words.sum() == 100


@pytest.mark.parametrize(  # the link is of the lowest layer
    "layers", [(2,), pytest.param((3, 2), marks=pytest.mark.nightly)], ids=len
)
def test_binary_data_keep_the_joint_law(layers):
    """Red with: below a mean of 1, every 1 + Poisson accepted."""
    n, rounds, prior = 30_000, 6, deep.Prior()
    rng = np.random.default_rng(len(layers))
    phi, r = topics(rng, layers), rng.gamma(3.0, 0.4, (1, layers[-1]))
    start = deep.forward(rng, phi, r, n, prior)
    theta = packed([own[0] for own in start.theta])
    rates = np.concatenate((start.c[0], np.ones((n, 1))), axis=1)
    arguments = fixed([p[0] for p in phi], r[0], prior, want_words=False, link="binary")
    x, total = np.minimum(start.x[0], 1), {}
    for t in range(rounds):
        visit(arguments, x, t, theta=theta, rates=rates)
        now = unpacked(theta, layers)
        x = np.minimum(rng.poisson(now[0] @ phi[0][0].T), 1)
        for name, value in functions(x, now, rates[:, :-1], r).items():
            total[name] = total.get(name, 0) + value / rounds
    fresh = deep.forward(rng, phi, r, 10 * n, prior)
    expected = functions(np.minimum(fresh.x[0], 1), [own[0] for own in fresh.theta], fresh.c[0], r)
    judge(total, expected)


def judge(found, expected):
    scores = {name: z_two(found[name], expected[name]) for name in found}
    assert max(map(abs, scores.values())) < Z, scores


#: Reals are whole multiples of a unit: so small a one that rounding cannot be seen.
UNIT = 1e-5


def reals(rng, x, a):
    """y ~ Gamma(x, 1/a) in units; 0 where x is."""
    y = rng.gamma(np.maximum(x, 1e-9)) / a[:, None]
    return np.where(x > 0, np.maximum(np.round(y / UNIT), 1), 0).astype(np.int64)


def of_reals(y, a):
    total = y.sum(axis=1) * UNIT
    return {
        "a": a,
        "a^2": a**2,
        "ln(y + .1)": np.log(total + 0.1),
        "min(y, 20)": np.minimum(total, 20),
        "a ln(y + .1)": a * np.log(total + 0.1),
        "y0 > 1": y[:, 0] * UNIT > 1,
    }


def test_real_data_keep_the_joint_law():
    """One layer: it has no rates c, so that (e0, f0) are a's alone; per unit, f0 is 5 / UNIT.

    Red with: the sum of the data for that of the counts in a's shape, and the other way round in
    its rate; alpha/2 to the 2x for the 2x - 1. Never ends with a left out of alpha.
    """
    n, rounds, layers, prior = 30_000, 8, (2,), deep.Prior()
    rng = np.random.default_rng(5)
    phi, r = topics(rng, layers), rng.gamma(3.0, 0.4, (1, 2))
    start = deep.forward(rng, phi, r, n, prior)
    a = rng.gamma(5.0, 1 / 5.0, n)
    theta = packed([start.theta[0][0]])
    rates = np.stack((start.c[0, :, 0], a * UNIT), axis=1)
    arguments = fixed([phi[0][0]], r[0], prior._replace(f0=5.0 / UNIT), want_words=False)
    y, total = reals(rng, start.x[0], a), {}
    for t in range(rounds):
        visit(arguments | {"link": "real"}, y, t, theta=theta, rates=rates)
        now, a = unpacked(theta, layers), rates[:, 1] / UNIT
        x = rng.poisson(now[0] @ phi[0][0].T)
        y = reals(rng, x, a)
        found = functions(x, now, rates[:, :1], r) | of_reals(y, a)
        for name, value in found.items():
            total[name] = total.get(name, 0) + value / rounds
    fresh, a = deep.forward(rng, phi, r, 10 * n, prior), rng.gamma(5.0, 1 / 5.0, 10 * n)
    expected = functions(fresh.x[0], [own[0] for own in fresh.theta], fresh.c[0], r)
    judge(total, expected | of_reals(reals(rng, fresh.x[0], a), a))
    assert phi[0].shape == (1, V, 2)
