"""TLASGR and TLFSGR. A topic (column) is a replicate; a call moves all of them.

Cong et al. (2017), eq. 13 to 15 and 18; docs/internals/mathematics.md, "TLASGR and TLFSGR".
"""

import numpy as np
import pytest
from oracles import deep
from oracles.judge import KS, Z, ks_two, z_mean, z_variance

from pysgrld.core import core, padded_width
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.samplers.tlasgr import ScaledSettings
from pysgrld.types import RUNNING, Block, Key

pytestmark = pytest.mark.statistical

PHI, COUNTS, ETA = np.array([0.4, 0.3, 0.1, 0.2]), np.array([5, 2, 0, 1]), 0.3
A = COUNTS + ETA
SUM = A.sum()


class Topics:
    """K topics that all start at ``phi``, with counts of their own or the same ones."""

    def __init__(self, phi=PHI, *, topics=25_000, algo="tlasgr", eta=ETA, clip=False):
        self.k = topics
        settings = ScaledSettings("clip" if clip else "reflect")
        self.block = Block("phi", "simplex", (len(phi), topics), eta, 0, 0.0, settings=settings)
        g = core.zeros(len(phi), padded_width(topics), "float32")
        g[:, :topics] = np.reshape(phi, (len(phi), -1))
        rows = {"g": g, "sums": g.sum(axis=0, dtype=np.float64)}
        self.state = SAMPLERS[algo].from_checkpoint(self.block, rows, 1, warm=True).end_warm_up()

    def step(self, counts, h, t=0, *, rows=None, factor=1.0, level=0.0):
        """Counts (V,) of all topics, or (V, K)."""
        rows = np.arange(len(self.state.g)) if rows is None else rows
        wide = np.zeros((len(rows), padded_width(self.k)), np.int64)
        wide[:, : self.k] = counts if np.ndim(counts) != 1 else np.asarray(counts)[:, None]
        found = Counts(np.asarray(rows, np.int32), wide, factor, level)
        self.state.step(Key(1, 0, t), found, h)

    @property
    def phi(self):
        return self.state.rows()[:, : self.k].astype(np.float64)


def drawn(h, steps=4, *, clip=False):
    """Topics after one step from PHI, M = 8, (4, 100,000)."""
    columns = []
    for t in range(steps):
        topics = Topics(clip=clip)
        topics.step(COUNTS, h, t)
        columns.append(topics.phi)
    return np.concatenate(columns, axis=1)


def test_one_step_has_the_mean_and_covariance_of_the_formula():
    """Eq. 14: phi + eps/M (a - A phi) and 2 eps/M (diag phi - phi phi'); 8 is the first estimate.

    Red with: noise variance eps, or 2.1 eps; eta left out; |x| for |u| (no projection).
    """
    x, pace = drawn(0.02), 0.02 / 8
    mean = PHI + pace * (A - SUM * PHI)
    covariance = 2 * pace * (np.diag(PHI) - np.outer(PHI, PHI))
    assert np.diag(covariance) == pytest.approx([0.0012, 0.00105, 0.00045, 0.0008])
    assert covariance[0, 1] == pytest.approx(-0.0006)
    for i in range(4):
        assert abs(z_mean(x[i], mean[i])) < Z
        assert abs(z_variance(x[i], covariance[i, i], mean[i])) < Z
        for j in range(i):
            assert abs(z_mean((x[i] - mean[i]) * (x[j] - mean[j]), covariance[i, j])) < Z


@pytest.mark.parametrize(
    ("eps", "z", "after"),
    [
        (0.02, (1, -1, 2, 0.5), (0.42216165, 0.24016288, 0.13651893, 0.20115653)),
        (0.5, (1, -1, -2, 0.5), (0.59202378, 0.08601853, 0.11591499, 0.20604270)),
    ],
)
def test_the_oracle_s_step_is_the_fixture_s(eps, z, after):
    found = deep.tlasgr(PHI[:, None], A[:, None], eps / 8, np.array(z)[:, None])
    assert found[:, 0] == pytest.approx(after, abs=5e-9)


def test_the_oracle_s_clipped_step_is_the_reflected_one_without_what_left_the_simplex():
    """By hand from the fixture above, whose third word is the one that left it."""
    z = np.array([1, -1, -2, 0.5])[:, None]
    found = deep.tlasgr(PHI[:, None], A[:, None], 0.5 / 8, z, deep.clip)[:, 0]
    left = np.array([0.59202378, 0.08601853, 0, 0.20604270])
    assert found == pytest.approx(left / (1 - 0.11591499), abs=2e-8)


