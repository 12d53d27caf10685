"""Dirichlet posteriors from minibatched counts, for people who have no text at all.

Observations fall into d categories with unknown probabilities omega ~ Dirichlet(alpha); their
posterior Dirichlet(alpha + counts) is known, so this is also where the samplers of topics are put
to the test. Every iteration sees a minibatch of observations, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.core import core, padded
from pysgrld.errors import UsageError
from pysgrld.samplers import SAMPLERS, scir
from pysgrld.schedule import Schedule
from pysgrld.types import Block, Doubles, Int64s, Key, State, Statistics


class Draws(NamedTuple):
    """Draws from a chain over a simplex.

    Attributes
    ----------
    log_omega : (samples, chains, d) float64
        Logarithms of the probabilities: a sparse category is far below the smallest number.
    log_mass : (samples, chains) float64
        Logarithm of the unnormalised total, whose law differs between samplers.
    """

    log_omega: Doubles
    log_mass: Doubles

    @property
    def omega(self) -> Doubles:
        """Probabilities, (samples, chains, d)."""
        return np.exp(self.log_omega)


def sample(
    counts: npt.ArrayLike,
    *,
    alpha: float = 0.1,
    algo: str = "scir",
    step_size: float | Sequence[float] = 0.1,
    minibatch: int | None = None,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    start: npt.ArrayLike | None = None,
    seed: int = 0,
) -> Draws:
    """Sample the posterior of category probabilities by SCIR or SGRLD.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category.
    alpha : float
        Symmetric Dirichlet prior, > 0.
    algo : {"scir", "sgrld"}
        ``scir``: on log state in double precision; exact with all observations, for every step.
        ``sgrld``: expanded-mean Langevin with reflection; biased where categories are sparse.
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
    n = _counts(counts)
    schedule = _schedule(step_size)
    total = int(n.sum())
    for name, value, low in (
        ("samples", samples, 1), ("burn_in", burn_in, 0), ("thin", thin, 1), ("chains", chains, 1),
        ("minibatch", 1 if minibatch is None else minibatch, 1),
    ):  # fmt: skip
        if int(value) != value or value < low:
            raise UsageError(f"{name} is {value}: wanted a whole number of at least {low}")
    if not (0 < alpha < 1e9):
        raise UsageError(f"alpha is {alpha}: wanted a number above 0")
    if algo not in ("scir", "sgrld"):
        raise UsageError(f"algo is {algo!r}: wanted scir or sgrld")
    if minibatch is not None and total == 0:
        raise UsageError("counts are all 0: there is nothing to draw a minibatch from")

    d = len(n)
    state = _start(algo, d, chains, start, seed, alpha)
    block = Block("omega", "simplex", (d, chains), alpha, 0, 0.0)
    log_omega = np.empty((samples, chains, d))
    log_mass = np.empty((samples, chains))
    kept = 0
    for t in range(burn_in + samples * thin):
        key = Key(seed, 0, t)
        statistics = _statistics(n, minibatch, chains, key)
        if algo == "scir":
            shape = alpha + statistics.counts[:, :chains] * statistics.factor
            scir.step_log(key, state, shape, 0, schedule(t), 1)
        else:
            SAMPLERS["sgrld"].step(key, state, statistics, block, schedule(t), 1)
        after = t + 1 - burn_in
        if after > 0 and after % thin == 0:
            log_g = state["log_g"] if algo == "scir" else _log(state["g"][:, :chains])
            top = log_g.max(axis=0)
            mass = top + np.log(np.exp(log_g - top).sum(axis=0))
            log_omega[kept] = (log_g - mass).T
            log_mass[kept] = mass
            kept += 1
    return Draws(log_omega, log_mass)


def _counts(counts: npt.ArrayLike) -> Int64s:
    given = np.asarray(counts)
    if given.ndim != 1 or len(given) < 1 or given.dtype.kind not in "biuf":
        raise UsageError(f"counts has shape {given.shape}: wanted a row of numbers, one a category")
    if not (np.isfinite(given).all() and (given >= 0).all() and (given == np.floor(given)).all()):
        raise UsageError("counts must be whole numbers >= 0")
    if float(given.sum()) >= 2**53:
        raise UsageError("counts sum to 2^53 or more")
    return given.astype(np.int64)


def _schedule(step_size: float | Sequence[float]) -> Schedule:
    try:
        a, b, c = (step_size, 1.0, 0.0) if np.ndim(step_size) == 0 else step_size  # type: ignore[misc]
        schedule = Schedule(float(a), float(b), float(c))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(f"step_size is {step_size!r}: wanted h, or A, B, C") from None
    if not (schedule.a > 0 and schedule.b > 0 and 0 <= schedule.c <= 1):
        raise UsageError(f"step_size is {step_size!r}: wanted A > 0, B > 0, 0 <= C <= 1")
    return schedule


def _log(g: npt.NDArray[np.float32]) -> Doubles:
    return np.log(np.maximum(g.astype(np.float64), np.finfo(np.float32).tiny))


def _start(
    algo: str, d: int, chains: int, start: npt.ArrayLike | None, seed: int, alpha: float
) -> State:
    """State of `chains` independent chains, one a column."""
    block = Block("omega", "simplex", (d, chains), alpha, 0, 0.0)
    state = SAMPLERS["sgrld"].init(Key(seed, 0, 0), block, 1)
    if start is not None:
        g = np.asarray(start, np.float64)
        if g.shape != (d,) or not (np.isfinite(g).all() and (g > 0).all()):
            raise UsageError(f"start: wanted {d} positive numbers")
        state["g"][:, :chains] = g[:, None]
        state["sums"][:chains] = g.sum()
    if algo == "scir":
        return {"log_g": _log(state["g"][:, :chains])}
    return state


def _statistics(n: Int64s, minibatch: int | None, chains: int, key: Key) -> Statistics:
    """Counts of each chain's minibatch, drawn with replacement; of everything where None."""
    d = len(n)
    counts = core.zeros(d, padded(chains), "int64")
    factor = 1.0
    if minibatch is None:
        counts[:, :chains] = n[:, None]
    else:
        chain = np.repeat(np.arange(chains), minibatch)
        u = core.uniforms(
            chain, np.tile(np.arange(minibatch), chains), key.seed, 0,
            core.Purpose.minibatch_choice, key.step,
        )  # fmt: skip
        # u * total rounds below an integer only if u < 1: the last category is never passed
        category = np.searchsorted(np.cumsum(n), np.floor(u * n.sum()), side="right")
        np.add.at(counts, (category, chain), 1)
        factor = float(n.sum()) / minibatch
    return Statistics(np.arange(d, dtype=np.int32), counts, factor)
