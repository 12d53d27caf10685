"""Topics that change over time: word probabilities and presence of each topic in time slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.models.word_order import top_words
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import looked_at
from pysgrld.types import Array, Doubles, Floats, Int64s

#: `occurrences_per_document` processes this number of documents at a time.
_DOCUMENTS = 1024
#: Minimum probability. Smaller probabilities are replaced by it, because 0 has no logarithm.
_TINY = 1e-30
#: Maximum number of sampled probabilities in memory. Topics are processed in blocks, so that a
#: block has at most this number of values.
_VALUES = 8_000_000


class WordsOverTime(NamedTuple):
    """Probabilities of the given topics' words in every time slice.

    Attributes
    ----------
    words : (K, n) int64
        Ids of the words with the greatest probability of each topic in any slice, by decreasing
        probability.
    mean, low, high : (K, n, T) float64
        Probability in the topic, and the bounds of the 90 % interval; NaN if samples are too few.
    change, change_low, change_high : (K, n) float64
        Ratio of a word's probability in the last slice to that in the first, and its 90 % interval.
    """

    words: Int64s
    mean: Doubles
    low: Doubles
    high: Doubles
    change: Doubles
    change_low: Doubles
    change_high: Doubles


def words_over_time(results: Results, topics: Int64s, most: int) -> WordsOverTime:
    """Compute each topic's word probabilities by time slice: posterior means and intervals.

    Intervals for other texts like these documents are wider than posterior intervals: if a word
    occurs D times in a document, the D occurrences count as one observation, so that the part of a
    logarithm's variance that comes from the documents is D times as large. That part is 1 - v / v0,
    where v is the posterior variance and v0 the prior variance: drift^2 for each step of a change,
    and in addition spread^2 for a probability.

    Parameters
    ----------
    results : Results
        Results of a model with topics that change over time.
    topics : (K,) int64
    most : int
        Maximum of n, the number of words of each topic.
    """
    fitted, slices = results.fitted, len(results.fitted.slices)
    # `phi` has the shape (T, K, V): time slices, topics, words.
    phi = fitted.topics_by_slice(fitted.mean or fitted.current)[:, topics]
    n = min(most, phi.shape[2])
    peak = phi.max(axis=0)
    order = np.argsort(-peak, axis=1, kind="stable")[:, :n]
    mean = np.moveaxis(np.take_along_axis(phi, order[None], axis=2), 0, 2).astype(np.float64)
    nothing = np.full(mean.shape, np.nan)
    change = mean[:, :, -1] / mean[:, :, 0]
    series = WordsOverTime(
        order, mean, nothing, nothing, change, nothing[:, :, 0], nothing[:, :, 0]
    )
    steps = results.kept() if fitted.draws else []
    if len(steps) < ENOUGH:
        return series
    low, high, ends = nothing.copy(), nothing.copy(), np.full((2, len(topics), n), np.nan)
    repeated = occurrences_per_document(results, topics, order)
    prior = fitted.slice_variances()
    size = max(1, _VALUES // (len(steps) * n * slices))
    for begin in range(0, len(topics), size):
        block = slice(begin, begin + size)
        drawn = np.stack([_looked_up(results, step, topics[block], order[block]) for step in steps])
        logs = np.log(np.maximum(drawn, _TINY).astype(np.float64))
        low[block], high[block] = _bounds(logs, repeated[block, :, None], prior)
        ends[:, block] = _bounds(
            logs[..., -1] - logs[..., 0], repeated[block], prior[-1] - prior[0]
        )
    return series._replace(low=low, high=high, change_low=ends[0], change_high=ends[1])


def _bounds(logs: Doubles, repeated: Doubles, prior: Array | float) -> tuple[Doubles, Doubles]:
    """Return the bounds of intervals for values, given S draws of the logarithms of these values.

    Parameters
    ----------
    logs : (S, ...) float64
    repeated : (...) float64
        Numbers of occurrences that count as one observation (`occurrences_per_document`).
    prior : (...) or float
        Prior variances of the logarithms.
    """
    mean, of_prior = logs.mean(axis=0), np.minimum(1.0, logs.var(axis=0, ddof=1) / prior)
    factors = np.sqrt(np.maximum(1.0, repeated * (1.0 - of_prior)))
    low, high = (np.exp(mean + factors * (end - mean)) for end in bounds(logs))
    return low, high


def occurrences_per_document(results: Results, topics: Int64s, words: Int64s) -> Doubles:
    """Return each word's mean count in the documents that use the word with the given topic.

    Parameters
    ----------
    results : Results
        Results of a model with topics that change over time.
    topics : (K,) int64
    words : (K, n) int64
        Ids of words of each topic.

    Returns
    -------
    (K, n) float64
        sum c r / sum r over documents, where c is the number of occurrences in a document and r the
        probability that they have the topic. 1 if intervals are for these documents alone, or if the
        training corpus is missing.
    """
    corpus = results.training_corpus()
    if results.these or corpus is None:
        return np.ones(words.shape)
    phi = results.fitted.topics_by_slice(results.mean)
    needed, place = np.unique(words), np.full(phi.shape[2], -1)
    place[needed] = np.arange(len(needed))
    occurrences, documents_with = np.zeros((2, len(needed), len(topics)))
    rows = looked_at(corpus)
    for begin in range(0, len(rows), _DOCUMENTS):
        ids = rows[begin : begin + _DOCUMENTS]
        documents = corpus.take(ids)
        assert documents.slices is not None
        theta = results.proportions(documents, ids)
        of_document = np.repeat(np.arange(len(ids)), np.diff(documents.indptr))
        shown = np.flatnonzero(place[documents.indices] >= 0)
        word, of_document = documents.indices[shown], of_document[shown]
        r = phi[documents.slices[of_document], :, word] * theta[of_document]
        r = r[:, topics] / np.maximum(r.sum(axis=1, keepdims=True), _TINY)
        np.add.at(occurrences, place[word], r * documents.counts[shown, None])
        np.add.at(documents_with, place[word], r)
    ratio = np.divide(
        occurrences, documents_with, out=np.ones_like(occurrences), where=documents_with > 0
    )
    of_topics: Doubles = ratio[place[words], np.arange(len(topics))[:, None]]
    return of_topics


def _looked_up(results: Results, step: int, topics: Int64s, words: Int64s) -> Floats:
    """Look up the probabilities of each topic's words in all slices of a sample, (K, n, T)."""
    sample = results.read_sample(step)
    # `phi` has the shape (T, K, V): time slices, topics, words.
    phi = results.fitted.topics_by_slice(results.fitted.sample_to_draw(sample))
    rows: Floats = np.moveaxis(phi[:, topics[:, None], words], 0, 2)
    return rows


