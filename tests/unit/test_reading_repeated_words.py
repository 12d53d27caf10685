"""Intervals of documents for other texts: words that a document repeats are one kind of word."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.reading import repeated_words
from pysgrld.reading.intervals import bounds
from pysgrld.reading.repeated_words import Repetition, proportion_bounds
from pysgrld.types import Documents

K, V, N = 3, 12, 7


@pytest.fixture(scope="module")
def made():
    """Seven documents, one of them empty and one without repeated words; topics; proportions."""
    rng = np.random.default_rng(0)
    words = [rng.choice(V, n, replace=False) for n in (4, 0, 6, 1, 5, 3, 8)]
    counts = [rng.integers(1, 6, len(row)) for row in words]
    counts[2][:] = 1
    counts[4][:] = 4
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in words])])
    documents = Documents(
        indptr, np.concatenate(words).astype(np.int32), np.concatenate(counts).astype(np.int32)
    )
    phi = np.zeros((V, K + 1), np.float32)
    phi[:, :K] = rng.dirichlet(np.ones(V), K).T
    return documents, phi, rng.dirichlet(np.ones(K), N).astype(np.float32)


def results_of(phi, *, these=False, signed=False):
    return SimpleNamespace(
        these=these, fitted=SimpleNamespace(signed=signed), phi=lambda layer_index: phi
    )


def expected(documents, phi, theta):
    """Variances of shares with weights on kinds and on tokens, by a loop over the words."""
    factors = np.ones((N, K))
    for d in range(N):
        variances = np.zeros((2, K))
        for i in range(documents.indptr[d], documents.indptr[d + 1]):
            topics = phi[documents.indices[i], :K] * theta[d]
            count, apart = documents.counts[i], topics / topics.sum() - theta[d]
            variances += np.outer([count**2, count], apart**2)
        if variances[1].any():
            factors[d] = variances[0] / variances[1]
    return factors


@pytest.mark.parametrize("cells", [1, 20, 1 << 22])
def test_a_repeated_word_is_one_kind_of_word(made, monkeypatch, cells):
    """Red with: counts not squared; the words of the next document; a document that is skipped."""
    monkeypatch.setattr(repeated_words, "_CELLS", cells)
    documents, phi, theta = made
    factors = Repetition(results_of(phi), 0).factors(documents, theta)
    np.testing.assert_allclose(factors, expected(documents, phi, theta), rtol=1e-6)
    assert (factors[[1, 2]] == 1).all()
    np.testing.assert_allclose(factors[4], 4.0)  # each of its words four times


def test_intervals_for_these_documents_and_of_directions_are_not_wider(made):
    documents, phi, theta = made
    for how in ({"these": True}, {"signed": True}):
        assert (Repetition(results_of(phi, **how), 0).factors(documents, theta) == 1).all()


def test_wider_bounds_stay_around_the_mean_and_are_shares():
    """Red with: bounds beyond 0 and 1; a factor for the lower bound alone."""
    draws = np.random.default_rng(1).beta(2, 5, (200, 4))
    factors = np.array([1.0, 1.5, 2.0, 9.0])
    mean, (low, high) = draws.mean(axis=0), bounds(draws)
    wide = proportion_bounds(draws, factors)
    np.testing.assert_allclose(wide[0], np.maximum(0, mean - factors * (mean - low)))
    np.testing.assert_allclose(wide[1], np.minimum(1, mean + factors * (high - mean)))
    assert wide[0][3] == 0
    assert wide[1][3] == 1
