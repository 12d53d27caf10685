"""The decisions of a search: who is surely worse and cannot catch up, who leads, who is near enough.

Contenders are compared in pairs, on the same held-out documents, which are resampled: what a document's
words make hard for all of them cancels. Nothing here knows the clock, folders or models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.evaluate import Estimate
from pysgrld.types import Doubles, Int64s

#: A contender may be dropped whose perplexity is surely worse than the leader's by more than this share.
WORSE = 0.01
#: The smallest number of topics is told whose perplexity is within this share of the best.
NEAR = 0.005
#: Times that held-out documents are resampled, and the share of them that intervals hold.
RESAMPLES, SURE = 2000, 0.95
#: Key of the resampling: one for all, so that decisions can be made again.
_KEY = 20


class Standing(NamedTuple):
    """A contender after a rung.

    Attributes
    ----------
    name : str
    place : tuple of int
        In the grid: its number in the list of values of each option.
    figure : Estimate
        Score of the held-out documents; lower is better.
    share_gained : callable (before, now)
        Share of the perplexity that separates two scores, of the scorer.
    gained : float or None
        Share that the last doubling of its iterations has bought; None where that is not known.
    settled : bool
        Whether doubling its samples has bought next to nothing.
    iteration, samples : int
    """

    name: str
    place: tuple[int, ...]
    figure: Estimate
    share_gained: Callable[[float, float], float]
    gained: float | None
    settled: bool
    iteration: int
    samples: int


class Interval95(NamedTuple):
    """A value with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


class Judged(NamedTuple):
    """A contender as a rung has judged it.

    Attributes
    ----------
    standing : Standing
    worse : Interval95
        Share by which its perplexity is above the leader's.
    goes_on : bool
    why : str
    """

    standing: Standing
    worse: Interval95
    goes_on: bool
    why: str

    def record(self) -> dict[str, Any]:
        """Give all by name, for JSON; numbers that are none are null."""
        at = self.standing
        return {
            "name": at.name,
            "iteration": at.iteration,
            "samples": at.samples,
            "score": _number(at.figure),
            "worse": [_number(x) for x in self.worse],
            "gained": None if at.gained is None else _number(at.gained),
            "settled": at.settled,
            "goes_on": self.goes_on,
            "why": self.why,
        }


def resampled(figures: Sequence[Estimate]) -> Doubles:
    """Give the scores that other held-out documents might have had, (contenders, resamples).

    Documents are drawn with replacement, the same ones for all figures.
    """
    draws = _drawn(len(figures[0].influence))
    return np.array([[figure.among(drawn) for figure in figures] for drawn in draws]).T


def _drawn(documents: int) -> Iterator[Int64s]:
    """Yield the documents of each resample: always the same ones of as many."""
    draws = np.random.Philox(_KEY)  # its raw numbers are the same in every version of NumPy
    for _ in range(RESAMPLES):
        yield (draws.random_raw(documents) % documents).astype(np.int64)


def bounds(value: float, draws: Doubles) -> Interval95:
    """Give the 95 % interval of a value by its resampled ones."""
    if not np.isfinite(draws).all():
        return Interval95(value, math.nan, math.nan)
    tail = (1.0 - SURE) / 2
    low, high = np.quantile(draws, (tail, 1.0 - tail))
    return Interval95(value, float(low), float(high))


def leader_of(standings: Iterable[Standing]) -> Standing:
    """Give who scores best; of two that are equal the earlier."""
    return min(standings, key=lambda s: (math.isnan(s.figure), s.figure))


def are_neighbours(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two places of the grid differ by one step of one option."""
    return sum(abs(i - j) for i, j in zip(a, b, strict=True)) == 1


def worse_by(standing: Standing, a: float, leader: float) -> float:
    """Give the share by which the perplexity of a score is above the leader's."""
    share = standing.share_gained(a, leader)
    return 1.0 / (1.0 - share) - 1.0 if share < 1.0 else math.inf


def differences(standings: Sequence[Standing], leader: Standing) -> list[Interval95]:
    """Compare all with the leader on resampled documents: by what share each perplexity is worse."""
    draws = resampled([s.figure for s in standings])
    lead = draws[[s.name for s in standings].index(leader.name)]
    found = []
    for standing, own in zip(standings, draws, strict=True):
        shares = [
            worse_by(standing, a, b) for a, b in zip(own.tolist(), lead.tolist(), strict=True)
        ]
        value = worse_by(standing, standing.figure, leader.figure)
        found.append(bounds(value, np.array(shares)))
    return found


def judge(standings: Sequence[Standing]) -> list[Judged]:
    """Judge a rung: the leader and its neighbours go on, and all who may still win.

    A contender is dropped if it is worse than the leader by more than 1 % of the perplexity, surely so at
    95 %, and what its last doubling of iterations has bought is less than what it lacks.
    """
    leader = leader_of(standings)
    judged = []
    for standing, worse in zip(standings, differences(standings, leader), strict=True):
        goes_on, why = _verdict(standing, worse, leader)
        judged.append(Judged(standing, worse, goes_on, why))
    return judged


def _verdict(standing: Standing, worse: Interval95, leader: Standing) -> tuple[bool, str]:
    if standing.name == leader.name:
        return True, "leads"
    if are_neighbours(standing.place, leader.place):
        return True, "next to the leader"
    if not worse.low > WORSE:
        return True, "not surely worse"
    if standing.gained is None:
        return True, "too early to tell what it gains"
    # both in logarithms: what a doubling has bought, and what is lacking
    if not -math.log1p(-standing.gained) < math.log1p(worse.value):
        return True, "worse, and still gaining"
    return False, "surely worse, and gains too little to catch up"


def nothing_left_to_drop(judged: Sequence[Judged]) -> bool:
    """Whether more rungs can change nothing: all who go on are beside the leader, or have settled."""
    alive = [j.standing for j in judged if j.goes_on]
    leader = leader_of(alive)
    beside = (s.name == leader.name or are_neighbours(s.place, leader.place) for s in alive)
    return all(beside) or all(s.settled for s in alive)


def smallest_near(standings: Sequence[Standing], sizes: Mapping[str, int]) -> Standing:
    """Give the contender of the fewest topics within 0.5 % of the best; of several the best.

    Parameters
    ----------
    standings : sequence of Standing
    sizes : mapping
        Topics of each, by name.
    """
    best = leader_of(standings)
    near = [s for s in standings if s is best or worse_by(s, s.figure, best.figure) <= NEAR]
    return min(near, key=lambda s: (sizes[s.name], s.figure))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
