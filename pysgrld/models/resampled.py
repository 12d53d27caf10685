"""Refinement over resampled documents: how much topics would differ in another sample of documents.

A replicate takes as many documents as the corpus has, with replacement, and continues a chain of the
Gibbs refinement on them. A document that was taken w times is sampled once, and its tokens count w
times: two copies of a document would mix more slowly and agree less with other samples of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import WholeCorpus
from pysgrld.models.exact_tokens import ExactTokens, shifted
from pysgrld.models.token_topics import GibbsDocuments, TokenTopics
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.types import Documents, Floats, Int64s, Key, Minibatch

#: Sweeps of a replicate; the second half is averaged.
SWEEPS = 80
#: Number of the first replicate in random keys: chains of the refinement have smaller ones.
_FIRST_NUMBER = 16


class WeightedDocuments(TokenTopics):
    """Documents by Gibbs sampling given phi, whose tokens count as often as their document was taken.

    Parameters
    ----------
    weights : (n,) int64
        How often each document counts, ascending, at least 1.
    topics : int
    alpha : float or None
        Symmetric Dirichlet parameter per topic, or None if it is learned.
    threads : int
    """

    def __init__(self, weights: Int64s, *, topics: int, alpha: float | None, threads: int) -> None:
        self.topics, self.alpha = topics, alpha
        values, first = np.unique(weights, return_index=True)
        ends = [*first[1:].tolist(), len(weights)]
        self._ranges = list(zip(values.tolist(), first.tolist(), ends, strict=True))
        self._parts = [
            GibbsDocuments(
                topics=topics, alpha=alpha, sweeps=1, kept=1, rao_blackwell=False, threads=threads
            )
            for _ in self._ranges
        ]

    def keep(self, documents: Documents) -> None:
        """Keep the topics of all tokens between visits; no token has a topic yet."""
        super().keep(documents)
        assert self.z is not None
        assert self.token_ptr is not None
        for (_, first, end), part in zip(self._ranges, self._parts, strict=True):
            begin, stop = self.token_ptr[first], self.token_ptr[end]
            part.token_ptr = self.token_ptr[first : end + 1] - begin
            part.z = self.z[begin:stop]

    def begin_from(self, key: Key, draw: Draw, batch: Minibatch) -> None:
        """Give all tokens topics by some sweeps given phi."""
        self.sample_first(key, draw, batch, self._parts[0]._threads)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sample the topics of all tokens given phi, and return the weighted sufficient statistics."""
        sums: dict[str, Counts] = {}
        for (weight, first, end), part in zip(self._ranges, self._parts, strict=True):
            begin, stop = batch.indptr[first], batch.indptr[end]
            block = Minibatch(
                batch.indptr[first : end + 1] - begin,
                batch.indices[begin:stop],
                batch.counts[begin:stop],
                batch.words,
                batch.doc_ids[first:end],
                1.0,
            )
            for name, statistics in part.visit(key, draw, block, comm).items():
                sums[name] = _with_weight(sums.get(name), statistics, weight)
        return sums


def _with_weight(total: Counts | None, part: Counts, weight: int) -> Counts:
    """Return sufficient statistics plus the statistics of documents that count ``weight`` times."""
    counts, level, rate = part.counts * weight, part.level * weight, part.rate * weight
    if total is not None:
        counts += total.counts
        level, rate = level + total.level, rate + total.rate
    return part._replace(counts=counts, level=level, rate=rate)


class Replicate(BlockChain):
    """A chain on resampled documents that continues a chain of the Gibbs refinement.

    Parameters
    ----------
    chain : ExactTokens
        The chain that it continues.
    number : int
        Number of the replicate, from 0: its documents and its random numbers depend on it.
    threads : int
    """

    def __init__(self, chain: ExactTokens, number: int, threads: int) -> None:
        self._number = _FIRST_NUMBER + number
        whole = chain.batch
        documents, weights = resampled(len(whole.doc_ids), [chain.seed, chain.chain, self._number])
        batch = _taken(whole, documents)
        gibbs = replace(chain.options, algo="gibbs", settings=SAMPLERS["gibbs"].settings_class())
        blocks, tokens = chain.parts(gibbs, chain)
        sampler = WeightedDocuments(
            weights, topics=tokens.topics, alpha=tokens.alpha, threads=threads
        )
        super().__init__(
            gibbs,
            blocks,
            sampler,
            WholeCorpus(batch, chain.seed, chain.chain),
            chain.tokens,
            threads,
            priors=chain.priors,
        )
        self._end_warm_up()
        for name, state in self.states.items():
            arrays = chain.states[name].arrays()
            state.restore({part: arrays[part] for part in state.names})
        assert sampler.z is not None
        sampler.z[:] = chain.topics_of_tokens(documents)
        self.step = chain.step

    @property
    def key(self) -> Key:
        """The address of the random numbers of the next sweep."""
        return Key(self.seed, self.chain, shifted(self.step, self._number))

    def mean(self, waiting: Callable[[], None]) -> Floats:
        """Sweep, and return the mean of the topics over the second half of the sweeps, (V, Kp).

        Parameters
        ----------
        waiting : callable
            Called between sweeps; may raise, to stop.
        """
        totals = self.totals()
        for sweep in range(SWEEPS):
            waiting()
            self.advance()
            if 2 * sweep >= SWEEPS:
                self.add_to(totals)
        mean: Floats = (totals[self.topics.name] / (SWEEPS - SWEEPS // 2)).astype(np.float32)
        return mean


def resampled(number: int, seed: list[int]) -> tuple[Int64s, Int64s]:
    """Return the distinct documents of a sample with replacement, and how often each was taken.

    Parameters
    ----------
    number : int
        Number of documents, and size of the sample.
    seed : list of int

    Returns
    -------
    documents, weights : (n,) int64
        In ascending order of the weights.
    """
    taken = np.bincount(
        np.random.default_rng(seed).integers(0, number, number), minlength=number
    ).astype(np.int64)
    documents = np.argsort(taken, kind="stable")[np.count_nonzero(taken == 0) :]
    return documents, taken[documents]


def _taken(batch: Minibatch, documents: Int64s) -> Minibatch:
    """Return some documents of a batch, in this order, over the same words."""
    lengths = np.diff(batch.indptr)[documents]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.arange(indptr[-1]) + np.repeat(batch.indptr[documents] - indptr[:-1], lengths)
    return Minibatch(
        indptr,
        batch.indices[entries],
        batch.counts[entries],
        batch.words,
        batch.doc_ids[documents],
        1.0,
    )
