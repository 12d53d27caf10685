"""Rounds of training of a search, and decisions on which settings each round drops.

Settings are compared in pairs. The score of both settings is resampled over the same held-out
documents, so that the difficulty of a document, which is equal for both, cancels. ``rounds.jsonl``
has a line for each decided round. The next round follows from it and from ``search.json`` alone, so
every process that continues does the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import CheckpointError, SgmcError
from pysgrld.evaluate import Estimate
from pysgrld.run import RunDirectory, chain_path, jsonio
from pysgrld.run.files import read_small
from pysgrld.run.layout import is_run
from pysgrld.search.plan import Contender, SearchPlan
from pysgrld.types import Doubles

#: Name of the file in a search's folder that stores the decisions after each round.
ROUNDS = "rounds.jsonl"
#: A setting may be dropped if its perplexity exceeds that of the best setting by more than this
#: fraction, with 95 % certainty.
WORSE = 0.01
#: A search also reports the smallest number of topics with a perplexity that exceeds the best
#: perplexity by at most this fraction.
NEAR = 0.005
#: Number of times that held-out documents are resampled.
RESAMPLES = 2000
#: Coverage of the intervals that are computed from resampled documents.
SURE = 0.95
#: Seed of the random numbers for resampling, which is fixed so that decisions are reproducible.
_KEY = 20


# ---- the runs to train next


class Cell(NamedTuple):
    """Run in a round of a search, given by its setting and the number of its chain."""

    contender: Contender
    chain: int

    def path(self, folder: Path) -> Path:
        """Return the folder of the run, which is inside the search's folder."""
        return chain_path(folder / self.contender.name, self.chain)


class Round(NamedTuple):
    """Round of training in a search: the runs to train, and for how many epochs.

    Attributes
    ----------
    number : int
        Number of the round, from 1.
    epochs : float or None
        Epochs of each run, or None to train until its score has converged.
    last : bool
    cells : tuple of Cell
        Runs ordered by chain, then as in the plan; tasks are numbered in this order.
    """

    number: int
    epochs: float | None
    last: bool
    cells: tuple[Cell, ...]

    def is_done(self, cell: Cell, folder: Path) -> bool:
        """Return True if a run has been trained for the number of epochs of this round."""
        path = cell.path(folder)
        if not is_run(path):
            return False
        try:
            run = RunDirectory.open(path)
            finished = run.status.get("state") == "finished"
        except SgmcError:  # The error will be reported when the run is trained.
            return False
        return finished and run.config.get("options", {}).get("epochs") == self.epochs


def next_round(plan: SearchPlan, decided: Sequence[Mapping[str, Any]]) -> Round | None:
    """Return the next round to train, given all decisions, or None if the last round is decided."""
    alive: Sequence[Contender] = plan.contenders
    epochs: float | None = plan.first
    last = plan.epochs is not None and plan.first >= plan.epochs
    if decided:
        before = decided[-1]
        if before["last"]:
            return None
        alive = [c for c in plan.contenders if c.name in before["goes_on"]]
        epochs, last = before["next"], before["next"] is None
    chains = plan.chains if last else 1
    cells = tuple(Cell(c, chain) for chain in range(1, chains + 1) for c in alive)
    return Round(len(decided) + 1, plan.epochs if last else epochs, last, cells)


def read_rounds(folder: Path) -> list[dict[str, Any]]:
    """Read which settings each round has kept and dropped so far; the list may be empty.

    Raises
    ------
    CheckpointError
        If the file was changed after it was written.
    """
    path = folder / ROUNDS
    try:
        lines = read_small(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be read: {error.strerror or error}; make it readable, then try again"
        ) from None
    try:
        decisions = [jsonio.parse(line) for line in lines]
        for record in decisions:
            record["last"], record["next"], record["goes_on"]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: is damaged ({error}); restore it") from None
    return decisions


# ---- decisions about a round


class Standing(NamedTuple):
    """Score and training progress of a setting after a round of training.

    Attributes
    ----------
    name : str
    place : tuple of int
        Place in the grid: for each option, the index of its value in the list of values.
    score : Estimate
        Score of the held-out documents; lower is better.
    share_gained : callable (before, now)
        Function of the scorer that returns the fraction by which the perplexity falls between two
        scores.
    gained : float or None
        Fraction by which the last doubling of its iterations reduced the perplexity, or None if
        that is not known.
    converged : bool
        True if doubling the number of its samples hardly improved the score.
    iteration, samples : int
    """

    name: str
    place: tuple[int, ...]
    score: Estimate
    share_gained: Callable[[float, float], float]
    gained: float | None
    converged: bool
    iteration: int
    samples: int


