"""TLASGR and TLFSGR: Riemannian steps on the simplex itself (Cong, Chen, Liu and Zhou 2017).

Kernel: cpp/kernels/simplex_tlasgr.cpp. The step size is free of units: 1 goes to the conditional
mean of a topic, 0 stays. It is divided by a running estimate M of the tokens that a topic has in the
corpus: of each topic of each layer (``tlasgr``), or one for all of them (``tlfsgr``).

To the state of rows (`_state`) come ``m``, (K,) or (1,) float64, and ``updates`` (1,) int64, how
often it was updated.
"""

from __future__ import annotations

import numpy as np

from pysgrld.samplers import _state
from pysgrld.types import Block, Doubles, Key, State, Statistics

#: Most of the way to a topic's conditional mean that a step may go: beyond 2 it would diverge.
FARTHEST = 1.9

init = _state.start_rows


def begin(state: State, block: Block, size: int) -> State:
    """Rows, with M of `size` topics unknown as yet."""
    del block
    return state | {"m": np.zeros(size), "updates": np.zeros(1, np.int64)}


def begin_adaptive(state: State, block: Block) -> State:
    """As ``tlasgr`` starts: an M for each topic."""
    return begin(state, block, block.shape[1])


def begin_fixed(state: State, block: Block) -> State:
    """As ``tlfsgr`` starts: one M."""
    return begin(state, block, 1)


def running(state: State, found: Doubles, block: Block) -> Doubles:
    """M after this minibatch, in place: the first estimate, then (1 - w) M + w found (eq. 18)."""
    m, updates = state["m"], state["updates"]
    weight = 1.0 if updates[0] == 0 else block.weight(int(updates[0]))
    m += weight * (found - m)
    updates += 1
    return m


def adaptive(
    key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int
) -> State:
    """One step of ``tlasgr`` (eq. 13 to 15, 18)."""
    counts = _state.totals(stats, block)
    return _step(key, state, stats, block, h, threads, counts, running(state, counts, block))


def fixed(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """One step of ``tlfsgr``: M is the mean over the topics of the lowest layer."""
    m = running(state, np.array([stats.level]), block)
    return _step(key, state, stats, block, h, threads, _state.totals(stats, block), m)


def _step(
    key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int,
    counts: Doubles, m: Doubles,
) -> State:  # fmt: skip
    v, k = block.shape
    totals = counts + v * block.prior
    # a topic that got nothing has its prior to go by
    steps = np.minimum(h / np.maximum(m, v * block.prior), FARTHEST / totals)
    rows = {name: state[name] for name in ("g", "sums")}
    each = np.broadcast_to(steps, (k,)).copy()
    _state.step_all("tlasgr", key, rows, stats, block, threads, steps=each, totals=totals)
    return state
