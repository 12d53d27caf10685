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
    """Return a constant step size after a warm-up, or a decaying step size without a warm-up.

    The decaying step size is the paper's.
    """
    del settings
    return (0.002, 1.0, 0.0) if facts.warm_up > 0 else (0.01, 1000.0, 0.6)


class Langevin(Rows):
    """Topics stored as rows, updated by Langevin steps that are reflected at 0."""

    held = ("g",)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make a Langevin step of all rows, reflected at 0.

        g <- |g + h (eta + N - g (1 + N_k/s_k)) + sqrt(2 h g) z|, with N the estimated counts, N_k
        and s_k the sums of N and g over words, and z ~ N(0, 1). All terms on the right are of the
        old state.
        """
        totals = self.totals_argument(statistics)
        self.step_with_kernel(core.simplex_sgrld, key, statistics, h=h, **totals)

    def contraction(self, tokens: Doubles, h: float) -> Doubles:
        """Return each topic's move in a step, as a fraction of the way to its conditional mean.

        The fraction is h (V eta + N_k) / s_k, (K,).
        """
        v, k = self.block.shape
        share: Doubles = h * (tokens + v * self.block.prior) / self.sums[:k]
        return share
