"""Samplers of gamma shape parameters r_k, which have the prior Gamma(gamma0 / K, 1/c0).

The shapes are r of deep LDA's top layer, or a learned alpha of LDA.

Given X_k tables and the sum Q of the documents' q, r_k is Gamma(gamma0/K + X_k, 1/(c0 + Q)) (Zhou,
Cong and Chen 2016). With minibatches, shapes take a preconditioned Langevin step towards that
distribution, for every sampler of the topics (Cong et al. 2017, eq. 17 and 19). With full-batch
Gibbs sampling, r_k is drawn from it, and gamma0 and c0 are drawn, too.

Arrays: ``r`` (Kp,) float64; ``m`` (1,) and ``updates`` (1,), the running scale of Q; ``gamma0``,
``c0`` (1,). A block's ``prior`` is gamma0, its ``hyper`` (c0, e1, f1, e2, f2), or (c0,) if gamma0
and c0 are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import exp, normals
from pysgrld.core.restore import check_prior
from pysgrld.errors import CheckpointError
from pysgrld.samplers.sampler import SamplerSettings
from pysgrld.samplers.state import BlockState, Counts, TopicStep, update_scale
from pysgrld.types import RUNNING, Block, Doubles, Floats, Int32s, Int64s, Key, Schedule

#: Minimum of a gamma shape. At a shape of 0, a step would have no noise.
LEAST = 1e-30


@dataclass(frozen=True)
class ShapesSettings(SamplerSettings):
    """Settings that a model chooses for the samplers of gamma shapes.

    Attributes
    ----------
    weight : Schedule
        Weight of a minibatch in the running scale of steps.
    longest : float
        Longest step of shapes with their own step size; 0 if their step size depends on the topics'.
    """

    weight: Schedule = RUNNING
    longest: float = 0.0


class Shapes(BlockState[Counts]):
    """Gamma shape parameters r_k that are updated by Langevin steps."""

    names = ("r", "m", "updates", "gamma0", "c0")
    of_topics = "r"
    r: Doubles
    m: Doubles
    updates: Int64s
    gamma0: Doubles
    c0: Doubles

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Counts]:
        """Create a state with each shape r_k at its prior mean; nothing is drawn."""
        del key
        k = block.shape[1]
        r = np.zeros(padded_width(k))
        r[:k] = block.prior / (k * block.hyper[0])
        gamma0, c0 = np.array([block.prior]), np.array([block.hyper[0]])
        return WarmShapes(
            block,
            threads,
            cls,
            r=r,
            m=np.zeros(1),
            updates=np.zeros(1, np.int64),
            gamma0=gamma0,
            c0=c0,
        )

    @property
    def _draws_prior(self) -> bool:
        """True if gamma0 and c0 are drawn, not fixed."""
        return False

    def check(self) -> None:
        """Check the gamma shapes r_k and their prior in a checkpoint.

        Raises
        ------
        CheckpointError
            If shapes are not positive, or fixed parameters of the prior differ from the run's.
        """
        check_prior(f"{self.block.name}.r", self.r[: self.block.shape[1]])
        for name, values, fixed in (
            ("gamma0", self.gamma0, self.block.prior),
            ("c0", self.c0, self.block.hyper[0]),
        ):
            if self._draws_prior:
                check_prior(f"{self.block.name}.{name}", values)
            elif (values != fixed).any():
                raise CheckpointError(
                    f"array '{self.block.name}.{name}' of the checkpoint has the value "
                    f"{values[0]:g}, but the prior of this run has {fixed:g}"
                )

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return the vector of shapes r, (Kp,) float32."""
        del words
        return np.where(self.r > 0, np.maximum(self.r, LEAST), 0.0).astype(np.float32)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make a Langevin step of all gamma shapes r.

        r <- |r + (h/M) (gamma0/K + X - r (c0 + Q)) + sqrt(2 h r / M) z|, M the running mean of Q.
        """
        k, purpose = self.block.shape[1], core.Purpose.shape_noise
        ordinals = np.arange(2 * k, dtype=np.int64)
        entities = np.full(2 * k, self.block.stream, np.int64)
        u = core.uniforms(entities, ordinals, key.seed, key.chain, purpose, key.step)
        self._move(statistics, h, normals(u[:k], u[k:]))

    def _move(self, counts: Counts, h: float, z: Doubles) -> None:
        k = self.block.shape[1]
        r, q = self.r[:k], counts.rate
        x = counts.counts[0, :k] * counts.factor
        pace = h / update_scale(self.m, self.updates, np.array([q]), self.block.settings.weight)[0]
        drift = self.gamma0[0] / k + x - r * (self.c0[0] + q)
        self.r[:k] = np.maximum(np.abs(r + pace * drift + np.sqrt(2.0 * pace * r) * z), LEAST)

    def step_size(self, topic_step: TopicStep, statistics: Counts) -> float:
        """Return the step size of the gamma shapes, which depends on the topics' step size h.

        The step size is min(1, h * level) * B/D. Shapes are one vector for the whole corpus. With
        the factor B/D they move as much as topics do, and the noise of minibatches does not move
        them much. The factor ``statistics.level`` is omitted if steps are relative, and in the
        warm-up; published settings omit B/D.

        A learned alpha has its own step size for every sampler of topics: 0 in the warm-up, so that
        no topic dies before it is formed, then B/D, at most ``longest``. The posterior variance of
        alpha_k is 1/X_k of the square of alpha_k, with X_k tables in the corpus; with the step size
        B/D, noise of minibatches adds half of this variance.
        """
        if longest := self.block.settings.longest:
            return 0.0 if topic_step.warm else min(longest, topic_step.share)
        h = (
            topic_step.h
            if topic_step.warm or topic_step.relative
            else min(1.0, topic_step.h * statistics.level)
        )
        return h if topic_step.published else h * topic_step.share


class WarmShapes(Shapes):
    """Gamma shapes during the noise-free warm-up."""

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Move the gamma shapes without noise: r <- |r + (h/M) (gamma0/K + X - r (c0 + Q))|.

        M is the running scale of steps; X and Q are the sufficient statistics.
        """
        del key
        self._move(statistics, h, np.zeros(self.block.shape[1]))


