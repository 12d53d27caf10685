"""The chain of a Dirichlet-process mixture: documents have components, whose number changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pysgrld.chain.protocol import Visit
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Ahead, Epochs, Minibatches
from pysgrld.errors import UsageError
from pysgrld.models.dpmm.quantities import numbers_of_components
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.settings import Settings
from pysgrld.models.dpmm.slice_sampling import Mixture
from pysgrld.samplers import SAMPLERS
from pysgrld.types import (
    Array,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Minibatch,
    Schedule,
    noise_inflation,
)


class MixtureChain:
    """A `Mixture` as the training loop has its chains: see `pysgrld.chain.protocol.Chain`.

    Parameters
    ----------
    options : MixtureOptions
        Resolved options (`pysgrld.models.resolve.resolve`).
    stream : Minibatches
        Minibatches of a stored corpus: every document's component is kept.
    words, tokens : int
    threads : int
    waiting : callable, optional
    """

    def __init__(
        self,
        options: MixtureOptions,
        stream: Minibatches,
        words: int,
        tokens: int,
        threads: int,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        if not isinstance(stream, Epochs):
            raise UsageError("a mixture keeps every document's component: it needs a stored corpus")
        self.sampler = SAMPLERS[options.algo]
        self.draws = self.sampler.draws
        self.stream: Minibatches = stream
        self.tokens = tokens
        self.seed, self.chain = stream.seed, stream.chain
        step_size = options.step_size
        self.schedule = Schedule(*step_size) if step_size else Schedule(1.0, 1.0, 0.0)
        self.mixture = Mixture(
            stream.train[:], words, settings_of(options), self.seed, self.chain, threads
        )
        self._batches = Ahead(stream, waiting)
        self._whole = stream.minibatch(0) if self.sampler.whole_corpus else None

    def close(self) -> None:
        """End the thread that prepares minibatches ahead; there are no more iterations."""
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
        if self.sampler.whole_corpus:
            return 1.0
        return noise_inflation(self.schedule(0), self.stream.documents, self.stream.size)

    def remarks(self) -> Iterator[str]:
        """Say by how much minibatches widen the posterior of components."""
        if self.sampler.inflates:
            yield (
                f"minibatch noise: the variance of components is {self.noise_inflation:.3g} times that "
                "given the counts"
            )

    def next_batch(self) -> Minibatch | None:
        """Give the documents of the next iteration."""
        return self._whole or self._batches.minibatch(self.step)

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

        Raises
        ------
        EOFError
            If the stream has no more.
        NumericalError
            If a component or a stick is no number any more.
        """
        h = self.step_size
        batch = batch or self.next_batch()
        if batch is None:
            raise EOFError(f"no documents are left for iteration {self.step}")
        some = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.mixture.advance(some, batch.doc_ids, h / self.schedule.a)
        return Visit(len(some), some.tokens, h)

    def draw(self, words: Int32s | None = None) -> Draw:
        """Give the current draw: ``phi`` (R, J) of some words, or of all, and ``w`` (J + 1,)."""
        return self.mixture.parts(words)

    def totals(self) -> dict[str, Doubles]:
        """Give nothing: components of different iterations are not the same ones."""
        return {}

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add nothing: draws of a mixture have no totals."""

    def sample(self) -> dict[str, Floats]:
        """Give the arrays of a kept sample: ``phi`` (J, V), and ``w`` (1, J + 1)."""
        draw = self.draw()
        return {"phi": np.ascontiguousarray(draw["phi"].T), "w": draw["w"][None]}

    def figures(self) -> dict[str, float]:
        """Give the numbers of components, and the concentration."""
        numbers = numbers_of_components(self.mixture.sizes)
        return numbers | {"concentration": self.mixture.concentration}

    def arrays(self) -> dict[str, Array]:
        """Give the arrays that the next iteration needs, by name."""
        return self.mixture.arrays()

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """
        self.mixture.restore(step, arrays)


def settings_of(options: MixtureOptions) -> Settings:
    """Take the settings of a mixture out of resolved options."""
    shape, rate = options.dp_prior
    return Settings(
        algo=options.algo,
        base=options.eta,
        shape=shape,
        rate=rate,
        start=options.dp_start,
        step=options.step_size[0] if options.step_size else 1.0,
        stick_step=options.dp_stick_step or 1.0,
        concentration={"sticks": "sticks", "ew": "escobar-west"}[options.dp_conc],
        swaps=options.dp_swaps == "on",
        reuse=options.dp_reuse == "on",
    )
