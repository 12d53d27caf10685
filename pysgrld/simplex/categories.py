"""Dirichlet posteriors from minibatched counts, by the samplers of topics.

Observations fall into d categories with unknown probabilities omega ~ Dirichlet(alpha); their
posterior Dirichlet(alpha + counts) is known, so this is where the samplers of topics are put to the
test. Every iteration sees a minibatch of observations, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pysgrld.core import core, padded
from pysgrld.errors import UsageError
from pysgrld.samplers import SAMPLERS, scir
from pysgrld.simplex.common import (
    Draws,
    Progress,
    check_alpha,
    check_counts,
    check_lengths,
    check_minibatch,
    check_schedule,
    count_minibatch,
    iterations,
    log_total,
    safe_log,
    start_rows,
)
from pysgrld.types import Block, Doubles, Int64s, Key, State, Statistics

ALGORITHMS = ("scir", "sgrld", "smld")

#: How chains move by one iteration, and where they are: log g, (d, chains), and whether its scale
#: has a meaning.
Chains = tuple[Callable[[Key, Statistics, float], None], Callable[[], tuple[Doubles, bool]]]


def sample(
    counts: npt.ArrayLike,
    *,
    alpha: float | Sequence[float] = 0.1,
    algo: str = "scir",
    step_size: float | Sequence[float] = 0.1,
    minibatch: int | None = None,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Draws:
    """Sample the posterior of category probabilities by SCIR, SGRLD or SMLD.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category.
    alpha : float, or (d,) floats
        Dirichlet prior, > 0: one for all categories, or with ``scir`` one for each.
    algo : {"scir", "sgrld", "smld"}
        ``scir``: on log state in double precision; exact with all observations, for every step.
        ``sgrld``: expanded-mean Langevin with reflection; biased where categories are sparse.
        ``smld``: mirrored Langevin (Hsieh et al. 2018), with all observations that paper's MLD; the
        last category is the reference. Stable while h (sum of counts and alpha) < 4; a category
        without observations needs a time of order 1/alpha^2 to be explored.
    step_size : float or (A, B, C)
        Diffusion time h (the SGRLD paper's epsilon is 2h), constant or A (1 + t/B)^(-C).
    minibatch : int, optional
        Observations per iteration, drawn with replacement; by default all of them, once each.
    samples, burn_in, thin : int
        Draws to keep, iterations before the first, and iterations from one to the next.
    chains : int
        Independent chains.
    start : (d,) positive numbers, optional
        Unnormalised starting point of every chain; by default Gamma(1) draws.
    seed : int
    progress : callable (part), optional
        Told now and then what part of the iterations is done; an exception of its ends them.

    Returns
    -------
    Draws

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.

    Examples
    --------
    >>> from pysgrld import simplex
    >>> draws = simplex.sample([90, 5, 5, 0], alpha=0.5, samples=2000, chains=8, step_size=1.0)
    >>> bool(abs(draws.omega[..., 0].mean() - 90.5 / 102) < 0.005)
    True
    """
    n = check_counts(counts)
    schedule = check_schedule(step_size)
    check_lengths(samples, burn_in, thin, chains, minibatch)
    prior = check_alpha(alpha, len(n))
    if algo not in ALGORITHMS:
        raise UsageError(f"algo is {algo!r}: wanted {', '.join(ALGORITHMS[:-1])} or smld")
    if algo != "scir" and (prior != prior[0]).any():
        raise UsageError(
            f"alpha differs between categories: {algo} has one for all; scir and langevin() take "
            "one for each"
        )
    check_minibatch(minibatch, int(n.sum()))
    state = start_rows(len(n), chains, start, seed, prior[0])
    log_omega = np.empty((samples, chains, len(n)))
    log_mass = np.empty((samples, chains))
    step, read = (scir_chains if algo == "scir" else kernel_chains)(algo, state, prior, chains)
    for t, at in iterations(samples, burn_in, thin, progress):
        key = Key(seed, 0, t)
        step(key, _statistics(n, minibatch, chains, key), schedule(t))
        if at is not None:
            log_g, mass = read()
            total = log_total(log_g)
            log_omega[at] = (log_g - total).T
            log_mass[at] = total if mass else 0.0
    return Draws(log_omega, log_mass)


def scir_chains(algo: str, rows: State, prior: Doubles, chains: int) -> Chains:
    """Log state, a shape for every cell."""
    state = {"log_g": safe_log(rows["g"][:, :chains])}

    def step(key: Key, statistics: Statistics, h: float) -> None:
        shape = prior[:, None] + statistics.counts[:, :chains] * statistics.factor
        scir.step_log(key, state, shape, 0, h, 1)

    return step, lambda: (state["log_g"], True)


def kernel_chains(algo: str, rows: State, prior: Doubles, chains: int) -> Chains:
    """A sampler of topics as it is, the chains being its topics."""
    sampler = SAMPLERS[algo]
    block = Block("omega", "simplex", (len(prior), chains), float(prior[0]), 0, 0.0)
    state = sampler.begin(rows, block) if sampler.begin else rows

    def step(key: Key, statistics: Statistics, h: float) -> None:
        nonlocal state
        state = sampler.step(key, state, statistics, block, h, 1)

    def read() -> tuple[Doubles, bool]:
        if "g" in state:
            return safe_log(state["g"][:, :chains]), True
        return state["y"][:, :chains].astype(np.float64), False

    return step, read


def _statistics(n: Int64s, minibatch: int | None, chains: int, key: Key) -> Statistics:
    """Counts of each chain's minibatch; of everything where None."""
    rows = np.arange(len(n), dtype=np.int32)
    if minibatch is not None:
        factor = float(n.sum()) / minibatch
        return Statistics(rows, count_minibatch(n, minibatch, chains, key), factor)
    counts = core.zeros(len(n), padded(chains), "int64")
    counts[:, :chains] = n[:, None]
    return Statistics(rows, counts, 1.0)
