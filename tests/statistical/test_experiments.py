"""Experiments on known posteriors: their estimators, and the tables of docs/internals/mathematics.md."""

import math

import numpy as np
import pytest
from oracles.judge import Z, z_mean
from scipy import special, stats

from pysgrld.experiments import mld_noise, mld_tv, sam_order, scir_bias, scir_synthetic, sgrld_fig1
from pysgrld.samplers.rows import draw_initial_rows
from pysgrld.samplers.targets import simplex
from pysgrld.samplers.targets.sphere import sample
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical


def ignore(part):
    pass


# ---- sgrld-fig1


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression_is_known(rho):
    """n (1 - rho) / (1 + rho). Red with: pairs that begin at lag 1; no zeros padded to the FFT."""
    rng, n = np.random.default_rng(1), 20_000
    found = []
    for _ in range(10):
        x, noise = np.zeros(n), rng.standard_normal(n)
        for t in range(1, n):
            x[t] = rho * x[t - 1] + noise[t]
        found.append(sgrld_fig1.effective_size(x) / n)
    assert np.mean(found) == pytest.approx((1 - rho) / (1 + rho), rel=0.05)


def test_effective_size_is_one_to_the_number_of_different_draws():
    """Red with: no limit; a chain that never moved counted as n draws, or one that stopped as many."""
    assert sgrld_fig1.effective_size(np.full(1000, 0.3)) == 1.0
    rng = np.random.default_rng(1)
    alternating = np.tile([1.0, -1.0], 500) + 0.1 * rng.standard_normal(1000)
    assert sgrld_fig1.effective_size(alternating) == 1000
    stopped = np.r_[rng.standard_normal(30), np.zeros(970)]
    assert sgrld_fig1.effective_size(stopped) == 31
    assert sgrld_fig1.effective_size(np.r_[np.zeros(500), np.ones(500)]) < 10


def test_the_exact_line_is_the_posterior_s():
    """.00693 and .4186 (docs/internals/mathematics.md, "What reflection costs").

    Red with: one category's mean for seven; x^a / B(a, b).
    """
    exact = sgrld_fig1.exact()
    assert exact.zeros == pytest.approx(0.7 / 101, rel=1e-12)
    assert exact.rare == pytest.approx(special.betainc(0.1, 100.9, 1e-6), rel=1e-6)
    assert round(exact.rare, 4) == 0.4186


def test_an_outcome_of_exact_draws_is_the_exact_one():
    """Red with: the mean of the categories without counts for their sum."""
    rng, a, n = np.random.default_rng(1), np.array(sgrld_fig1.COUNTS) + sgrld_fig1.ALPHA, 40_000
    log_g = np.log(rng.gamma(a + 1, size=(n, 1, 10))) + np.log(rng.random((n, 1, 10))) / a
    log_omega = log_g - special.logsumexp(log_g, axis=2, keepdims=True)
    scale = rng.gamma(1.0, size=(n, 1))
    draws = simplex.Draws(log_omega, np.log(scale), np.array([0.5]), np.zeros(1, np.int64))
    found, exact = sgrld_fig1.measure(draws, 0), sgrld_fig1.exact()
    assert found.accepted == 0.5
    for name in ("zeros", "rare", "scale"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=0.03), name


def test_figures_of_a_step_are_means_of_all_its_chains(monkeypatch):
    """Red with: those of the first; chains of one step taken for those of another."""
    monkeypatch.setattr(sgrld_fig1, "KEPT", 40)
    task = sgrld_fig1.LangevinTask("em-rld", 3, 0, 1)
    outcomes, traces = sgrld_fig1.work(task, lambda share: None)
    steps, chains = np.array(sgrld_fig1.STEPS), sgrld_fig1.CHAINS
    each = simplex.langevin(
        sgrld_fig1.COUNTS,
        coordinates="expanded-mean",
        step_size=np.repeat(steps[None] / 2, chains, axis=0).ravel(),
        chains=len(steps) * chains,
        samples=40,
        start=(np.array(sgrld_fig1.COUNTS) + 0.1) / 100,
        seed=3,
    )
    shares = each.accepted.reshape(chains, len(steps))
    assert [o.accepted for o in outcomes] == pytest.approx(shares.mean(axis=0))
    assert len(traces) == len(sgrld_fig1.STEPS)


# ---- scir-synthetic


