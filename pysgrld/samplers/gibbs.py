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

from pysgrld.core import core, padded
from pysgrld.samplers.log_rows import FLOAT_ETA, LogRows, RowsOrLogs, shapes, transition
from pysgrld.samplers.rows import Rows
from pysgrld.samplers.state import Counts, TopicLaw
from pysgrld.types import Block, Floats, Key


class LogConjugate(LogRows):
    """Topics of blocked Gibbs sampling, stored as logarithms.

    Each step draws all topics again.
    """

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional distribution; the step size ``h`` is unused."""
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
    """Topics of blocked Gibbs sampling, stored as unnormalised rows.

    Each step draws all topics again.
    """

    logs = LogConjugate
    held = ("g",)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw all topics from their conditional distribution; the step size ``h`` is unused."""
        del h
        self.step_by(core.simplex_scir, key, statistics, h=math.inf)


def draw(law: TopicLaw, block: Block, threads: int) -> Floats:
    """Draw all topics from their conditional distribution Dirichlet(eta + n_k).

    Parameters
    ----------
    law : TopicLaw
    block : Block
        The topics; their prior eta is at least `FLOAT_ETA`.
    threads : int
        Number of threads; the draw does not depend on it.

    Returns
    -------
    (V, Kp) float32
    """
    v, across = block.shape[0], padded(block.shape[1])
    g = core.zeros(v, across, "float32")
    state = Conjugate(block, threads, g=g, sums=np.zeros(across))
    state.step(law.key, law.counts, math.inf)
    return state.rows()


class Mean(Rows):
    """Topics of collapsed Gibbs sampling, stored as their expectation given all tokens' topics."""

    _statistics: Counts | None = None  # counts of the last step

    def law(self, key: Key) -> TopicLaw | None:
        """Return the distribution from which `drawn` draws topics, or None if it uses logarithms."""
        if self.block.prior < FLOAT_ETA or self._statistics is None:
            return None
        return TopicLaw(key, self._statistics)

    def drawn(self, key: Key) -> Floats:
        """Draw all topics from their conditional distribution Dirichlet(eta + n_k), (V, Kp)."""
        law = self.law(key)
        return (
            self._drawn_by_logarithms(key) if law is None else draw(law, self.block, self.threads)
        )

    def _drawn_by_logarithms(self, key: Key) -> Floats:
        v, k = self.block.shape
        log_g = np.zeros((v, k))
        shape = self.g[:, :k].astype(np.float64)
        transition(key, log_g, shape, stream=self.block.stream, h=math.inf, threads=self.threads)
        return LogConjugate(self.block, self.threads, log_g=log_g).rows()

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Set the rows g to eta plus the counts n; the step size ``h`` is unused."""
        del h
        self.step_by(core.simplex_relax, key, statistics, h=math.inf)
        self._statistics = statistics

    def as_it_stands(self) -> Self:
        """Return a copy that does not change while this state is updated."""
        copy = super().as_it_stands()
        if self._statistics is not None:
            # Copy the counts, because the next sweep overwrites them.
            counts = self._statistics.counts.copy()
            copy._statistics = self._statistics._replace(counts=counts)
        return copy
