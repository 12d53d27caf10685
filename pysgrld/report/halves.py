"""Coverage of intervals, estimated by comparing two runs on random halves of a corpus.

The halves are two samples of documents from one source. So the 90 % interval of the difference of a
quantity between the runs should contain 0 nine times in ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.evaluate.matching import affinity, assign
from pysgrld.models.word_order import PROBABLE
from pysgrld.reading.results import Results
from pysgrld.report.document_pass import TopicShares, looked_at, read_documents
from pysgrld.report.population import PopulationShares
from pysgrld.report.sections.groups import by_columns
from pysgrld.types import Array, Doubles

#: Number of a topic's top words that are compared.
WORDS = 10
#: Minimum number of top words that two matching topics have in common.
AGREE = 5


class Coverage(NamedTuple):
    """Coverage of 90 % intervals for differences between two halves of a corpus.

    Attributes
    ----------
    held : float or None
        Fraction of the intervals that contain 0; None without differences.
    worst : float or None
        This fraction for the topic in which it is smallest.
    number : int
        Number of differences.
    """

    held: float | None
    worst: float | None
    number: int

    @classmethod
    def of(cls, held: Sequence[Array]) -> Coverage:
        """Compute coverage from arrays, one per topic, that are True if an interval contains 0."""
        rows = [row for row in held if row.size]
        if not rows:
            return cls(None, None, 0)
        flat = np.concatenate([row.ravel() for row in rows])
        return cls(float(flat.mean()), float(min(row.mean() for row in rows)), flat.size)


class HalvesCompared(NamedTuple):
    """Result of comparing two runs on halves of a corpus: the coverage of their intervals.

    Attributes
    ----------
    topics, pairs : int
        Number of topics of each run, and number of pairs of matching topics.
    documents : (int, int)
        Number of documents of each half.
    words, words_these : Coverage
        Coverage for the ten top words of each pair of topics: with intervals for other texts like
        these, and with intervals for the documents of the half alone.
    shares : Coverage
        Coverage for the shares of topics in the corpus.
    groups : Coverage
        Coverage for the shares of topics in groups of documents, by all columns of categories.
    """

    topics: int
    pairs: int
    documents: tuple[int, int]
    words: Coverage
    words_these: Coverage
    shares: Coverage
    groups: Coverage


class _Bounds(NamedTuple):
    """Estimates with the bounds of their intervals, in three arrays of equal shape."""

    mean: Doubles
    low: Doubles
    high: Doubles

    def rows(self, index: Array) -> _Bounds:
        return _Bounds(*(part[index] for part in self))

    def agrees(self, other: _Bounds) -> Array:
        """Return True for each pair of estimates if the interval of their difference contains 0.

        The half-width of this interval is the root of the sum of both squared half-widths.
        """
        is_above = self.mean >= other.mean
        mine = np.where(is_above, self.mean - self.low, self.high - self.mean)
        theirs = np.where(is_above, other.high - other.mean, other.mean - other.low)
        agreed: Array = np.abs(self.mean - other.mean) <= np.hypot(mine, theirs)
        return agreed


def compare_halves(
    alike: tuple[Results, Results], these: tuple[Results, Results]
) -> HalvesCompared:
    """Compare two runs, one on each half of a corpus; both runs must have the same vocabulary.

    Parameters
    ----------
    alike, these : (Results, Results)
        Both runs, opened with intervals for other texts like these, and for these documents alone.

    Raises
    ------
    UsageError
        If a run has too few samples for intervals.
    """
    k = alike[0].fitted.layers[0]
    phi = [results.phi()[:, :k] for results in alike]
    tops = [results.top(WORDS, order=PROBABLE) for results in alike]
    match = assign(affinity(phi[0].T, phi[1].T))
    pairs = np.array(
        [[i, j] for i, j in enumerate(match) if len({*tops[0][i]} & {*tops[1][j]}) >= AGREE], int
    ).reshape(-1, 2)
    words, words_these = (_words(pair, phi, tops, pairs) for pair in (alike, these))
    shares, groups = _shares(alike, pairs)
    sizes = [results.run.config["corpus"]["documents"] for results in alike]
    return HalvesCompared(k, len(pairs), (sizes[0], sizes[1]), words, words_these, shares, groups)


def _words(
    runs: tuple[Results, Results], phi: Sequence[Array], tops: Sequence[Array], pairs: Array
) -> Coverage:
    """Return the coverage of the intervals of top words, for pairs of topics."""
    if not len(pairs):
        return Coverage.of([])
    held = []
    # Compare the top words of the topics of run `side`.
    for side in (0, 1):
        # `ids[run]` has the words to compare, with a row for each topic of the run. A topic without
        # a partner gets arbitrary words, which are left out below.
        ids = np.stack([tops[side], tops[side]])
        for run in (0, 1):
            ids[run, pairs[:, run]] = tops[side][pairs[:, side]]
        parts = []
        for run, results in enumerate(runs):
            interval = results.word_intervals(ids[run])
            if interval is None:
                raise UsageError(
                    f"{results.path}: the run has too few samples for intervals; train longer"
                )
            mean = np.take_along_axis(phi[run].T, ids[run], axis=1).astype(np.float64)
            parts.append(_Bounds(mean, interval.low, interval.high).rows(pairs[:, run]))
        held.append(parts[0].agrees(parts[1]))
    return Coverage.of(list(np.concatenate(held, axis=1)))


def _shares(runs: tuple[Results, Results], pairs: Array) -> tuple[Coverage, Coverage]:
    """Return the coverage of intervals of topic shares, in the corpus and in groups."""
    whole, by_level = [], []
    for run, results in enumerate(runs):
        corpus = results.training_corpus()
        assert corpus is not None
        rows = looked_at(corpus)
        groupings = by_columns(corpus.about, [], rows)
        in_all = TopicShares.in_training(results, corpus, rows)
        visitors = [PopulationShares(groups.grouping) for groups in groupings]
        read_documents(results, corpus, rows, 0, [in_all, *visitors])
        topics = pairs[:, run]
        shares = in_all.shares.about(results.weights())
        whole.append(_Bounds(*(part[topics] for part in shares)))
        levels = {}
        for groups, visitor in zip(groupings, visitors, strict=True):
            estimate = visitor.shares.documents
            parts = (estimate.mean, estimate.low, estimate.high)
            for number, level in enumerate(groups.levels):
                levels[groups.name, str(level)] = _Bounds(*(p[topics, number] for p in parts))
        by_level.append(levels)
    common = [level for level in by_level[0] if level in by_level[1]]
    held = [by_level[0][level].agrees(by_level[1][level]) for level in common]
    return (
        Coverage.of(list(whole[0].agrees(whole[1])[:, None])),
        Coverage.of(list(np.stack(held, axis=1)) if held else []),
    )
