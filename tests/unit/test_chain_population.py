"""Draws for other texts like these: their variance, their mean, and how they are stored."""

import numpy as np
import pytest

from pysgrld.chain.population import (
    PRIOR_FREEDOM,
    REPLICATES,
    RESTARTED,
    TYPICAL,
    PopulationDraws,
    WordSpread,
)
from pysgrld.errors import CheckpointError

K, V, W = 3, 40, 10
RNG = np.random.default_rng(4)
CENTRE = RNG.dirichlet(np.full(V, 5.0), K)
TOP = np.argsort(-CENTRE, axis=1)[:, :W]
ROWS = np.arange(K)[:, None]


def noisy(scale, rng):
    """Topics whose square roots have normal noise."""
    roots = np.sqrt(CENTRE) + rng.normal(0.0, scale, CENTRE.shape)
    return (np.maximum(roots, 0.0) ** 2).astype(np.float32)


def made(draws=400, replicates=REPLICATES, posterior=0.002, replicated=0.006, starts=0.0):
    """A spread, and its posterior draws."""
    rng, spread = np.random.default_rng(7), WordSpread(TOP, np.full(K, starts))
    samples = [noisy(posterior, rng) for _ in range(draws)]
    for phi in samples:
        spread.add_draw(phi)
    for _ in range(replicates):
        spread.add_replicate(noisy(replicated, rng))
    return spread, samples


def test_draws_have_the_moderated_variance_and_the_posterior_mean():
    """Red if a share of the variance is left out, or the degrees of freedom are one more."""
    spread, samples = made()
    population = PopulationDraws(spread, 1, 0)
    wide = np.stack([population.widen(step, phi) for step, phi in enumerate(samples * 10)])
    roots = np.sqrt(np.stack(samples)[:, ROWS, TOP].astype(np.float64))
    replicates = np.sqrt(np.stack(spread.replicates).astype(np.float64))
    posterior, replicated = roots.var(axis=0, ddof=1), replicates.var(axis=0, ddof=1)
    ratio = (replicated / posterior).mean(axis=1, keepdims=True)
    freedom = PRIOR_FREEDOM + REPLICATES - 1
    moderated = (PRIOR_FREEDOM * ratio * posterior + (REPLICATES - 1) * replicated) / freedom
    found = np.sqrt(wide[:, ROWS, TOP].astype(np.float64)).var(axis=0)
    np.testing.assert_allclose(
        (found / (moderated * freedom / (freedom - 2))).mean(axis=1), 1.0, atol=0.08
    )
    np.testing.assert_allclose(
        wide.mean(axis=0)[ROWS, TOP], np.mean(samples, axis=0)[ROWS, TOP], rtol=0.02
    )


