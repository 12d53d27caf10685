"""A communicator for any number of ranks, simulated in turn by one process."""

from __future__ import annotations

import numpy as np

from pysgrld.chain.communicator import Collected, Communicator
from pysgrld.corpus.minibatches import slice_of


class InTurn(Communicator):
    """Communicator that samples the slices of all ranks in turn and adds them up.

    Parameters
    ----------
    ranks : int
        May be more than there are documents.
    """

    def __init__(self, ranks):
        self.ranks = ranks

    def collect(self, sample, batch):
        """Sample the parts of a minibatch and add them up as ranks do; copy the kernel's arrays."""
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
        """Split the minibatch as ranks do."""
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
    """Return the sum of two integer arrays."""
    return a + b
