"""Section "How sure?": state of training, quality of predictions, reliability of results."""

from __future__ import annotations

import contextlib
import math
import shlex
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import MissingInputError, all_of, plural
from pysgrld.evaluate.score import EVEN
from pysgrld.reading.diagnosis import FIRM, is_mixed, is_shared
from pysgrld.reading.replicated import can_replicate
from pysgrld.reading.verdict import judgements
from pysgrld.report.page_file import finite
from pysgrld.report.reported_run import Section
from pysgrld.report.sections.agreement import SURELY, trust_of
from pysgrld.run.layout import StopReason

#: Maximum number of points of a drawn line.
POINTS = 240
#: Judgement and heading of the first verdict, by the state of the run.
_STATES = {
    "finished": (True, "Training has ended."),
    "running": (None, "Still training."),
    "interrupted": (False, "Stopped early."),
    "failed": (False, "Failed."),
}
#: Reasons for stopping, as texts that already contain the number of iterations.
_COUNTED = (
    StopReason.CONVERGED,
    StopReason.BUDGET,
    StopReason.HALF_OF_LIMIT,
    StopReason.NOTHING_TO_DO,
)
#: Units of durations, with their lengths in seconds.
_UNITS = (("d", 86400), ("h", 3600), ("min", 60))


class Verdict(NamedTuple):
    """Judgement about one aspect of a run; ``good`` is None if it is neither good nor bad."""

    good: bool | None
    head: str
    text: str
    code: str | None = None


