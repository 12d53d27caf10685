"""Protocols of readers, which read documents given topics, and of scorers of draws."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from pysgrld.core.draws import Draw
from pysgrld.evaluate.estimate import Estimate
from pysgrld.evaluate.split import HeldOut
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s, Key, Scored


class Visiting(Enum):
    """Settings of a visit of documents given topics: its sweeps, and which of them count.

    A reader knows how long each visit takes; `pysgrld.evaluate.sweeps` has what samplers share.
    """

    #: Their kept chains go on from where they are, for the running average.
    CONTINUE = "continue"
    #: Their kept chains go on, and the last state alone counts: one draw of the documents' topics.
    DRAW = "draw"
    #: Chains of their own, forgotten afterwards.
    AFRESH = "afresh"
    #: New documents, of which the proportions are wanted, each with its own randomness.
    NEW = "new"


class DocumentDraw(NamedTuple):
    """One draw of documents' proportions and of their tokens' topics, jointly.

    Attributes
    ----------
    theta : (n, K) float32
        Proportions; rows sum to 1.
    tokens : (n, K) float32
        Tokens of each topic.
    """

    theta: Floats
    tokens: Floats


class Reader(Protocol):
    """Documents that are read under given topics: their proportions, and what these predict."""

    def predict(self, key: Key, parts: Draw, scored: Scored, how: Visiting) -> Doubles:
        """Give the probability of every scored entry, (nnz,)."""

    def theta(self, key: Key, parts: Draw, how: Visiting, at: int) -> Doubles:
        """Give the proportions of the topics of layer ``at``, counted from 0, (n, K); rows sum to 1."""

    def draw(self, key: Key, parts: Draw, at: int) -> DocumentDraw:
        """Go on with the documents' kept chains, and draw proportions and tokens of layer ``at``.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    def token_topics(self, key: Key, parts: Draw, at: int) -> Int32s:
        """Go on with the documents' kept chains, and give the topic of every token, (N,).

        Tokens of an entry of the documents follow one another. A topic is one of layer ``at``.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    def figures(self, scored: Scored) -> dict[str, float]:
        """Give further figures of the samples so far, by name."""

    def shares(self, at: int) -> Doubles:
        """Give the share of the tokens of each topic of layer ``at`` as the documents stand, (K,)."""

    def arrays(self) -> dict[str, Array]:
        """Give the state of the documents' chains, from which they go on exactly."""

    def restore(self, arrays: Mapping[str, Array], prefix: str) -> None:
        """Go on from `arrays`; ``prefix`` is put before their names in messages.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """


class Readers(Protocol):
    """Makes readers of documents for one model with its options."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Numbers of topics of each layer."""

    @property
    def longest(self) -> int:
        """Tokens of the longest document of which a whole visit can be counted."""

    def __call__(self, documents: Documents, doc_ids: Int64s, threads: int) -> Reader:
        """Make a reader of documents over the rows of phi that are given later."""


class Scorer(Protocol):
    """Scores draws on held-out documents, and keeps the running posterior average.

    Attributes
    ----------
    prefix : str
        Prefix of the names of its arrays in a checkpoint.
    held_out : HeldOut
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    prefix: str
    held_out: HeldOut
    words: Int32s
    samples: int

    @property
    def tokens(self) -> int:
        """Tokens that are scored."""

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average, and give the averaged score."""

    def average(self) -> Estimate:
        """Give the averaged score so far; NaN before the first sample."""

    def log_averages(self) -> Doubles:
        """Give the logarithm of every probability or density that is averaged over the samples so far.

        There is at least one sample.
        """

    def score(self, logs: Doubles) -> Estimate:
        """Give the score of such logarithms."""

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Give the score of one draw; the running average is not touched."""

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Give the mean log probability under one draw: of a token, or of a whole document.

        Documents' own variables are one draw, too, that goes on from the last one.
        """

    def shares(self, at: int) -> Doubles | None:
        """Give the share of the tokens that each topic of layer ``at`` had in the last draw, (K,).

        None where documents are scored without giving tokens topics.
        """

    def unigram(self, counts: Int64s) -> Estimate:
        """Score the word frequencies of the training documents, plus 0.01 each."""

    def share_gained(self, before: float, now: float) -> float:
        """Give the share of the perplexity per token that was gained: 1 - perplexity now / before."""

    def figures(self) -> dict[str, float]:
        """Give further figures of the samples so far, as the model's paper defines them."""

    def arrays(self) -> dict[str, Array]:
        """Give the arrays from which the average goes on exactly."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """
