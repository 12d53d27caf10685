"""What can be said of runs: the values that `pysgrld.results` and `pysgrld.diagnosis` give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysgrld.scores import Score
from pysgrld.types import Doubles, Floats, Parts

if TYPE_CHECKING:
    from pysgrld.evaluate.convergence import Convergence


class Topics(NamedTuple):
    """Topics of one draw.

    Attributes
    ----------
    parts : dict
        Of every block, word-major, padded with zeros: ``phi`` (V, Kp) float32.
    samples : int
        Posterior samples in the mean; 0 where these are the current topics.
    """

    parts: Parts
    samples: int

    @property
    def phi(self) -> Floats:
        """Topics of the lowest layer over words, (V, Kp) float32."""
        return self.parts["phi"]


class Scores(NamedTuple):
    """Scores of the same held-out tokens.

    Attributes
    ----------
    kind : Score
        What they are.
    average, point : float
        Of the posterior average, and of the current topics.
    unigram : float or None
        Of the word frequencies of training; None where the run does not have them.
    documents, held_out_tokens : int
        That were scored.
    dropped : int
        Documents that could not be split, or have no known word in one of their parts.
    samples : int
        In the average; 0: there is none yet, and both figures are of the current topics.
    observed_fraction : float or None
        Share of the tokens that is observed; None where documents are scored whole.
    seed : int
    iteration : int
    others : dict
        Further figures of the same samples, as the model's paper defines them.
    """

    kind: Score
    average: float
    point: float
    unigram: float | None
    documents: int
    held_out_tokens: int
    dropped: int
    samples: int
    observed_fraction: float | None
    seed: int
    iteration: int
    others: dict[str, float]

    def record(self) -> dict[str, float | int | None]:
        """The same by name, for JSON."""
        kind = self.kind
        record = {
            kind.name: self.average, kind.point: self.point, kind.unigram: self.unigram,
            "documents": self.documents, "held_out_tokens": self.held_out_tokens,
            "dropped": self.dropped, "samples": self.samples,
            "observed_fraction": self.observed_fraction, "seed": self.seed,
            "iteration": self.iteration,
        }  # fmt: skip
        return record | self.others


class Word(NamedTuple):
    """A top word of a topic, with a credible interval where enough samples are kept."""

    word: str
    probability: float
    low: float | None
    high: float | None


class Topic(NamedTuple):
    """What is shown of a topic; ``id`` is its row in an export.

    ``documents`` is how many training documents have this component of a mixture; None of a topic.
    """

    id: int
    weight: float | None
    npmi: float | None
    umass: float | None
    words: tuple[Word, ...]
    documents: int | None


class Measure(NamedTuple):
    """Of one quantity over all chains: `pysgrld.evaluate.convergence.Convergence` has the meaning."""

    rhat: float
    ess_bulk: float
    ess_tail: float

    @classmethod
    def at(cls, found: Convergence, at: int | tuple[int, int]) -> Measure:
        """Of the quantity at this place."""
        return cls(float(found.rhat[at]), float(found.bulk[at]), float(found.tail[at]))


class Quantity(NamedTuple):
    """What every draw of a mixture has, whatever its components are called: means of each chain."""

    name: str
    title: str
    mean: tuple[float, ...]
    measure: Measure


class TopWord(NamedTuple):
    """A word of a topic: its mean probability in each chain, and how that has mixed."""

    word: str
    probability: tuple[float, ...]
    measure: Measure


class MatchedTopic(NamedTuple):
    """A topic of the first chain and its counterparts.

    Attributes
    ----------
    id : int
        Its row in the first chain.
    counterparts : tuple of int
        Its row in every chain, the first one's too.
    overlap : float
        Probability that the mean topics of the two least similar chains have in common: 1 where
        they are the same, 0 where they share no word. Of one chain: that of its two halves.
    weight : tuple of float
        Mean share of the held-out documents' tokens in each chain; empty where there are none.
    weight_measure : Measure or None
        How that share has mixed.
    words : tuple of TopWord
        Top words of the first chain's topic, the first first.
    """

    id: int
    counterparts: tuple[int, ...]
    overlap: float
    weight: tuple[float, ...]
    weight_measure: Measure | None
    words: tuple[TopWord, ...]

    @property
    def rhat(self) -> float:
        """The greatest of the weight and of the top words; NaN where none of them ever changes."""
        return _worst(np.fmax, [m.rhat for m in self.measures])

    @property
    def ess(self) -> float:
        """The smallest effective sample size of the same, bulk and tail."""
        return _worst(np.fmin, [x for m in self.measures for x in (m.ess_bulk, m.ess_tail)])

    @property
    def measures(self) -> list[Measure]:
        """Of the weight, where it is known, and of the top words."""
        own = [] if self.weight_measure is None else [self.weight_measure]
        return own + [word.measure for word in self.words]


class Prediction(NamedTuple):
    """Held-out documents as each draw predicts them.

    Attributes
    ----------
    log_probability : tuple of float
        Mean over the draws of each chain, per held-out token; of a mixture per document.
    measure : Measure
        Over all chains.
    alone : tuple of float
        R-hat of each chain by itself, its first half against its second: above 1 while it drifts.
    """

    log_probability: tuple[float, ...]
    measure: Measure
    alone: tuple[float, ...]


class Diagnosis(NamedTuple):
    """What `diagnose` finds.

    Attributes
    ----------
    runs : tuple of Path
        One for each chain.
    algo, model : str
    layer : int
        Counted from 1.
    iterations : tuple of int
        The iterations whose samples are compared: those that all chains have kept.
    kept, last : tuple of int
        Kept samples of each chain, and the iteration of the last of them.
    topics : tuple of MatchedTopic
        In the order of the first chain's rows; none of a mixture.
    prediction : Prediction or None
        None without held-out documents, or where chains hold out different ones.
    moved : tuple of int
        In each chain, topics that have another's place in its second half. A chain's samples keep
        their labels as long as there are none.
    noise : float or None
        Variance of ``scir``'s draws over the posterior's, by minibatch noise alone, at the last
        iteration compared; None for other samplers.
    contraction : tuple of float
        Of ``sgrld``, for each topic of the first chain: r_k = h (N_k + V eta) / s_k, the share of a
        deviation that a step takes away, where s_k is the scale of its unnormalised topic; steps are
        stable below 2. Empty for other samplers.
    slow_tails : bool
        Whether the sampler hardly moves the words that a topic does not use.
    traces : Doubles or None
        Log probability per held-out token (of a mixture: document) of each draw, (chains, draws).
    notes : tuple of str
        What else a person should know.
    quantities : tuple of Quantity
        Of a mixture, whose components cannot be matched.
    """

    runs: tuple[Path, ...]
    algo: str
    model: str
    layer: int
    iterations: tuple[int, ...]
    kept: tuple[int, ...]
    last: tuple[int, ...]
    topics: tuple[MatchedTopic, ...]
    prediction: Prediction | None
    moved: tuple[int, ...]
    noise: float | None
    contraction: tuple[float, ...]
    slow_tails: bool
    traces: Doubles | None
    notes: tuple[str, ...]
    quantities: tuple[Quantity, ...] = ()

    @property
    def chains(self) -> int:
        """How many."""
        return len(self.runs)


def _worst(which: Callable[..., Doubles], values: Sequence[float]) -> float:
    """The greatest or smallest, leaving out what is no number."""
    worst = float("nan")
    for value in values:
        worst = float(which(worst, value))
    return worst