class Interval95(NamedTuple):
    """A value, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


class SettingDecision(NamedTuple):
    """Decision on whether a setting continues after a round, with the reason.

    Attributes
    ----------
    standing : Standing
    worse : Interval95
        Fraction by which its perplexity is above the leader's.
    goes_on : bool
    why : str
    """

    standing: Standing
    worse: Interval95
    goes_on: bool
    why: str


def best_setting(standings: Iterable[Standing]) -> Standing:
    """Return the setting with the best score; of several equal scores, the first."""
    return min(standings, key=lambda s: (math.isnan(s.score), s.score))


def relative_excess(standing: Standing, a: float, leader: float) -> float:
    """Return by what fraction the perplexity of score ``a`` exceeds that of the best score.

    The best score is ``leader``.
    """
    share = standing.share_gained(a, leader)
    return 1.0 / (1.0 - share) - 1.0 if share < 1.0 else math.inf


def resample_scores(scores: Sequence[Estimate]) -> Doubles:
    """Return the scores on resampled held-out documents, (settings, resamples).

    Documents are drawn with replacement, and the same documents are drawn for all scores. The draws
    depend only on the number of documents.
    """
    random, n = np.random.Philox(_KEY), len(scores[0].influence)
    # Unlike NumPy's distributions, raw random numbers are the same in all versions of NumPy.
    draws = ((random.random_raw(n) % n).astype(np.int64) for _ in range(RESAMPLES))
    return np.array([[score.among(drawn) for score in scores] for drawn in draws]).T


def bounds(value: float, draws: Doubles) -> Interval95:
    """Return a value with its 95 % interval, which is computed from resampled values."""
    if not np.isfinite(draws).all():
        return Interval95(value, math.nan, math.nan)
    tail = (1.0 - SURE) / 2
    low, high = np.quantile(draws, (tail, 1.0 - tail))
    return Interval95(value, float(low), float(high))


def differences(standings: Sequence[Standing], leader: Standing) -> list[Interval95]:
    """Return intervals for the fraction by which each perplexity exceeds the best perplexity."""
    draws = resample_scores([s.score for s in standings])
    lead = draws[[s.name for s in standings].index(leader.name)]
    intervals = []
    for standing, draws_of_standing in zip(standings, draws, strict=True):
        shares = [
            relative_excess(standing, a, b)
            for a, b in zip(draws_of_standing.tolist(), lead.tolist(), strict=True)
        ]
        value = relative_excess(standing, standing.score, leader.score)
        intervals.append(bounds(value, np.array(shares)))
    return intervals


def judge(standings: Sequence[Standing]) -> list[SettingDecision]:
    """Decide which settings continue: the best, its neighbours, and all that are not clearly worse.

    Any other setting is dropped if two conditions hold. With 95 % certainty, its perplexity is more
    than 1 % higher than that of the best setting. And the last doubling of its iterations has
    reduced its perplexity by less than the distance to the best setting.
    """
    leader = best_setting(standings)
    judged = []
    for standing, worse in zip(standings, differences(standings, leader), strict=True):
        goes_on = True
        if standing.name == leader.name:
            reason = "leads"
        elif are_neighbours(standing.place, leader.place):
            reason = "neighbour of the best setting"
        elif not worse.low > WORSE:
            reason = "not certainly worse"
        elif standing.gained is None:
            reason = "too few scores to estimate its improvement"
        # Compare two logs of perplexity ratios. The first is the gain by the last doubling of
        # iterations, the second is the distance to the best setting.
        elif not -math.log1p(-standing.gained) < math.log1p(worse.value):
            reason = "worse, but still improving"
        else:
            goes_on, reason = False, "certainly worse, and improving too slowly to catch up"
        judged.append(SettingDecision(standing, worse, goes_on, reason))
    return judged


def are_neighbours(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return True if two settings differ by one step in the values of a single option."""
    return sum(abs(i - j) for i, j in zip(a, b, strict=True)) == 1


def nothing_left_to_drop(judged: Sequence[SettingDecision]) -> bool:
    """Return True if further rounds of training would not drop any setting.

    In that case all remaining settings are neighbours of the best one, or all their scores have
    converged.
    """
    alive = [j.standing for j in judged if j.goes_on]
    leader = best_setting(alive)
    near_leader = (s.name == leader.name or are_neighbours(s.place, leader.place) for s in alive)
    return all(near_leader) or all(s.converged for s in alive)


def smallest_good_setting(standings: Sequence[Standing], sizes: Mapping[str, int]) -> Standing:
    """Return the setting with the fewest topics among those within 0.5 % of the best score.

    If several settings have equally few topics, return the one with the best score.

    Parameters
    ----------
    standings : sequence of Standing
    sizes : mapping
        Number of topics of each setting, by name.
    """
    best = best_setting(standings)
    near = [s for s in standings if s is best or relative_excess(s, s.score, best.score) <= NEAR]
    return min(near, key=lambda s: (sizes[s.name], s.score))


def decision(
    plan: SearchPlan,
    current_round: Round,
    judged: Sequence[SettingDecision],
    sizes: Mapping[str, int],
) -> dict[str, Any]:
    """Return a round's line for ``rounds.jsonl``: best and kept settings, epochs of the next round.

    The line of the last round also names the smallest setting near the best score; it drops no
    setting.

    Parameters
    ----------
    plan : SearchPlan
    current_round : Round
    judged : sequence of Judged
    sizes : mapping
        Number of topics of each setting, by name; 0 if the model has no fixed number.
    """
    standings = [j.standing for j in judged]
    smallest = (
        {"smallest": smallest_good_setting(standings, sizes).name} if current_round.last else {}
    )
    doubled = 2 * (current_round.epochs or 0)
    to_the_end = plan.epochs is not None and doubled >= plan.epochs
    over = current_round.last or to_the_end or nothing_left_to_drop(judged)
    record = {
        "round": current_round.number,
        "epochs": current_round.epochs,
        "last": current_round.last,
        "leader": best_setting(standings).name,
        **smallest,
        "goes_on": [j.standing.name for j in judged if j.goes_on or current_round.last],
        "next": None if over else doubled,
        "contenders": [
            {
                "name": j.standing.name,
                "iteration": j.standing.iteration,
                "samples": j.standing.samples,
                "score": j.standing.score,
                "worse": j.worse,
                "gained": j.standing.gained,
                "converged": j.standing.converged,
                "goes_on": j.goes_on or current_round.last,
                "why": j.why,
            }
            for j in judged
        ],
    }
    plain_record: dict[str, Any] = jsonio.plain(record, nonfinite_is_null=True)
    return plain_record
