"""The result of a comparison of chains, `Diagnosis`, and its meaning in sentences, `verdict`.

docs/diagnose.md explains the numbers. `pysgrld.reading.compare_chains` computes them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.chain.exact import ENOUGH as ENOUGH_SWEEPS
from pysgrld.errors import all_of, plural
from pysgrld.evaluate.convergence import Convergence
from pysgrld.evaluate.matching import SAME
from pysgrld.run import chains_of
from pysgrld.types import QUIET, Doubles, wider

#: Split R-hat below which chains are called mixed; demanding work asks for 1.01.
MIXED = 1.1
#: Effective draws in all chains together below which estimates are rough (Vehtari et al. 2021).
ENOUGH = 400
#: Langevin steps that contract by more than this do not converge.
STABLE = 2.0
#: Fewest samples of each chain for a statement on whether it still drifts.
FEW = 50
#: A chain is called short that ends before this share of the longest.
SHORT = 0.7
#: What held-out documents are followed by, for each unit that draws predict.
LOG_OF = {"token": "log probability of a token", "document": "log density of a document"}
#: Topics that are listed in a sentence.
LISTED = 20
#: Topics, words and chains that a `Diagnosis` shows of itself.
SHOWN = 10


class Measure(NamedTuple):
    """R-hat and effective sample sizes of one quantity, over all chains.

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
        """Return the values of one of several quantities.

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
    """A quantity that does not depend on names of topics: its mean in each chain, R-hat and ESS."""

    name: str
    title: str
    mean: tuple[float, ...]
    measure: Measure


class TopWord(NamedTuple):
    """A word of a topic: its mean probability in each chain, R-hat and ESS."""

    word: str
    probability: tuple[float, ...]
    measure: Measure


class MatchedTopic(NamedTuple):
    """A topic of the first chain and its counterparts.

    Attributes
    ----------
    id : int
        Row of the topic in the first chain.
    counterparts : tuple of int
        Rows of the topic in every chain, the first one's too.
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
        Top words of the first chain's topic, the first first.
    found : int
        Number of chains that found it: the size of the largest set of chains, the first included,
        in which any two have `SAME` of the topic in common.
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
        """The greatest R-hat of the weight and of the top words; NaN if none of them ever changes."""
        return float(np.fmax.reduce([m.rhat for m in self.measures], initial=math.nan))

    @property
    def ess(self) -> float:
        """The smallest effective sample size of the weight and of the top words, bulk and tail."""
        sizes = [size for m in self.measures for size in (m.ess_bulk, m.ess_tail)]
        return float(np.fmin.reduce(sizes, initial=math.nan))

    @property
    def measures(self) -> list[Measure]:
        """R-hat and effective sample sizes of the weight, if known, and of the top words."""
        measures = [] if self.weight_measure is None else [self.weight_measure]
        return measures + [word.measure for word in self.words]


