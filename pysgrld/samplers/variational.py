"""Variational Bayes: topics have distributions Dirichlet(lambda_k), updated by natural gradients.

Hoffman, Blei and Bach (2010), algorithm 2: lambda <- (1 - rho) lambda + rho (eta + N). This is the
mean of a CIR transition of length -log(1 - rho), so the kernel of the warm-up makes the step.
Documents use exp(E log phi), not the mean of phi: cpp/kernels/dirichlet.cpp.
"""

from __future__ import annotations

import math

from pysgrld.core import core
from pysgrld.options.option import Steps
from pysgrld.samplers.rows import Rows, draw_by_kernel
from pysgrld.samplers.sampler import SamplerFacts, SamplerSettings
from pysgrld.samplers.state import BlockState, Counts, Peers
from pysgrld.types import Block, Floats, Int32s, Key

#: Gamma shape of the initial lambda: Gamma(100) / 100 has mean 1 and standard deviation 0.1, as in
#: Hoffman's code.
START_SHAPE = 100.0


def default_step(facts: SamplerFacts, settings: SamplerSettings) -> Steps:
    """Return the weights rho_t = (1024 + 1 + t)^-0.7 of Hoffman et al. (2010), for any corpus."""
    del facts, settings
    return (1025.0**-0.7, 1025.0, 0.7)


class Dirichlets(Rows):
    """Dirichlet parameters lambda of the topics, stored in ``g``.

    Steps have no noise, so no warm-up is needed.
    """

    warm_up = None
    held = ("g",)

    @classmethod
    def start(
        cls, key: Key, block: Block, threads: int, peers: Peers | None = None
    ) -> BlockState[Counts]:
        """Draw initial parameters lambda near 1."""
        arrays = draw_by_kernel(core.dirichlet_start, key, block, threads, peers, shape=START_SHAPE)
        return cls(block, threads, **arrays)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Move lambda a fraction ``h`` (the paper's rho_t), at most 1, of the way to eta + N.

        N are the estimated counts.
        """
        length = -math.log1p(-h) if h < 1.0 else math.inf
        self.step_with_kernel(core.simplex_relax, key, statistics, h=length)

    def weights(self, words: Int32s | None = None) -> Floats:
        """Return weights proportional to exp(E log phi) for each of the R given words, (R, Kp).

        They are exp(psi(lambda_kw) - psi(sum_w lambda_kw)), with psi the digamma function.

        Rows over words are not normalised: the factor exp(-psi(sum_w lambda_kw)) of a topic matters.
        """
        return core.dirichlet_weights(**self.read_arguments(words))

    def read(self, words: Int32s, out: Floats | None = None) -> Floats:
        """Return `weights` of the given words.

        The result is written to ``out``, or else to scratch memory of the state.
        """
        return core.dirichlet_weights(**self.read_arguments(words), out=out)
