"""The first screen: every document as a dot among those with similar topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.report.document_layout import densest_points, lay_out_documents
from pysgrld.report.page_file import Packed, steps
from pysgrld.report.reported_run import Definition, Section
from pysgrld.report.texts_and_metadata import document_names
from pysgrld.types import Doubles

#: Share of a document above which one topic has most of it.
HALF = 0.5
#: Letters of a name of a document on the map, at most.
_NAME = 80
#: Documents of a topic below which its name is not on the map.
_LABELLED = 3


class CorpusAtAGlance(Section):
    """The map of documents, and how many of them are surely about one topic."""

    def main(self) -> dict[str, Any]:
        """Lay documents out, and return how many there are and how good the map is."""
        run = self.run
        self._layout = None
        self._places: Doubles = np.full((run.size, 2), np.nan)
        self._mostly = np.zeros(run.size, np.int64)
        found = run.document_topics
        if found is None or run.corpus is None or run.results.fitted.counts() is not None:
            return {"dots": None}
        first, sure = found.top[:, 0], found.low[:, 0]
        low = sure if run.draws > 1 else found.mean[:, 0]
        is_sure = low > HALF
        self._mostly = np.bincount(first[is_sure], minlength=run.size)
        self._layout = lay_out_documents(found.theta)
        if self._layout is not None:
            weight = np.where(found.mean[:, 0] > HALF, found.mean[:, 0], 0.0).astype(np.float64)
            places = densest_points(self._layout.points, first, weight, run.size)
            few = np.bincount(first[weight > 0], minlength=run.size) < _LABELLED
            places[few] = np.nan
            self._places = places
        return {
            "dots": {
                "documents": len(run.rows),
                "of": run.corpus.documents,
                "sure": int(is_sure.sum()),
                "intervals": run.draws > 1,
                "map": None
                if self._layout is None
                else {"kept": round(self._layout.kept, 3), "neighbours": self._layout.neighbours},
            }
        }

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return where its name is on the map, and how many documents are surely most about it."""
        place = self._places[k]
        return {
            "spot": [round(float(x), 4) for x in place] if np.isfinite(place).all() else None,
            "mostly": int(self._mostly[k]),
        }

    def blocks(self) -> dict[str, Packed]:
        """Return the place, the first topic and the name of each document."""
        run, found = self.run, self.run.document_topics
        if found is None or self._layout is None or run.about is None:
            return {}
        low, high = found.mean[:, 0], found.mean[:, 0]
        if run.draws > 1:
            low, high = found.low[:, 0], found.high[:, 0]
        names = document_names(run.about, run.rows, run.noun, with_texts=run.asked.text)
        text = "\n".join(" ".join(name.split())[:_NAME] for name in names)
        packed = Packed().add("row", "u32", run.rows)
        for name, values in zip("xy", self._layout.points.T, strict=True):
            packed.add(name, "u16", steps(values, "u16"))
        packed.add("topic", "u16", found.top[:, 0])
        for name, values in (("mean", found.mean[:, 0]), ("low", low), ("high", high)):
            packed.add(name, "u8", steps(values, "u8"))
        return {"dots": packed.add("name", "utf8", text.encode("utf-8", "replace"))}

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the place of each document on the map."""
        if self._layout is None:
            return {}
        points = np.round(self._layout.points, 4).tolist()
        return {"dots": main["dots"] | {"rows": self.run.rows.tolist(), "points": points}}

    def definitions(self) -> list[Definition]:
        """Define the map of documents."""
        if self._layout is None:
            return []
        surely = (
            "the low end of its interval is above half"
            if self.run.draws > 1
            else "it is above half"
        )
        return [
            Definition(
                "Map of documents",
                "t-SNE of the square roots of the documents' topic shares, from their principal "
                "axes and with a fixed number of steps: the same run gives the same map. A dot has "
                "the colour of the topic with the greatest share, and is opaque if "
                f"{surely}. Directions and wide gaps mean nothing.",
                "van der Maaten and Hinton 2008; Linderman and others 2019",
            )
        ]
