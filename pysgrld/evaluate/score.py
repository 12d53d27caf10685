"""The figure that held-out documents are scored by; each model declares its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple


class Score(NamedTuple):
    """A figure of held-out documents; lower is better.

    Attributes
    ----------
    name : str
        Key of ``metrics.jsonl`` and of JSON; ``point_...``, ``unigram_...``, ``pooled_...`` go with it.
    title : str
        What a person reads.
    decimals : int
        Those that are shown.
    whole : bool
        Whether documents are scored whole; else the rest of a document given a part of it.
    unit : str
        What it is in, where the title does not say.
    beside : tuple of (str, str)
        Whole numbers that are shown beside it: keys of a line of ``metrics.jsonl``, and what of.
    further : tuple of (str, str, str)
        Figures of the scorer's own (`pysgrld.evaluate.protocol.Scorer.figures`): their keys, what a
        person reads, and what they are.
    """

    name: str
    title: str
    decimals: int
    whole: bool
    unit: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    further: tuple[tuple[str, str, str], ...] = ()

    @property
    def error(self) -> str:
        """Key of its standard error."""
        return f"{self.name}_se"

    @property
    def point(self) -> str:
        """Key of the figure of the current topics."""
        return f"point_{self.name}"

    @property
    def unigram(self) -> str:
        """Key of the figure of the word frequencies of training."""
        return f"unigram_{self.name}"

    @property
    def pooled(self) -> str:
        """Key of the figure of all chains of a run together."""
        return f"pooled_{self.name}"

    def show(self, value: float, error: float | None = None) -> str:
        """Format a value for a person, with its standard error where that is known.

        The error has two digits that count, and the value as many decimals.
        """
        if not error or not math.isfinite(error):
            return f"{value:,.{self.decimals}f}"
        decimals = max(0, min(self.decimals, 1 - math.floor(math.log10(error))))
        return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"

    def shown_beside(self, figures: Mapping[str, Any]) -> str:
        """Format the numbers beside it for a person; nothing where there are none."""
        return "".join(f", {figures[name]:,} {what}" for name, what in self.beside)
