"""Coherence of topics: how often the top words of a topic occur in the same documents.

NPMI is defined by Bouma (2009) and Lau, Newman and Baldwin (2014), UMass by Mimno et al. (2011).
Both count documents that contain the words, and are means over the pairs of a topic's top words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.corpus.minibatches import Source
from pysgrld.types import Array, Doubles, Int64s

#: Maximum number of cells in memory of the table with a row for each word and a column for each
#: document.
CELLS = 1 << 24


class Coherence(NamedTuple):
    """Coherence of every topic.

    Attributes
    ----------
    npmi : (K,) float64
        In [-1, 1]: 0 if words occur together as often as by chance, -1 if they never do.
    umass : (K,) float64
        At most about 0; higher is better.
    documents : int
        Number of documents that were counted.
    """

    npmi: Doubles
    umass: Doubles
    documents: int


def coherence(top: Int64s, source: Source, ids: Int64s, apart: Array | None = None) -> Coherence:
    """Measure the coherence of topics over the documents ``ids`` of a corpus.

    Parameters
    ----------
    top : (K, N) int64
        Word ids of each topic's top words, the most probable first; N >= 2.
    source : Source
    ids : (D,) int64
    apart : (K, N, N) bool, optional
        True for pairs of words that are left out of the means, as they are parts of one word in the
        text. A topic without any other pair gets 0.

    Notes
    -----
    With D(v) the number of documents that contain v, and D(v, w) the number that contain both::

        NPMI(v, w)  = log(p(v, w) / (p(v) p(w))) / -log p(v, w),  p = D(.)/D
        UMass(v, w) = log((D(v, w) + 1) / D(v)),  v the more probable word of the topic

    NPMI is -1 if D(v, w) = 0, and 0 if both words are in every document.
    """
    together = meetings(top, source, ids).astype(np.float64)
    alone = np.einsum("kii->ki", together)
    first, second = np.triu_indices(top.shape[1], 1)
    pair_counts, v, w = together[:, first, second], alone[:, first], alone[:, second]
    n = float(len(ids))
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = log(pair_counts * n / (v * w)) / -log(pair_counts / n)
    npmi = np.where(pair_counts == 0, -1.0, np.where(pair_counts == n, 0.0, npmi))
    umass = log((pair_counts + 1.0) / np.maximum(v, 1.0))
    counted = np.ones(pair_counts.shape) if apart is None else 1.0 * ~apart[:, first, second]
    pairs = np.maximum(counted.sum(axis=1), 1.0)
    npmi, umass = ((values * counted).sum(axis=1) / pairs for values in (npmi, umass))
    return Coherence(npmi, umass, len(ids))


def meetings(top: Int64s, source: Source, ids: Int64s) -> Int64s:
    """Count the documents that contain each pair of a topic's top words, (K, N, N).

    The diagonal has the number of documents that contain each word.

    Parameters
    ----------
    top : array of int64, (K, N)
        Ids of the words of each topic.
    source : Source
        The corpus.
    ids : array of int64
        Positions of the documents.

    Returns
    -------
    array of int64, (K, N, N)
        Numbers of documents.
    """
    words = np.flatnonzero(np.bincount(top.ravel()))
    columns = np.searchsorted(words, top)
    total = np.zeros((*top.shape, top.shape[1]), np.int64)
    size = int(max(16, min(8192, CELLS // len(words))))
    for begin in range(0, len(ids), size):
        documents = source.take(ids[begin : begin + size])
        positions = np.minimum(np.searchsorted(words, documents.indices), len(words) - 1)
        is_watched = words[positions] == documents.indices
        holder = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
        held = np.zeros((len(words), len(documents)), np.float32)
        held[positions[is_watched], holder[is_watched]] = 1.0
        # Counts of documents are at most 8192 here, so float32 is exact.
        for k, rows in enumerate(columns):
            held_columns = held[rows]
            total[k] += (held_columns @ held_columns.T).astype(np.int64)
    return total
