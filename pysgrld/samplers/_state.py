"""State of a matrix of simplexes, in its two forms, and what all simplex samplers do with it.

*Rows*: ``g`` (V, Kp) float32 unnormalised, ``sums`` (Kp,) float64. The working form, which `_lazy`
extends.

*Log*: ``log_g`` (V, K) float64. A Gamma(0.01) variate is below the smallest float32 with
probability 0.36. For training that is harmless down to eta = 0.01: a cell flushed to zero and the
same cell kept exactly have the same next state up to events of probability below 1e-38. Below that,
and where the sparse tail is itself the question, samplers that explore it keep logarithms. This
rule is stated here and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pysgrld.core import core, padded
from pysgrld.types import Block, Doubles, Floats, Int32s, Key, State, Statistics

#: Smallest eta for which float32 rows are exact enough.
FLOAT_ETA = 0.01

_work = core.Workspace()


def start_rows(key: Key, block: Block, threads: int) -> State:
    """Start ``g`` at Gamma(1) draws times its expected scale, tokens / (K V), or 1 if unknown."""
    v, k = block.shape
    state: State = {
        "g": core.zeros(v, padded(k), "float32"),
        "sums": np.zeros(padded(k)),
    }
    core.simplex_start(
        **state,
        topics=k,
        scale=start_scale(block),
        seed=key.seed,
        chain=key.chain,
        stream=block.stream,
        work=_work,
        threads=threads,
    )
    return state


def start_log(key: Key, block: Block, threads: int) -> State:
    """Start ``log_g`` at the logarithms of what `start_rows` draws."""
    g = start_rows(key, block, threads)["g"][:, : block.shape[1]]
    return {"log_g": np.log(np.maximum(g, np.finfo(np.float32).tiny).astype(np.float64))}


def start_scale(block: Block) -> float:
    """Scale at which topics will live: their mean count per word, never below the prior."""
    v, k = block.shape
    return max(block.prior, block.mass / (v * k)) if block.mass else 1.0


def step_rows(kernel: str, key: Key, state: State, stats: Statistics, block: Block, h: float,
              threads: int) -> State:  # fmt: skip
    """One step of all rows by the kernel ``simplex_<kernel>``, in place."""
    rows = {name: state[name] for name in ("g", "sums")}  # a state may hold more
    step_all(kernel, key, rows, stats, block, threads, h=h)
    return state


def step_all(
    kernel: str, key: Key, arrays: State, stats: Statistics, block: Block, threads: int,
    **more: Any,
) -> State:  # fmt: skip
    """The same with the state's ``arrays`` and the arguments that only this kernel has."""
    getattr(core, f"simplex_{kernel}")(
        **arrays,
        **more,
        topics=block.shape[1],
        eta=block.prior,
        rows=stats.rows,
        counts=stats.counts,
        factor=stats.factor,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        stream=block.stream,
        work=_work,
        threads=threads,
    )
    return arrays


def totals(stats: Statistics, block: Block) -> Doubles:
    """N_k = sum over the words of N_kw, (K,): an exact sum of integers."""
    counts: Doubles = stats.counts.sum(axis=0)[: block.shape[1]] * stats.factor
    return counts


def shapes(stats: Statistics, block: Block) -> Doubles:
    """a_kw = eta + N_kw as a dense (V, K) matrix."""
    v, k = block.shape
    a = np.full((v, k), block.prior)
    a[stats.rows] += stats.counts[:, :k] * stats.factor
    return a


def add_rows(total: Doubles, state: State, block: Block, threads: int) -> None:
    """Add phi, (V, Kp), of rows to ``total``: of lazy ones, what is expected of them now."""
    core.simplex_add_phi(
        total=total,
        g=state["g"],
        sums=state["sums"],
        topics=block.shape[1],
        eta=block.prior,
        lengths=state["now"] - state["last"] if "last" in state else None,
        threads=threads,
    )


def rows(state: State, words: Int32s | None, block: Block, threads: int) -> Floats:
    """Phi of ``words`` (all where None), (R, Kp) float32, floored so that no token lacks a topic."""
    k = block.shape[1]
    if "g" in state:
        return core.simplex_phi(
            g=state["g"], sums=state["sums"], topics=k, rows=words, threads=threads
        )
    log_g = state["log_g"]
    top = log_g.max(axis=0)
    log_sums = top + np.log(np.exp(log_g - top).sum(axis=0))
    chosen = log_g if words is None else log_g[words]
    phi = core.zeros(len(chosen), padded(k), "float32")
    phi[:, :k] = np.maximum(np.exp(chosen - log_sums), core.PHI_FLOOR)
    return phi
