"""When a topic is there, by its shares in slices of time."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.reading.intervals import bounds
from pysgrld.report import words_over_time as module
from pysgrld.report.words_over_time import Span, _bounds, occurrences_per_document, spans
from pysgrld.types import Documents


def spanned(mean, high=None, documents=None):
    mean = np.array([mean])
    high = mean + 0.001 if high is None else np.array([high])
    return spans(mean, high, documents or [10] * mean.shape[1])[0]


def test_a_topic_that_is_everywhere_neither_begins_nor_ends():
    assert spanned([0.1, 0.2, 0.1]) == Span(0, 2, False, False)


def test_a_topic_begins_where_it_surely_was_not_before():
    """Red with: the mean looked at where the upper end of the interval is meant."""
    assert spanned([0.001, 0.1, 0.2, 0.2]) == Span(1, 3, True, False)
    assert spanned([0.001, 0.1, 0.2, 0.2], [0.05, 0.2, 0.3, 0.3]) == Span(1, 3, False, False)


def test_a_topic_ends_where_it_surely_is_not_after():
    assert spanned([0.2, 0.1, 0.001]) == Span(0, 1, False, True)


def test_slices_without_documents_tell_nothing():
    """Red with: an empty slice before the first taken for absence."""
    assert spanned([0.0, 0.1, 0.2], documents=[0, 9, 9]) == Span(1, 2, False, False)


def results_of(rng, *, these=False, documents=9, words=6, topics=3):
    counts = rng.integers(0, 4, (documents, words))
    filled = counts > 0
    indptr = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    whole = Documents(
        indptr,
        np.nonzero(filled)[1].astype(np.int32),
        counts[filled].astype(np.int32),
        rng.integers(0, 2, documents).astype(np.int32),
    )
    phi = rng.dirichlet(np.ones(words), (2, topics))
    theta = rng.dirichlet(np.ones(topics), documents)
    return SimpleNamespace(
        these=these,
        mean={},
        fitted=SimpleNamespace(topics_by_slice=lambda draw: phi),
        training_corpus=lambda: SimpleNamespace(documents=documents, take=whole.take),
        proportions=lambda some, ids: theta[ids],
        parts=(counts, whole.slices, phi, theta),
    )


@pytest.mark.parametrize("block", [2, 1024])
def test_occurrences_of_a_word_are_counted_per_document_that_has_it(monkeypatch, block):
    """Red with: topics of another slice; the first block of documents alone; counts for entries."""
    monkeypatch.setattr(module, "_DOCUMENTS", block)
    results = results_of(np.random.default_rng(0))
    counts, slices, phi, theta = results.parts
    topics, words = np.array([2, 0]), np.array([[0, 5, 3], [4, 3, 1]])
    found = occurrences_per_document(results, topics, words)
    for i, k in enumerate(topics):
        for j, w in enumerate(words[i]):
            weight = phi[slices, :, w] * theta
            r = weight[:, k] / weight.sum(axis=1) * (counts[:, w] > 0)
            np.testing.assert_allclose(found[i, j], (counts[:, w] * r).sum() / r.sum(), rtol=1e-9)
    same = results_of(np.random.default_rng(0), these=True)
    assert (occurrences_per_document(same, topics, words) == 1).all()


def test_bounds_of_repeated_words_widen_by_what_documents_add_to_the_prior():
    """Red with: a factor that ignores the prior variance; narrower bounds; no logarithms."""
    logs = np.random.default_rng(1).normal(0.3, 0.1, (400, 1))
    low, high = bounds(logs)
    variance = logs.var(ddof=1)
    for repeated, prior, factor in (
        (1.0, 1e9, 1.0),
        (4.0, 1e9, 2.0),
        (4.0, 2 * variance, np.sqrt(2.0)),
        (4.0, variance / 2, 1.0),
    ):
        found = _bounds(logs, np.array([repeated]), prior)
        mean = logs.mean(axis=0)
        for end, wide in zip((low, high), found, strict=True):
            np.testing.assert_allclose(np.log(wide), mean + factor * (end - mean), rtol=1e-6)
