"""The documents that a page shows, and what it shows of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.reading import compiled_pattern
from pysgrld.report import tint
from pysgrld.report.documents import in_turn, representatives
from pysgrld.report.gather import Gathered
from pysgrld.report.pack import Scale, compact
from pysgrld.types import Documents

#: Bytes of a page that documents may take where their number is not given.
ROOM = 2_000_000
#: Documents that are fetched together.
_TOGETHER = 64
#: Share of a document below which a topic is not listed.
LEAST = 0.005
#: Letters of a title or an id, at most.
LONGEST = 200


class Chosen(NamedTuple):
    """Documents that are shown, in the order of the corpus.

    Attributes
    ----------
    places : list of int
        Among the documents that were looked at.
    records : list of dict
        What is shown of each.
    best : list of list of int
        For each topic, those that most surely have it: indices of this list.
    texts : {"kept", "words", "none"}
    """

    places: list[int]
    records: list[dict[str, Any]]
    best: list[list[int]]
    texts: str


def choose(found: Gathered) -> Chosen:
    """Choose documents: five that surely have each topic, then evenly spaced ones while there is room."""
    looked, corpus = found.looked, found.corpus
    assert looked is not None
    assert corpus is not None
    best = representatives(looked, found.topics)
    turn = in_turn(best, found.shown, len(looked.rows))
    most = len(turn) if found.asked.documents is None else found.asked.documents
    writer, scale = _Writer(found), Scale()
    chosen: dict[int, dict[str, Any]] = {}
    for begin in range(0, min(most, len(turn)), _TOGETHER):
        some = turn[begin : min(begin + _TOGETHER, most)]
        for place, record in zip(some, writer.records(some), strict=True):
            if found.asked.documents is not None or scale.add(compact(record)) <= ROOM:
                chosen[place] = record
    places = sorted(chosen)
    index = {place: i for i, place in enumerate(places)}
    return Chosen(
        places,
        [chosen[place] for place in places],
        [[index[place] for place in row if place in index] for row in best],
        writer.texts,
    )


class _Writer:
    """Writes what is shown of a document."""

    def __init__(self, found: Gathered) -> None:
        assert found.looked is not None
        assert found.corpus is not None
        assert found.about is not None
        self.found, self.looked, self.corpus = found, found.looked, found.corpus
        self._about = found.about
        kept = found.about.has_texts
        self.texts = "none" if not found.asked.text else "kept" if kept else "words"
        self._pattern = compiled_pattern(found.results.reading_options().token_pattern)
        self._ids: dict[str, int] = {}
        if self.texts == "kept":
            self._ids = {word: i for i, word in enumerate(found.results.vocabulary)}

    def records(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """Write some documents, by their places among those looked at."""
        rows = self.looked.rows[list(places)]
        texts: list[str | None] = [None] * len(rows)
        if self.texts == "kept":
            texts = self._about.texts(rows)
        documents = self.corpus.take(rows)
        return [
            {"theta": self._theta(place)} | self._body(place, documents, i, text)
            for i, (place, text) in enumerate(zip(places, texts, strict=True))
        ]

    def _theta(self, place: int) -> list[list[Any]]:
        looked = self.looked
        return [
            [int(k), round(float(mean), 4), round(float(low), 4), round(float(high), 4)]
            for k, mean, low, high in zip(
                looked.top[place],
                looked.mean[place],
                looked.low[place],
                looked.high[place],
                strict=True,
            )
            if mean >= LEAST
        ]

    def _body(self, place: int, documents: Documents, i: int, text: str | None) -> dict[str, Any]:
        if self.texts == "none":
            return {"words": []}
        theta = self.looked.theta[place].astype(np.float64)
        if text is not None:
            shown = tint.show(text, self._pattern, self._ids, self.found.phi, theta)
            return {"text": shown.text, "spans": shown.spans, "best": shown.best, "cut": shown.cut}
        begin, end = documents.indptr[i : i + 2]
        words = documents.indices[begin:end].astype(np.int64)
        found = tint.likeliest(self.found.phi, words, theta)
        counts = documents.counts[begin:end].astype(np.int64)
        return {"words": tint.by_count(words, counts, found, self.found.results.vocabulary)}


def short(text: str) -> str:
    """Cut a title or an id that is very long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
