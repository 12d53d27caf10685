"""Collapsed Gibbs: topics are integrated out, and phi is their mean given the tokens' topics.

(eta + n_kw) / (V eta + n_k): Griffiths and Steyvers (2004), eq. (6). Nothing is drawn here; the
documents' kernel is the sampler (`pysgrld.models.lda_collapsed`).
"""

from __future__ import annotations

import math

from pysgrld.samplers import _state
from pysgrld.types import Block, Key, State, Statistics

init = _state.start_rows


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """G <- eta + n; ``h`` plays no part."""
    del h
    return _state.step_rows("relax", key, state, stats, block, math.inf, threads)
