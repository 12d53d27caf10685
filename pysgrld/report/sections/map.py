"""Map of topics: distances, positions in a plane, tree, and co-occurrence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.report.document_pass import AGREE, Correlation
from pysgrld.report.geometry import FEWEST, KEPT, average_linkage, distances, hues, laid_out
from pysgrld.report.page_file import NONE, Packed, steps
from pysgrld.report.reported_run import Definition, ReportedRun, Section
from pysgrld.types import Doubles

#: Maximum number of topics for which the page stores the distances of all pairs.
PAIRS = 400
#: Number of nearest topics that are listed for each topic.
NEAR = 12


class TopicMap(Section):
    """Section about the similarity of topics, by their words and by their documents."""

    def __init__(self, run: ReportedRun) -> None:
        super().__init__(run)
        self._met = run.visit_documents(Correlation())

    def main(self) -> dict[str, Any]:
        """Return the tree of topics, and the map's method and quality."""
        run = self.run
        noun, ids = run.results.fitted.noun, run.results.fitted.shown(run.at)
        apart = distances(run.phi, ids, signed=run.signed)
        self._map, tree = laid_out(apart), average_linkage(apart)
        if self._map is None:
            few = f"there are fewer than four {noun}s"
            none = (
                "a map in two dimensions keeps less than a tenth of the nearest neighbours of "
                f"the {noun}s"
            )
            run.missing.append(f"the map is missing, because {few if len(ids) < FEWEST else none}")
        self._place = {k: i for i, k in enumerate(ids.tolist())}
        self._hues = hues(tree.order).tolist()
        # The matrices of distances and correlations are (K, K). For topics that are not shown, the
        # distance is 1 and the correlation 0.
        self._distance: Doubles = np.ones((run.size, run.size))
        self._distance[np.ix_(ids, ids)] = apart
        met = None if self._met is None else self._met.matrix
        self._correlation = np.zeros((run.size, run.size)) if met is None else met
        return {
            "order": ids[tree.order].tolist(),
            "merges": [[a, b, round(height, 5), n] for a, b, height, n in tree.merges],
            "leaf_ids": ids.tolist(),
            "map": None
            if self._map is None
            else {
                "kept": round(self._map.kept, 4),
                "neighbours": self._map.neighbours,
                "how": self._map.how,
            },
        }

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return a topic's colour, given by its place in the tree, and its position on the map."""
        place, xy = self._place[k], None
        if self._map is not None:
            xy = [round(float(x), 4) for x in self._map.points[place]]
        return {"hue": self._hues[place], "xy": xy}

    def blocks(self) -> dict[str, Packed]:
        """Return the nearest and most correlated topics of each topic; for few topics, all pairs."""
        distance, correlation = self._distance, self._correlation
        ids = np.array(list(self._place), np.int64)
        shape = (len(distance), NEAR)
        near, friend = np.full((2, *shape), NONE)
        far, meet = np.ones(shape), np.zeros(shape)
        for row in ids.tolist():
            others = ids[ids != row]
            closest = others[np.argsort(distance[row, others], kind="stable")][:NEAR]
            near[row, : len(closest)] = closest
            far[row, : len(closest)] = distance[row, closest]
            met = others[np.argsort(-correlation[row, others], kind="stable")][:NEAR]
            met = met[correlation[row, met] > 0]
            friend[row, : len(met)] = met
            meet[row, : len(met)] = correlation[row, met]
        packed = Packed().add("topic", "u16", near).add("distance", "u8", steps(far, "u8"))
        packed.add("friend", "u16", friend).add("correlation", "i8", steps(meet, "i8"))
        found = {"near": packed}
        if len(distance) <= PAIRS:
            pairs = Packed().add("distance", "u8", steps(distance, "u8"))
            found["pairs"] = pairs.add("correlation", "i8", steps(correlation, "i8"))
        return found

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return all pairs' distances and correlations, for at most `PAIRS` topics."""
        if len(self._distance) > PAIRS:
            return {}
        pairs = {"distance": self._distance, "correlation": self._correlation}
        return {"pairs": {name: np.round(values, 5).tolist() for name, values in pairs.items()}}

    def definitions(self) -> list[Definition]:
        """Define distance, map, tree, and co-occurrence of topics."""
        found = [
            Definition(
                "Distance",
                "Square root of (1 - cosine) / 2: 0 means the same direction, 1 the opposite "
                "direction."
                if self.run.signed
                else (
                    "Hellinger distance: square root of 1 - Σ √(p q) over the words. 0 means "
                    "the same topic, 1 no word in common."
                ),
            )
        ]
        if self._map is not None:
            found.append(
                Definition(
                    "Map",
                    "One of two maps: principal axes of the distances, or t-SNE started from these "
                    "axes. The page shows the map that keeps more of each topic's nearest topics "
                    "near. If both maps keep less than "
                    f"{100 * KEPT:.0f} % of them, no map is shown.",
                    "van der Maaten and Hinton 2008",
                )
            )
        found.append(
            Definition(
                "Tree",
                "Average linkage: each step joins the two groups with the smallest mean "
                "distance between their members. A topic's place in the tree determines its "
                "colour.",
            )
        )
        if self.run.draws > 1:
            found.append(
                Definition(
                    "Occurring in the same documents",
                    "Correlation of the square roots of two topics' shares over documents, "
                    f"computed for each draw; shown if {100 * AGREE:.0f} % of the draws agree "
                    "on the sign of the correlation.",
                )
            )
        return found
