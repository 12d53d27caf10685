"""Blocked Gibbs: phi_k ~ Dirichlet(eta + n_k) given the whole corpus's counts.

A CIR transition of infinite length is a fresh Gamma draw, so this is the kernel of `scir`.
"""

from __future__ import annotations

import math

from pysgrld.samplers import scir
from pysgrld.types import Block, Key, State, Statistics

init = scir.init


def step(key: Key, state: State, stats: Statistics, block: Block, h: float, threads: int) -> State:
    """Conjugate draw; ``h`` plays no part."""
    del h
    return scir.step(key, state, stats, block, math.inf, threads)
