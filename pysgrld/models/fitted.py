"""A run that was trained, read as its model understands it.

`Fitted` is what reading, scoring and comparing ask of a run; `pysgrld.models.block_fitted` answers what
follows from the blocks that a chain moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from pysgrld.core.draws import Draw
from pysgrld.evaluate import DocumentDraw, HeldOut, Score, Scorer
from pysgrld.evaluate.matching import Likeness
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s

#: Gives documents and their ids, or None where there are none; may read files.
SomeDocuments = Callable[[], tuple[Documents, Int64s] | None]
#: Kept samples, one after the other: iterations, and their matrices by name.
Samples = Iterable[tuple[int, Mapping[str, Array]]]


class Record(Protocol):
    """A run as its model is told of it: plain values, whatever files they come from.

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

    def token_topics(self, documents: Documents, ids: Int64s, at: int) -> Int32s:
        """Draw the topic of every token of documents, (N,), given the draw at the newest checkpoint.

        Tokens of an entry of the documents follow one another. A document's topics depend on its counts
        and its id, not on other documents.

        Raises
        ------
        UsageError
            If tokens of this model have no topics, or documents are not sampled.
        """

    def document_prior(self, at: int) -> Doubles | None:
        """Give the Dirichlet parameters of the proportions, (K,); None where they have no such prior."""

    def word_prior(self) -> float:
        """Give the Dirichlet parameter of the words of a topic."""

    def learned(self) -> dict[str, Doubles]:
        """Give the priors that were learned, by their options: posterior means, or else as they stand."""

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


def top_words(phi: Floats, n: int) -> Int64s:
    """Give the ids of the n most probable words of each topic, (K, n), the first first; phi is (V, K)."""
    n = min(n, len(phi))
    some = np.argpartition(-phi, n - 1, axis=0)[:n]
    order = np.lexsort((some, -np.take_along_axis(phi, some, axis=0)), axis=0)
    return np.ascontiguousarray(np.take_along_axis(some, order, axis=0).T)
