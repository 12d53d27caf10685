"""Topics that change over time: word probabilities and topic presence in each slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.models.word_order import top_words
from pysgrld.reading.intervals import ENOUGH, bounds
from pysgrld.reading.results import Results
from pysgrld.types import Doubles, Floats, Int64s

#: Maximum number of drawn values in memory, which sets how many topics are processed in one block.
_VALUES = 8_000_000


class WordsOverTime(NamedTuple):
    """Probabilities of the given topics' words in every time slice.

    Attributes
    ----------
    words : (K, n) int64
        Ids of the words of each topic with the greatest probability in any slice, sorted by it.
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
    """Compute probabilities of topics' words in each time slice, over the stored samples.

    Parameters
    ----------
    results : Results
        Results of a model with topics that change over time.
    topics : (K,) int64
    most : int
        Maximum of n, the number of words of each topic.
    """
    fitted, slices = results.fitted, len(results.fitted.slices)
    phi = fitted.in_slices(fitted.mean or fitted.current)[:, topics]  # (T, K, V)
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
    size = max(1, _VALUES // (len(steps) * n * slices))
    for begin in range(0, len(topics), size):
        block = slice(begin, begin + size)
        drawn = np.stack([_looked_up(results, step, topics[block], order[block]) for step in steps])
        low[block], high[block] = bounds(drawn)
        ends[:, block] = bounds(drawn[:, :, :, -1] / drawn[:, :, :, 0])
    return series._replace(low=low, high=high, change_low=ends[0], change_high=ends[1])


def _looked_up(results: Results, step: int, topics: Int64s, words: Int64s) -> Floats:
    """Return a sample's probabilities of topics' words in all time slices, (K, n, T)."""
    sample = results.read_sample(step)
    phi = results.fitted.in_slices(results.fitted.draw_of(sample))  # (T, K, V)
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
    phi = fitted.in_slices(fitted.mean or fitted.current)[:, topics]
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


#: Minimum fraction of its greatest share at which a topic is present in a slice.
THERE = 0.1


def spans(mean: Doubles, high: Doubles, documents: Sequence[int]) -> list[Span]:
    """Return the range of slices in which each topic is present, given its shares in slices.

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
