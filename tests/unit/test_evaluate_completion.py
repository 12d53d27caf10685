"""Document-completion perplexity: what is known exactly, and enumeration on tiny documents.

docs/internals/mathematics.md, "Document completion".
"""

import math

import numpy as np
import pytest
from oracles import tiny_lda
from oracles.completion import theta_hat
from oracles.judge import Z

from pysgrld.core import core, padded_width
from pysgrld.evaluate import Completion, HeldOut, pair_parts
from pysgrld.evaluate.held_out import split
from pysgrld.evaluate.score import pooled_score
from pysgrld.models.lda.reader import lda_readers
from pysgrld.types import Documents, Key

V, K = 12, 5


def corpus(documents=30, seed=0, words=V):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (documents, words))
    counts[:, 0] += 2
    where = np.nonzero(counts)
    return Documents(
        np.concatenate(([0], np.cumsum((counts > 0).sum(axis=1)))),
        where[1].astype(np.int32),
        counts[where].astype(np.int32),
    )


@pytest.fixture
def held_out():
    return split(corpus(), np.arange(30), 0.7, 1)


def topics(seed=0, v=V, k=K):
    rng = np.random.default_rng(seed)
    phi = np.zeros((v, padded_width(k)), np.float32)
    phi[:, :k] = rng.dirichlet(np.full(v, 0.3), k).T
    return np.maximum(phi, core.PHI_FLOOR * (np.arange(padded_width(k)) < k)).astype(np.float32)


def completion(held_out, k=K, alpha=0.2, threads=1):
    return Completion(held_out, lda_readers(k, alpha), threads)


def key(step=0):
    return Key(1, 0, step)


def test_uniform_topics_score_the_vocabulary_size_exactly(held_out):
    phi = np.zeros((V, 16), np.float32)
    phi[:, :K] = 1 / 8
    c = completion(held_out)
    # proportions are of fixed-point counts of float32 probabilities: not exactly normalised
    assert c.point(key(), {"phi": phi[c.words]}) == pytest.approx(8, rel=1e-6)


def test_one_topic_scores_its_cross_entropy(held_out):
    phi = topics(k=1)
    c = completion(held_out, k=1)
    scored = held_out.held_out
    logs = np.log(phi[scored.indices, 0].astype(float))
    expected = math.exp(-np.dot(scored.counts, logs) / scored.tokens)
    assert c.point(key(), {"phi": phi[c.words]}) == pytest.approx(expected, rel=1e-12)


def test_first_average_is_that_sample_s_own_score_of_the_same_chain(held_out):
    c = completion(held_out)
    assert c.update(key(), {"phi": topics()[c.words]}) == c.average()
    assert c.samples == 1


def test_average_of_probabilities_not_of_logs_nor_of_perplexities(held_out):
    """One topic: p(w) = phi_w, so the average of three samples is known.

    Red with: the mean of log p; documents pooled in place of tokens.
    """
    c = completion(held_out, k=1)
    samples = [topics(seed, k=1) for seed in range(3)]
    for phi in samples:
        got = c.update(key(), {"phi": phi[c.words]})
    scored = held_out.held_out
    p = np.mean([phi[scored.indices, 0].astype(float) for phi in samples], axis=0)
    expected = math.exp(-np.dot(scored.counts, np.log(p)) / scored.tokens)
    assert got == pytest.approx(expected, rel=1e-7)


def test_chains_are_pooled_as_probabilities_and_each_counts_the_same(held_out):
    """One topic, as above: the mean over chains of each one's mean, whatever their numbers of samples.

    Red with: samples that count the same, or a mean of logarithms.
    """
    chains = [[topics(seed, k=1) for seed in seeds] for seeds in ((0, 1, 2), (3,))]
    scorers = [completion(held_out, k=1) for _ in chains]
    for scorer, samples in zip(scorers, chains, strict=True):
        for step, phi in enumerate(samples):
            scorer.update(key(step), {"phi": phi[scorer.words]})
    scored = held_out.held_out
    p = np.mean(
        [
            np.mean([phi[scored.indices, 0].astype(float) for phi in samples], axis=0)
            for samples in chains
        ],
        axis=0,
    )
    expected = math.exp(-(scored.counts @ np.log(p)) / scored.tokens)
    assert pooled_score(scorers) == pytest.approx(expected, rel=1e-6)
    assert pooled_score(scorers[:1]) == scorers[0].average()


