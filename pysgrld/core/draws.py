"""Conversion of a draw of a model's topics between its two memory layouts.

*By word* (`Draw`): the layout that documents and kernels read. A block of K topics over V words is a
matrix (V, Kp) float32. Its row w has the probabilities of word w in every topic; Kp is K rounded up to
a multiple of 16, and padding is 0. Columns sum to 1. The matrix may have the rows of some words only.
A vector of K shapes is (Kp,) float32.

*By topic*: the layout of samples and exports. A block is a matrix (K, V) float32 without padding,
with rows that sum to 1; a vector of shapes is (1, K).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.types import Array, Block, Floats, Int32s

#: Arrays of a draw, by block name ("phi", "phi2", ..., "r"). Matrices have one row per word. A draw
#: may have the additional array `WEIGHTS`.
Draw = dict[str, Floats]

#: Name of the array of weights with which the topics of tokens are sampled. If a draw lacks this
#: array, phi has the weights.
WEIGHTS = "weights"


#: Number of rows that are transposed at a time, so that they stay in the cache.
_ROWS = 256


def draw_to_matrices(draw: Draw, blocks: tuple[Block, ...]) -> dict[str, Floats]:
    """Copy a draw into matrices with one row per topic, by block name.

    For example, ``phi`` becomes (K, V), and ``r`` becomes (1, K).

    Parameters
    ----------
    draw : Draw
        Blocks word by word, padded.
    blocks : tuple of Block
        The blocks of the draw.

    Returns
    -------
    dict of float32 arrays
    """
    matrices = {}
    for b in blocks:
        part, k = draw[b.name], b.shape[1]
        if part.ndim == 1:
            matrices[b.name] = part[None, :k].copy()
            continue
        matrices[b.name] = np.empty((k, len(part)), part.dtype)
        for begin in range(0, len(part), _ROWS):
            rows = slice(begin, begin + _ROWS)
            matrices[b.name][:, rows] = part[rows, :k].T
    return matrices


def matrices_to_draw(matrices: Mapping[str, Array], blocks: tuple[Block, ...]) -> Draw:
    """Copy matrices with one row per topic into a zero-padded draw, the inverse of `draw_to_matrices`.

    Parameters
    ----------
    matrices : mapping
        A matrix for each block, as `draw_to_matrices` returns them.
    blocks : tuple of Block
        The blocks of the draw.

    Returns
    -------
    Draw
    """
    draw: Draw = {}
    for b in blocks:
        matrix, k = matrices[b.name], b.shape[1]
        if b.is_vector:
            draw[b.name] = np.zeros(padded_width(k), np.float32)
            draw[b.name][:k] = matrix[0, :k]
            continue
        draw[b.name] = core.zeros(matrix.shape[1], padded_width(k), "float32")
        draw[b.name][:, :k] = matrix.T
    return draw


def sampling_weights(draw: Draw) -> Floats:
    """Return the weights of topics for each word of a draw, to draw token topics.

    The weights are `WEIGHTS` if the draw has them, otherwise phi.

    Parameters
    ----------
    draw : Draw

    Returns
    -------
    (R, Kp) float32
    """
    return draw[WEIGHTS] if WEIGHTS in draw else draw["phi"]


def select_words(draw: Draw, words: Int32s) -> Draw:
    """Copy a draw, reduced to the rows of the given words.

    Parameters
    ----------
    draw : Draw
        A draw with a row for each word of the vocabulary.
    words : (R,) int32
        Ids of the words.

    Returns
    -------
    Draw
    """
    return draw | {name: draw[name][words] for name in ("phi", WEIGHTS) if name in draw}
