"""The tree of a deep model: which topics of the layer below each topic uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.models.dlda.documents import name_of
from pysgrld.models.fitted import Node

#: A topic below is shown where its share is this many times what an even split would give it.
ABOVE_EVEN = 3.0
#: Topics of the top layer that are shown make up this share of what the top layer is used for.
TOP_SHARE = 0.95


def tree(
    draw: Draw, layers: tuple[int, ...], words: Sequence[Sequence[Sequence[str]]]
) -> list[Node]:
    """Draw up the topics of the top layer that are in use, each with those below it.

    An edge to a topic is there where its weight in the column of Phi is at least three times that of
    an even split. A topic of the top layer is used as much as its shape in r says.

    Parameters
    ----------
    draw : dict
        Topics of every layer and ``r``, word-major.
    layers : tuple of int
        Topics of each layer.
    words : sequence
        The words to show of each topic, by layer and topic.
    """

    def node(at: int, k: int, share: float) -> Node:
        children: tuple[Node, ...] = ()
        if at > 0:
            column = draw[name_of(at)][:, k].astype(np.float64)
            used = np.flatnonzero(column >= ABOVE_EVEN / layers[at - 1])
            order = used[np.argsort(-column[used], kind="stable")]
            children = tuple(node(at - 1, int(j), float(column[j])) for j in order)
        return Node(at + 1, k, share, tuple(words[at][k]), children)

    top = len(layers) - 1
    r = draw["r"][: layers[top]].astype(np.float64)
    shares = r / r.sum()
    order = np.argsort(-shares, kind="stable")
    enough = int(np.searchsorted(np.cumsum(shares[order]), TOP_SHARE)) + 1
    return [node(top, int(k), float(shares[k])) for k in order[:enough]]
