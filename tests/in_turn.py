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

    def collect(self, sample, batch, *, by_words=False):
        """Sample the parts of a minibatch, and add up as ranks do; a kernel lends its arrays: copies."""
        sums, values = None, []
        for found in map(sample, self._parts(batch)):
            assert all(a.dtype.kind == "i" for a in found.sums)
            sums = (
                [a.copy() for a in found.sums]
                if sums is None
                else list(map(sum_of, sums, found.sums))
            )
            if found.values is not None:
                values.append(found.values)
        return Collected(tuple(sums), np.concatenate(values) if values else None)

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
