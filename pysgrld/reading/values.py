"""Values that reading a run, or comparing several, gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysgrld.errors import plural
from pysgrld.evaluate.estimate import Estimate
from pysgrld.evaluate.score import Score
from pysgrld.types import Doubles

if TYPE_CHECKING:
    from pysgrld.evaluate.convergence import Convergence

#: Topics, words and chains that a `Diagnosis` shows of itself.
SHOWN = 10


class Evaluation(NamedTuple):
    """The scores of a run on held-out documents.

    Attributes
    ----------
    kind : Score
        The figure that the scores are.
    average, point : Estimate
        Score of the posterior average, and of the current topics, with standard errors over documents.
    unigram : Estimate or None
        Score of the word frequencies of training; None where the run does not have them.
    documents, held_out_tokens : int
        Documents and held-out tokens that were scored.
    dropped : int
        Documents that could not be split, or have no known word in one of their parts.
    samples : int
        Posterior samples in the average; 0: there is none yet, and both are of the current topics.
    observed_fraction : float or None
        Share of the tokens that is observed; None where documents are scored whole.
    seed : int
    iteration : int
    others : dict
        Further figures of the same samples, as the model's paper defines them.
    numbers : dict
        Numbers that the model has beside its score, at the newest checkpoint.
    chains : int
        Chains of the run. All the figures above are of the first one.
    pooled : Estimate or None
        Score of the posterior average over all chains, each counting the same; None of one chain, and
        where a chain has no sample or other held-out documents.
    """

    kind: Score
    average: Estimate
    point: Estimate
    unigram: Estimate | None
    documents: int
    held_out_tokens: int
    dropped: int
    samples: int
    observed_fraction: float | None
    seed: int
    iteration: int
    others: dict[str, float]
    numbers: dict[str, int]
    chains: int = 1
    pooled: Estimate | None = None

    def beside(self) -> dict[str, Estimate]:
        """Give the figures that the average is compared with, by name."""
        found = {} if self.samples == 0 else {self.kind.point: self.point}
        found |= {} if self.pooled is None else {self.kind.pooled: self.pooled}
        return found if self.unigram is None else found | {self.kind.unigram: self.unigram}

    def record(self) -> dict[str, Any]:
        """Give all figures by name, for JSON."""
        kind = self.kind
        figures = {kind.name: self.average, kind.point: self.point, kind.unigram: self.unigram}
        if self.chains > 1:
            figures[kind.pooled] = self.pooled
        record: dict[str, Any] = dict(figures)
        for name, figure in figures.items():
            record[f"{name}_se"] = None if figure is None else figure.error
        record["differences"] = {}
        for name, figure in self.beside().items():
            gap = self.average.minus(figure)
            record["differences"][name] = {"difference": gap, "se": gap.error}
        record |= {
            "documents": self.documents,
            "held_out_tokens": self.held_out_tokens,
            "dropped": self.dropped,
            "samples": self.samples,
            "observed_fraction": self.observed_fraction,
            "seed": self.seed,
            "iteration": self.iteration,
        }
        if self.chains > 1:
            record["chains"] = self.chains
        return record | self.others | self.numbers


class Word(NamedTuple):
    """A top word of a topic, with an interval of its draws where enough are kept.

    ``probability`` of a topic that is a direction is the word's entry. A bound is open where
    top-word samples do not tell it: it lies below what is given.
    """

    word: str
    probability: float
    low: float | None
    high: float | None
    low_open: bool = False
    high_open: bool = False


class Topic(NamedTuple):
    """A topic as it is shown; ``id`` is its row in an export.

    ``documents`` is how many training documents have this component; None where documents have several
    topics. ``against`` are the words that a direction points away from, the farthest first, as far as
    those are as far off as the last of the top words. ``label`` is the name that a person gave it,
    in the run's folder or with its seed words.
    """

    id: int
    weight: float | None
    npmi: float | None
    umass: float | None
    words: tuple[Word, ...]
    documents: int | None
    against: tuple[Word, ...] = ()
    label: str | None = None


class Measure(NamedTuple):
    """R-hat and effective sample sizes of one quantity, over all chains.

    `pysgrld.evaluate.convergence.Convergence` has the meaning of the figures.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float

    @classmethod
    def at(cls, found: Convergence, at: int | tuple[int, int]) -> Measure:
        """Pick the figures of the quantity at this place."""
        return cls(float(found.rhat[at]), float(found.bulk[at]), float(found.tail[at]))


class Quantity(NamedTuple):
    """A quantity that does not depend on names of topics: each chain's mean, and how it has mixed."""

    name: str
    title: str
    mean: tuple[float, ...]
    measure: Measure


class TopWord(NamedTuple):
    """A word of a topic: its mean probability in each chain, and how that has mixed."""

    word: str
    probability: tuple[float, ...]
    measure: Measure


#: Probability in common from which on topics of two chains are called the same.
SAME = 0.7


