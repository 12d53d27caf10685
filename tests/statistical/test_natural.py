"""SCIR with the natural rate kappa = 1 + N_k/s_k, in both forms of state. A topic is a replicate.

docs/internals/mathematics.md, "The natural rate".
"""

import numpy as np
import pytest
from oracles.judge import KS, Z, ks, z_mean
from oracles.simplex import cir_cdf
from scipy import special

from pysgrld.core import core, padded_width
from pysgrld.samplers.log_rows import LogWarmUp
from pysgrld.samplers.rows import WarmUp
from pysgrld.samplers.scir import Cir, LogCir, ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical

K = 2000


class Topics:
    """K topics with the same counts (d,), each from the same g (d,)."""

    def __init__(self, form, g, counts, eta):
        self.block = Block(
            "phi", "simplex", (len(g), K), eta, 0, 0.0, settings=ScirSettings("natural")
        )
        wide = np.zeros((len(g), padded_width(K)), np.int64)
        wide[:, :K] = np.array(counts)[:, None]
        self.counts = Counts(np.arange(len(g), dtype=np.int32), wide, 1.0)
        self.form, self.start = form, np.array(g, np.float64)
        self.reset()

    def reset(self):
        if self.form == "log":
            self.state = LogCir(self.block, 1, log_g=np.tile(np.log(self.start)[:, None], K))
            return
        g = core.zeros(len(self.start), padded_width(K), "float32")
        g[:, :K] = self.start[:, None]
        self.state = Cir(self.block, 1, g=g, sums=g.sum(axis=0, dtype=np.float64))

    def step(self, h, t):
        self.state.step(Key(1, 0, t), self.counts, h)

    def settle(self, block):
        """End a warm-up of the same arrays."""
        warm, then = (LogWarmUp, LogCir) if self.form == "log" else (WarmUp, Cir)
        self.state = warm(block, 1, then, **self.state.arrays()).end_warm_up()

    @property
    def g(self):
        if self.form == "log":
            return np.exp(self.state.log_g)
        return self.state.g[:, :K].astype(np.float64)


@pytest.mark.parametrize("form", ["rows", "log"])
@pytest.mark.parametrize("h", [0.02, 0.4, 5.0])
def test_one_step_is_that_of_a_process_of_rate_kappa(form, h):
    """kappa g is a process of unit rate over kappa h.

    Red with: rate 1; c without 1/kappa; N_k/s_k for 1 + N_k/s_k; s_k of the new state.
    """
    g, n, eta = np.array([5.0, 2.0, 0.5]), np.array([3, 1, 0]), 0.1
    topics, drawn = Topics(form, g, n, eta), []
    for t in range(20):
        topics.reset()
        topics.step(h, t)
        drawn.append(topics.g)
    kappa = 1 + 4 / 7.5
    for cell, x in enumerate(np.concatenate(drawn, axis=1)):
        a, at = eta + n[cell], g[cell] * kappa
        assert ks(x, lambda v, a=a, at=at: cir_cdf(v * kappa, at, a, kappa * h), above=1e-37) < KS


@pytest.mark.parametrize(
    ("h", "form"),
    [
        (0.005, "rows"),
        pytest.param(0.005, "log", marks=pytest.mark.nightly),
        *((h, form) for h in (0.05, 0.5) for form in ("rows", "log")),
    ],
)
def test_probabilities_are_exact_for_fixed_counts_whatever_the_step(form, h):
    """The target of SGRLD's figure 1: means, and P(phi < 1e-6) = .4186 where there are no counts.

    Red with: eta/2; N_k/s_k of another topic.
    """
    n = np.array([90, 5, 5, 0, 0, 0, 0, 0, 0, 0])
    topics = Topics(form, (n + 0.1) / 101, n, 0.1)
    for t in range(int(1 / h) + 20):
        topics.step(h, t)
    g = topics.g
    phi = g / g.sum(axis=0)
    assert abs(z_mean(phi[0], 90.1 / 101)) < Z
    assert abs(z_mean(phi[3:].sum(axis=0), 0.7 / 101)) < Z
    rare = special.betainc(0.1, 100.9, 1e-6)
    assert abs(z_mean((phi[3:] < 1e-6).mean(axis=0), rare)) < Z


@pytest.mark.parametrize(
    # logarithms by day: test_one_step_is_that_of_a_process_of_rate_kappa
    "form",
    ["rows", pytest.param("log", marks=pytest.mark.nightly)],
)
def test_totals_are_at_the_prior_s_scale_not_at_that_of_the_counts(form):
    """About .6 of V eta, as an independent simulation has it; with the paper's rate 101.

    Red with: rate 1.
    """
    n = np.array([90, 5, 5, 0, 0, 0, 0, 0, 0, 0])
    topics = Topics(form, (n + 0.1) / 101, n, 0.1)
    totals = []
    for t in range(700):
        topics.step(0.005, t)
        if t >= 400 and t % 20 == 0:
            totals.append(topics.g.sum(axis=0).mean())
    assert 0.4 < np.mean(totals) < 1.3


@pytest.mark.parametrize("form", ["rows", "log"])
def test_sampling_begins_at_the_prior_s_scale_with_the_same_probabilities(form):
    """Red with: the scale V eta left out; sums not renewed. The paper's rate leaves the state alone."""
    topics = Topics(form, [5.0, 2.0, 0.5], [3, 1, 0], 0.1)
    topics.settle(topics.block)
    np.testing.assert_allclose(topics.g[:, 0], np.array([5, 2, 0.5]) / 7.5 * 0.3, rtol=1e-6)
    if form == "rows":
        np.testing.assert_allclose(topics.state.sums[:K], 0.3, rtol=1e-6)
    topics.reset()
    before = topics.g.copy()
    topics.settle(topics.block._replace(settings=ScirSettings()))
    np.testing.assert_array_equal(topics.g, before)
