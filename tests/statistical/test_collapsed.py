"""Collapsed Gibbs: the enumerated posterior, and the joint law of tokens and topics.

docs/internals/mathematics.md, "Nine tokens" and "Joint laws".
"""

import numpy as np
import pytest
from oracles import tiny_lda
from oracles.judge import Z, z_mean, z_two
from oracles.tiny_lda import ALPHA, DOCUMENTS, ETA, HELD_OUT
from scipy.special import digamma
from statistical.test_geweke import LENGTHS, forward, words
from statistical.test_tiny_lda import EXACT, FIXTURES, predictive
from trial_counts import counts

from pysgrld.core import core
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.types import Block, Documents, Key, Minibatch

pytestmark = pytest.mark.statistical


class Tokens:
    """One corpus; every token is an entry of its own document's, in the order that it has."""

    def __init__(self, lengths, k=2, v=4, alpha=ALPHA, eta=ETA):
        self.lengths = lengths
        block = Block("phi", "simplex", (v, k), eta, 0, 0.0)
        self.sampler = CollapsedDocuments(block=block, alpha=alpha, sweeps=1, threads=1)
        self.v = v

    def sweep(self, key, words, z, sweeps=1):
        """Topics after some sweeps from ``z``, and the counts (V, K) that come with them."""
        indptr = np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int64)
        documents = Documents(indptr, words.astype(np.int32), np.ones(len(words), np.int32))
        self.sampler.sweeps = sweeps
        self.sampler.keep(documents)
        self.sampler.z[:] = z
        rows, ids = np.arange(self.v, dtype=np.int32), np.arange(len(self.lengths))
        entries = (documents.indptr, documents.indices, documents.counts)
        batch = Minibatch(*entries, rows, ids, 1.0)
        counts = self.sampler.visit(key, {}, batch)["phi"].counts
        return self.sampler.z, counts[:, : self.sampler.topics]


@counts(200, 1000)
def test_the_posterior_is_the_enumerated_one(n):
    """Red with: a token that is not removed from its word's, its document's or its topic's count
    before it is drawn; eta for V eta in the denominator; alpha and eta exchanged.
    """
    lengths = [len(d) for d in DOCUMENTS]
    tokens, chains, iterations, burn_in = Tokens(lengths), 60 if n == 200 else 100, n, 20
    total = {}
    for chain in range(chains):
        z = np.full(9, -1)
        kept = []
        for t in range(iterations):
            z, _ = tokens.sweep(Key(1, chain, t), tiny_lda.WORD, z)
            kept.append(z)
        kept = np.array(kept[burn_in:])
        found = dict(tiny_lda.coassigned(kept)) | {"predictive": predictive(kept)}
        for name, value in found.items():
            total.setdefault(name, []).append(np.mean(value, axis=0))
    means = {name: np.array(value) for name, value in total.items()}
    worst = {}
    for name, value in means.items():
        columns, exact = value.reshape(chains, -1), np.ravel(EXACT[name])
        worst[name] = max(abs(z_mean(c, e)) for c, e in zip(columns.T, exact, strict=True))
    assert max(worst.values()) < Z, worst
    p = means["predictive"].mean(axis=0)
    perplexity = np.exp(-np.mean([np.log(p[d, w]) for d, w in HELD_OUT]))
    assert perplexity == pytest.approx(FIXTURES["perplexity"], rel=0.004 if n == 1000 else 0.01)


@pytest.mark.nightly
def test_tokens_given_topics_and_topics_given_tokens_keep_the_joint_distribution():
    """By day the test above: the posterior of the same sweeps, enumerated.

    Red with: alpha doubled; eta 0.6 for 0.7; the last token's increment lost.
    """
    tokens, copies, iterations = Tokens(LENGTHS), 250, 200
    rng = np.random.default_rng(3)
    _, z, x = forward(rng, copies)
    found = np.zeros((copies, 5))
    for t in range(iterations):
        z = np.array([tokens.sweep(Key(1, i, t), x[i], z[i])[0].copy() for i in range(copies)])
        x = words(rng, rng.dirichlet(np.full(4, 0.7), (copies, 2)), z)
        found += functions(z, x).T / iterations
    _, z, x = forward(np.random.default_rng(4), 100_000)
    prior = functions(z, x)
    worst = [z_two(found[:, i], prior[i].astype(float)) for i in range(len(prior))]
    assert max(map(abs, worst)) < Z, worst


def functions(z, x):
    """Label-free functions of topics and words, (5, n).

    The likeness of two tokens, and the derivatives of the joint law by eta and by alpha, which see a
    wrong one best.
    """
    i, j = np.triu_indices(z.shape[1], 1)
    topic, word = z[:, i] == z[:, j], x[:, i] == x[:, j]
    topics = np.eye(2)[z]
    of_words = np.einsum("ntk,ntv->nkv", topics, np.eye(4)[x])
    of_documents = np.add.reduceat(topics, np.cumsum([0, *LENGTHS[:-1]]), axis=1)
    slopes = [digamma(counts + prior) for counts, prior in ((of_words, ETA), (of_documents, ALPHA))]
    slopes[0] -= digamma(of_words.sum(axis=2, keepdims=True) + 4 * ETA)
    same = (likeness.mean(axis=1) for likeness in (topic, word, topic & word))
    return np.array([*same, *(slope.sum(axis=(1, 2)) for slope in slopes)])


@pytest.mark.parametrize("k", [3, 16, 40, 130])
def test_counts_are_those_of_the_topics(k):
    """Every width of the kernel, words that repeat, several sweeps and 70 tokens a document.

    Red with: the increment of the last token of a word left pending; of a document, taken along into
    the next one.
    """
    rng = np.random.default_rng(k)
    lengths = [70, 1, 130]
    x = np.concatenate([np.sort(rng.integers(0, 30, n)) for n in lengths])
    tokens = Tokens(lengths, k, 30, 0.1, 0.05)
    z = np.full(201, -1)
    for t in range(3):
        z, counts = tokens.sweep(Key(1, 0, t), x, z, sweeps=2)
        expected = np.zeros((30, k), np.int64)
        np.add.at(expected, (x, z), 1)
        assert (z >= 0).all()
        np.testing.assert_array_equal(counts, expected)


def test_many_topics_without_data_are_drawn_evenly():
    """Documents of one token each, all words distinct: every topic is as likely, but for the rich.

    Red with: the last topic of a padded row never drawn; a pad drawn.
    """
    k = 19
    tokens = Tokens([1] * 4000, k, 4000, 5.0, 1e6)
    z, _ = tokens.sweep(Key(1, 0, 0), np.arange(4000), np.full(4000, -1))
    counts = np.bincount(z, minlength=k)
    assert len(counts) == k
    assert ((counts - 4000 / k) ** 2 / (4000 / k)).sum() < 50


def test_instruction_sets_give_identical_topics(isa):
    rng = np.random.default_rng(1)
    tokens = Tokens([50] * 4, 20, 30, 0.1, 0.05)
    x = rng.integers(0, 30, 200)
    z, _ = tokens.sweep(Key(1, 0, 0), x, np.full(200, -1), sweeps=5)
    core.use_isa("baseline")
    plain, _ = tokens.sweep(Key(1, 0, 0), x, np.full(200, -1), sweeps=5)
    np.testing.assert_array_equal(z, plain)
