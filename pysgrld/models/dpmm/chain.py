"""Markov chain of a Dirichlet-process mixture, in which the number of components varies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pysgrld.chain.protocol import Chain, Visit
from pysgrld.corpus.minibatches import Epochs, Minibatches
from pysgrld.errors import Message, Severity, UsageError
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.types import Array, Documents, Floats, Minibatch, noise_inflation


class MixtureChain(Mixture, Chain):
    """Markov chain of a mixture that is updated from minibatches of a corpus.

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
        Called at intervals while no minibatch is ready; it may raise an exception to stop.

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
            raise UsageError(
                "a mixture stores the component of every document, so the corpus must be "
                "stored, too: build it with 'sgmc corpus build'"
            )
        Chain.__init__(self, options, stream, tokens, waiting)
        Mixture.__init__(
            self,
            stream.train[:],
            words,
            mixture_settings(options),
            stream.seed,
            stream.chain,
            threads,
        )
        if self.sampler.whole_corpus:
            self._whole = stream.minibatch(0)

    @property
    def noise_inflation(self) -> float:
        """Factor by which minibatch noise inflates the posterior variance of components."""
        if self.sampler.whole_corpus:
            return 1.0
        return noise_inflation(
            self.step_size_at(self.warm_up), self.stream.documents, self.stream.size
        )

    def remarks(self) -> Iterator[Message]:
        """Yield a message on the effect of minibatches on the variance of components."""
        if self.sampler.inflates:
            yield Message(
                "minibatch noise multiplies the variance of components by "
                f"{self.noise_inflation:.3g} compared with training without minibatches",
                Severity.DETAIL,
            )

    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

        Parameters
        ----------
        batch : Minibatch, optional
            `next_batch` by default.

        Raises
        ------
        EOFError
            If the stream has ended.
        NumericalError
            If a component or a stick is not finite any more.
        """
        h = self.step_size
        batch = batch or self.next_batch()
        if batch is None:
            raise EOFError(f"iteration {self.step} has no documents, because the stream has ended")
        documents = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.iterate(documents, batch.doc_ids, h / self.step_size_at(self.warm_up))
        return Visit(len(documents), documents.tokens, h)

    def sample(self) -> dict[str, Floats]:
        """Return the stored form of a sample, with arrays ``phi`` (J, V) and ``w`` (1, J + 1)."""
        draw = self.draw()
        return {"phi": np.ascontiguousarray(draw["phi"].T), "w": draw["w"][None]}

    def metrics(self) -> dict[str, float]:
        """Return the numbers of components and the concentration parameter, as metrics."""
        return count_components(self.sizes) | {"concentration": self.concentration}


def count_components(sizes: Array) -> dict[str, int]:
    """Count the components with at least one document, and the components with at least ten.

    Parameters
    ----------
    sizes : array, (J,)
        Number of documents of each component.

    Returns
    -------
    dict of str to int
        "components" and "components_of_ten".
    """
    return {"components": int((sizes >= 1).sum()), "components_of_ten": int((sizes >= 10).sum())}


def mixture_settings(options: MixtureOptions) -> Settings:
    """Return the settings of the mixture's sampler for the given options of a run.

    Parameters
    ----------
    options : MixtureOptions
        Resolved options.

    Returns
    -------
    Settings
        Settings of `Mixture`.
    """
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
