"""Protocols of a Markov chain, as training uses it, and of documents, as a chain uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Minibatches
from pysgrld.samplers.state import Counts, Potential
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Key, Minibatch


class Visit(NamedTuple):
    """Documents and tokens that an iteration had.

    Attributes
    ----------
    documents, tokens : int
    step_size : float
    """

    documents: int
    tokens: int
    step_size: float


class Chain(Protocol):
    """One Markov chain over the global parts of a model. Looking at it never changes it.

    Attributes
    ----------
    seed, chain : int
        Seed of all its random keys, and its number among the chains of one seed, from 0.
    stream : Minibatches
        Source of its documents.
    tokens : int
        Training tokens.
    draws : bool
        Whether its states are draws from the posterior, to be kept.
    """

    seed: int
    chain: int
    stream: Minibatches
    tokens: int
    draws: bool

    @property
    def step(self) -> int:
        """Iterations done."""

    @property
    def step_size(self) -> float:
        """Step size of the next iteration."""

    def remarks(self) -> Iterator[str]:
        """Return remarks on the settings; those that begin with "warning: " everybody is to read."""

    def next_batch(self) -> Minibatch | None:
        """Return the documents of the next iteration; None where the stream has no more."""

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
            If the state is not finite any more.
        """

    def draw(self, words: Int32s | None = None) -> Draw:
        """Return the current draw: rows of these words, of all where None, and the other blocks."""

    def sample(self) -> dict[str, Floats]:
        """Return the arrays of a kept sample: a row for each topic (see `pysgrld.core.draws`)."""

    def totals(self) -> dict[str, Doubles]:
        """Return zeros that `add_to` adds draws to, by name; none where draws cannot be averaged."""

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add the current draw of all words to ``totals``, in place.

        Of rows that wait to be drawn it may add what is expected of them: the mean is the same.
        """

    def figures(self) -> dict[str, float]:
        """Return further figures of the state for a line of metrics, by name."""

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name: a checkpoint keeps these."""

    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """

    def close(self) -> None:
        """End the thread that prepares minibatches ahead; there are no more iterations."""


class DocumentSampler(Protocol):
    """A sampler, or a fit, of the documents of a minibatch given a draw of the topics.

    It owns its scratch memory: one is used by one thread at a time.
    """

    def keep(self, documents: Documents) -> None:
        """Keep the variables of these documents, the whole corpus, between visits."""

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> Mapping[str, Counts | Potential]:
        """Sample the minibatch's documents, and give the statistics on each block, by its name.

        A `Potential` samples them where it is asked instead.

        Parameters
        ----------
        key : Key
        draw : Draw
            Of the minibatch's words.
        batch : Minibatch
            The documents of this process, over the words of all of its communicator.
        comm : Communicator
            Adds up what its members find in theirs.
        """

    def arrays(self) -> dict[str, Array]:
        """Return the variables that are kept between visits, by name: a checkpoint keeps these."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the variables of the documents out of a checkpoint.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
