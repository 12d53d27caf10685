"""R-hat and effective sample sizes against ArviZ, whose definitions they are."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from pysgrld.evaluate.convergence import BLOCK, bulk_sizes, convergence

CLOSE = 1e-10


@cache
def arviz():
    """The module ArviZ, which takes a second to import: not in every process of the tests."""
    with warnings.catch_warnings():  # of a newer release to come
        warnings.simplefilter("ignore")
        import arviz
    return arviz


def chains(kind, c, n):
    rng = np.random.default_rng(1000 * c + n)
    x = rng.normal(size=(c, n))
    persistence = {"slow": 0.95, "alternating": -0.8}.get(kind, 0.0)
    for t in range(1, n):
        x[:, t] += persistence * x[:, t - 1]
    if kind == "walks":
        x = np.cumsum(x, axis=1)
    if kind == "ties":
        x = np.round(x)
    if kind == "two values":
        x = (x > 1).astype(float)
    if kind == "apart":
        x += 10 * np.arange(c)[:, None]
    if kind == "other spreads":
        x *= np.arange(1, c + 1)[:, None]
    if kind == "trend":
        x += np.arange(n) / 10
    return x


KINDS = (
    "independent",
    "slow",
    "alternating",
    "walks",
    "ties",
    "two values",
    "apart",
    "other spreads",
    "trend",
)


def of_arviz(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return arviz().rhat(x), arviz().ess(x, method="bulk"), arviz().ess(x, method="tail")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [2, 3, pytest.param(7, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "n", [4, 5, *(pytest.param(n, marks=pytest.mark.nightly) for n in (6, 7)), 9, 20, 101, 256]
)
def test_figures_are_those_of_arviz(kind, c, n):
    """Red with: ranks from 0; draws not split; Geyer's last even term left out; var of n for n - 1."""
    x = chains(kind, c, n)
    found = convergence(x[:, :, None])
    for ours, theirs in zip(found, of_arviz(x), strict=True):
        np.testing.assert_allclose(ours[0], theirs, rtol=CLOSE, equal_nan=True)


def normal_scores(x):
    return norm.ppf((rankdata(x).reshape(x.shape) - 3 / 8) / (x.size + 1 / 4))


@pytest.mark.parametrize("kind", KINDS)
def test_one_chain_is_its_two_halves(kind):
    """ArviZ tells no R-hat of one chain; the halves as chains, split no further, are what it is of."""
    x = chains(kind, 1, 60)
    found = convergence(x[:, :, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        halves = np.stack([x[0, :30], x[0, 30:]])
        middle = np.abs(halves - np.median(halves))
        rhat = max(arviz().rhat(normal_scores(y), method="identity") for y in (halves, middle))
    np.testing.assert_allclose(found.rhat[0], rhat, rtol=CLOSE)
    np.testing.assert_allclose(found.bulk[0], of_arviz(x)[1], rtol=CLOSE)
    np.testing.assert_allclose(found.tail[0], of_arviz(x)[2], rtol=CLOSE)


def test_many_quantities_are_as_each_alone():
    """More than are worked on at a time, in two axes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 20, 2, BLOCK // 2 + 5))
    found = convergence(x)
    assert found.rhat.shape == (2, BLOCK // 2 + 5)
    for i, j in [(0, 0), (1, 0), (1, BLOCK // 2 + 4), (0, 100)]:
        alone = convergence(x[:, :, i, j, None])
        for many, one in zip(found, alone, strict=True):
            np.testing.assert_allclose(many[i, j], one[0], rtol=1e-13)


def test_what_never_changes_has_no_rhat_and_full_size():
    found = convergence(np.ones((4, 50, 1)))
    assert np.isnan(found.rhat[0])
    assert (found.bulk[0], found.tail[0]) == (200, 200)
    assert found.bulk[0] == of_arviz(np.ones((4, 50)))[1]


def test_chains_that_stand_still_at_different_places_have_not_mixed():
    x = np.repeat(np.arange(4.0)[:, None], 50, axis=1)
    found = convergence(x[:, :, None])
    assert found.rhat[0] == np.inf
    assert found.bulk[0] < 8


def test_a_quantity_that_is_no_number_spoils_only_itself():
    x = np.random.default_rng(1).normal(size=(4, 50, 3))
    sound = convergence(x)
    x[2, 7, 1] = np.nan
    found = convergence(x)
    for figures, before in zip(found, sound, strict=True):
        assert np.isnan(figures[1])
        assert figures[[0, 2]].tolist() == before[[0, 2]].tolist()


def test_infinities_are_ranked_as_any_number():
    """The log probability of a document with a word that no topic has."""
    x = np.random.default_rng(2).normal(size=(4, 50, 1))
    lowest = np.unravel_index(x.argmin(), x.shape)
    x[lowest] = -100.0
    sound = convergence(x)
    x[lowest] = -np.inf
    found = convergence(x)
    assert found == sound


@pytest.mark.parametrize("n", range(4))
def test_fewer_than_four_draws_tell_nothing(n):
    for figures in convergence(np.zeros((4, n, 3))):
        assert np.isnan(figures).all()
        assert figures.shape == (3,)


def test_no_quantities_are_no_figures():
    assert convergence(np.zeros((4, 10, 0))).rhat.shape == (0,)


@pytest.mark.parametrize("shape", [(4, 51, BLOCK + 3), (1, 40, 2, 3), (4, 3, 5), (4, 10, 0)])
def test_bulk_sizes_alone_are_those_of_all_diagnostics(shape):
    """Red with: a block left out; a missing value ranked; an odd draw in both halves."""
    x = np.random.default_rng(0).standard_normal(shape)
    x[..., :1] = 1.0
    if x.size:
        x[0, 0, ..., -1] = np.nan
    np.testing.assert_array_equal(bulk_sizes(x), convergence(x).bulk)