class HowSure(Section):
    """Section with all diagnostics of the run, some of which other sections also show."""

    def main(self) -> dict[str, Any]:
        """Return a sentence about the run, four key values, verdicts, and scores during training."""
        # Lines of ``metrics.jsonl`` that contain the duration of training.
        self._metrics: list[dict[str, Any]] = []
        with contextlib.suppress(MissingInputError):
            self._metrics = [
                line
                for line in self.run.results.run.read_metrics()
                if isinstance(line.get("train_seconds"), int | float)
            ]
        known = [
            (line["iteration"], float(line["train_seconds"]))
            for line in self._metrics
            if isinstance(line.get("iteration"), int)
        ]
        # Numbers of iterations, and for each number, the seconds of training until then. Both lists
        # start with 0.
        self._clock = [0, *(i for i, _ in known)], [0.0, *(s for _, s in known)]
        verdicts = [self._state(), *self._prediction(), *self._agreement(), *self._intervals()]
        return {
            "sentence": self._sentence(),
            "facts": self._facts(),
            "verdicts": [verdict._asdict() for verdict in verdicts],
            "curve": self._curve(),
        }

    def _sentence(self) -> str:
        run, results = self.run, self.run.results
        documents = results.run.config["corpus"]["training_documents"]
        several = len(run.chains) > 1
        where = f" of layer {run.at + 1}" if results.fitted.depth > 1 else ""
        told = (
            f"{plural(len(run.shown), results.fitted.noun)}{where} of "
            f"{plural(documents, *run.noun)}."
        )
        if not results.fitted.samples:
            return f"{told} All values are from the newest checkpoint."
        if several and not run.pooled:
            told += " All values are from the first chain."
        return told + (
            f" A line on a bar shows the {results.spread().title}." if run.terms.draws else ""
        )

    def _facts(self) -> list[dict[str, str]]:
        """Return the four key values at the top of the page, each with a line of explanation."""
        run, results = self.run, self.run.results
        recorded = results.run.config["corpus"]
        documents, tokens = recorded["training_documents"], recorded["training_tokens"]
        held = recorded["held_out"]
        if run.corpus is None:
            length, reach = f"{tokens / max(1, documents):,.0f}", "words per document on average"
        else:
            lengths = run.corpus.lengths()[results.training_documents(run.corpus)[:]]
            length = f"{np.median(lengths):,.0f}"
            reach = f"median; {lengths.min():,} to {lengths.max():,}"
        lasted = "-"
        if len(self._clock[1]) > 1:
            seconds = self._clock[1][-1]
            unit, size = next((u for u in _UNITS if seconds >= 3 * u[1]), ("s", 1))
            lasted = f"{seconds / size:.0f} {unit}"
        found = [
            (
                run.noun.many,
                f"{documents:,}",
                f"and {held:,} held out" if held else "none held out",
            ),
            ("words", f"{tokens:,}", f"{len(results.vocabulary):,} different"),
            (f"length of {run.noun.with_article}", length, reach),
            ("training", lasted, results.length),
        ]
        return [dict(zip(("label", "value", "beside"), row, strict=True)) for row in found]

    # ---- verdicts

    def _state(self) -> Verdict:
        """Judge whether training is complete."""
        results = self.run.results
        status = results.run.status
        good, head = _STATES.get(
            str(status.get("state")), (None, "It is unknown whether training has ended.")
        )
        reason, done = status.get("reason"), f"{results.length} done"
        if not isinstance(reason, str) or not reason:
            return Verdict(good, head, f"{done}.")
        stop = status.get("stop")
        text = f"{reason[:1].upper()}{reason[1:]}{'' if stop in _COUNTED else f', {done}'}"
        if stop == StopReason.CONVERGED:
            head, text = "Converged:", "more training would hardly improve predictions."
        return Verdict(good, head, f"{text.rstrip('.')}.")

    def _prediction(self) -> list[Verdict]:
        """Judge predictions of held-out documents, compared with word frequencies."""
        found = self.run.evaluation
        if found is None:
            return []
        kind, now = found.kind, found.average
        title = f"{kind.title[:1].upper()}{kind.title[1:]}"
        what = f"{title} of {plural(found.documents, 'held-out document')}"
        value = kind.show(now, now.error)
        if found.unigram is None or not math.isfinite(now):
            return [Verdict(None, f"{title} {value}.", f"{what}.")]
        scorer = self.run.results.fitted.scorer(self.run.results.held_out())
        gained = scorer.share_gained(found.unigram, now)
        unigram = kind.show(found.unigram, found.unigram.error)
        text = (
            f"{what} is {value}, compared with {unigram} for word frequencies alone. Lower is "
            "better."
        )
        if found.pooled is not None:
            together = kind.show(found.pooled, found.pooled.error)
            text += (
                f" {all_of(found.chains, 'chains').capitalize()} averaged together have {together}."
            )
        if gained >= EVEN and kind.name == "perplexity":
            times = float(found.unigram) / float(now)
            head = (
                f"The hidden words of {self.run.noun.with_article} are {times:.2g} times as likely "
                "under its topics as under word frequencies."
            )
            return [Verdict(True, head, text)]
        if gained >= EVEN:
            # Densities over thousands of words often give a gain near 100 %, whose exact value says
            # nothing.
            share = f"{100 * gained:.0f} %" if gained < 0.99 else "Far"
            return [Verdict(True, f"{share} better than word frequencies.", text)]
        head = "No better than" if gained > -EVEN else f"{-100 * gained:.0f} % worse than"
        return [Verdict(False, f"{head} word frequencies.", text)]

    def _agreement(self) -> list[Verdict]:
        """Judge whether other chains found the same topics."""
        d, replicated, noun = self.run.diagnosis, self.run.replicated, self.run.results.fitted.noun
        if replicated is not None:
            runs, k = replicated.replicates, len(self.run.shown)
            n = sum(replicated.times[topic] >= SURELY * runs for topic in self.run.shown)
            head = f"{n} of {plural(k, noun)} found by nearly all of {runs} new runs."
            text = "Each new run had a random half of the documents."
            if n:
                text += " A run on new texts would find such a topic in 9 of 10 cases."
            return [Verdict(True if n == k else None, head, text)]
        results, single = self.run.results, len(self.run.chains) == 1
        if single and self.run.corpus is not None and can_replicate(results.options):
            text = f"it is unknown whether new texts have the same {noun}s. To find out:"
            command = f"sgmc diagnose {shlex.quote(results.place.name)} --replicate 6"
            return [Verdict(None, "Trained once:", text, command)]
        if d is None or d.chains < 2:
            text = f"it is unknown whether another chain would find the same {noun}s. Add"
            return [Verdict(None, "Trained once:", text, f"--chains {max(FIRM)}")]
        if not d.topics:
            first = judgements(d)[0]
            return [Verdict(first.good, f"{d.chains} chains.", first.sentence)]
        n = sum(map(is_shared, d.topics))
        head = f"{n} of {len(d.topics)} {d.noun}s found by {all_of(d.chains, 'chains')}."
        firm = sum(trust_of(self.run, topic).state == "again" for topic in d.topics)
        sentences = []
        if n:
            number = "each" if firm == n else f"{firm:,}"
            sentences.append(
                f"A further chain would find {number} of these in 9 of 10 cases."
                if firm
                else "It is not certain that a further chain would find these."
            )
        if n < len(d.topics):
            others = f"the other {d.noun}s" if n else f"single {d.noun}s"
            sentences.append(f"Do not rely on {others}, which at least one chain lacks.")
        more = n > firm and d.chains < max(FIRM)
        if more:
            sentences.append("To know more, train more chains:")
        good = True if firm == len(d.topics) else None if n == len(d.topics) else False
        return [Verdict(good, head, " ".join(sentences), f"--chains {max(FIRM)}" if more else None)]

    def _intervals(self) -> list[Verdict]:
        """Judge whether intervals are trustworthy."""
        if not self.run.terms.draws:
            return []
        spread, d = self.run.results.spread(), self.run.diagnosis
        moving = 0 if d is None else sum(not is_mixed(topic) for topic in d.topics)
        said = ""
        if d is not None and moving:
            number = f"all {d.noun}s" if moving == len(d.topics) else plural(moving, d.noun)
            said = f"Shares of {number} may still change by more than their intervals."
        rough = "Shares, probabilities and intervals are rough; train longer for more exact values."
        if spread.faithful:
            if d is not None and said and self.run.pooled:
                number = "all" if moving == len(d.topics) else f"{moving} of {len(d.topics)}"
                head = f"Chains differ in the shares and probabilities of {number} {d.noun}s."
                wide = (
                    "Intervals cover all chains that have the topic; with few chains they are wide."
                )
                return [Verdict(None, head, wide)]
            if said and (exact := self.run.results.fitted.exact):
                few = "Train longer:"
                return [Verdict(False, said, few, f"--exact-sweeps {4 * exact.sweeps}")]
            if said:
                return [Verdict(False, said, rough)]
            return [
                Verdict(
                    True,
                    "Intervals can be trusted.",
                    "The draws vary as much as the posterior distribution.",
                )
            ]
        head, text = said or "Intervals are rough.", f"{rough} " if said else ""
        if self.run.results.fitted.exact:
            few = "The Gibbs refinement is too short for reliable intervals. Train longer:"
            return [Verdict(False, head, few, spread.remedy)]
        if spread.noise is None or spread.width is None or not spread.remedy:
            return [Verdict(False, head, f"{text}{spread.title}: {spread.remark()}.")]
        wide = f"{spread.relative_width} credible intervals"
        text += f"With minibatch noise, intervals are about {wide}"
        text += ", but they may lack values that the chains have not reached yet" if said else ""
        return [Verdict(False, head, f"{text}. For credible intervals, use", spread.remedy)]

    # ---- the curve

    def _curve(self) -> dict[str, Any] | None:
        """Return curves of scores over training time: averaged over draws, and of single draws."""
        results, found, kind = self.run.results, self.run.evaluation, self.run.results.fitted.score
        iterations, clock = self._clock
        history = results.history()
        point = [
            [round(float(line["train_seconds"]), 3), float(line[kind.point])]
            for line in self._metrics
            if isinstance(line.get(kind.point), int | float)
        ]
        if found is None or len(clock) < 2 or len(history) + len(point) < 2:
            return None
        # After the last known time, seconds are extrapolated by the average time per iteration.
        rate = clock[-1] / max(1, iterations[-1])
        average = [
            [
                round(
                    float(np.interp(step, iterations, clock))
                    + rate * max(0, step - iterations[-1]),
                    3,
                ),
                score,
            ]
            for step, score in history.items()
            if math.isfinite(score)
        ]
        unit = (
            "words hidden from the model" if not kind.whole else "documents hidden from the model"
        )
        return {
            "name": kind.title,
            "sentence": f"{kind.title[:1].upper()}{kind.title[1:]} on {unit}; lower is better.",
            "average": _thinned(average),
            "point": _thinned(point),
            "unigram": finite(found.unigram),
            "last": {
                "average": finite(found.average),
                "point": finite(found.point),
                "unigram": finite(found.unigram),
            },
        }


def _thinned(points: list[list[float]]) -> list[list[float]]:
    """Return at most `POINTS` evenly spaced points of a curve, including the last."""
    every = -(-len(points) // POINTS)
    return points if every < 2 else points[(len(points) - 1) % every :: every]
