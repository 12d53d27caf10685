"""A run that was trained, read as its family of models understands it.

`Fitted` is what reading, scoring and comparing ask of a run; `BlockFitted` answers what follows from the
blocks that a `pysgrld.chain.blocks` chain moves, whatever the documents are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from pysgrld.chain.blocks import arrays_of
from pysgrld.chain.posterior import samples_in, sums_in
from pysgrld.core import core
from pysgrld.draws import WEIGHTS, Draw, by_word
from pysgrld.errors import UsageError
from pysgrld.evaluate import DocumentDraw, HeldOut, Score, Scorer
from pysgrld.evaluate.matching import DISTRIBUTIONS, Likeness
from pysgrld.samplers import SAMPLERS, sampler_of
from pysgrld.samplers.protocol import BlockState, Counts
from pysgrld.schedule import FORGOTTEN, QUIET, Schedule, noise_inflation, quiet_step
from pysgrld.types import Array, Block, Documents, Doubles, Floats, Int32s, Int64s, Key

#: Gives documents and their ids, or None where there are none; may read files.
SomeDocuments = Callable[[], tuple[Documents, Int64s] | None]
#: Kept samples, one after the other: iterations, and their matrices by name.
Samples = Iterable[tuple[int, Mapping[str, Array]]]


class Record(Protocol):
    """A run as its family is told of it: plain values, whatever files they come from.

    ``step``, ``arrays`` and ``place`` are of the newest checkpoint, and raise `CheckpointError`
    where there is none.
    """

    @property
    def options(self) -> Any:
        """Resolved options of training."""

    @property
    def words(self) -> int:
        """Vocabulary size V."""

    @property
    def documents(self) -> int:
        """Training documents."""

    @property
    def tokens(self) -> int:
        """Training tokens."""

    @property
    def step(self) -> int:
        """Iterations done."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All arrays of the checkpoint, by name."""

    @property
    def place(self) -> str:
        """Name of the checkpoint in messages."""


