"""What held-out documents are scored by: one figure for each kind of model; lower is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Score(NamedTuple):
    """A figure of held-out documents.

    Attributes
    ----------
    name : str
        Key of ``metrics.jsonl`` and of JSON; ``point_...`` and ``unigram_...`` go with it.
    title : str
        What a person reads.
    decimals : int
        Those that are shown.
    whole : bool
        Whether documents are scored whole; else the rest of a document given a part of it.
    """

    name: str
    title: str
    decimals: int
    whole: bool

    @property
    def point(self) -> str:
        """Key of the figure of the current topics."""
        return f"point_{self.name}"

    @property
    def unigram(self) -> str:
        """Key of the figure of the word frequencies of training."""
        return f"unigram_{self.name}"

    def show(self, value: float) -> str:
        """A value, to be read."""
        return f"{value:,.{self.decimals}f}"


PERPLEXITY = Score("perplexity", "perplexity", 1, whole=False)
#: Minus the mean log density of a document, in nats (Baker et al. 2018, section 4.2).
LOG_PREDICTIVE = Score("log_predictive", "minus log predictive", 3, whole=True)

SCORES = {score.name: score for score in (PERPLEXITY, LOG_PREDICTIVE)}


def score_of(options: Mapping[str, Any]) -> Score:
    """The one that resolved options have documents scored by."""
    return LOG_PREDICTIVE if options["model"] == "dpmm" else PERPLEXITY


def score_in(record: Mapping[str, Any]) -> Score:
    """The one that a line of ``metrics.jsonl`` has."""
    return next((score for score in SCORES.values() if score.name in record), PERPLEXITY)
