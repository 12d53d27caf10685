"""Sampler of LDA's documents by collapsed Gibbs; its state is the topics of all tokens.

Kernel: cpp/kernels/documents_collapsed.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw
from pysgrld.models.token_topics import TokenTopics, alpha_evidence, resolve_alpha
from pysgrld.options.priors import ALPHA_BLOCK, ETA_BLOCK
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Doubles, Floats, Int32s, Int64s, Key, Minibatch

#: Number of seconds between two checks of whether to stop sampling.
LOOK = 0.1


class CollapsedDocuments(TokenTopics):
    """Collapsed-Gibbs sampler: a token's topic is drawn given the topics of all other tokens.

    Parameters
    ----------
    block : Block
        The topics over words, with their prior.
    alpha : float or None
        Symmetric Dirichlet parameter per topic of a document, or None if alpha_k are learned.
    sweeps : int
        Number of sweeps over all tokens per iteration.
    threads : int
        Number of threads; the chain itself uses one.

    Attributes
    ----------
    visited : (1,) int64
        Number of documents that an interrupted iteration has processed, over all sweeps; else 0.
    """

    def __init__(self, *, block: Block, alpha: float | None, sweeps: int, threads: int) -> None:
        self.block, self.alpha, self.sweeps = block, alpha, sweeps
        self.topics = block.shape[1]
        self._work, self._threads = core.Workspace(), threads
        self.visited: Int64s = np.zeros(1, np.int64)

    def start_from_topics(self, key: Key, draw: Draw, batch: Minibatch) -> None:
        """Draw initial topics for all tokens, by several sweeps given the topics over words."""
        self.sample_first(key, draw, batch, self._threads)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Draw the topic of each token given all other tokens' topics; return word counts by topic.

        Griffiths and Steyvers (2004), eq. (5). Randomness: purpose ``documents``, entity = document.
        """
        del comm
        return self.visit_together((self,), (key,), (draw,), batch)[0]

    @staticmethod
    def visit_together(
        chains: Sequence[CollapsedDocuments],
        keys: Sequence[Key],
        draws: Sequence[Draw],
        batch: Minibatch,
        waiting: Callable[[], None] | None = None,
    ) -> list[dict[str, Counts]]:
        """Sample the documents of several chains on one thread, alternating between the chains.

        The result is the same as with `visit` of each chain. In a chain each draw waits for the
        draw before it, so two chains together take little longer than one.

        Parameters
        ----------
        chains : sequence of CollapsedDocuments
            Chains of the same documents, block and number of sweeps, with equal `visited`.
        keys : sequence of Key
            Keys of the same seed and chain.
        draws : sequence of Draw
        batch : Minibatch
            The whole corpus.
        waiting : callable, optional
            Called between documents; it may raise an exception to stop. The next call then
            continues.
        """
        first, k = chains[0], chains[0].topics
        assert first.token_ptr is not None
        alphas = [resolve_alpha(draw, c.alpha) for c, draw in zip(chains, draws, strict=True)]
        lanes = np.zeros((len(chains), padded_width(k)), np.float32)
        for lane, alpha in zip(lanes, alphas, strict=True):
            lane[:k] = alpha if isinstance(alpha, float) else alpha[:k]
        priors = [
            c._prior(batch.words, float(draw[ETA_BLOCK][0]) if ETA_BLOCK in draw else c.block.prior)
            for c, draw in zip(chains, draws, strict=True)
        ]
        try:
            tables = core.documents_collapsed(
                rows=len(batch.words),
                topics=k,
                indptr=batch.indptr,
                indices=batch.indices,
                counts=batch.counts,
                doc_ids=batch.doc_ids,
                alpha=lanes,
                priors=np.stack([prior.rows for prior in priors]),
                prior_of=priors[0].of,
                mass=np.stack([prior.mass for prior in priors]),
                sweeps=first.sweeps,
                seed=keys[0].seed,
                chain=keys[0].chain,
                steps=[key.step for key in keys],
                z=[c._topics_of_tokens for c in chains],
                token_ptr=first.token_ptr,
                work=first._work,
                threads=first._threads,
                visited=first.visited,
                waiting=waiting,
                seconds=LOOK,
            )
        finally:
            for c in chains[1:]:
                c.visited[:] = first.visited
        counts = tables.reshape(len(chains), len(batch.words), -1)
        level = int(batch.counts.sum(dtype=np.int64)) / k
        results = []
        for c, key, alpha, chain_counts in zip(chains, keys, alphas, counts, strict=True):
            statistics = {"phi": Counts(batch.words, chain_counts, 1.0, level)}
            if isinstance(alpha, np.ndarray):
                tables, q = core.alpha_evidence(
                    z=c._topics_of_tokens,
                    token_ptr=first.token_ptr,
                    doc_ids=batch.doc_ids,
                    alpha=alpha,
                    topics=k,
                    **key._asdict(),
                    threads=c._threads,
                )
                statistics[ALPHA_BLOCK] = alpha_evidence(tables, q, 1.0, level)
            results.append(statistics)
        return results

    @property
    def _topics_of_tokens(self) -> Int32s:
        assert self.z is not None  # The chain stores the topics of all tokens.
        return self.z

    def _prior(self, words: Int32s, prior: float) -> _Prior:
        """Return the prior eta of each word in each topic."""
        (v, k), eta, seeds = self.block.shape, np.float32(prior), self.block.seeds
        seeded = np.zeros(0, np.int32) if seeds is None else seeds.rows
        priors = np.full((1 + len(seeded), padded_width(k)), eta)
        mass = np.full(padded_width(k), v * np.float64(eta))
        prior_of = np.zeros(len(words), np.int32)
        if seeds is not None:
            priors[1:, :k] += seeds.counts.astype(np.float32)
            mass[:k] += seeds.counts.sum(axis=0)
            positions = np.flatnonzero(np.isin(words, seeded))
            prior_of[positions] = 1 + np.searchsorted(seeded, words[positions])
        return _Prior(priors, prior_of, mass)


class _Prior(NamedTuple):
    """Dirichlet prior of topics: distinct rows of eta, the row of each word, and sums of eta.

    The mass is a topic's sum over all V words.
    """

    rows: Floats
    of: Int32s
    mass: Doubles
