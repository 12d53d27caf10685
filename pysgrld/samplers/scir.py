"""SCIR: stochastic Cox-Ingersoll-Ross (Baker, Fearnhead, Fox, Nemeth 2018, section 2).

Kernel: cpp/kernels/simplex_scir.cpp (rows), simplex_scir_log.cpp (log state).

A block may ask for the *natural rate*, which is ours: kappa = 1 + N_k/s_k, frozen for the step,

    dg = (eta + N - kappa g) dt + sqrt(2 g) dW,  e = exp(-kappa h), c = (1 - e) / kappa

whose target is that of SGRLD, s_k ~ Gamma(V eta), without reflection and its bias: for fixed counts
phi is exact for every step, as with the paper's rate, whose s_k is about V eta + N_k. In phi such a
step goes as far as one of kappa h. Its rows cannot be lazy: kappa changes with every iteration.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core import core
from pysgrld.samplers import _lazy, _state
from pysgrld.types import Block, Doubles, Key, State, Statistics


def init(key: Key, block: Block, threads: int) -> State:
    """Start rows, or log rows where eta is too small for float32."""
    if block.prior < _state.FLOAT_ETA:
        return _state.start_log(key, block, threads)
    return _state.start_rows(key, block, threads)


def begin(state: State, block: Block) -> State:
    """Put topics of the natural rate at their scale, V eta; phi stays as it is."""
    if not block.natural:
        return state
    total = block.shape[0] * block.prior
    if "g" in state:
        k = block.shape[1]
        state["g"][:, :k] *= (total / state["sums"][:k]).astype(np.float32)
        state["sums"][:] = state["g"].sum(axis=0, dtype=np.float64)
    else:
        state["log_g"] += math.log(total) - _log_sums(state["log_g"])
    return state


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """One CIR transition of length ``h`` with shapes eta + N_kw; exact for every ``h``, infinity too."""
    if "last" in state:
        return _lazy.step("scir", key, state, stats, block, h, threads)
    if "g" in state:
        kernel = "scir_natural" if block.natural else "scir"
        return _state.step_rows(kernel, key, state, stats, block, h, threads)
    kappa = None
    if block.natural:
        ratio = _state.totals(stats, block) * np.exp(-_log_sums(state["log_g"]))
        kappa = np.minimum(1.0 + ratio, 1e30)
    return step_log(key, state, _state.shapes(stats, block), block.stream, h, threads, kappa)


def _log_sums(log_g: Doubles) -> Doubles:
    top = log_g.max(axis=0)
    return np.asarray(top + np.log(np.exp(log_g - top).sum(axis=0)))


def step_log(
    key: Key, state: State, shape: Doubles, stream: int, h: float, threads: int,
    kappa: Doubles | None = None,
) -> State:  # fmt: skip
    """The transition on log state: shape per cell (V, K), rate per topic (K,), 1 where None."""
    core.simplex_scir_log(
        **state,
        shape=shape,
        h=h,
        kappa=kappa,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        stream=stream,
        threads=threads,
    )
    return state


def average_rate(block: Block, tokens: float) -> float:
    """Rate of the process of an average topic: 1, or the natural 1 + N_k / s_k."""
    v, k = block.shape
    return 1.0 + tokens / (k * v * block.prior) if block.natural else 1.0


def refresh_scale(key: Key, state: State, stats: Statistics, block: Block) -> State:
    """Redraw s_k ~ Gamma(V eta + N_k) given the counts, log state only.

    Between the documents' step and the transition this makes full-batch SCIR an exact Markov chain
    on (phi, z): without it s_k remembers earlier counts. On real corpora the effect is of relative
    order 1/sqrt(N_k) and invisible; the exactness tests need it.
    """
    total = _state.shapes(stats, block).sum(axis=0, keepdims=True)
    log_s = np.zeros_like(total)
    step_log(key, {"log_g": log_s}, total, block.stream + 128, math.inf, 1)
    state["log_g"] = state["log_g"] - _log_sums(state["log_g"]) + log_s
    return state
