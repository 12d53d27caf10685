"""Global samplers: how topics move, given the statistics of a minibatch.

Adding one is a kernel, a module beside this file with ``init`` and ``step``, and a row here.
"""

from __future__ import annotations

from pysgrld.samplers import (
    _lazy,
    _state,
    collapsed,
    dirichlet,
    gibbs,
    scir,
    sgrld,
    shapes,
    smld,
    tlasgr,
)
from pysgrld.samplers._lazy import DENSE
from pysgrld.samplers._lazy import start as lazy
from pysgrld.samplers._state import FLOAT_ETA
from pysgrld.samplers.warm_up import relax
from pysgrld.types import WEIGHTS, Block, Doubles, Floats, Int32s, Key, Parts, Sampler, State

__all__ = ["DENSE", "FLOAT_ETA", "SAMPLERS", "add_phi", "lazy", "read", "sampler_of"]

SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler("scir", "stochastic Cox-Ingersoll-Ross (Baker et al. 2018)", "simplex", False,
                scir.init, scir.step, relax, _state.rows, _lazy.catch_up),
        Sampler("sgrld", "stochastic-gradient Riemannian Langevin (Patterson & Teh 2013)", "simplex",
                False, sgrld.init, sgrld.step, relax, _state.rows),
        Sampler("tlasgr", "topic- and layer-adaptive Riemannian steps (Cong et al. 2017)", "simplex",
                False, tlasgr.init, tlasgr.adaptive, relax, _state.rows,
                begin=tlasgr.begin_adaptive),
        Sampler("tlfsgr", "the same with one scale for all (Cong et al. 2017)", "simplex", False,
                tlasgr.init, tlasgr.fixed, relax, _state.rows, begin=tlasgr.begin_fixed),
        Sampler("smld", "mirrored Langevin (Hsieh et al. 2018)", "simplex", False,
                smld.init, smld.step, relax, smld.rows, begin=smld.begin, relative=False),
        Sampler("smld-approx", "mirrored Langevin, 1 + y for exp(y) (Hsieh et al. 2018)", "simplex",
                False, smld.init, smld.step_approximate, relax, smld.rows_approximate,
                begin=smld.begin_approximate, relative=False),
        Sampler("gibbs", "blocked Gibbs over the whole corpus", "simplex", True,
                gibbs.init, gibbs.step, relax, _state.rows),
        Sampler("cgs", "collapsed Gibbs over the whole corpus (Griffiths & Steyvers 2004)",
                "simplex", True, collapsed.init, collapsed.step, relax, _state.rows),
        Sampler("ovb", "online variational Bayes (Hoffman et al. 2010)", "simplex", False,
                dirichlet.init, dirichlet.step, relax, _state.rows, weights=dirichlet.weights,
                draws=False),
        Sampler("hsvg", "hybrid stochastic variational-Gibbs (Mimno et al. 2012)", "simplex", False,
                dirichlet.init, dirichlet.step, relax, _state.rows, weights=dirichlet.weights,
                draws=False),
    )
}  # fmt: skip

#: Gamma shapes move by samplers of their own: preconditioned Langevin, or conjugate draws.
SHAPES = Sampler("shapes", "gamma shapes by Langevin steps (Cong et al. 2017)", "positive", False,
                 shapes.init, shapes.step, shapes.relax, shapes.rows)  # fmt: skip
CONJUGATE_SHAPES = Sampler("shapes-gibbs", "gamma shapes given the whole corpus", "positive", True,
                           shapes.init, shapes.draw, shapes.relax, shapes.rows)  # fmt: skip


def sampler_of(algo: str, block: Block) -> Sampler:
    """What moves a block where ``algo`` moves the topics."""
    topics = SAMPLERS[algo]
    if block.geometry == topics.geometry:
        return topics
    return CONJUGATE_SHAPES if topics.full_batch else SHAPES


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


def read(
    sampler: Sampler, key: Key, state: State, words: Int32s | None, block: Block, threads: int, *,
    warm: bool,
) -> Parts:  # fmt: skip
    """All that documents read of a block, by name: `look`, and weights where the sampler has any."""
    parts = {block.name: look(sampler, key, state, words, block, threads, warm=warm)}
    if sampler.weights:
        parts[WEIGHTS] = sampler.weights(state, words, block, threads)
    return parts


def add_phi(sampler: Sampler, total: Doubles, state: State, block: Block, threads: int) -> None:
    """Add phi of all words, (V, Kp), to ``total``: of lazy rows, what is expected of them now."""
    if "g" in state:
        _state.add_rows(total, state, block, threads)
    else:
        total += sampler.rows(state, None, block, threads)
