"""`Diagnosis`: the result of a comparison of chains, with R-hat and ESS of topics and predictions.

docs/diagnose.md explains its numbers. `pysgrld.reading.compare_chains` computes them, and
`pysgrld.reading.verdict` writes the result in sentences.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.errors import plural
from pysgrld.evaluate.convergence import Convergence
from pysgrld.evaluate.matching import SAME
from pysgrld.types import Doubles

#: Chains are regarded as mixed if split R-hat is below this value. Strict standards require 1.01.
MIXED = 1.1
#: Name of the log score, by the unit (token or document) that the model predicts.
LOG_OF = {"token": "log probability of a token", "document": "log density of a document"}
#: The repr of a `Diagnosis` shows at most this number of topics, of words and of chains.
SHOWN = 10


class Measure(NamedTuple):
    """R-hat and effective sample sizes of a quantity, computed from all chains.

    Attributes
    ----------
    rhat : float
        Rank-normalised split R-hat; NaN if the quantity never changes.
    ess_bulk, ess_tail : float
        Effective sample sizes, in the middle of the distribution and in its 5 % tails.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float

    @classmethod
    def at(cls, convergence: Convergence, index: int | tuple[int, int]) -> Measure:
        """Return the R-hat and ESS of one quantity, given the convergence of all quantities.

        Parameters
        ----------
        convergence : Convergence
            Convergence of all quantities.
        index : int or tuple of int
            Index of the quantity in the arrays of ``convergence``.
        """
        return cls(
            float(convergence.rhat[index]),
            float(convergence.bulk[index]),
            float(convergence.tail[index]),
        )


class Quantity(NamedTuple):
    """Quantity that does not depend on topics' order: its mean in each chain, R-hat and ESS."""

    name: str
    title: str
    mean: tuple[float, ...]
    measure: Measure


class TopWord(NamedTuple):
    """Top word of a topic: the word's mean probability in each chain, its R-hat and ESS."""

    word: str
    probability: tuple[float, ...]
    measure: Measure


class MatchedTopic(NamedTuple):
    """Topic of the first chain, with the matching topics of the other chains.

    Attributes
    ----------
    id : int
        Row of the topic in the first chain.
    counterparts : tuple of int
        Row of the topic in each chain, including the first.
    overlap : float
        Probability that the mean topics of the two least similar chains have in common: 1 if they
        are the same, 0 if they share no word. For one chain: the overlap of its two halves.
    overlaps : tuple of float
        Overlap of the first chain's mean topic with its counterpart in each chain; 1 in the first.
    weight : tuple of float
        Mean share of the held-out documents' tokens in each chain; empty without held-out
        documents.
    weight_measure : Measure or None
        R-hat and effective sample sizes of that share.
    words : tuple of TopWord
        Top words of the first chain's topic, the most probable first.
    found : int
        Number of chains that found the topic: the size of the largest set of chains, including the
        first, in which every two chains' topics overlap by at least `SAME`.
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
        """Greatest R-hat of the topic's weight and top words; NaN if all of them are constant."""
        return float(np.fmax.reduce([m.rhat for m in self.measures], initial=math.nan))

    @property
    def ess(self) -> float:
        """Smallest ESS (bulk or tail) of the topic's weight and top words."""
        sizes = [size for m in self.measures for size in (m.ess_bulk, m.ess_tail)]
        return float(np.fmin.reduce(sizes, initial=math.nan))

    @property
    def measures(self) -> list[Measure]:
        """R-hat and ESS of the topic's weight, if known, and of each of its top words."""
        measures = [] if self.weight_measure is None else [self.weight_measure]
        return measures + [word.measure for word in self.words]


class Prediction(NamedTuple):
    """Scores of the samples of each chain on held-out documents, with R-hat.

    Attributes
    ----------
    log_probability : tuple of float
        Mean log probability per token or document (`Diagnosis.unit`), over the draws of each chain.
    measure : Measure
        R-hat and effective sample sizes of the log probability, over all chains.
    alone : tuple of float
        R-hat within each chain, its first half against its second: above 1 while the chain drifts.
    """

    log_probability: tuple[float, ...]
    measure: Measure
    alone: tuple[float, ...]