class Node(NamedTuple):
    """A topic, and those of the layer below that it mostly uses.

    Attributes
    ----------
    layer, id : int
        The layer counted from 1, and the topic's place in it, as in an export.
    share : float
        Share of the topic above that goes to it; of the top layer, its share of the shapes r.
    words : tuple of str
        The most probable, through the layers below.
    children : tuple of Node
        The greatest share first.
    """

    layer: int
    id: int
    share: float
    words: tuple[str, ...]
    children: tuple[Node, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        return self._asdict() | {"children": [child.as_dict() for child in self.children]}


class Fitted(Protocol):
    """A trained run, read: topics, proportions, scores. Layers are counted from 0.

    A draw is what documents read of the topics at an iteration: arrays by name, word-major.

    Attributes
    ----------
    kind, noun : str
        What messages call the model, "a topic model" or "a mixture", and a topic of it, "topic" or
        "component".
    score : Score
        What held-out documents are scored by.
    no_mean : str or None
        Why draws cannot be averaged, nor topics be followed from draw to draw; None if they can.
    likeness : Likeness or None
        How topics of different draws are matched; None where they cannot be, and `quantities` are
        compared.
    titles : mapping of str to str
        Names of `quantities`, and what a person reads; empty where topics are matched.
    draws : bool
        Whether the run has draws from the posterior; a variational approximation has none.
    slow_tails : bool
        Whether the sampler hardly moves the words that a topic does not use.
    signed : bool
        Whether topics are directions, whose entries may be negative; else they are distributions.
    """

    kind: str
    noun: str
    score: Score
    no_mean: str | None
    likeness: Likeness | None
    titles: Mapping[str, str]
    draws: bool
    slow_tails: bool
    signed: bool

    @property
    def depth(self) -> int:
        """Number of layers."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Topics of each layer."""

    @property
    def current(self) -> Draw:
        """The draw at the newest checkpoint."""

    @property
    def samples(self) -> int:
        """Posterior samples in the `mean`; 0 where there is none."""

    @property
    def mean(self) -> Draw | None:
        """Mean of all posterior samples; None where there is none."""

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Give the shapes that the matrices of a kept sample must have, by name."""

    def draw_of(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Give the draw of a kept sample, of these words or of all where None."""

    def rows_of(self, sample: Mapping[str, Array], at: int) -> Floats:
        """Give the topics of a layer over the words in a kept sample, (K, V)."""

    def over_words(self, draw: Draw, at: int) -> Floats:
        """Give the topics of a layer over the words, (V, K or more) float32; what is beyond K is 0."""

    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Give the proportions of a layer's topics in documents, (n, K); rows sum to 1."""

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Draw the proportions of a layer's topics in documents, and their tokens', for each sample.

        A document's draws depend on its counts, its id and the samples, not on other documents.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Weigh each topic by how much of the corpus it makes up, (K,).

        Topics that have no weight of their own are weighed by some documents of training, None
        where there are none.
        """

    def shown(self, at: int) -> Int64s:
        """Give the topics of a layer that are worth showing, ascending."""

    def counts(self) -> Int64s | None:
        """Count the training documents of each component; None where documents have several topics."""

    def numbers(self) -> dict[str, int]:
        """Give the numbers that are shown beside the score, of the newest checkpoint, by name."""

    def beside(self) -> dict[str, Doubles]:
        """Give the arrays that go with the topics in an export, by name."""

    def tree(self, vocabulary: Sequence[str], words: int) -> list[Node] | None:
        """Draw up the topics of the top layer in use, each with those below it and its top words.

        None where topics do not use other topics.
        """

    def scorer(self, held_out: HeldOut) -> Scorer:
        """Make a scorer of this run's draws on documents."""

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Measure the quantities of a draw that do not depend on topics' names; keys of `titles`."""

    def noise(self, step: int) -> float | None:
        """Give how much minibatch noise inflates the variance of draws given the counts, at an iteration.

        1 for exact samplers, None for those of which it is not known.
        """

    def faithful(self, step: int) -> bool:
        """Say whether draws around an iteration vary as the posterior does, as far as is known."""

    def remedy(self) -> str | None:
        """Give the options of training that would make draws vary so; None where they are not known."""

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Give the share of a deviation that a step of Langevin dynamics takes away, for each topic.

        Stable below 2. Empty for other samplers.

        Parameters
        ----------
        shares : (K,)
            Share of the corpus's tokens that each topic has.
        """


class BlockFitted(Fitted, ABC):
    """A trained run whose topics are blocks of a chain; a family adds the answers on documents.

    Parameters
    ----------
    record : Record
    threads : int
    blocks : tuple of Block
        The model's global parts; the first are the topics over words.
    """

    kind, noun = "a topic model", "topic"
    no_mean: str | None = None
    likeness: Likeness | None = DISTRIBUTIONS
    titles: Mapping[str, str] = {}
    signed = False

    def __init__(self, record: Record, threads: int, blocks: tuple[Block, ...]) -> None:
        self.record, self.threads, self.blocks = record, threads, blocks
        self.sampler = SAMPLERS[record.options.algo]
        self.draws = self.sampler.draws
        # noise that is the same for all words moves those that a topic does not use no faster
        self.slow_tails = not self.sampler.relative

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def layers(self) -> tuple[int, ...]:
        """Topics of each layer."""
        return tuple(b.shape[1] for b in self.blocks if b.geometry == self.sampler.geometry)

    # ---- draws

    @cached_property
    def current(self) -> Draw:
        """The draw at the newest checkpoint."""
        options = self.record.options
        key, draw = Key(options.seed, options.chain, self.record.step), {}
        for name, state in self.states.items():
            draw[name] = state.look(key)
            weights = state.weights()
            if weights is not None:
                draw[WEIGHTS] = weights
        return draw

    @cached_property
    def states(self) -> dict[str, BlockState[Counts]]:
        """The blocks under their samplers, by name, as of the newest checkpoint."""
        options, record = self.record.options, self.record
        return {
            b.name: sampler_of(self.sampler.name, b).restored(
                b,
                arrays_of(b.name, record.arrays),
                self.threads,
                lazy=options.lazy == "on" and b is self.blocks[0],
                settled=record.step > options.warm_up,
            )
            for b in self.blocks
        }

    @property
    def samples(self) -> int:
        """Posterior samples in the `mean`; 0 where there is none."""
        return samples_in(self.record.arrays) if sums_in(self.record.arrays) else 0

    @cached_property
    def mean(self) -> Draw | None:
        """Mean of all posterior samples; None where there is none."""
        samples = self.samples
        if samples == 0:
            return None
        mean: Draw = {}
        for name, total in sums_in(self.record.arrays).items():
            if total.ndim == 1:
                mean[name] = (total / samples).astype(np.float32)
            else:
                mean[name] = core.zeros(len(total), total.shape[1], "float32")
                np.divide(total, samples, out=mean[name], casting="same_kind")
        return mean

    def sample_shapes(self, sample: Mapping[str, Array]) -> dict[str, tuple[int, int]]:
        """Give the shapes that the matrices of a kept sample must have: (K, V), and (1, K) of r."""
        del sample
        return {
            b.name: (1, b.shape[1]) if b.geometry == "positive" else (b.shape[1], b.shape[0])
            for b in self.blocks
        }

    def draw_of(self, sample: Mapping[str, Array], words: Int32s | None = None) -> Draw:
        """Give the draw of a kept sample, of these words or of all where None."""
        if words is not None:
            name = self.blocks[0].name
            sample = dict(sample) | {name: sample[name][:, words]}
        return by_word(sample, self.blocks)

    def rows_of(self, sample: Mapping[str, Array], at: int) -> Floats:
        """Give the topics of a layer over the words in a kept sample, (K, V)."""
        if at == 0:
            return sample[self.blocks[0].name]
        phi = self.over_words(self.draw_of(sample), at)
        return np.ascontiguousarray(phi[:, : self.layers[at]].T)

    def over_words(self, draw: Draw, at: int) -> Floats:
        """Give the topics over the words, (V, Kp) float32."""
        del at  # there is one layer
        return draw[self.blocks[0].name]

    # ---- documents, which the family knows

    @abstractmethod
    def proportions(self, draw: Draw, documents: Documents, ids: Int64s, at: int) -> Doubles:
        """Give the proportions of a layer's topics in documents, (n, K); rows sum to 1."""

    def document_draws(
        self, samples: Samples, documents: Documents, ids: Int64s, at: int
    ) -> Iterator[DocumentDraw]:
        """Refuse: nothing of the documents is sampled, unless a family says how.

        Raises
        ------
        UsageError
        """
        raise UsageError(f"documents of {self.kind} have no draws of their topics")

    @abstractmethod
    def weights(self, documents: SomeDocuments, at: int) -> Doubles | None:
        """Weigh each topic by how much of the corpus it makes up, (K,)."""

    @abstractmethod
    def scorer(self, held_out: HeldOut) -> Scorer:
        """Make a scorer of this run's draws on documents."""

    # ---- topics

    def shown(self, at: int) -> Int64s:
        """Give all topics of a layer."""
        return np.arange(self.layers[at])

    def counts(self) -> Int64s | None:
        """Give None: documents have several topics."""
        return None

    def numbers(self) -> dict[str, int]:
        """Give nothing: the number of topics is chosen."""
        return {}

    def beside(self) -> dict[str, Doubles]:
        """Give nothing: topics are exported alone."""
        return {}

    def tree(self, vocabulary: Sequence[str], words: int) -> list[Node] | None:
        """Give None: topics do not use other topics."""
        del vocabulary, words
        return None

    def quantities(self, draw: Draw, held_out: HeldOut | None) -> dict[str, float]:
        """Give nothing: topics themselves are compared."""
        del draw, held_out
        return {}

    # ---- what the sampler does to the draws

    def noise(self, step: int) -> float | None:
        """Give the noise inflation at an iteration, for an average topic; None where it is not known."""
        return noise_of(self.record, self._rate, step)

    def faithful(self, step: int) -> bool:
        """Say whether draws are the posterior's: little noise, and documents that forget their start."""
        noise = self.noise(step)
        forgotten = goes_on(self.record) or self.record.options.sweeps >= FORGOTTEN
        return noise is not None and noise <= QUIET and forgotten

    def remedy(self) -> str | None:
        """Give the options that would make draws the posterior's; None where they are not known."""
        options = self.record.options
        step = remedy_of(self.record, self._rate)
        return f"{step} --sweeps {FORGOTTEN}" if step and options.sweeps < FORGOTTEN else step

    @property
    def _rate(self) -> float:
        return self.blocks[0].average_rate(self.record.tokens)

    def contraction(self, shares: Doubles) -> tuple[float, ...]:
        """Give r_k = h (N_k + V eta) / s_k of topics that move by Langevin steps; empty for others.

        s_k is the scale of the unnormalised topic at the newest checkpoint, and N_k the tokens that
        the topic has.
        """
        if len(self.blocks) > 1 or self.sampler.whole_corpus:
            return ()
        state, record = self.states[self.blocks[0].name], self.record
        found = state.contraction(shares * record.tokens, step_size(record, record.step))
        return () if found is None else tuple(found.tolist())


def step_size(record: Record, step: int) -> float:
    """Give the step size of the sampling iteration after ``step``."""
    options = record.options
    return Schedule(*options.step_size)(max(0, step - options.warm_up))


def goes_on(record: Record) -> bool:
    """Say whether an iteration sees all documents, each where the last one left it."""
    options = record.options
    return SAMPLERS[options.algo].whole_corpus or options.keep_documents is not None


def noise_of(record: Record, rate: float, step: int) -> float | None:
    """Give the noise inflation of a run's draws with this rate: 1 of an exact sampler.

    None where the sampler's is not known.
    """
    options, sampler = record.options, SAMPLERS[record.options.algo]
    if not (sampler.inflates or sampler.whole_corpus):
        return None
    if goes_on(record):
        return 1.0
    h = step_size(record, step) * rate
    return noise_inflation(h, record.documents, options.minibatch)


def remedy_of(record: Record, rate: float) -> str | None:
    """Give the step, as it is typed, at which the noise inflation is `QUIET`; None where not known."""
    if not SAMPLERS[record.options.algo].inflates:
        return None
    return f"--step-size {quiet_step(record.documents, record.options.minibatch, rate):.2g},1,0"


def top_words(phi: Floats, n: int) -> Int64s:
    """Give the ids of the n most probable words of each topic, (K, n), the first first; phi is (V, K)."""
    n = min(n, len(phi))
    some = np.argpartition(-phi, n - 1, axis=0)[:n]
    order = np.lexsort((some, -np.take_along_axis(phi, some, axis=0)), axis=0)
    return np.ascontiguousarray(np.take_along_axis(some, order, axis=0).T)
