"""Documents of LDA under collapsed Gibbs: the topics of all tokens are the chain's whole state.

Kernel: cpp/kernels/documents_collapsed.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core import core, padded
from pysgrld.core.draws import Draw
from pysgrld.models.lda.documents import GibbsDocuments, TokenTopics, alpha_evidence, alpha_of
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Documents, Int32s, Key, Minibatch

#: Sweeps by which tokens get their first topics, given topics over words.
FIRST_SWEEPS = 10


class CollapsedDocuments(TokenTopics):
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
    """

    def __init__(self, *, block: Block, alpha: float | None, sweeps: int, threads: int) -> None:
        self.block, self.alpha, self.sweeps = block, alpha, sweeps
        self.topics = block.shape[1]
        self._work, self._threads = core.Workspace(), threads

    def begin_from(
        self, key: Key, draw: Draw, batch: Minibatch, threads: int | None = None
    ) -> None:
        """Give all tokens topics by some sweeps given the topics over words, on so many threads."""
        documents = GibbsDocuments(
            topics=self.topics,
            alpha=self.alpha,
            sweeps=FIRST_SWEEPS,
            kept=1,
            rao_blackwell=False,
            threads=threads or self._threads,
        )
        documents.keep(Documents(batch.indptr, batch.indices, batch.counts))
        documents.visit(key, draw, batch)
        assert self.z is not None
        assert documents.z is not None
        self.z[:] = documents.z

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sweep over all tokens, each given all others, and give the counts of words by topic.

        Griffiths and Steyvers (2004), eq. (5). Randomness: purpose ``documents``, entity = document.
        """
        del comm
        assert self.z is not None  # the whole corpus is kept
        assert self.token_ptr is not None
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
            token_ptr=self.token_ptr,
            work=self._work,
            threads=self._threads,
        )
        level = int(batch.counts.sum(dtype=np.int64)) / self.topics
        statistics = {"phi": Counts(batch.words, counts, 1.0, level)}
        if isinstance(alpha, np.ndarray):
            tables, q = core.alpha_evidence(
                z=self.z,
                token_ptr=self.token_ptr,
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
