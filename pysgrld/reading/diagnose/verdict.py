"""The meaning of a diagnosis, in sentences."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from pysgrld.errors import all_of
from pysgrld.reading.values import SAME, Diagnosis, MatchedTopic, Measure
from pysgrld.run import chains_of
from pysgrld.types import FORGOTTEN, QUIET, wider

#: Split R-hat below which chains are called mixed; demanding work asks for 1.01.
MIXED = 1.1
#: Effective draws in all chains together below which figures are rough (Vehtari et al. 2021).
ENOUGH = 400
#: Langevin steps that contract by more than this do not converge.
STABLE = 2.0
#: Samples of each chain below which nothing is said of where chains have settled.
FEW = 50
#: A chain is called short that ends before this share of the longest.
SHORT = 0.7
#: What held-out documents are followed by, for each unit that draws predict.
LOG_OF = {"token": "log probability of a token", "document": "log density of a document"}
#: Topics that are listed in a sentence.
LISTED = 20


def is_shared(topic: MatchedTopic) -> bool:
    """Say whether the topic is called the same in all chains.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.
    """
    return topic.overlap >= SAME


def is_mixed(topic: MatchedTopic) -> bool:
    """Say whether the weight of a topic and the probabilities of its top words have mixed.

    Parameters
    ----------
    topic : MatchedTopic
        A topic of the first chain and its counterparts.
    """
    return not topic.rhat >= MIXED  # of what never changes there is no R-hat


def has_mixed(measure: Measure) -> bool:
    """Say whether a quantity has mixed: its R-hat is below `MIXED`.

    Parameters
    ----------
    measure : Measure
        R-hat and effective sample sizes of the quantity.
    """
    return not measure.rhat >= MIXED  # of what never changes there is no R-hat


class Judgement(NamedTuple):
    """A sentence of a verdict, and whether it is good news; None where it is neither."""

    good: bool | None
    sentence: str


def verdict(d: Diagnosis) -> list[str]:
    """Say in plain words what the chains agree on, what they do not, and what to do.

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
    """Give the sentences of `verdict`, each with whether it is good news.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.
    """
    several, advice = d.chains > 1, _advice(d)
    sure = [topic for topic in d.topics if is_shared(topic)]
    if d.topics:
        said = [Judgement(len(sure) == len(d.topics), _same(d))]
    else:
        said = [Judgement(all(has_mixed(q.measure) for q in d.quantities), _quantities(d))]
    if sure:
        said.append(Judgement(all(map(is_mixed, sure)), _mixing(sure, several)))
    if d.prediction is not None:
        said.append(Judgement(has_mixed(d.prediction.measure), _prediction(d)))
    said.append(Judgement(advice.good, advice.sentence))
    if not several:
        alone = (
            f"One chain cannot tell whether another would have found other {d.noun}s: here its first "
            "half is compared with its second. Train several: the command that made it, with --chains 4."
        )
        said.append(Judgement(None, alone))
    if sum(d.moved):
        moved = (
            f"{_count(sum(d.moved), 'topic')} changed places within a chain: figures of these compare "
            "what is not the same."
        )
        said.append(Judgement(False, moved))
    said += [Judgement(False, sentence) for sentence in _sampler(d)]
    if d.iterations[-1] < SHORT * max(d.last):
        short = (
            f"The shortest chain ends at iteration {min(d.last):,}, and the longest at "
            f"{max(d.last):,}: what is later than the shortest is left out. Let it catch up, or leave "
            "it out."
        )
        said.append(Judgement(None, short))
    return [*said, *(Judgement(None, f"{note[0].upper()}{note[1:]}.") for note in d.notes)]


def longer(d: Diagnosis) -> list[str]:
    """Give the commands that train the chains for twice as long, where that is the advice.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of str
        One for a folder of chains, or one for each run; none where more iterations are not what helps.
    """
    if not _advice(d).longer:
        return []
    folders = {run.parent for run in d.runs}
    whole = len(folders) == 1 and set(chains_of(folder := folders.pop())) == set(d.runs)
    named = [folder] if whole else d.runs
    return [
        f"sgmc train --resume {shlex.quote(str(run))} --iterations {2 * max(d.last)}"
        for run in named
    ]


def _same(d: Diagnosis) -> str:
    others = [topic for topic in d.topics if not is_shared(topic)]
    k, n = len(d.topics), len(d.topics) - len(others)
    where = "in both halves of the chain" if d.chains == 1 else f"in {all_of(d.chains, 'chains')}"
    common = f"at least {100 * SAME:.0f} % of their probability in common"
    if not others:
        which = f"All {k} topics are" if k > 1 else "The one topic is"
        return f"{which} the same {where}, with {common}."
    if not n:
        return f"None of the {k} topics is the same {where}: none has {common}."
    listed = ", ".join(str(t.id) for t in sorted(others, key=lambda t: t.id)[:LISTED])
    more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
    return (
        f"{n} of {k} topics {'is' if n == 1 else 'are'} the same {where}, with {common}; "
        f"{len(others)} {'is' if len(others) == 1 else 'are'} not: {listed}{more}."
    )


