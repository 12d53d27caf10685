"""Dirichlet posteriors from minibatched counts, by the samplers of topics.

Observations fall into d categories with unknown probabilities omega ~ Dirichlet(alpha); their
posterior Dirichlet(alpha + counts) is known, so this is where the samplers of topics are put to the
test. Every iteration sees a minibatch of observations, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pysgrld.core import core, padded
from pysgrld.errors import UsageError
from pysgrld.samplers.log_rows import transition
from pysgrld.samplers.rows import WarmUp
from pysgrld.samplers.sgrld import Langevin
from pysgrld.samplers.smld import Dual
from pysgrld.samplers.state import Counts
from pysgrld.samplers.targets.simplex.common import (
    Draws,
    Progress,
    check_alpha,
    check_counts,
    check_minibatch,
    check_schedule,
    check_sizes,
    count_minibatch,
    iterations,
    log_total,
    safe_log,
    start_rows,
)
from pysgrld.types import Array, Block, Doubles, Int64s, Key


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

    Counts n of d categories and a Dirichlet prior alpha have the posterior Dirichlet(alpha + n), which is
    known; the samplers are those of topics. docs/mathematics.md has their equations.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category.
    alpha : float or (d,) floats
        Dirichlet prior, in (0, 10^9): one for all categories, or with ``scir`` one for each.
    algo : {"scir", "sgrld", "smld"}
        Sampler. ``scir``: on log state in double precision; exact with all observations, for every step.
        ``sgrld``: expanded-mean Langevin with reflection; biased where categories are sparse.
        ``smld``: mirrored Langevin (Hsieh et al. 2018), with all observations that paper's MLD; the
        last category is the reference. Stable while h (sum of counts and alpha) < 4; a category
        without observations needs a time of order 1/alpha^2 to be explored.
    step_size : float or (A, B, C)
        Diffusion time h > 0 (the SGRLD paper's epsilon is 2h), constant or A (1 + t/B)^(-C) with A, B > 0
        and C in [0, 1].
    minibatch : int, optional
        Observations per iteration, at least 1, drawn with replacement; by default all of them, once each.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    chains : int
        Independent chains, at least 1.
    start : (d,) positive numbers, optional
        Unnormalised starting point of every chain; by default Gamma(1) draws.
    seed : int
        Seed, at least 0; the draws depend on nothing else than the arguments.
    progress : callable (part), optional
        Called now and then with the part of the iterations that is done, in [0, 1]; an exception that it
        raises ends them.

    Returns
    -------
    Draws
        Without ``accepted`` and ``refused``: there are no proposals.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.

    References
    ----------
    ``scir``: Baker, Fearnhead, Fox and Nemeth (2018), Large-scale stochastic sampling from the
    probability simplex, eq. (2.2). ``sgrld``: Patterson and Teh (2013), Stochastic gradient Riemannian
    Langevin dynamics on the probability simplex, eq. (10). ``smld``: Hsieh, Kavis, Rolland and Cevher
    (2018), Mirrored Langevin dynamics, eq. (3.7), algorithm 1.

    Examples
    --------
    >>> from pysgrld import simplex
    >>> draws = simplex.sample([90, 5, 5, 0], alpha=0.5, samples=2000, chains=8, step_size=1.0)
    >>> bool(abs(draws.omega[..., 0].mean() - 90.5 / 102) < 0.005)
    True
    """
    n = check_counts(counts)
    schedule = check_schedule(step_size)
    check_sizes(samples, burn_in, thin, chains, minibatch)
    prior = check_alpha(alpha, len(n))
    if algo not in ALGORITHMS:
        raise UsageError(f"algo is {algo!r}: wanted {', '.join(ALGORITHMS[:-1])} or smld")
    if not _KINDS[algo].takes_each and (prior != prior[0]).any():
        raise UsageError(
            f"alpha differs between categories: {algo} has one for all; scir and langevin() take "
            "one for each"
        )
    check_minibatch(minibatch, int(n.sum()))
    rows = start_rows(len(n), chains, start, seed, prior[0])
    log_omega = np.empty((samples, chains, len(n)))
    log_mass = np.empty((samples, chains))
    moved = start_chains(algo, rows, prior, chains)
    for t, at in iterations(samples, burn_in, thin, progress):
        key = Key(seed, 0, t)
        moved.step(key, _counts(n, minibatch, chains, key), schedule(t))
        if at is not None:
            log_g = moved.log_g()
            total = log_total(log_g)
            log_omega[at] = (log_g - total).T
            log_mass[at] = total if moved.has_mass else 0.0
    return Draws(log_omega, log_mass)


