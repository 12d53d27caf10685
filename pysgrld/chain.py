"""One Markov chain: topics that move, a minibatch at a time. The river of the design page.

Knows nothing of files, clocks or evaluation; looking at it (``phi``) never changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models import MODELS
from pysgrld.models.lda import Local
from pysgrld.restore import check_topics, put_back
from pysgrld.samplers import SAMPLERS, add_phi, lazy, look, relax
from pysgrld.schedule import WARM_UP, Schedule
from pysgrld.stream import Ahead, Minibatches
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Key, Minibatch, State


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
        self.model = MODELS[options["model"]]
        self.stream, self.threads = stream, threads
        self.seed, self.chain = stream.seed, stream.chain
        self.warm_up: int = options["warm-up"]
        step_size = options["step-size"]
        self.schedule = Schedule(*step_size) if step_size else Schedule(1.0, 1.0, 0.0)
        # published settings start where the papers do, at Gamma(1), not at the corpus's scale
        mass = 0 if options.get("preset") else tokens
        self.blocks = self.model.blocks(options, words, mass)
        self.step = 0
        self.states: dict[str, State] = {
            b.name: self.sampler.init(self._key(0), b, threads) for b in self.blocks
        }
        self.catch_up = self.sampler.catch_up if options["lazy"] == "on" else None
        if self.catch_up:
            self.states = {name: lazy(state) for name, state in self.states.items()}
        sweeps = options["sweeps"]
        self.local = Local(
            topics=options["topics"],
            alpha=options["alpha"],
            sweeps=sweeps,
            kept=sweeps - sweeps // 2,
            rao_blackwell=options["counts"] == "rao-blackwell",
            threads=threads,
            work=core.Workspace(),
        )
        self._batches = Ahead(stream, waiting)
        self._whole: Minibatch | None = None
        if self.sampler.full_batch:
            self._keep_topics()

    def close(self) -> None:
        """Let go of what prepares minibatches ahead; there are no more iterations."""
        self._batches.close()

    def _keep_topics(self) -> None:
        """Hold the whole corpus and the topic of each of its tokens, for full-batch samplers."""
        batch = self.stream.minibatch(0)
        assert batch is not None
        lengths = Documents(batch.indptr, batch.indices, batch.counts).lengths
        token_ptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        z = np.full(token_ptr[-1], -1, np.int32)
        self._whole = batch
        self.local = self.local._replace(z=z, token_ptr=token_ptr)

    def _key(self, step: int) -> Key:
        return Key(self.seed, self.chain, step)

    @property
    def topics_shape(self) -> tuple[int, int]:
        """(V, K) of the topics over words."""
        return self.blocks[0].shape

    @property
    def noise_inflation(self) -> float:
        """Variance of the sampled topics over the posterior's, by minibatch noise alone.

        1 + tanh(h/2) D/B at the first sampling step (Baker et al. 2018, corollary 3.2); exact for
        ``scir``, the right order for ``sgrld``; 1 with the whole corpus.
        """
        if self.sampler.full_batch:
            return 1.0
        h = self.schedule(0)
        return 1.0 + float(np.tanh(h / 2)) * self.stream.documents / self.stream.size

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
        move = relax if t < self.warm_up else self.sampler.step
        if self.catch_up:  # rows that were left behind, before they are read
            # no row takes noise-free steps along into sampling
            words = None if t == self.warm_up else batch.words
            for b in self.blocks:
                self.states[b.name] = self.catch_up(
                    key, self.states[b.name], words, b, self.threads, warm=self._warm
                )
        phis = {
            b.name: self.sampler.rows(self.states[b.name], batch.words, b, self.threads)
            for b in self.blocks
        }
        # ranks will each sample their share of the batch, and sum these integers
        statistics = self.model.local_step(key, phis, batch, self.local)
        for b in self.blocks:
            self.states[b.name] = move(
                key, self.states[b.name], statistics[b.name], b, h, self.threads
            )
        self.step = t + 1
        return Visit(len(batch.doc_ids), int(batch.counts.sum(dtype=np.int64)), h)

    def check(self) -> None:
        """Refuse to go on from a state that is not finite.

        Raises
        ------
        NumericalError
        """
        for b in self.blocks:
            state = self.states[b.name]
            total = state["sums"][: b.shape[1]] if "sums" in state else state["log_g"].max(axis=0)
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

    def phi(self, words: Int32s | None = None) -> Floats:
        """Current topics of some words, (R, Kp) float32; of all where None."""
        b, key = self.blocks[0], self._key(self.step)
        return look(self.sampler, key, self.states[b.name], words, b, self.threads, warm=self._warm)

    def add_phi(self, total: Doubles) -> None:
        """Add all current topics to ``total``, (V, Kp), in place.

        Of rows that were left behind it adds what is expected of them given the values last drawn:
        the same mean as `phi` has, for less work and with less noise.
        """
        b = self.blocks[0]
        add_phi(total, self.states[b.name], b, self.threads)

    def arrays(self) -> dict[str, Array]:
        """All that the next iteration needs, by name."""
        arrays = {
            f"{name}.{part}": a for name, state in self.states.items() for part, a in state.items()
        }
        if self.local.z is not None:
            arrays["z"] = self.local.z
        return arrays

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        put_back(self.arrays(), arrays)
        if self.local.z is not None:
            check_topics("z", self.local.z, self.local.topics)
        for name, state in self.states.items():
            if "last" in state and not (state["last"] <= state["now"]).all():
                raise CheckpointError(f"array '{name}.last' of the checkpoint is ahead of its time")
        self.step = step
