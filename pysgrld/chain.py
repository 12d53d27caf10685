"""One Markov chain: topics that move, a minibatch at a time. The river of the design page.

Knows nothing of files, clocks or evaluation; looking at it (``phi``) never changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models import MODELS, documents_of
from pysgrld.parts import by_topic
from pysgrld.restore import check_topics, put_back
from pysgrld.samplers import SAMPLERS, add_phi, lazy, read, sampler_of
from pysgrld.samplers.scir import average_rate
from pysgrld.schedule import WARM_UP, Schedule, noise_inflation
from pysgrld.stream import Ahead, Minibatches
from pysgrld.types import (
    WEIGHTS,
    Array,
    Block,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Key,
    Minibatch,
    Parts,
    State,
    Statistics,
)


class Visit(NamedTuple):
    """What an iteration saw.

    Attributes
    ----------
    documents, tokens : int
    step_size : float
    """

    documents: int
    tokens: int
    step_size: float


class Chain:
    """The topics of one model under one sampler.

    Parameters
    ----------
    options : mapping
        Resolved options (`pysgrld.settings.resolve`).
    stream : Minibatches
        Has the number of the chain, which is part of every random key.
    words, tokens : int
        Vocabulary size, and training tokens.
    threads : int
    waiting : callable, optional
        Called now and then while there is no minibatch yet; may raise, to stop.

    Attributes
    ----------
    step : int
        Iterations done.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        stream: Minibatches,
        words: int,
        tokens: int,
        threads: int,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self.sampler = SAMPLERS[options["algo"]]
        self.documents = documents_of(options)
        self.stream, self.threads = stream, threads
        self.seed, self.chain, self.tokens = stream.seed, stream.chain, tokens
        self.warm_up: int = options["warm-up"]
        step_size = options["step-size"]
        self.schedule = Schedule(*step_size) if step_size else Schedule(1.0, 1.0, 0.0)
        # published settings start where the papers do, at Gamma(1), not at the corpus's scale
        mass = 0 if options.get("preset") else tokens
        self.blocks = MODELS[options["model"]].blocks(options, words, mass)
        self.samplers = {b.name: sampler_of(options["algo"], b) for b in self.blocks}
        self.step, self._begun = 0, False
        self.states: dict[str, State] = {
            b.name: self.samplers[b.name].init(self._key(0), b, threads) for b in self.blocks
        }
        self.topics, self.upper = self.blocks[0], self.blocks[1:]
        self.catch_up = self.sampler.catch_up if options["lazy"] == "on" else None
        if self.catch_up:
            self.states[self.topics.name] = lazy(self.states[self.topics.name])
        self.local = self.documents.local(options, words, threads)
        self.share = 1.0 if options.get("preset") else stream.size / stream.documents
        self._batches = Ahead(stream, waiting)
        self._whole: Minibatch | None = None
        if self.sampler.full_batch:
            self._whole = batch = self.stream.minibatch(0)
            keep = self.documents.keep
            assert batch is not None
            assert keep is not None
            self.local = keep(self.local, Documents(batch.indptr, batch.indices, batch.counts))

    def close(self) -> None:
        """Let go of what prepares minibatches ahead; there are no more iterations."""
        self._batches.close()

    def _key(self, step: int) -> Key:
        return Key(self.seed, self.chain, step)

    @property
    def noise_inflation(self) -> float:
        """Variance of the sampled topics over the posterior's, by minibatch noise alone.

        At the first sampling step; exact for ``scir``, the right order for ``sgrld``; 1 with the
        whole corpus. The natural rate is that of an average topic.
        """
        if self.sampler.full_batch:
            return 1.0
        h = self.schedule(0) * average_rate(self.topics, self.tokens)
        return noise_inflation(h, self.stream.documents, self.stream.size)

    @property
    def stiffness(self) -> float:
        """H (V eta + N_k) of an average topic, for samplers whose step is not relative; else 0.

        Euler steps of mirrored Langevin are stable below 4: its dual potential curves by at most
        half of V eta + N_k (Hsieh et al. 2018, section 3).
        """
        if self.sampler.relative:
            return 0.0
        v, k = self.topics.shape
        return self.schedule(0) * (v * self.topics.prior + self.tokens / k)

    @property
    def step_size(self) -> float:
        """Step size of the next iteration."""
        t = self.step
        return WARM_UP(t) if t < self.warm_up else self.schedule(t - self.warm_up)

    def next_batch(self) -> Minibatch | None:
        """Documents of the next iteration; None where the stream has no more."""
        return self._whole or self._batches.minibatch(self.step)

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration: documents given topics, then topics given documents.

        ``batch`` is `next_batch`, unless somebody brings their own.

        Raises
        ------
        EOFError
            If the stream has no more.
        """
        t, h = self.step, self.step_size
        key = self._key(t)
        batch = batch or self.next_batch()
        if batch is None:
            raise EOFError(f"no documents are left for iteration {t}")
        warm = t < self.warm_up
        if t == self.warm_up:
            self._begin()
        phi = self.topics.name
        if self.catch_up:  # rows that were left behind, before they are read
            # no row takes noise-free steps along into sampling
            words = None if t == self.warm_up else batch.words
            self.states[phi] = self.catch_up(
                key, self.states[phi], words, self.topics, self.threads, warm=self._warm
            )
        if self.sampler.weights:
            parts = {WEIGHTS: self.sampler.weights(self.states[phi], batch.words, self.topics,
                                                   self.threads)}  # fmt: skip
        else:
            parts = {phi: self._rows(self.topics, batch.words)}
        parts |= {b.name: self._rows(b) for b in self.upper}
        # ranks will each sample their share of the batch, and sum these integers
        statistics = self.documents.step(key, parts, batch, self.local)
        for b in self.blocks:
            sampler, found = self.samplers[b.name], statistics[b.name]
            move = sampler.relax if warm else sampler.step
            pace = self._pace(b, found, h, warm=warm)
            self.states[b.name] = move(key, self.states[b.name], found, b, pace, self.threads)
        self.step = t + 1
        return Visit(len(batch.doc_ids), int(batch.counts.sum(dtype=np.int64)), h)

    def _begin(self) -> None:
        """Give the samplers their own states, once, after the warm-up."""
        if self._begun:
            return
        self._begun = True
        for b in self.blocks:
            if begin := self.samplers[b.name].begin:
                self.states[b.name] = begin(self.states[b.name], b)

    def _pace(self, b: Block, found: Statistics, h: float, *, warm: bool) -> float:
        """Step size of a block.

        What moves beside the topics is one vector for the whole corpus: it goes as far as topics do
        in proportion to the share of the corpus that was seen, so that minibatches do not shake it.
        Published settings give it the step of the topics.
        """
        if b.geometry == self.sampler.geometry:
            return h
        if not (warm or self.sampler.relative):
            h = min(1.0, h * found.level)
        return h * self.share

    def _rows(self, b: Block, words: Int32s | None = None) -> Floats:
        return self.samplers[b.name].rows(self.states[b.name], words, b, self.threads)

    def check(self) -> None:
        """Refuse to go on from a state that is not finite.

        Raises
        ------
        NumericalError
        """
        for b in self.blocks:
            state, k = self.states[b.name], b.shape[1]
            summary = next((state[n] for n in ("sums", "log_sums", "r") if n in state), None)
            total = state["log_g"].max(axis=0) if summary is None else summary[:k]
            bad = np.flatnonzero(~np.isfinite(total))
            if len(bad):
                raise NumericalError(
                    f"topic {bad[0]} of {b.name} is not finite after iteration {self.step} "
                    f"(step size {self.step_size:g}): use a smaller --step-size"
                )

    @property
    def _warm(self) -> bool:
        """Whether the steps that a row may have missed until now were noise-free."""
        return self.step <= self.warm_up

    def parts(self, words: Int32s | None = None) -> Parts:
        """What documents read now, by block: phi of some words, of all where None, and the rest."""
        b, key = self.topics, self._key(self.step)
        state, warm = self.states[b.name], self._warm
        parts = read(self.sampler, key, state, words, b, self.threads, warm=warm)
        return parts | {b.name: self._rows(b) for b in self.upper}

    def matrices(self) -> dict[str, Floats]:
        """What a kept sample holds: a row for each topic."""
        return by_topic(self.parts(), self.blocks)

    def figures(self) -> dict[str, float]:
        """What else there is to say of the state."""
        return {}

    def totals(self) -> dict[str, Doubles]:
        """Zeros that `add_parts` adds to; none where states are no draws to be averaged."""
        if not self.sampler.draws:
            return {}
        shapes = {name: part.shape for name, part in self.parts(np.zeros(0, np.int32)).items()}
        shapes[self.topics.name] = (self.topics.shape[0], *shapes[self.topics.name][1:])
        return {name: np.zeros(shape) for name, shape in shapes.items()}

    def add_parts(self, totals: dict[str, Doubles]) -> None:
        """Add what `parts` has of all words to ``totals``, in place.

        Of rows that were left behind it adds what is expected of them given the values last drawn:
        the same mean as `parts` has, for less work and with less noise.
        """
        for b in self.blocks:
            add_phi(self.samplers[b.name], totals[b.name], self.states[b.name], b, self.threads)

    def arrays(self) -> dict[str, Array]:
        """All that the next iteration needs, by name."""
        arrays = {
            f"{name}.{part}": a for name, state in self.states.items() for part, a in state.items()
        }
        return arrays | (self.local.state or {})

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        if step > self.warm_up:
            self._begin()
        put_back(self.arrays(), arrays)
        if self.local.state and "z" in self.local.state:
            check_topics("z", self.local.state["z"], self.topics.shape[1])
        for name, state in self.states.items():
            if "last" in state and not (state["last"] <= state["now"]).all():
                raise CheckpointError(f"array '{name}.last' of the checkpoint is ahead of its time")
        self.step = step
