"""The bases of Markov chains, as training uses them, and of documents, as a chain uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.corpus.minibatches import Ahead, Minibatches
from pysgrld.errors import Message, UsageError
from pysgrld.options.option import Resolved
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts, Potential, TopicLaw
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Key, Minibatch, step_sizes


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


class Chain(ABC):
    """One Markov chain over the global parts of a model. Looking at it never changes it.

    Parameters
    ----------
    options : Resolved
    stream : Minibatches
        Source of its documents; has its seed and its number.
    tokens : int
        Training tokens.
    waiting : callable
        Called at intervals while no minibatch is ready; may raise, to stop.

    Attributes
    ----------
    seed, chain : int
        Seed of all its random keys, and its number among the chains of one seed, from 0.
    sampler : Sampler
    draws : bool
        Whether its states are draws from the posterior, to be kept.
    warm_up : int
        Noise-free iterations at the beginning.
    step_size_at : callable (int) -> float
        Step size of an iteration.
    step : int
        Iterations done.
    """

    def __init__(
        self, options: Resolved, stream: Minibatches, tokens: int, waiting: Callable[[], None]
    ) -> None:
        self.sampler = SAMPLERS[options.algo]
        self.draws = self.sampler.draws
        self.stream, self.tokens = stream, tokens
        self.seed, self.chain = stream.seed, stream.chain
        self.warm_up: int = options.warm_up
        self.step_size_at = step_sizes(options.warm_up, options.step_size)
        self.step = 0
        self._batches = Ahead(stream, waiting)
        self._whole: Minibatch | None = None  # every iteration visits all documents

    @property
    def key(self) -> Key:
        """The address of the next iteration's random numbers."""
        return Key(self.seed, self.chain, self.step)

    @property
    def step_size(self) -> float:
        """Step size of the next iteration."""
        return self.step_size_at(self.step)

    @abstractmethod
    def remarks(self) -> Iterator[Message]:
        """Return remarks on the settings: details, and warnings."""

    def begin_from(self, topics: Floats, tokens: Doubles) -> None:
        """Begin with the topics of another chain; its words are the first words of this one.

        Parameters
        ----------
        topics : (V' or less, K or more) float32
        tokens : (K,) float64
            Tokens of the corpus that each topic has.

        Raises
        ------
        UsageError
            If it cannot.
        """
        del topics, tokens
        raise UsageError("topics of this model cannot be continued on a corpus that has grown")

    def next_batch(self) -> Minibatch | None:
        """Return the documents of the next iteration, or None at the end of the stream."""
        return self._whole or self._batches.minibatch(self.step)

    @abstractmethod
    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

        Parameters
        ----------
        batch : Minibatch, optional
            `next_batch` by default.

        Raises
        ------
        EOFError
            If the stream has no more.
        NumericalError
            If the state is not finite any more.
        """

    @abstractmethod
    def draw(self, words: Int32s | None = None) -> Draw:
        """Return the current draw: rows of these words, or all if None, and the other blocks."""

    @abstractmethod
    def sample(self) -> dict[str, Floats]:
        """Return the arrays of a kept sample: a row for each topic (see `pysgrld.core.draws`)."""

    def law(self) -> TopicLaw | None:
        """Return the law that the topics of `sample` are drawn from given counts alone, or None."""
        return None

    def totals(self) -> dict[str, Doubles]:
        """Return zeros that `add_to` adds draws to, by name; empty if draws cannot be averaged."""
        return {}

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add the current draw of all words to ``totals``, in place.

        A lazy row may add its expected value: the mean is the same.
        """
        del totals

    def figures(self) -> dict[str, float]:
        """Return further metrics of the state for a line of ``metrics.jsonl``, by name."""
        return {}

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name: a checkpoint keeps these.

        With several processes, call it after `gather`, on the first one only.
        """

    def common(self) -> dict[str, Array]:
        """Return the members of `arrays` that are equal in every process of the communicator."""
        return self.arrays()

    def bring(self) -> None:
        """Gather the topics that other processes own on the first process of the communicator.

        All of them call it; until the next iteration it can be looked at there.
        """
        return  # most chains have one process

    def gather(self) -> None:
        """Gather the documents' variables of other processes on the first process of the communicator.

        All of them call it, and it holds until the next iteration.
        """
        return  # most chains keep nothing

    def scatter(self) -> dict[str, Array]:
        """Return this process's part of the arrays that the first process has restored.

        All processes call it; the others then restore it, and the common arrays.

        Raises
        ------
        CheckpointError
            If that is not of the documents of all of them.
        """
        return {}

    @abstractmethod
    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Continue from `arrays` as they were after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If they are no state of this chain.
        """

    def close(self) -> None:
        """End the thread that prepares minibatches ahead; no iteration may follow."""
        self._batches.close()


class DocumentSampler(ABC):
    """A sampler, or a fit, of the documents of a minibatch given a draw of the topics.

    It owns its scratch memory: one is used by one thread at a time. By default it stores nothing
    between visits.

    Attributes
    ----------
    by_document : frozenset of str
        Names of the `arrays` that have a row for each document, in order.
    """

    by_document: ClassVar[frozenset[str]] = frozenset()

    def keep(self, documents: Documents) -> None:
        """Keep the variables of these documents, the whole corpus, between visits."""
        del documents

    def begin_from(self, key: Key, draw: Draw, batch: Minibatch) -> None:
        """Begin with variables that fit these topics, if the documents store variables other than topics.

        Parameters
        ----------
        key : Key
        draw : Draw
            Of the words of ``batch``.
        batch : Minibatch
            The whole corpus.
        """
        del key, draw, batch

    @abstractmethod
    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> Mapping[str, Counts | Potential]:
        """Sample the minibatch's documents, and give the statistics on each block, by its name.

        A `Potential` samples them on demand instead.

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
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the variables of the documents out of a checkpoint.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        put_back(self.arrays(), arrays)
