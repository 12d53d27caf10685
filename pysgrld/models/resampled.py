"""Chains on resampled documents, which measure how topics vary with the sample of documents.

A replicate draws as many documents as the corpus has, with replacement, and continues a chain of
the Gibbs refinement on them. All chunks of a long document are drawn together. The topics of a
document that was drawn w times are sampled once, and its tokens count w times. Instead, w copies
would mix more slowly, and agree less with other samples of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw, sampling_weights
from pysgrld.corpus.minibatches import WholeCorpus
from pysgrld.models.exact_tokens import ExactTokens, unique_step
from pysgrld.models.token_topics import TokenTopics, alpha_evidence, resolve_alpha
from pysgrld.options.priors import ALPHA_BLOCK
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.types import Documents, Floats, Int64s, Key, Minibatch

#: Number of sweeps on resampled documents. Topics are averaged over the second half.
SWEEPS = 80
#: Number of the first replicate in random keys. The chains of the refinement have smaller numbers.
_FIRST_NUMBER = 16


class WeightedDocuments(TokenTopics):
    """Gibbs sampler of resampled documents; a document that was drawn n times has weight n.

    Parameters
    ----------
    weights : (n,) int64
        Number of times each document counts, ascending, at least 1.
    topics : int
    alpha : float or None
        Symmetric Dirichlet parameter per topic, or None if it is learned.
    threads : int
    """

    def __init__(self, weights: Int64s, *, topics: int, alpha: float | None, threads: int) -> None:
        self.topics, self.alpha, self._weights = topics, alpha, weights
        self._across, self._threads, self._work = padded_width(topics), threads, core.Workspace()

    def keep(self, documents: Documents) -> None:
        """Allocate the topics of all tokens, initially -1 (no topic), and the tokens' weights."""
        super().keep(documents)
        #: Index of each token's row in the matrix of counts (words x topics): the position of the
        #: row's first element in the flattened matrix. The row belongs to the token's word.
        self._rows: Int64s = np.repeat(
            documents.indices.astype(np.int64) * self._across, documents.counts
        )
        assert self.token_ptr is not None
        #: Weight of each token, which is the weight of the token's document.
        self._token_weights = np.repeat(self._weights.astype(np.float64), np.diff(self.token_ptr))

    def start_from_topics(self, key: Key, draw: Draw, batch: Minibatch) -> None:
        """Draw initial topics for all tokens, by several sweeps given phi."""
        self.sample_first(key, draw, batch, self._threads)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sample the topics of all tokens given phi; return weighted sufficient statistics."""
        del comm
        alpha, z = resolve_alpha(draw, self.alpha), self.z
        assert z is not None
        core.documents_gibbs(
            phi=sampling_weights(draw),
            topics=self.topics,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            alpha=alpha,
            sweeps=1,
            kept=1,
            rao_blackwell=False,
            **key._asdict(),
            purpose=core.Purpose.documents,
            z=z,
            token_ptr=self.token_ptr,
            want_words=False,
            work=self._work,
            threads=self._threads,
        )
        cells = len(batch.words) * self._across
        counts = np.bincount(self._rows + z, self._token_weights, minlength=cells)
        level = float(self._token_weights.sum()) / self.topics
        by_word = counts.astype(np.int64).reshape(-1, self._across)
        statistics = {"phi": Counts(batch.words, by_word, 1.0, level)}
        if isinstance(alpha, np.ndarray):
            statistics[ALPHA_BLOCK] = self._alpha_evidence(key, alpha, batch, level)
        return statistics

    def _alpha_evidence(self, key: Key, alpha: Floats, batch: Minibatch, level: float) -> Counts:
        """Return the sufficient statistics for alpha.

        Documents with equal weights are processed together.
        """
        tables, q = np.zeros(self._across, np.int64), np.zeros(len(self._weights))
        values, first = np.unique(self._weights, return_index=True)
        ends = [*first[1:].tolist(), len(self._weights)]
        assert self.z is not None
        assert self.token_ptr is not None
        for weight, begin, end in zip(values.tolist(), first.tolist(), ends, strict=True):
            part, q[begin:end] = core.alpha_evidence(
                z=self.z,
                token_ptr=self.token_ptr[begin : end + 1],
                doc_ids=batch.doc_ids[begin:end],
                alpha=alpha,
                topics=self.topics,
                **key._asdict(),
                threads=self._threads,
            )
            tables += weight * part
        return alpha_evidence(tables, q * self._weights, 1.0, level)


class Replicate(BlockChain):
    """Chain that continues a chain of the Gibbs refinement on resampled documents.

    Parameters
    ----------
    chain : ExactTokens
        The chain that the replicate continues.
    number : int
        Number of the replicate, from 0, on which its documents and random numbers depend.
    threads : int
    """

    def __init__(self, chain: ExactTokens, number: int, threads: int) -> None:
        self._number = _FIRST_NUMBER + number
        whole = chain.batch
        generator = np.random.default_rng([chain.seed, chain.chain, self._number])
        documents, weights = draw_resample(len(whole.doc_ids), chain.wholes, generator)
        batch = _take_documents(whole, documents)
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
        """Key of the random numbers of the next sweep."""
        return Key(self.seed, self.chain, unique_step(self.step, self._number))

    def mean(self, waiting: Callable[[], None]) -> Floats:
        """Run the sweeps, and return the mean topics over the second half of sweeps, (V, Kp).

        Parameters
        ----------
        waiting : callable
            Called between sweeps; it may raise an exception to stop.
        """
        totals = self.totals()
        for sweep in range(SWEEPS):
            waiting()
            self.advance()
            if 2 * sweep >= SWEEPS:
                self.add_to(totals)
        mean: Floats = (totals[self.topics.name] / (SWEEPS - SWEEPS // 2)).astype(np.float32)
        return mean


def count_draws(number: int, wholes: Int64s | None, generator: np.random.Generator) -> Int64s:
    """Draw documents with replacement; return how often each one was drawn, (number,).

    Parameters
    ----------
    number : int
        Number of documents.
    wholes : (number,) int64 or None
        For each document, the number of the long document of which it is a chunk, from 0. As many
        long documents are drawn as there are, with all their chunks. None if no document was cut.
    generator : numpy.random.Generator
    """
    units = number if wholes is None else int(wholes.max(initial=-1)) + 1
    times = np.bincount(generator.integers(0, units, units), minlength=units).astype(np.int64)
    return times if wholes is None else times[wholes]


def draw_resample(
    number: int, wholes: Int64s | None, generator: np.random.Generator
) -> tuple[Int64s, Int64s]:
    """Draw documents as `count_draws` does; return the distinct documents and numbers of draws.

    Returns
    -------
    documents, weights : (n,) int64
        In ascending order of the weights.
    """
    taken = count_draws(number, wholes, generator)
    documents = np.argsort(taken, kind="stable")[np.count_nonzero(taken == 0) :]
    return documents, taken[documents]


def _take_documents(batch: Minibatch, documents: Int64s) -> Minibatch:
    """Return a minibatch of the given documents, with unchanged word ids."""
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
