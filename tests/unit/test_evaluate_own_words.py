"""Perplexity with the words that a document has already."""

import numpy as np
import pytest

from pysgrld.evaluate import own_words
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.types import Documents

WORDS = 50


def as_documents(counts):
    rows, words = np.nonzero(counts)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
    return Documents(indptr, words.astype(np.int32), counts[rows, words].astype(np.int32))


def dense(documents):
    counts = np.zeros((len(documents), WORDS))
    rows = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
    counts[rows, documents.indices] = documents.counts
    return counts


def corpus(strength, documents=200, seed=0):
    """Return split documents of a Dirichlet compound multinomial, and the logs of its mean."""
    rng = np.random.default_rng(seed)
    mean = rng.dirichlet(np.full(WORDS, 0.5))
    own = rng.dirichlet(strength * mean, documents) if strength else np.tile(mean, (documents, 1))
    parts = [np.array([rng.multinomial(n, p) for p in own]) for n in (40, 10)]
    observed, scored = map(as_documents, parts)
    return HeldOut(observed, scored, np.arange(documents), 0), np.log(mean[scored.indices])


def plain(held_out, logs):
    return np.exp(-(held_out.held_out.counts @ logs) / held_out.held_out.tokens)


def test_bursty_documents_are_predicted_by_their_own_words():
    """Made with s = 20. Red with: counts of another document's words; n_w without s."""
    held_out, logs = corpus(20.0)
    score = own_words.own_words_perplexity(held_out, logs)
    assert 15 < score.strength < 27
    assert score.perplexity < 0.8 * plain(held_out, logs)
    assert 0 < score.perplexity.error < 1


def test_independent_words_leave_the_plain_perplexity():
    """Red with: the greatest strength 100."""
    held_out, logs = corpus(None)
    assert own_words.own_words_perplexity(held_out, logs).perplexity == pytest.approx(
        plain(held_out, logs), rel=0.01
    )


def test_no_document_chooses_the_strength_that_it_is_scored_with():
    """Dense arithmetic document by document. Red with: the strength of a document's own half."""
    held_out, logs = corpus(20.0)
    observed, scored = (dense(part) for part in held_out[:2])
    p = np.ones(WORDS)  # of words that are not scored
    p[held_out.held_out.indices] = np.exp(logs)

    def score(rows, strength):
        total = strength + observed[rows].sum(axis=1, keepdims=True)
        return (scored[rows] * np.log((strength * p + observed[rows]) / total)).sum(axis=1)

    odd, even = np.arange(1, 200, 2), np.arange(0, 200, 2)
    best = max(own_words._STRENGTHS, key=lambda strength: score(odd, strength).sum())
    of_documents, _ = own_words.own_words_perplexity(held_out, logs).perplexity.ratio
    np.testing.assert_allclose(of_documents[0::2], score(even, best))
    assert best != max(own_words._STRENGTHS, key=lambda strength: score(even, strength).sum())


def test_few_documents_have_no_score_of_own_words():
    """Red with: `FEWEST` 2, whose halves learn nothing."""
    held_out, logs = corpus(20.0, documents=19)
    assert own_words.own_words_perplexity(held_out, logs) is None
