"""The head of a page: what was trained on what, how well it predicts, and what to make of it."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import Corpus
from pysgrld.errors import MissingInputError, UsageError, all_of, plural
from pysgrld.options.common import spelled
from pysgrld.reading.diagnosis import Diagnosis, is_shared, judgements
from pysgrld.reading.intervals import ENOUGH
from pysgrld.reading.results import Results
from pysgrld.reading.score import Evaluation, score_own
from pysgrld.report.trust import not_at_rest

#: Points of a line that is drawn, at most.
POINTS = 240
#: Share of the perplexity that must be gained, or is lost.
EVEN = 0.005
#: Heads of the first verdict, by what the status of a run says.
_STATES = {
    "finished": (True, "Training has ended."),
    "running": (None, "Still training."),
    "interrupted": (False, "Stopped early."),
    "failed": (False, "Failed."),
}


#: The beginning of the reason of a run that ended because doubling its sampling bought little.
_SETTLED = "held-out"


class Noun(NamedTuple):
    """The name of a document: of one, and of several."""

    one: str
    many: str

    @classmethod
    def of(cls, many: str) -> Noun:
        """Find the singular of what a person typed: "chapters", or "child/children"."""
        one, slash, rest = many.partition("/")
        if slash:
            return cls(one.strip(), rest.strip())
        if many.endswith("ies"):
            return cls(f"{many[:-3]}y", many)
        return cls(many.removesuffix("s"), many)

    def counted(self, number: int) -> str:
        """Write a number with the noun."""
        return plural(number, self.one, self.many)


def evaluated(chains: Sequence[Results]) -> tuple[Evaluation | None, str | None]:
    """Score the held-out documents of a run's chains, or say why there is no score."""
    try:
        return score_own(chains[0], chains[1:]), None
    except MissingInputError:
        return None, (
            "held-out documents or word counts are gone: nothing is said of how well it predicts"
        )
    except UsageError:
        return None, "no held-out documents: nothing is said of how well it predicts"


def seconds(results: Results) -> tuple[list[int], list[float]]:
    """Give seconds of training at some iterations, from the lines of metrics; they begin at 0."""
    lines = []
    with contextlib.suppress(MissingInputError):
        lines = results.run.read_metrics()
    known = [
        (line["iteration"], line["train_seconds"])
        for line in lines
        if isinstance(line.get("iteration"), int)
        and isinstance(line.get("train_seconds"), int | float)
    ]
    return [0, *(i for i, _ in known)], [0.0, *(float(s) for _, s in known)]


def facts(results: Results, corpus: Corpus | None, noun: Noun) -> list[dict[str, str]]:
    """Give the four figures at the head of the page, each with what stands beneath it."""
    recorded = results.run.config["corpus"]
    documents, tokens = recorded["training_documents"], recorded["training_tokens"]
    held = recorded.get("held_out", 0)
    _, clock = seconds(results)
    if corpus is None:
        length, reach = f"{tokens / max(1, documents):,.0f}", "words on average"
    else:
        lengths = corpus.lengths()[results.training_documents(corpus)[:]]
        length = f"{np.median(lengths):,.0f}"
        reach = f"median; {lengths.min():,} to {lengths.max():,}"
    found = [
        (noun.many, f"{documents:,}", f"{held:,} more held out" if held else "none held out"),
        ("words", f"{tokens:,}", f"{len(results.vocabulary):,} different"),
        (f"length of a {noun.one}", length, reach),
        (
            "training",
            _duration(clock[-1]) if len(clock) > 1 else "-",
            plural(results.checkpoint.step, "iteration"),
        ),
    ]
    return [dict(zip(("label", "value", "beside"), row, strict=True)) for row in found]


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 3 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def sentence(results: Results, at: int, noun: Noun, draws: int, chains: int) -> str:
    """Say in a sentence what the page shows."""
    shown, depth = len(results.fitted.shown(at)), results.fitted.depth
    recorded = results.run.config["corpus"]
    where = f" of layer {at + 1}" if depth > 1 else ""
    told = (
        f"{plural(shown, results.fitted.noun)}{where} in {noun.counted(recorded['training_documents'])}, "
        f"found by {results.options.algo}{f' in {chains} chains' if chains > 1 else ''}."
    )
    if results.samples:
        told += f" What you see is the mean of {plural(results.samples, 'draw')}"
        told += " of the first chain, and of all chains where they agree" if chains > 1 else ""
        told += f"; bands are {results.spread().title}." if draws else "."
        return f"{told} Documents are told by the first chain alone." if chains > 1 else told
    return f"{told} What you see are the {results.fitted.noun}s of the newest checkpoint."


