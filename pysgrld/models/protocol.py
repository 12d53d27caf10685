"""Base class of models, and classes of the facts and resources that models receive.

No NumPy here, nor in the ``declared`` modules of models: help lists their options and must be instant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.errors import Message
from pysgrld.options.option import Facts, Option, Resolved

if TYPE_CHECKING:
    from pysgrld.chain.exact import ExactChain
    from pysgrld.chain.protocol import Chain
    from pysgrld.corpus.minibatches import Epochs, Minibatches
    from pysgrld.evaluate import HeldOut, Scorer
    from pysgrld.evaluate.score import Score
    from pysgrld.models.fitted import Fitted
    from pysgrld.types import Documents, Int64s

#: Type variable for a model's class of options, a subclass of `Resolved`.
R = TypeVar("R", bound=Resolved)

#: Published settings of a paper, by option name, which are used as defaults. Under the key "algos",
#: the paper's samplers have further settings, by the name of the sampler.
Preset = Mapping[str, Any]


class Extent(NamedTuple):
    """Facts on which the memory of a run depends: sizes of documents, threads and processes.

    Attributes
    ----------
    distinct, tokens : int
        Maximum number of distinct words, and of tokens, of a document.
    threads : int
    held_out : HeldOut or None
    shared : bool
        Whether other processes own a part of each minibatch and send its counts to this one.
    """

    distinct: int
    tokens: int
    threads: int
    held_out: HeldOut | None
    shared: bool = False


class CorpusFacts(NamedTuple):
    """Facts about the training corpus for a model: vocabulary size, and number of tokens.

    Attributes
    ----------
    words, tokens : int
        Vocabulary V, and the number of training tokens, if it is known.
    """

    words: int
    tokens: int


class RunOn(NamedTuple):
    """Resources of a chain: threads, processes, and a function called while the chain waits.

    Attributes
    ----------
    threads : int
    waiting : callable
        Called at intervals while no minibatch is ready; it may raise an exception to stop.
    comm : Communicator
        Processes that train the chain together.
    """

    threads: int
    waiting: Callable[[], None] = lambda: None
    comm: Communicator = ALONE


class Model(ABC, Generic[R]):
    """A topic model: its options and defaults, and methods that create its chains and scorers.

    Attributes
    ----------
    name, summary : str
        The name that is typed after ``--model``, and one line for the help.
    algorithms : tuple of str
        Samplers that can train it; the first is the default.
    implied_by : frozenset of str
        Options and algorithms that imply this model if ``--model`` is not set.
    options : mapping
        Options of this model alone, by name.
    needs : mapping
        Purposes of the options without which the model cannot be trained, by name.
    refuses : mapping
        Reasons why this model does not use certain shared options, by name.
    shows : mapping
        Defaults of shared options that differ in this model, as the help shows them, by name.
    presets : mapping
        Published settings of papers, by name.
    resolves_to : str
        Module and name of the class of its resolved options, which is imported on demand.
    reads : str
        Module and name of the class of its trained runs, which is imported on demand, too.
    minibatch : int
        Default number of documents in a minibatch, if the corpus is large enough.
    minibatch_tokens : int
        Minimum number of tokens in a minibatch, for samplers that draw: if documents are short, a
        minibatch has more of them.
    short_sweeps : int
        Maximum number of sweeps of a document at a visit of a short chain (the option ``starts``).
    steps_all : bool
        Whether an iteration may step all topics in all words, even words not in the minibatch.
        Minibatches are then larger if the steps would take longer than sampling.
    spacing : int
        Minimum number of iterations between posterior samples.
    learns : frozenset of str
        Options of priors that may be learned along with the topics.
    expected_topics : int or None
        Number of topics that memory, samples on disk and steps are planned for, or None for the
        number of ``--topics``.
    adds_up : bool
        Whether the statistics of documents are integers that processes can add up, so that several
        processes can train one chain.
    """

    name: str
    summary: str
    algorithms: tuple[str, ...]
    implied_by: frozenset[str] = frozenset()
    options: ClassVar[Mapping[str, Option]] = {}
    needs: ClassVar[Mapping[str, str]] = {}
    refuses: ClassVar[Mapping[str, str]] = {}
    shows: ClassVar[Mapping[str, str]] = {}
    presets: ClassVar[Mapping[str, Preset]] = {}
    resolves_to: str
    reads: str
    minibatch: int
    minibatch_tokens: int = 0
    short_sweeps: int = 10
    steps_all: bool = False
    spacing: int = 5
    adds_up: bool = False
    learns: frozenset[str] = frozenset()
    expected_topics: int | None = None

    @property
    def options_class(self) -> type[R]:
        """Class of the resolved options of this model."""
        return cast("type[R]", _import_class(self.resolves_to))

    @property
    def fitted(self) -> type[Fitted]:
        """Class of this model's trained runs, which takes a `Record` and a number of threads."""
        return cast("type[Fitted]", _import_class(self.reads))

    @property
    def score(self) -> Score:
        """Kind of score that is used for held-out documents."""
        return self.fitted.score

    # ---- options

    def check(self, settings: Mapping[str, Any], algo: str) -> None:
        """Raise an error for options of this model that contradict each other.

        Raises
        ------
        UsageError
        """
        return  # By default, a model accepts all combinations of options.

    def time(self, column: str | None, slices: Any) -> tuple[str, str | int] | None:
        """Return the column with the times of documents, and how time is divided into slices.

        Return None if the model does not use time. The second value is the length of a slice or the
        number of slices, as for `pysgrld.corpus.slices.slicing_of`.

        Parameters
        ----------
        column : str or None
            Value of ``--time``.
        slices : object
            Value of ``--slices``, or None if it was not chosen.
        """
        del column, slices
        return None

    @abstractmethod
    def resolve(
        self, value: dict[str, Any], user_set: frozenset[str], facts: Facts, *, whole_corpus: bool
    ) -> None:
        """Fill in the model's defaults for the options in ``value`` that are not set.

        Parameters
        ----------
        value : dict
            Values by option, None for an option that was not set; ``topics``, ``eta`` and
            ``sweeps`` must be resolved here.
        user_set : frozenset of str
            Options that the user or a preset has set.
        facts : Facts
            The corpus for which options are resolved.
        whole_corpus : bool
            Whether every iteration sees all documents.
        """

    def remarks(self, options: R, facts: Facts) -> Iterator[Message]:
        """Yield messages to the user about the options for this corpus, before training."""
        return iter(())

    @abstractmethod
    def memory(self, options: R, facts: Facts, extent: Extent) -> dict[str, int]:
        """Return the bytes of memory that a run needs, for topics, for minibatches and so on."""

    # ---- training

    def hold_out(self, documents: Documents, ids: Int64s, observed: float, seed: int) -> HeldOut:
        """Split each held-out document at random into two parts, or leave all documents whole."""
        from pysgrld.evaluate.held_out import hold_out_whole, split

        return (
            hold_out_whole(documents, ids)
            if self.score.whole
            else split(documents, ids, observed, seed)
        )

    @abstractmethod
    def chain(self, options: R, stream: Minibatches, corpus: CorpusFacts, run_on: RunOn) -> Chain:
        """Start a Markov chain of the model."""

    def short_chain(self, options: R, stream: Epochs, corpus: CorpusFacts, run_on: RunOn) -> Chain:
        """Start one of the short chains from which training takes its initial topics.

        Parameters
        ----------
        options : Resolved
            Resolved options; each short chain has its own seed.
        stream : Epochs
            Minibatches of the training corpus.
        corpus : CorpusFacts
        run_on : RunOn

        Returns
        -------
        Chain
            A chain; its draws have ``phi`` over the words, (V, K or more).
        """
        from pysgrld.corpus.minibatches import Epochs

        epochs = Epochs.of(options, stream.source, stream.train)
        return self.chain(options, epochs, corpus, run_on)

    def exact_chains(
        self, options: R, chain: Chain, run_on: RunOn, *, start: bool
    ) -> tuple[ExactChain, ...]:
        """Return the Gibbs-refinement chains that continue a training chain; by default none.

        Parameters
        ----------
        options : Resolved
        chain : Chain
            Training chain of this model, over a stored corpus.
        run_on : RunOn
        start : bool
            Whether the refinement's chains start from ``chain``; if not, they will be restored.
        """
        del options, chain, run_on, start
        return ()

    @abstractmethod
    def scorer(self, options: R, held_out: HeldOut, words: int, threads: int) -> Scorer:
        """Return a scorer that computes scores of draws on held-out documents."""


def _import_class(place: str) -> type:
    """Import a class, given the dotted name of its module and the name of the class."""
    module, _, name = place.rpartition(".")
    loaded: type = getattr(import_module(module), name)
    return loaded