class Diagnosis(NamedTuple):
    """Result of comparing chains with `diagnose`.

    Attributes
    ----------
    runs : tuple of Path
        Folders of the runs, one for each chain.
    algo, model : str
    layer : int
        Layer of the compared topics, counted from 1.
    iterations : tuple of int
        Iterations of the compared samples, common to all chains.
    kept, last : tuple of int
        Number of kept samples of each chain, and the iteration of its last sample.
    topics : tuple of MatchedTopic
        In the order of the first chain's rows; empty if topics cannot be matched.
    prediction : Prediction or None
        None without held-out documents, or if chains hold out different documents.
    moved : tuple of int
        For each chain, the number of topics that moved to another row in its second half. If it is
        0, each row of the chain's samples is the same topic throughout.
    noise : float or None
        Factor by which minibatch noise inflates the variance of draws given the counts, at the last
        compared iteration: 1 for exact samplers, None if unknown.
    contraction : tuple of float
        For ``sgrld``, for each topic of the first chain: r_k = h (N_k + V eta) / s_k, the fraction
        of a deviation that a step removes; s_k is the scale of the unnormalised topic. Steps are
        stable if r_k is below 2. Empty for other samplers.
    slow_tails : bool
        True if the sampler hardly changes the probabilities of words that a topic does not use.
    traces : Doubles or None
        Log probability of each draw, (chains, draws); `Prediction` has its mean over each chain.
    notes : tuple of str
        Remarks on what could not be compared.
    quantities : tuple of Quantity
        Quantities to compare if topics cannot be matched.
    noun : str
        The word for a topic in sentences: "topic" or "component".
    unit : {"token", "document"}
        Unit of prediction: held-out tokens given the rest of their documents, or whole documents.
    faithful : bool
        True if, as far as is known, the draws have the spread of the posterior.
    remedy : str or None
        Training options with which draws have the spread of the posterior, or None if unknown.
    slim : bool
        True if topics are compared through top-word samples, which keep only each topic's most
        probable words.
    traced : tuple of int
        Iterations of the full samples in `traces`.
    exact_sweeps : int
        Number of sweeps of the Gibbs refinement that made the compared draws; 0 if the draws come
        from training.
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
    exact_sweeps: int = 0

    @property
    def chains(self) -> int:
        """Number of chains."""
        return len(self.runs)

    def __repr__(self) -> str:
        """Show the compared runs, then a line for each of the topics with the greatest overlap."""
        names = ", ".join(map(str, self.runs[:SHOWN])) + ", ..." * (self.chains > SHOWN)
        lines = [
            f"Diagnosis of {plural(self.chains, 'chain')} ({names}), {self.algo}, "
            f"{plural(len(self.iterations), 'sample')} each; for an explanation, call "
            "verdict(...)"
        ]
        ordered = sorted(self.topics, key=lambda topic: (-topic.overlap, topic.id))
        if ordered:
            lines.append(f"{self.noun:>9}  overlap  R-hat    ESS  top words")
        for topic in ordered[:SHOWN]:
            words = " ".join(word.word for word in topic.words[:SHOWN])
            lines.append(
                f"{topic.id:>9}  {topic.overlap:>7.2f}  {topic.rhat:>5.2f}  {topic.ess:>5,.0f}  "
                f"{words}"
            )
        if len(ordered) > SHOWN:
            lines.append(
                f"      ...  and {plural(len(ordered) - SHOWN, 'more', 'more')} in .topics"
            )
        for q in self.quantities:
            means = ", ".join(f"{mean:.4g}" for mean in q.mean[:SHOWN])
            lines.append(f"{q.title}: R-hat {q.measure.rhat:.2f}, means {means}")
        return "\n".join(lines)


def is_shared(topic: MatchedTopic) -> bool:
    """Return True if every chain has this topic: its overlap between chains is at least `SAME`.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.

    Returns
    -------
    bool
        False if at least one chain lacks the topic.
    """
    return topic.overlap >= SAME


def is_mixed(quantity: MatchedTopic | Measure) -> bool:
    """Return True if the R-hat of a quantity, or of a topic's weight and words, is below `MIXED`.

    Parameters
    ----------
    quantity : MatchedTopic or Measure

    Returns
    -------
    bool
        True also for a quantity that never changes.
    """
    # A quantity that never changes has the R-hat NaN, and counts as mixed.
    return not quantity.rhat >= MIXED


#: Minimum overlap of a topic in the two least similar chains, by number of chains. The last entry
#: also applies to more chains. A topic with this overlap is found by 9 of 10 further chains
#: (docs/internals/report.md).
FIRM = {2: 0.9, 3: 0.85, 4: 0.75}
#: With only two chains, a further chain is expected to have a topic only if the topic's share is at
#: least this multiple of the average share.
LARGE = 1.25


def is_firm(topic: MatchedTopic, chains: int, share: float) -> bool:
    """Return True if another chain is likely to have a topic, by the topic's overlap and share.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.
    chains : int
        At least 2.
    share : float
        Share of the topic, divided by the average share of a topic.
    """
    is_large = chains > 2 or share >= LARGE
    return is_large and topic.overlap >= FIRM[min(chains, max(FIRM))]
