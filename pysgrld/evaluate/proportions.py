"""Topic proportions of documents, given topics."""

from __future__ import annotations

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.draws import Draw, at_words
from pysgrld.corpus.minibatches import compact
from pysgrld.evaluate.reader import Readers, Visiting
from pysgrld.types import Documents, Doubles, Int32s, Int64s, Key

#: Documents that are inferred at a time: bounds the memory.
BLOCK = 4096


def proportions(
    readers: Readers,
    parts: Draw,
    documents: Documents,
    ids: Int64s,
    seed: int,
    threads: int,
    at: int = 0,
) -> Doubles:
    """Infer topic proportions of documents under given topics.

    Documents that are too long for all kept sweeps to be counted are read apart from the others, by
    their last sweep alone, so that no document's result depends on its neighbours.

    Parameters
    ----------
    readers : Readers
    parts : dict
        A draw of the topics, or their mean, over all words.
    documents : Documents
    ids : (n,) int64
        Key each document's randomness, with ``seed``.
    seed, threads : int
    at : int
        The layer, counted from 0.

    Returns
    -------
    (n, K) float64
        Rows sum to 1.

    Raises
    ------
    CorpusError
        If a document is too long even for one sweep to be counted.
    """
    lengths = documents.lengths
    check_lengths(lengths, 1, "document", ids)
    long = lengths > readers.longest
    theta = np.empty((len(ids), readers.layers[at]))
    for chosen in (~long, long):
        if not chosen.any():
            continue
        some = documents if chosen.all() else documents.take(np.flatnonzero(chosen))
        there, words = over_their_words(some, ids[chosen])
        reader = readers(there, ids[chosen], threads)
        theta[chosen] = reader.theta(Key(seed, 0, 0), at_words(parts, words), Visiting.NEW, at)
    return theta


def over_their_words(documents: Documents, ids: Int64s) -> tuple[Documents, Int32s]:
    """Give documents over the words that they have, and these words: at least one."""
    batch = compact(documents, ids, 1.0)
    words = batch.words if len(batch.words) else np.zeros(1, np.int32)
    return Documents(batch.indptr, batch.indices, batch.counts), words
