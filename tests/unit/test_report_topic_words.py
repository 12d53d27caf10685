"""Words of topics: which are shown, their intervals, and shares of uses, against plain NumPy."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.models.samples import top_word_sample
from pysgrld.models.word_order import DISTINCTIVE, WordScorer
from pysgrld.reading.intervals import bounds, effective_sizes
from pysgrld.report import topic_words as module
from pysgrld.report.sample_pass import ChainOfTopics
from pysgrld.report.topic_words import automatic, candidates, relevance, terms, words_shown
from pysgrld.types import WordTotals

V, K, TOKENS = 400, 5, 5000


def made(seed=0, draws=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.05), K).T.astype(np.float32)
    counts = rng.poisson(TOKENS * phi.mean(axis=1)).astype(np.int64)
    samples = [
        np.stack([rng.dirichlet(200 * phi[:, k] + 1e-3) for k in range(K)]).astype(np.float32)
        for _ in range(draws)
    ]
    return phi, counts, samples


def chain(samples, rows=None, slim=False):
    """A run that has kept these samples."""
    results = SimpleNamespace(
        fitted=SimpleNamespace(
            no_mean=None, exact=None, topics_of_sample=lambda sample, at: sample["phi"]
        ),
        word_steps=lambda at: (list(range(len(samples))), slim),
        topic_sample=lambda step: {"phi": samples[step]},
        read_slim=lambda step: top_word_sample(samples[step]),
    )
    return ChainOfTopics(results, np.arange(K) if rows is None else rows)


def oracle_of_candidates(phi, tokens, counts):
    """Ten lines: the union of the thirty first words of eleven orders."""
    share, found = counts / counts.sum(), []
    for k in range(phi.shape[1]):
        p = phi[:, k].astype(float)
        words = set(sorted(range(V), key=lambda w: -p[w])[:30])
        own = [w for w in range(V) if p[w] * tokens[k] >= 5 and counts[w]]
        for tenths in range(10):
            lam = tenths / 10
            score = {w: lam * np.log(p[w]) + (1 - lam) * np.log(p[w] / share[w]) for w in own}
            words |= set(sorted(own, key=lambda w: -score[w])[:30])
        found.append(sorted(words, key=lambda w: -p[w]))
    return found


def test_candidates_are_the_first_words_of_every_order():
    """Red with: a lambda left out; words that chance chose; another base of lift."""
    phi, counts, _ = made()
    tokens = np.full(K, TOKENS / K)
    found = candidates(phi, tokens, counts)
    for row, expected in zip(found, oracle_of_candidates(phi, tokens, counts), strict=True):
        np.testing.assert_array_equal(row, expected)


def test_relevance_goes_from_lift_to_probability():
    p, share = np.array([0.2, 0.1, 0.01]), np.array([0.3, 0.05, 0.001])
    np.testing.assert_allclose(relevance(p, share, 1.0), np.log(p))
    np.testing.assert_allclose(relevance(p, share, 0.0), np.log(p / share))


def test_without_word_counts_words_are_the_most_probable():
    phi, _, _ = made()
    found = candidates(phi, np.full(K, 1000.0), None)
    assert [len(row) for row in found] == [30] * K


def test_intervals_and_steady_words_are_those_of_all_draws():
    phi, counts, samples = made(draws=24)
    found = terms(phi, None, TOKENS, counts, [chain(samples)], 0, signed=False)
    assert found.draws == 24
    for k in range(K):
        for i in np.flatnonzero(found.there[k]):
            w = found.words[k, i]
            values = np.array([s[k, w] for s in samples], float)
            low, high = np.quantile(values, (0.05, 0.95), method="weibull")
            assert found.low[k, i] == pytest.approx(min(low, phi[w, k]), rel=1e-5)
            assert found.high[k, i] == pytest.approx(max(high, phi[w, k]), rel=1e-5)
            ten = np.mean([w in np.argsort(-s[k])[:10] for s in samples])
            assert found.ten[k, i] == pytest.approx(ten)


def test_slim_samples_tell_the_same_where_they_have_the_word(monkeypatch):
    """Red with: a word that a top-word sample lacks counted among the ten, or its bound for its value."""
    monkeypatch.setattr("pysgrld.models.samples.WORDS", 40)
    phi, counts, samples = made(draws=24)
    full, slim = (
        terms(phi, None, TOKENS, counts, [chain(samples, slim=s)], 0, signed=False)
        for s in (False, True)
    )
    np.testing.assert_array_equal(full.ten, slim.ten)
    known = ~slim.open & slim.there
    np.testing.assert_allclose(slim.low[known], full.low[known])
    assert (slim.open & slim.there).any()
    assert (slim.low[slim.open] >= full.low[slim.open]).all()


def test_few_draws_give_no_interval():
    phi, counts, samples = made(draws=19)
    found = terms(phi, None, TOKENS, counts, [chain(samples)], 0, signed=False)
    assert found.draws == 0
    np.testing.assert_array_equal(found.low, found.mean)
    assert not found.ten.any()


def test_topics_that_all_chains_share_have_the_draws_of_all():
    """The second chain's topic 3 is the first's topic 1; the others are not shared."""
    phi, counts, samples = made(draws=40)
    rows = np.full(K, -1)
    rows[1] = 3
    others = [np.roll(s, 2, axis=0) for s in samples[20:]]
    both = [chain(samples[:20]), chain(others, rows)]
    found = terms(phi, None, TOKENS, counts, both, 0, signed=False)
    assert (found.draws, found.pooled) == (20, 40)
    for k, mine in ((1, samples), (0, samples[:20])):
        w = found.words[k, 0]
        values = np.array([s[k, w] for s in mine], float)
        parts = [values[:20], values[20:]] if k == 1 else [values]
        n = effective_sizes([part[:, None] for part in parts], exact=False) if k == 1 else None
        expected = min(bounds(values[:, None], n)[0][0], phi[w, k])
        assert found.low[k, 0] == pytest.approx(expected, rel=1e-5)
        ten = np.mean([w in np.argsort(-s[k])[:10] for s in mine])
        assert found.ten[k, 0] == pytest.approx(ten)


def test_shares_of_a_words_uses_are_weights_times_probabilities(monkeypatch):
    """Red with: weights left out; a block of words begun one off."""
    monkeypatch.setattr(module, "_ROWS", 7)
    phi, counts, _ = made()
    weights = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    found = words_shown(phi, weights, counts, np.array([399]), 50, K, signed=False)
    assert len(found.ids) in (50, 51)
    assert 399 in found.ids
    assert (np.diff(counts[found.ids]) <= 0).all()
    ends = np.cumsum(found.n)
    for i, w in enumerate(found.ids):
        uses = phi[w].astype(float) * weights
        uses /= uses.sum()
        expected = [k for k in np.argsort(-uses, kind="stable") if uses[k] >= 0.04][:6]
        mine = slice(ends[i] - found.n[i], ends[i])
        np.testing.assert_array_equal(found.topics[mine], expected)
        np.testing.assert_allclose(found.shares[mine], uses[expected], atol=1e-6)
    described = terms(phi, weights, TOKENS, counts, [chain([])], 0, signed=False)
    w = described.words[0, 0]
    assert described.share[0, 0] == pytest.approx(
        0.4 * phi[w, 0] / (phi[w].astype(float) @ weights), rel=1e-4
    )


def test_directions_have_their_greatest_entries():
    rng = np.random.default_rng(5)
    phi = rng.normal(size=(V, K)).astype(np.float32) / np.sqrt(V)
    found = terms(phi, None, TOKENS, None, [chain([])], 0, signed=True)
    np.testing.assert_array_equal(found.words[2], np.argsort(-phi[:, 2], kind="stable")[:30])
    assert not found.share.any()


def test_names_are_the_first_three_words_and_the_first_is_nobody_elses():
    """Red with: first words chosen without looking at those taken."""
    first = np.array([[4, 1, 2, 3], [4, 1, 2, 3], [4, 0, 3, 5], [6, 4, 1, 2]])
    names = automatic(first, [f"w{i}" for i in range(7)], [2, 1, 0, 3])
    assert names == {2: "w4 · w0 · w3", 1: "w1 · w4 · w2", 0: "w2 · w4 · w1", 3: "w6 · w4 · w1"}


def test_further_words_of_topics_are_described_too():
    """Red with: words that are shown first, and described nowhere."""
    phi, counts, _ = made()
    needed = np.tile(np.argsort(phi.max(axis=1))[:3], (K, 1))
    found = terms(phi, None, TOKENS, counts, [chain([])], 0, signed=False, needed=needed)
    for k in range(K):
        ids = found.words[k][found.there[k]]
        assert set(needed[k]) <= set(ids)
        assert len(set(ids)) == len(ids)
        assert (np.diff(phi[ids, k]) <= 0).all()


def test_words_of_many_are_chosen_without_copies_of_them():
    """Choosing words takes at most 24 bytes per word of the vocabulary.

    Red with: copies of a topic or of its scores (47 to 56 bytes), or an order of all words (32).
    """
    words, k = 400_000, 2
    rng = np.random.default_rng(1)
    phi = rng.random((words, k), np.float32)
    phi /= phi.sum(axis=0)
    counts = rng.integers(1, 9, words)
    totals, even = WordTotals(counts, counts), np.full(k, 1 / k)

    def first():
        return WordScorer(phi, k, DISTINCTIVE, 10 * words, totals).first_words(30)

    def chosen():
        return candidates(phi, even * words, counts)

    def shown():
        return words_shown(phi, even, counts, np.arange(9), 5_000, k, signed=False)

    for choose in (first, chosen, shown):
        tracemalloc.start()
        try:
            choose()
            assert tracemalloc.get_traced_memory()[1] < 24 * words, choose
        finally:
            tracemalloc.stop()
