"""SMLD: stochastic mirrored Langevin dynamics (Hsieh, Kavis, Rolland and Cevher 2018, section 5.2).

Kernel: cpp/kernels/simplex_smld.cpp. The state is dual, ``y`` (V, Kp) float32, y = log(phi / phi of
the last word), with ``log_sums`` (Kp,) float64, the logarithms of the sums of exp(y). Noise is the
same everywhere, so a word that a topic does not use moves no faster than one that it does: its tail
is explored in a time of order 1/eta^2, which no run has.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pysgrld.core import core
from pysgrld.samplers import _state
from pysgrld.types import Block, Floats, Int32s, Key, State, Statistics

init = _state.start_rows


def begin(state: State, block: Block) -> State:
    """Leave the rows for dual coordinates."""
    k = block.shape[1]
    log_g = np.log(np.maximum(state["g"][:, :k], np.finfo(np.float32).tiny).astype(np.float64))
    y = core.zeros(len(state["g"]), state["g"].shape[1], "float32")
    y[:, :k] = log_g - log_g[-1]
    return {"y": y, "log_sums": _log_sums(np.exp(y[:, :k].astype(np.float64)), y.shape[1])}


def begin_approximate(state: State, block: Block) -> State:
    """The same where 1 + y stands for exp(y)."""
    k = block.shape[1]
    y = core.zeros(len(state["g"]), state["g"].shape[1], "float32")
    y[:-1, :k] = state["g"][:-1, :k] / state["g"][-1, :k] - 1.0
    weights = np.maximum(1.0 + y[:, :k].astype(np.float64), 1e-8)
    return {"y": y, "log_sums": _log_sums(weights, y.shape[1])}


def _log_sums(weights: np.ndarray, columns: int) -> np.ndarray:
    log_sums = np.zeros(columns)
    log_sums[: weights.shape[1]] = np.log(weights.sum(axis=0))
    return log_sums


def _step(
    key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int, *,
    approximate: bool,
) -> State:  # fmt: skip
    """Y <- y + h (eta + N - (V eta + N.) phi) + sqrt(2h) z; the last word's stays 0."""
    totals = _state.totals(stats, block) + block.shape[0] * block.prior
    return _state.step_all(
        "smld", key, state, stats, block, threads, h=h, totals=totals, approximate=approximate
    )


def _rows(
    state: State, words: Int32s | None, block: Block, threads: int, *, approximate: bool
) -> Floats:
    """Phi of ``words``: of the dual coordinates, or of rows while they are not begun."""
    if "g" in state:
        return _state.rows(state, words, block, threads)
    return core.simplex_smld_phi(
        **state, topics=block.shape[1], rows=words, approximate=approximate, threads=threads
    )


step, rows = partial(_step, approximate=False), partial(_rows, approximate=False)
step_approximate = partial(_step, approximate=True)
rows_approximate = partial(_rows, approximate=True)
