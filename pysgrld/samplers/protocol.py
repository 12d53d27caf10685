"""Protocols of samplers: statistics that a block is moved by, its state, and a row of the table.

Neither NumPy nor the compiled core is imported here: help lists the samplers and must be instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from pysgrld.options.resolved import Steps

if TYPE_CHECKING:
    from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Int64s, Key

#: Sufficient statistics: what the documents of a minibatch say about a block.
E = TypeVar("E", contravariant=True)


class Counts(NamedTuple):
    """Sufficient statistics on topics and on gamma shapes: how many tokens of each word each topic has.

    Attributes
    ----------
    rows : (R,) int32
        Rows of the block that were touched, sorted.
    counts : (R, Kp) int64
        Topic counts summed over kept sweeps; integers, so that order cannot matter.
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


class EnergyGradient(NamedTuple):
    """A potential energy and its gradient at some points.

    Attributes
    ----------
    energy : float
    gradient : (V, Kp) float64
        Euclidean: the sampler projects it. The sampler may overwrite it.
    noise : (Kp,) float64 or None
        Estimated variance of a component of the gradient, by minibatch noise; None where nobody asked.
    """

    energy: float
    gradient: Doubles
    noise: Doubles | None = None


class Potential(Protocol):
    """A potential energy of points on spheres, asked at the points that the sampler moves to.

    It is an average over what is sampled, or fitted, of documents given points.
    """

    def drawn(self, key: Key, part: int, x: Doubles) -> EnergyGradient:
        """Sample the documents given x, (V, Kp), and give the slope there.

        ``part`` counts such calls of an iteration from 0.
        """

    def at(self, x: Doubles) -> EnergyGradient:
        """Give the slope at x, the documents as they were sampled last."""


class BlockState(Protocol[E]):
    """A block of a model as it stands under one sampler; owns its arrays and its scratch memory.

    Two states may be used by two threads at once, one state by one thread at a time.
    """

    def step(self, key: Key, statistics: E, h: float) -> None:
        """Move the block by one iteration of step size ``h``; noise-free in a warm-up."""

    def settle(self) -> BlockState[E]:
        """Give the state that sampling goes on from when the warm-up is over.

        It takes over the arrays of this one, which must not be used any more; a state that samples
        already gives itself.
        """

    def take_prior(self, prior: float) -> None:
        """Go on with another `Block.prior`; rows that wait must have been brought up to date."""

    def catch_up(self, key: Key, words: Int32s) -> None:
        """Bring the rows of these words up to date before they are read; nothing where none wait."""

    def rows(self, words: Int32s | None = None) -> Floats:
        """Give rows as documents read them, (R, Kp) of these words, of all where None.

        Rows that wait are given as they were last drawn; `catch_up` comes first, or `look` instead.
        """

    def look(self, key: Key, words: Int32s | None = None) -> Floats:
        """Give `rows` as of now, those that wait brought up to date in a copy; changes nothing.

        ``key.step`` is the number of iterations done.
        """

    def weights(self, words: Int32s | None = None) -> Floats | None:
        """Give the rows that tokens get topics by, (R, Kp), where those are not `rows`; else None."""

    def add_to(self, total: Doubles) -> None:
        """Add `rows` of all words to ``total``, (V, Kp) or (Kp,): of rows that wait, their expectation.

        The expectation given the values last drawn has the mean of `look`, for less work and with less
        noise.
        """

    def contraction(self, tokens: Doubles, h: float) -> Doubles | None:
        """Give how much of a topic's distance to its conditional mean a step of ``h`` goes, (K,).

        Euler steps are stable below 2; ``tokens`` (K,) are those that each topic has in the corpus.
        None where a step is no Euler step, or has another scale.
        """

    def not_finite(self) -> int | None:
        """Give the first topic, from 0, that is not finite any more, or None."""

    def arrays(self) -> dict[str, Array]:
        """Give the arrays that the next step needs, by name: all that a checkpoint keeps."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the arrays of a checkpoint into this state's own.

        Raises
        ------
        CheckpointError
            If they are not those of such a state.
        """


