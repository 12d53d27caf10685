"""Layers of a deep model as a tree, in which topics use topics of the layer below."""

from __future__ import annotations

from typing import Any

from pysgrld.report.reported_run import Section

#: Number of words shown of a topic in the tree.
WORDS = 8


class Layers(Section):
    """Topics of all layers; each topic has a list of its main topics in the layer below."""

    def main(self) -> dict[str, Any]:
        """Return the tree of topics in all layers, or None for a model with one layer."""
        results = self.run.results
        nodes = results.fitted.tree(results.vocabulary, WORDS, results.word_order)
        return {"layers": None if nodes is None else [node.as_dict() for node in nodes]}
