"""Documents of LDA under collapsed Gibbs: the topics of all tokens are the chain's whole state.

Kernel: cpp/kernels/documents_collapsed.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core
from pysgrld.draws import Draw
from pysgrld.models.lda.documents import token_places
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.restore import check_topics, put_back
from pysgrld.samplers.protocol import Counts
from pysgrld.types import Array, Documents, Int32s, Int64s, Key, Minibatch


class CollapsedDocuments:
    """Documents by collapsed Gibbs sampling: each token's topic given those of all others.

    Parameters
    ----------
    topics, words : int
        K and V.
    alpha, eta : float
        Symmetric Dirichlet parameters per topic of a document, and per word of a topic.
    sweeps : int
        Over all tokens, an iteration.
    threads : int
        The chain itself runs on one.

    Attributes
    ----------
    z : int32 array
        Topics of all tokens that are kept, -1 before the first sweep.
    """

    def __init__(
        self, *, topics: int, words: int, alpha: float, eta: float, sweeps: int, threads: int
    ) -> None:
        self.topics, self.words, self.alpha, self.eta = topics, words, alpha, eta
        self.sweeps = sweeps
        self.z: Int32s = np.zeros(0, np.int32)
        self._token_ptr: Int64s = np.zeros(1, np.int64)
        self._work, self._threads = core.Workspace(), threads

    def keep(self, documents: Documents) -> None:
        """Sample these documents; none of their tokens has a topic yet."""
        self._token_ptr = token_places(documents)
        self.z = np.full(self._token_ptr[-1], -1, np.int32)

    def visit(self, key: Key, draw: Draw, batch: Minibatch) -> dict[str, Counts]:
        """Sweep over all tokens, each given all others, and give the counts of words by topic.

        Griffiths and Steyvers (2004), eq. (5). Randomness: purpose ``documents``, entity = document.
        """
        del draw  # topics are integrated out
        counts = core.documents_collapsed(
            rows=len(batch.words),
            topics=self.topics,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            alpha=self.alpha,
            eta=self.eta,
            words=self.words,
            sweeps=self.sweeps,
            **key.address(),
            z=self.z,
            token_ptr=self._token_ptr,
            work=self._work,
            threads=self._threads,
        )
        level = int(batch.counts.sum(dtype=np.int64)) / self.topics
        return {"phi": Counts(batch.words, counts, 1.0, level)}

    def arrays(self) -> dict[str, Array]:
        """Give the topics of all tokens."""
        return {"z": self.z}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the topics of all tokens out of a checkpoint.

        Raises
        ------
        CheckpointError
            If it lacks them, or has topics that there are not.
        """
        put_back(self.arrays(), arrays)
        check_topics("z", self.z, self.topics)


def documents(options: LDAOptions, words: int, threads: int) -> CollapsedDocuments:
    """Make the sampler of documents that resolved options ask for."""
    return CollapsedDocuments(
        topics=options.topics,
        words=words,
        alpha=options.alpha,
        eta=options.eta,
        sweeps=options.sweeps,
        threads=threads,
    )