class StepFacts(NamedTuple):
    """The facts that the default step of a sampler depends on.

    Attributes
    ----------
    documents, tokens, words : int
        Sizes of the training corpus: D, N, V.
    minibatch : int
        Documents of a minibatch.
    topics : int
        K, as far as is known.
    eta : float
        Dirichlet prior per word of a topic.
    warm_up : int
        Noise-free iterations before the first step.
    natural : bool
        Whether a CIR process has the natural rate.
    """

    documents: int
    tokens: int
    words: int
    minibatch: int
    topics: int
    eta: float
    warm_up: int
    natural: bool


class StateClass(Protocol):
    """A class of states of one sampler, which a row of the table names: how states are made."""

    def start(self, key: Key, block: Block, threads: int) -> BlockState[Any]:
        """Draw the state of a chain's first iteration, which is a warm-up until it is settled."""

    def restored(
        self, block: Block, arrays: Mapping[str, Array], threads: int, *, settled: bool
    ) -> BlockState[Any]:
        """Make a state of a checkpoint's arrays, which it owns from here on, without a chain.

        Raises
        ------
        CheckpointError
            If one is missing.
        """


@dataclass(frozen=True)
class Sampler:
    """A sampler of global parameters: one row of `pysgrld.samplers.SAMPLERS`, plain values all.

    Attributes
    ----------
    name, summary : str
        The name that is typed after ``--algo``, and one line for the help.
    module, state : str
        The module with its mathematics, imported when a state is asked for, and the class of its
        states there (`StateClass`).
    lazy_state : str
        The class of states whose rows wait until they are read; "" where transitions do not compose.
    geometry : str
        The blocks that it can move.
    whole_corpus : bool
        Whether it is valid only with the whole corpus as its minibatch, what is sampled of every
        document kept.
    draws : bool
        Whether its states are draws from the posterior, to be kept and averaged; a variational
        approximation has none.
    relative : bool
        Whether a step of 1 goes all the way to the conditional mean; else one of 1 / N_k does.
    inflates : bool
        Whether noise of minibatches widens the posterior by a factor that is known.
    learns : frozenset of str
        Options of priors that may be learned along with topics that it moves: none without draws, and eta
        only where the smallest probabilities, which it is learned from, follow their law exactly.
    own : frozenset of str
        Options that only such samplers have a use for.
    takes : frozenset of str
        Options of minibatches that it has a use for although it sees the whole corpus.
    ignores : frozenset of str
        Options of all samplers that it has no use for, beyond those that follow from
        ``whole_corpus`` and ``draws``.
    """

    name: str
    summary: str
    module: str
    state: str
    lazy_state: str = ""
    geometry: str = "simplex"
    whole_corpus: bool = False
    draws: bool = True
    relative: bool = True
    inflates: bool = False
    learns: frozenset[str] = frozenset({"alpha"})
    own: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()

    @property
    def composes(self) -> bool:
        """Whether two transitions are one of their total length, so that rows may wait."""
        return bool(self.lazy_state)

    def start(self, key: Key, block: Block, threads: int, *, lazy: bool = False) -> BlockState[Any]:
        """Draw the state of a block at a chain's first iteration.

        Parameters
        ----------
        key : Key
        block : Block
            A block of this sampler's geometry.
        threads : int
            Number of threads that its steps may use.
        lazy : bool
            Whether rows wait until they are read; only where the sampler composes.
        """
        return self._states(lazy=lazy).start(key, block, threads)

    def restored(
        self,
        block: Block,
        arrays: Mapping[str, Array],
        threads: int,
        *,
        lazy: bool = False,
        settled: bool = True,
    ) -> BlockState[Any]:
        """Make a state of the arrays that a checkpoint has of a block, to be looked at without a chain.

        Parameters
        ----------
        block : Block
        arrays : mapping
            By the names of `BlockState.arrays`; the state owns them from here on.
        threads : int
        lazy : bool
            As the chain was started.
        settled : bool
            Whether the chain was beyond its warm-up.

        Raises
        ------
        CheckpointError
            If an array is missing.
        """
        return self._states(lazy=lazy).restored(block, arrays, threads, settled=settled)

    def default_step(self, facts: StepFacts) -> Steps:
        """Give A, B, C of the step A (1 + t/B)^(-C), as the sampler's ``default_step`` has it.

        Parameters
        ----------
        facts : StepFacts
        """
        return cast(Steps, import_module(self.module).default_step(facts))

    def _states(self, *, lazy: bool) -> StateClass:
        name = self.lazy_state if lazy else self.state
        return cast(StateClass, getattr(import_module(self.module), name))
