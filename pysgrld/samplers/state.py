"""Base class of samplers' states, and classes of the statistics by which states are updated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.restore import Form, restore_arrays
from pysgrld.types import UNIT, Array, Block, Doubles, Floats, Int32s, Int64s, Key, Schedule

#: Step size of a noise-free step after which only exp(-64) of the old state remains.
ALL_THE_WAY = 64.0

#: Type of sufficient statistics, which summarise a minibatch for the update of a state.
S = TypeVar("S", contravariant=True)


class Counts(NamedTuple):
    """Token counts of words in topics, the sufficient statistics for topics and gamma shapes.

    Attributes
    ----------
    rows : (R,) int32
        Rows of the block with counts, sorted; only the rows that this process owns, if it has
        peers.
    counts : (R, Kp) int64
        Topic counts summed over kept sweeps; integers, so that the order of
        summation cannot matter.
    factor : float
        ``counts * factor`` estimates the corpus's counts N_kw: scale / (unit * kept sweeps).
    level : float
        N / K of the model's first block, estimated from this minibatch: tokens of the corpus per topic.
        It scales the steps of blocks that are not topics.
    rate : float
        Sum over the minibatch's documents of q_d, times D/B: gamma shapes only, 0 elsewhere.
    """

    rows: Int32s
    counts: Int64s
    factor: float
    level: float = 0.0
    rate: float = 0.0


class TopicConditional(NamedTuple):
    """Conditional distribution of topics given token counts, and the key to draw from it.

    Attributes
    ----------
    key : Key
        Address of the random numbers.
    counts : Counts
        Tokens of each word in each topic, in the whole corpus.
    """

    key: Key
    counts: Counts


class EnergyGradient(NamedTuple):
    """A potential energy and its gradient at some points.

    Attributes
    ----------
    energy : float
    gradient : (V, Kp) float64
        The Euclidean gradient, which the sampler projects and may overwrite.
    noise : (Kp,) float64 or None
        Estimated variance of a component of the gradient due to minibatch noise, or None if it was
        not requested.
    """

    energy: float
    gradient: Doubles
    noise: Doubles | None = None


class Potential(Protocol):
    """Potential energy of points on spheres, which a sampler evaluates at points of its choice.

    The energy is an average over the documents' variables, which are sampled or fitted given
    points.
    """

    def sample_and_evaluate(
        self, key: Key, part: int, x: Doubles, *, noise: bool = False
    ) -> EnergyGradient:
        """Sample the documents' variables given points x; return energy and gradient at x.

        ``x`` is (V, Kp). ``part`` is the number of the call in an iteration, from 0; ``noise``
        requests the gradient's variance, too.
        """

    def evaluate(self, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Return energy and gradient at points x, given the documents' last sampled variables."""


class TopicStep(NamedTuple):
    """Step size of the topics in an iteration, from which other parameters' step sizes follow.

    Attributes
    ----------
    h : float
        Step size of the topics.
    warm : bool
        Whether the iteration is part of the warm-up.
    relative : bool
        Whether a step of 1 takes the topics all the way to their conditional mean.
    share : float
        B/D, the fraction of the corpus in a minibatch.
    published : bool
        Whether a paper's settings are used, which do not scale steps by B/D.
    """

    h: float
    warm: bool
    relative: bool
    share: float
    published: bool


class Peers(Protocol):
    """The processes that update a state together; each process updates the rows that it owns.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and number of all processes. Units of `core.ROW_UNIT` rows
        are assigned to the processes in turn.
    """

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""

    @property
    def size(self) -> int:
        """Number of processes."""

    def owns(self, words: Int32s) -> Array:
        """Return True for each word with a row that this process owns."""

    def move(self, step: Callable[[], None]) -> None:
        """Call ``step``, which updates the part of a state that this process owns."""

    def allgather_rows(self, units: Array) -> None:
        """Copy the rows that each process computed to the arrays of all processes (allgather).

        The array has a row for each unit of rows.
        """

    def sum_over_processes(self, counts: Int64s) -> Int64s:
        """Return the sum over all processes of each element of a small integer array."""


