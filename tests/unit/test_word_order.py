"""Orders of the words of topics against plain NumPy, and the default by the length of documents."""

import numpy as np
import pytest

from pysgrld.errors import UsageError
from pysgrld.models.word_order import (
    DISTINCTIVE,
    PROBABLE,
    WordOrder,
    WordScorer,
    default_order,
    distinctiveness,
    parse_order,
    top_words,
)
from pysgrld.types import WordTotals

V, K, TOKENS = 60, 5, 2000


def made(seed=0):
    phi = np.random.default_rng(seed).dirichlet(np.full(V, 0.2), K).T.astype(np.float32)
    padded = np.zeros((V, 8), np.float32)
    padded[:, :K] = phi
    return padded


def oracle(phi, order, shares=None):
    """Scores (V, K) in float64, as the papers and the docstring have them."""
    p = phi[:, :K].astype(float)
    exclusive = p / p.sum(axis=1, keepdims=True)
    if order.name == "distinctive":
        n = TOKENS / K
        return p * (n * p + 40 / K) / (n * p.sum(axis=1, keepdims=True) + 40)
    if order.name == "frex":
        rank = [(x[:, None] <= x[None]).sum(axis=0) / V for x in (*exclusive.T, *p.T)]
        return np.stack([1 / (0.5 / rank[k] + 0.5 / rank[K + k]) for k in range(K)], axis=1)
    usual = p.mean(axis=1) if shares is None else shares
    lam = order.weight
    p = np.maximum(p, 1e-12)
    return lam * np.log(p) + (1 - lam) * np.log(p / usual[:, None])


@pytest.mark.parametrize(
    "order", [DISTINCTIVE, WordOrder("frex"), WordOrder("relevance", 0.3), PROBABLE]
)
def test_words_are_in_the_order_of_their_scores(order):
    """Red with: 40 for 0; the padding counted as topics; ties by number before probability."""
    phi = made()
    first = WordScorer(phi, K, order, TOKENS).first_words(20)
    assert first.shape == (K, 20)
    scores = phi[:, :K] if order == PROBABLE else oracle(phi, order)
    for k in range(K):
        wanted = sorted(range(V), key=lambda w: (-scores[w, k], -phi[w, k], w))[:20]
        assert first[k].tolist() == wanted


def test_relevance_is_over_the_shares_of_the_corpus():
    phi = made()
    counts = np.random.default_rng(3).integers(1, 1000, V)
    shares = counts / counts.sum()
    order = WordOrder("relevance", 0.6)
    first = WordScorer(phi, K, order, TOKENS, WordTotals(counts, counts)).first_words(5)
    np.testing.assert_array_equal(
        first, np.argsort(-oracle(phi, order, shares), axis=0, kind="stable").T[:, :5]
    )


def test_a_word_that_few_documents_repeat_counts_as_its_documents_do():
    """Red with: no repetition, or in the exclusivity alone; a repetition below 1."""
    phi = np.full((100, 2), 0.0005)
    phi[1:5, 0], phi[5:9, 1] = 0.02, 0.02
    phi /= phi.sum(axis=0)
    occurrences, squares = np.full(100, 20), np.full(100, 20)
    squares[2] = 20 * 10  # ten at a time
    squares[3] = 0  # as if they were more than independent
    totals = WordTotals(occurrences, squares)
    assert totals.repetition[[1, 2, 3]].tolist() == [1.0, 10.0, 1.0]
    first = WordScorer(phi, 2, DISTINCTIVE, 2000, totals).first_words(4)[0].tolist()
    assert first == [1, 3, 4, 2]
    phi[2, 0] *= 2  # more probable, and of this topic alone to all appearances
    first = WordScorer(phi, 2, DISTINCTIVE, 10**9, totals).first_words(4)[0].tolist()
    assert first == [1, 3, 4, 2]


def test_a_rare_word_of_one_topic_alone_does_not_win_by_chance():
    """Red with: p for its lower bound, or lift alone."""
    phi = np.full((100, 2), 0.0005, np.float32)
    phi[0] = 0.3  # of both
    phi[1:5, 0], phi[5:9, 1] = 0.02, 0.02
    phi[9, 0], phi[9, 1] = 0.002, 0.0  # exclusive, and hardly used
    phi /= phi.sum(axis=0)
    first = WordScorer(phi, 2, DISTINCTIVE, 1000).first_words(6)[0].tolist()
    assert 9 not in first[:5]
    assert first[0] == 0
    assert first[1:5] == [1, 2, 3, 4]


def test_distinctiveness_is_the_mean_exclusivity_of_the_first_words():
    """Red with: the padding counted as topics; a sum over words in place of topics."""
    phi = np.zeros((4, 3), np.float32)
    phi[:, :2] = [[0.5, 0.0], [0.25, 0.25], [0.25, 0.25], [0.0, 0.5]]
    phi[:, 2] = 9.0  # padding
    top = np.array([[0, 1], [1, 2]])
    np.testing.assert_allclose(distinctiveness(phi, 2, top), [0.75, 0.5])


def test_both_layouts_of_a_matrix_give_the_same_words():
    """Red with: sums over topics in the order of memory."""
    phi = np.random.default_rng(1).dirichlet(np.full(5000, 0.02), 40).T.astype(np.float32)
    rows = np.ascontiguousarray(phi.T)
    for order in (DISTINCTIVE, WordOrder("frex")):
        one = WordScorer(np.ascontiguousarray(phi), 40, order, 10**6).first_words(200)
        two = WordScorer(rows.T, 40, order, 10**6).first_words(200)
        np.testing.assert_array_equal(one, two)


def test_all_words_are_there_if_more_are_wanted():
    phi = made()
    for order in (DISTINCTIVE, WordOrder("frex"), PROBABLE):
        first = WordScorer(phi, K, order, TOKENS).first_words(V + 5)
        assert [sorted(row) for row in first.tolist()] == [list(range(V))] * K
    assert top_words(phi[:, :K], V + 5).shape == (K, V)


def test_short_documents_have_probable_words_by_default():
    """Red with: one default for all corpora."""
    assert default_order(1000, 7_900) == PROBABLE
    assert default_order(1000, 8_000) == DISTINCTIVE
    assert default_order(0, 0) == PROBABLE


def test_orders_are_read_by_their_names():
    assert parse_order("distinctive") == DISTINCTIVE
    assert parse_order("relevance") == WordOrder("relevance", 0.6)
    assert str(parse_order("relevance:0.25")) == "relevance:0.25"
    for text in ("relevance:2", "relevance:x", "frex:0.5", "best", "", 10, "relevance:nan"):
        with pytest.raises(UsageError, match="give distinctive, probable, frex"):
            parse_order(text)


def test_a_single_word_is_the_first_of_every_topic_and_keeps_its_probability():
    """Red with: a copy that is a view, because one row is contiguous both ways."""
    phi = np.ones((1, 16), np.float32)
    assert top_words(phi, 10).tolist() == [[0]] * 16
    assert (phi == 1.0).all()