class Prediction(NamedTuple):
    """Scores of the draws of each chain on held-out documents.

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
    """The result of `diagnose`, a comparison of chains.

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
        Kept samples of each chain, and the iteration of the last of them.
    topics : tuple of MatchedTopic
        In the order of the first chain's rows; empty if topics cannot be matched.
    prediction : Prediction or None
        None without held-out documents, or if chains hold out different ones.
    moved : tuple of int
        In each chain, the number of topics that have another topic's row in its second half. If it
        is 0, rows of the chain's samples are the same topics throughout.
    noise : float or None
        Factor by which minibatch noise inflates the variance of draws given the counts, at the last
        compared iteration: 1 for exact samplers, None if unknown.
    contraction : tuple of float
        For ``sgrld``, for each topic of the first chain: r_k = h (N_k + V eta) / s_k, the share of
        a deviation that a step takes away; s_k is the scale of the unnormalised topic. Steps are
        stable below 2. Empty for other samplers.
    slow_tails : bool
        True if the sampler hardly moves the words that a topic does not use.
    traces : Doubles or None
        Log probability of each draw, (chains, draws), as `Prediction` has its mean.
    notes : tuple of str
        Remarks on what could not be compared.
    quantities : tuple of Quantity
        Quantities to compare if topics cannot be matched.
    noun : str
        Name of a topic in sentences: "topic", or "component".
    unit : {"token", "document"}
        Unit of prediction: held-out tokens given the rest of their documents, or documents.
    faithful : bool
        True if draws vary as the posterior does, according to present knowledge.
    remedy : str or None
        Training options with which draws would vary as the posterior does, or None if unknown.
    slim : bool
        True if topics are followed by top-word samples: by the most probable words of each.
    traced : tuple of int
        Iterations of `traces`, from full samples.
    exact_sweeps : int
        Sweeps of the Gibbs refinement from which the compared draws come; 0 if they come from
        training.
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
        """Show the compared runs, and a line for each of the first topics, by overlap."""
        names = ", ".join(map(str, self.runs[:SHOWN])) + ", ..." * (self.chains > SHOWN)
        lines = [
            f"Diagnosis of {plural(self.chains, 'chain')} ({names}), {self.algo}, "
            f"{plural(len(self.iterations), 'sample')} each; verdict(...) explains it"
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


def is_shared(topic: MatchedTopic) -> bool:
    """Return True if a topic is the same in all chains: its overlap is at least `SAME`.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.

    Returns
    -------
    bool
        False for a topic that some chain lacks.
    """
    return topic.overlap >= SAME


def is_mixed(quantity: MatchedTopic | Measure) -> bool:
    """Return True if R-hat is below `MIXED`: of a quantity, or of a topic's weight and all its top words.

    Parameters
    ----------
    quantity : MatchedTopic or Measure

    Returns
    -------
    bool
        True also for a quantity that never changes.
    """
    return not quantity.rhat >= MIXED  # NaN is the R-hat of a quantity that never changes


#: Overlap of the two least similar chains, by their number, from which a further chain had the topic in
#: 9 of 10 cases (docs/internals/report.md); of more chains as of four.
FIRM = {2: 0.9, 3: 0.8, 4: 0.75}
#: Least share of a topic that is firm with only two chains, relative to the average topic.
LARGE = 1.25


def is_firm(topic: MatchedTopic, chains: int, share: float) -> bool:
    """Return True if a further chain is expected to have a topic of several chains.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.
    chains : int
        At least 2.
    share : float
        Share of the topic, in shares of the average topic.
    """
    is_large = chains > 2 or share >= LARGE
    return is_large and topic.overlap >= FIRM[min(chains, max(FIRM))]


class Judgement(NamedTuple):
    """A sentence of a verdict, and whether it is good news, or None if it is neither good nor bad."""

    good: bool | None
    sentence: str


def verdict(d: Diagnosis) -> list[str]:
    """Return a verdict in plain words: the agreement of the chains, and the advice.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of str
        Paragraphs, at least two; docs/diagnose.md has the thresholds behind them.
    """
    return [judgement.sentence for judgement in judgements(d)]


def judgements(d: Diagnosis) -> list[Judgement]:
    """Return the sentences of `verdict`, each marked as good news or not.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of Judgement
        Sentences in the order of `verdict`.
    """
    several, advice = d.chains > 1, _advice(d)
    sure = [topic for topic in d.topics if is_shared(topic)]
    if d.topics:
        result = [Judgement(len(sure) == len(d.topics), _same(d))]
    else:
        mixed = all(is_mixed(q.measure) for q in d.quantities)
        result = [] if _untold(d) else [Judgement(mixed, _quantities(d))]
    untold = _untold(d)
    if sure and not untold:
        parts = "chains" if several else "exact chains" if d.exact_sweeps else "two halves"
        result.append(Judgement(all(map(is_mixed, sure)), _mixing(sure, parts)))
    if d.prediction is not None and not untold:
        result.append(Judgement(is_mixed(d.prediction.measure), _prediction(d)))
    result.append(Judgement(advice.good, advice.sentence))
    if not several:
        alone = (
            f"Another chain may find other {d.noun}s: here the first half of one chain is compared with "
            "its second half. Train several chains: repeat the train command with --chains 4."
        )
        result.append(Judgement(None, alone))
    if sum(d.moved):
        moved = (
            f"{plural(sum(d.moved), 'topic')} changed places within a chain: their results compare "
            "different topics."
        )
        result.append(Judgement(False, moved))
    result += [Judgement(False, sentence) for sentence in _sampler(d)]
    if not d.exact_sweeps and d.iterations[-1] < SHORT * max(d.last):
        short = (
            f"The shortest chain ends at iteration {min(d.last):,}, and the longest at "
            f"{max(d.last):,}: later samples of the other chains are left out. Train the shortest chain "
            "longer, or leave it out."
        )
        result.append(Judgement(None, short))
    return [*result, *(Judgement(None, f"{note[0].upper()}{note[1:]}.") for note in d.notes)]


def longer(d: Diagnosis) -> list[str]:
    """Return the commands that train the chains for twice as long, if `verdict` advises that.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of str
        One for a folder of chains, or one for each run; empty if more iterations would not help.
    """
    if not _advice(d).longer:
        return []
    folders = {run.parent for run in d.runs}
    whole = len(folders) == 1 and set(chains_of(folder := folders.pop())) == set(d.runs)
    named = [folder] if whole else d.runs
    option = f"--iterations {2 * max(d.last)}"
    if d.exact_sweeps:
        option = f"--exact-sweeps {max(ENOUGH_SWEEPS, 2 * d.exact_sweeps)}"
    return [f"sgmc train --resume {shlex.quote(str(run))} {option}" for run in named]


def _untold(d: Diagnosis) -> bool:
    """Return True if there are too few draws for any R-hat."""
    rhats = [topic.rhat for topic in d.topics] + [q.measure.rhat for q in d.quantities]
    if d.prediction is not None:
        rhats.append(d.prediction.measure.rhat)
    return len(d.iterations) < FEW and all(map(math.isnan, rhats))


def _same(d: Diagnosis) -> str:
    differing = [topic for topic in d.topics if not is_shared(topic)]
    k, n = len(d.topics), len(d.topics) - len(differing)
    where = "in both halves of the chain" if d.chains == 1 else f"in {all_of(d.chains, 'chains')}"
    common = f"at least {100 * SAME:.0f} % of their probability in common"
    if not differing:
        which = f"All {k} topics are" if k > 1 else "The one topic is"
        return f"{which} the same {where}, with {common}."
    if not n:
        return f"None of the {k} topics is the same {where}: none has {common}."
    listed = ", ".join(str(t.id) for t in sorted(differing, key=lambda t: t.id)[:LISTED])
    omitted = f" and {len(differing) - LISTED} more" if len(differing) > LISTED else ""
    return (
        f"{n} of {k} topics {'is' if n == 1 else 'are'} the same {where}, with {common}; "
        f"{len(differing)} {'is' if len(differing) == 1 else 'are'} not: {listed}{omitted}."
    )


def _quantities(d: Diagnosis) -> str:
    nouns = f"{d.noun.capitalize()}s"
    unmixed = [q.title for q in d.quantities if not is_mixed(q.measure)]
    criterion = f"R-hat below {MIXED:g}"
    if unmixed:
        return (
            f"{nouns} differ from draw to draw and are not matched. Of the quantities of every draw, "
            f"{len(d.quantities) - len(unmixed)} of {len(d.quantities)} "
            f"{'has' if len(d.quantities) - len(unmixed) == 1 else 'have'} mixed ({criterion}); not: "
            f"{'; '.join(unmixed)}."
        )
    least = min(
        (
            min(q.measure.ess_bulk, q.measure.ess_tail)
            for q in d.quantities
            if not math.isnan(q.measure.rhat)
        ),
        default=math.nan,
    )
    size = f"effective sample size (ESS) is at least {least:,.0f}"
    if least < ENOUGH:
        size += f" ({ENOUGH} needed for reliable intervals)"
    return (
        f"{nouns} differ from draw to draw and are not matched. All quantities of every draw have mixed "
        f"({criterion}); {size}."
    )


def _mixing(sure: Sequence[MatchedTopic], parts: str) -> str:
    mixed = [topic for topic in sure if is_mixed(topic)]
    criterion = f"R-hat of weight and top words below {MIXED:g}"
    left_out = "intervals of one chain ignore that; intervals of all chains allow for it"
    if parts == "exact chains":
        left_out = "intervals use all four chains and allow for it"
    if not mixed:
        return (
            f"No shared topic has mixed ({criterion}): the {parts} agree on the words of the shared "
            f"topics, not on their numbers. {left_out[:1].upper()}{left_out[1:]}."
        )
    least = min((t.ess for t in mixed if not math.isnan(t.ess)), default=math.nan)
    size = f"effective sample size (ESS) is at least {least:,.0f}"
    if least < ENOUGH:
        size += f" ({ENOUGH} needed for reliable intervals)"
    if len(mixed) == len(sure):
        return f"All shared topics have mixed ({criterion}); {size}."
    return (
        f"Of the shared topics {len(mixed)} {'has' if len(mixed) == 1 else 'have'} mixed "
        f"({criterion}; {size}); the numbers of the other {len(sure) - len(mixed)} differ between "
        f"{parts.removeprefix('two ')} by more than within them: {left_out}."
    )


def _prediction(d: Diagnosis) -> str:
    assert d.prediction is not None
    least, most = min(d.prediction.log_probability), max(d.prediction.log_probability)
    rhat = d.prediction.measure.rhat
    opening = f"Held-out documents: R-hat of their log probability is {rhat:.2f}; "
    if not rhat >= MIXED:
        return opening + f"{'the chains' if d.chains > 1 else 'both halves'} predict equally well."
    if d.chains == 1:
        return opening + "the two halves of the chain do not predict equally well."
    if d.unit == "document":
        return opening + (
            "the chains do not predict equally well. Minus the log density of a document is "
            f"{-most:,.3f} in the best chain and {-least:,.3f} in the worst."
        )
    worst, best = math.exp(-least), math.exp(-most)
    return opening + (
        f"the chains do not predict equally well. A draw's perplexity is {best:,.1f} in the best "
        f"chain and {worst:,.1f} in the worst, {100 * (worst / best - 1):.1f} % apart."
    )


class _Advice(NamedTuple):
    """Advice in one sentence, with a flag for longer training and a flag for a good result."""

    sentence: str
    longer: bool = False
    good: bool = False


def _advice(d: Diagnosis) -> _Advice:
    same = sum(map(is_shared, d.topics)) == len(d.topics)
    mixed = same and all(map(is_mixed, d.topics))
    mixed = mixed and all(is_mixed(q.measure) for q in d.quantities)
    if d.prediction is not None and d.prediction.measure.rhat >= MIXED:
        mixed = False
    if _untold(d):
        return _Advice(
            f"{plural(len(d.iterations), 'draw')} of each chain are too few to judge mixing: train "
            "longer.",
            longer=True,
        )
    drifting = [
        n for n, rhat in enumerate(d.prediction.alone if d.prediction else (), 1) if rhat >= MIXED
    ]
    if mixed:
        return _Advice(
            "Nothing speaks against using the draws of all chains together."
            if (d.chains > 1)
            else "Nothing speaks against using its draws.",
            good=True,
        )
    if len(d.iterations) < FEW:
        return _Advice(
            f"Only {len(d.iterations)} samples of each chain are compared, too few for more: train "
            "longer, or train a new run with a smaller --sample-every.",
            longer=True,
        )
    if drifting and d.chains > 1:
        which = (
            "Every chain"
            if len(drifting) == d.chains
            else (f"Chain{'s' if len(drifting) > 1 else ''} {', '.join(map(str, drifting))}")
        )
        verb = "still drift" if len(drifting) > 1 and len(drifting) < d.chains else "still drifts"
        return _Advice(
            f"{which} {verb} (R-hat of first and second half): train longer first; --burn-in N leaves "
            "early samples out here.",
            longer=True,
        )
    if drifting:
        return _Advice("The chain still drifts: train longer.", longer=True)
    if d.chains == 1:
        return _Advice(
            f"The chain moves slowly: for results of single {d.noun}s train longer. Held-out perplexity, "
            "an average over all of them, may have converged all the same.",
            longer=True,
        )
    apart = (
        "Each chain is steady by itself, but they stay in different places: training longer "
        "may not bring them together. "
    )
    if not d.topics:
        return _Advice(apart + "Average predictions over the chains.")
    return _Advice(
        apart + "Fewer --topics leave fewer ways to differ; trust the shared topics, and "
        "average predictions over the chains."
    )


def _sampler(d: Diagnosis) -> list[str]:
    remarks = []
    if d.noise is not None and d.noise > QUIET:
        widening = f", about {wider(d.noise):.2g} times the posterior's" if d.topics else ""
        remarks.append(
            f"Minibatch noise makes the variance of {d.algo}'s draws {d.noise:.3g} times what it is "
            f"given the counts{widening}: use averages, as single draws and intervals vary too much. "
            "Chains that agree do not make intervals right; "
            f"{d.remedy} does, in a run that mixes more slowly."
        )
    elif d.noise is not None and not d.faithful:
        remarks.append(
            "Minibatches add little noise, but means of topics may be off by more than the "
            f"posterior's width: {d.remedy} gives credible intervals."
        )
    if d.contraction and max(d.contraction) > STABLE:
        n = sum(r > STABLE for r in d.contraction)
        remarks.append(
            f"Steps of {d.algo} are too large for {plural(n, 'topic')}: h (N_k + V eta) / s_k is up to "
            f"{max(d.contraction):.3g}, and stable below 2. Use a smaller --step-size."
        )
    if d.slow_tails:
        remarks.append(
            "Mirrored Langevin hardly moves the words that a topic does not use: these results apply "
            "to the words that it uses."
        )
    return remarks
