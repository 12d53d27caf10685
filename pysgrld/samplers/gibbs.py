"""Gibbs sampling given the whole corpus's counts: blocked (``gibbs``) and collapsed (``cgs``).

Blocked: phi_k ~ Dirichlet(eta + n_k) is drawn. A CIR transition of infinite length is a fresh Gamma
draw, so the kernels of SCIR are used. Collapsed: topics are integrated out, and phi is their mean
given the tokens' topics, (eta + n_kw) / (V eta + n_k): Griffiths and Steyvers (2004), eq. (6). The
kernel of the documents is the sampler (`pysgrld.models.lda.collapsed`). When a posterior sample of
the topics is stored, it is drawn given the tokens' topics, because the means vary too little.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.samplers.log_rows import FLOAT_ETA, LogRows, RowsOrLogs, cir_transition, gamma_shapes
from pysgrld.samplers.rows import Rows
from pysgrld.samplers.state import Counts, TopicConditional
from pysgrld.types import Block, Floats, Key


class LogConjugate(LogRows):
    """Topics of blocked Gibbs sampling, stored as logarithms.

    Each step draws all topics again.
    """

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional distribution; the step size ``h`` is unused."""
        del h
        cir_transition(
            key,
            self.log_g,
            gamma_shapes(statistics, self.block),
            stream=self.block.stream,
            h=math.inf,
            threads=self.threads,
        )


class Conjugate(RowsOrLogs):
    """Topics of blocked Gibbs sampling, stored as unnormalised rows.

    Each step draws all topics again.
    """

    logs = LogConjugate
    held = ("g",)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional distribution; the step size ``h`` is unused."""
        del h
        self.step_with_kernel(core.simplex_scir, key, statistics, h=math.inf)


def draw(conditional: TopicConditional, block: Block, threads: int) -> Floats:
    """Draw all topics from their conditional distribution Dirichlet(eta + n_k).

    Parameters
    ----------
    conditional : TopicConditional
    block : Block
        The topics; their prior eta is at least `FLOAT_ETA`.
    threads : int
        Number of threads; the draw does not depend on it.

    Returns
    -------
    (V, Kp) float32
    """
    v, across = block.shape[0], padded_width(block.shape[1])
    g = core.zeros(v, across, "float32")
    state = Conjugate(block, threads, g=g, sums=np.zeros(across))
    state.step(conditional.key, conditional.counts, math.inf)
    return state.rows()


class Mean(Rows):
    """Topics of collapsed Gibbs sampling, stored as their expectation given all tokens' topics."""

    _statistics: Counts | None = None  # Token counts of the topics in the last step.

    def topic_conditional(self, key: Key) -> TopicConditional | None:
        """Return the topics' conditional distribution, if known.

        It is None before the first step, and if topics are drawn as logarithms.
        """
        if self.block.prior < FLOAT_ETA or self._statistics is None:
            return None
        return TopicConditional(key, self._statistics)

    def draw_rows(self, key: Key) -> Floats:
        """Draw all topics from their conditional distribution Dirichlet(eta + n_k), (V, Kp)."""
        conditional = self.topic_conditional(key)
        return (
            self._draw_logarithms(key)
            if conditional is None
            else draw(conditional, self.block, self.threads)
        )

    def _draw_logarithms(self, key: Key) -> Floats:
        v, k = self.block.shape
        log_g = np.zeros((v, k))
        shape = self.g[:, :k].astype(np.float64)
        cir_transition(
            key, log_g, shape, stream=self.block.stream, h=math.inf, threads=self.threads
        )
        return LogConjugate(self.block, self.threads, log_g=log_g).rows()

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Set the rows g to eta plus the counts n; the step size ``h`` is unused."""
        del h
        self.step_with_kernel(core.simplex_relax, key, statistics, h=math.inf)
        self._statistics = statistics

    def snapshot(self) -> Self:
        """Return a copy of this state, which later updates do not change."""
        copy = super().snapshot()
        if self._statistics is not None:
            # Copy the counts, because the next sweep overwrites them.
            counts = self._statistics.counts.copy()
            copy._statistics = self._statistics._replace(counts=counts)
        return copy
