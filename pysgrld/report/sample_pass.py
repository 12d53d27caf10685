"""One pass over the stored samples of a run's chains, and statistics of words from this pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.errors import MissingInputError
from pysgrld.models.samples import look_up_words
from pysgrld.reading.compare_chains import Visit
from pysgrld.reading.intervals import Interval, interval
from pysgrld.reading.results import ChainOfTopics, Results
from pysgrld.types import Array, Doubles, Floats, Int64s

Bools = npt.NDArray[np.bool_]

#: Number of top words of a topic. Statistics count the draws in which a word is a top word.
TEN = 10


@dataclass(frozen=True)
class KeptSample:
    """A stored sample of a chain: a full sample, or only each topic's most probable words.

    Attributes
    ----------
    chain : int
        Position of the chain among the chains that are read.
    results : Results
    at : int
        The layer to read, counted from 0.
    step : int
        Iteration of the sample.
    matrices : dict of str to array
        Matrices of the sample as they are stored, with a row for each topic.
    top_words : bool
        Whether it is a top-word sample, which has ids in ``words`` and probabilities in ``phi``.
    """

    chain: int
    results: Results
    at: int
    step: int
    matrices: Mapping[str, Array]
    top_words: bool

    @cached_property
    def phi(self) -> Floats:
        """The word probabilities of the layer's topics, (K, V), which only full samples have."""
        return self.results.fitted.topics_of_sample(self.matrices, self.at)

    def look_up(
        self, rows: Int64s, words: Int64s, is_present: Bools
    ) -> tuple[Floats, Bools, Bools]:
        """Look up the probabilities of the given words in the given topics.

        Parameters
        ----------
        rows : (n,) int64
            The topics.
        words : (n, m) int64
            Ids of words of each topic, likely including its most probable words: at least min(10,
            V) different ids.
        is_present : (n, m) bool
            False for entries of ``words`` that only fill up a row by repetition.

        Returns
        -------
        values : (n, m) float32
            Probabilities.
        censored : (n, m) bool
            Whether the sample lacks the word; its probability is then at most the value.
        among : (n, m) bool
            Whether the word is among the ten most probable of the topic.
        """
        if self.top_words:
            sample = {name: part[rows] for name, part in self.matrices.items()}
            values, censored = look_up_words(sample, words)
            last = min(TEN, sample["phi"].shape[1]) - 1
            return values, censored, (values >= sample["phi"][:, [last]]) & ~censored
        values = self.phi[rows[:, None], words]
        among = values >= tenth(self.phi, rows, values, is_present)[:, None]
        return values, np.zeros(words.shape, bool), among


#: Function that is called with each stored sample. The samples of the first chain come first, then
#: the samples of the next chain.
SampleVisitor = Callable[[KeptSample], None]


#: Function that reads the full samples of a single chain for another purpose. To avoid a second
#: pass, the function calls its argument with the iteration and the matrices of each sample.
Lead = Callable[[Visit], None]


def read_samples(
    sources: Sequence[ChainOfTopics],
    layer: int,
    visitors: Sequence[SampleVisitor],
    lead: Lead | None = None,
) -> None:
    """Pass each stored sample of the given chains to all visitors, once.

    Full samples are read, or top-word samples if the run keeps more of them. A sample that is
    deleted during the pass is skipped. With `lead`, visitors get the samples that `lead` reads.

    Raises
    ------
    MissingInputError
        If `lead` stops before it has read all samples.
    """
    if lead is not None:
        results = sources[0].results
        visited: list[int] = []

        def visit(step: int, matrices: Mapping[str, Array]) -> None:
            visited.append(step)
            for visitor in visitors:
                visitor(KeptSample(0, results, layer, step, matrices, top_words=False))

        lead(visit)
        if visited:
            if visited != results.word_steps(layer)[0]:
                raise MissingInputError(
                    f"{results.path}: stored samples were deleted while they were read; run the "
                    "command again"
                )
            return
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
    """Return the tenth greatest value in each given row of ``phi``, (n,).

    If no other word is above the tenth of the given words, that value is the result after a single
    comparison; only the remaining rows are partitioned.

    Parameters
    ----------
    phi : (K, V)
    rows : (n,) int64
    values : (n, m)
        Entries of these rows that are likely to be great: at least min(10, V) different ones a row.
    is_present : (n, m) bool
        False for entries of ``values`` that are repetitions.
    """
    place = min(TEN, phi.shape[1]) - 1
    present_values = np.where(is_present, values, -np.inf)
    tenth_values: Floats = -np.partition(-present_values, place, axis=1)[:, place]
    above = (present_values > tenth_values[:, None]).sum(axis=1)
    for i, row in enumerate(rows):
        if np.count_nonzero(phi[row] > tenth_values[i]) != above[i]:
            tenth_values[i] = -np.partition(-phi[row], place)[place]
    return tenth_values.astype(phi.dtype)


# ---- statistics of words over the samples


class Followed(NamedTuple):
    """Statistics of some words of each topic, computed over all draws.

    Attributes
    ----------
    interval : Interval or None
        Intervals of the words' probabilities, or None if draws are too few.
    ten : (K, n) float64
        Fraction of the draws in which a word is among the ten most probable.
    draws : int
        Number of draws of the first chain; 0 without intervals.
    pooled : int
        Number of draws of all chains together.
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
    lead: Lead | None = None,
) -> Followed:
    """Compute statistics for words of each topic, (K, n), over samples of the given chains.

    ``is_present`` is False for repeated words. The given visitors get the samples in the same pass,
    which `lead` makes if it is not None.
    """
    none = Followed(None, np.zeros(words.shape), 0, 0)
    if sources[0].results.fitted.no_mean:
        read_samples(sources, layer, visitors, lead)
        return none
    drawn = _FollowedWords(sources, words, is_present)
    read_samples(sources, layer, [drawn.add, *visitors], lead)
    exact = all(s.results.fitted.exact is not None for s in sources)
    has = np.stack([source.rows >= 0 for source in sources])
    intervals = interval(drawn.values, has, exact=exact)
    if intervals is None:
        return none
    draws = np.array([len(values) for values in drawn.values])
    among = np.sum(drawn.among, axis=0) / (draws @ has)[:, None]
    return Followed(intervals, is_present * among, int(draws[0]), int(draws.sum()))


class _FollowedWords:
    """Visitor that collects the probabilities of given words in every sample of the chains.

    Attributes
    ----------
    values : list of list of (values, censored)
        For each chain, one pair for each sample, both (K, n); rows of topics that the chain lacks
        are undefined.
    among : list of (K, n) float64
        For each chain, the number of samples that have the word among the ten most probable.
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
