"""What scores a model's draws on held-out documents: one kind for each `pysgrld.scores.Score`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pysgrld.evaluate.completion import Completion
from pysgrld.evaluate.density import Density
from pysgrld.evaluate.split import HeldOut
from pysgrld.scores import PERPLEXITY, score_of
from pysgrld.types import Array, Int32s, Int64s, Key, Parts


class Scorer(Protocol):
    """Scores draws on held-out documents, and keeps the running posterior average.

    Attributes
    ----------
    prefix : str
        Of its arrays in a checkpoint.
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

    def update(self, key: Key, parts: Parts) -> float:
        """Add one posterior sample to the running average; returns the averaged score."""

    def average(self) -> float:
        """Averaged score so far; NaN before the first sample."""

    def point(self, key: Key, parts: Parts) -> float:
        """Score of one draw; the running average is not touched."""

    def unigram(self, counts: Int64s) -> float:
        """Score of the word frequencies of the training documents, plus 0.01 each."""

    def bought(self, before: float, now: float) -> float:
        """Share of the perplexity per token that the score has fallen by."""

    def figures(self) -> dict[str, float]:
        """Further figures of the same samples, as the model's paper defines them."""

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the average to go on exactly."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from `state`."""


def scorer_of(held_out: HeldOut, options: Mapping[str, Any], words: int, threads: int) -> Scorer:
    """What scores draws of a model with these resolved options, over V words."""
    if score_of(options) is PERPLEXITY:
        return Completion(held_out, options, threads)
    return Density(held_out, options, words)
