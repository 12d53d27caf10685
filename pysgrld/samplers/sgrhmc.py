"""SGRHMC, stochastic-gradient Riemannian Hamiltonian Monte Carlo (Ma, Chen and Fox 2015, section 3.2).

Kernel: cpp/kernels/simplex_sgrhmc.cpp. The metric is diag(1/g), on the expanded mean of Patterson
and Teh (2013). The paper leaves the unit of g open. Here the rate of g's prior is such that the row
of an average topic sums to V eta + N/K, the sum of its Dirichlet parameters. Friction is then a
word's expected number of tokens.

``momenta`` (V, Kp) float32 are added to the rows. They start at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pysgrld.core import core
from pysgrld.options.option import Steps
from pysgrld.samplers.rows import Rows, allocate_zeros
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Floats, Key


@dataclass(frozen=True)
class HamiltonianSettings(SamplerSettings):
    """Settings of SGRHMC, which has no options."""

    @property
    def arrays(self) -> int:
        """Number of arrays that are as large as the topic matrix, here rows and momenta."""
        return 2


def default_step(facts: SamplerFacts, settings: HamiltonianSettings) -> Steps:
    """Return a constant step size after a warm-up, or a decaying step size without a warm-up."""
    del settings
    return (0.2, 1.0, 0.0) if facts.warm_up > 0 else (0.2, 1000.0, 0.55)


class Hamiltonian(Rows):
    """Topics stored as rows with momenta, updated by Riemannian Hamiltonian Monte Carlo."""

    names = ("g", "sums", "momenta")
    held = ("g", "momenta")
    momenta: Floats

    @classmethod
    def from_warm_up(cls, warm: Rows) -> Self:
        """Start sampling with the rows of the warm-up and zero momenta."""
        momenta = allocate_zeros(len(warm.g), warm.g.shape[1], warm.peers)
        return cls(warm.block, warm.threads, **warm.arrays(), momenta=momenta)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Apply friction, noise and Hamiltonian flow, each for the time ``h``."""
        (v, k), eta = self.block.shape, self.block.prior
        mass = v * eta
        rate = mass / (mass + self.block.mass / k)
        totals = self.totals_argument(statistics)
        self.step_with_kernel(
            core.simplex_sgrhmc, key, statistics, r=self.momenta, rate=rate, h=h, **totals
        )
