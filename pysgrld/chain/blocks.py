"""Markov chain over a model's blocks, which are groups of parameters updated from minibatches.

The design page calls it the river. This module does not depend on files, clocks, models or
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator, RowsHere
from pysgrld.chain.population import START_VARIANCE, stored_variance
from pysgrld.chain.protocol import Chain, DocumentSampler, Visit
from pysgrld.core import core
from pysgrld.core.draws import WEIGHTS, Draw, draw_to_matrices, sampling_weights
from pysgrld.core.restore import Within
from pysgrld.corpus.minibatches import Minibatches
from pysgrld.errors import Message, NumericalError, Severity
from pysgrld.options.option import Resolved
from pysgrld.samplers import choose_exact_sampler, choose_sampler
from pysgrld.samplers.rows import Rows
from pysgrld.samplers.seeds import add_seed_counts, select_owned_seeds
from pysgrld.samplers.state import BlockState, Counts, Potential, TopicConditional, TopicStep
from pysgrld.types import (
    QUIET,
    Array,
    Block,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Key,
    Minibatch,
    noise_inflation,
    wider,
)

#: Number of iterations between two updates of learned priors, if iterations use minibatches.
#: Updates are rare because each update brings all rows of the topic matrix up to date, which takes
#: time.
PRIORS_EVERY = 20


class BlockChain(Chain):
    """Markov chain over a model's blocks (groups of parameters) and its documents.

    One sampler updates the topics; a `DocumentSampler` samples the documents.

    Parameters
    ----------
    options : Resolved
    blocks : tuple of Block
        The blocks; the first one is the topics over words.
    documents : DocumentSampler
    stream : Minibatches
        Source of documents; it also has the number of the chain, which is part of every random key.
    tokens : int
        Number of training tokens.
    threads : int
    waiting : callable, optional
        Called at intervals while no minibatch is ready; it may raise an exception to stop.
    comm : Communicator
        Processes that train the chain together.
    keep : bool
        Whether every iteration uses the whole corpus, and documents continue from their state in
        the last iteration; samplers without minibatches always do so.
    priors : mapping of str to str
        Name of each block that represents a learned prior of another block, and name of this other
        block.

    Attributes
    ----------
    states : dict of BlockState
        States of the blocks by name.
    start_variance : (K,) float64 or None
        Variance of each topic between the short chains with which training began.
    """

    def __init__(
        self,
        options: Resolved,
        blocks: tuple[Block, ...],
        documents: DocumentSampler,
        stream: Minibatches,
        tokens: int,
        threads: int,
        waiting: Callable[[], None] = lambda: None,
        comm: Communicator = ALONE,
        *,
        keep: bool = False,
        priors: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(options, stream, tokens, waiting)
        self.comm, self.blocks, self.documents, self.priors = comm, blocks, documents, priors or {}
        # Number of sweeps of the Gibbs refinement that follows training. None if the model has no
        # refinement.
        self._followed = options.exact_sweeps
        self._whole_tokens = options.counts == "sampled"
        self.topics, self.upper = blocks[0], blocks[1:]
        self.start_variance: Doubles | None = None
        peers = comm if comm.size > 1 else None
        self.states: dict[str, BlockState[Any]] = {
            b.name: choose_sampler(options.algo, b).start(
                self.key, b, threads, peers if b is self.topics else None
            )
            for b in blocks
        }
        if peers:
            comm.read = self._owned_sampling_weights
        self.published = options.preset is not None
        # Arrays of all documents' variables, by name, with one row per document. Only the first
        # process has them, after `gather` or `restore`. On other processes, the dict is empty.
        self._gathered: dict[str, Array] = {}
        self._keeps = keep or self.sampler.whole_corpus
        if self._keeps and (batch := stream.minibatch(0)):
            self._whole = batch
            documents.keep(Documents(batch.indptr, batch.indices, batch.counts))

    def remarks(self) -> Iterator[Message]:
        """Yield messages about the effect of minibatch noise on variances, and about step sizes."""
        if self.sampler.inflates and not self._keeps:
            noise = self.noise_inflation
            yield Message(
                f"minibatch noise multiplies the variance of topics by {noise:.3g} compared "
                f"with training without minibatches, and by about {wider(noise):.2g} compared "
                "with the posterior",
                Severity.DETAIL,
            )
            if noise <= QUIET and not self._followed:
                exact = f"--algo {choose_exact_sampler(self.sampler.geometry).name}"
                if self._followed is not None:  # None if the model has no refinement
                    exact = f"--exact-sweeps 1000, or {exact}"
                yield Message(
                    "minibatch noise is small, but average topics may be biased by more than "
                    f"the width of a credible interval; for credible intervals, use {exact}",
                    Severity.WARNING,
                )
        # Mirrored Langevin diverges if the step size h is too large. It is stable if
        # h (V eta + N_k) is below 4, where N_k is the token count of topic k (Hsieh et al. 2018,
        # section 3).
        v, k = self.topics.shape
        stiff = self.step_size_at(self.warm_up) * (v * self.topics.prior + self.tokens / k)
        if not self.sampler.relative and stiff > 4.0:
            yield Message(
                f"{self.sampler.name} is unstable at this step size: step size x (words x eta + "
                f"mean tokens per topic) is {stiff:.3g}, but must be below 4; use a smaller "
                "--step-size",
                Severity.WARNING,
            )

    @property
    def noise_inflation(self) -> float:
        """Factor by which minibatch noise inflates the posterior variance of topics.

        The factor holds for the first sampling step and an average topic. It is exact for ``scir``,
        and has the right order of magnitude for ``sgrld``; it is 1 if documents keep their
        assignments.
        """
        if self._keeps:
            return 1.0
        rate = self.topics.settings.average_rate(self.topics, self.tokens)
        return noise_inflation(
            self.step_size_at(self.warm_up) * rate, self.stream.documents, self.stream.size
        )

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration: sample documents given topics, then update topics given documents.

        Parameters
        ----------
        batch : Minibatch, optional
            Documents of the iteration; by default `next_batch`.

        Raises
        ------
        EOFError
            If the stream has no more documents.
        NumericalError
            If the state is no longer finite.
        """
        t, h, key = self.step, self.step_size, self.key
        batch = batch or self.next_batch()
        if batch is None:
            raise EOFError(f"iteration {t} has no documents, because the stream has ended")
        self._gathered = {}
        if self._keeps:
            self._whole = batch
        if t == self.warm_up:
            self._end_warm_up()
        try:
            if not self.sampler.whole_corpus and t >= self.warm_up and t % PRIORS_EVERY == 0:
                self._move_priors(key, {})
            statistics = self._visit(key, batch)
            if self.sampler.whole_corpus:
                self._move_priors(key, statistics)
            share = self.stream.size / self.stream.documents
            pace = TopicStep(h, t < self.warm_up, self.sampler.relative, share, self.published)
            for b in self.blocks:
                if b.name in self.priors:
                    continue
                counts, state = statistics[b.name], self.states[b.name]
                if b.seeds is not None and isinstance(counts, Counts):
                    seeds = select_owned_seeds(b.seeds, state.peers)
                    counts = add_seed_counts(counts, seeds, whole_tokens=self._whole_tokens)
                state.step(key, counts, state.step_size(pace, counts))
        except NumericalError as error:  # Add the iteration and advice to the message.
            other = "larger" if h < core.LEAST_STEP else "smaller"
            raise NumericalError(
                f"iteration {t} (step size {h:g}): {error}; use a {other} --step-size"
            ) from error
        self.step = t + 1
        for name, state in self.states.items():
            bad = np.flatnonzero(~np.isfinite(state.summary()))
            if len(bad):
                raise NumericalError(
                    f"topic {bad[0]} of {name} is not finite after iteration {self.step} "
                    f"(step size {self.step_size:g}): use a smaller --step-size"
                )
        return Visit(len(batch.doc_ids), batch.tokens, h)

    def _visit(self, key: Key, batch: Minibatch) -> Mapping[str, Counts | Potential]:
        """Sample the topics of a minibatch's tokens; return sufficient statistics of each block."""
        draw, batch = self._request_rows(key, batch)
        statistics = self.documents.visit(key, draw, batch, self.comm)
        name = self.topics.name
        if self.comm.size == 1 or self.states[name].peers is not None:
            return statistics
        return {**statistics, name: self._whole_counts(statistics[name])}

    def _whole_counts(self, part: Counts | Potential) -> Counts:
        """Return the topic counts of all words, allgathered from the owners of the words."""
        assert isinstance(part, Counts)
        rows, counts = self.comm.allgather_rows_by_word(part.rows, part.counts)
        return part._replace(rows=rows, counts=counts)

    def start_from_topics(
        self, topics: Floats, tokens: Doubles, start_variance: Doubles | None = None
    ) -> None:
        """Start from another chain's topics, treated as observed counts, instead of random topics.

        The words of the other chain are the first words of this chain; the prior determines the
        rest.

        Parameters
        ----------
        topics : (V' or less, K or more) float32
        tokens : (K,) float64
            Number of tokens of the corpus in each topic.
        start_variance : (K,) float64, optional
            Variance of each topic between the short chains from which the topics come.
        """
        k, self.start_variance = self.topics.shape[1], start_variance
        self.states[self.topics.name].start_from_counts(self.key, topics[:, :k] * tokens)
        if self._whole is not None:
            draw, batch = self._request_rows(self.key, self._whole)
            self.documents.start_from_topics(self.key, draw, batch)

    def _move_priors(self, key: Key, statistics: Mapping[str, Counts | Potential]) -> None:
        """Update each learned prior, given the block (such as topics) that has this prior.

        The update uses the block's counts or, if the block has no counts, its values.
        """
        for name, moved in self.priors.items():
            counts: Counts | Potential | Floats | None = statistics.get(moved)
            below = self.states[moved]
            alone = below.peers is None
            words = below.owned_rows(np.arange(below.block.shape[0], dtype=np.int32))
            if isinstance(counts, Counts) and not alone:
                counts = self._whole_counts(counts)
            if counts is None:
                below.catch_up(key, words)
                rows = below.rows(None if alone else words)
                counts = self.comm.allgather_rows_by_word(words, rows)[1]
            self.states[name].step(key, counts, 0.0)
        take_priors(self.priors, self.states)

    def _end_warm_up(self) -> None:
        for name, state in self.states.items():
            self.states[name] = state.end_warm_up()
            self.states[name].peers = state.peers
        take_priors(self.priors, self.states)

    def _request_rows(self, key: Key, batch: Minibatch) -> tuple[Draw, Minibatch]:
        """Return a draw of all blocks for a minibatch, with topics of its words, and the minibatch.

        In the returned minibatch, words are sorted by the process that owns them.
        """
        batch, words = self.comm.request_rows(batch)
        topics = self.states[self.topics.name]
        if topics.peers is None:
            return self._read(key, batch.words), batch
        assert isinstance(topics, Rows)
        topics.catch_up(key, words)
        name = self.topics.name if topics.weights(words[:0]) is None else WEIGHTS
        return {name: self.comm.fetch(batch.words, topics.read)} | self._upper_values(), batch

    def _read(self, key: Key, words: Int32s) -> Draw:
        """Bring the topics of the given words up to date; return the values of all blocks."""
        self.states[self.topics.name].catch_up(key, words)
        return self._sampling_weights(words) | self._upper_values()

    def _sampling_weights(self, words: Int32s) -> Draw:
        """Return the weights of topics for each given word, to draw token topics."""
        topics = self.states[self.topics.name]
        weights = topics.weights(words)
        return {self.topics.name: topics.rows(words)} if weights is None else {WEIGHTS: weights}

    def _owned_sampling_weights(self, words: Int32s) -> RowsHere:
        """Return the weights of topics for each word that this process owns, to draw topics."""
        if self.states[self.topics.name].peers is not None:
            return self.comm.fetched
        return RowsHere(sampling_weights(self._sampling_weights(words)))

    def _upper_values(self) -> Draw:
        """Return the current values of all blocks except the topics over words, by block name."""
        return {b.name: self.states[b.name].rows() for b in self.upper}

    def draw(self, words: Int32s | None = None) -> Draw:
        """Return the current topics of the given words, and the current values of the other blocks.

        Without ``words``, the topics of all words are returned.
        """
        topics = self.states[self.topics.name]
        draw = {self.topics.name: topics.current_rows(self.key, words)}
        weights = topics.weights(words)
        if weights is not None:
            draw[WEIGHTS] = weights
        return draw | self._upper_values()

    def sample(self) -> dict[str, Floats]:
        """Return the current state as a sample to store: matrices with one row per topic."""
        drawn = {self.topics.name: self.states[self.topics.name].draw_rows(self.key)}
        return draw_to_matrices(
            drawn | {b.name: self.states[b.name].rows() for b in self.upper}, self.blocks
        )

    def topic_conditional(self) -> TopicConditional | None:
        """Return the posterior distribution of the topics given token counts, or None if unknown.

        The distribution is known if the topics depend only on the counts.
        """
        return self.states[self.topics.name].topic_conditional(self.key)

    def totals(self) -> dict[str, Doubles]:
        """Return arrays of zeros to which `add_to` adds draws.

        Return no arrays if the states of the chain cannot be averaged.
        """
        if not self.draws:
            return {}
        shapes = {name: part.shape for name, part in self.draw(np.zeros(0, np.int32)).items()}
        shapes[self.topics.name] = (self.topics.shape[0], *shapes[self.topics.name][1:])
        return {name: np.zeros(shape) for name, shape in shapes.items()}

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add the current values of the topics and other blocks to ``totals``, in place.

        For a lazy row, the expected value given the values last drawn is added: its mean is equal
        to the mean of `draw`, with less work and less noise.
        """
        for name, state in self.states.items():
            state.add_to(totals[name])

    def arrays(self) -> dict[str, Array]:
        """Return the state of the chain, as the arrays that the next iteration needs, by name."""
        arrays = self._of_blocks() | self.documents.arrays() | self._gathered
        if self.start_variance is not None:
            arrays[START_VARIANCE] = self.start_variance
        return arrays

    def common(self) -> dict[str, Array]:
        """Return the arrays that are equal in all processes, by name.

        They are the arrays of all blocks, and the arrays of documents without a row for each
        document.

        Arrays with a row for each document are excluded.

        Topics' rows are excluded if other processes own some of them.
        """
        document_arrays, apart = (
            self.documents.arrays(),
            self.documents.by_document | self._held().keys(),
        )
        everything = self._of_blocks() | document_arrays
        return {name: a for name, a in everything.items() if name not in apart}

    def _held(self) -> dict[str, Array]:
        """Return the arrays that are distributed over processes, by name."""
        name, state = self.topics.name, self.states[self.topics.name]
        if state.peers is None:
            return {}
        arrays = state.arrays()
        return {f"{name}.{part}": arrays[part] for part in state.held}

    def gather_topic_rows(self) -> None:
        """Send the topic rows that other processes own to the first process."""
        for array in self._held().values():
            self.comm.gather_topic_rows(array)

    def _of_blocks(self) -> dict[str, Array]:
        return {
            f"{name}.{part}": a for name, s in self.states.items() for part, a in s.arrays().items()
        }

    def _by_document(self) -> dict[str, Array]:
        """Return the arrays that have a row for each document of this process, by name."""
        document_arrays, apart = self.documents.arrays(), self.documents.by_document
        return {name: document_arrays[name] for name in sorted(apart & document_arrays.keys())}

    def gather(self) -> None:
        """Gather all documents' variables, such as token topics, on the first process."""
        if self.comm.size > 1:
            gathered = {name: self.comm.gather_rows(a) for name, a in self._by_document().items()}
            self._gathered = {} if self.comm.rank else gathered

    def scatter(self) -> dict[str, Array]:
        """Return this process's part of the arrays that the first process has restored.

        Raises
        ------
        CheckpointError
            If the restored arrays do not have a row for each document of all processes.
        """
        comm, whole, held = self.comm, self._gathered, self._held()
        for array in held.values():
            comm.scatter_topic_rows(array)
        return held | {
            name: comm.scatter_rows(whole.get(name), part)
            for name, part in self._by_document().items()
        }

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Restore the chain's state from a checkpoint that was written after ``step`` iterations.

        The first of several processes gets the arrays of all documents, and continues with its
        part.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this chain.
        """
        peers = self.states[self.topics.name].peers
        # With `peers` set to None, `restore` replaces all rows of the topics on this process, and
        # exchanges no messages.
        self.states[self.topics.name].peers = None
        if step > self.warm_up:
            self._end_warm_up()
        for name, state in self.states.items():
            state.restore(arrays_of_block(name, arrays))
        self.states[self.topics.name].peers = peers
        take_priors(self.priors, self.states)
        self.start_variance = stored_variance(arrays, START_VARIANCE, self.topics.shape[1])
        if self.comm.size > 1:
            arrays = {name: arrays[name] for name in self.documents.arrays() if name in arrays}
            part = {n: a for n, a in self._by_document().items() if n in arrays}
            self._gathered = {} if self.comm.rank else {name: arrays[name] for name in part}
            arrays |= {name: arrays[name][: len(a)] for name, a in part.items()}
        self.documents.restore(arrays)
        self.step = step


def take_priors(priors: Mapping[str, str], states: Mapping[str, BlockState[Any]]) -> None:
    """Copy the current values of learned priors into the blocks that have these priors.

    Parameters
    ----------
    priors : mapping
        Name of each block that is a prior, and name of the block to which it belongs.
    states : mapping
        States of all blocks, by name.
    """
    for name, moved in priors.items():
        # The prior may change only now: steps that a lazy row has postponed need the old prior,
        # but here no row has postponed steps.
        below = states[moved]
        below.block = below.block._replace(prior=float(states[name].rows()[0]))


def arrays_of_block(block: str, arrays: Mapping[str, Array]) -> Within:
    """Return the arrays in a checkpoint that belong to the state of a block.

    Their names are the names in the state.

    Parameters
    ----------
    block : str
        Name of the block.
    arrays : mapping
        Arrays of a checkpoint, by name.

    Returns
    -------
    Within
        The arrays of the block's state, by their names in the state.
    """
    return Within(arrays, f"{block}.")