def like_the_oracle(x, start, a, pace, edge=np.abs):
    """Every word's law, and that of products of two, after one step that may leave the simplex."""
    z = np.random.default_rng(2).standard_normal((len(a), 100_000))
    expected = np.maximum(deep.tlasgr(start[:, None], a[:, None], pace, z, edge), core.PHI_FLOOR)
    for i in range(len(a)):
        assert ks_two(x[i], expected[i]) < KS
        for j in range(i):
            assert ks_two(x[i] * x[j], expected[i] * expected[j]) < KS


@pytest.mark.parametrize(
    "eps", [*(pytest.param(eps, marks=pytest.mark.nightly) for eps in (0.1, 0.5)), 1.0]
)
def test_reflected_steps_have_the_oracle_s_law(eps):
    """Red with: clipped at zero in place of reflected; no projection; noise variance 2.1 eps."""
    like_the_oracle(drawn(eps), PHI, A, eps / 8)


def test_clipped_steps_have_the_oracle_s_law():
    """Red with: reflected; clipped at 0.01 in place of 0; no projection; noise variance 2.1 eps."""
    like_the_oracle(drawn(0.5, clip=True), PHI, A, 0.5 / 8, deep.clip)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("h", [0.02, 0.5])
def test_topics_sum_to_one_and_the_kernel_keeps_their_sums(h, clip):
    topics = Topics(topics=1000, clip=clip)
    for t in range(20):
        topics.step(COUNTS, h, t)
    state = topics.state
    assert (state.g[:, :1000] >= 0).all()
    np.testing.assert_allclose(topics.phi.sum(axis=0), 1.0, rtol=1e-6)
    np.testing.assert_allclose(state.sums, state.g.sum(axis=0, dtype=float), rtol=1e-6)


@pytest.mark.parametrize(
    ("eps", "steps", "mean", "log"),
    [
        *((0.1, 200, 0.0537, -3.67), (0.02, 600, 0.0436, -4.14)),
        pytest.param(0.005, 3000, 0.0395, -4.47, marks=pytest.mark.nightly),
    ],
)
def test_stationary_bias_is_that_of_the_table(eps, steps, mean, log):
    """Full batch, M = 8; the word without counts has mean .0326 and E log = -5.67 exactly.

    Where there are counts the mean is within 3%, at .1, and the variance within 3%.

    Red with: clipped in place of reflected; noise variance 2.1 eps; eta left out.
    """
    k = 8000
    topics = Topics(np.random.default_rng(3).dirichlet(A, k).T, topics=k)
    total, seen = np.zeros((3, 4)), 0
    for t in range(steps):
        topics.step(COUNTS, eps, t)
        if t >= steps // 3 and t % 4 == 0:
            phi, seen = topics.phi, seen + 1
            total += [phi.mean(axis=1), (phi**2).mean(axis=1), np.log(phi).mean(axis=1)]
    first, second, logs = total / seen
    assert first[2] == pytest.approx(mean, abs=7e-4)
    assert logs[2] == pytest.approx(log, abs=0.02)
    exact = A / SUM
    assert first[:2] == pytest.approx(exact[:2], rel=0.03)
    assert second[:2] - first[:2] ** 2 == pytest.approx(
        exact[:2] * (1 - exact[:2]) / (SUM + 1), rel=0.03
    )


def test_clipped_the_stationary_law_is_that_of_the_table():
    """At .1: the word without counts, its share at exactly 0, which is floored when read, and the first.

    Red with: reflected; noise variance 2.1 eps; eta left out; clipped at 0.001 in place of 0.
    """
    k = 8000
    topics = Topics(np.random.default_rng(3).dirichlet(A, k).T, topics=k, clip=True)
    found = []
    for t in range(200):
        topics.step(COUNTS, 0.1, t)
        if t >= 66 and t % 4 == 0:
            phi = topics.phi
            found.append([phi[2].mean(), (phi[2] < 1e-20).mean(), phi[0].mean()])
    mean, at_zero, first = np.mean(found, axis=0)
    assert mean == pytest.approx(0.0424, abs=8e-4)
    assert at_zero == pytest.approx(0.1195, abs=3e-3)
    assert first == pytest.approx(0.5689, abs=3e-3)