class Chains(Protocol):
    """Chains that move together, each a column.

    Attributes
    ----------
    has_mass : bool
        Whether the scale of ``log_g`` has a meaning.
    takes_each : bool
        Whether every category may have a prior of its own.
    """

    has_mass: bool
    takes_each: bool

    def step(self, key: Key, found: Counts, h: float) -> None:
        """Move all chains by one iteration.

        Parameters
        ----------
        key : Key
            Address of the iteration's random numbers.
        found : Counts
            Counts of the minibatches, (d, padded chains).
        h : float
            Diffusion time, > 0.
        """

    def log_g(self) -> Doubles:
        """Give unnormalised logarithms of the probabilities, (d, chains)."""


class CirChains:
    """Chains of SCIR on logarithms, with a prior for each category."""

    has_mass = takes_each = True

    def __init__(self, rows: Mapping[str, Array], prior: Doubles, chains: int) -> None:
        self._prior, self._log_g = prior, safe_log(rows["g"][:, :chains])

    def step(self, key: Key, found: Counts, h: float) -> None:
        """Make one CIR transition of all cells: Baker et al. (2018), eq. (2.2).

        Parameters
        ----------
        key : Key
            Address of the iteration's random numbers.
        found : Counts
            Counts of the minibatches, (d, padded chains).
        h : float
            Diffusion time, > 0.
        """
        shape = self._prior[:, None] + found.counts[:, : self._log_g.shape[1]] * found.factor
        transition(key, self._log_g, shape, stream=0, h=h, threads=1)

    def log_g(self) -> Doubles:
        """Give the logarithms of all cells, (d, chains)."""
        return self._log_g


class LangevinChains:
    """Chains of SGRLD: each is a topic, moved by the sampler of topics."""

    has_mass, takes_each = True, False

    def __init__(self, rows: Mapping[str, Array], prior: Doubles, chains: int) -> None:
        self._state = Langevin(_block(prior, chains), 1, **rows)
        self.step = self._state.step

    def log_g(self) -> Doubles:
        """Give logarithms of the cells, (d, chains); of a zero, that of the smallest normal number."""
        return safe_log(self._state.g[:, : self._state.block.shape[1]])


class DualChains:
    """Chains of SMLD: each is a topic, moved by the sampler of topics."""

    has_mass = takes_each = False

    def __init__(self, rows: Mapping[str, Array], prior: Doubles, chains: int) -> None:
        self._state = Dual.after(WarmUp(Dual, _block(prior, chains), 1, **rows))
        self.step = self._state.step

    def log_g(self) -> Doubles:
        """Give the dual coordinates, (d, chains); that of the last category is 0."""
        return self._state.y[:, : self._state.block.shape[1]].astype(np.float64)


_KINDS: dict[str, type[CirChains] | type[LangevinChains] | type[DualChains]] = {
    "scir": CirChains,
    "sgrld": LangevinChains,
    "smld": DualChains,
}
ALGORITHMS = tuple(_KINDS)


def start_chains(algo: str, rows: Mapping[str, Array], prior: Doubles, chains: int) -> Chains:
    """Start chains of an algorithm.

    Parameters
    ----------
    algo : str
        One of `ALGORITHMS`.
    rows : mapping
        Rows that they start from, as `pysgrld.samplers.targets.simplex.common.start_rows` gives them.
    prior : (d,) float64
        One number d times, but for ``scir``.
    chains : int
        Number of chains.
    """
    return _KINDS[algo](rows, prior, chains)


def _block(prior: Doubles, chains: int) -> Block:
    return Block("omega", "simplex", (len(prior), chains), float(prior[0]), 0, 0.0)


def _counts(n: Int64s, minibatch: int | None, chains: int, key: Key) -> Counts:
    """Count each chain's minibatch, or all observations where there are no minibatches."""
    rows = np.arange(len(n), dtype=np.int32)
    if minibatch is not None:
        factor = float(n.sum()) / minibatch
        return Counts(rows, count_minibatch(n, minibatch, chains, key), factor)
    counts = core.zeros(len(n), padded(chains), "int64")
    counts[:, :chains] = n[:, None]
    return Counts(rows, counts, 1.0)
