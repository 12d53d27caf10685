"""The page's first screen: a map of documents as dots, in which similar documents are close."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus import Corpus
from pysgrld.report.document_layout import Placement, densest_points, lay_out_documents
from pysgrld.report.document_pass import DocumentTopics, drawn_blocks
from pysgrld.report.page_file import Packed, steps
from pysgrld.report.reported_run import Definition, Section
from pysgrld.report.sample_pass import Bools
from pysgrld.report.texts_and_metadata import document_names
from pysgrld.types import Doubles, Floats, Int64s

#: A document is mainly about a topic if the topic's share of the document is above this number.
HALF = 0.5
#: Maximum number of characters of a document's name on the map.
_NAME = 80
#: If there are many documents, names are shortened further, but not below this number of
#: characters.
_SHORT_NAME = 30
#: Maximum number of characters of all names together, unless names would become too short.
_NAMES = 4_000_000
#: Number of documents that are read at a time for their names.
_TOGETHER = 4096
#: A document without draws gets its interval from documents with draws in the same class. A class
#: has documents of similar length (from a power of 2 to the next) and similar share of the main
#: topic. Shares from 0 to 1 are divided into this number of classes.
_ALIKE = 16
#: The map shows the name of a topic if at least this number of documents are mainly about the
#: topic.
_LABELLED = 3


#: Values stored for each document in a file next to the page, and their types.
_PARTS = {
    "row": "u32",
    "x": "u16",
    "y": "u16",
    "topic": "u16",
    "mean": "u8",
    "low": "u8",
    "high": "u8",
}


class _AlikeIntervals:
    """Estimator of intervals of main topics' shares, from similar documents with intervals.

    Parameters
    ----------
    mean : (n,) float32
        Greatest shares of the documents with draws of their topics.
    lengths : (n,) int64
        Numbers of tokens of these documents.
    ends : pair of (n,) float32
        Low and high ends of their intervals.
    """

    def __init__(self, mean: Floats, lengths: Int64s, ends: tuple[Floats, Floats]) -> None:
        alike = self._alike(mean, lengths)
        self._known = np.bincount(alike)
        number = np.maximum(self._known, 1)
        self._gaps = [np.bincount(alike, end - mean) / number for end in ends]

    def __call__(self, mean: Floats, lengths: Int64s) -> list[Floats]:
        """Return interval bounds, which lie as far from the shares as in similar documents on average.

        The bounds are 0 for a document without similar documents.
        """
        classes = self._alike(mean, lengths)
        alike = np.minimum(classes, len(self._known) - 1)
        is_known = (classes == alike) & (self._known[alike] > 0)
        return [np.where(is_known, mean + gap[alike], 0.0).astype(np.float32) for gap in self._gaps]

    @staticmethod
    def _alike(mean: Floats, lengths: Int64s) -> Int64s:
        """Return each document's class, given by its length and its main topic's share."""
        doubling = np.log2(np.maximum(lengths, 1)).astype(np.int64)
        share: Int64s = np.minimum(mean * _ALIKE, _ALIKE - 1).astype(np.int64)
        return _ALIKE * doubling + share


class Dots(NamedTuple):
    """Documents on the map: proportions, and each document's main topic with its interval.

    Attributes
    ----------
    theta : (n, K) float16
    topic : (n,) int64
    mean, low, high : (n,) float32
    own : (n,) bool
        False if the interval is estimated from documents of similar length and share.
    """

    theta: npt.NDArray[np.float16]
    topic: Int64s
    mean: Floats
    low: Floats
    high: Floats
    own: Bools


class CorpusAtAGlance(Section):
    """Section with the map of documents, and the number of documents with a clear main topic."""

    def main(self) -> dict[str, Any]:
        """Compute the layout, and return the number of documents and the map's quality."""
        run = self.run
        self._layout = None
        self._places: Doubles = np.full((run.size, 2), np.nan)
        self._mostly = np.zeros(run.size, np.int64)
        found = run.document_topics
        if found is None or run.corpus is None or run.results.fitted.counts() is not None:
            return {"dots": None}
        is_sure = (found.low if run.draws > 1 else found.mean)[:, 0] > HALF
        self._mostly = np.bincount(found.top[is_sure, 0], minlength=run.size)
        self._dots = dots = self._mapped(run.corpus, found)
        self._layout = lay_out_documents(dots.theta)
        if self._layout is not None:
            weight = np.where(dots.mean > HALF, dots.mean, 0.0).astype(np.float64)
            places = densest_points(self._layout.points, dots.topic, weight, run.size)
            few = np.bincount(dots.topic[weight > 0], minlength=run.size) < _LABELLED
            places[few] = np.nan
            self._places = places
        beside = [len(rows) for rows in run.beside_rows if self._layout is not None]
        return {
            "dots": {
                "documents": len(run.map_rows) + sum(beside),
                "laid_out": len(run.map_rows),
                "beside": beside or None,
                "parts": [[name, kind] for name, kind in _PARTS.items()] if beside else None,
                "drawn": len(run.rows),
                "of": run.corpus.documents,
                "sure": int(is_sure.sum()),
                "intervals": run.draws > 1,
                "map": None
                if self._layout is None
                else {"kept": round(self._layout.kept, 3), "neighbours": self._layout.neighbours},
            }
        }

    def _mapped(self, corpus: Corpus, found: DocumentTopics) -> Dots:
        """Return the documents on the map, with their proportions and main topics.

        Documents without draws have the mean proportions under the mean topics. The bounds of such
        a document are its mean plus the mean gaps of drawn documents of similar length and share.
        """
        run = self.run
        low, high = found.mean[:, 0], found.mean[:, 0]
        if run.draws > 1:
            low, high = found.low[:, 0], found.high[:, 0]
        self._alike = _AlikeIntervals(found.mean[:, 0], found.lengths, (low, high))
        n, own = len(run.map_rows), np.isin(run.map_rows, run.rows)
        if own.all():
            return Dots(found.theta, found.top[:, 0], found.mean[:, 0], low, high, own)
        theta, lengths = np.empty((n, run.size), np.float16), np.empty(n, np.int64)
        theta[own], lengths[own] = found.theta, found.lengths
        others = np.flatnonzero(~own)
        for block in drawn_blocks(run.results, corpus, run.map_rows[others], [], run.at):
            theta[others[block.at]], lengths[others[block.at]] = block.theta[0], block.lengths
        topic, mean = theta.argmax(axis=1), theta.max(axis=1).astype(np.float32)
        topic[own], mean[own] = found.top[:, 0], found.mean[:, 0]
        ends = self._alike(mean, lengths)
        for each, end in zip(ends, (low, high), strict=True):
            each[own] = end
        return Dots(theta, topic, mean, ends[0], ends[1], own)

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return the position of a topic's name, and the number of documents mainly about the topic."""
        place = self._places[k]
        return {
            "spot": [round(float(x), 4) for x in place] if np.isfinite(place).all() else None,
            "mostly": int(self._mostly[k]),
        }

    def blocks(self) -> dict[str, Packed]:
        """Return the position, main topic and name of each document on the map."""
        run = self.run
        if self._layout is None or run.about is None:
            return {}
        dots, names, n = self._dots, [], len(run.map_rows)
        for begin in range(0, n, _TOGETHER):
            rows = run.map_rows[begin : begin + _TOGETHER]
            names += document_names(run.about, rows, run.noun, with_texts=run.asked.text)
        letters = max(_SHORT_NAME, min(_NAME, _NAMES // n))
        text = "\n".join(" ".join(name.split())[:letters] for name in names)
        packed = Packed().add("row", "u32", np.diff(run.map_rows, prepend=0))
        for name, values in zip("xy", self._layout.points.T, strict=True):
            packed.add(name, "u16", steps(values, "u16"))
        packed.add("topic", "u16", dots.topic)
        for name, values in (("mean", dots.mean), ("low", dots.low), ("high", dots.high)):
            packed.add(name, "u8", steps(values, "u8"))
        if not dots.own.all():
            packed.add("own", "u8", dots.own)
        return {"dots": packed.add("name", "utf8", text.encode("utf-8", "replace"))}

    def files(self) -> Iterator[tuple[str, bytes, int]]:
        """Yield a file for each block of further documents on the map: their positions and topics.

        Each of these documents is placed between the most similar documents of the page's map.
        """
        run = self.run
        if self._layout is None or run.corpus is None or not run.beside_rows:
            return
        place = Placement(self._dots.theta, self._layout.points)
        for number, rows in enumerate(run.beside_rows):
            theta, lengths = (
                np.empty((len(rows), run.size), np.float16),
                np.empty(len(rows), np.int64),
            )
            for block in drawn_blocks(run.results, run.corpus, rows, [], run.at):
                theta[block.at], lengths[block.at] = block.theta[0], block.lengths
            mean = theta.max(axis=1).astype(np.float32)
            low, high = self._alike(mean, lengths)
            x, y = place(theta).T
            values = {"row": np.diff(rows, prepend=0), "topic": theta.argmax(axis=1)}
            values |= {"x": steps(x, "u16"), "y": steps(y, "u16")}
            values |= {
                "mean": steps(mean, "u8"),
                "low": steps(low, "u8"),
                "high": steps(high, "u8"),
            }
            packed = Packed()
            for name, kind in _PARTS.items():
                packed.add(name, kind, values[name])
            yield f"dots/{number:06}.bin", packed.packed(), int(rows[-1]) + 1

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the position of each document on the map."""
        if self._layout is None:
            return {}
        points = np.round(self._layout.points, 4).tolist()
        return {"dots": main["dots"] | {"rows": self.run.map_rows.tolist(), "points": points}}

    def definitions(self) -> list[Definition]:
        """Return the glossary entry for the map of documents."""
        if self._layout is None:
            return []
        surely = (
            "the lower end of this share's interval is above 50 %"
            if self.run.draws > 1
            else "this share is above 50 %"
        )
        return [
            Definition(
                "Map of documents",
                "t-SNE of the square roots of the documents' topic shares. It starts from the "
                "principal axes and takes a fixed number of steps, so a run always gives the "
                "same map. A dot has the colour of the topic with the greatest share, and is "
                f"opaque if {surely}. Near dots are similar documents; directions and wide gaps "
                "have no meaning.",
                "van der Maaten and Hinton 2008; Linderman and others 2019",
            )
        ]
