"""Lazy rows: a word's row is brought up to date only when the word is next read.

CIR transitions of constant shape compose exactly, and a word that is absent from a minibatch has
shape eta in every topic: all the steps that it missed are one step of their total length, drawn
when the word is next seen. An iteration costs what its words cost, whatever the vocabulary. The
mean of the transition, which the noise-free warm-up moves by, composes too.

To the state of rows (`_state`) come ``now`` (1,) float64, the running time: the sum of all step
lengths; and ``last`` (V,) float64, the value of it up to which a row is current. ``sums`` becomes
the conditional mean of s_k given the values last drawn: every row relaxes alike, so over a step

    E[s_k] <- E[s_k] e^-h + V eta (1 - e^-h)

and a row that is drawn adds its new value minus its expected one. This is the one approximation:
the relative error of s_k, common to all words of a topic, is about 1/sqrt(s_k). It is kept small
and forgotten: while some topic is below `DENSE`, all rows are stepped, and every `RENEW` iterations
all rows are brought up to date, after which ``sums`` are the sums.
"""

from __future__ import annotations

import numpy as np

from pysgrld.core import core
from pysgrld.samplers import _state
from pysgrld.types import Block, Doubles, Int32s, Int64s, Key, State, Statistics

#: Smallest s_k whose conditional mean will do: three per cent of error.
DENSE = 1000.0
#: Iterations after which no row is left behind: rounding and missed noise of the sums start anew.
RENEW = 1000

_work = core.Workspace()


def start(state: State) -> State:
    """Rows that are all current, and may be left behind from here on."""
    return state | {"last": np.zeros(len(state["g"])), "now": np.zeros(1)}


def catch_up(
    key: Key, state: State, words: Int32s | None, block: Block, threads: int, *, warm: bool
) -> State:
    """Bring the rows of ``words``, all where None, up to date, in place, before they are read."""
    if words is None or key.step % RENEW == 0 or _some_small(state, block):
        words = np.flatnonzero(state["last"] < state["now"]).astype(np.int32)
    lengths = state["now"] - state["last"][words]
    _step_rows("relax" if warm else "scir", key, state, words, lengths, block, threads,
               purpose=core.Purpose.catch_up_pass)  # fmt: skip
    state["last"][words] = state["now"]
    return state


def look(
    key: Key, state: State, words: Int32s | None, block: Block, threads: int, *, warm: bool
) -> State:
    """Copy the rows of ``words``, all where None, up to date; the state stays as it is.

    The draws have a purpose of their own. ``sums`` of the copy are corrected by what it drew, so
    those of a copy of all rows are its sums.
    """
    if words is None:
        words = np.arange(len(state["g"]), dtype=np.int32)
    copy = {"g": state["g"][words], "sums": state["sums"].copy()}
    lengths = state["now"] - state["last"][words]
    _step_rows("relax" if warm else "scir", key, copy, words, lengths, block, threads,
               purpose=core.Purpose.look_pass, packed=True)  # fmt: skip
    return copy


def step(
    kernel: str, key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int
) -> State:
    """Step the rows of the minibatch, which must be current; the others are left behind.

    All rows are stepped while a topic is small, which `catch_up` has prepared.
    """
    v, k = block.shape
    last, now, sums = state["last"], state["now"], state["sums"]
    if _some_small(state, block) and (last == now).all():
        _state.step_rows(kernel, key, state, stats, block, h, threads)
        now += h
        last[:] = now
        return state
    eta = float(np.float32(block.prior))  # as the kernel knows it
    sums[:k] += (v * eta - sums[:k]) * -np.expm1(-h)
    lengths = np.full(len(stats.rows), h)
    _step_rows(kernel, key, state, stats.rows, lengths, block, threads, counts=stats.counts,
               factor=stats.factor, purpose=core.Purpose.scir_pass)  # fmt: skip
    now += h
    last[stats.rows] = now
    return state


def _some_small(state: State, block: Block) -> bool:
    return bool(state["sums"][: block.shape[1]].min() < DENSE)


def _step_rows(
    kernel: str, key: Key, state: State, words: Int32s, lengths: Doubles, block: Block,
    threads: int, *, purpose: core.Purpose, counts: Int64s | None = None, factor: float = 0.0,
    packed: bool = False,
) -> None:  # fmt: skip
    """Step each row by its own length, 0 or more, and correct the sums, in place."""
    getattr(core, f"simplex_{kernel}_rows")(
        g=state["g"],
        sums=state["sums"],
        topics=block.shape[1],
        eta=block.prior,
        rows=words,
        lengths=lengths,
        counts=counts,
        factor=factor,
        packed=packed,
        purpose=purpose,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        stream=block.stream,
        work=_work,
        threads=threads,
    )
