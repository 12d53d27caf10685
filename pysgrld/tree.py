"""The tree of a deep model: which topics of the layer below each topic uses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pysgrld.models.dlda import name_of
from pysgrld.results import Results
from pysgrld.types import Doubles

#: A topic below is shown where its share is this many times what an even split would give it.
ABOVE_EVEN = 3.0
#: Topics of the top layer that are shown make up this share of what the top layer is used for.
TOP_SHARE = 0.95


class Node(NamedTuple):
    """A topic, and those of the layer below that it mostly uses.

    Attributes
    ----------
    layer, id : int
        The layer counted from 1, and the topic's place in it, as in an export.
    share : float
        Of the topic above that goes to it; of the top layer, its share of the shapes r.
    words : tuple of str
        The most probable, through the layers below.
    children : tuple of Node
        The greatest share first.
    """

    layer: int
    id: int
    share: float
    words: tuple[str, ...]
    children: tuple[Node, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return self._asdict() | {"children": [child.as_dict() for child in self.children]}


def tree(results: Results, words: int) -> list[Node]:
    """Topics of the top layer that are in use, each with those below it.

    An edge to a topic is there where its weight in the column of Phi is at least three times that of
    an even split.

    Parameters
    ----------
    results : Results
    words : int
        Top words of each topic.
    """
    parts, layers = results.mean.parts, results.layers
    tops = [results.top(words, layer) for layer in range(len(layers))]

    def node(layer: int, k: int, share: float) -> Node:
        children: tuple[Node, ...] = ()
        if layer > 0:
            column = parts[name_of(layer)][:, k].astype(np.float64)
            used = np.flatnonzero(column >= ABOVE_EVEN / layers[layer - 1])
            order = used[np.argsort(-column[used], kind="stable")]
            children = tuple(node(layer - 1, int(j), float(column[j])) for j in order)
        shown = tuple(results.vocabulary[w] for w in tops[layer][k])
        return Node(layer + 1, k, share, shown, children)

    top = len(layers) - 1
    shares = _shares(results, top)
    order = np.argsort(-shares, kind="stable")
    enough = int(np.searchsorted(np.cumsum(shares[order]), TOP_SHARE)) + 1
    return [node(top, int(k), float(shares[k])) for k in order[:enough]]


def _shares(results: Results, top: int) -> Doubles:
    """What each topic of the top layer is used for: by r, or without one by the tokens."""
    if "r" in results.mean.parts:
        r = results.mean.parts["r"][: results.layers[top]].astype(np.float64)
        share: Doubles = r / r.sum()
        return share
    weights = results.weights(top)
    k = results.layers[top]
    return np.full(k, 1.0 / k) if weights is None else weights
