"""Base class of trained runs that are opened for reading, for all models.

`Fitted` declares the methods that reading, scoring and comparing need, and has the implementations that
most models share; `pysgrld.models.block_fitted` adds methods for models with blocks of a chain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from pysgrld.chain.exact import CHAINS, ExactPlan, read_refinement_plan
from pysgrld.chain.population import PopulationDraws
from pysgrld.core.draws import Draw
from pysgrld.errors import CheckpointError, UsageError
from pysgrld.evaluate import DocumentDraw, HeldOut, Score, Scorer
from pysgrld.evaluate.matching import Likeness
from pysgrld.models.samples import SAMPLE, STATE
from pysgrld.models.word_order import PROBABLE, WordOrder, WordScorer, default_order
from pysgrld.options.priors import ETA_BLOCK, lowest_eta
from pysgrld.samplers import SAMPLERS
from pysgrld.types import (
    Array,
    Documents,
    Doubles,
    Floats,
    Int32s,
    Int64s,
    Invariant,
    Positions,
    Schedule,
    WordTotals,
    noise_inflation,
)

#: Function that returns documents and their ids, and that may read files. It returns None if the
#: documents are missing.
SomeDocuments = Callable[[], tuple[Documents, Int64s] | None]
#: Stored samples, as pairs of the iteration and a mapping of names to matrices.
Samples = Iterable[tuple[int, Mapping[str, Array]]]


class Record(Protocol):
    """Data of a run that its model needs; models have no access to the run's files.

    ``step``, ``arrays`` and ``place`` describe the newest checkpoint, and raise `CheckpointError`
    if it is missing.
    """

    @property
    def options(self) -> Any:
        """Resolved options of training."""

    @property
    def words(self) -> int:
        """Vocabulary size V."""

    @property
    def documents(self) -> int:
        """Number of training documents."""

    @property
    def tokens(self) -> int:
        """Number of tokens in the training documents."""

    @property
    def step(self) -> int:
        """Number of completed training iterations."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All arrays of the checkpoint, by name."""

    @property
    def place(self) -> str:
        """Name of the checkpoint, for messages."""

    def is_copied(self, name: str) -> bool:
        """Return True if each access to the given array of the checkpoint returns a copy."""


