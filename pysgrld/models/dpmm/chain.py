"""The chain of a Dirichlet-process mixture: documents have components, whose number changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pysgrld.chain.protocol import Visit
from pysgrld.corpus.minibatches import Ahead, Epochs, Minibatches
from pysgrld.errors import UsageError
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.settings import Settings
from pysgrld.models.dpmm.slice_sampling import Mixture
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Array, Documents, Doubles, Floats, Minibatch, Schedule, noise_inflation


class MixtureChain(Mixture):
    """A mixture with the minibatches of a corpus: see `pysgrld.chain.protocol.Chain`.

    Parameters
    ----------
    options : MixtureOptions
        Resolved options (`pysgrld.models.resolve.resolve`).
    stream : Minibatches
        Minibatches of a stored corpus: every document's component is kept.
    words, tokens : int
        V, and training tokens.
    threads : int
    waiting : callable, optional
        Called now and then while there is no minibatch yet; may raise, to stop.

    Raises
    ------
    UsageError
        If the corpus is read as a stream.
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
        super().__init__(
            stream.train[:], words, settings_of(options), stream.seed, stream.chain, threads
        )
        self.sampler = SAMPLERS[options.algo]
        self.draws = self.sampler.draws
        self.stream: Minibatches = stream
        self.tokens = tokens
        step_size = options.step_size
        self.schedule = Schedule(*step_size) if step_size else Schedule(1.0, 1.0, 0.0)
        self._batches = Ahead(stream, waiting)
        self._whole = stream.minibatch(0) if self.sampler.whole_corpus else None

    def close(self) -> None:
        """End the thread that prepares minibatches ahead; there are no more iterations."""
        self._batches.close()

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
        """Yield by how much minibatches widen the posterior of components."""
        if self.sampler.inflates:
            yield (
                f"minibatch noise: the variance of components is {self.noise_inflation:.3g} times that "
                "given the counts"
            )

    def next_batch(self) -> Minibatch | None:
        """Return the documents of the next iteration; None where the stream has no more."""
        return self._whole or self._batches.minibatch(self.step)

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

        Parameters
        ----------
        batch : Minibatch, optional
            `next_batch`, unless somebody brings their own.

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
        self.iterate(some, batch.doc_ids, h / self.schedule.a)
        return Visit(len(some), some.tokens, h)

    def totals(self) -> dict[str, Doubles]:
        """Return nothing: components of different iterations are not the same ones."""
        return {}

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add nothing: draws of a mixture have no totals."""

    def sample(self) -> dict[str, Floats]:
        """Return the arrays of a kept sample: ``phi`` (J, V), and ``w`` (1, J + 1)."""
        draw = self.draw()
        return {"phi": np.ascontiguousarray(draw["phi"].T), "w": draw["w"][None]}

    def figures(self) -> dict[str, float]:
        """Return the numbers of components, and the concentration."""
        return numbers_of_components(self.sizes) | {"concentration": self.concentration}


def numbers_of_components(sizes: Array) -> dict[str, int]:
    """Count the components that have a document, and ten, of how many documents each has, (J,)."""
    return {"components": int((sizes >= 1).sum()), "components_of_ten": int((sizes >= 10).sum())}


def settings_of(options: MixtureOptions) -> Settings:
    """Return the settings of a mixture that resolved options say."""
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