def test_averaging_identical_samples_changes_nothing(held_out):
    c = completion(held_out, k=1)
    phi = topics(k=1)
    first = c.update(key(0), {"phi": phi[c.words]})
    for t in range(1, 5):
        assert c.update(key(t), {"phi": phi[c.words]}) == pytest.approx(first, rel=1e-12)


def test_averaged_perplexity_is_at_most_the_geometric_mean_of_point_perplexities(held_out):
    c = completion(held_out, k=1)
    samples = [topics(seed, k=1) for seed in range(6)]
    points = [c.point(key(), {"phi": phi[c.words]}) for phi in samples]
    for phi in samples:
        averaged = c.update(key(), {"phi": phi[c.words]})
    assert averaged < math.exp(np.mean(np.log(points)))


def test_point_does_not_touch_the_average(held_out):
    c = completion(held_out)
    c.update(key(), {"phi": topics()[c.words]})
    before = {name: a.copy() for name, a in c.arrays().items()}
    c.point(key(1), {"phi": topics(1)[c.words]})
    assert all(np.array_equal(before[name], a) for name, a in c.arrays().items())


def test_average_before_the_first_sample_is_nan(held_out):
    assert math.isnan(completion(held_out).average())


def test_duplicating_every_held_out_token_changes_nothing(held_out):
    once = held_out.held_out
    twice = Documents(once.indptr, once.indices, once.counts * 2)
    a, b = completion(held_out), completion(held_out._replace(held_out=twice))
    phi = topics()[a.words]
    assert b.point(key(), {"phi": phi}) == pytest.approx(a.point(key(), {"phi": phi}), rel=1e-13)


def test_held_out_tokens_do_not_influence_the_proportions(held_out):
    """The score of a word is the same whatever else is held out beside it."""
    scored = held_out.held_out
    only = Documents(np.arange(31), scored.indices[scored.indptr[:-1]], np.ones(30, np.int32))
    phi = topics()
    a, b = completion(held_out), completion(held_out._replace(held_out=only))
    a.update(key(), {"phi": phi[a.words]})
    b.update(key(), {"phi": phi[b.words]})
    assert a.arrays()["mean"][scored.indptr[:-1]].tolist() == b.arrays()["mean"].tolist()


def test_permuting_documents_permutes_the_probabilities(held_out):
    def shuffled(d, order):
        pieces = [slice(d.indptr[i], d.indptr[i + 1]) for i in order]
        return Documents(
            np.cumsum([0] + [s.stop - s.start for s in pieces]),
            np.concatenate([d.indices[s] for s in pieces]),
            np.concatenate([d.counts[s] for s in pieces]),
        )

    order = np.random.default_rng(4).permutation(30)
    other = HeldOut(
        shuffled(held_out.observed, order),
        shuffled(held_out.held_out, order),
        held_out.doc_ids[order],
        0,
    )
    a, b = completion(held_out), completion(other)
    phi = topics()[a.words]
    assert b.update(key(), {"phi": phi}) == pytest.approx(a.update(key(), {"phi": phi}), rel=1e-13)
    assert sorted(a.arrays()["mean"]) == sorted(b.arrays()["mean"])


def test_permuting_topics_moves_the_score_by_sampling_noise_only(held_out):
    """Other topics order, other draws: point perplexities of 12 keys agree in their mean."""
    c = completion(held_out)
    phi = topics()
    other = phi.copy()
    other[:, :K] = phi[:, [3, 0, 4, 1, 2]]
    a = np.array([c.point(key(t), {"phi": phi[c.words]}) for t in range(12)])
    b = np.array([c.point(key(t), {"phi": other[c.words]}) for t in range(12, 24)])
    assert abs(a.mean() - b.mean()) < Z * math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 12)


