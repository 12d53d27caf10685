"""Every random variate has its law (docs/internals/mathematics.md, "Random variates")."""

import numpy as np
import pytest
from oracles.judge import KS, P, Z, ks, z_mean, z_variance
from scipy import special, stats

from pysgrld.core import core

pytestmark = pytest.mark.statistical


def draw(kind, parameter, n, seed=1):
    return core.draw(kind, np.full(n, parameter, np.float32), seed).astype(np.float64)


@pytest.mark.parametrize("kind", ["uniform24", "uniform_open"])
def test_uniform_fills_256_bins_evenly(kind):
    """Red with: one bit too many shifted out (half the interval empty)."""
    x = draw(kind, 0, 1_000_000)
    bins = np.minimum((x * 256).astype(int), 255)
    assert stats.chisquare(np.bincount(bins, minlength=256)).pvalue > P


def test_neighbouring_uniforms_are_independent():
    """Red with: one bit too many shifted out."""
    x = (draw("uniform24", 0, 1_000_000) * 16).astype(int).reshape(-1, 2)
    table = np.bincount(16 * x[:, 0] + x[:, 1], minlength=256)
    assert stats.chisquare(table).pvalue > P


def test_addressed_uniforms_fill_256_bins_evenly():
    """Red with: 52 bits scaled as 53."""
    entity, ordinal = np.divmod(np.arange(400_000), 50)
    u = core.uniforms(entity, ordinal, 3, 0, core.Purpose.holdout_split, 0)
    assert stats.chisquare(np.bincount((u * 256).astype(int), minlength=256)).pvalue > P


def test_normal_has_its_law():
    """Red with: variance 1.01."""
    x = draw("normal", 0, 1_000_000)
    assert ks(x, stats.norm.cdf, above=-np.inf) < KS
    assert abs(z_variance(x, 1.0, 0.0)) < Z
    assert abs(z_mean(x**4, 3.0)) < Z


@pytest.mark.parametrize("a", [0.01, 0.05, 0.3, 0.9999, 1.0, 1.0001, 1.5, 7.5, 1e4, 1e7])
def test_gamma_has_its_law(a):
    """Red with: d = a - 0.3 for a - 1/3; below shape 1, exponent a for a - 1 in the acceptance
    step.
    """
    x = draw("gamma", a, 100_000)
    a = float(np.float32(a))
    assert ks(x, lambda v: special.gammainc(a, v), above=1e-37) < KS
    assert abs(z_mean(x, a)) < Z
    assert abs(z_variance(x, a, a)) < Z


@pytest.mark.parametrize(
    "a", [0.3, *(pytest.param(a, marks=pytest.mark.nightly) for a in (1.0, 1.5))]
)
def test_gamma_fills_64_equally_likely_bins_evenly_in_eight_million_draws(a):
    """The acceptance step changes probabilities by less than a hundredth: it takes many draws.

    Red with: 2 d for 3 d in the log acceptance ratio.
    """
    x = draw("gamma", a, 8_000_000)
    edges = special.gammaincinv(float(np.float32(a)), np.arange(1, 64) / 64)
    assert stats.chisquare(np.bincount(np.searchsorted(edges, x), minlength=64)).pvalue > P


@pytest.mark.parametrize("a", [1e-4, 0.01, 0.3, 0.9999, 1.0, 7.5, 1e4, 1e7])
def test_log_gamma_has_its_law_far_into_the_sparse_tail(a):
    """Red with: log(U)/a left out; logarithms cut at -87, as float32 would."""
    x = np.zeros((6250, 16))
    core.simplex_scir_log(
        log_g=x, shape=np.full(x.shape, a), h=np.inf, seed=1, chain=0, step=0, stream=0, threads=1
    )
    x = x.ravel()

    def cdf(log_x):
        near = special.gammainc(a, np.exp(np.maximum(log_x, -700)))
        return np.where(
            log_x < -700, np.exp(a * np.minimum(log_x, -700) - special.gammaln(a + 1)), near
        )

    assert ks(x, cdf, above=-np.inf) < KS
    assert abs(z_mean(x, special.digamma(a))) < Z
    assert abs(z_variance(x, special.polygamma(1, a), special.digamma(a))) < Z


