"""Resolved options of LDA."""

from __future__ import annotations

from dataclasses import dataclass

from pysgrld.options.resolved import Resolved, Steps
from pysgrld.options.seeds import FoundSeeds


@dataclass(frozen=True, kw_only=True)
class LDAOptions(Resolved):
    """Resolved options of LDA."""

    topics: int
    scale_weight: Steps
    alpha: float
    eta: float
    seed_words: FoundSeeds | None = None
    seed_weight: float | None = None

    @property
    def lowest_eta(self) -> float:
        """Dirichlet prior per word of a topic."""
        return self.eta