def top_by_slice(results: Results, topics: Int64s, n: int) -> Int64s:
    """Return the ids of each topic's n most probable words in each slice, (K, T, n).

    Parameters
    ----------
    results : Results
        Results of a model with topics that change over time.
    topics : (K,) int64
    n : int
        Number of words of each topic, at most the size of the vocabulary.
    """
    fitted = results.fitted
    phi = fitted.topics_by_slice(fitted.mean or fitted.current)[:, topics]
    return np.stack([top_words(slice_of.T, n) for slice_of in phi], axis=1)


class Span(NamedTuple):
    """The range of time slices in which a topic is present.

    Attributes
    ----------
    first, last : int
        The first and the last slice in which the topic is present.
    begins, ends : bool
        Whether the topic is surely absent in at least one slice before, or after, this range.
    """

    first: int
    last: int
    begins: bool
    ends: bool


#: A topic is present in a slice if its share is at least this fraction of its greatest share.
THERE = 0.1


def spans(mean: Doubles, high: Doubles, documents: Sequence[int]) -> list[Span]:
    """Return the range of slices in which each topic is present, given its share in each slice.

    In slices that have documents, a topic is present if its share is at least a tenth of its
    greatest share, and surely absent if the upper bound of the interval is below that.

    Parameters
    ----------
    mean, high : (K, T) float64
    documents : sequence of int
        Number of documents in each slice.
    """
    has, intervals = np.array(documents) > 0, []
    for share, upper in zip(mean, high, strict=True):
        least = THERE * share[has].max(initial=0.0)
        places = np.flatnonzero(has & (share >= least))
        first, last = (int(places[0]), int(places[-1])) if len(places) else (0, len(share) - 1)
        gone = has & (upper < least)
        intervals.append(Span(first, last, bool(gone[:first].any()), bool(gone[last + 1 :].any())))
    return intervals
