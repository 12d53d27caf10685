"""Global samplers: how topics move, given the statistics of a minibatch.

Adding one is a kernel, a module beside this file with ``init`` and ``step``, and a row here.
"""

from __future__ import annotations

from pysgrld.samplers import _lazy, _state, gibbs, scir, sgrld
from pysgrld.samplers._lazy import DENSE
from pysgrld.samplers._lazy import start as lazy
from pysgrld.samplers._state import FLOAT_ETA, add_phi
from pysgrld.samplers.warm_up import relax
from pysgrld.types import Block, Floats, Int32s, Key, Sampler, State

__all__ = ["DENSE", "FLOAT_ETA", "SAMPLERS", "add_phi", "lazy", "look", "relax"]

SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler("scir", "stochastic Cox-Ingersoll-Ross (Baker et al. 2018)", "simplex", False,
                scir.init, scir.step, _state.rows, _lazy.catch_up),
        Sampler("sgrld", "stochastic-gradient Riemannian Langevin (Patterson & Teh 2013)", "simplex",
                False, sgrld.init, sgrld.step, _state.rows),
        Sampler("gibbs", "blocked Gibbs over the whole corpus", "simplex", True,
                gibbs.init, gibbs.step, _state.rows),
    )
}  # fmt: skip


def look(
    sampler: Sampler, key: Key, state: State, words: Int32s | None, block: Block, threads: int, *,
    warm: bool,
) -> Floats:  # fmt: skip
    """Phi of ``words``, all where None, as of now; never changes the state.

    Rows that were left behind are brought up to date in a copy: by noise, or where ``warm`` by the
    mean of it. ``key.step`` is the number of iterations done.
    """
    if "last" in state:
        state, words = _lazy.look(key, state, words, block, threads, warm=warm), None
    return sampler.rows(state, words, block, threads)