def test_exact_draws_have_the_distance_that_is_known():
    """.0274 on average; on uniforms nine Kolmogorov-Smirnov statistics by scipy are the same.

    docs/internals/mathematics.md, "A thousand observations".

    Red with: the largest gap of one side; the first shape for all.
    """
    rng, a = np.random.default_rng(1), np.array(scir_synthetic.SPARSE) + 0.1
    found = []
    for _ in range(20):
        log_g = np.log(rng.gamma(a + 1, size=(1000, 10))) + np.log(rng.random((1000, 10))) / a
        log_omega = log_g - special.logsumexp(log_g, axis=1, keepdims=True)
        found.append(scir_synthetic.distance(log_omega, a))
    assert abs(z_mean(np.array(found), 0.0274)) < Z
    left = np.exp(log_omega[:, 0])
    alone = scir_synthetic.distance(np.log(np.c_[left, 1 - left]), np.array([a[0], a[1:].sum()]))
    beta = stats.beta(a[0], a[1:].sum())
    assert alone == pytest.approx(stats.kstest(left, beta.cdf).statistic, abs=1e-12)


def test_draws_that_are_not_finite_are_as_far_as_can_be():
    assert scir_synthetic.distance(np.array([[0.0, -np.inf]]), np.ones(2)) == 1.0


@pytest.mark.parametrize(
    ("target", "method", "minibatch", "step"),
    [
        ("sparse", "scir", 10, 0.05),
        ("sparse", "sgrld", 10, 0.005),
        ("sparse", "sgrld-released", 10, 0.001),
        pytest.param("sparse", "sgrld-released", 100, 0.001, marks=pytest.mark.nightly),
        pytest.param("dense", "scir", 100, 0.1, marks=pytest.mark.nightly),
        ("dense", "sgrld", 100, 0.005),
        pytest.param("dense", "sgrld-released", 100, 0.001, marks=pytest.mark.nightly),
    ],
)
def test_distances_are_those_of_an_independent_implementation(target, method, minibatch, step):
    """Means of five chains within .03 (docs/internals/mathematics.md, "A thousand observations").

    Red with: the released drift without its factor g, or with .1 for its 1; h for epsilon / 2.
    """
    task = scir_synthetic.DirichletTask(target, method, minibatch, step, 1000, 0)
    at = scir_synthetic.MINIBATCHES.index(minibatch)
    reference = scir_synthetic.REFERENCE[target, method][at]
    assert abs(np.mean(scir_synthetic.work(task, ignore).distances) - reference) < 0.03


# ---- scir-bias


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0])
def test_the_bias_of_sgrld_by_quadrature_is_that_of_its_chains(a):
    """Baker et al. (2018), proposition 1.1, at h = .32, by all observations.

    Red with: noise of variance h in the quadrature; reflection counted once, not twice.
    """
    task = scir_bias.BiasTask(a, 0.32, quick=False, seed=1)
    exact = scir_bias.quadrature(a, 0.32, np.array([a]), np.ones(1), scir_bias.WIDTH)
    mean, error = scir_bias.chain_bias(task, "sgrld", False, ignore)
    assert error < 0.06 * exact
    assert abs(mean - exact) < Z * error


def test_the_bias_of_sgrld_by_minibatches_is_that_of_chains_in_numpy():
    """A fifth of the mean more than by all observations. Red with: the estimate without its prior."""
    rng, a, h = np.random.default_rng(2), 1.0, 0.32
    weights = scir_bias.binomial(scir_bias.MINIBATCH, 0.01)
    estimates = 0.1 + 0.9 * np.arange(len(weights))
    assert weights @ estimates == pytest.approx(1.0, abs=1e-8)
    exact = scir_bias.quadrature(a, h, estimates, weights, scir_bias.WIDTH)
    g, means = rng.gamma(a, size=100_000), np.zeros(100_000)
    for t in range(60):
        estimate = 0.1 + 0.9 * rng.binomial(100, 0.01, len(g))
        g = np.abs(g + h * (estimate - g) + np.sqrt(2 * h * g) * rng.standard_normal(len(g)))
        means += g * (t >= 30) / 30
    assert abs(z_mean(means, 1 + exact)) < Z


def test_the_bias_of_sgrld_falls_as_h_to_the_shape():
    """Slopes of the logarithms near a; biases at a = .1 as published in choosing-a-sampler.md.

    Red with: 1 for a in the drift, which makes every slope 1.
    """
    biases = [
        scir_bias.quadrature(0.1, h, np.array([0.1]), np.ones(1), 0.6) for h in (0.08, 0.02, 0.005)
    ]
    assert biases == pytest.approx([2.53, 1.69, 1.21], rel=0.01)
    for a, low, high in ((0.1, 0.1, 0.25), (0.5, 0.5, 0.56), (1.0, 0.97, 1.03)):
        two = [scir_bias.quadrature(a, h, np.array([a]), np.ones(1), 0.6) for h in (0.02, 0.005)]
        (slope,) = scir_bias.bias_slopes(two, (0.02, 0.005))
        assert low < slope < high