@pytest.mark.parametrize("threads", [2, 7])
def test_threads_do_not_change_the_score(held_out, threads):
    one, more = completion(held_out), completion(held_out, threads=threads)
    for t in range(3):
        phi = topics(t)[one.words]
        assert one.update(key(t), {"phi": phi}) == more.update(key(t), {"phi": phi})
        assert one.point(key(t), {"phi": phi}) == more.point(key(t), {"phi": phi})


def test_restored_average_goes_on_exactly(held_out):
    whole, first, second = (completion(held_out) for _ in range(3))
    for t in range(6):
        expected = whole.update(key(t), {"phi": topics(t)[whole.words]})
    for t in range(3):
        first.update(key(t), {"phi": topics(t)[first.words]})
    second.restore({name: a.copy() for name, a in first.arrays().items()})
    for t in range(3, 6):
        got = second.update(key(t), {"phi": topics(t)[second.words]})
    assert got == expected


def test_unigram_is_smoothed_word_frequencies(held_out):
    counts = np.arange(V)
    q = (counts + 0.01) / (counts.sum() + 0.01 * V)
    scored = held_out.held_out
    expected = math.exp(-np.dot(scored.counts, np.log(q[scored.indices])) / scored.tokens)
    assert completion(held_out).unigram(counts) == pytest.approx(expected, rel=1e-12)


def test_words_are_the_sorted_union_of_both_parts():
    def one(*words):
        return Documents(
            np.array([0, len(words)]), np.array(words, np.int32), np.ones(len(words), np.int32)
        )

    assert completion(pair_parts(one(2, 9), one(0, 9))).words.tolist() == [0, 2, 9]


def test_word_in_no_topic_scores_the_floor_and_stays_finite(held_out):
    phi = topics()
    phi[3, :K] = core.PHI_FLOOR
    c = completion(held_out)
    assert math.isfinite(c.point(key(), {"phi": phi[c.words]}))


@pytest.mark.parametrize("average", ["update", "point"])
def test_proportions_are_those_of_enumeration_with_burn_in_left_out(average):
    """20,000 copies of a document of three tokens against K^3 assignments.

    Red with: alpha + 0.05; K alpha left out of the denominator; a token not removed; for the
    average, the first sweeps collected in place of the last; words of the held-out part observed.
    """
    copies, k = 20_000, 3
    phi = np.zeros((4, 16), np.float32)
    phi[:, :k] = np.array([[0.7, 0.05, 0.1], [0.1, 0.6, 0.1], [0.1, 0.3, 0.1], [0.1, 0.05, 0.7]])
    observed = Documents(
        2 * np.arange(copies + 1),
        np.tile(np.array([0, 1], np.int32), copies),
        np.tile(np.array([2, 1], np.int32), copies),
    )
    scored = Documents(
        4 * np.arange(copies + 1),
        np.tile(np.arange(4, dtype=np.int32), copies),
        np.ones(4 * copies, np.int32),
    )
    c = completion(pair_parts(observed, scored), k=k, alpha=0.2)
    expected = phi[:, :k].astype(float) @ theta_hat(phi[:, :k].astype(float), [0, 0, 1], 0.2)
    if average == "update":
        c.update(key(), {"phi": phi})
        p = c.arrays()["mean"].reshape(copies, 4)
        z = (p.mean(axis=0) - expected) / (p.std(axis=0) / math.sqrt(copies))
        assert np.abs(z).max() < Z
    else:
        # the pooled score is a Jensen gap away from that of the mean: small for 25 kept sweeps
        assert c.point(key(), {"phi": phi}) == pytest.approx(
            math.exp(-np.log(expected).mean()), rel=0.01
        )


def test_perplexity_pools_tokens_of_the_tiny_posterior():
    exact = tiny_lda.enumerate_posterior()
    p = np.array([exact["predictive"][d, w] for d, w in tiny_lda.HELD_OUT])
    scored = Documents(
        np.array([0, 1, 2, 4]), np.array([2, 1, 0, 2], np.int32), np.ones(4, np.int32)
    )
    c = completion(HeldOut(scored, scored, np.arange(3), 0), k=2, alpha=0.3)
    c.restore({"mean": p, "z": np.zeros(4, np.int32), "samples": np.array([1])})
    assert c.average() == pytest.approx(3.6061650477356304, rel=1e-12)
