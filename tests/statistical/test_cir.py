"""The Cox-Ingersoll-Ross transition and what minibatches do to it, in both forms of state.

Baker et al. (2018), sections 2 and 3; formulas and fixtures: docs/internals/mathematics.md, "SCIR".
"""

import numpy as np
import pytest
from oracles.judge import KS, Z, ks, ks_two, z_mean, z_variance
from oracles.simplex import cir, cir_cdf, cir_moments
from scipy import special, stats
from statistical.chains import FORMS, refresh_scale

from pysgrld.core import core
from pysgrld.samplers.scir import LogCir, ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical

N = 40_000


@pytest.fixture(params=FORMS)
def step(request):
    return FORMS[request.param]


FIXTURES = [
    (0.01, 1.0, 0.5, {1e-6: 0.18926114, 0.1: 0.29162288, 1: 0.77549928, 3: 0.99027003}),
    (0.01, 0.0, 0.5, {1e-6: 0.88414226, 0.1: 0.98967849, 1: 0.99975992}),
    (0.6, 2.0, 0.1, {0.1: 1.02e-06, 1: 0.05462484, 3: 0.96070997}),
    (50, 40.0, 0.05, {35: 0.00189307, 40: 0.40609648, 45: 0.98794958}),
]


@pytest.mark.parametrize(("a", "g", "h", "points"), FIXTURES)
def test_one_step_meets_the_cdf_fixtures(step, a, g, h, points):
    """Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu); shape eta/2 (a
    for 2a degrees of freedom); in log state, rate g/c.
    """
    x = step(np.full(N, g), a, h)
    for at, f in points.items():
        assert abs((x <= at).mean() - f) < Z * np.sqrt(f * (1 - f) / N), at


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 1.3, 1.5, 2.2, 40.0])
@pytest.mark.parametrize("rate", [0.01, 3.0, 9.5, 9.9999, 10.0001, 10.5, 30.0, 200.0])
def test_one_step_has_the_noncentral_chi_square_law(step, a, rate):
    """Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu); shape eta/2;
    Poisson inversion cut at rate 8; in log state, rate g/c.
    """
    n, h = 20_000, 0.3
    g = float(np.float32(rate * np.expm1(h)))
    x = step(np.full(n, g), a, h)
    assert ks(x, lambda v: cir_cdf(v, g, a, h), above=1e-37) < KS


