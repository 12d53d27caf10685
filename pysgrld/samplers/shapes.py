"""Gamma shapes r of a top layer: r_k ~ Gamma(gamma0 / K, 1/c0), seen through tables and rates.

Given X_k tables and the sum Q of the documents' q, r_k is Gamma(gamma0/K + X_k, 1/(c0 + Q)) (Zhou,
Cong and Chen 2016). Minibatch samplers take a preconditioned Langevin step towards that, whatever
moves the topics (Cong et al. 2017, eq. 17 and 19); full-batch Gibbs draws it, and gamma0 and c0 too.

State: ``r`` (Kp,) float64; ``m`` (1,) and ``updates`` (1,) as in `tlasgr`; ``gamma0``, ``c0`` (1,).
A block's ``prior`` is gamma0, its ``hyper`` (c0, e1, f1, e2, f2).
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core import core, padded
from pysgrld.samplers.tlasgr import running
from pysgrld.types import Block, Doubles, Floats, Int32s, Key, State, Statistics

#: No shape is smaller: the square root of its noise must not vanish for good.
LEAST = 1e-30


def init(key: Key, block: Block, threads: int) -> State:
    """Start every r_k at 1/K."""
    del key, threads
    k = block.shape[1]
    r = np.zeros(padded(k))
    r[:k] = 1.0 / k
    return {
        "r": r,
        "m": np.zeros(1),
        "updates": np.zeros(1, np.int64),
        "gamma0": np.array([block.prior]),
        "c0": np.array([block.hyper[0]]),
    }


def rows(state: State, words: Int32s | None, block: Block, threads: int) -> Floats:
    """R itself, (Kp,) float32."""
    del words, block, threads
    return np.where(state["r"] > 0, np.maximum(state["r"], LEAST), 0.0).astype(np.float32)


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """R <- |r + (h/M) (gamma0/K + X - r (c0 + Q)) + sqrt(2 h r / M) z|, M the running mean of Q."""
    del threads
    k = block.shape[1]
    return _moved(state, stats, block, h, _normals(key, k, block.stream))


def relax(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """The same without noise."""
    del key, threads
    return _moved(state, stats, block, h, np.zeros(block.shape[1]))


def _moved(state: State, stats: Statistics, block: Block, h: float, z: Doubles) -> State:
    k = block.shape[1]
    r, q = state["r"][:k], stats.rate
    x = stats.counts[0, :k] * stats.factor
    pace = h / running(state, np.array([q]), block)[0]
    drift = state["gamma0"][0] / k + x - r * (state["c0"][0] + q)
    state["r"][:k] = np.maximum(np.abs(r + pace * drift + np.sqrt(2.0 * pace * r) * z), LEAST)
    return state


def draw(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """Conjugate draws of c0, gamma0 and r, in this order; ``h`` plays no part."""
    del h, threads
    k = block.shape[1]
    _, e1, f1, e2, f2 = block.hyper
    r, q, gamma0 = state["r"], stats.rate, state["gamma0"]
    x = np.round(stats.counts[0, :k] * stats.factor).astype(np.int64)
    state["c0"][:] = _gammas(key, block, 0, e2 + gamma0) / (f2 + r[:k].sum())
    seats = core.tables(
        n=x,
        shape=np.full(k, gamma0[0] / k),
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        purpose=core.Purpose.shape_gibbs,
    )
    rate = f1 + np.log1p(q / state["c0"][0])
    gamma0[:] = _gammas(key, block, 1, np.array([e1 + seats.sum()])) / rate
    r[:k] = np.maximum(_gammas(key, block, 2, gamma0[0] / k + x) / (state["c0"][0] + q), LEAST)
    return state


def _gammas(key: Key, block: Block, which: int, shape: Doubles) -> Doubles:
    """Gamma(shape, 1): a CIR transition of infinite length, on logarithms."""
    log_g = np.zeros((1, len(shape)))
    core.simplex_scir_log(
        log_g=log_g,
        shape=shape.astype(np.float64)[None, :],
        h=math.inf,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        stream=block.stream + which + 1,
        threads=1,
    )
    g: Doubles = np.exp(log_g[0])
    return g


def _normals(key: Key, k: int, stream: int) -> Doubles:
    """N(0, 1) by Box and Muller."""
    at = np.arange(2 * k, dtype=np.int64)
    u = core.uniforms(
        np.full(2 * k, stream, np.int64),
        at,
        key.seed,
        key.chain,
        core.Purpose.shape_noise,
        key.step,
    )
    z: Doubles = np.sqrt(-2.0 * np.log(u[:k])) * np.cos(2.0 * np.pi * u[k:])
    return z
