"""Gamma shapes r of the top layer, by steps and by draws. A topic, or a call, is a replicate.

Cong et al. (2017), eq. 17 and 19; docs/internals/mathematics.md, "Gamma shapes".
"""

import numpy as np
import pytest
from oracles import deep
from oracles.judge import KS, Z, ks, z_mean, z_variance
from scipy import special

from pysgrld.core import core, padded_width
from pysgrld.samplers.shapes import ConjugateShapes, Shapes, ShapesSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key

pytestmark = pytest.mark.statistical

K, X, Q, C0, SHARE = 20_000, 7, 5.0, 1.0, 0.2  # SHARE is gamma0 / K


def statistics(x, rate, factor=1.0):
    wide = np.zeros((1, padded_width(len(x))), np.int64)
    wide[0, : len(x)] = x
    return Counts(np.zeros(1, np.int32), wide, factor, 0.0, rate)


#: Settings of shapes by default.
OWN = ShapesSettings()


def many(r):
    """K topics at ``r``, in the warm-up."""
    block = Block(
        "r", "positive", (1, K), SHARE * K, 8, 0.0, (C0, 1.0, 1.0, 1.0, 1.0), settings=OWN
    )
    state = Shapes.start(Key(1, 0, 0), block, 1)
    state.r[:K] = r
    return state


def test_shapes_start_at_one_over_k():
    block = Block("r", "positive", (1, 5), 1.0, 8, 0.0, (1.0, 1.0, 1.0, 1.0, 1.0), settings=OWN)
    state = Shapes.start(Key(1, 0, 0), block, 1)
    assert state.r.tolist() == [0.2] * 5 + [0.0] * 11
    assert state.rows().tolist() == [np.float32(0.2)] * 5 + [0.0] * 11


def test_one_langevin_step_has_the_mean_and_variance_of_the_formula():
    """Eq. 17, 19: counts 28 in quarters; M is the running mean of Q, 2 first.

    Red with: gamma0 for gamma0 / K; c0 left out of the rate.
    """
    state = many(1.5).end_warm_up()
    state.step(Key(1, 0, 0), statistics(np.zeros(K), 2.0), 1e-12)
    assert state.m.tolist() == [2.0]
    state.step(Key(1, 0, 1), statistics(np.full(K, 28), Q, 0.25), 0.02)
    w = 0.5 * (22 / 21) ** -0.7
    m = (1 - w) * 2 + w * Q
    assert state.m == pytest.approx([m])
    mean = 1.5 + 0.02 / m * (SHARE + X - 1.5 * (C0 + Q))
    assert abs(z_mean(state.r[:K], mean)) < Z
    assert abs(z_variance(state.r[:K], 2 * 0.02 / m * 1.5, mean)) < Z


def test_langevin_steps_stay_positive_and_fold_at_zero():
    state = many(1e-3).end_warm_up()
    state.step(Key(1, 0, 0), statistics(np.zeros(K), Q), 0.5)
    pace = 0.1
    z = np.random.default_rng(1).standard_normal(200_000)
    expected = np.abs(1e-3 + pace * (SHARE - 1e-3 * (C0 + Q)) + np.sqrt(2 * pace * 1e-3) * z)
    assert (state.r[:K] > 0).all()
    assert abs(z_mean(state.r[:K], expected.mean())) < Z
    assert abs(z_mean(state.r[:K] ** 2, (expected**2).mean())) < Z


def test_stationary_law_is_gamma_within_two_percent():
    """X = 7, Q = 5, eps = .01: mean 1.2, variance .2. Red with: noise variance 2.1 eps; c0 left
    out of the rate; gamma0 for gamma0 / K.
    """
    state = many(np.random.default_rng(1).gamma(7.2, 1 / 6, K)).end_warm_up()
    found = statistics(np.full(K, X), Q)
    means, squares = [], []
    for t in range(600):
        state.step(Key(1, 0, t), found, 0.01)
        if t >= 300 and t % 10 == 0:
            means.append(state.r[:K].mean())
            squares.append((state.r[:K] ** 2).mean())
    assert np.mean(means) == pytest.approx(1.2, rel=0.005)
    assert np.mean(squares) - np.mean(means) ** 2 == pytest.approx(0.2, rel=0.02)


def test_without_noise_the_step_is_the_mean_of_one_with():
    state = many(1.5)
    state.step(Key(1, 0, 0), statistics(np.full(K, X), Q), 0.02)
    assert state.r[:K] == pytest.approx(1.5 + 0.02 / Q * (SHARE + X - 1.5 * (C0 + Q)))


def gamma_law(x, shape, rate):
    return special.gammainc(shape, x * rate)


def test_conjugate_draws_have_their_conditional_laws_and_are_independent():
    """c0 given (gamma0, r); gamma0 given (c0, X), its tables summed out; r given both.

    Each goes to the uniform that it would have been drawn by. Red with: gamma0 / K for gamma0 in
    c0's shape; Q / c0 for its ln(1 + Q / c0); tables by gamma0 for gamma0 / K; 1 for c0 in r's
    rate; one stream for all three.
    """
    n, k, e1, f1, e2, f2 = 2000, 2, 1.5, 2.0, 0.7, 3.0
    x, q, gamma0 = np.array([5, 12]), 4.0, 1.3
    block = Block("r", "positive", (1, k), gamma0, 8, 0.0, (1.0, e1, f1, e2, f2), settings=OWN)
    start = np.array([0.4, 2.1])
    drawn = np.empty((n, 4))
    for t in range(n):
        state = ConjugateShapes.start(Key(1, 0, t), block, 1).end_warm_up()
        state.r[:k] = start
        state.step(Key(1, 0, t), statistics(4 * x, q, 0.25), 1.0)
        drawn[t] = state.c0[0], state.gamma0[0], *state.r[:k]
    c0, found, *r = drawn.T
    seats = np.convolve(*(deep.crt_pmf(m, gamma0 / k) for m in x))
    rate = f1 + np.log1p(q / c0)
    laws = [
        gamma_law(c0, e2 + gamma0, f2 + start.sum()),
        sum(p * gamma_law(found, e1 + j, rate) for j, p in enumerate(seats)),
        *(gamma_law(own, found / k + m, c0 + q) for own, m in zip(r, x, strict=True)),
    ]
    for i, u in enumerate(laws):
        assert ks(u, lambda v: v) < KS
        for other in laws[:i]:
            assert abs(z_mean((u - 0.5) * (other - 0.5), 0.0)) < Z


def test_conjugate_draws_without_any_token_are_the_prior_s():
    """The rate of gamma0 and r is then the prior's too."""
    n, k = 1500, 3
    block = Block("r", "positive", (1, k), 2.0, 8, 0.0, (1.0, 3.0, 3.0, 2.0, 2.0), settings=OWN)
    found, gamma0 = statistics(np.zeros(k), 0.0), np.empty(n)
    for t in range(n):
        state = ConjugateShapes.start(Key(1, 0, t), block, 1).end_warm_up()
        state.step(Key(1, 0, t), found, 1.0)
        gamma0[t] = state.gamma0[0]
        assert (state.r[:k] > 0).all()
    assert ks(gamma_law(gamma0, 3.0, 3.0), lambda v: v) < KS
    assert core.tables(
        n=np.zeros(1, np.int64),
        shape=np.ones(1),
        seed=1,
        chain=0,
        step=0,
        purpose=core.Purpose.test,
    ).tolist() == [0]
