"""The exact stage of LDA: chains of collapsed Gibbs, from the topics of a chain by minibatches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pysgrld.chain.blocks import BlockChain, arrays_of, take_priors
from pysgrld.chain.exact import CHAINS, ExactChain
from pysgrld.core.draws import Draw, at_words, weights_of
from pysgrld.core.restore import check_topics, put_back
from pysgrld.corpus.minibatches import Epochs, WholeCorpus, compact
from pysgrld.models.fitted import top_words
from pysgrld.models.lda.blocks import blocks
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts
from pysgrld.types import Array, Doubles, Int64s, Key, Minibatch

#: Top words of each topic, and documents, whose effective sizes are told.
WORDS, DOCUMENTS = 10, 100
#: Bit of the iteration in random keys from which on it has the number of the exact chain.
_NUMBER = 56


class Watched:
    """Figures that are watched: each topic's share, its top words, and a topic of some documents.

    Parameters
    ----------
    draw : Draw
        Of all words, at the end of training.
    batch : Minibatch
        All documents.
    topics : int
        K.
    """

    def __init__(self, draw: Draw, batch: Minibatch, topics: int) -> None:
        phi = weights_of(draw)[:, :topics]
        self.words: Int64s = top_words(phi, WORDS)
        lengths = np.diff(batch.indptr)
        some = np.flatnonzero(lengths > 0)
        self.rows: Int64s = some[np.arange(min(DOCUMENTS, len(some))) * len(some) // DOCUMENTS]
        if len(some) < DOCUMENTS:
            self.rows = some
        self.topic = np.empty(len(self.rows), np.int64)
        for i, d in enumerate(self.rows):
            here = slice(batch.indptr[d], batch.indptr[d + 1])
            each = batch.counts[here, None] * phi[batch.words[batch.indices[here]]]
            self.topic[i] = int(each.sum(axis=0).argmax())


class ExactLDA(ExactChain):
    """One chain of the exact stage.

    Parameters
    ----------
    options : LDAOptions
        Of collapsed Gibbs.
    batch : Minibatch
        All documents.
    watched : Watched
    chain : BlockChain
        The chain of training that it goes on from.
    number : int
        Among the chains of the stage, from 0.
    """

    def __init__(
        self,
        options: LDAOptions,
        batch: Minibatch,
        watched: Watched,
        chain: BlockChain,
        number: int,
    ) -> None:
        self._options, self._batch = options, batch
        self._number, self._watched = number, watched
        self._visited: dict[str, Counts] = {}
        parts = blocks(options, chain.topics.shape[0], chain.tokens)
        self._tokens: CollapsedDocuments = CollapsedDocuments(
            block=parts[0], alpha=options.fixed_alpha, sweeps=1, threads=1
        )
        super().__init__(
            options,
            parts,
            self._tokens,
            WholeCorpus(batch, chain.seed, chain.chain),
            chain.tokens,
            1,
            priors=chain.priors,
        )
        self._end_warm_up()
        for b in self.upper:  # priors that were learned
            self.states[b.name].restore(chain.states[b.name].arrays())

    @property
    def key(self) -> Key:
        """The address of the next iteration's random numbers: no other chain's, nor training's."""
        return Key(self.seed, self.chain, self.step + (self._number + 1 << _NUMBER))

    def start(self, draw: Draw, threads: int) -> None:
        """Give all tokens their first topics, given a draw of training."""
        self._tokens.begin_from(self.key, at_words(draw, self._batch.words), self._batch, threads)
        self.step = 1  # whose random numbers are used up

    def sweep(self, sweeps: int, others: Sequence[ExactLDA] = ()) -> None:
        """Sweep over all tokens so many times, and so do other chains, token by token."""
        chains = (self, *others)
        for chain in chains:
            chain._tokens.sweeps = sweeps
        found = CollapsedDocuments.visit_together(
            [chain._tokens for chain in chains],
            [chain.key for chain in chains],
            [chain._read(chain.key, self._batch.words) for chain in chains],
            self._batch,
        )
        for chain, chain._visited in zip(chains, found, strict=True):
            chain.advance()

    def _visit(self, key: Key, batch: Minibatch) -> dict[str, Counts]:
        del key, batch
        return self._visited

    def watched(self) -> dict[str, Doubles]:
        """Return shares of topics, probabilities of their top words, and shares in some documents."""
        k, at, z, ptr = self.topics.shape[1], self._watched, self._tokens.z, self._tokens.token_ptr
        assert z is not None
        assert ptr is not None
        phi = self.states[self.topics.name].rows(at.words.ravel().astype(np.int32))
        each = np.arange(phi.shape[0])
        mean = phi[each, each // at.words.shape[1]].astype(np.float64)
        # a draw given the counts behind the mean, as those that are kept
        counts = (np.bincount(z, minlength=k) + self.topics.shape[0] * self.topics.prior).repeat(
            at.words.shape[1]
        )
        seed = [self.seed, self.chain, self._number, self.step]
        drawn = np.random.default_rng(seed).standard_gamma(mean * counts) / counts
        documents = [
            np.mean(z[ptr[d] : ptr[d + 1]] == topic)
            for d, topic in zip(at.rows, at.topic, strict=True)
        ]
        return {
            "words": drawn,
            "shares": np.bincount(z, minlength=k) / max(1, len(z)),
            "documents": np.array(documents),
        }

    def arrays(self) -> dict[str, Array]:
        """Return the topics of all tokens, in as few bytes as they need, and the priors' states.

        The topics over words follow from them.
        """
        assert self._tokens.z is not None
        arrays = super().arrays()
        own = {n: a for n, a in arrays.items() if not n.startswith(f"{self.topics.name}.")}
        return own | {
            "z": self._tokens.z.astype(np.min_scalar_type(self.topics.shape[1])),
            "visits": np.array([self.step]),
        }

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`; the number of visits is among them.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        del step
        own = self.arrays()
        put_back(own, arrays)
        assert self._tokens.z is not None
        self._tokens.z[:] = own["z"]
        check_topics("z", self._tokens.z, self.topics.shape[1])
        for b in self.upper:
            self.states[b.name].restore(arrays_of(b.name, arrays))
        take_priors(self.priors, self.states)
        self.step = int(own["visits"][0])


def exact_chains(
    options: LDAOptions, chain: BlockChain, threads: int, *, start: bool
) -> tuple[ExactLDA, ...]:
    """Return the chains of the exact stage of a run.

    Parameters
    ----------
    options : LDAOptions
        Of training.
    chain : BlockChain
        The chain of training, whose documents are of a stored corpus.
    threads : int
    start : bool
        Whether tokens get their first topics; else the chains are restored.
    """
    stream = chain.stream
    assert isinstance(stream, Epochs)
    ids = stream.train[:]
    batch, draw = compact(stream.source.take(ids), ids, 1.0), chain.draw()
    own = replace(
        options,
        algo="cgs",
        settings=SAMPLERS["cgs"].settings_class(),
        warm_up=0,
        step_size=None,
        counts="sampled",
        kept_sweeps=1,
        sweeps=1,
        minibatch=len(ids),
    )
    watched = Watched(draw, batch, options.topics)
    chains = tuple(ExactLDA(own, batch, watched, chain, r) for r in range(CHAINS))
    if start:
        for one in chains:
            one.start(draw, threads)
    return chains
