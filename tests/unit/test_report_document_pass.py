"""What documents tell of topics: shares, groups, correlations, and the documents that surely have one."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.errors import MissingInputError
from pysgrld.report import document_pass as module
from pysgrld.report.document_pass import Correlation, DocumentTopics, TopicShares, read_documents
from pysgrld.types import Documents, PositionsExcept

N, K, S = 60, 14, 20


@pytest.fixture(scope="module")
def drawn():
    """Draws of made-up documents: theta and tokens (S, N, K), and lengths."""
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.full(K, 0.2), N)
    base[:, 1] = base[:, 0] * 0.8  # topics 0 and 1 meet in documents
    base /= base.sum(axis=1, keepdims=True)
    lengths = rng.integers(5, 200, N)
    theta = np.stack([[rng.dirichlet(5 * b + 0.05) for b in base] for _ in range(S)])
    tokens = np.stack(
        [[rng.multinomial(n, t) for n, t in zip(lengths, d, strict=True)] for d in theta]
    )
    return theta.astype(np.float32), tokens.astype(np.float32), lengths.astype(np.int64)


def quantile(draws, p):
    """The i-th of S draws is the quantile i / (S + 1)."""
    return np.quantile(draws, p, axis=0, method="weibull")


def results_of(drawn, steps=S):
    theta, tokens, _ = drawn
    seen = []

    def document_draws(documents, ids, steps, at):
        seen.append(len(ids))
        return SimpleNamespace(theta=theta[:, ids], tokens=tokens[:, ids])

    return SimpleNamespace(
        these=True,
        fitted=SimpleNamespace(no_mean=None, draws=True, layers=(K,)),
        vocabulary=("w",) * 3,
        proportions=lambda documents, ids, at, draw: theta[0, ids],
        draw_steps=lambda most: list(range(steps)),
        document_draws=document_draws,
        seen=seen,
    )


def corpus_of(drawn):
    """A corpus of one word; only lengths matter."""
    lengths = drawn[2]

    def take(rows):
        n = len(rows)
        return Documents(np.arange(n + 1), np.zeros(n, np.int32), lengths[rows].astype(np.int32))

    return SimpleNamespace(take=take, documents=N, nnz=N)


def look(results, drawn):
    """What all visitors find in one pass."""
    weights = TopicShares()
    topics, correlation = DocumentTopics(), Correlation()
    visitors = [weights, topics, correlation]
    draws = read_documents(results, corpus_of(drawn), np.arange(N), 0, visitors)
    return SimpleNamespace(
        draws=draws, weights=weights.shares, topics=topics, correlation=correlation.matrix
    )


@pytest.fixture(scope="module")
def looked(drawn):
    return look(results_of(drawn), drawn)


def test_blocks_of_documents_do_not_matter(drawn, looked, monkeypatch):
    """Each is drawn once, for all visitors. Red with: a block that begins one off; a pass for each."""
    monkeypatch.setattr(module, "_CELLS", 16 * S * K)
    results = results_of(drawn)
    other = look(results, drawn)
    assert results.seen == [16, 16, 16, 12]
    for name in ("lengths", "theta", "top", "mean", "low", "high", "counts"):
        np.testing.assert_array_equal(getattr(other.topics, name), getattr(looked.topics, name))
    np.testing.assert_allclose(other.correlation, looked.correlation, atol=1e-6)
    np.testing.assert_allclose(other.weights, looked.weights, atol=1e-9)


def test_weights_are_shares_of_tokens_draw_by_draw(drawn, looked):
    """Red with: NumPy's quantiles; the mean of proportions, of long and short documents alike."""
    share = drawn[1].sum(axis=1) / drawn[1].sum(axis=(1, 2))[:, None]
    np.testing.assert_allclose(looked.weights.mean[:, 0], share.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(looked.weights.low[:, 0], quantile(share, 0.05), rtol=1e-6)
    np.testing.assert_allclose(looked.weights.high[:, 0], quantile(share, 0.95), rtol=1e-6)


def test_shares_are_those_in_training_and_intervals_move_with_them(drawn):
    """A long held-out document is of topic 0. Red with: held-out documents counted, so that shares
    were an end of their intervals; intervals that were widened in place of moved.
    """
    theta, tokens, lengths = (part.copy() for part in drawn)
    tokens[:, 7], tokens[:, 7, 0], lengths[7] = 0, 50_000, 50_000
    results = results_of((theta, tokens, lengths))
    results.share_sizes = lambda: None
    results.training_documents = lambda corpus: PositionsExcept(N, np.array([7]))
    results.population = None
    corpus, rows = corpus_of((theta, tokens, lengths)), np.arange(N)
    visitor = TopicShares.in_training(results, corpus, rows)
    read_documents(results, corpus, rows, 0, [visitor])
    others = np.delete(tokens, 7, axis=1).sum(axis=1)
    share = others / others.sum(axis=1, keepdims=True)
    shares = visitor.shares
    np.testing.assert_allclose(shares.mean[:, 0], share.mean(axis=0), rtol=1e-6)
    moved = shares.about(shares.mean[:, 0] + 0.01)
    np.testing.assert_allclose(moved.low, shares.low + 0.01)
    np.testing.assert_allclose(moved.high, shares.high + 0.01)


def test_shares_vary_with_the_documents_and_with_the_start(drawn):
    """Red before: intervals for documents like these, but for topics of this run alone."""
    results = results_of(drawn)
    results.fitted.signed = True  # Documents have no repeated words.
    results.share_sizes, results.these = lambda: None, False
    results.training_documents = lambda corpus: PositionsExcept(N, np.array([], np.int64))
    corpus, rows, widths = corpus_of(drawn), np.arange(N), []
    for restarted in (None, np.full(K, 0.04)):
        results.population = (
            restarted if restarted is None else SimpleNamespace(restarted=restarted)
        )
        visitor = TopicShares.in_training(results, corpus, rows)
        read_documents(results, corpus, rows, 0, [visitor])
        shares = visitor.shares
        widths.append((shares.high - shares.mean)[:, 0])
    start = 1.6449 * 0.2 * shares.mean[:, 0]
    np.testing.assert_allclose(widths[1], np.hypot(widths[0], start), rtol=1e-6)


def test_documents_have_their_greatest_topics_with_intervals(drawn, looked):
    theta = drawn[0].astype(float)
    mean = theta.mean(axis=0)
    np.testing.assert_array_equal(looked.topics.counts, (mean >= 0.1).sum(axis=0))
    for d in range(N):
        k = looked.topics.top[d]
        assert (np.diff(mean[d, k]) <= 1e-6).all()
        np.testing.assert_allclose(looked.topics.mean[d], mean[d, k], rtol=1e-5)
        np.testing.assert_allclose(looked.topics.low[d], quantile(theta[:, d, k], 0.05), atol=1e-6)
        np.testing.assert_allclose(looked.topics.high[d], quantile(theta[:, d, k], 0.95), atol=1e-6)


def test_correlations_are_those_of_roots_where_draws_agree_on_the_sign(drawn, looked):
    """Red with: proportions instead of roots; a sign that half of the draws have."""
    each = np.stack([np.corrcoef(np.sqrt(d.astype(float)).T) for d in drawn[0]])
    positive = (each > 0).sum(axis=0)
    sure = np.maximum(positive, S - positive) >= 18
    assert (~sure).sum() > 0
    np.testing.assert_allclose(looked.correlation, np.where(sure, each.mean(axis=0), 0), atol=1e-5)
    assert looked.correlation[0, 1] > 0.2


def test_correlations_of_many_topics_take_fewer_draws(drawn, monkeypatch):
    monkeypatch.setattr(module, "_PRODUCTS", 4 * K * K)
    found = look(results_of(drawn), drawn)
    each = np.stack([np.corrcoef(np.sqrt(d.astype(float)).T) for d in drawn[0][:4]])
    same = np.abs(np.sign(each).sum(axis=0)) == 4
    np.testing.assert_allclose(found.correlation[same], each.mean(axis=0)[same], atol=1e-5)


def test_few_samples_give_proportions_without_intervals(drawn):
    found = look(results_of(drawn, 19), drawn)
    assert found.draws == 1
    assert found.correlation is None
    np.testing.assert_array_equal(found.topics.low, found.topics.mean)
    expected = (drawn[0][0] * drawn[2][:, None]).sum(axis=0) / drawn[2].sum()
    np.testing.assert_allclose(found.weights.mean[:, 0], expected, rtol=1e-5)


def test_samples_that_are_thinned_meanwhile_are_done_without(drawn, looked):
    """Red with: the first sample that is missing ends it."""
    results = results_of(drawn)
    given, steps = results.document_draws, [list(range(1, S + 1)), list(range(S)), list(range(S))]

    def document_draws(documents, ids, wanted, at):
        if S in wanted:
            raise MissingInputError("dropped")
        return given(documents, ids, wanted, at)

    results.document_draws, results.draw_steps = document_draws, lambda most: steps.pop(0)
    found = look(results, drawn)
    np.testing.assert_array_equal(found.topics.low, looked.topics.low)
    results.draw_steps = lambda most: list(range(1, S + 1))
    with pytest.raises(MissingInputError):
        look(results, drawn)


def test_representatives_have_the_greatest_low_ends_not_means(looked):
    """Red with: the greatest mean."""
    best = looked.topics.representatives()
    for k in range(K):
        place = np.flatnonzero((looked.topics.top == k).any(axis=1))
        low = {d: looked.topics.low[d][looked.topics.top[d] == k][0] for d in place}
        expected = sorted((d for d in place if low[d] >= 0.01), key=lambda d: -low[d])[:5]
        assert best[k] == expected