@pytest.mark.parametrize("h", [1e-3, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("a", [0.01, 0.5, 5.0, 3000.0])
@pytest.mark.parametrize("g", [0.0, 0.4, 20.0, 1e5])
def test_one_step_has_its_mean_and_variance(step, a, g, h):
    """Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu); shape eta/2; e =
    exp(-h/2) in the rate.
    """
    a32, g32 = float(np.float32(a)), float(np.float32(g))
    x = step(np.full(N, g32), a32, h)
    mean, variance = cir_moments(g32, a32, h)
    assert abs(z_mean(x, mean)) < Z
    assert abs(z_variance(x, variance, mean)) < Z


@pytest.mark.parametrize("eta", [0.05, pytest.param(0.3, marks=pytest.mark.nightly), 0.7])
def test_zero_counts_at_rates_just_above_10_give_small_gammas(step, eta):
    """P(N = 0) is 1 in 22,000: those cells must be c Gamma(eta), and be there at all.

    Red with: those cells given shape eta + 1. Those cells queued with shapes of 1 or more: an
    endless loop.
    """
    n, h = 3_200_000, 0.1
    g = float(np.float32(10.0001 * np.expm1(h)))
    x = step(np.full(n, g), eta, h)
    small = -np.expm1(-h) * 0.05  # reached from a count of 1 or more five times less often
    f = float(cir_cdf(small, g, eta, h))
    assert f * n > 10
    assert abs((x < small).mean() - f) < Z * np.sqrt(f / n)


@pytest.mark.parametrize("a", [0.9999999, 1.0, 1.0000001])
def test_shapes_either_side_of_1_have_the_same_law(step, a):
    """Red with: rejected small gammas kept; c/2 for c."""
    x = step(np.zeros(N), a, 0.7)
    assert ks(x, lambda v: -np.expm1(-v / -np.expm1(-0.7))) < KS


@pytest.mark.parametrize(("eta", "counts", "factor"), [(0.4, 1, 0.5), (0.4, 3, 0.2), (0.4, 5, 8.0)])
def test_shape_is_eta_plus_counts_times_factor(step, eta, counts, factor):
    """Red with: shape eta/2 + N; rejected small gammas kept."""
    x = step(np.zeros(N), eta, np.inf, counts=np.full(N, counts), factor=factor)
    assert ks(x, lambda v: special.gammainc(eta + counts * factor, v)) < KS


def test_rows_without_counts_have_shape_eta_and_rows_with_counts_more():
    """Every third row is touched; 3200 rows are fifty blocks of rows.

    Red with: the cursor of touched rows advanced at every row.
    """
    g, rows = core.zeros(3200, 112, "float32"), np.arange(1, 3200, 3, dtype=np.int32)
    counts = np.zeros((len(rows), 112), np.int64)
    counts[:, :100] = 3
    core.simplex_scir(
        g=g,
        sums=np.zeros(112),
        topics=100,
        eta=0.4,
        rows=rows,
        counts=counts,
        factor=0.2,
        h=np.inf,
        seed=1,
        chain=0,
        step=0,
        stream=0,
        work=core.Workspace(),
        threads=2,
    )
    touched = np.isin(np.arange(3200), rows)
    assert ks(g[touched, :100], lambda v: special.gammainc(1.0, v)) < KS
    assert ks(g[~touched, :100], lambda v: special.gammainc(0.4, v)) < KS


@pytest.mark.parametrize("lag", [1, 16, 17])
def test_neighbouring_cells_are_uncorrelated(step, lag):
    """Red with: two rows reading the random words of one."""
    x = np.log(step(np.full(4 * N, 0.9), 0.6, 0.2))
    x = (x - x.mean()) / x.std()
    assert abs(z_mean(x[lag:] * x[:-lag], 0.0)) < Z


def test_shapes_of_ten_million_have_their_law(step):
    """Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu)."""
    a, h = 1e7, 0.5
    x = step(np.full(N, 0.9e7), 0.5, h, counts=np.full(N, 10**7))
    mean, variance = cir_moments(0.9e7, a + 0.5, h)
    assert abs(z_mean(x, mean)) < Z
    assert abs(z_variance(x, variance, mean)) < Z
    assert ks(x, lambda v: special.ndtr((v - mean) / np.sqrt(variance))) < KS


@pytest.mark.parametrize("rate", [10.5, 1e4, 1e8])
def test_large_rates_agree_with_the_oracle_s_draws(step, rate):
    """Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu)."""
    h, a = 0.01, 2.5
    g = float(np.float32(rate * np.expm1(h)))
    x = step(np.full(N, g), a, h)
    y = cir(np.random.default_rng(3), np.full(N, g), a, h)
    assert ks_two(x, y.astype(np.float32)) < KS


@pytest.mark.parametrize("a", [0.01, 0.1, 2.0])
@pytest.mark.parametrize("h", [0.01, 0.25, 1.0, 100.0])
def test_gamma_is_stationary(step, a, h):
    """Three steps from equilibrium.

    Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu); shape eta/2; rejected
    small gammas kept.
    """
    x = np.random.default_rng(5).gamma(a, size=N)
    for t in range(3):
        x = step(x, a, h, step=t)
    assert ks(x, lambda v: special.gammainc(a, v), above=1e-37) < KS
    assert abs(z_mean(x, a)) < Z


def test_gamma_of_a_ten_thousandth_is_stationary_in_log_state():
    """Red with: log(U)/a left out; logarithms cut at -87."""
    a, rng = 1e-4, np.random.default_rng(5)
    log_g = (np.log(rng.gamma(a + 1, size=N)) + np.log(rng.random(N)) / a).reshape(-1, 16)
    for t in range(3):
        core.simplex_scir_log(
            log_g=log_g,
            shape=np.full(log_g.shape, a),
            h=0.25,
            seed=1,
            chain=0,
            step=t,
            stream=0,
            threads=1,
        )
    x = log_g.ravel()
    assert abs(z_mean(x, special.digamma(a))) < Z
    assert abs(z_variance(x, special.polygamma(1, a), special.digamma(a))) < Z


def test_steps_compose(step):
    """Steps of .5, .3, .2, .1 against one of 1.1, a = .01, g = .8.

    Red with: c/2 for c; rate g e/(2c) for g e/c (noncentrality mu for 2 mu); e = exp(-h/2) in the
    rate.
    """
    one = step(np.full(N, 0.8), 0.01, 1.1, seed=2)
    four = np.full(N, 0.8)
    for t, h in enumerate((0.5, 0.3, 0.2, 0.1)):
        four = step(four, 0.01, h, step=t)
    assert ks_two(np.maximum(one, 1e-37), np.maximum(four, 1e-37)) < KS


@pytest.mark.parametrize("a", [0.7, 3.0])
def test_twice_the_root_follows_the_langevin_diffusion_of_a_generalised_gamma(step, a):
    """Baker et al. (2018), theorem 2.1: U = 2 sqrt(g) has the density u^(2a - 1) exp(-u^2 / 4).

    Hence dU = ((2a - 1) / U - U / 2) dt + sqrt(2) dW: the drift and the variance of a step of .002
    from three points, and the law after 20 steps of .4 from its own draws.

    Red with: c/2 for c; shape a/2; a for 2a in the density.
    """
    n, h = 200_000, 0.002
    points = np.array([1.6, 2.5, 4.0])
    moved = 2 * np.sqrt(step(np.repeat(points**2 / 4, n), a, h).reshape(3, n))
    for u, after in zip(points, moved, strict=True):
        # second order in h: half of the generator applied to the drift
        drift = (2 * a - 1) / u - u / 2
        slope = -(2 * a - 1) / u**2 - 0.5
        second = h * (drift * slope + 2 * (2 * a - 1) / u**3) / 2
        assert abs(z_mean((after - u) / h, drift + second)) < Z
        assert after.var() / h == pytest.approx(2.0, rel=0.02)
    law = stats.gengamma(a, 2, scale=2)
    x = step(np.random.default_rng(3).gamma(a, size=N), a, 0.4)
    for t in range(1, 20):
        x = step(x, a, 0.4, step=t)
    assert ks(2 * np.sqrt(x), law.cdf) < KS


def test_coordinates_lumped_together_move_as_one(step):
    """The sum of 40 processes of shape a is one of shape 40 a. Red with: shape eta/2; c/2 for c."""
    a, h, n = 0.05, 0.4, 40_000
    start = np.random.default_rng(4).gamma(0.3, size=40)
    one = step(np.full(n, start.sum()), 40 * a, h, seed=2)
    parts = step(np.tile(start, n), a, h).reshape(n, 40)
    assert ks_two(parts.sum(axis=1), one) < KS


def test_random_shapes_give_the_mean_and_variance_of_the_corollary(step):
    """Corollary 3.2 with shapes .1 or, one time in five, 5.1; eight steps of .3 from 2.

    Red with: tanh(h) for tanh(h/2); c/2 for c.
    """
    n, m, h, g0 = 400_000, 8, 0.3, 2.0
    rng = np.random.default_rng(6)
    a, var_a = 1.1, 25 * 0.2 * 0.8
    e = np.exp(-m * h)
    mean = g0 * e + a * (1 - e)
    variance = 2 * g0 * (e - e * e) + a * (1 - e) ** 2 + (1 - e * e) * np.tanh(h / 2) * var_a
    assert (round(mean, 5), round(variance, 5)) == (1.18165, 1.83007)
    x = np.full(n, g0)
    for t in range(m):
        x = step(x, 0.1, h, step=t, counts=rng.random(n) < 0.2, factor=5.0)
    assert abs(z_mean(x, mean)) < Z
    assert abs(z_variance(x, variance, mean)) < Z


def test_first_shape_is_used_first(step):
    """The MGF (eq. 3.1) has ahat_{M-m+1}; the index order printed in the paper must be rejected.

    docs/internals/mathematics.md, "Minibatches widen the law".

    Red with: c/2 for c; shape eta/2. The reversed order is rejected by the test itself.
    """
    x = np.full(400_000, 1.3)
    for t, a in enumerate((0.2, 3.0, 0.9)):
        x = step(x, a, 0.6, step=t)
    score = np.exp(-1.7 * x)
    assert abs(z_mean(score, 0.265937)) < Z
    assert abs(z_mean(score, 0.369260)) > 100


def test_minibatches_inflate_the_stationary_variance_by_tanh_of_half_the_step(step):
    """N = 1000, n = 10, p = .3, h = .1: a + tanh(h/2) Var[ahat] = 1349.2, not 300.

    Red with: tanh(h) for tanh(h/2); c/2 for c.
    """
    n, h, m = 32_000, 0.1, 60
    rng = np.random.default_rng(7)
    x = rng.normal(300.1, np.sqrt(1349.2), n)
    for t in range(m):
        x = step(x, 0.1, h, step=t, counts=rng.binomial(10, 0.3, n), factor=100.0)
    expected = 300.1 + np.tanh(h / 2) * 100**2 * 10 * 0.3 * 0.7
    assert round(expected, 1) == 1349.2
    assert abs(z_mean(x, 300.1)) < Z
    assert abs(z_variance(x, expected, 300.1)) < Z


def test_refreshed_scale_is_a_gamma_of_all_shapes_and_leaves_phi_alone():
    """S ~ Gamma(V eta + N_k) given the counts, whatever the scale was.

    Red with: S ~ Gamma(V eta), the counts left out.
    """
    columns, eta = 50_000, 0.7
    block = Block("phi", "simplex", (4, columns), eta, 0, 0.0, settings=ScirSettings())
    counts = np.tile(np.array([[0], [3], [1], [5]]), columns)
    log_g = np.log(np.random.default_rng(9).gamma(2.0, 40.0, (4, columns)))
    state = LogCir(block, 1, log_g=log_g.copy())
    refresh_scale(Key(1, 0, 0), state, Counts(np.arange(4, dtype=np.int32), counts, 1.0))
    new = state.log_g
    s = np.exp(new).sum(axis=0)
    assert ks(s, lambda v: special.gammainc(4 * eta + 9, v)) < KS
    np.testing.assert_allclose(
        new - np.log(s), log_g - np.log(np.exp(log_g).sum(axis=0)), atol=1e-12
    )
    assert abs(z_mean((s - s.mean()) * (new[0] - np.log(s)), 0.0)) < Z


def test_topic_moves_as_the_dirichlet_view_says():
    """M ~ Poi(s e/c), N ~ Mult(M, phi), phi' ~ Dir(a + N), s' ~ c Gamma(A + M).

    docs/internals/mathematics.md, "A topic moves as a whole".

    Red with: s' without the variation of M; phi' given E[N] in place of N; c/2 for c.
    """
    counts, g0, eta, h, k = np.array([0, 0, 2, 5]), np.array([0.3, 0.0, 1.2, 4.0]), 0.1, 0.4, 2000
    both = []
    for t in range(10):
        g = core.zeros(4, k, "float32")
        g[:] = g0[:, None]
        core.simplex_scir(
            g=g,
            sums=g.sum(axis=0, dtype=float),
            topics=k,
            eta=eta,
            rows=np.arange(4, dtype=np.int32),
            counts=np.tile(counts[:, None], k),
            factor=1.0,
            h=h,
            seed=1,
            chain=0,
            step=t,
            stream=0,
            work=core.Workspace(),
            threads=1,
        )
        both.append(g.astype(np.float64))
    g = np.concatenate(both, axis=1)
    rng, a = np.random.default_rng(8), eta + counts
    e, c = np.exp(-h), -np.expm1(-h)
    m = rng.poisson(g0.sum() * e / c, 20_000)
    n = rng.multinomial(m, g0 / g0.sum())
    gamma = rng.gamma(a + n)
    s = c * rng.gamma(a.sum() + m)
    assert ks_two(g[0] / g.sum(axis=0), gamma[:, 0] / gamma.sum(axis=1)) < KS
    assert ks_two(g[3] / g.sum(axis=0), gamma[:, 3] / gamma.sum(axis=1)) < KS
    assert ks_two(g.sum(axis=0), s) < KS
