"""The noise-free warm-up, whatever the sampler: the mean of the CIR transition.

Kernel: simplex_relax in cpp/kernels/simplex_common.cpp.
"""

from __future__ import annotations

import numpy as np

from pysgrld.samplers import _lazy, _state
from pysgrld.types import Block, Key, State, Statistics


def relax(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """G <- g e^-h + (eta + N)(1 - e^-h)."""
    if "last" in state:
        return _lazy.step("relax", key, state, stats, block, h, threads)
    if "g" in state:
        return _state.step_rows("relax", key, state, stats, block, h, threads)
    state["log_g"] = np.logaddexp(
        state["log_g"] - h, np.log(_state.shapes(stats, block)) + np.log(-np.expm1(-h))
    )
    return state
