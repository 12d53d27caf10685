"""Variational Bayes: topics are Dirichlet(lambda_k), and lambda moves by natural gradients.

Hoffman, Blei and Bach (2010), algorithm 2: lambda <- (1 - rho) lambda + rho (eta + N), the mean of a
CIR transition of length -log(1 - rho), hence the kernel of the warm-up. What documents read is
exp(E log phi), not the mean of phi: cpp/kernels/dirichlet.cpp.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core import core, padded
from pysgrld.samplers import _state
from pysgrld.types import Block, Floats, Int32s, Key, State, Statistics

#: Lambda starts at Gamma(100) / 100, mean 1, standard deviation 0.1: as Hoffman's own code does.
START_SHAPE = 100.0

_work = core.Workspace()


def init(key: Key, block: Block, threads: int) -> State:
    """Start ``g``, which is lambda, near 1."""
    v, k = block.shape
    state: State = {"g": core.zeros(v, padded(k), "float32"), "sums": np.zeros(padded(k))}
    core.dirichlet_start(
        **state,
        topics=k,
        shape=START_SHAPE,
        seed=key.seed,
        chain=key.chain,
        stream=block.stream,
        work=_work,
        threads=threads,
    )
    return state


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """One step of weight rho_t = ``h``, at most 1."""
    length = -math.log1p(-h) if h < 1.0 else math.inf
    return _state.step_rows("relax", key, state, stats, block, length, threads)


def weights(state: State, words: Int32s | None, block: Block, threads: int) -> Floats:
    """exp(psi(lambda_kw) - psi(sum_w lambda_kw)), (R, Kp), a word's over a factor of its own.

    Rows over words are not normalised: the factor exp(-psi(sum_w lambda_kw)) of a topic matters.
    """
    return core.dirichlet_weights(
        g=state["g"], sums=state["sums"], topics=block.shape[1], rows=words, threads=threads
    )
