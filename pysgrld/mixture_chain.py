"""The chain of a Dirichlet-process mixture: documents have components, whose number changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pysgrld.chain import Visit
from pysgrld.errors import UsageError
from pysgrld.models.dpmm import Mixture, Settings
from pysgrld.samplers import SAMPLERS
from pysgrld.schedule import Schedule, noise_inflation
from pysgrld.stream import Ahead, Minibatches, Stream
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Minibatch, Parts


class MixtureChain:
    """A `pysgrld.models.dpmm.Mixture` as the training loop has its chains: see `pysgrld.chain.Chain`.

    Parameters
    ----------
    options : mapping
        Resolved options (`pysgrld.settings.resolve`).
    stream : Minibatches
        Of a stored corpus: every document's component is kept.
    words, tokens : int
    threads : int
    waiting : callable, optional
    """

    #: CIR steps are exact, Langevin steps relative to their scale.
    stiffness = 0.0

    def __init__(
        self, options: Mapping[str, Any], stream: Minibatches, words: int, tokens: int, threads: int,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        if not isinstance(stream, Stream):
            raise UsageError("a mixture keeps every document's component: it needs a stored corpus")
        self.sampler = SAMPLERS[options["algo"]]
        self.stream, self.tokens = stream, tokens
        self.seed, self.chain = stream.seed, stream.chain
        step_size = options["step-size"]
        self.schedule = Schedule(*step_size) if step_size else Schedule(1.0, 1.0, 0.0)
        self.mixture = Mixture(
            stream.train, words, settings_of(options), self.seed, self.chain, threads
        )
        self._batches = Ahead(stream, waiting)
        self._whole = stream.minibatch(0) if self.sampler.full_batch else None

    def close(self) -> None:
        """Let go of what prepares minibatches ahead; there are no more iterations."""
        self._batches.close()

    @property
    def step(self) -> int:
        """Iterations done."""
        return self.mixture.step

    @property
    def step_size(self) -> float:
        """Step size of the components in the next iteration."""
        return self.schedule(self.step)

    @property
    def noise_inflation(self) -> float:
        """Variance of the sampled components over the posterior's, by minibatch noise alone."""
        if self.sampler.full_batch:
            return 1.0
        return noise_inflation(self.schedule(0), self.stream.documents, self.stream.size)

    def next_batch(self) -> Minibatch | None:
        """Documents of the next iteration."""
        return self._whole or self._batches.minibatch(self.step)

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

        Raises
        ------
        NumericalError
            If a component or a stick is no number any more.
        """
        h = self.step_size
        batch = batch or self.next_batch()
        assert batch is not None  # a stored corpus has no end
        some = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.mixture.advance(some, batch.doc_ids, h / self.schedule.a)
        return Visit(len(some), some.tokens, h)

    def check(self) -> None:
        """Nothing is left to check: `advance` does."""

    def parts(self, words: Int32s | None = None) -> Parts:
        """What documents read: ``phi`` (R, J) of some words, of all where None, and ``w`` (J + 1,)."""
        return self.mixture.parts(words)

    def totals(self) -> dict[str, Doubles]:
        """None: components of different iterations are not the same ones."""
        return {}

    def add_parts(self, totals: dict[str, Doubles]) -> None:
        """There is nothing to add to."""

    def matrices(self) -> dict[str, Floats]:
        """What a kept sample holds: ``phi`` (J, V), and ``w`` (1, J + 1)."""
        parts = self.parts()
        return {"phi": np.ascontiguousarray(parts["phi"].T), "w": parts["w"][None]}

    def figures(self) -> dict[str, float]:
        """Components that documents have, and the concentration."""
        return {
            "components": self.mixture.occupied,
            "concentration": self.mixture.concentration,
        }

    def arrays(self) -> dict[str, Array]:
        """All that the next iteration needs, by name."""
        return self.mixture.arrays()

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        self.mixture.restore(step, arrays)


def settings_of(options: Mapping[str, Any]) -> Settings:
    """How resolved options want a mixture sampled."""
    shape, rate = options["dp-prior"]
    return Settings(
        algo=options["algo"],
        base=options["eta"],
        shape=shape,
        rate=rate,
        start=options["dp-start"],
        step=options["step-size"][0] if options["step-size"] else 1.0,
        stick_step=options["dp-stick-step"] or 1.0,
        concentration={"sticks": "sticks", "ew": "escobar-west"}[options["dp-conc"]],
        reuse=options["dp-reuse"] == "on",
    )
