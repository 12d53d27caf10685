"""Section with a record of each topic, and with the words of all topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.errors import plural
from pysgrld.reading.results import WEIGHT_DOCUMENTS
from pysgrld.reading.topics import topics_of
from pysgrld.reading.use import use_of_topics
from pysgrld.report.document_pass import DOCUMENTS, DRAWS
from pysgrld.report.page_file import Packed, finite, linear16, log16, steps
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.report.sample_pass import TEN
from pysgrld.report.topic_words import USES, SeedsFollowed

#: Number of words in the heading of a topic.
TOP = 9


class TopicRecords(Section):
    """Each topic's record: name, weight, words, coherence and seeds."""

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._seeds: SeedsFollowed | None = None
        if run.at == 0 and getattr(run.results.options, "seed_words", None):
            self._seeds = SeedsFollowed(run.results)
            run.sample_visitors.append(self._seeds.add)

    def main(self) -> dict[str, Any]:
        """Return the number of topics, the layer, and remarks on inactive topics and intervals."""
        run, fitted = self.run, self.run.results.fitted
        spread = run.results.spread()
        coherence = run.results.coherence(TEN, run.at)
        stored = run.results.fit_measures.npmi if run.at == 0 else None
        self._npmi = stored if coherence is None else coherence.npmi
        self._counts = fitted.counts()
        self._followed = {} if self._seeds is None else self._seeds.found()
        self._against: dict[int, list[str]] = {}
        if run.signed:
            topics = topics_of(run.results, TOP, intervals=False, coherences=False, at=run.at)
            self._against = {topic.id: [word.word for word in topic.against] for topic in topics}
        weights = [None if run.weights is None else float(run.weights[k]) for k in run.shown]
        self._use = use_of_topics(run.results, weights, run.at)
        return {
            "hardly_used": self._use.remark,
            "layer": {"at": run.at + 1, "of": fitted.depth} if fitted.depth > 1 else None,
            "interval": {
                "title": spread.title,
                "remark": spread.remark(),
                "draws": run.terms.draws,
                "pooled": run.terms.pooled,
            },
            "size": run.size,
            "scale": "linear" if run.signed else "log",
        }

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return a topic's name, first words, weight, coherence, and number of stable words."""
        run = self.run
        ids = run.terms.words[k][run.terms.there[k]][:TEN].tolist()
        first = run.first_words[k, :TOP].tolist()
        ten = [round(float(p), 3) for p in run.terms.ten[k, : len(ids)]] if run.terms.draws else []
        weight = None
        if run.weights is not None:
            parts = (run.weights, run.low, run.high)
            weight = [None if part is None else round(float(part[k]), 6) for part in parts]
        return {
            "label": run.labels.get(k, run.names[k]),
            "auto": run.names[k],
            "named": k in run.labels,
            "top": [run.results.vocabulary[w] for w in first],
            "weight": weight,
            "hardly": k in self._use.inactive,
            "npmi": None if self._npmi is None else finite(self._npmi[k], 4),
            "steady": round(sum(ten), 2) if run.terms.draws else None,
            "ten": ten,
            "documents": None if self._counts is None else int(self._counts[k]),
            "against": self._against.get(k, []),
            "seeds": [list(seed) for seed in self._followed[k]] if k in self._followed else None,
        }

    def blocks(self) -> dict[str, Packed]:
        """Return all topics' words, topic by topic, as indices into the page's word list."""
        terms, words = self.run.terms, self.run.words
        place = np.zeros(len(self.run.results.vocabulary), np.int64)
        place[words.ids] = np.arange(len(words.ids))
        scale, is_present = linear16 if self.run.signed else log16, terms.there
        packed = Packed().add("n", "u16", is_present.sum(axis=1))
        packed.add("word", "u32", place[terms.words[is_present]])
        for name, values in (("mean", terms.mean), ("low", terms.low), ("high", terms.high)):
            packed.add(name, "u16", scale(values[is_present]))
        packed.add("open", "u8", terms.open[is_present])
        for name, values in (("ten", terms.ten), ("share", terms.share)):
            packed.add(name, "u8", steps(values[is_present], "u8"))
        return {"terms": packed}

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the topics' records, including their words."""
        terms, vocabulary = self.run.terms, self.run.results.vocabulary
        names = ("mean", "low", "high", "open", "ten", "share")
        topics = []
        for record in main["topics"]:
            k = record["id"]
            words = [
                {"word": vocabulary[w]}
                | {name: getattr(terms, name)[k, i].item() for name in names}
                for i, w in enumerate(terms.words[k].tolist())
                if terms.there[k, i]
            ]
            topics.append(record | {"words": words})
        return {"topics": topics}

    def definitions(self) -> list[Definition]:
        """Define the values of words, and the coherence, name and weight of topics."""
        run, draws = self.run, self.run.terms.draws
        definitions = []
        if run.signed:
            definitions.append(
                Definition(
                    "Entry",
                    "Topics are directions. A positive entry means that the topic points "
                    "towards the word, and a negative entry that it points away from the word.",
                )
            )
        else:
            samples = run.results.fitted.samples
            averaged_over = "the newest draw only."
            if samples:
                averaged_over = f"all {plural(samples, 'posterior draw')}."
            if samples and run.pooled:
                averaged_over += (
                    " If there are several chains, the probability is the mean over the chains "
                    "that have the topic."
                )
            definitions.append(
                Definition(
                    "Probability",
                    f"The word's fraction of the topic's words: the mean over {averaged_over}",
                )
            )
        if draws:
            n_draws = f"{draws:,}"
            if run.terms.pooled != draws:
                n_draws += f" of the first chain, {run.terms.pooled:,} of all chains together"
            alone = (
                ""
                if run.pooled
                else "The draws are from one chain; another chain may find other topics. "
            )
            definitions += [
                Definition(
                    "Interval",
                    f"The 5 % and 95 % quantiles of the stored draws: {n_draws}. {alone}If an "
                    "interval begins at 0 %, the topic lacks the word in at least 5 % of the "
                    "draws.",
                ),
                Definition(
                    "Stable words",
                    "Number of a topic's ten most probable words that are also among the ten "
                    "most probable words of a single draw, on average.",
                ),
            ]
        if not run.signed:
            definitions += [
                Definition(
                    "Relevance",
                    "λ log p(w | topic) + (1 - λ) log (p(w | topic) / p(w)). λ = 1 orders words "
                    "by probability, λ = 0 by how typical they are of the topic. Words with "
                    f"fewer than {USES:g} expected uses in the topic are ordered only by "
                    "probability.",
                    "Sievert and Shirley 2014",
                ),
                Definition(
                    "Share of a word's uses",
                    "The topic's weight times the word's probability in it, divided by the sum "
                    "of these products over all topics.",
                ),
            ]
        weight = "The topic's expected share of all words, computed with the mean topics."
        if run.results.fitted.counts() is not None:
            weight = "The component's expected share of future documents."
        elif run.draws > 1:
            how = f"of {WEIGHT_DOCUMENTS:,} evenly spaced documents, computed with the mean topics"
            if run.results.fitted.exact and run.at == 0:
                how = "of the training documents, averaged over all draws"
            weight = (
                f"The topic's share of the words {how}. The interval comes from {DRAWS} draws; "
                f"each draw assigns a topic to every word of all documents (or of {DOCUMENTS:,} "
                "evenly spaced documents)."
            )
            if not run.results.these:
                weight += (
                    " For other texts like these, the interval also includes the variance over "
                    "documents."
                )
        return [
            *definitions,
            Definition(
                "Coherence",
                "Mean NPMI over all pairs of the first ten words shown, from the training "
                "documents that have both words. 0: the words occur together by chance; 1: they "
                "always occur together.",
                "Bouma 2009; Lau, Newman and Baldwin 2014",
            ),
            Definition(
                "Name",
                "The first three words shown of the topic. No two names begin with the same word.",
            ),
            Definition("Weight", weight),
        ]
