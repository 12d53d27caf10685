"""Time slices: the share of each topic in every slice, and changes of the topic's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.report.page_file import Packed, finite, log16, steps
from pysgrld.report.population import GroupOfEach, PopulationShares
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.report.words_over_time import Span, spans, words_over_time

#: Number of words of each topic whose probabilities are shown over time.
WORDS = 10


class TopicsInSlices(Section):
    """Topics in time slices, from the first chain only, for models whose topics change."""

    always = False

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._names = run.chains[0].fitted.slices
        slicing = run.chains[0].options.slicing
        self._column = "" if slicing is None else slicing.field
        self._visitor: PopulationShares | None = None
        if self._names and run.corpus is not None and run.corpus.slices is not None:
            slice_ids = run.corpus.slices[run.rows].astype(np.int64)
            self._documents = np.bincount(slice_ids, minlength=len(self._names)).tolist()
            self._visitor = run.visit_documents(
                PopulationShares(GroupOfEach(slice_ids, len(self._names)))
            )

    def main(self) -> dict[str, Any]:
        """Return the slices and their numbers of documents, or None if topics do not change."""
        if not self._names:
            return {"slices": None}
        topics = np.array(self.run.shown, np.int64)
        self._words = words_over_time(self.run.chains[0], topics, WORDS)
        self._place = {int(k): i for i, k in enumerate(topics)}
        self._shares = None if self._visitor is None else self._visitor.shares.documents
        self._spans: list[Span] = []
        if self._shares is not None:
            mean, high = (getattr(self._shares, part)[:, :-1] for part in ("mean", "high"))
            self._spans = spans(mean, high, self._documents)
        return {
            "slices": {
                "column": self._column,
                "names": list(self._names),
                "documents": None if self._visitor is None else self._documents,
            }
        }

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return a topic's words with their changes, and the range of slices with the topic."""
        if not self._names:
            return {}
        place, vocabulary, words_over_time = (
            self._place[k],
            self.run.results.vocabulary,
            self._words,
        )
        changes = (
            words_over_time.change[place],
            words_over_time.change_low[place],
            words_over_time.change_high[place],
        )
        return {
            "over_time": {
                "words": [vocabulary[w] for w in words_over_time.words[place].tolist()],
                "change": [
                    [finite(x, 4) for x in change]
                    for change in zip(*(part.tolist() for part in changes), strict=True)
                ],
                "span": list(self._spans[k]) if self._spans else None,
            }
        }

    def blocks(self) -> dict[str, Packed]:
        """Return words' probabilities and topics' shares in each slice, with intervals."""
        if not self._names:
            return {}
        packed = Packed()
        for part in ("mean", "low", "high"):
            values = getattr(self._words, part)
            present_values = self._words.mean if np.isnan(values).any() else values
            packed.add(f"words-{part}", "u16", log16(present_values))
            if self._shares is not None:
                shown = getattr(self._shares, part)[self.run.shown, :-1]
                packed.add(part, "u16", steps(shown, "u16"))
        return {"slices": packed}

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the slices, and the shares and word probabilities of the topics."""
        if not self._names:
            return {}
        record = dict(main["slices"])
        for k in sorted(self.run.shown):
            place = self._place[k]
            words = {
                part: _numbers(getattr(self._words, part)[place])
                for part in ("mean", "low", "high")
            }
            topic_record: dict[str, Any] = {"topic": k, "words": words}
            if self._shares is not None:
                topic_record["shares"] = {
                    part: _numbers(getattr(self._shares, part)[k, :-1])
                    for part in ("mean", "low", "high")
                }
            record.setdefault("topics", []).append(topic_record)
        return {"slices": record}

    def definitions(self) -> list[Definition]:
        """Define topics in time slices, their change, and their first and last slice."""
        if not self._names:
            return []
        noun = self.run.noun
        return [
            Definition(
                "Time slices",
                f"Each {noun.one} belongs to the time slice of its {self._column}. From slice to "
                "slice, the log probability of each word in a topic (before normalisation) "
                "changes by a normal step, and the option drift is the standard deviation of the "
                "step. Probabilities over all slices are means, weighted by the words of each "
                "slice. The share of a topic in a slice is its average share of "
                f"{noun.with_article} of the slice.",
                "Blei & Lafferty 2006, Proceedings of ICML",
            ),
            Definition(
                "Times as probable",
                "The word's probability in the topic in the last slice, divided by the probability "
                "in the first slice.",
            ),
            Definition(
                "Begins, ends",
                "A topic is present in a slice if its share is at least a tenth of its greatest "
                "share. It begins (or ends) if its share in an earlier (or later) slice is "
                "surely below a tenth of the greatest share.",
            ),
        ]


def _numbers(values: Any) -> Any:
    """Return an array as nested lists of rounded numbers, None for NaN."""
    if np.ndim(values) > 1:
        return [_numbers(row) for row in values]
    return [finite(x, 7) for x in values.tolist()]
