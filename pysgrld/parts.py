"""Topics of all blocks in the two forms they have: padded word-major, as documents read them, and one
row a topic, as files and people have them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core, padded
from pysgrld.types import WEIGHTS, Array, Block, Floats, Int32s, Parts


def by_topic(parts: Parts, blocks: tuple[Block, ...]) -> dict[str, Floats]:
    """Matrices with a row for each topic: ``phi`` (K, V), ``phi2`` (K2, K), ..., ``r`` (1, K_L)."""
    matrices = {}
    for b in blocks:
        part, k = parts[b.name], b.shape[1]
        matrices[b.name] = part[None, :k].copy() if part.ndim == 1 else part[:, :k].T.copy()
    return matrices


def by_word(matrices: Mapping[str, Array], blocks: tuple[Block, ...]) -> Parts:
    """The inverse of `by_topic`: padded with zeros."""
    parts: Parts = {}
    for b in blocks:
        matrix, k = matrices[b.name], b.shape[1]
        if b.geometry == "positive":  # a vector
            parts[b.name] = np.zeros(padded(k), np.float32)
            parts[b.name][:k] = matrix[0, :k]
            continue
        parts[b.name] = core.zeros(matrix.shape[1], padded(k), "float32")
        parts[b.name][:, :k] = matrix.T
    return parts


def weights_of(parts: Parts) -> Floats:
    """Rows that tokens are given topics by: those of phi, unless the sampler has others."""
    return parts[WEIGHTS] if WEIGHTS in parts else parts["phi"]


def at_words(parts: Parts, words: Int32s) -> Parts:
    """The same with the rows of these words only."""
    return parts | {name: parts[name][words] for name in ("phi", WEIGHTS) if name in parts}
