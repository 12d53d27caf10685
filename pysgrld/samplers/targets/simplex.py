"""Samplers of known posteriors on the simplex, for data other than text and for tests.

- `sample`: category probabilities from minibatches of counts, by the samplers that move topics.
- `langevin`: the same posterior by Langevin dynamics in four coordinate systems, with or without a
  Riemannian metric, with or without a Metropolis step (Patterson and Teh 2013, section 3).
- `gamma`, `lognormal`: one positive number, by SCIR (Baker et al. 2018, section 2.3).

In all of these functions, a step is a diffusion time h: drift enters as h times drift, noise as
variance 2h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pysgrld.core import core, padded_width
from pysgrld.errors import UsageError
from pysgrld.samplers.log_rows import cir_transition
from pysgrld.samplers.rows import WarmUp
from pysgrld.samplers.sgrld import Langevin
from pysgrld.samplers.smld import Dual
from pysgrld.samplers.state import Counts
from pysgrld.samplers.targets.common import (
    Draws,
    Progress,
    check_posterior,
    check_schedule,
    check_sizes,
    count_minibatch,
    iterations,
    log_total,
    safe_log,
    start_rows,
)
from pysgrld.samplers.targets.langevin import COORDINATES, langevin
from pysgrld.samplers.targets.positive import gamma, lognormal
from pysgrld.types import Array, Block, Doubles, Key

__all__ = ["COORDINATES", "Draws", "gamma", "langevin", "lognormal", "sample"]

ALGORITHMS = ("scir", "sgrld", "smld")


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
    """Sample a posterior of category probabilities by SCIR, SGRLD or SMLD.

    Counts n of d categories and a Dirichlet prior alpha have the known posterior Dirichlet(alpha +
    n). The samplers also move topics. docs/internals/mathematics.md has their equations.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Observations in each category.
    alpha : float or (d,) floats
        Dirichlet prior, in (0, 10^9): one for all categories, or with ``scir`` one for each.
    algo : {"scir", "sgrld", "smld"}
        Sampler. ``scir``: on logarithms in double precision; exact with all observations, for every
        step. ``sgrld``: expanded-mean Langevin with reflection; biased for sparse categories.
        ``smld``: mirrored Langevin (Hsieh et al. 2018), which is that paper's MLD with all observations;
        the last category is the reference. Stable while h (sum of counts and alpha) < 4; a category
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
        Called at intervals with the fraction of iterations done, in [0, 1]; an exception that it
        raises ends the chains.

    Returns
    -------
    Draws
        ``accepted`` and ``refused`` are None, as the samplers make no proposals.

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
    n, prior = check_posterior(counts, alpha, minibatch)
    schedule = check_schedule(step_size)
    check_sizes(samples, burn_in, thin, chains, minibatch)
    if algo not in ALGORITHMS:
        raise UsageError(f"algo is {algo!r}: wanted {', '.join(ALGORITHMS[:-1])} or smld")
    if algo != "scir" and (prior != prior[0]).any():
        raise UsageError(
            f"alpha differs between categories, but algo={algo!r} takes one alpha for all "
            "categories; give a single number, or use algo='scir' or langevin()"
        )
    moved = Chains(algo, start_rows(len(n), chains, start, seed, prior[0]), prior, chains)
    everything = core.zeros(len(n), padded_width(chains), "int64")
    everything[:, :chains] = n[:, None]
    statistics = Counts(np.arange(len(n), dtype=np.int32), everything, 1.0)
    log_omega = np.empty((samples, chains, len(n)))
    log_mass = np.zeros((samples, chains))
    for t, draw in iterations(samples, burn_in, thin, progress):
        key = Key(seed, 0, t)
        if minibatch is not None:
            minibatch_counts = count_minibatch(n, minibatch, chains, key)
            statistics = Counts(statistics.rows, minibatch_counts, float(n.sum()) / minibatch)
        moved.step(key, statistics, schedule(t))
        if draw is not None:
            log_g = moved.log_g()
            total = log_total(log_g)
            log_omega[draw] = (log_g - total).T
            # With smld, the sum of unnormalised probabilities is arbitrary, so it is not stored.
            if algo != "smld":
                log_mass[draw] = total
    return Draws(log_omega, log_mass)


class Chains:
    """Chains on the simplex that are updated together; each chain is a column of a matrix.

    Parameters
    ----------
    algo : {"scir", "sgrld", "smld"}
        Sampler: ``scir`` works on logarithms in double precision, the others as for topics.
    rows : mapping
        Rows from which chains start, as `pysgrld.samplers.targets.common.start_rows` returns them.
    prior : (d,) float64
        Dirichlet prior; all numbers are equal, except with ``scir``.
    chains : int
        Number of chains.
    """

    def __init__(self, algo: str, rows: Mapping[str, Array], prior: Doubles, chains: int) -> None:
        self.prior, self.chains = prior, chains
        block = Block("omega", "simplex", (len(prior), chains), float(prior[0]), 0, 0.0)
        self.state: Doubles | Langevin | Dual
        if algo == "scir":
            self.state = safe_log(rows["g"][:, :chains])
        elif algo == "sgrld":
            self.state = Langevin(block, 1, **rows)
        else:
            self.state = Dual.from_warm_up(WarmUp(block, 1, **rows))

    def step(self, key: Key, counts: Counts, h: float) -> None:
        """Update all chains in one iteration.

        Parameters
        ----------
        key : Key
            Address of the iteration's random numbers.
        counts : Counts
            Counts of the minibatches, (d, padded chains).
        h : float
            Diffusion time, > 0.
        """
        # With scir, the state is an array of log g, which is updated by CIR transitions (Baker et
        # al. 2018, eq. 2.2).
        if isinstance(self.state, np.ndarray):
            shape = self.prior[:, None] + counts.counts[:, : self.chains] * counts.factor
            cir_transition(key, self.state, shape, stream=0, h=h, threads=1)
        else:
            self.state.step(key, counts, h)

    def log_g(self) -> Doubles:
        """Return logs of unnormalised probabilities, (d, chains)."""
        if isinstance(self.state, Langevin):
            return safe_log(self.state.g[:, : self.chains])
        if isinstance(self.state, Dual):
            return self.state.y[:, : self.chains].astype(np.float64)
        return self.state
