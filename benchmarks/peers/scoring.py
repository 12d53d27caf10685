"""The clock and the judge: seconds of training only, and one estimator for everybody."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded
from pysgrld.draws import Draw
from pysgrld.evaluate import Completion, HeldOut
from pysgrld.models.lda.reader import LdaReaders
from pysgrld.types import Documents, Key

#: Topics, (K, V), rows that sum to 1: what is asked of a peer when it is scored.
Topics = Callable[[], Any]

#: Priors of theta that the last topics are also scored with: is a peer held back by ours?
OTHER_ALPHAS = (0.02, 0.05, 0.1, 0.2)


class Task(NamedTuple):
    """Documents, their order and priors, which are equal for all peers."""

    documents: Documents
    words: int
    topics: int
    alpha: float
    eta: float
    seed: int
    score_visits: int  # cost of one update of sgmc's running perplexity, for its default spacing


class Judge:
    """Scores topics by document completion as `sgmc eval` does: theta by Gibbs, topics fixed."""

    def __init__(self, held_out: HeldOut, topics: int, alpha: float) -> None:
        self.held_out, self.topics = held_out, topics
        self.completion = Completion(held_out, LdaReaders(topics, alpha), 1)

    def point(self, topics: Any) -> float:
        """Compute the perplexity of one matrix of topics."""
        return self.completion.point(Key(0, 0, 0), self._rows(topics))

    def add_draw(self, topics: Any) -> None:
        """Average p(w) over one more posterior draw."""
        self.completion.update(Key(0, 0, self.completion.samples), self._rows(topics))

    def other_alphas(self, topics: Any) -> dict[str, float]:
        """Compute the perplexity of one matrix of topics where theta has other priors."""
        rows = self._rows(topics)
        found = {}
        for alpha in OTHER_ALPHAS:
            readers = LdaReaders(self.topics, alpha)
            completion = Completion(self.held_out, readers, 1)
            found[f"{alpha:g}"] = round(completion.point(Key(0, 0, 0), rows), 2)
        return found

    def _rows(self, topics: Any) -> Draw:
        words = self.completion.words
        rows = core.zeros(len(words), padded(self.topics), "float32")
        rows[:, : self.topics] = np.maximum(np.asarray(topics)[:, words].T, core.PHI_FLOOR)
        return {"phi": rows}


class Done(Exception):
    """Raised when the budget of seconds is used."""


class Watch:
    """A clock of the process's CPU seconds that runs while a peer trains, not while it is scored.

    A peer that can go on calls `start` once and `tick` after every unit of work; one that cannot
    hands `refits` a function that fits from scratch.
    """

    def __init__(self, judge: Judge, budget: float, say: Callable[[str], None]) -> None:
        self.judge, self.budget, self.say = judge, budget, say
        self.looks = [2.0**i for i in range(-2, 20) if 2.0**i < budget] + [budget]
        self.seconds = self.judging = 0.0
        self.tokens = 0
        self.points: list[dict[str, Any]] = []
        self.last: Any = None
        self.began = 0.0

    def start(self) -> None:
        """Begin to train; reading and converting the corpus is over."""
        self.began = time.process_time()

    def tick(
        self, topics: Topics, tokens: int, *, draw: bool = False, mean: Topics | None = None
    ) -> None:
        """Say that ``tokens`` more were visited; with ``draw``, that the topics are a sample.

        ``mean`` gives the mean of the samples, where the peer keeps it itself.

        Raises
        ------
        Done
        """
        stopped = time.process_time()
        self.seconds += stopped - self.began
        self.tokens += tokens
        if draw:
            self.judge.add_draw(topics())
        if self.seconds >= self.looks[0]:
            self._look(topics(), mean)
            self.looks = [look for look in self.looks if look > self.seconds]
            if not self.looks:
                raise Done
        self.began = time.process_time()
        self.judging += self.began - stopped

    def refits(self, fit: Callable[[int], Topics], tokens: int) -> None:
        """Fit from scratch with as many sweeps as each of the times takes, and score each fit.

        Raises
        ------
        Done
        """
        spent: dict[int, float] = {}
        for n in (2, 6):  # tell what a sweep takes; and are points as good as any
            spent[n] = self._fit(fit, n, tokens)
        for look in self.looks:
            (n1, s1), (n2, s2) = sorted(spent.items())[-2:]
            # sweeps get faster as topics become sparse; a slope of nearly nothing is the clock's noise
            sweep = max((s2 - s1) / (n2 - n1), 0.2 * s2 / n2)
            n = n2 + round((look - s2) / sweep)
            if n > n2:  # otherwise even what there is takes longer than the look wants
                spent[n] = self._fit(fit, n, tokens)
        raise Done

    def _fit(self, fit: Callable[[int], Topics], sweeps: int, tokens: int) -> float:
        """Fit from scratch and score; returns the seconds of the whole fit."""
        began = time.process_time()
        topics = fit(sweeps)
        self.seconds = time.process_time() - began
        self.tokens = sweeps * tokens
        self._look(topics())
        return self.seconds

    def _look(self, topics: Any, mean: Topics | None = None) -> None:
        self.last = np.asarray(topics)
        draws = self.judge.completion.samples
        point = {
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "point": round(self.judge.point(topics), 2),
            "averaged": round(self.judge.completion.average(), 2) if draws else None,
            "draws": draws,
        }
        if draws and mean is not None:
            point["mean"] = round(self.judge.point(mean()), 2)
        self.points.append(point)
        averaged = f", averaged {point['averaged']:.1f}" if draws else ""
        self.say(f"{self.seconds:6.1f} s  perplexity {point['point']:.1f}{averaged}")