def test_the_floor_of_the_variance_is_that_of_a_topic_and_not_of_a_word():
    """Half of the words vary less over replicates than over draws. Red with: a floor for each word."""
    scale = np.full((K, V), 0.0031)
    scale[ROWS, TOP[:, W // 2 :]] = 0.0006
    spread, samples = made(replicates=8, replicated=scale)
    population = PopulationDraws(spread, 1, 0)
    wide = np.stack([population.widen(step, phi) for step, phi in enumerate(samples * 4)])
    posterior, found = (
        np.sqrt(np.stack(draws)[:, ROWS, TOP].astype(np.float64)).var(axis=0)
        for draws in (samples, wide)
    )
    freedom = PRIOR_FREEDOM + 7
    share = (found / posterior)[:, W // 2 :].mean() * (freedom - 2) / freedom
    assert 0.45 < share < 0.85


def test_a_fraction_of_the_variance_between_short_chains_is_added():
    """Red before: topics of training that starts again vary more than replicates of one chain."""
    starts, variances = 0.02, []
    for value in (0.0, starts):
        spread, samples = made(starts=value)
        population = PopulationDraws(spread, 1, 0)
        wide = np.stack([population.widen(step, phi) for step, phi in enumerate(samples * 5)])
        roots = np.sqrt(wide[:, ROWS, TOP].astype(np.float64))
        variances.append(roots.var(axis=0).sum(axis=1))
    alone, added = variances[0], RESTARTED * starts * spread.means[1].sum(axis=1)
    np.testing.assert_allclose((variances[1] - alone).mean(), added.mean(), rtol=0.1)
    np.testing.assert_allclose(population.restarted, RESTARTED * starts)


def test_a_run_without_short_chains_has_the_typical_variance():
    spread, _ = made()
    spread.start_variance = None
    np.testing.assert_allclose(PopulationDraws(spread, 1, 0).restarted, RESTARTED * TYPICAL)
    assert "spread.start_variance" not in spread.arrays()


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_value_that_is_no_variance_is_refused(value):
    arrays = made(draws=20, starts=value)[0].arrays()
    with pytest.raises(CheckpointError, match="variances that are negative or not finite"):
        WordSpread.stored(arrays)


def test_words_beyond_the_top_words_keep_their_posterior_draws():
    spread, samples = made(draws=20)
    wide = PopulationDraws(spread, 1, 0).widen(5, samples[5])
    others = np.ones((K, V), bool)
    others[ROWS, TOP] = False
    factor = wide / samples[5]
    assert np.ptp(factor[0][others[0]]) < 1e-5  # scaled alike, so that the row sums to 1
    np.testing.assert_allclose(wide.sum(axis=1), samples[5].sum(axis=1) / 1.0, rtol=0.02)


def test_some_words_of_a_draw_are_those_of_the_whole_draw():
    """Red if a word is looked up in another topic, or at another place among the top words."""
    spread, samples = made(draws=20)
    population = PopulationDraws(spread, 1, 0)
    words = RNG.integers(0, V, (K, 25))

    def look_up(some):
        return samples[3][ROWS, some], np.zeros(some.shape, bool)

    values, censored = population.at(3, words, look_up)
    wide = population.widen(3, samples[3])
    total = samples[3].sum(axis=1, keepdims=True)
    drawn = wide / wide.sum(axis=1, keepdims=True)
    assert not censored.any()
    np.testing.assert_allclose(
        values / (1 + (wide.sum(axis=1, keepdims=True) - total)), drawn[ROWS, words], rtol=0.05
    )
    np.testing.assert_allclose(values, wide[ROWS, words], rtol=1e-5)


def test_a_draw_depends_on_its_step_the_seed_and_the_chain_alone():
    spread, samples = made(draws=20)
    first = PopulationDraws(spread, 1, 0).widen(5, samples[5])
    assert (PopulationDraws(spread, 1, 0).widen(5, samples[5]) == first).all()
    assert (PopulationDraws(spread, 1, 1).widen(5, samples[5]) != first).any()
    assert (PopulationDraws(spread, 2, 0).widen(5, samples[5]) != first).any()
    assert (PopulationDraws(spread, 1, 0).widen(6, samples[5]) != first).any()


def test_stored_spread_gives_the_same_draws():
    spread, samples = made(draws=20)
    arrays = {name: array.copy() for name, array in spread.arrays().items()}
    again = PopulationDraws.of(arrays, 1, 0)
    assert (again.widen(2, samples[2]) == PopulationDraws(spread, 1, 0).widen(2, samples[2])).all()


@pytest.mark.parametrize(("draws", "replicates"), [(1, REPLICATES), (20, 1), (20, 0)])
def test_too_few_draws_or_replicates_give_no_population_draws(draws, replicates):
    spread, _ = made(draws=draws, replicates=replicates)
    assert PopulationDraws.of(spread.arrays(), 1, 0) is None
    assert PopulationDraws.of({}, 1, 0) is None


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("replicates", np.zeros((9, K, W), np.float32)),
        ("replicates", np.zeros((2, K, W + 1), np.float32)),
        ("words", np.zeros(W, np.int64)),
        ("words", np.full((K, W), -1)),
        ("sums", np.zeros((2, K, W + 1))),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(name, array):
    spread, _ = made(draws=20)
    with pytest.raises(CheckpointError):
        PopulationDraws.of(spread.arrays() | {f"spread.{name}": array}, 1, 0)


def test_draws_never_vary_less_than_the_posterior():
    """Red if replicates of a topic that mixes slowly make its intervals narrower."""
    spread, samples = made(posterior=0.006, replicated=0.001)
    population = PopulationDraws(spread, 1, 0)
    wide = np.stack([population.widen(step, phi) for step, phi in enumerate(samples * 10)])
    roots = np.sqrt(np.stack(samples)[:, ROWS, TOP].astype(np.float64))
    ratio = np.sqrt(wide[:, ROWS, TOP]).std(axis=0) / roots.std(axis=0)
    assert (ratio > 0.97).all()
    np.testing.assert_allclose(population.width, 1.0, atol=0.01)