class Verdict(NamedTuple):
    """A judgement of a run in one respect; ``good`` is None where it is neither good nor bad."""

    good: bool | None
    head: str
    text: str
    code: str | None = None


def verdicts(
    results: Results, evaluation: Evaluation | None, diagnosis: Diagnosis | None, draws: int
) -> list[Verdict]:
    """Say what to make of the run: whether it is done, predicts, would be found again, and is sure."""
    said = [_state(results)]
    if evaluation is not None:
        said.append(_prediction(results, evaluation))
    if diagnosis is not None and diagnosis.chains > 1:
        said.append(_shared(diagnosis))
    else:
        text = f"Whether another would have found these {results.fitted.noun}s is not known: train with"
        said.append(Verdict(False, "One chain only.", text, "--chains 4"))
    return said + _sureness(results, diagnosis, draws)


def _state(results: Results) -> Verdict:
    status = results.run.status
    good, head = _STATES.get(str(status.get("state")), (None, "Not known whether it is done."))
    reason, done = status.get("reason"), f"{plural(results.checkpoint.step, 'iteration')} done"
    if not isinstance(reason, str) or not reason:
        return Verdict(good, head, f"{done}.")
    text = f"{reason[:1].upper()}{reason[1:]}{'' if 'iteration' in reason else f', {done}'}"
    if reason.startswith(_SETTLED):
        head = "Predictions have settled."
    return Verdict(good, head, f"{text.rstrip('.')}.")


def _prediction(results: Results, found: Evaluation) -> Verdict:
    kind, now = found.kind, found.average
    what = f"{kind.title[:1].upper()}{kind.title[1:]} of {plural(found.documents, 'held-out document')}"
    value = kind.show(now, now.error)
    if found.unigram is None or not math.isfinite(now):
        return Verdict(None, f"{kind.title[:1].upper()}{kind.title[1:]} {value}.", f"{what}.")
    scorer = results.fitted.scorer(results.held_out())
    gained = scorer.share_gained(found.unigram, now)
    unigram = kind.show(found.unigram, found.unigram.error)
    text = f"{what} is {value}; of word frequencies alone {unigram}. Lower is better."
    if found.pooled is not None:
        together = kind.show(found.pooled, found.pooled.error)
        text += f" {all_of(found.chains, 'chains').capitalize()} together have {together}."
    if gained >= EVEN:
        share = f"{100 * gained:.0f} %" if gained < 0.99 else "More than 99 %"
        return Verdict(True, f"{share} better than word frequencies.", text)
    head = "No better than" if gained > -EVEN else f"{-100 * gained:.0f} % worse than"
    return Verdict(False, f"{head} word frequencies.", text)


def _shared(d: Diagnosis) -> Verdict:
    first = judgements(d)[0]
    if not d.topics:
        return Verdict(first.good, f"{d.chains} chains.", first.sentence)
    n = sum(map(is_shared, d.topics))
    head = f"{n} of {len(d.topics)} {d.noun}s found by {all_of(d.chains, 'chains')}."
    text = "Trust what these are about. Do not rely on the others: some chain has none like them."
    return Verdict(n == len(d.topics), head, "" if n == len(d.topics) else text)