class BlockState(ABC, Generic[S]):
    """State of a block, which is a group of parameters that a sampler updates together.

    A state owns its arrays and its scratch memory.

    Two threads may use two states at once, but only one thread at a time may use a state.

    Parameters
    ----------
    block : Block
    threads : int
        Number of threads that its steps may use.
    then : type, optional
        Class of the state that follows a warm-up state when the warm-up is over.
    **arrays
        The arrays of the state, one for each of ``names``; the state takes ownership of them.
    """

    #: Names of the state's arrays, both as attributes and in checkpoints. A step needs no other
    #: data of the state.
    names: ClassVar[tuple[str, ...]]
    #: Name of an array with one number per topic. The number is NaN or infinite if the topic has a
    #: NaN or an infinity.
    of_topics: ClassVar[str]
    #: Class of the state in the noise-free warm-up, or None if the sampler has no warm-up.
    warm_up: ClassVar[type[BlockState[Any]] | None] = None
    #: Names of arrays that are split by rows over processes. Each process has all other arrays in
    #: full.
    held: ClassVar[tuple[str, ...]] = ()
    #: Processes that update the state together, or None if this process updates the whole state.
    peers: Peers | None = None

    def __init__(
        self,
        block: Block,
        threads: int,
        then: type[BlockState[Any]] | None = None,
        /,
        **arrays: Array,
    ) -> None:
        self.block, self.threads, self.then = block, threads, then
        self.work = core.Workspace()
        for name in self.names:
            setattr(self, name, arrays[name])

    # ---- creation

    @classmethod
    def form(cls, block: Block) -> type[BlockState[Any]]:
        """Return the class of the state, which depends on the parameter block's settings."""
        del block
        return cls

    @classmethod
    @abstractmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Any]:
        """Draw the first state of a chain, which is a warm-up state if the sampler has one."""

    @classmethod
    def from_checkpoint(
        cls, block: Block, arrays: Mapping[str, Array], threads: int, *, warm: bool
    ) -> BlockState[Any]:
        """Create a read-only state, which takes ownership of a checkpoint's arrays.

        Raises
        ------
        CheckpointError
            If an array is missing, has another type or shape, or has values that no step produces.
        """
        kind: type[BlockState[Any]] = (cls.warm_up if warm else None) or cls
        arrays_of_state: dict[str, Array] = {}
        for name, form in cls.forms(block, warm=warm).items():
            arrays_of_state[name] = form.take(arrays, name, f"{block.name}.")
        state = kind(block, threads, None if kind is cls else cls, **arrays_of_state)
        state.check()
        return state

    @classmethod
    def forms(cls, block: Block, *, warm: bool) -> dict[str, Form]:
        """Return the type and shape of each array in a block's state, by name.

        The method compares two states of a few rows: an axis has the same length in both states, or
        an entry for each row, or for each unit of `core.ROW_UNIT` rows.
        """
        v, k = block.shape
        if block.is_vector:
            shapes = [(v, k)] * 2
        else:
            shapes = [(units * block.copies * core.ROW_UNIT, k) for units in (1, 2)]
        few, twice = (cls._small(block._replace(shape=shape), warm=warm) for shape in shapes)
        rows, units = shapes[0][0], -(-v // core.ROW_UNIT)
        forms = {}
        for name, array in few.items():
            shape = tuple(
                n if n == m else v * n // rows if n % rows == 0 else units * n // block.copies
                for n, m in zip(array.shape, twice[name].shape, strict=True)
            )
            forms[name] = Form(array.dtype, shape)
        return forms

    @classmethod
    def _small(cls, block: Block, *, warm: bool) -> dict[str, Array]:
        """Return the arrays of a state with few rows, from whose shapes `forms` infers the axes."""
        hyper = block.hyper
        if isinstance(hyper, np.ndarray):
            hyper = np.resize(hyper, block.shape[0])
        state = cls.start(Key(0, 0, 0), block._replace(hyper=hyper, seeds=None), 1)
        return (state if warm else state.end_warm_up()).arrays()

    @classmethod
    def from_warm_up(cls, warm: Any) -> Self:
        """Create a state for sampling, with the arrays of a warm-up state."""
        return cls(warm.block, warm.threads, **warm.arrays())

    # ---- steps

    @abstractmethod
    def step(self, key: Key, statistics: S, h: float) -> None:
        """Update the block in an iteration with step size ``h``, without noise during a warm-up."""

    def start_from_counts(self, key: Key, tokens: Doubles) -> None:
        """Replace the state by a state with the given number of tokens of each word in each topic.

        ``tokens`` is (at most V, K), for the first words.
        """
        v, k = self.block.shape
        rows = self.owned_rows(np.arange(v, dtype=np.int32))
        rows_with_tokens = rows[rows < len(tokens)]
        counts = np.zeros((len(rows), padded_width(k)), np.int64)
        counts[: len(rows_with_tokens), :k] = np.rint(tokens[rows_with_tokens] * UNIT)
        statistics: Any = Counts(rows, counts, 1.0 / UNIT)
        self.step(key, statistics, ALL_THE_WAY)

    def owned_rows(self, rows: Int32s) -> Int32s:
        """Return the subset of ``rows`` that this process owns."""
        return rows if self.peers is None else rows[self.peers.owns(rows)]

    def step_size(self, topic_step: TopicStep, statistics: S) -> float:
        """Return the block's step size, which is the step size of the topics by default."""
        del statistics
        return topic_step.h

    def end_warm_up(self) -> BlockState[Any]:
        """Return the state with which sampling starts after the warm-up.

        The new state takes over the arrays of this state, which must not be used any more. A state
        that samples already is returned itself.
        """
        return self if self.then is None else self.then.from_warm_up(self)

    def contraction(self, tokens: Doubles, h: float) -> Doubles | None:
        """Return each topic's move in a step, as a fraction of the way to its conditional mean.

        The result is (K,).

        Euler steps are stable if the fraction is below 2; ``tokens`` (K,) are the tokens of each
        topic in the corpus. Return None if a step is not an Euler step, or has another scale.
        """
        del tokens, h
        return None

    # ---- reading

    @abstractmethod
    def rows(self, words: Int32s | None = None) -> Floats:
        """Return the parameters of the given words, or of all words, for sampling documents.

        The result is (R, Kp).

        Lazy rows are returned as last drawn: call `catch_up` first, or `current_rows` instead.
        """

    def catch_up(self, key: Key, words: Int32s) -> None:
        """Bring the given words' lazy rows up to date, before they are read.

        A process with peers does this for its own rows; its peers call it at the same time.
        """
        del key, words

    def current_rows(self, key: Key, words: Int32s | None = None) -> Floats:
        """Return up-to-date rows for sampling documents, without changing the state.

        ``key.step`` is the number of iterations done.
        """
        del key
        return self.rows(words)

    def final_rows(self, key: Key) -> Floats:
        """Return the up-to-date rows of all words, which may overwrite the state's memory.

        The state must not be used any more.
        """
        return self.current_rows(key)

    def draw_rows(self, key: Key) -> Floats:
        """Return a draw of the topic matrix at this iteration; the state does not change.

        For samplers that draw rows in their steps, this is `current_rows`. A sampler with
        conditional means as rows draws the topics here.
        """
        return self.current_rows(key)

    def topic_conditional(self, key: Key) -> TopicConditional | None:
        """Return the conditional distribution of topics if `draw_rows` samples from it, else None.

        None also means that the distribution is not a `TopicConditional`.
        """
        del key
        return None

    def weights(self, words: Int32s | None = None) -> Floats | None:
        """Return the weights for sampling token topics, (R, Kp); None if `rows` has them."""
        del words
        return None

    def add_to(self, total: Doubles) -> None:
        """Add the rows of all words to ``total``; if rows are lazy, add the rows' expectation.

        ``total`` is (V, Kp) or (Kp,).

        The expectation of lazy rows given the values last drawn has the mean of `current_rows`, for less
        work and with less noise.
        """
        total += self.rows()

    def summary(self) -> Doubles:
        """Return a number for each topic, (K,); a NaN or infinite number means an invalid topic."""
        numbers: Doubles = getattr(self, self.of_topics)[: self.block.shape[1]]
        return numbers

    def snapshot(self) -> Self:
        """Return a copy of this state, which later updates do not change."""
        arrays = {name: array.copy() for name, array in self.arrays().items()}
        return type(self)(self.block, self.threads, self.then, **arrays)

    # ---- checkpoints

    def arrays(self) -> dict[str, Array]:
        """Return the state's arrays by name, without copying."""
        return {name: getattr(self, name) for name in self.names}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy a checkpoint's arrays into this state's arrays.

        Raises
        ------
        CheckpointError
            If an array is missing, has another type or shape, or has values that no step produces.
        """
        restore_arrays(self.arrays(), arrays, f"{self.block.name}.")
        self.check()

    def check(self) -> None:
        """Raise `CheckpointError` if a checkpoint's arrays have values that no step can produce.

        Only values that the declared ranges of the arrays cannot exclude are checked.
        """


def update_scale(m: Doubles, updates: Int64s, estimate: Doubles, weight: Schedule) -> Doubles:
    """Update in place the running average M by which steps are scaled, and return M.

    This is M of Cong, Chen, Liu and Zhou (2017), eq. 18. The first estimate becomes M; each later
    estimate sets M <- (1 - w) M + w estimate.

    Parameters
    ----------
    m : (n,) float64
    updates : (1,) int64
        Number of updates of ``m``.
    estimate : (n,) float64
        The estimate from this minibatch.
    weight : Schedule
        w as a function of the number of updates.
    """
    w = 1.0 if updates[0] == 0 else weight(int(updates[0]))
    m += w * (estimate - m)
    updates += 1
    return m
