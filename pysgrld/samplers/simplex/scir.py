"""SCIR: stochastic Cox-Ingersoll-Ross (Baker, Fearnhead, Fox, Nemeth 2018, section 2).

Kernel: cpp/kernels/simplex_scir.cpp (rows), simplex_scir_log.cpp (logarithms).

A block may ask for the *natural rate*, which is ours: kappa = 1 + N_k/s_k, frozen for the step,

    dg = (eta + N - kappa g) dt + sqrt(2 g) dW,  e = exp(-kappa h), c = (1 - e) / kappa

whose target is that of SGRLD, s_k ~ Gamma(V eta), without reflection and its bias: for fixed counts
phi is exact for every step, as with the paper's rate, whose s_k is about V eta + N_k. In phi such a
step goes as far as one of kappa h. Its rows cannot be lazy: kappa changes with every iteration.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from pysgrld.core import core
from pysgrld.core.arithmetic import exp
from pysgrld.options.resolved import Steps
from pysgrld.samplers.protocol import Counts, StepFacts
from pysgrld.samplers.simplex.lazy import LazyRows
from pysgrld.samplers.simplex.log_rows import LogRows, RowsOrLogs, log_sums, shapes, transition
from pysgrld.samplers.simplex.rows import Rows, totals
from pysgrld.types import Key


def default_step(facts: StepFacts) -> Steps:
    """Give a constant step: 10 B/D within 0.02 and 1, shorter where the natural rate goes as far."""
    h = min(1.0, max(10.0 * facts.minibatch / facts.documents, 0.02))
    if facts.natural:
        h /= 1.0 + facts.tokens / (facts.topics * facts.words * facts.eta)
    return (h, 1.0, 0.0)


class LogCir(LogRows):
    """Logarithms that move by CIR transitions."""

    @classmethod
    def settled(cls, warm: LogRows) -> Self:
        """Put topics of the natural rate at their scale, V eta; phi stays as it is."""
        if warm.block.natural:
            total = warm.block.shape[0] * warm.block.prior
            warm.log_g += math.log(total) - log_sums(warm.log_g)
        return super().settled(warm)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make one CIR transition of length ``h`` with shapes eta + N_kw."""
        kappa = None
        if self.block.natural:
            ratio = totals(statistics, self.block) * exp(-log_sums(self.log_g))
            kappa = np.minimum(1.0 + ratio, 1e30)
        transition(
            key,
            self.log_g,
            shapes(statistics, self.block),
            stream=self.block.stream,
            h=h,
            threads=self.threads,
            kappa=kappa,
        )


class Cir(RowsOrLogs):
    """Rows that move by CIR transitions."""

    logs = LogCir

    @classmethod
    def settled(cls, warm: Rows) -> Self:
        """Put topics of the natural rate at their scale, V eta; phi stays as it is."""
        if warm.block.natural:
            v, k = warm.block.shape
            total = v * warm.block.prior
            warm.g[:, :k] *= (total / warm.sums[:k]).astype(np.float32)
            warm.sums[:] = warm.g.sum(axis=0, dtype=np.float64)
        return super().settled(warm)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make one CIR transition of length ``h`` with shapes eta + N_kw; exact for every ``h``."""
        kernel = core.simplex_scir_natural if self.block.natural else core.simplex_scir
        kernel(**self.arguments(key, statistics), h=h)


class LazyCir(LazyRows):
    """Rows that move by CIR transitions when they are read."""

    def _step_all(self, **arguments: Any) -> None:
        core.simplex_scir(**arguments)

    def _step_some(self, **arguments: Any) -> None:
        core.simplex_scir_rows(**arguments)