class MatchedTopic(NamedTuple):
    """A topic of the first chain and its counterparts.

    Attributes
    ----------
    id : int
        Row of the topic in the first chain.
    counterparts : tuple of int
        Rows of the topic in every chain, the first one's too.
    overlap : float
        Probability that the mean topics of the two least similar chains have in common: 1 where
        they are the same, 0 where they share no word. Of one chain: that of its two halves.
    overlaps : tuple of float
        What the first chain's mean topic has in common with its counterpart in each chain; 1 in the
        first.
    weight : tuple of float
        Mean share of the held-out documents' tokens in each chain; empty where there are none.
    weight_measure : Measure or None
        How that share has mixed.
    words : tuple of TopWord
        Top words of the first chain's topic, the first first.
    found : int
        Chains that found it: the most that there are, the first among them, of which any two have
        `SAME` of the topic in common.
    """

    id: int
    counterparts: tuple[int, ...]
    overlap: float
    weight: tuple[float, ...]
    weight_measure: Measure | None
    words: tuple[TopWord, ...]
    overlaps: tuple[float, ...] = ()
    found: int = 1

    @property
    def rhat(self) -> float:
        """The greatest R-hat of the weight and of the top words; NaN where none of them ever changes."""
        return _worst(np.fmax, [m.rhat for m in self.measures])

    @property
    def ess(self) -> float:
        """The smallest effective sample size of the weight and of the top words, bulk and tail."""
        return _worst(np.fmin, [x for m in self.measures for x in (m.ess_bulk, m.ess_tail)])

    @property
    def measures(self) -> list[Measure]:
        """Figures of the weight, where it is known, and of the top words."""
        own = [] if self.weight_measure is None else [self.weight_measure]
        return own + [word.measure for word in self.words]


class Prediction(NamedTuple):
    """Held-out documents as each draw predicts them.

    Attributes
    ----------
    log_probability : tuple of float
        Mean over the draws of each chain, for each unit of the `Diagnosis`.
    measure : Measure
        R-hat and effective sample sizes of the log probability, over all chains.
    alone : tuple of float
        R-hat of each chain by itself, its first half against its second: above 1 while it drifts.
    """

    log_probability: tuple[float, ...]
    measure: Measure
    alone: tuple[float, ...]


class Diagnosis(NamedTuple):
    """A comparison of chains, as `diagnose` gives it.

    Attributes
    ----------
    runs : tuple of Path
        Folders of the runs, one for each chain.
    algo, model : str
    layer : int
        Layer whose topics are compared, counted from 1.
    iterations : tuple of int
        The iterations whose samples are compared: those that all chains have kept.
    kept, last : tuple of int
        Kept samples of each chain, and the iteration of the last of them.
    topics : tuple of MatchedTopic
        In the order of the first chain's rows; none where topics cannot be matched.
    prediction : Prediction or None
        None without held-out documents, or where chains hold out different ones.
    moved : tuple of int
        In each chain, topics that have another's place in its second half. A chain's samples keep
        their labels as long as there are none.
    noise : float or None
        How much minibatch noise inflates the variance of draws given the counts, at the last iteration
        compared: 1 for exact samplers, None where it is not known.
    contraction : tuple of float
        Of ``sgrld``, for each topic of the first chain: r_k = h (N_k + V eta) / s_k, the share of a
        deviation that a step takes away, where s_k is the scale of its unnormalised topic; steps are
        stable below 2. Empty for other samplers.
    slow_tails : bool
        Whether the sampler hardly moves the words that a topic does not use.
    traces : Doubles or None
        Log probability of each draw, (chains, draws), as `Prediction` has its mean.
    notes : tuple of str
        Remarks on what could not be compared.
    quantities : tuple of Quantity
        Quantities that are compared where topics cannot be matched.
    noun : str
        Name of a topic in sentences: "topic", or "component".
    unit : {"token", "document"}
        Unit of prediction: held-out tokens given the rest of their documents, or documents.
    faithful : bool
        Whether draws vary as the posterior does, as far as is known.
    remedy : str or None
        Options of training at which they would; None where that is not known.
    slim : bool
        Whether topics are followed by top-word samples: by the most probable words of each.
    traced : tuple of int
        The iterations of `traces`: those of full samples.
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
    noun: str = "topic"
    unit: str = "token"
    faithful: bool = True
    remedy: str | None = None
    slim: bool = False
    traced: tuple[int, ...] = ()

    @property
    def chains(self) -> int:
        """Number of chains."""
        return len(self.runs)

    def __repr__(self) -> str:
        """Show what was compared, and a line for each of the first topics, by overlap."""
        names = ", ".join(map(str, self.runs[:SHOWN])) + ", ..." * (self.chains > SHOWN)
        lines = [
            f"Diagnosis of {plural(self.chains, 'chain')} ({names}), {self.algo}, "
            f"{plural(len(self.iterations), 'sample')} each; verdict(...) says it in words"
        ]
        ordered = sorted(self.topics, key=lambda topic: (-topic.overlap, topic.id))
        if ordered:
            lines.append(f"{self.noun:>9}  overlap  R-hat    ESS  top words")
        for topic in ordered[:SHOWN]:
            words = " ".join(word.word for word in topic.words[:SHOWN])
            lines.append(
                f"{topic.id:>9}  {topic.overlap:>7.2f}  {topic.rhat:>5.2f}  {topic.ess:>5,.0f}  {words}"
            )
        if len(ordered) > SHOWN:
            lines.append(
                f"      ...  and {plural(len(ordered) - SHOWN, 'more', 'more')} in .topics"
            )
        for q in self.quantities:
            means = ", ".join(f"{mean:.4g}" for mean in q.mean[:SHOWN])
            lines.append(f"{q.title}: R-hat {q.measure.rhat:.2f}, means {means}")
        return "\n".join(lines)


def _worst(which: Callable[..., Doubles], values: Sequence[float]) -> float:
    """Give the greatest or smallest value, leaving out what is no number."""
    worst = float("nan")
    for value in values:
        worst = float(which(worst, value))
    return worst
