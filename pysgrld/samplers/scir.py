"""SCIR: stochastic Cox-Ingersoll-Ross (Baker, Fearnhead, Fox, Nemeth 2018, section 2).

Kernel: cpp/kernels/simplex_scir.cpp (rows), simplex_scir_log.cpp (log state).
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core import core
from pysgrld.samplers import _lazy, _state
from pysgrld.types import Block, Key, State, Statistics


def init(key: Key, block: Block, threads: int) -> State:
    """Start rows, or log rows where eta is too small for float32."""
    if block.prior < _state.FLOAT_ETA:
        return _state.start_log(key, block, threads)
    return _state.start_rows(key, block, threads)


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """One CIR transition of length ``h`` with shapes eta + N_kw; exact for every ``h``, infinity too."""
    if "last" in state:
        return _lazy.step("scir", key, state, stats, block, h, threads)
    if "g" in state:
        return _state.step_rows("scir", key, state, stats, block, h, threads)
    return step_log(key, state, _state.shapes(stats, block), block.stream, h, threads)


def step_log(
    key: Key, state: State, shape: np.ndarray, stream: int, h: float, threads: int
) -> State:
    """The transition on log state with a given shape per cell, (V, K) float64."""
    core.simplex_scir_log(
        **state,
        shape=shape,
        h=h,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        stream=stream,
        threads=threads,
    )
    return state


def refresh_scale(key: Key, state: State, stats: Statistics, block: Block) -> State:
    """Redraw s_k ~ Gamma(V eta + N_k) given the counts, log state only.

    Between the documents' step and the transition this makes full-batch SCIR an exact Markov chain
    on (phi, z): without it s_k remembers earlier counts. On real corpora the effect is of relative
    order 1/sqrt(N_k) and invisible; the exactness tests need it.
    """
    total = _state.shapes(stats, block).sum(axis=0, keepdims=True)
    log_s = np.zeros_like(total)
    step_log(key, {"log_g": log_s}, total, block.stream + 128, math.inf, 1)
    log_g = state["log_g"]
    top = log_g.max(axis=0)
    state["log_g"] = log_g - (top + np.log(np.exp(log_g - top).sum(axis=0))) + log_s
    return state
