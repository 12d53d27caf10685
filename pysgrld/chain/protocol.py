"""Base classes of the Markov chains that training runs, and of samplers of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.core.draws import Draw
from pysgrld.core.restore import restore_arrays
from pysgrld.corpus.minibatches import Ahead, Minibatches
from pysgrld.errors import Message, UsageError
from pysgrld.options.option import Resolved
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import Counts, Potential, TopicConditional
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Key, Minibatch, step_sizes


class Visit(NamedTuple):
    """Numbers of documents and of tokens in an iteration, and the step size of the iteration.

    Attributes
    ----------
    documents, tokens : int
    step_size : float
    """

    documents: int
    tokens: int
    step_size: float


class Chain(ABC):
    """Markov chain over the global parameters of a model.

    Methods that read the state of the chain do not change the state.

    Parameters
    ----------
    options : Resolved
    stream : Minibatches
        Source of documents, which also has the seed and the number of the chain.
    tokens : int
        Number of training tokens.
    waiting : callable
        Called at intervals while no minibatch is ready; it may raise an exception to stop.

    Attributes
    ----------
    seed, chain : int
        Seed of all random keys, and number of the chain among the chains with this seed, from 0.
    sampler : Sampler
    draws : bool
        Whether its states are draws from the posterior that can be used as samples.
    warm_up : int
        Number of iterations without noise at the beginning.
    step_size_at : callable (int) -> float
        Returns the step size of an iteration.
    step : int
        Number of iterations done.
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
        # Minibatch of all documents if every iteration uses all of them. Otherwise None.
        self._whole: Minibatch | None = None

    @property
    def key(self) -> Key:
        """Key of the random numbers used by the next iteration."""
        return Key(self.seed, self.chain, self.step)

    @property
    def step_size(self) -> float:
        """Step size of the next iteration."""
        return self.step_size_at(self.step)

    @abstractmethod
    def remarks(self) -> Iterator[Message]:
        """Yield messages for the user about the chain's settings; some are warnings."""

    def start_from_topics(
        self, topics: Floats, tokens: Doubles, start_variance: Doubles | None = None
    ) -> None:
        """Start from another chain's topics; the vocabulary begins with that chain's words.

        Parameters
        ----------
        topics : (V' or less, K or more) float32
        tokens : (K,) float64
            Number of tokens of the corpus in each topic.
        start_variance : (K,) float64, optional
            Variance of each topic between the short chains from which the topics come.

        Raises
        ------
        UsageError
            If this chain cannot start from given topics.
        """
        del topics, tokens, start_variance
        raise UsageError(
            "this model cannot continue its topics on a larger corpus; train a new run"
        )

    def next_batch(self) -> Minibatch | None:
        """Return the minibatch of the next iteration, or None at the end of the stream."""
        return self._whole or self._batches.minibatch(self.step)

    @abstractmethod
    def advance(self, batch: Minibatch | None = None) -> Visit:
        """Do one iteration.

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

    @abstractmethod
    def draw(self, words: Int32s | None = None) -> Draw:
        """Return the current topics of the given words, and the current values of the other blocks.

        Without ``words``, the topics of all words are returned.
        """

    @abstractmethod
    def sample(self) -> dict[str, Floats]:
        """Return the current state as a sample to store: matrices with one row per topic.

        See `pysgrld.core.draws.draw_to_matrices`.
        """

    def topic_conditional(self) -> TopicConditional | None:
        """Return the posterior distribution of the topics given token counts, or None if unknown.

        The distribution is known if the topics depend only on the counts.
        """
        return None

    def totals(self) -> dict[str, Doubles]:
        """Return arrays of zeros for `add_to`, or no arrays if draws cannot be averaged."""
        return {}

    def add_to(self, totals: dict[str, Doubles]) -> None:
        """Add the current values of the topics and other blocks to ``totals``, in place.

        For a lazy row, the expected value may be added instead: it has the same mean.
        """
        del totals

    def metrics(self) -> dict[str, float]:
        """Return the metrics of this kind of chain, by name, for a line of ``metrics.jsonl``."""
        return {}

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name, for a checkpoint.

        With several processes, only the first process may call this method, after `gather`.
        """

    def common(self) -> dict[str, Array]:
        """Return the items of `arrays` that are equal in all processes of the communicator."""
        return self.arrays()

    def gather_topic_rows(self) -> None:
        """Send the topic rows that other processes own to the communicator's first process.

        All processes must call this method; the first process has the topics until the next
        iteration.
        """
        return  # A chain in a single process has all topic rows already.

    def gather(self) -> None:
        """Gather all documents' variables, such as token topics, on the first process.

        All processes must call this method; the first process has the variables until the next
        iteration.
        """
        return  # Chains without stored variables of documents have nothing to send.

    def scatter(self) -> dict[str, Array]:
        """Return this process's part of the arrays that the first process has restored.

        All processes must call this method; the other processes then restore their part, and the
        common arrays.

        Raises
        ------
        CheckpointError
            If the restored arrays do not have a row for each document of all processes.
        """
        return {}

    @abstractmethod
    def restore(self, step: int, arrays: Mapping[str, Array]) -> None:
        """Restore the chain's state from a checkpoint that was written after ``step`` iterations.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this chain.
        """

    def close(self) -> None:
        """End the thread that prepares minibatches in advance; no iteration may follow."""
        self._batches.close()


class DocumentSampler(ABC):
    """Base class of methods that sample or fit documents' variables, given the topics.

    An object has scratch memory, so that only one thread may use it at a time. By default it stores
    nothing from one iteration to the next.

    Attributes
    ----------
    by_document : frozenset of str
        Names of the `arrays` that have one row for each document, in the order of the documents.
    """

    by_document: ClassVar[frozenset[str]] = frozenset()

    def keep(self, documents: Documents) -> None:
        """Allocate the variables of all documents, which are stored between iterations."""
        del documents

    def start_from_topics(self, key: Key, draw: Draw, batch: Minibatch) -> None:
        """Initialise the stored variables of all documents, given the topics over words.

        Parameters
        ----------
        key : Key
        draw : Draw
            Draw of the topics at the words of ``batch``.
        batch : Minibatch
            The whole corpus.
        """
        del key, draw, batch

    @abstractmethod
    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> Mapping[str, Counts | Potential]:
        """Sample a minibatch's documents; return sufficient statistics of each block, by name.

        If the statistics of a block are a `Potential`, documents are not sampled in this method,
        but when the potential is evaluated.

        Parameters
        ----------
        key : Key
        draw : Draw
            Draw of the topics at the words of the minibatch.
        batch : Minibatch
            The documents of this process.
        comm : Communicator
            Combines the results of all processes.
        """

    def arrays(self) -> dict[str, Array]:
        """Return the variables that are stored from one iteration to the next, by name."""
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the variables of the documents from a checkpoint.

        Raises
        ------
        CheckpointError
            If the checkpoint does not belong to these documents.
        """
        restore_arrays(self.arrays(), arrays)
