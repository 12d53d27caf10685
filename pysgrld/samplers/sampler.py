"""Class that describes a sampler: its name, its options, and the class of its states.

Neither NumPy nor the compiled core is imported here: help lists the samplers and must be instant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from pysgrld.options.option import Option, Steps, option_name, to_lists, to_tuples

if TYPE_CHECKING:
    from pysgrld.samplers.rows import StateFromRows
    from pysgrld.samplers.state import BlockState, Peers
    from pysgrld.types import Array, Block, Key


class SamplerFacts(NamedTuple):
    """Facts on which a sampler's default settings and default step size depend.

    Attributes
    ----------
    documents, tokens, words : int
        Sizes of the training corpus: D, N, V.
    length : float
        Mean number of tokens of a document, whichever documents the seed holds out.
    minibatch : int
        Number of documents in a minibatch.
    topics : int
        K, if it is known.
    eta : float
        Dirichlet prior per word of a topic.
    warm_up : int
        Noise-free iterations before the first step.
    minibatch_words : callable
        Counts the distinct words of the first minibatch, taken as typical of all minibatches.
    """

    documents: int
    tokens: int
    length: float
    words: int
    minibatch: int
    topics: int
    eta: float
    warm_up: int
    minibatch_words: Callable[[], int]


@dataclass(frozen=True)
class SamplerSettings:
    """Settings of a sampler without options, and base class of all samplers' settings.

    A field has the name of an option, with ``_`` for ``-``, and its default. A `Block` carries the
    settings of its sampler; only the sampler reads them.
    """

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Create the settings from values by option name, with defaults for missing values."""
        names = {f.name: option_name(f.name) for f in fields(cls)}
        settings = {f: to_tuples(values[n]) for f, n in names.items() if values.get(n) is not None}
        return cls(**settings)

    @classmethod
    def resolve(cls, values: Mapping[str, Any], facts: SamplerFacts) -> Self:
        """Return a sampler's settings for a corpus, given the values of its options.

        Parameters
        ----------
        values : mapping
            Values by option name: the user's, else the default of the sampler's row.
        facts : SamplerFacts

        Raises
        ------
        UsageError
            If an option cannot be combined with such a corpus or prior.
        """
        del facts
        return cls.from_values(values)

    def plain(self) -> dict[str, Any]:
        """Return the values by option name in JSON types, with lists in place of tuples."""
        return {option_name(f.name): to_lists(getattr(self, f.name)) for f in fields(self)}

    @property
    def has_lazy_rows(self) -> bool:
        """True if rows are lazy, that is, updated only when a minibatch reads them."""
        return False

    @property
    def arrays(self) -> int:
        """Number of a state's arrays that are as large as the topic matrix."""
        return 1

    def average_rate(self, block: Block, tokens: float) -> float:
        """Return the mean-reversion rate of an average topic, in a corpus of N tokens.

        The effect of minibatch noise on the posterior's width depends on the rate times the step.
        """
        del block, tokens
        return 1.0


