"""How often held-out documents are scored, so that most of a run's time is training.

Work is estimated from counts: of token visits (Gibbs draws of a token's topic) and of cells of the
topics. Counts give every machine and every start the same iterations, which a clock would not. The
nanoseconds are those of one machine; their ratios are what matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pysgrld.evaluate import visits
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.evaluate.reader import FRESH_SWEEPS

#: Work of training for that of a posterior sample, at least: samples take an eleventh of both.
BETWEEN_SAMPLES = 10
#: Token visits of training for one of a look at the current topics, at least.
BETWEEN_LOOKS = 40
#: Nanoseconds of a token visit without those for each topic.
VISIT = 25.0
#: What a cell of a lazy row that is touched costs, in steps of one that is not lazy.
TOUCHED = 2


class UnitTimes(NamedTuple):
    """Nanoseconds that a unit of work takes, beside `VISIT` for a token visit.

    Attributes
    ----------
    topic : float
        For each topic in a token visit; visits of few sweeps take longer, for beginning and ending.
    cell : float
        For a cell of the topics.
    """

    topic: float
    cell: float


#: Cells are stepped in training; those of a sample are averaged and written.
TRAINING, SAMPLE = UnitTimes(0.05, 2.5), UnitTimes(0.07, 9.0)


class Work(NamedTuple):
    """Work of an iteration, or of a score.

    Attributes
    ----------
    visits : float
        Token visits.
    cells : float
        Cells of the topics, K times words, that are stepped or kept.
    """

    visits: float
    cells: float

    def nanoseconds(self, topics: int, unit: UnitTimes) -> float:
        """Estimate the time on one thread, at least 1."""
        return max(1.0, self.visits * (VISIT + unit.topic * topics) + self.cells * unit.cell)


def sample_spacing(sample: Work, iteration: Work, topics: int, least: int) -> int:
    """Give the iterations from one posterior sample to the next.

    Parameters
    ----------
    sample, iteration : Work
    topics : int
        K.
    least : int
        The spacing where a sample costs nothing.
    """
    share = sample.nanoseconds(topics, SAMPLE) / iteration.nanoseconds(topics, TRAINING)
    return max(least, math.ceil(BETWEEN_SAMPLES * share))


def look_spacing(held_out: HeldOut | None, training: float) -> int:
    """Give the least iterations from one look at the current topics to the next.

    Parameters
    ----------
    held_out : HeldOut or None
        Documents whose chains every look starts afresh.
    training : float
        Token visits of an iteration; what else it does counts for nothing.
    """
    return math.ceil(BETWEEN_LOOKS * visits(held_out, FRESH_SWEEPS) / max(training, 1.0))
