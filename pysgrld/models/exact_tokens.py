"""Chains of a Gibbs refinement for models in which each token has a topic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from pysgrld.chain.blocks import BlockChain, arrays_of_block, take_priors
from pysgrld.chain.exact import CHAINS, ExactChain
from pysgrld.chain.population import START_VARIANCE
from pysgrld.chain.population import WORDS as SPREAD_WORDS
from pysgrld.core.draws import Draw, sampling_weights, select_words
from pysgrld.core.restore import check_topics, restore_arrays
from pysgrld.corpus.minibatches import Epochs, WholeCorpus, compact
from pysgrld.models.protocol import RunOn
from pysgrld.models.token_topics import TokenTopics
from pysgrld.models.word_order import top_words
from pysgrld.options.option import Resolved
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Array, Block, Doubles, Int32s, Int64s, Key, Minibatch

#: Number of top words of each topic whose effective sample size is recorded.
WORDS = 10
#: Number of documents whose effective sample size is recorded.
DOCUMENTS = 100
#: Maximum number of values in the topic rows that are read together.
_CELLS = 2**22
#: In random keys of the refinement, the iteration number has this number of bits for the sweep, and
#: its other bits for the chain.
_NUMBER = 56


class MonitoredQuantities:
    """Choice of the quantities whose effective sample size is monitored during a Gibbs refinement.

    They are the shares of topics, the probabilities of topics' top words, and the shares of topics
    in documents.

    Parameters
    ----------
    draw : Draw
        The draw at the end of training, over all words.
    batch : Minibatch
        All documents.
    block : Block
        The topics over words. If topics have rows in several slices, a word is monitored in the
        slice in which it is most probable.

    Attributes
    ----------
    rows : (K * n,) int32
        Rows of the top words, topic by topic.
    topics : (K * n,) int64
        The topic of each row.
    documents : (m,) int64
        Positions of the monitored documents in the batch.
    topic : (m,) int64
        The monitored topic of each of these documents.
    top : (K, W) int64
        The top words of each topic, the most probable first.
    """

    def __init__(self, draw: Draw, batch: Minibatch, block: Block) -> None:
        phi = sampling_weights(draw)[:, : block.shape[1]]
        by_word = phi.reshape(-1, block.copies, phi.shape[1])
        self.top = top_words(by_word.max(axis=1), min(SPREAD_WORDS, len(by_word)))
        words = self.top[:, :WORDS]
        self.topics: Int64s = np.repeat(np.arange(len(words)), words.shape[1])
        rows = words.ravel() * block.copies + by_word.argmax(axis=1)[words.ravel(), self.topics]
        self.rows: Int32s = rows.astype(np.int32)
        lengths = np.diff(batch.indptr)
        with_words = np.flatnonzero(lengths > 0)
        self.documents: Int64s = with_words
        if len(with_words) >= DOCUMENTS:
            self.documents = with_words[np.arange(DOCUMENTS) * len(with_words) // DOCUMENTS]
        self.topic = np.empty(len(self.documents), np.int64)
        for i, d in enumerate(self.documents):
            entries = slice(batch.indptr[d], batch.indptr[d + 1])
            terms = batch.counts[entries, None] * phi[batch.words[batch.indices[entries]]]
            self.topic[i] = int(terms.sum(axis=0).argmax())


class ExactTokens(ExactChain):
    """Chain of a Gibbs refinement; each model has a subclass with its blocks and sweeps.

    Parameters
    ----------
    options : Resolved
        Options of the exact sampler.
    batch : Minibatch
        All documents.
    watched : Watched
    chain : BlockChain
        The training chain from which this chain continues.
    number : int
        Number of this chain among the chains of the refinement, from 0.
    wholes : (D,) int64, optional
        For each document, the number of the long document of which it is a chunk, from 0.
    """

    #: Name of the sampler, as typed after ``--algo``.
    algo: ClassVar[str]
    #: True if the topics of tokens determine the topics over words, so that checkpoints omit the
    #: topics over words.
    follow: ClassVar[bool] = False

    def __init__(
        self,
        options: Any,
        batch: Minibatch,
        watched: MonitoredQuantities,
        chain: BlockChain,
        number: int,
        wholes: Int64s | None = None,
    ) -> None:
        self.options, self.wholes = options, wholes
        blocks, self._tokens = self.parts(options, chain)
        self.batch, self._number, self._watched = batch, number, watched
        super().__init__(
            options,
            blocks,
            self._tokens,
            WholeCorpus(batch, chain.seed, chain.chain),
            chain.tokens,
            1,
            priors=chain.priors,
        )
        self.start_variance = chain.start_variance
        self._end_warm_up()
        for b in self._stored_blocks:
            state, arrays = self.states[b.name], chain.states[b.name].arrays()
            state.restore({name: arrays[name] for name in state.names})

    @staticmethod
    @abstractmethod
    def parts(options: Any, chain: BlockChain) -> tuple[tuple[Block, ...], TokenTopics]:
        """Return parameter blocks and a document sampler, for a chain that continues ``chain``."""

    @property
    def _stored_blocks(self) -> tuple[Block, ...]:
        """Parameter blocks stored in checkpoints, because token topics do not determine them."""
        return self.upper if self.follow else self.blocks

    @property
    def key(self) -> Key:
        """Key of the next iteration's random numbers; no other chain has this key."""
        return Key(self.seed, self.chain, unique_step(self.step, self._number))

    @property
    def top_words(self) -> Int64s:
        """Ids of the top words of each topic at the end of training, (K, W)."""
        return self._watched.top

    def topics_of_tokens(self, documents: Int64s) -> Int32s:
        """Return the topics of the tokens of the given documents, one document after the other."""
        z, token_ptr = self._tokens.z, self._tokens.token_ptr
        assert z is not None
        assert token_ptr is not None
        return np.concatenate([z[token_ptr[d] : token_ptr[d + 1]] for d in documents])

    def start(self, draw: Draw, threads: int) -> None:
        """Draw initial topics for all tokens, given a draw of the training chain."""
        draw = select_words(draw, self.batch.words)
        self._tokens.sample_first(self.key, draw, self.batch, threads)
        self.step = 1  # The initial topics have used the random numbers of step 0.

    @abstractmethod
    def draw_monitored_words(self) -> Doubles:
        """Return a draw of the probabilities of the monitored top words, (K * n,)."""

    def _monitored_phi(self) -> Doubles:
        """Return the probability phi of each monitored word in the word's topic, (K * n,).

        Some rows are read at a time.
        """
        state, rows = self.states[self.topics.name], self._watched.rows
        phi, step = np.empty(len(rows)), max(1, _CELLS // self.topics.shape[1])
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            read = state.rows(rows[part])
            phi[part] = read[np.arange(len(read)), self._watched.topics[part]]
        return phi

    def monitored_values(self) -> dict[str, Doubles]:
        """Return the current values of the monitored quantities, by name.

        They are topic shares, probabilities of top words, and topic shares in documents.
        """
        k, watched, z, ptr = (
            self.topics.shape[1],
            self._watched,
            self._tokens.z,
            self._tokens.token_ptr,
        )
        assert z is not None
        assert ptr is not None
        begin = ptr[watched.documents]
        lengths = ptr[watched.documents + 1] - begin
        ends = np.cumsum(lengths)
        tokens = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            begin - ends + lengths, lengths
        )
        has_topic = z[tokens] == np.repeat(watched.topic, lengths)
        of_document = np.repeat(np.arange(len(lengths)), lengths)
        number = np.bincount(of_document[has_topic], minlength=len(lengths))
        return {
            "words": self.draw_monitored_words(),
            "shares": np.bincount(z, minlength=k) / max(1, len(z)),
            "documents": number / lengths,
        }

    def snapshot(self) -> Self:
        """Return a copy of this chain, for reading while this chain continues."""
        twin = copy(self)
        twin.documents = twin._tokens = copy(self._tokens)
        assert self._tokens.z is not None
        twin._tokens.z = self._tokens.z.copy()
        twin.states = {name: state.snapshot() for name, state in self.states.items()}
        return twin

    def arrays(self) -> dict[str, Array]:
        """Return the state: topics of tokens in the smallest integer type, and some blocks."""
        assert self._tokens.z is not None
        arrays = super().arrays()
        left_out = f"{self.topics.name}." if self.follow else "z"
        remaining = {
            n: a for n, a in arrays.items() if not n.startswith((left_out, START_VARIANCE))
        }
        return remaining | {
            "z": self._tokens.z.astype(np.min_scalar_type(self.topics.shape[1])),
            "visits": np.array([self.step]),
        }

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Restore the chain from its `arrays`, which include the number of iterations.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this chain.
        """
        del step
        state = self.arrays()
        restore_arrays(state, arrays)
        assert self._tokens.z is not None
        self._tokens.z[:] = state["z"]
        check_topics("z", self._tokens.z, self.topics.shape[1])
        for b in self._stored_blocks:
            self.states[b.name].restore(arrays_of_block(b.name, arrays))
        take_priors(self.priors, self.states)
        self.step = int(state["visits"][0])


def unique_step(step: int, number: int) -> int:
    """Return an iteration number that makes the random key of a sweep unique among all chains.

    Parameters
    ----------
    step : int
        Number of the sweep.
    number : int
        Number of the chain or of the replicate.

    Returns
    -------
    int
        Iteration of the random key.
    """
    return step + (number + 1 << _NUMBER)


E = TypeVar("E", bound=ExactTokens)


def start_refinement_chains(
    kind: type[E], chain: BlockChain, options: Resolved, run_on: RunOn, *, start: bool
) -> tuple[E, ...]:
    """Return the chains of a run's Gibbs refinement.

    Parameters
    ----------
    kind : type
        Class of the chains.
    chain : BlockChain
        The training chain, on a stored corpus.
    options : Resolved
        Options of training.
    run_on : RunOn
        The callback `waiting` is called before each chain starts.
    start : bool
        Whether tokens get their initial topics; if not, the chains will be restored.
    """
    from pysgrld.corpus.store import Corpus  # Arrays in memory do not need this import.

    stream = chain.stream
    assert isinstance(stream, Epochs)
    ids = stream.train[:]
    wholes = stream.source.about.wholes(ids) if isinstance(stream.source, Corpus) else None
    batch, draw = compact(stream.source.take(ids), ids, 1.0), chain.draw()
    refinement = replace(
        options,
        algo=kind.algo,
        settings=SAMPLERS[kind.algo].settings_class(),
        warm_up=0,
        step_size=None,
        counts="sampled",
        kept_sweeps=1,
        sweeps=1,
        minibatch=len(ids),
    )
    watched = MonitoredQuantities(draw, batch, chain.topics)
    chains = tuple(kind(refinement, batch, watched, chain, n, wholes) for n in range(CHAINS))
    if start:
        for one in chains:
            run_on.waiting()
            one.start(draw, run_on.threads)
    return chains
