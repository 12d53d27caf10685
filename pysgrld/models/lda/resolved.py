"""Values of the options of LDA, with defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pysgrld.options.option import Resolved
from pysgrld.options.word_files import FoundSeeds


@dataclass(frozen=True, kw_only=True)
class LDAOptions(Resolved):
    """Values of the options of LDA; ``alpha`` and ``eta`` are numbers, unless they are learned."""

    topics: int
    alpha: float | Literal["learn"]
    eta: float | Literal["learn"]
    seed_words: FoundSeeds | None = None
    seed_weight: float | None = None
