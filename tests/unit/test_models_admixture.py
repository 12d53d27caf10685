"""Draws of documents' topics under topics that are known: they cover the truth, block by block alike."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.evaluate.reader import DocumentDraws, draw_proportions
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.dlda.reader import deep_readers
from pysgrld.models.dlda.resolved import DeepLDAOptions
from pysgrld.models.lda.reader import lda_readers
from pysgrld.reading.intervals import bounds
from pysgrld.types import Block, Documents, Key

K, V, N, ALPHA, DRAWS = 8, 300, 50, 0.2, 40


def documents(counts):
    filled = counts > 0
    indptr = np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64)
    return Documents(
        indptr, np.nonzero(filled)[1].astype(np.int32), counts[filled].astype(np.int32)
    )


def drawn(readers, topics, some, ids, *, threads=1, at=0, number=DRAWS):
    """Draws given topics, by their names in a sample, that are the same in every sample."""
    blocks = tuple(
        Block(name, "positive", matrix.shape, 1.0, 0, 0.0)
        if name == "r"
        else Block(name, "simplex", matrix.T.shape, 1.0, 0, 0.0)
        for name, matrix in topics.items()
    )
    record = SimpleNamespace(options=SimpleNamespace(algo="gibbs", seed=5, chain=0))
    run = AdmixtureFitted(record, threads, blocks, readers)
    samples = ((step, topics) for step in range(1, number + 1))
    each = run.document_draws(samples, some, ids, at)
    return DocumentDraws(*map(np.stack, zip(*each, strict=True)))


@pytest.fixture(scope="module")
def known():
    """Topics, documents drawn from them, and the proportions that these have."""
    rng = np.random.default_rng(1)
    topics, theta = rng.dirichlet(np.full(V, 0.1), K), rng.dirichlet(np.full(K, ALPHA), 400)
    counts = np.array([rng.multinomial(N, p @ topics) for p in theta])
    return {"phi": topics.astype(np.float32)}, documents(counts), theta


def coverage(draws, truth):
    low, high = bounds(draws)
    return ((low <= truth) & (truth <= high)).mean()


def test_intervals_of_proportions_cover_those_that_documents_were_drawn_from(known):
    """Red with: the tokens' shares taken for theta (0.75); the mean of 25 sweeps counted (0.83)."""
    parts, some, theta = known
    found = drawn(lda_readers(K, ALPHA), parts, some, np.arange(len(some)))
    assert 0.87 < coverage(found.theta, theta) < 0.93
    np.testing.assert_allclose(found.theta.sum(axis=2), 1, atol=1e-5)
    assert (found.tokens.sum(axis=2) == N).all()
    assert (found.tokens == np.round(found.tokens)).all()


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_twenty_draws_of_long_documents_cover_where_topics_overlap(alpha):
    """Red with: two sweeps from one draw to the next (0.76 and 0.82)."""
    rng, n = np.random.default_rng(1), 80
    topics, theta = rng.dirichlet(np.full(V, 1.0), K), rng.dirichlet(np.full(K, alpha), n)
    some = documents(np.array([rng.multinomial(1000, p @ topics) for p in theta]))
    readers = lda_readers(K, alpha)
    found = drawn(readers, {"phi": topics.astype(np.float32)}, some, np.arange(n), number=20)
    assert 0.85 < coverage(found.theta, theta) < 0.95


@pytest.mark.parametrize("at", [0, 1])
def test_intervals_of_deep_proportions_cover_those_that_documents_were_drawn_from(at):
    """Red with: proportions of another layer."""
    rng, n, above = np.random.default_rng(3), 120, 4
    topics, higher = rng.dirichlet(np.full(V, 0.1), K), rng.dirichlet(np.full(K, 0.3), above)
    r = np.array([1.0, 0.7, 0.5, 0.5])
    c, p = rng.gamma(10.0, 0.1, (n, 1)), rng.beta(20.0, 1.0, (n, 1))
    second = rng.gamma(r, 1.0, (n, above)) / c
    first = rng.gamma(np.maximum(second @ higher, 1e-6)) * p / (1 - p)
    some = documents(rng.poisson(first @ topics))
    parts = {"phi": topics, "phi2": higher, "r": r[None]}
    parts = {name: matrix.astype(np.float32) for name, matrix in parts.items()}
    said = {"layers": (K, above), "link": "counts", "p-prior": (20.0, 1.0), "c-prior": (10.0, 10.0)}
    found = drawn(deep_readers(DeepLDAOptions.from_values(said)), parts, some, np.arange(n), at=at)
    truth = (first, second)[at]
    assert 0.85 < coverage(found.theta, truth / truth.sum(axis=1, keepdims=True)) < 0.95
    lengths = np.broadcast_to(some.lengths, (DRAWS, n))
    np.testing.assert_allclose(found.tokens.sum(axis=2), lengths, rtol=1e-4)


def test_a_documents_draws_do_not_depend_on_others_on_blocks_or_on_threads(known):
    """Red with: random numbers keyed by the place in the block."""
    parts, some, _ = known
    ids = np.arange(60) * 7 + (1 << 33) * (np.arange(60) % 2)
    some = some.take(np.arange(60))
    whole = drawn(lda_readers(K, ALPHA), parts, some, ids)
    rows = np.array([31, 4, 59])
    few = drawn(lda_readers(K, ALPHA), parts, some.take(rows), ids[rows], threads=2)
    for a, b in zip(whole, few, strict=True):
        np.testing.assert_array_equal(a[:, rows], b)
    other = drawn(lda_readers(K, ALPHA), parts, some.take(rows), ids[rows] + (1 << 31))
    assert (other.theta != few.theta).any(axis=(0, 2)).all()


@pytest.mark.parametrize("alpha", [1e-4, 0.3])
def test_proportions_have_the_moments_of_dirichlet_laws(alpha):
    """Red with: no token given to documents without one, where every gamma is 0."""
    n, k = 20_000, 5
    counts = np.zeros((n, padded_width(k)), np.int64)
    counts[: n // 2, :3] = (4, 0, 1)
    ids, key = np.arange(n), Key(1, 0, 9)
    theta = draw_proportions(counts, k, alpha, key, ids, core.Workspace(), 1).astype(np.float64)
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-6)
    for half, of in (
        (theta[: n // 2], counts[0, :k] + alpha),
        (theta[n // 2 :], np.full(k, alpha)),
    ):
        mean = of / of.sum()
        variance = mean * (1 - mean) / (of.sum() + 1)
        error = np.sqrt(variance / len(half)) + 1e-9
        assert (np.abs(half.mean(axis=0) - mean) < 5 * error).all()
        assert np.abs(half.var(axis=0) - variance).max() < 0.01
