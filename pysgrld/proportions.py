"""Topic proportions of documents, given topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.models import documents_of
from pysgrld.parts import at_words
from pysgrld.stream import compact
from pysgrld.types import Documents, Doubles, Int64s, Key, Parts

#: Documents that are inferred at a time: bounds the memory.
BLOCK = 4096


def proportions(
    options: Mapping[str, Any], parts: Parts, documents: Documents, ids: Int64s, threads: int,
    layer: int = 0,
) -> Doubles:  # fmt: skip
    """Topic proportions of documents, (n, K) float64, rows sum to 1; of layer ``layer``, from 0.

    A document's randomness is keyed by its id. Of one that is too long for the kept sweeps to be
    counted together, the last sweep alone is counted.

    Raises
    ------
    CorpusError
        If a document is too long for that too.
    """
    lengths = documents.lengths
    check_lengths(lengths, 1, "document", ids)
    way = documents_of(options)
    long = lengths > core.MAX_COLLECTED // (way.infer_sweeps // 2)
    k = options["layers"][layer] if options["layers"] else options["topics"]
    theta = np.empty((len(ids), k))
    for chosen, kept in ((~long, way.infer_sweeps // 2), (long, 1)):
        if not chosen.any():
            continue
        some = documents if chosen.all() else documents.take(np.flatnonzero(chosen))
        batch = compact(some, ids[chosen], 1.0)
        words = batch.words if len(batch.words) else np.zeros(1, np.int32)
        there = Documents(batch.indptr, batch.indices, batch.counts)
        reader = way.reader(options, there, ids[chosen], threads)
        theta[chosen] = reader.theta(
            Key(options["seed"], 0, 0), at_words(parts, words), core.Purpose.infer,
            way.infer_sweeps, kept, layer,
        )  # fmt: skip
    return theta
