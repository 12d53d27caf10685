"""Topics of two models matched: the best assignment, exactly."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from pysgrld.evaluate.matching import affinity, assign, overlap


def topics(k, v, seed, prior=0.05):
    return np.random.default_rng(seed).dirichlet(np.full(v, prior), k).astype(np.float32)


@pytest.mark.parametrize("k", [1, 2, 7, 60, 300])
def test_a_planted_permutation_is_found(k):
    """Red with: partners of the columns returned for those of the rows."""
    rng = np.random.default_rng(k)
    a = topics(k, 500, k)
    order = rng.permutation(k)
    noisy = np.array([rng.dirichlet(300 * p + 0.01) for p in a]).astype(np.float32)
    found = assign(affinity(a, noisy[order]))
    assert order[found].tolist() == list(range(k))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 40, 120])
@pytest.mark.parametrize("kind", ["random", "ties", "equal", "rank one", "far off"])
def test_the_assignment_is_the_best_there_is(n, kind):
    """Red with: the first free column taken; duals of scanned rows not moved."""
    rng = np.random.default_rng(n)
    s = rng.random((n, n))
    if kind == "ties":
        s = np.round(s, 1)
    if kind == "equal":
        s[:] = 0.5
    if kind == "rank one":
        s = np.outer(np.arange(n), np.arange(n)) / max(1, n * n)
    if kind == "far off":
        s = 1e6 * s - 5e5
    found = assign(s)
    assert sorted(found.tolist()) == list(range(n))
    best = s[linear_sum_assignment(s, maximize=True)].sum()
    assert s[np.arange(n), found].sum() == pytest.approx(best, rel=1e-12)


def test_small_ones_are_best_by_trying_all():
    rng = np.random.default_rng(5)
    for _ in range(50):
        s = rng.integers(0, 4, (5, 5)).astype(float)
        best = max(s[np.arange(5), list(p)].sum() for p in itertools.permutations(range(5)))
        assert s[np.arange(5), assign(s)].sum() == best


def test_affinity_and_overlap_are_one_of_the_same_and_zero_of_strangers():
    a = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.2, 0.8]], np.float32)
    b = np.array([[0.5, 0.5, 0, 0], [0.9, 0.1, 0, 0]], np.float32)
    np.testing.assert_allclose(np.diag(affinity(a, b)), [1, 0], atol=1e-7)
    np.testing.assert_allclose(overlap(a, b), [1, 0], atol=1e-7)
    np.testing.assert_allclose(overlap(a[:1], b[1:]), [0.6], atol=1e-7)
