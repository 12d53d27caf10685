"""Mirrored Langevin, exact and approximate. A topic is a replicate.

Hsieh et al. (2018); docs/internals/mathematics.md, "Mirrored Langevin".
"""

import numpy as np
import pytest
from oracles.judge import KS, Z, ks, z_mean, z_variance
from oracles.mirrored import gradient, potential, primal
from scipy import stats

from pysgrld.core import core, padded_width
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical

PHI, COUNTS, ETA = np.array([0.4, 0.3, 0.1, 0.2]), np.array([5, 2, 0, 1]), 0.3
A = COUNTS + ETA


class Topics:
    """K topics, from unnormalised ``g`` (V,) or (V, K)."""

    def __init__(self, g=PHI, *, topics=40_000, algo="smld", eta=ETA):
        self.k, self.algo = topics, algo
        self.block = Block("phi", "simplex", (len(g), topics), eta, 0, 0.0)
        wide = core.zeros(len(g), padded_width(topics), "float32")
        wide[:, :topics] = np.reshape(g, (len(g), -1))
        rows = {"g": wide, "sums": wide.sum(axis=0, dtype=np.float64)}
        self.warm = SAMPLERS[algo].from_checkpoint(self.block, rows, 1, warm=True)
        self.state = self.warm.end_warm_up()

    def set_y(self, y):
        """Dual coordinates (V,) of all topics, whatever the sums are."""
        self.state.y[:, : self.k] = np.asarray(y)[:, None]
        log = np.logaddexp.reduce(y)
        if self.algo == "smld-approx":
            log = np.log(np.maximum(1 + np.asarray(y), 1e-8).sum())
        self.state.log_sums[: self.k] = log

    def step(self, counts, h, t=0, *, rows=None, factor=1.0):
        rows = np.arange(len(self.state.y)) if rows is None else rows
        wide = np.zeros((len(rows), padded_width(self.k)), np.int64)
        wide[:, : self.k] = np.asarray(counts)[:, None]
        found = Counts(np.asarray(rows, np.int32), wide, factor)
        self.state.step(Key(1, 0, t), found, h)

    @property
    def y(self):
        return self.state.y[:, : self.k].astype(np.float64)

    @property
    def phi(self):
        return self.state.rows()[:, : self.k].astype(np.float64)


def test_the_gradient_is_that_of_the_potential():
    """By central differences, and where exp(y) has no double."""
    rng = np.random.default_rng(1)
    for y in (rng.standard_normal(6), np.array([800.0, 1, -3, 790, 0, 5]), np.full(6, -40.0)):
        a, step = rng.gamma(2.0, size=7), 1e-5
        ends = [[potential(y + s * step * e, a) for e in np.eye(6)] for s in (1, -1)]
        differences = (np.array(ends[0]) - ends[1]) / (2 * step)
        np.testing.assert_allclose(gradient(y, a), differences, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("y", [[0.7, 0.4, -0.7, 0], [-3, 2, -9, 0], [12, 11, -20, 0]])
def test_one_step_goes_down_the_gradient_with_isotropic_normal_noise(y):
    """Mean -h times the gradient of W, variance 2h, uncorrelated; the last word stays.

    Red with: variance h, or 2.1 h; the last word moved; eta left out.
    """
    h, topics = 0.01, Topics()
    topics.set_y(np.array(y, np.float64))
    start = topics.y[:, 0]
    topics.step(COUNTS, h)
    noise = topics.y[:3] - (start[:3] - h * gradient(start[:3], A))[:, None]
    assert not topics.y[3].any()
    for i in range(3):
        assert abs(z_mean(noise[i], 0.0)) < Z
        assert abs(z_variance(noise[i], 2 * h, 0.0)) < Z
        assert ks(noise[i] / np.sqrt(2 * h), stats.norm.cdf, -np.inf) < KS
        for j in range(i):
            assert abs(z_mean(noise[i] * noise[j], 0.0)) < Z


def test_words_without_counts_and_scaled_counts_move_by_the_same_formula():
    """Red with: eta left out of words without counts, or of those with."""
    h, topics = 0.01, Topics()
    start = topics.y[:, 0]
    topics.step([20, 8], h, rows=[0, 3], factor=0.25)
    drift = -gradient(start[:3], np.array([5, 0, 0, 2]) + ETA)
    for i in range(3):
        assert abs(z_mean(topics.y[i], start[i] + h * drift[i])) < Z


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (2, 3, 1, 0)])
def test_small_steps_have_the_dirichlet_law_whichever_word_is_the_reference(order):
    """Words with 60, 25, 12 and 3 tokens: h A / 2 is .01. Red with: noise variance h, or 2.1 h."""
    a, k, h, steps = np.array([60.5, 25.5, 12.5, 3.5])[list(order)], 8_000, 2e-4, 600
    topics = Topics(np.random.default_rng(1).dirichlet(a, k).T, topics=k, eta=0.5)
    total, seen = np.zeros((2, 4)), 0
    for t in range(steps):
        topics.step(a - 0.5, h, t)
        if t >= 200 and t % 10 == 0:
            phi, seen = topics.phi, seen + 1
            total += [phi.mean(axis=1), (phi**2).mean(axis=1)]
    mean, second = total / seen
    exact = a / a.sum()
    assert mean == pytest.approx(exact, rel=0.01)
    assert second - mean**2 == pytest.approx(exact * (1 - exact) / (a.sum() + 1), rel=0.05)


