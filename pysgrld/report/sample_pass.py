"""One pass over the kept samples of a run's chains, and words that are followed through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import MissingInputError
from pysgrld.models.samples import looked_up
from pysgrld.reading.intervals import Interval, interval
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.types import Array, Doubles, Floats, Int64s

Bools = npt.NDArray[np.bool_]

#: Words that are a topic's face: how many of them stay is counted.
TEN = 10


@dataclass(frozen=True)
class KeptSample:
    """A kept sample of a chain, full or with the most probable words of each topic alone.

    Attributes
    ----------
    chain : int
        Position of the chain among the chains that are read.
    results : Results
    at : int
        The layer that is meant, counted from 0.
    step : int
        Its iteration.
    matrices : dict of str to array
        As they are stored, a row for each topic.
    top_words : bool
        Whether it is a top-word sample: ids in ``words``, probabilities in ``phi``.
    """

    chain: int
    results: Results
    at: int
    step: int
    matrices: Mapping[str, Array]
    top_words: bool

    @cached_property
    def phi(self) -> Floats:
        """The topics of the layer over the words, (K, V), of a full sample."""
        return self.results.fitted.rows_of(self.matrices, self.at)

    def look_up(
        self, rows: Int64s, words: Int64s, is_present: Bools
    ) -> tuple[Floats, Bools, Bools]:
        """Look up some words of some topics.

        Parameters
        ----------
        rows : (n,) int64
            The topics.
        words : (n, m) int64
            Ids of words that are likely to be probable, at least min(10, V) of each topic.
        is_present : (n, m) bool
            Which of them are not repetitions.

        Returns
        -------
        values : (n, m) float32
            Probabilities.
        censored : (n, m) bool
            Whether the sample lacks the word, which has at most that probability.
        among : (n, m) bool
            Whether the word is among the ten most probable of the topic.
        """
        if self.top_words:
            sample = {name: part[rows] for name, part in self.matrices.items()}
            values, censored = looked_up(sample, words)
            last = min(TEN, sample["phi"].shape[1]) - 1
            return values, censored, (values >= sample["phi"][:, [last]]) & ~censored
        values = self.phi[rows[:, None], words]
        among = values >= tenth(self.phi, rows, values, is_present)[:, None]
        return values, np.zeros(words.shape, bool), among


#: Called with each kept sample: the samples of the first chain in their order, then of the others.
SampleVisitor = Callable[[KeptSample], None]


def read_samples(
    sources: Sequence[ChainOfTopics], layer: int, visitors: Sequence[SampleVisitor]
) -> None:
    """Show the kept samples of some chains to all visitors, in one pass.

    Full samples are read, or top-word samples if the run keeps more of these. A sample that is dropped
    during the pass is left out.
    """
    if not visitors:
        return
    for chain, (results, _) in enumerate(sources):
        steps, top_words = results.word_steps(layer)
        for step in steps:
            try:
                matrices = results.read_slim(step) if top_words else results.topic_sample(step)
            except MissingInputError:
                continue
            sample = KeptSample(chain, results, layer, step, matrices, top_words)
            for visitor in visitors:
                visitor(sample)


def tenth(phi: Floats, rows: Int64s, values: Floats, is_present: Bools) -> Floats:
    """Return the tenth greatest value of some rows of ``phi``, (n,).

    If no other word is above the tenth of the given words, that one is the result after a single
    comparison; only other rows are partitioned.

    Parameters
    ----------
    phi : (K, V)
    rows : (n,) int64
    values : (n, m)
        Entries of these rows that are likely to be great, at least min(10, V) of each row.
    is_present : (n, m) bool
        Which of them are not repetitions.
    """
    place = min(TEN, phi.shape[1]) - 1
    present_values = np.where(is_present, values, -np.inf)
    tenth_values: Floats = -np.partition(-present_values, place, axis=1)[:, place]
    above = (present_values > tenth_values[:, None]).sum(axis=1)
    for i, row in enumerate(rows):
        if np.count_nonzero(phi[row] > tenth_values[i]) != above[i]:
            tenth_values[i] = -np.partition(-phi[row], place)[place]
    return tenth_values.astype(phi.dtype)


# ---- words that are followed


class Followed(NamedTuple):
    """Some words of each topic over the draws.

    Attributes
    ----------
    interval : Interval or None
        None with too few draws.
    ten : (K, n) float64
        Share of the draws in which a word is among the ten most probable.
    draws : int
        Draws of the first chain; 0 without intervals.
    pooled : int
        Draws of all chains together.
    """

    interval: Interval | None
    ten: Doubles
    draws: int
    pooled: int


def followed(
    sources: Sequence[ChainOfTopics],
    words: Int64s,
    is_present: Bools,
    layer: int,
    visitors: Sequence[SampleVisitor] = (),
) -> Followed:
    """Follow words of each topic, (K, n), over the samples of some chains; ``is_present``: not repeated.

    Other visitors are shown the samples in the same pass.
    """
    none = Followed(None, np.zeros(words.shape), 0, 0)
    if sources[0].results.fitted.no_mean:
        read_samples(sources, layer, visitors)
        return none
    drawn = _FollowedWords(sources, words, is_present)
    read_samples(sources, layer, [drawn.add, *visitors])
    exact = all(s.results.fitted.exact is not None for s in sources)
    has = np.stack([source.rows >= 0 for source in sources])
    intervals = interval(drawn.values, has, exact=exact)
    if intervals is None:
        return none
    draws = np.array([len(values) for values in drawn.values])
    among = np.sum(drawn.among, axis=0) / (draws @ has)[:, None]
    return Followed(intervals, is_present * among, int(draws[0]), int(draws.sum()))


class _FollowedWords:
    """Some words of each topic in every sample of some chains.

    Attributes
    ----------
    values : list of list of (values, censored)
        For each chain a pair for each sample, (K, n) both; rows of topics that it lacks are undefined.
    among : list of (K, n) float64
        Of each chain, how many samples have the word among the ten most probable.
    """

    def __init__(self, sources: Sequence[ChainOfTopics], words: Int64s, is_present: Bools) -> None:
        self._rows, self._words, self._there = [s.rows for s in sources], words, is_present
        self.values: list[list[tuple[Floats, Bools]]] = [[] for _ in sources]
        self.among = [np.zeros(words.shape) for _ in sources]

    def add(self, sample: KeptSample) -> None:
        rows = self._rows[sample.chain]
        used = np.flatnonzero(rows >= 0)
        looked_up = sample.look_up(rows[used], self._words[used], self._there[used])
        values, censored = (
            np.zeros(self._words.shape, np.float32),
            np.zeros(self._words.shape, bool),
        )
        values[used], censored[used] = looked_up[:2]
        self.among[sample.chain][used] += looked_up[2]
        self.values[sample.chain].append((values, censored))
