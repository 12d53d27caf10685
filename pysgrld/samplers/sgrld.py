"""SGRLD: stochastic-gradient Riemannian Langevin (Patterson and Teh 2013, eq. 10, epsilon = 2h).

Kernel: cpp/kernels/simplex_sgrld.cpp. Reflection keeps every g away from zero, so float32 rows
serve at any eta.
"""

from __future__ import annotations

from pysgrld.samplers import _state
from pysgrld.types import Block, Key, State, Statistics

init = _state.start_rows


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """G <- |g + h (eta + N - g (1 + N_k/s_k)) + sqrt(2 h g) z|, everything from the old state."""
    return _state.step_rows("sgrld", key, state, stats, block, h, threads)