@pytest.mark.parametrize("by_minibatch", [False, True])
def test_scir_has_no_bias_on_a_sparse_target(by_minibatch):
    """Baker et al. (2018), corollary 3.2, where SGRLD has 435 %. Red with: SGRLD for SCIR."""
    task = scir_bias.BiasTask(0.1, 0.32, quick=False, seed=1)
    mean, error = scir_bias.chain_bias(task, "scir", by_minibatch, ignore)
    assert error < 0.05
    assert abs(mean) < Z * error


# ---- mld-tv


def dirichlet_rows(trials, seed=1):
    """Rows whose columns are exact draws of the posterior, far tails cut at float32's least."""
    state = draw_initial_rows(Key(0, 0, 0), Block("omega", "simplex", (11, trials), 0.1, 0, 0.0), 1)
    rng, a = np.random.default_rng(seed), (np.array(mld_tv.COUNTS) + 0.1)[:, None]
    log_g = np.log(rng.gamma(a + 1, size=(11, trials))) + np.log(rng.random((11, trials))) / a
    state["g"][:, :trials] = np.maximum(np.exp(log_g), 1e-37)
    state["sums"][:] = state["g"].sum(axis=0, dtype=np.float64)
    return state


def test_bins_have_the_posterior_s_masses():
    """Red with: the other shape of the Beta; the outer bins left out."""
    masses = mld_tv.masses()
    for counted in masses[:3]:
        assert len(counted) == 102
        assert counted.sum() == pytest.approx(1.0, abs=1e-12)
        assert counted[[0, -1]] == pytest.approx(1e-4, rel=1e-6)
    for sparse in masses[3:]:
        assert len(sparse) == 100
        assert sparse == pytest.approx(0.01, rel=1e-6)


def test_exact_draws_are_at_the_floor_and_mirrored_langevin_stays_there():
    """400 steps of 1e-4 in the stationary law (docs/internals/mathematics.md, "Eleven categories").

    Red with: noise variance h, or 3h; bins of probabilities by those of the next category.
    """
    trials = 20_000
    task = mld_tv.TrialsTask("smld", 1e-4, 1, trials, 400)
    found = mld_tv.variation(mld_tv.histograms(task, dirichlet_rows(trials), ignore))
    assert found.shape[1] == len(mld_tv.COUNTS)
    for i, mass in enumerate(mld_tv.masses()):
        assert found[0, i] == pytest.approx(mld_tv.floor(mass, trials), rel=0.3)
        assert found[-1, i] == pytest.approx(mld_tv.floor(mass, trials), rel=0.3)


def test_categories_with_the_same_counts_are_shown_by_their_mean():
    """Red with: a category of the next kind among them; their sum."""
    curve = np.arange(22.0).reshape(2, 11)
    assert mld_tv.by_kind(curve).tolist() == [[0.0, 1.5, 6.5], [11.0, 12.5, 17.5]]


def test_sgrld_leaves_the_sparse_law_at_once():
    """One reflected step is enough, of the category without counts. Red with: SMLD in its place."""
    trials = 5_000
    task = mld_tv.TrialsTask("sgrld", 1e-3, 1, trials, 20)
    found = mld_tv.variation(mld_tv.histograms(task, dirichlet_rows(trials), ignore))
    assert found[:, 0].max() < 0.1
    assert found[:, 3:].min() > 0.3


def test_trials_start_at_equal_probabilities():
    """Red with: random starts."""
    task = mld_tv.TrialsTask("smld", 1e-12, 1, 500, 1)
    counted = mld_tv.work(task, ignore)
    sparse = int(np.searchsorted(mld_tv.bins()[3], math.log(1 / 11)))
    assert counted[0, 0, 0] == 500
    assert counted[0, 3, sparse] == 500


def test_mirrored_langevin_is_said_to_lead_from_when_no_step_of_sgrld_is_nearer():
    """Red with: the step of SGRLD alone that ends nearest."""
    at = np.array([1, 10, 100, 1000])
    curves = {
        ("smld", 1.0): np.array([[0.9], [0.5], [0.3], [0.1]]),
        ("sgrld", 1.0): np.array([[1.0], [0.9], [0.9], [0.2]]),
        ("sgrld", 2.0): np.array([[1.0], [0.4], [0.25], [0.3]]),
    }
    assert mld_tv.overtaken(curves, 0, at) == ", from iteration 1,000 on"
    curves["sgrld", 2.0][3] = 0.05
    assert mld_tv.overtaken(curves, 0, at) == ""


