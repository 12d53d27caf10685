"""Collapsed Gibbs: topics are integrated out, and phi is their mean given the tokens' topics.

(eta + n_kw) / (V eta + n_k): Griffiths and Steyvers (2004), eq. (6). Nothing is drawn here; the
documents' kernel is the sampler (`pysgrld.models.lda.collapsed`).
"""

from __future__ import annotations

import math

from pysgrld.core import core
from pysgrld.samplers.protocol import Counts
from pysgrld.samplers.simplex.rows import Rows
from pysgrld.types import Key


class Mean(Rows):
    """Rows that are the expectation of topics given the tokens' topics."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Set g to eta + n; ``h`` plays no part."""
        del h
        core.simplex_relax(**self.arguments(key, statistics), h=math.inf)