def _sureness(results: Results, d: Diagnosis | None, draws: int) -> list[Verdict]:
    if not draws:
        return []
    spread, moving = results.spread(), "" if d is None else not_at_rest(d)
    rough = "Take shares, probabilities and intervals as rough; train longer for exact ones."
    if spread.faithful:
        if moving:
            return [Verdict(False, moving, rough)]
        return [Verdict(True, "Intervals can be trusted.", "Draws vary as the posterior does.")]
    head, text = moving or "Intervals are rough.", f"{rough} " if moving else ""
    if spread.noise is None or spread.width is None or not spread.remedy:
        return [Verdict(False, head, f"{text}{spread.title}: {spread.remark()}.")]
    wide = f"{spread.width:.2g} times as wide as credible ones"
    text += f"The noise of minibatches makes intervals about {wide}"
    text += ", but where the chains have not been yet is not in them" if moving else ""
    return [Verdict(False, head, f"{text}. Credible ones come with", spread.remedy)]


def curve(results: Results, found: Evaluation | None) -> dict[str, Any] | None:
    """Give the score against seconds of training: of the average, and of one draw."""
    iterations, clock = seconds(results)
    history = results.history()
    kind = results.score
    point = []
    with contextlib.suppress(MissingInputError):
        for line in results.run.read_metrics():
            value = line.get(kind.point)
            if isinstance(value, int | float) and isinstance(
                line.get("train_seconds"), int | float
            ):
                point.append([round(float(line["train_seconds"]), 3), float(value)])
    if found is None or len(clock) < 2 or len(history) + len(point) < 2:
        return None
    rate = clock[-1] / max(1, iterations[-1])
    average = [
        [round(_at(step, iterations, clock, rate), 3), score]
        for step, score in history.items()
        if math.isfinite(score)
    ]
    unit = "words that were kept from the model" if not kind.whole else "documents that were kept"
    return {
        "name": kind.title,
        "sentence": f"{kind.title[:1].upper()}{kind.title[1:]} of {unit}; lower is better.",
        "average": _thinned(average),
        "point": _thinned(point),
        "unigram": _finite(found.unigram),
        "last": {
            "average": _finite(found.average),
            "point": _finite(found.point),
            "unigram": _finite(found.unigram),
        },
    }


def _at(step: int, iterations: Sequence[int], clock: Sequence[float], rate: float) -> float:
    """Give the seconds at an iteration; after the last line at the average speed."""
    if step > iterations[-1]:
        return clock[-1] + rate * (step - iterations[-1])
    return float(np.interp(step, iterations, clock))


def _thinned(points: list[list[float]]) -> list[list[float]]:
    """Give at most so many points of a line, the last among them."""
    every = -(-len(points) // POINTS)
    return points if every < 2 else points[(len(points) - 1) % every :: every]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def options(results: Results) -> list[list[Any]]:
    """Give the options of training by name, as text, and whether each was given.

    Of a path the last part alone: whoever is sent the page need not know the folders of its maker.
    """
    defaults = results.run.config.get("defaults")
    usual = set(defaults) if isinstance(defaults, list) else set()
    return [
        [f"--{name}", _spelled(spelled(name, value)), name not in usual]
        for name, value in results.run.config.get("options", {}).items()
        if value is not None
    ]


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return os.path.basename(value.rstrip(os.sep)) or value  # noqa: PTH119 - text, not a path of ours
    if isinstance(value, list | tuple):
        return ",".join(map(_spelled, value))
    return str(value)


def components(results: Results) -> dict[str, Any] | None:
    """Give the number of components in use over the draws; None where topics can be followed."""
    fitted = results.fitted
    if not fitted.titles:
        return None
    name = next(iter(fitted.titles))
    found = [
        (step, fitted.quantities(fitted.draw_of(sample), None)[name])
        for step, sample in results.each_sample()
    ]
    if len(found) < 2:
        return None
    return {
        "iterations": [step for step, _ in found],
        "numbers": [int(number) for _, number in found],
    }


def few(results: Results) -> str | None:
    """Say why there are no intervals, where there are none."""
    if results.fitted.no_mean:
        return f"{results.fitted.no_mean}: no intervals"
    if results.samples == 0:
        return (
            f"{results.no_samples}: no intervals, and {results.fitted.noun}s are the current ones"
        )
    kept = len(results.word_steps(0)[0])
    if kept < ENOUGH:
        return f"{plural(kept, 'sample')} kept, fewer than {ENOUGH}: no intervals"
    return None
