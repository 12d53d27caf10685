"""Explanation in sentences of how well several chains agree: the `verdict` on a `Diagnosis`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from pysgrld.chain.exact import ENOUGH as ENOUGH_SWEEPS
from pysgrld.errors import all_of, plural
from pysgrld.evaluate.matching import SAME
from pysgrld.reading.diagnosis import MIXED, Diagnosis, MatchedTopic, is_mixed, is_shared
from pysgrld.run import find_chains
from pysgrld.types import QUIET, wider

#: Minimum effective sample size over all chains for precise estimates (Vehtari et al. 2021).
ENOUGH = 400
#: Langevin steps converge only if the contraction (`Diagnosis.contraction`) is at most this number.
STABLE = 2.0
#: Minimum number of samples per chain for a judgement of whether a chain still drifts.
FEW = 50
#: Chains are too unequal in length if the shortest chain has less than this fraction of the longest
#: chain's iterations.
SHORT = 0.7
#: Maximum number of topics that a sentence lists.
LISTED = 20


class Judgement(NamedTuple):
    """Sentence of a verdict; ``good`` is True for good news, False for bad news, else None."""

    good: bool | None
    sentence: str


def verdict(d: Diagnosis) -> list[str]:
    """Return the verdict on a comparison: sentences on how well the chains agree, and advice.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of str
        At least two paragraphs; docs/diagnose.md explains the thresholds that they use.
    """
    return [judgement.sentence for judgement in judgements(d)]


def judgements(d: Diagnosis) -> list[Judgement]:
    """Return the sentences of `verdict`, each marked as good news, as bad news or as neither.

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
    # With few samples, a high R-hat does not show that a chain has not mixed.
    untold = _untold(d) or (len(d.iterations) < FEW and not advice.good)
    if sure and not untold:
        parts = "chains" if several else "exact chains" if d.exact_sweeps else "two halves"
        result.append(Judgement(all(map(is_mixed, sure)), _mixing(sure, parts)))
    if d.prediction is not None and not untold:
        result.append(Judgement(is_mixed(d.prediction.measure), _prediction(d)))
    result.append(Judgement(advice.good, advice.sentence))
    if not several:
        alone = (
            "Only the two halves of a single chain are compared, and another chain may find "
            f"other {d.noun}s. Train several chains: repeat the train command with --chains 4."
        )
        result.append(Judgement(None, alone))
    if sum(d.moved):
        moved = (
            f"{plural(sum(d.moved), 'topic')} turned into another topic within a chain, so the "
            "values of such a topic mix different topics."
        )
        result.append(Judgement(False, moved))
    result += [Judgement(False, sentence) for sentence in _sampler(d)]
    if not d.exact_sweeps and d.iterations[-1] < SHORT * max(d.last):
        short = (
            f"The shortest chain ends at iteration {min(d.last):,}, and the longest at "
            f"{max(d.last):,}: later samples of the longer chains are ignored. Train the shortest "
            "chain longer, or leave it out."
        )
        result.append(Judgement(None, short))
    return [*result, *(Judgement(None, f"{note[0].upper()}{note[1:]}.") for note in d.notes)]


def longer(d: Diagnosis) -> list[str]:
    """Return commands that double the length of the chains, if `verdict` advises longer chains.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.

    Returns
    -------
    list of str
        One command for a folder of chains, or else one command per run; empty if more iterations
        would not help.
    """
    if not _advice(d).longer:
        return []
    folders = {run.parent for run in d.runs}
    whole = len(folders) == 1 and set(find_chains(folder := folders.pop())) == set(d.runs)
    named = [folder] if whole else d.runs
    option = f"--iterations {2 * max(d.last)}"
    if d.exact_sweeps:
        option = f"--exact-sweeps {max(ENOUGH_SWEEPS, 2 * d.exact_sweeps)}"
    return [f"sgmc train --resume {shlex.quote(str(run))} {option}" for run in named]


def _untold(d: Diagnosis) -> bool:
    """Return True if there are too few samples to compute any R-hat."""
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
        return f"None of the {k} topics is the same {where} (criterion: {common})."
    listed = ", ".join(str(t.id) for t in sorted(differing, key=lambda t: t.id)[:LISTED])
    omitted = f" and {len(differing) - LISTED} more" if len(differing) > LISTED else ""
    return (
        f"{n} of {k} topics {'is' if n == 1 else 'are'} the same {where}, with {common}; "
        f"{len(differing)} {'is' if len(differing) == 1 else 'are'} different: "
        f"{listed}{omitted}."
    )


def _quantities(d: Diagnosis) -> str:
    nouns = f"{d.noun.capitalize()}s"
    unmixed = [q.title for q in d.quantities if not is_mixed(q.measure)]
    criterion = f"R-hat below {MIXED:g}"
    if unmixed:
        return (
            f"{nouns} differ from draw to draw, so single {d.noun}s cannot be compared. Of "
            f"{len(d.quantities)} quantities that describe whole draws, "
            f"{len(d.quantities) - len(unmixed)} "
            f"{'has' if len(d.quantities) - len(unmixed) == 1 else 'have'} mixed ({criterion}); "
            f"not mixed: {'; '.join(unmixed)}."
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
        f"{nouns} differ from draw to draw, so single {d.noun}s cannot be compared. All "
        f"quantities that describe whole draws have mixed ({criterion}); {size}."
    )


