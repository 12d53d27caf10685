"""What can be said of a run: the values that `pysgrld.results` gives."""

from __future__ import annotations

from typing import NamedTuple

from pysgrld.types import Floats, Parts


class Topics(NamedTuple):
    """Topics of one draw.

    Attributes
    ----------
    parts : dict
        Of every block, word-major, padded with zeros: ``phi`` (V, Kp) float32.
    samples : int
        Posterior samples in the mean; 0 where these are the current topics.
    """

    parts: Parts
    samples: int

    @property
    def phi(self) -> Floats:
        """Topics of the lowest layer over words, (V, Kp) float32."""
        return self.parts["phi"]


class Scores(NamedTuple):
    """Perplexities on the same held-out tokens.

    Attributes
    ----------
    perplexity, point_perplexity : float
        Of the posterior average, and of the current topics.
    unigram_perplexity : float or None
        Of the word frequencies of training; None where the run does not have them.
    documents, held_out_tokens : int
        That were scored.
    dropped : int
        Documents that could not be split, or have no known word in one of their parts.
    samples : int
        In the average; 0: there is none yet, and both figures are of the current topics.
    observed_fraction : float
        Share of the tokens that is observed.
    seed : int
    iteration : int
    others : dict
        Further figures of the same samples, as the model's paper defines them.
    """

    perplexity: float
    point_perplexity: float
    unigram_perplexity: float | None
    documents: int
    held_out_tokens: int
    dropped: int
    samples: int
    observed_fraction: float
    seed: int
    iteration: int
    others: dict[str, float]


class Word(NamedTuple):
    """A top word of a topic, with a credible interval where enough samples are kept."""

    word: str
    probability: float
    low: float | None
    high: float | None


class Topic(NamedTuple):
    """What is shown of a topic; ``id`` is its row in an export."""

    id: int
    weight: float | None
    npmi: float | None
    umass: float | None
    words: tuple[Word, ...]