def test_running_m_is_the_first_estimate_then_a_weighted_mean_of_each_topic():
    """Eq. 18, by hand; weights .5 (1 + t/21)^-.7. Red with: half the first estimate; weights one
    minibatch late.
    """
    topics = Topics(topics=3)
    first, second, third = np.array([8.0, 40, 0]), np.array([10.0, 0, 0]), np.array([1.0, 100, 6])
    for t, n in enumerate((first, second, third)):
        counts = np.zeros((2, 3), np.int64)
        counts[0], counts[1] = 2 * n, 2 * n
        topics.step(counts, 0.01, t, rows=[1, 3], factor=0.25)
        if t == 0:
            assert topics.state.m == pytest.approx(first)
    w1, w2 = 0.5 * (22 / 21) ** -0.7, 0.5 * (23 / 21) ** -0.7
    assert (RUNNING(1), RUNNING(2)) == pytest.approx((w1, w2))
    after = (1 - w2) * ((1 - w1) * first + w1 * second) + w2 * third
    assert topics.state.m == pytest.approx(after)


def test_m_is_updated_before_it_is_used():
    """Second minibatch of twelve tokens after a first of four: the step is by the new M."""
    topics = Topics(topics=25_000)
    topics.step(np.array([1, 1, 1, 1]), 1e-12)
    topics.step(3 * np.array([1, 1, 1, 1]), 0.05, 1)
    w = 0.5 * (22 / 21) ** -0.7
    pace = 0.05 / ((1 - w) * 4 + w * 12)
    like_the_oracle(topics.phi, PHI, np.full(4, 3.3), pace)


def test_a_topic_without_tokens_goes_by_its_prior():
    """M is at least V eta: no division by nothing. Red with: eta left out where no counts are;
    no floor.
    """
    topics = Topics(topics=25_000)
    topics.step(0, 0.05, rows=[])
    like_the_oracle(topics.phi, PHI, np.full(4, ETA), 0.05 / (4 * ETA))


def test_no_step_goes_further_than_1_9_times_to_the_conditional_mean():
    """A hundred tokens after one: eps A / M is 2.1. Red with: no limit; A with a single eta."""
    topics = Topics(topics=25_000)
    topics.step(np.array([1, 0, 0, 0]), 1e-12)
    counts = np.array([70, 20, 5, 5])
    topics.step(counts, 1.0, 1)
    w, total = 0.5 * (22 / 21) ** -0.7, 100 + 4 * ETA
    assert total / ((1 - w) * 1 + w * 100) > 2.05
    like_the_oracle(topics.phi, PHI, counts + ETA, 1.9 / total)


def test_tlfsgr_moves_all_topics_by_one_scale():
    """M is the running mean over topics of the lowest layer's tokens, whatever a topic has.

    Red with: a topic's own tokens.
    """
    topics = Topics(topics=25_000, algo="tlfsgr")
    topics.step(np.array([1, 1, 1, 1]), 1e-12, level=20.0)
    topics.step(COUNTS, 0.1, 1, level=50.0)
    w = 0.5 * (22 / 21) ** -0.7
    assert topics.state.m == pytest.approx([(1 - w) * 20 + w * 50])
    like_the_oracle(topics.phi, PHI, A, 0.1 / ((1 - w) * 20 + w * 50))


@pytest.mark.parametrize("lag", [1, 15, 16, 17, 31, 32, 112, 113, 64 * 112])
def test_noise_of_neighbouring_cells_is_uncorrelated_and_so_are_its_squares(lag):
    """Topics share a vector or a radius; 112 apart are words, 64 of them a block."""
    v, k, pace = 1500, 112, 1e-6
    topics = Topics(np.full(v, 1 / v), topics=k, eta=1.0)
    topics.state.m[:], topics.state.updates[:] = v, 1  # h / max(m, v eta) is the pace
    topics.step(0, pace * v, rows=[])
    z = (topics.phi.reshape(-1) * v - 1) / np.sqrt(2 * pace * v)
    assert abs(z_mean(z[lag:] * z[:-lag], 0.0)) < Z
    assert abs(z_mean((z[lag:] ** 2 - 1) * (z[:-lag] ** 2 - 1), 0.0)) < Z
