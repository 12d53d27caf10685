"""The data of a page, as format 1 has it: the main JSON, and blocks beside it."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import Any

import numpy as np

from pysgrld.reading.diagnosis import SAME, MatchedTopic, judgements
from pysgrld.report.chosen import Chosen, choose, short
from pysgrld.report.documents import Shares
from pysgrld.report.gather import Gathered
from pysgrld.report.geometry import hues
from pysgrld.report.method import OnPage, method
from pysgrld.report.overview import components, curve, facts, options, sentence, verdicts
from pysgrld.report.pack import (
    FORMAT,
    NONE,
    VERSION,
    Packed,
    compact,
    linear16,
    log16,
    share8,
    share16,
    signed8,
)
from pysgrld.report.seeds import seeds_followed
from pysgrld.report.terms import TEN
from pysgrld.report.trust import trust
from pysgrld.run.machine import version
from pysgrld.types import Doubles, Int64s

#: Words at the head of a topic, topics up to which all pairs are packed, and near ones that are listed.
TOP, PAIRS, NEAR = 9, 400, 12
#: Words of a topic's counterparts.
_OTHER_WORDS = 10


class Content:
    """A page's data.

    Parameters
    ----------
    found : Gathered

    Attributes
    ----------
    main : dict
        The main JSON, without the list of blocks.
    """

    def __init__(self, found: Gathered) -> None:
        self.found = found
        self.chosen: Chosen | None = None if found.looked is None else choose(found)
        self.main = self._main()

    def _main(self) -> dict[str, Any]:
        found, looked = self.found, self.found.looked
        results, fitted = found.results, found.results.fitted
        spread = results.spread()
        ids = sorted(found.shown)
        drawn = looked is not None and looked.draws > 1
        shown = OnPage(
            results.samples,
            found.terms.draws,
            found.terms.pooled,
            drawn,
            looked is not None,
            len(found.chains) > 1,
            fitted.signed,
            fitted.counts() is not None,
            bool(found.groups),
            found.map is not None,
        )
        return {
            "format": FORMAT,
            "version": VERSION,
            "sgmc": version(),
            "key": _key(results.run.identity.digest, found.at),
            "title": found.asked.title or str(results.run.config["corpus"].get("name") or "corpus"),
            "run": results.path.name,
            "sentence": sentence(
                results, found.at, found.noun, found.terms.draws, len(found.chains)
            ),
            "noun": list(found.noun),
            "topic": [fitted.noun, f"{fitted.noun}s"],
            "layer": {"at": found.at + 1, "of": fitted.depth} if fitted.depth > 1 else None,
            "interval": {
                "title": spread.title,
                "remark": spread.remark(),
                "draws": found.terms.draws,
                "pooled": found.terms.pooled,
            },
            "facts": facts(results, found.corpus, found.noun),
            "verdicts": [
                v._asdict()
                for v in verdicts(results, found.evaluation, found.diagnosis, found.terms.draws)
            ],
            "missing": found.missing,
            "curve": curve(results, found.evaluation),
            "limits": {"same": SAME},
            "size": found.topics,
            "scale": "linear" if fitted.signed else "log",
            "topics": self._topics(),
            "docs_of": None if looked is None else len(looked.rows),
            "order": [ids[i] for i in found.tree.order.tolist()],
            "merges": [[a, b, round(height, 5), n] for a, b, height, n in found.tree.merges],
            "leaf_ids": ids,
            "map": None
            if found.map is None
            else {
                "kept": round(found.map.kept, 4),
                "neighbours": found.map.neighbours,
                "how": found.map.how,
            },
            "along": self._along(),
            "columns": [groups.record() for groups in found.groups],
            "corpus_share": None
            if looked is None
            else [round(float(x), 6) for x in looked.weights.mean[:, 0]],
            "docs": self._docs(),
            "texts": "none" if self.chosen is None else self.chosen.texts,
            "words_tokens": None if found.counts is None else int(found.counts.sum()),
            "words_total": len(results.vocabulary),
            "layers": None if found.layers is None else [node.as_dict() for node in found.layers],
            "components": components(results),
            "chains": self._chains(),
            "method": method(shown),
            "options": options(results),
        }

    # ---- topics

    def _topics(self) -> list[dict[str, Any]]:
        found = self.found
        ids = sorted(found.shown)
        hue = dict(zip(ids, hues(found.tree.order).tolist(), strict=True))
        place = {k: i for i, k in enumerate(ids)}
        counts, fitted = found.results.fitted.counts(), found.results.fitted
        against = {}
        if fitted.signed:
            told = found.results.topics(TOP, intervals=False, coherences=False, at=found.at)
            against = {topic.id: [word.word for word in topic.against] for topic in told}
        seeds = seeds_followed(found.results, found.at)
        topics = []
        for k in found.shown:
            match = self._matched.get(k)
            words = self._words(k, TEN)
            ten = [round(float(p), 3) for p in found.terms.ten[k, : len(words)]]
            chains = len(found.chains)
            topics.append(
                {
                    "id": k,
                    "label": found.labels.get(k, found.names[k]),
                    "auto": found.names[k],
                    "named": k in found.labels,
                    "hue": hue[k],
                    "top": words[:TOP],
                    "weight": self._weight(k),
                    "npmi": None if found.npmi is None else _number(found.npmi[k]),
                    "steady": round(sum(ten), 2) if found.terms.draws else None,
                    "ten": ten if found.terms.draws else [],
                    "docs": None if found.looked is None else int(found.looked.counts[k]),
                    "overlap": None if match is None else _number(match.overlap),
                    "found": [match.found, chains] if match and chains > 1 else None,
                    "trust": None if match is None else trust(match, chains)._asdict(),
                    "rhat": None if match is None else _number(match.rhat),
                    "ess": None if match is None else _number(match.ess),
                    "others": self._others(k),
                    "rep": [] if self.chosen is None else self.chosen.best[k],
                    "xy": None
                    if found.map is None
                    else [round(float(x), 4) for x in found.map.points[place[k]]],
                    "documents": None if counts is None else int(counts[k]),
                    "against": against.get(k, []),
                    "seeds": [list(seed) for seed in seeds[k]] if k in seeds else None,
                }
            )
        return topics

    def _words(self, k: int, n: int) -> list[str]:
        found = self.found
        ids = found.terms.words[k][found.terms.there[k]][:n]
        return [found.results.vocabulary[w] for w in ids.tolist()]

    def _weight(self, k: int) -> list[float | None] | None:
        found = self.found
        if found.weights is None:
            return None
        parts = (found.weights, found.low, found.high)
        return [None if part is None else round(float(part[k]), 6) for part in parts]

    def _others(self, k: int) -> list[dict[str, Any]]:
        """Give the counterparts of a topic in the other chains, each with its words."""
        found = self.found
        match = self._matched.get(k)
        if match is None or len(found.chains) < 2:
            return []
        own = self._words(k, _OTHER_WORDS)
        others = []
        for number, results in enumerate(found.chains[1:], 1):
            row = match.counterparts[number]
            top = self._tops[number - 1][row].tolist()
            others.append(
                {
                    "chain": number + 1,
                    "id": row,
                    "overlap": round(match.overlaps[number], 4),
                    "words": [[word, word in own] for word in (results.vocabulary[w] for w in top)],
                }
            )
        return others

    @cached_property
    def _matched(self) -> dict[int, MatchedTopic]:
        diagnosis = self.found.diagnosis
        return {} if diagnosis is None else {topic.id: topic for topic in diagnosis.topics}

    @cached_property
    def _tops(self) -> list[Int64s]:
        """The first words of the topics of every other chain."""
        return [results.top(_OTHER_WORDS, self.found.at) for results in self.found.chains[1:]]

    # ---- documents, groups, chains

    def _docs(self) -> dict[str, Any] | None:
        looked, corpus, about = self.found.looked, self.found.corpus, self.found.about
        if looked is None or corpus is None or about is None or self.chosen is None:
            return None
        places = self.chosen.places
        rows = looked.rows[places]
        held = np.isin(rows, self.found.results.training_documents(corpus).without)
        return {
            "of": corpus.documents,
            "row": rows.tolist(),
            "id": [short(name) for name in about.ids(rows)],
            "title": [short(title) for title in about.titles(rows)],
            "tokens": looked.lengths[places].tolist(),
            "held": held.astype(int).tolist(),
            "main": [
                [x for k, share, *_ in record["theta"][:3] for x in (k, share)]
                for record in self.chosen.records
            ],
            "whole": self.chosen.texts == "kept",
        }

    def _along(self) -> dict[str, Any] | None:
        found = self.found
        if found.along is None:
            return None
        name = found.asked.along
        return {
            "title": "along the corpus" if name is None else f"by {name}",
            "bins": found.along.levels,
            "starts": found.along.starts,
            "documents": found.along.documents,
        }

    def _chains(self) -> dict[str, Any] | None:
        found, diagnosis = self.found, self.found.diagnosis
        if diagnosis is None:
            return None
        traces = None
        if diagnosis.traces is not None:
            log, token = diagnosis.traces, diagnosis.unit == "token"
            title = found.results.score.title
            traces = {
                "iterations": list(diagnosis.iterations),
                "values": np.round(np.exp(-log) if token else -log, 4).tolist(),
                "name": f"{title} of one draw",
            }
        return {
            "count": diagnosis.chains,
            "names": [path.name for path in diagnosis.runs],
            "sentences": [{"good": j.good, "text": j.sentence} for j in judgements(diagnosis)],
            "traces": traces,
        }

    # ---- blocks

    def blocks(self) -> dict[str, Packed]:
        """Give the blocks beside the main JSON, by name."""
        found = self.found
        blocks = {"terms": self._terms(), "words": self._word_list(), "near": self._near()}
        if self.chosen is not None:
            blocks["docs"] = Packed().text("json", compact(self.chosen.records))
        if found.topics <= PAIRS:
            distance, correlation = self.pairs()
            blocks["pairs"] = (
                Packed()
                .add("distance", "u8", share8(distance))
                .add("correlation", "i8", signed8(correlation))
            )
        for name, shares in self.shares().items():
            blocks[name] = Packed()
            for part, values in shares._asdict().items():
                blocks[name].add(part, "u16", share16(values))
        return blocks

    def shares(self) -> dict[str, Shares]:
        """Give shares of topics along the corpus, and by column, by the names of their blocks."""
        found = self.found
        if found.looked is None:
            return {}
        names = ["along"] * (found.along is not None)
        names += [f"group-{i}" for i in range(len(found.groups))]
        return dict(zip(names, found.looked.groups, strict=True))

    def _terms(self) -> Packed:
        terms, words = self.found.terms, self.found.words
        place = np.zeros(len(self.found.results.vocabulary), np.int64)
        place[words.ids] = np.arange(len(words.ids))
        scale = linear16 if self.found.results.fitted.signed else log16
        there = terms.there
        return (
            Packed()
            .add("n", "u16", there.sum(axis=1))
            .add("word", "u32", place[terms.words[there]])
            .add("mean", "u16", scale(terms.mean[there]))
            .add("low", "u16", scale(terms.low[there]))
            .add("high", "u16", scale(terms.high[there]))
            .add("open", "u8", terms.open[there])
            .add("ten", "u8", share8(terms.ten[there]))
            .add("share", "u8", share8(terms.share[there]))
        )

    def _word_list(self) -> Packed:
        words, vocabulary = self.found.words, self.found.results.vocabulary
        text = "\n".join(vocabulary[w] for w in words.ids.tolist())
        return (
            Packed()
            .text("text", text.encode("utf-8", "replace"))
            .add("count", "u32", np.minimum(words.counts, 2**32 - 1))
            .add("n", "u8", words.n)
            .add("topic", "u16", words.topics)
            .add("share", "u8", share8(words.shares))
        )

    def pairs(self) -> tuple[Doubles, Doubles]:
        """Give distances and correlations of all pairs, (K, K); 1 and 0 of topics that are not shown."""
        found, k = self.found, self.found.topics
        ids = np.sort(np.array(found.shown, np.int64))
        distance = np.ones((k, k))
        distance[np.ix_(ids, ids)] = found.distance
        met = None if found.looked is None else found.looked.correlation
        return distance, np.zeros((k, k)) if met is None else met

    def _near(self) -> Packed:
        """Give of each topic the nearest, and those that most meet it in documents."""
        found, k = self.found, self.found.topics
        ids = np.sort(np.array(found.shown, np.int64))
        distance, correlation = self.pairs()
        near, friend = np.full((2, k, NEAR), NONE)
        far, meet = np.ones((k, NEAR)), np.zeros((k, NEAR))
        for row in ids.tolist():
            others = ids[ids != row]
            closest = others[np.argsort(distance[row, others], kind="stable")][:NEAR]
            near[row, : len(closest)] = closest
            far[row, : len(closest)] = distance[row, closest]
            met = others[np.argsort(-correlation[row, others], kind="stable")][:NEAR]
            met = met[correlation[row, met] > 0]
            friend[row, : len(met)] = met
            meet[row, : len(met)] = correlation[row, met]
        return (
            Packed()
            .add("topic", "u16", near)
            .add("distance", "u8", share8(far))
            .add("friend", "u16", friend)
            .add("correlation", "i8", signed8(meet))
        )


def _key(identity: str, at: int) -> str:
    """Give what names are kept under in a browser: those of each layer are others."""
    return hashlib.sha256(f"{identity}/{at}".encode()).hexdigest() if at else identity


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None