def _quantities(d: Diagnosis) -> str:
    nouns = f"{d.noun.capitalize()}s"
    others = [q.title for q in d.quantities if not has_mixed(q.measure)]
    what = f"R-hat below {MIXED:g}"
    if others:
        return (
            f"{nouns} differ from draw to draw and are not matched. Of what every draw has, "
            f"{len(d.quantities) - len(others)} of {len(d.quantities)} quantities "
            f"{'has' if len(d.quantities) - len(others) == 1 else 'have'} mixed ({what}); not: "
            f"{'; '.join(others)}."
        )
    least = min(
        (
            min(q.measure.ess_bulk, q.measure.ess_tail)
            for q in d.quantities
            if not math.isnan(q.measure.rhat)
        ),
        default=math.nan,
    )
    worth = f"the draws are worth {least:,.0f} independent ones or more"
    if least < ENOUGH:
        worth += f", where {ENOUGH} make intervals reliable"
    return (
        f"{nouns} differ from draw to draw and are not matched. All that every draw has has mixed "
        f"({what}); {worth}."
    )


def _mixing(sure: Sequence[MatchedTopic], several: bool) -> str:
    mixed = [topic for topic in sure if is_mixed(topic)]
    what = f"R-hat of weight and top words below {MIXED:g}"
    who = "the chains agree" if several else "the two halves agree"
    if not mixed:
        return (
            f"Of the topics that are the same none has mixed ({what}): {who} on what they are about, "
            "not on their numbers. Intervals of one chain leave that out."
        )
    least = min((t.ess for t in mixed if not math.isnan(t.ess)), default=math.nan)
    worth = f"the draws of each are worth {least:,.0f} independent ones or more"
    if least < ENOUGH:
        worth += f", where {ENOUGH} make intervals reliable"
    if len(mixed) == len(sure):
        return f"Of the topics that are the same all have mixed ({what}); {worth}."
    return (
        f"Of the topics that are the same {len(mixed)} {'has' if len(mixed) == 1 else 'have'} mixed "
        f"({what}; {worth}); of the other {len(sure) - len(mixed)} the numbers differ between "
        f"{'chains' if several else 'halves'} by more than within them: intervals of one chain "
        "leave that out."
    )


def _prediction(d: Diagnosis) -> str:
    assert d.prediction is not None
    least, most = min(d.prediction.log_probability), max(d.prediction.log_probability)
    rhat = d.prediction.measure.rhat
    said = f"Held-out documents: R-hat of their log probability is {rhat:.2f}; "
    if not rhat >= MIXED:
        return said + f"{'the chains' if d.chains > 1 else 'both halves'} predict alike."
    if d.chains == 1:
        return said + "the two halves of the chain do not predict alike."
    if d.unit == "document":
        return said + (
            "the chains do not predict alike. Minus the log density of a document is "
            f"{-most:,.3f} in the best chain and {-least:,.3f} in the worst."
        )
    worst, best = math.exp(-least), math.exp(-most)
    return said + (
        f"the chains do not predict alike. A draw's perplexity is {best:,.1f} in the best chain and "
        f"{worst:,.1f} in the worst, {100 * (worst / best - 1):.1f} % apart."
    )


class _Advice(NamedTuple):
    """The sentence that says what to do, whether that is to train longer, and whether all is well."""

    sentence: str
    longer: bool = False
    good: bool = False


def _advice(d: Diagnosis) -> _Advice:
    same = sum(map(is_shared, d.topics)) == len(d.topics)
    mixed = same and all(map(is_mixed, d.topics))
    mixed = mixed and all(has_mixed(q.measure) for q in d.quantities)
    if d.prediction is not None and d.prediction.measure.rhat >= MIXED:
        mixed = False
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
            f"Only {len(d.iterations)} samples of each chain are compared, which is too few to tell "
            "more: train longer, or anew with a smaller --sample-every.",
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
            f"The chain moves slowly: for figures of single {d.noun}s train longer. Held-out perplexity, "
            "an average over all of them, may have settled all the same.",
            longer=True,
        )
    apart = (
        "Each chain is steady by itself, but they stay in different places: training longer "
        "may not bring them together. "
    )
    if not d.topics:
        return _Advice(apart + "Average predictions over the chains.")
    return _Advice(
        apart
        + "Fewer --topics leave fewer ways to differ; trust the topics that are the same, and "
        "average predictions over the chains."
    )


def _sampler(d: Diagnosis) -> list[str]:
    said = []
    if d.noise is not None and d.noise > QUIET:
        beside = f", about {wider(d.noise):.2g} times the posterior's" if d.topics else ""
        said.append(
            f"Minibatch noise makes the variance of {d.algo}'s draws {d.noise:.3g} times what it is "
            f"given the counts{beside}: use averages, as single draws and intervals vary too much. "
            "Chains that agree do not make intervals right; "
            f"{d.remedy} does, in a run that mixes more slowly."
        )
    elif d.noise is not None and not d.faithful:
        said.append(
            "Documents start afresh in every iteration, with few sweeps; with as little minibatch noise "
            "as here means of topics may be off by more than the posterior's width. Give --sweeps "
            f"{FORGOTTEN} or more, or --algo gibbs."
        )
    if d.contraction and max(d.contraction) > STABLE:
        n = sum(r > STABLE for r in d.contraction)
        said.append(
            f"Steps of {d.algo} are too large for {_count(n, 'topic')}: h (N_k + V eta) / s_k is up to "
            f"{max(d.contraction):.3g}, and stable below 2. Use a smaller --step-size."
        )
    if d.slow_tails:
        said.append(
            "Mirrored Langevin hardly moves the words that a topic does not use: what is told here is "
            "of the words that it does."
        )
    return said


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