@pytest.mark.parametrize("slope", [-0.5, -1.7])
def test_the_slope_of_a_decay_leaves_out_the_start_and_the_floor(slope):
    """Red with: the whole curve, whose slope is nearer to 0; logarithm of one axis only."""
    marks = mld_tv.marks(20_000)
    curve = np.clip((marks / 100.0) ** slope, 0.1, 1.0)
    assert mld_tv.decay(curve, marks) == pytest.approx(slope, rel=0.01)
    assert math.isnan(mld_tv.decay(np.ones(len(marks)), marks))


# ---- mld-noise


def test_squared_errors_are_those_of_minibatches_of_finite_differences():
    """Hsieh et al. (2018), lemma 2: gradients of V and of W by differences, 200,000 minibatches.

    Red with: p for p (1 - p); the reference's term dropped; x for its square; N / b for N^2 / b.
    """
    counts, x = np.array([5, 2, 1, 2]), np.array([0.4, 0.3, 0.1, 0.2])
    step, size = 1e-6, 3
    y = np.log(x[:-1] / x[-1])

    def log_primal(point):
        return np.log(np.append(point, 1 - point.sum()))

    def log_dual(point):
        return np.append(point, 0.0) - np.log1p(np.exp(point).sum())

    found = mld_noise.squared_errors(x[None], counts, size)
    drawn_counts = np.random.default_rng(5).multinomial(size, counts / 10, 200_000)
    for (value,), log_x, point in zip(found, (log_primal, log_dual), (x[:-1], y), strict=True):
        shifts = np.eye(3) * step
        each = [-(log_x(point + e) - log_x(point - e)) / (2 * step) for e in shifts]
        errors = (drawn_counts * (10 / size) - counts) @ np.transpose(each)
        assert abs(z_mean((errors**2).sum(axis=1), value)) < Z


def test_the_dual_gradient_has_a_hundred_thousandth_of_the_noise():
    """2.4e5 to 1.7e6 in 95 % of the posterior. Red with: the reference at the first category."""
    rng = np.random.default_rng(1)
    x = rng.dirichlet(np.array(mld_tv.COUNTS) + 0.1, 20_000)
    primal, dual = mld_noise.squared_errors(x, np.array(mld_tv.COUNTS), 100)
    low, high = np.percentile(primal / dual, [2.5, 97.5])
    assert low == pytest.approx(2.44e5, rel=0.05)
    assert high == pytest.approx(1.68e6, rel=0.05)


# ---- sam-order


def test_the_law_of_the_integrator_is_that_of_its_chains():
    """Temperature and two moments of the angle at h = .4, by the sampler of pysgrld.sphere.

    Red with: one half shift for two; friction not in the noise; the gradient undamped.
    """
    h, chains = 0.4, 4000
    law = sam_order.stationary_law("sggmc", h)
    target = sam_order.TARGET
    draws = sample(
        target, target.draw(chains, seed=2), step_size=h, friction=1.0, samples=60, burn_in=60
    )
    assert abs(z_mean(draws.temperature, law.temperature)) < Z
    angles = np.arctan2(draws.x[..., 1], draws.x[..., 0])
    for k in (1, 2):
        for wave in (np.cos, np.sin):
            moment = law.angles @ wave(k * sam_order.grid())
            assert abs(z_mean(wave(k * angles).mean(axis=0), moment)) < Z


def test_the_integrator_is_of_second_order_and_the_euler_step_is_not():
    """Liu, Zhu and Song (2016), section 3.3: slopes of both errors from h = .2 to .1.

    Red with: friction exp(-h C / 2) for exp(-h C) alone in the velocity; kept, not halved, shifts.
    """
    exact, slopes = sam_order.exact_angles(), {}
    for name in sam_order.LABELS:
        laws = [sam_order.stationary_law(name, h) for h in (0.2, 0.1)]
        distances = [0.5 * np.abs(law.angles - exact).sum() for law in laws]
        slopes[name] = (
            sam_order.slope(distances, (0.2, 0.1)),
            sam_order.slope([abs(law.temperature - 1) for law in laws], (0.2, 0.1)),
        )
    assert slopes["sggmc"] == pytest.approx((2.0, 2.04), abs=0.03)
    assert slopes["euler"] == pytest.approx((2.1, 1.34), abs=0.05)