Shapes.warm_up = WarmShapes


class ConjugateShapes(Shapes):
    """Gamma shapes that are drawn from their conditional distribution, given the whole corpus."""

    @property
    def _draws_prior(self) -> bool:
        return len(self.block.hyper) > 1

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Draw the prior's c0 and gamma0, then the shapes r; the step size ``h`` is unused."""
        del h
        k = self.block.shape[1]
        r, q, gamma0, c0 = self.r, statistics.rate, self.gamma0, self.c0
        x = np.round(statistics.counts[0, :k] * statistics.factor).astype(np.int64)
        if self._draws_prior:
            _, e1, f1, e2, f2 = self.block.hyper
            c0[:] = self._gammas(key, 0, e2 + gamma0) / (f2 + r[:k].sum())
            shape, purpose = np.full(k, gamma0[0] / k), core.Purpose.shape_gibbs
            seats = core.tables(n=x, shape=shape, **key._asdict(), purpose=purpose)
            rate = f1 + math.log1p(q / c0[0])
            gamma0[:] = self._gammas(key, 1, np.array([e1 + seats.sum()])) / rate
        r[:k] = np.maximum(self._gammas(key, 2, gamma0[0] / k + x) / (c0[0] + q), LEAST)

    def _gammas(self, key: Key, which: int, shape: Doubles) -> Doubles:
        """Draw Gamma(shape, 1) variates, by infinitely long CIR transitions of logarithms."""
        log_g = np.zeros((1, len(shape)))
        core.simplex_scir_log(
            log_g=log_g,
            shape=shape.astype(np.float64)[None, :],
            h=math.inf,
            **key._asdict(),
            stream=self.block.stream + which + 1,
            threads=1,
        )
        g: Doubles = exp(log_g[0])
        return g