class Node(NamedTuple):
    """Topic in a tree, with its children, which are topics of the layer below.

    Attributes
    ----------
    layer, id : int
        The layer counted from 1, and the topic's number in it, as in an export.
    share : float
        This topic's share of the topic above; in the top layer, its share of the shapes r.
    words : tuple of str
        The first words, computed through the layers below.
    children : tuple of Node
        Topics of the layer below, with the largest share first.
    """

    layer: int
    id: int
    share: float
    words: tuple[str, ...]
    children: tuple[Node, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the node as a dictionary for JSON."""
        return self._asdict() | {"children": [child.as_dict() for child in self.children]}


class Fitted(ABC):
    """A trained run that is opened for reading; the base class for all models.

    A draw has the arrays that documents read at an iteration, by name and word-major. Layers are
    counted from 0.

    Parameters
    ----------
    record : Record
    threads : int

    Attributes
    ----------
    kind, noun : str
        Names in messages of the model, "a topic model" or "a mixture", and of its topics, "topic" or
        "component".
    score : Score
        The score of held-out documents.
    sample_invariants, state_invariants : mapping of str to Invariant
        Invariants of the arrays of a kept sample, and of a checkpoint, by patterns of their names.
    no_mean : str or None
        The reason why draws cannot be averaged, and topics not followed from draw to draw, or None
        if they can.
    likeness : Likeness or None
        Method that matches the topics of different draws, or None if topics cannot be matched, so
        that `quantities` are compared instead.
    titles : mapping of str to str
        Titles of `quantities` by name; empty if topics are matched.
    draws : bool
        Whether the run has draws from the posterior; a variational approximation has none.
    slow_tails : bool
        Whether the sampler hardly moves the words that a topic does not use.
    signed : bool
        Whether topics are points on a sphere, with entries that may be negative; else they are
        distributions.
    depth : int
        Number of layers.
    remedy : str or None
        The training options that give draws from the posterior, or None if no options do.
    """

    kind: str
    noun: str = "topic"
    score: Score
    sample_invariants: Mapping[str, Invariant] = SAMPLE
    state_invariants: Mapping[str, Invariant] = STATE
    no_mean: str | None = None
    likeness: Likeness | None = None
    titles: Mapping[str, str] = {}
    draws: bool
    slow_tails: bool = False
    signed: bool = False
    depth: int = 1
    remedy: str | None = "--algo gibbs"

    def __init__(self, record: Record, threads: int) -> None:
        self.record, self.threads = record, threads
        self.sampler = SAMPLERS[record.options.algo]
        self.draws = self.sampler.draws

    @cached_property
    def exact(self) -> ExactPlan | None:
        """Plan of the Gibbs refinement that drew the samples; None if training drew them."""
        try:
            plan = read_refinement_plan(self.record.arrays)
        except CheckpointError:
            return None
        return plan if plan and plan.has_draws else None

    @cached_property
    def population(self) -> PopulationDraws | None:
        """Transformation of stored draws that makes intervals hold for other texts like these.

        The value is None if no chain continued on resampled documents.
        """
        return None

    def widen_sample(self, step: int, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        """Widen a stored sample by `population`; return it unchanged if `population` is None."""
        del step
        return sample

    def expand_sample(self, sample: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return a stored sample as matrices; redraw the topics if only token counts are stored.

        Raises
        ------
        CheckpointError
            If the sample does not fit the model.
        """
        return sample

    @property
    def faithful(self) -> bool:
        """True if draws are from the exact posterior, and not from an approximation.

        Minibatches, and documents that start afresh in each iteration, shift the means of topics
        away from the posterior means, by more than the posterior's width even if the noise is
        small. Exact chains that start from shifted topics need some hundred sweeps to forget the
        shift.
        """
        converged = self.exact is not None and self.exact.converged
        return self.draws and (self.sampler.whole_corpus or converged)

    # ---- draws

    @property
    @abstractmethod
    def layers(self) -> tuple[int, ...]:
        """Number of topics in each layer."""

    @property
    @abstractmethod
    def current(self) -> Draw:
        """The draw of the latest checkpoint."""

    @property
    def samples(self) -> int:
        """Number of posterior samples in the average that `mean` returns."""
        return 0

    @property
    def mean(self) -> Draw | None:
        """Mean of all posterior samples, or None without samples."""
        return None

    def mean_sample(self) -> dict[str, Floats]:
        """Return the mean of all posterior samples in the form of a stored sample.

        Raises
        ------
        UsageError
            If the run has no samples.
        """
        raise UsageError(f"samples of {self.kind} cannot be averaged")

    @abstractmethod
    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Return the required shapes of the matrices in a stored sample, by name."""

    @abstractmethod
    def sample_to_draw(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Convert a stored sample to a draw with topics over the given words, by default all words."""

    @abstractmethod
    def topics_of_sample(self, sample: Mapping[str, Array], layer: int) -> Floats:
        """Return the topics of a layer in a stored sample as distributions over words, (K, V)."""

    @abstractmethod
    def topics_over_words(self, draw: Draw, layer: int) -> Floats:
        """Return the topics of a layer as distributions over words, (V, Kp) float32.

        Columns from K on are 0.
        """

    def choose_samples(self, steps: Sequence[int], most: int) -> list[int]:
        """Return the iterations of at most ``most`` stored samples, evenly spaced.

        The last sample is included. After a Gibbs refinement, each of its chains has equally many
        samples, because the chains take turns.

        Parameters
        ----------
        steps : sequence of int
            Iterations of the stored samples, ascending.
        most : int
        """
        order = np.array(steps[::-1], np.int64)
        if self.exact:
            order = order[np.argsort(np.arange(len(order)) % CHAINS, kind="stable")]
        return sorted(evenly_spaced(order, most).tolist())

    def samples_for_new(
        self, steps: Sequence[int], read: Callable[[int], Mapping[str, Array]]
    ) -> Samples:
        """Yield the samples of topics that are used to draw the proportions of new documents.

        The samples are the stored samples. After a Gibbs refinement, each sample is replaced by the
        mean of all samples. In a single draw, the probabilities of words with few tokens vary much.
        A new document would assign its words to whichever topics happen to have more of them, while
        the topics of a training document influenced the draw.

        Parameters
        ----------
        steps : sequence of int
            Iterations of kept samples.
        read : callable
            Returns the kept sample of an iteration.
        """
        if self.faithful and self.mean is not None:
            mean = self.mean_sample()
            return ((step, mean) for step in steps)
        return ((step, read(step)) for step in steps)

    # ---- documents

    @abstractmethod
    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, layer: int) -> Doubles:
        """Return the proportions of a layer's topics in documents, (n, K); rows sum to 1."""

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, layer: int
    ) -> Iterator[DocumentDraw]:
        """Yield a draw of documents' proportions and token counts by topic, for each sample of topics.

        A document's draws depend on its counts, its id and the samples, not on other documents.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """
        raise UsageError(f"topics of documents cannot be drawn for {self.kind}")

    def token_topics(self, documents: Documents, ids: Int64s, layer: int) -> Int32s:
        """Draw the topic of each token in documents, (N,), given the draw of the latest checkpoint.

        Tokens of one entry of the documents are adjacent. A document's topics depend on its counts
        and its id, not on other documents.

        Raises
        ------
        UsageError
            If tokens of this model have no topics, or documents are not sampled.
        """
        raise UsageError(f"{self.kind} does not assign topics to tokens")

    @abstractmethod
    def weights(self, documents: SomeDocuments, layer: int) -> Doubles | None:
        """Return each topic's share of the corpus, (K,).

        If the model has no weights of topics, the shares are computed from training documents.
        Return None without documents.
        """

    @abstractmethod
    def scorer(self, held_out: HeldOut) -> Scorer:
        """Return a scorer of this run's draws on held-out documents."""

    # ---- priors

    def document_prior(self, layer: int) -> Doubles | None:
        """Return the Dirichlet parameters of the prior of topic proportions, (K,).

        Return None if the prior is not a Dirichlet distribution.
        """
        del layer
        return None

    def word_prior(self) -> float:
        """Return the Dirichlet parameter eta of topics over words, or its mean if it is learned."""
        learned = self.learned_priors()
        if ETA_BLOCK in learned:
            return float(learned[ETA_BLOCK][0])
        return lowest_eta(self.record.options.eta)

    def learned_priors(self) -> dict[str, Doubles]:
        """Return the value of each learned prior, by the name of the prior's option.

        The value is the posterior mean or, without samples, the current value.
        """
        return {}

    # ---- topics

    def shown(self, layer: int) -> Int64s:
        """Return the numbers of a layer's active topics in ascending order."""
        return np.arange(self.layers[layer])

    @property
    def slices(self) -> tuple[str, ...]:
        """Names of the time slices, earliest first; empty if topics do not change over time."""
        return ()

    def topics_by_slice(self, draw: Draw) -> Floats:
        """Return a view of the topics over words in each time slice, (T, K, V).

        Raises
        ------
        UsageError
            If topics do not change over time.
        """
        raise UsageError(f"topics of {self.kind} do not change with time")

    def slice_variances(self) -> Doubles:
        """Return the prior variance of a word's log weight in each time slice, (T,).

        Raises
        ------
        UsageError
            If topics do not change over time.
        """
        raise UsageError(f"topics of {self.kind} do not change with time")

    def counts(self) -> Int64s | None:
        """Count the training documents of each component; None if documents have several topics."""
        return None

    def numbers(self) -> dict[str, int]:
        """Return metrics of the latest checkpoint, by name, to be shown next to the score."""
        return {}

    def extra_arrays(self) -> dict[str, Doubles]:
        """Return the arrays to export in addition to the topics, by name."""
        return {}

    def tree(
        self, vocabulary: Sequence[str], words: int, order: WordOrder | None = None
    ) -> list[Node] | None:
        """Return the tree of active topics from the top layer down, with the first words of topics.

        Return None if topics do not consist of other topics. Words are in the order of `first_words`.
        """
        del vocabulary, words, order
        return None

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Return scalar quantities that do not depend on topic labels, for convergence checks."""
        del draw, held_out
        return {}

    @property
    def word_order(self) -> WordOrder:
        """Default order of a topic's words, which depends on the mean length of documents."""
        if self.signed:
            return PROBABLE
        return default_order(self.record.documents, self.record.tokens)

    def first_words(
        self,
        phi: Floats,
        n: int,
        at: int,
        order: WordOrder | None = None,
        totals: WordTotals | None = None,
    ) -> Int64s:
        """Return the ids of the first n words of each topic in a layer, (K, n).

        Parameters
        ----------
        phi : (V, K or more)
            The topics, as `topics_over_words` returns them.
        n : int
        at : int
            The layer, counted from 0.
        order : WordOrder, optional
            Order of the words, by default `word_order`. Directions are ordered by their entries.
        totals : WordTotals, optional
            Word totals of the training documents.
        """
        return self.word_scorer(phi, at, order, totals).first_words(n)

    def word_scorer(
        self, phi: Floats, at: int, order: WordOrder | None = None, totals: WordTotals | None = None
    ) -> WordScorer:
        """Return the scorer of words in a layer's topics; parameters are as in `first_words`."""
        order = self.word_order if order is None else order
        if self.signed:
            order = PROBABLE
        return WordScorer(phi, self.layers[at], order, self.record.tokens, totals)

    # ---- how the sampler affects the draws

    @property
    def rate(self) -> float:
        """Rate at which an average topic reverts to its mean, for a step size of 1."""
        return 1.0

    def step_size(self, step: int) -> float:
        """Return the step size of the iteration after ``step`` iterations."""
        options = self.record.options
        return Schedule(*options.step_size)(max(0, step - options.warm_up))

    def noise(self, step: int) -> float | None:
        """Return the factor by which noise of minibatches inflates the variance of draws.

        The factor holds given the counts. It is 1 for exact samplers, and None if it is not known.
        """
        if not (self.sampler.inflates or self.sampler.whole_corpus):
            return None
        record = self.record
        whole = self.sampler.whole_corpus or self.exact is not None
        if whole or record.options.keep_documents is not None:
            # Minibatches cause no noise here, because an iteration uses all documents, and
            # documents keep their topics from one iteration to the next.
            return 1.0
        h = self.step_size(step) * self.rate
        return noise_inflation(h, record.documents, record.options.minibatch)

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Return the fraction of the way to its conditional mean that each topic moves in a step.

        Steps are stable if the fraction is below 2. The tuple is empty for other samplers.

        Parameters
        ----------
        shares : (K,)
            Share of each topic in the corpus's tokens.
        """
        del shares
        return ()


def evenly_spaced(ids: Positions, most: int) -> Int64s:
    """Return at most ``most`` of the given ids, evenly spaced.

    Parameters
    ----------
    ids : positions
        Ascending ids.
    most : int
        Largest number of ids to return.

    Returns
    -------
    array of int64
        All ids if they are at most `most`.
    """
    if len(ids) <= most:
        return ids[:]
    return ids[np.arange(most) * len(ids) // most]