@pytest.mark.parametrize("mu", [0.3, 1.0, 9.99, 10.0, 10.01, 12.0, 30.0, 1e3, 1e5, 1e7, 1e12])
def test_poisson_has_its_mean_and_variance(mu):
    """Red with: 1 for 1.1239 in the hat's area; mu/(k+1) for mu/k in the inversion."""
    x, mu = draw("poisson", mu, 400_000), float(np.float32(mu))
    assert abs(z_mean(x, mu)) < Z
    assert abs(z_variance(x, mu, mu)) < Z


@pytest.mark.parametrize(
    "mu",  # by inversion below 10, by a hat above
    [
        *(0.3, 9.99, 10.01),
        *(pytest.param(mu, marks=pytest.mark.nightly) for mu in (1.0, 10.0, 12.0, 30.0, 100.0)),
    ],
)
def test_poisson_has_its_probabilities(mu):
    """Red with: no Stirling remainder in the log pmf; mu/(k+1) for mu/k; P(N >= 1) + 1e-5."""
    x, mu = draw("poisson", mu, 8_000_000), float(np.float32(mu))
    low, high = stats.poisson.ppf([1e-5, 1 - 1e-5], mu)
    k = np.arange(low, high + 1)
    expected = stats.poisson.pmf(k, mu)
    expected[0], expected[-1] = stats.poisson.cdf(low, mu), stats.poisson.sf(high - 1, mu)
    observed = np.bincount((np.clip(x, low, high) - low).astype(int), minlength=len(k))
    assert stats.chisquare(observed, expected * x.size).pvalue > P


def test_poisson_of_a_tiny_rate_is_zero():
    """Red with: P(N >= 1) + 1e-5."""
    assert draw("poisson", 1e-8, 1_000_000).sum() <= 2  # P(more) = 1.7e-7


def test_poisson_zeros_just_above_rate_10_are_as_frequent_as_they_should_be():
    """Red with: a count of 0 never accepted."""
    x = draw("poisson", 10.0001, 8_000_000)
    expected = np.exp(-float(np.float32(10.0001))) * x.size
    assert abs((x == 0).sum() - expected) < Z * np.sqrt(expected)


def chosen(weights, n, seed):
    """How often each topic is chosen by n documents of one token, by weight alone."""
    topics = len(weights)
    phi = core.zeros(1, -(-topics // 16) * 16, "float32")
    phi[0, :topics] = weights
    counts, _ = core.documents_gibbs(
        phi=phi,
        topics=topics,
        indptr=np.arange(n + 1),
        indices=np.zeros(n, np.int32),
        counts=np.ones(n, np.int32),
        doc_ids=np.arange(n),
        alpha=0.5,
        sweeps=1,
        kept=1,
        rao_blackwell=False,
        seed=seed,
        chain=0,
        step=0,
        purpose=core.Purpose.test,
        work=core.Workspace(),
        threads=1,
    )
    return counts[0, :topics]


def test_categorical_never_takes_a_topic_without_weight_and_others_in_proportion():
    """Weights (1e-300, 1, 0, 3): the first is 0 in float32.

    Red with: the lane after the chosen one.
    """
    n = 400_000
    counts = chosen([1e-300, 1, 0, 3], n, seed=1)
    assert counts[0] == counts[2] == 0
    assert abs(counts[3] - 0.75 * n) < Z * np.sqrt(n * 0.75 * 0.25)


@pytest.mark.parametrize("topics", [15, 16, 17, 100, 300])
def test_categorical_follows_its_weights(topics):
    """Red with: the lane's own sum added twice to the remainder of the inverse CDF."""
    n = 200_000
    weights = np.random.default_rng(1).gamma(1.0, size=topics) + 0.05
    counts = chosen(weights, n, seed=2)
    expected = weights / weights.sum() * n
    assert stats.chisquare(counts, expected).pvalue > P
