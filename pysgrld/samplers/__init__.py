"""Global samplers: how topics move, given the statistics of a minibatch.

Adding one is a kernel, a module beside this file with ``init`` and ``step``, and a row here.
"""

from __future__ import annotations

from pysgrld.samplers import _state, gibbs, scir, sgrld
from pysgrld.samplers._state import relax
from pysgrld.types import Sampler

__all__ = ["SAMPLERS", "relax"]

SAMPLERS: dict[str, Sampler] = {
    sampler.name: sampler
    for sampler in (
        Sampler("scir", "stochastic Cox-Ingersoll-Ross (Baker et al. 2018)", "simplex", False,
                scir.init, scir.step, _state.rows),
        Sampler("sgrld", "stochastic-gradient Riemannian Langevin (Patterson & Teh 2013)", "simplex",
                False, sgrld.init, sgrld.step, _state.rows),
        Sampler("gibbs", "blocked Gibbs over the whole corpus", "simplex", True,
                gibbs.init, gibbs.step, _state.rows),
    )
}  # fmt: skip
