"""SGRLD, stochastic-gradient Riemannian Langevin (Patterson and Teh 2013, eq. 10, epsilon = 2h).

Kernel: cpp/kernels/simplex_sgrld.cpp. Reflection keeps every g away from zero, so float32 rows
serve at any eta.
"""

from __future__ import annotations

from pysgrld.core import core
from pysgrld.options.option import Steps
from pysgrld.samplers.rows import Rows
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Doubles, Key


def default_step(facts: SamplerFacts, settings: SamplerSettings) -> Steps:
    """Return a small constant step after a warm-up; without one, a decaying step as in the paper."""
    del settings
    return (0.002, 1.0, 0.0) if facts.warm_up > 0 else (0.01, 1000.0, 0.6)


class Langevin(Rows):
    """Rows updated by reflected Langevin steps."""

    held = ("g",)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make the step g <- |g + h (eta + N - g (1 + N_k/s_k)) + sqrt(2 h g) z| from the old state."""
        totals = self.all_counts(statistics)
        self.step_by(core.simplex_sgrld, key, statistics, h=h, **totals)

    def contraction(self, tokens: Doubles, h: float) -> Doubles:
        """Return h (V eta + N_k) / s_k, (K,), the fraction of phi that a step replaces."""
        v, k = self.block.shape
        share: Doubles = h * (tokens + v * self.block.prior) / self.sums[:k]
        return share