def _mixing(sure: Sequence[MatchedTopic], parts: str) -> str:
    mixed = [topic for topic in sure if is_mixed(topic)]
    criterion = f"R-hat of weight and top words below {MIXED:g}"
    left_out = (
        "intervals from one chain ignore this difference, and intervals from all chains include it"
    )
    if parts == "exact chains":
        left_out = "intervals use all four chains and include this difference"
    if not mixed:
        return (
            f"No shared topic has mixed ({criterion}): the {parts} agree on the words of the "
            "shared topics, but not on their weights and probabilities. "
            f"{left_out[:1].upper()}{left_out[1:]}."
        )
    least = min((t.ess for t in mixed if not math.isnan(t.ess)), default=math.nan)
    size = f"effective sample size (ESS) is at least {least:,.0f}"
    if least < ENOUGH:
        size += f" ({ENOUGH} needed for reliable intervals)"
    if len(mixed) == len(sure):
        return f"All shared topics have mixed ({criterion}); {size}."
    return (
        f"{len(mixed)} of the shared topics {'has' if len(mixed) == 1 else 'have'} mixed "
        f"({criterion}; {size}). The weights and probabilities of the other "
        f"{len(sure) - len(mixed)} differ more between {parts.removeprefix('two ')} than within "
        f"them; {left_out}."
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
            "the chains do not predict equally well. The negative log density of a document is "
            f"{-most:,.3f} in the best chain and {-least:,.3f} in the worst."
        )
    worst, best = math.exp(-least), math.exp(-most)
    return opening + (
        f"the chains do not predict equally well. The perplexity of one draw is {best:,.1f} in "
        f"the best chain and {worst:,.1f} in the worst, a difference of "
        f"{100 * (worst / best - 1):.1f} %."
    )


class _Advice(NamedTuple):
    """Sentence of advice, marked if it advises longer training or states a good result."""

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
            f"{plural(len(d.iterations), 'draw')} per chain are too few to judge mixing. Train "
            "longer.",
            longer=True,
        )
    drifting = [
        n for n, rhat in enumerate(d.prediction.alone if d.prediction else (), 1) if rhat >= MIXED
    ]
    if mixed:
        return _Advice(
            "No problem found: the draws of all chains can be used together."
            if (d.chains > 1)
            else "No problem found: the draws of the chain can be used.",
            good=True,
        )
    if len(d.iterations) < FEW:
        return _Advice(
            f"Only {len(d.iterations)} samples per chain are available, too few for a judgement: "
            "R-hat and ESS mean little, and topics may agree or differ only because chains are "
            "short. Train longer, or train a new run with a smaller --set sample-every.",
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
            f"{which} {verb}: the two halves of a chain differ (R-hat). Train longer, or ignore "
            "early samples with sgmc diagnose --burn-in N.",
            longer=True,
        )
    if drifting:
        return _Advice("The chain still drifts. Train longer.", longer=True)
    if d.chains == 1:
        return _Advice(
            f"The chain moves slowly. For results about single {d.noun}s, train longer; held-out "
            f"perplexity, an average over all {d.noun}s, may have converged already.",
            longer=True,
        )
    apart = (
        "Each chain is stable, but the chains have found different solutions, and longer "
        "training may not change that. "
    )
    if not d.topics:
        return _Advice(apart + "Average predictions over the chains.")
    return _Advice(
        apart + "Rely on the shared topics, and average predictions over the chains; with fewer "
        "--topics, chains differ less."
    )


def _sampler(d: Diagnosis) -> list[str]:
    remarks = []
    if d.noise is not None and d.noise > QUIET:
        widening = (
            f", and about {wider(d.noise):.2g} times as large as in the posterior"
            if d.topics
            else ""
        )
        remarks.append(
            f"Minibatch noise makes the variance of {d.algo}'s draws {d.noise:.3g} times as "
            f"large as without minibatches{widening}. Single draws and intervals vary too much, "
            f"even if chains agree. Use averages; for credible intervals, use {d.remedy}."
        )
    elif d.noise is not None and not d.faithful:
        remarks.append(
            "Minibatches add little noise, but average topics may be biased by more than the "
            f"width of a credible interval. For credible intervals, use {d.remedy}."
        )
    if d.contraction and max(d.contraction) > STABLE:
        n = sum(r > STABLE for r in d.contraction)
        remarks.append(
            f"Steps of {d.algo} are too large for {plural(n, 'topic')}: a step moves a topic by "
            f"up to {max(d.contraction):.3g} times the topic's distance from its mean, but this "
            "factor must be below 2. Use a smaller --step-size."
        )
    if d.slow_tails:
        remarks.append(
            "Mirrored Langevin hardly moves the probabilities of a topic's unused words, so "
            "these results apply only to words that the topic uses."
        )
    return remarks
