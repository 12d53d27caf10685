"""Layers of a deep model: topics of topics, as a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.models.fitted import Node
from pysgrld.report.reported_run import Section
from pysgrld.report.topic_words import best, columns, relevance

#: Words of a topic in the tree, and the relevance by which those of upper layers are chosen.
WORDS, LAMBDA = 8, 0.3


class Layers(Section):
    """The topics of every layer, each with those of the layer below that it mostly uses."""

    def main(self) -> dict[str, Any]:
        """Return the tree; None of a model with one layer."""
        results, counts = self.run.results, self.run.counts
        nodes = results.fitted.tree(results.vocabulary, WORDS)
        if nodes is None:
            return {"layers": None}
        # Upper topics get their most relevant words: the most probable are alike in all.
        words: dict[tuple[int, int], tuple[str, ...]] = {}
        if counts is not None:
            share = np.maximum(counts, 1) / max(1, counts.sum())
            for at in range(1, results.fitted.depth):
                phi = results.phi(at)
                for k, p in enumerate(columns(phi, results.fitted.layers[at])):
                    ranked = best(relevance(np.maximum(p, 1e-30), share, LAMBDA), WORDS)
                    words[at + 1, k] = tuple(results.vocabulary[w] for w in ranked.tolist())

        def told(node: Node) -> Node:
            own = words.get((node.layer, node.id), node.words)
            return node._replace(words=own, children=tuple(map(told, node.children)))

        return {"layers": [told(node).as_dict() for node in nodes]}
