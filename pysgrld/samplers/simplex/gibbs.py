"""Blocked Gibbs: phi_k ~ Dirichlet(eta + n_k) given the whole corpus's counts.

A CIR transition of infinite length is a fresh Gamma draw, so the kernels are those of SCIR.
"""

from __future__ import annotations

import math

from pysgrld.core import core
from pysgrld.samplers.protocol import Counts
from pysgrld.samplers.simplex.log_rows import LogRows, RowsOrLogs, shapes, transition
from pysgrld.types import Key


class LogConjugate(LogRows):
    """Logarithms that are drawn anew in every step."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional law; ``h`` plays no part."""
        del h
        transition(
            key,
            self.log_g,
            shapes(statistics, self.block),
            stream=self.block.stream,
            h=math.inf,
            threads=self.threads,
        )


class Conjugate(RowsOrLogs):
    """Rows that are drawn anew in every step."""

    logs = LogConjugate

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional law; ``h`` plays no part."""
        del h
        core.simplex_scir(**self.arguments(key, statistics), h=math.inf)