@pytest.mark.parametrize("algo", ["smld", "smld-approx"])
def test_beginning_leaves_phi_as_it_is(algo):
    """Rows of the warm-up and the dual coordinates made of them are the same topics."""
    g = np.random.default_rng(1).gamma(0.5, size=(50, 20)) + 1e-4
    topics = Topics(g, topics=20, algo=algo)
    before = topics.warm.rows()
    after = topics.state.rows()
    # 1 + y has seven decimals
    atol = 1e-7 if algo == "smld-approx" else 1e-12
    np.testing.assert_allclose(after, before, rtol=2e-5, atol=atol)
    some = topics.state.rows(np.array([49, 3], np.int32))
    assert some.tolist() == after[[49, 3]].tolist()


@pytest.mark.parametrize("algo", ["smld", "smld-approx"])
def test_phi_sums_to_one_after_steps_and_pads_stay_zero(algo):
    g = np.random.default_rng(1).gamma(0.5, size=(130, 20)) + 1e-4
    topics = Topics(g, topics=20, algo=algo)
    for t in range(10):
        topics.step(np.arange(130) % 7, 1e-3, t)
    np.testing.assert_allclose(topics.phi.sum(axis=0), 1.0, rtol=1e-5)
    assert not topics.state.y[:, 20:].any()
    assert not topics.state.y[-1].any()


@pytest.mark.parametrize(
    "far",
    [*(pytest.param(far, marks=pytest.mark.nightly) for far in (800.0, -800.0)), 1600.0, -1600.0],
)
def test_dual_coordinates_beyond_the_exponent_s_range_stay_finite(far):
    """800 and 1600 are those of the paper's footnote; phi is 1 there and 0 elsewhere."""
    y, h = np.array([far, 3.0, far / 2, 0.0]), 0.01
    topics = Topics()
    topics.set_y(y)
    start = topics.y[:, 0]
    np.testing.assert_allclose(topics.phi[:, 0], primal(y[:3]), rtol=1e-5, atol=1e-29)
    topics.step(COUNTS, h)
    assert np.isfinite(topics.state.y).all()
    assert np.isfinite(topics.state.log_sums).all()
    np.testing.assert_allclose(topics.phi.sum(axis=0), 1.0, rtol=1e-5)
    mean = start[:3] - h * gradient(start[:3], A)
    for i in range(3):
        assert abs(z_mean(topics.y[i], mean[i])) < Z


def test_approximate_step_has_the_formula_s_mean_and_variance():
    """Read max(1e-8, 1 + y) for exp(y); y itself is not clipped (Hsieh et al., section 5.2.2).

    Red with: .9 for 1; 1e-3 for 1e-8; noise variance 2.1 h.
    """
    h, topics = 0.01, Topics(algo="smld-approx")
    y = np.array([1.5, -0.2, -3.0, 0.0])
    topics.set_y(y)
    v = np.array([2.5, 0.8, 1e-8, 1.0])
    np.testing.assert_allclose(topics.phi[:, 0], v / v.sum(), rtol=1e-5)
    topics.step(COUNTS, h)
    mean = y + h * (A - A.sum() * v / v.sum())
    for i in range(3):
        assert abs(z_mean(topics.y[i], mean[i])) < Z
        assert abs(z_variance(topics.y[i], 2 * h, mean[i])) < Z
    assert (topics.y[2] < -2).all()
    assert not topics.y[3].any()
