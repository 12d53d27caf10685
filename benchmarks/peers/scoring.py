"""The clock and the judge: seconds of training only, and one estimator for everybody."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw
from pysgrld.evaluate import Completion, HeldOut
from pysgrld.models.lda.reader import lda_readers
from pysgrld.types import Documents, Doubles, Key

#: Priors of theta that the last topics are also scored with: is a peer held back by its own, or ours?
OTHER_ALPHAS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


class Found(NamedTuple):
    """What a peer has found: topics, (K, V), rows that sum to 1; its own alpha, (K,) or a number."""

    topics: Any
    alpha: Any = None


#: What is asked of a peer when it is scored.
Topics = Callable[[], Found]


class Task(NamedTuple):
    """Documents, their order, priors and threads, which are equal for all peers."""

    documents: Documents
    words: int
    topics: int
    alpha: float
    eta: float
    seed: int
    threads: int
    score_visits: int  # cost of one update of sgmc's running perplexity, for its default spacing


class Judge:
    """Scores topics by document completion as `sgmc eval` does: theta by Gibbs, topics fixed."""

    def __init__(self, held_out: HeldOut, topics: int, alpha: float) -> None:
        self.held_out, self.topics, self.alpha = held_out, topics, alpha
        self.completion = self._completion()

    def _completion(self) -> Completion:
        return Completion(self.held_out, lda_readers(self.topics, None), 1)

    def point(self, found: Found) -> float:
        """Compute the perplexity of documents under one matrix of topics."""
        return self.completion.point(Key(0, 0, 0), self._draw(found))

    def averages(self) -> Doubles | None:
        """Return the logarithms of p(w) averaged over the draws so far; None before the first draw."""
        return self.completion.log_averages() if self.completion.samples else None

    def add_draw(self, found: Found) -> None:
        """Average p(w) over one more posterior draw."""
        self.completion.update(Key(0, 0, self.completion.samples), self._draw(found))

    def other_alphas(self, topics: Any) -> dict[str, float]:
        """Compute the perplexity under one matrix of topics for other priors of theta."""
        return {
            f"{alpha:g}": round(
                self._completion().point(Key(0, 0, 0), self._draw(Found(topics, alpha))), 2
            )
            for alpha in OTHER_ALPHAS
        }

    def _draw(self, found: Found) -> Draw:
        """Lay topics out as draws are, over held-out words; theta's prior is the peer's, or ours."""
        words, width = self.completion.words, padded_width(self.topics)
        phi = core.zeros(len(words), width, "float32")
        phi[:, : self.topics] = np.maximum(np.asarray(found.topics)[:, words].T, core.PHI_FLOOR)
        alpha = np.zeros(width, np.float32)
        alpha[: self.topics] = self.alpha if found.alpha is None else found.alpha
        return {"phi": phi, "alpha": alpha}


class Done(Exception):
    """Raised when the budget of seconds is used."""


def looks(budget: float, an_octave: int) -> list[float]:
    """Give the seconds at which a peer is scored: so many times an octave, and at the end."""
    times = [2.0 ** (i / an_octave) for i in range(-2 * an_octave, 20 * an_octave)]
    return [t for t in times if t < budget] + [budget]


class Watch:
    """A clock that runs while a peer trains, not while it is scored.

    With one thread it counts the process's CPU seconds, with more those of the wall.

    A peer that can go on calls `start` once and `tick` after every unit of work; one that cannot
    hands `refits` a function that fits from scratch.
    """

    def __init__(
        self, judge: Judge, budget: float, threads: int, say: Callable[[str], None]
    ) -> None:
        self.judge, self.budget, self.say = judge, budget, say
        self.clock = time.process_time if threads == 1 else time.perf_counter
        self.looks = looks(budget, 2)
        self.seconds = self.judging = 0.0
        self.tokens = 0
        self.points: list[dict[str, Any]] = []
        self.averages: list[Doubles | None] = []
        self.looked: list[float] = []
        self.last: Any = None
        self.began = 0.0

    def start(self) -> None:
        """Start the clock: reading and converting the corpus are done."""
        self.began = self.clock()

    def tick(
        self, topics: Topics, tokens: int, *, draw: bool = False, mean: Topics | None = None
    ) -> None:
        """Say that ``tokens`` more were visited; with ``draw``, that the topics are a sample.

        ``mean`` gives the mean of the samples, where the peer keeps it itself.

        Raises
        ------
        Done
        """
        stopped = self.clock()
        self.seconds += stopped - self.began
        self.tokens += tokens
        if draw:
            self.judge.add_draw(topics())
        if self.seconds >= self.looks[0]:
            self.looked.append(max(look for look in self.looks if look <= self.seconds))
            self._look(topics(), mean)
            self.looks = [look for look in self.looks if look > self.seconds]
            if not self.looks:
                raise Done
        self.began = self.clock()
        self.judging += self.began - stopped

    def refits(self, fit: Callable[[int], Topics], tokens: int) -> None:
        """Fit from scratch with as many sweeps as each of the times takes, and score each fit.

        Octaves only: every point costs all of its time anew.

        Raises
        ------
        Done
        """
        spent: dict[int, float] = {}
        for n in (2, 6):  # tell what a sweep takes; and are points as good as any
            spent[n] = self._fit(fit, n, tokens)
        for look in looks(self.budget, 1):
            (n1, s1), (n2, s2) = sorted(spent.items())[-2:]
            # sweeps get faster as topics become sparse; a slope of nearly nothing is the clock's noise
            sweep = max((s2 - s1) / (n2 - n1), 0.2 * s2 / n2)
            n = n2 + round((look - s2) / sweep)
            if n > n2:  # otherwise even what there is takes longer than the look wants
                spent[n] = self._fit(fit, n, tokens)
        raise Done

    def _fit(self, fit: Callable[[int], Topics], sweeps: int, tokens: int) -> float:
        """Fit from scratch and score; returns the seconds of the whole fit."""
        began = self.clock()
        topics = fit(sweeps)
        self.seconds = self.clock() - began
        self.tokens = sweeps * tokens
        self._look(topics())
        return self.seconds

    def _look(self, found: Found, mean: Topics | None = None) -> None:
        self.last = np.asarray(found.topics)
        draws = self.judge.completion.samples
        point = {
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "point": round(self.judge.point(found), 2),
            "averaged": round(self.judge.completion.average(), 2) if draws else None,
            "draws": draws,
        }
        if draws and mean is not None:
            point["mean"] = round(self.judge.point(mean()), 2)
        self.points.append(point)
        self.averages.append(self.judge.averages())
        averaged = f", averaged {point['averaged']:.1f}" if draws else ""
        self.say(f"{self.seconds:6.1f} s  perplexity {point['point']:.1f}{averaged}")


def together(watches: Sequence[Watch]) -> list[dict[str, Any]]:
    """Give the points of a peer's chains as those of one: what all of them took, and what they say.

    Probabilities are averaged over the draws of all chains, each counting the same, as `sgmc eval` does.
    The figure of one draw is the geometric mean over the chains.
    """
    if len(watches) == 1:
        return watches[0].points
    points = []
    for look in watches[0].looked:
        if not all(look in watch.looked for watch in watches):
            continue
        places = [watch.looked.index(look) for watch in watches]
        each = [watch.points[i] for watch, i in zip(watches, places, strict=True)]
        logs = [watch.averages[i] for watch, i in zip(watches, places, strict=True)]
        known = [log for log in logs if log is not None]
        averaged = None
        if len(known) == len(watches):
            mean = np.logaddexp.reduce(known) - np.log(len(known))
            averaged = round(float(watches[0].judge.completion.score(mean)), 2)
        points.append(
            {
                "seconds": round(sum(point["seconds"] for point in each), 3),
                "tokens": sum(point["tokens"] for point in each),
                "point": round(float(np.exp(np.mean(np.log([p["point"] for p in each])))), 2),
                "averaged": averaged,
                "draws": sum(point["draws"] for point in each),
            }
        )
    return points
