"""Values of the options of deep LDA, with defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pysgrld.options.option import Resolved, Steps
from pysgrld.options.word_files import FoundSeeds


@dataclass(frozen=True, kw_only=True)
class DeepLDAOptions(Resolved):
    """Values of the options of deep LDA.

    ``topics`` is K of layer 1, and ``eta`` has one value per layer.
    """

    topics: int
    scale_weight: Steps
    eta: tuple[float, ...]
    layers: tuple[int, ...]
    link: Literal["counts", "binary", "real"]
    p_prior: tuple[float, float]
    c_prior: tuple[float, float]
    r_prior: tuple[float, float]
    r_shape_prior: tuple[float, float]
    r_rate_prior: tuple[float, float]
    seed_words: FoundSeeds | None = None
    seed_weight: float | None = None

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of topics in each layer, lowest layer first."""
        return self.layers
