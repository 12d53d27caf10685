"""A communicator of any number of ranks, played in turn by one process."""

from __future__ import annotations

import numpy as np

from pysgrld.chain.communicator import Collected, Communicator
from pysgrld.corpus.minibatches import slice_of


class InTurn(Communicator):
    """Samples the slices of all ranks one after the other, and adds them up.

    Parameters
    ----------
    ranks : int
        May be more than there are documents.
    """

    def __init__(self, ranks):
        self.ranks = ranks

    def collect(self, sample, batch):
        """Sample the parts of a minibatch, and add up as ranks do; a kernel lends its arrays: copies."""
        sums, values = None, []
        for found in map(sample, self._parts(batch)):
            arrays = (*found.by_word, *found.sums)
            assert all(a.dtype.kind == "i" for a in arrays)
            sums = [a.copy() for a in arrays] if sums is None else list(map(sum_of, sums, arrays))
            if found.values is not None:
                values.append(found.values)
        values = np.concatenate(values) if values else None
        n = len(found.by_word)
        return Collected(tuple(sums[:n]), tuple(sums[n:]), values, batch.words)

    def _parts(self, batch):
        """Cut the minibatch as ranks do."""
        for rank in range(self.ranks):
            cut = slice_of(range(len(batch.doc_ids)), rank, self.ranks)
            indptr = batch.indptr[cut.start : cut.stop + 1]
            entries = slice(indptr[0], indptr[-1])
            yield batch._replace(
                indptr=indptr - indptr[0],
                indices=batch.indices[entries].copy(),
                counts=batch.counts[entries].copy(),
                doc_ids=batch.doc_ids[cut.start : cut.stop].copy(),
            )


def sum_of(a, b):
    """The sum of two arrays of integers."""
    return a + b