@dataclass(frozen=True)
class Sampler:
    """Description of a sampler of topics or other global parameters, without the sampler's code.

    The values of `pysgrld.samplers.SAMPLERS` are objects of this class.

    Attributes
    ----------
    name, summary : str
        The name that is typed after ``--algo``, and one line for the help.
    module, state : str
        The module with the sampler's mathematics, imported when a state is requested, and the class
        of its states in that module, a `BlockState`. The module of a sampler that takes steps also has a
        function ``default_step(facts, settings)``.
    settings : str
        The class of the sampler's settings in that module, a `SamplerSettings`; "" without options.
    geometry : str
        Geometry of the blocks that the sampler can update.
    options : mapping
        Options that only some samplers use, with their defaults: the fields of the sampler's
        settings, by the names that are typed. Help, refusals, estimators and docs are derived from
        them.
    check : callable, optional
        Called with the options that were given; raises `UsageError` if they contradict each other.
    whole_corpus : bool
        Whether the sampler is valid only if each minibatch is the whole corpus, and documents keep
        their topics from one iteration to the next.
    serial : bool
        Whether each draw of a token's topic needs the draw before it, across all documents, so that
        one process must have all documents.
    draws : bool
        Whether the sampler's states are draws from the posterior, which can be stored and averaged;
        the states of a variational approximation are not.
    relative : bool
        Whether a step of 1 goes all the way to the conditional mean; else a step of 1 / N_k does.
    inflates : bool
        Whether noise of minibatches widens the posterior by a known factor.
    learns : frozenset of str
        Options of priors that may be learned along with the topics. A sampler without draws has
        none. To learn ``eta``, even the smallest probabilities of a draw must have exactly their
        posterior distribution, because eta is learned from them.
    takes : frozenset of str
        Options of minibatches that the sampler uses although its minibatch is the whole corpus.
    ignores : frozenset of str
        Options of all samplers that this sampler does not use, in addition to the ones excluded by
        ``whole_corpus`` and ``draws``.
    """

    name: str
    summary: str
    module: str
    state: str
    settings: str = ""
    geometry: str = "simplex"
    options: Mapping[str, Option] = field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], None] | None = None
    whole_corpus: bool = False
    serial: bool = False
    draws: bool = True
    relative: bool = True
    inflates: bool = False
    learns: frozenset[str] = frozenset({"alpha"})
    takes: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()

    @property
    def settings_class(self) -> type[SamplerSettings]:
        """The class of the sampler's settings."""
        if not self.settings:
            return SamplerSettings
        return cast("type[SamplerSettings]", getattr(import_module(self.module), self.settings))

    def resolve(self, values: Mapping[str, Any], facts: SamplerFacts) -> SamplerSettings:
        """Return the sampler's settings for a corpus; see `SamplerSettings.resolve`.

        Parameters
        ----------
        values : mapping
            Options by name, or None for an option that was not set.
        facts : SamplerFacts
        """
        allowed = {
            n: o.default if values.get(n) is None else values[n] for n, o in self.options.items()
        }
        return self.settings_class.resolve(allowed, facts)

    def default_step(self, facts: SamplerFacts, settings: SamplerSettings) -> Steps:
        """Return A, B and C of the default step size A (1 + t/B)^(-C)."""
        return cast(Steps, import_module(self.module).default_step(facts, settings))

    def start(
        self, key: Key, block: Block, threads: int, peers: Peers | None = None
    ) -> BlockState[Any]:
        """Draw the first state of a chain for a block, which is a group of parameters.

        Parameters
        ----------
        key : Key
        block : Block
            A block of this sampler's geometry; without settings, the default settings are used.
        threads : int
            Number of threads that its steps may use.
        peers : Peers, optional
            Processes that each own rows of the state, if its class has `BlockState.held` arrays.
        """
        states, block = self._states(block)
        if peers is None or not states.held:
            return states.start(key, block, threads)
        state = cast("type[StateFromRows]", states).start(key, block, threads, peers)
        state.peers = peers
        return state

    def from_checkpoint(
        self, block: Block, arrays: Mapping[str, Array], threads: int, *, warm: bool = False
    ) -> BlockState[Any]:
        """Create a block's state from a checkpoint's arrays, for reading only.

        A block is a group of parameters that the sampler updates together.

        Parameters
        ----------
        block : Block
        arrays : mapping
            Arrays by the names of `BlockState.arrays`; the state takes ownership of them.
        threads : int
        warm : bool
            Whether the chain was in its warm-up.

        Raises
        ------
        CheckpointError
            If an array is missing.
        """
        states, block = self._states(block)
        return states.from_checkpoint(block, arrays, threads, warm=warm)

    def _states(self, block: Block) -> tuple[type[BlockState[Any]], Block]:
        """Return the class of a block's state, and the block, with default settings if needed."""
        if block.settings is None:
            block = block._replace(settings=self.settings_class())
        states: type[BlockState[Any]] = getattr(import_module(self.module), self.state)
        return states.form(block), block
