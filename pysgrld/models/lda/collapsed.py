"""Documents of LDA under collapsed Gibbs: the topics of all tokens are the chain's whole state.

Kernel: cpp/kernels/documents_collapsed.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core, padded
from pysgrld.core.draws import Draw
from pysgrld.core.restore import check_topics, put_back
from pysgrld.models.lda.documents import alpha_evidence, alpha_of, token_places
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers.state import Counts
from pysgrld.types import Array, Block, Documents, Int32s, Int64s, Key, Minibatch


class CollapsedDocuments(DocumentSampler):
    """Documents by collapsed Gibbs sampling: each token's topic given those of all others.

    Parameters
    ----------
    block : Block
        The topics over words, with their prior.
    alpha : float or None
        Symmetric Dirichlet parameter per topic of a document; None where it is learned, one for each.
    sweeps : int
        Over all tokens, an iteration.
    threads : int
        The chain itself runs on one.

    Attributes
    ----------
    z : int32 array
        Topics of all tokens that are kept, -1 before the first sweep.
    """

    def __init__(self, *, block: Block, alpha: float | None, sweeps: int, threads: int) -> None:
        self.block, self.alpha, self.sweeps = block, alpha, sweeps
        self.topics = block.shape[1]
        self.z: Int32s = np.zeros(0, np.int32)
        self._token_ptr: Int64s = np.zeros(1, np.int64)
        self._work, self._threads = core.Workspace(), threads

    def keep(self, documents: Documents) -> None:
        """Sample these documents; none of their tokens has a topic yet."""
        self._token_ptr = token_places(documents)
        self.z = np.full(self._token_ptr[-1], -1, np.int32)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sweep over all tokens, each given all others, and give the counts of words by topic.

        Griffiths and Steyvers (2004), eq. (5). Randomness: purpose ``documents``, entity = document.
        """
        del comm
        alpha = alpha_of(draw, self.alpha)  # topics are integrated out
        eta = float(draw[ETA_BLOCK][0]) if ETA_BLOCK in draw else self.block.prior
        counts = core.documents_collapsed(
            rows=len(batch.words),
            topics=self.topics,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            alpha=alpha,
            **self._prior(batch.words, eta),
            sweeps=self.sweeps,
            **key._asdict(),
            z=self.z,
            token_ptr=self._token_ptr,
            work=self._work,
            threads=self._threads,
        )
        level = int(batch.counts.sum(dtype=np.int64)) / self.topics
        statistics = {"phi": Counts(batch.words, counts, 1.0, level)}
        if isinstance(alpha, np.ndarray):
            tables, q = core.alpha_evidence(
                z=self.z,
                token_ptr=self._token_ptr,
                doc_ids=batch.doc_ids,
                alpha=alpha,
                topics=self.topics,
                **key._asdict(),
                threads=self._threads,
            )
            statistics[ALPHA_BLOCK] = alpha_evidence(tables, q, 1.0, level)
        return statistics

    def _prior(self, words: Int32s, prior: float) -> dict[str, Any]:
        """Return eta of the cells: rows that differ, the row of each word, and sums over all V words."""
        (v, k), eta, seeds = self.block.shape, np.float32(prior), self.block.seeds
        seeded = np.zeros(0, np.int32) if seeds is None else seeds.rows
        priors = np.full((1 + len(seeded), padded(k)), eta)
        mass = np.full(padded(k), v * np.float64(eta))
        of = np.zeros(len(words), np.int32)
        if seeds is not None:
            priors[1:, :k] += seeds.counts.astype(np.float32)
            mass[:k] += seeds.counts.sum(axis=0)
            there = np.flatnonzero(np.isin(words, seeded))
            of[there] = 1 + np.searchsorted(seeded, words[there])
        return {"priors": priors, "prior_of": of, "mass": mass}

    def arrays(self) -> dict[str, Array]:
        """Return the topics of all tokens."""
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
