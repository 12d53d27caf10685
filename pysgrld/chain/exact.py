"""Gibbs refinement: after training, a few chains sweep over the whole corpus.

Draws of minibatch samplers vary more than the posterior, and their means of topics are biased.
Therefore a few exact chains follow, from the last state of training. The first half of their sweeps
is burn-in; draws of the second half, from one chain after the other, replace those of training.
Finally, some chains continue on resampled documents (`pysgrld.chain.population`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.chain.population import REPLICATES, PopulationDraws, WordSpread
from pysgrld.chain.posterior import PREFIX, Posterior
from pysgrld.chain.protocol import Chain
from pysgrld.core.arithmetic import median
from pysgrld.core.draws import matrices_to_draw, select_words
from pysgrld.core.restore import Within
from pysgrld.errors import CheckpointError
from pysgrld.evaluate import Estimate
from pysgrld.evaluate.convergence import bulk_sizes
from pysgrld.options.option import LoopOptions
from pysgrld.types import Array, Doubles, Floats, Int64s, Key

#: Number of chains. Neither this number nor the results depend on the number of threads.
CHAINS = 4
#: Number of chains that sweep together on one thread if there are fewer threads than chains.
TOGETHER = 2
#: Total number of draws of all chains.
DRAWS = 200
#: Minimum number of sweeps of each chain from which credible intervals are computed. With fewer
#: sweeps, draws depend on the initial state, so a shorter refinement runs only at the user's
#: request (docs/calibration.md).
FEWEST = 400
#: Default minimum of a chain's sweeps. More sweeps hardly increase the ESS of topic shares.
ENOUGH = 400
#: Fewer sweeps are the default if `ENOUGH` sweeps of all chains would sample more tokens than this.
AFFORDED = 3.2e9
#: Value of `ENOUGH` for topics over time, which mix more slowly because steps may be rejected.
ENOUGH_OVER_TIME = 1000
#: Time per token in a collapsed Gibbs sweep, divided by the time per token in minibatch training.
COST = 2.5
#: If a Gibbs refinement follows, training has converged if doubling its length improves the score
#: by less than this fraction. Without a refinement the fraction is smaller, because results then
#: depend on averages over training, not only on its last state.
SETTLED_BEFORE = 0.02
#: Minimum number of posterior samples for convergence of training, if a refinement follows. Without
#: a refinement, twice as many samples are needed.
SAMPLES_BEFORE = 25

_PREFIX = "exact."
_PLAN, _TRACE, _LAST = f"{_PREFIX}plan", f"{_PREFIX}trace.", f"{_PREFIX}last."
_SPREAD = f"{_PREFIX}spread."


def refinement_sweeps(
    chain: Chain, options: LoopOptions, *, open_ended: bool, over_time: bool = False
) -> int:
    """Return the number of sweeps of each chain of the Gibbs refinement; 0 means no refinement.

    By default it takes about as long as training, and is skipped if that allows too few sweeps.

    Parameters
    ----------
    chain : Chain
        The trained chain.
    options : LoopOptions
        Options of training.
    open_ended : bool
        True if training ended by convergence, not after a requested number of iterations.
    over_time : bool
        True if the topics change from one time slice to the next.
    """
    if not (options.exact_sweeps and chain.draws):
        return 0
    if isinstance(options.exact_sweeps, int):
        return options.exact_sweeps
    sweeps = affordable_sweeps(
        chain.step / chain.stream.per_epoch * options.sweeps,
        chain.tokens,
        fewest=(ENOUGH_OVER_TIME if over_time else ENOUGH) if open_ended else 0,
    )
    return sweeps if sweeps >= FEWEST else 0


def affordable_sweeps(trained: float, tokens: int, fewest: int = ENOUGH) -> int:
    """Return the number of sweeps per chain with which a refinement takes as long as training.

    Parameters
    ----------
    trained : float
        Number of times that training sampled each token.
    tokens : int
        Number of training tokens.
    fewest : int
        Minimum number of sweeps, or fewer if all chains would sample more than `AFFORDED` tokens.
    """
    least = min(fewest, int(AFFORDED / (CHAINS * max(1, tokens))))
    return max(int(trained / COST / CHAINS), least)


def follows(chain: Chain, sweeps: int | str | None) -> bool:
    """Return True if a Gibbs refinement is certain to follow after training has converged.

    Parameters
    ----------
    chain : Chain
    sweeps : int, "auto" or None
        Value of ``--exact-sweeps``.
    """
    affordable = isinstance(sweeps, int) or CHAINS * chain.tokens * FEWEST <= AFFORDED
    return bool(sweeps) and chain.draws and affordable


class ExactChain(BlockChain, ABC):
    """Markov chain of a Gibbs refinement, which uses the whole corpus in each iteration.

    Attributes
    ----------
    method : str
        Name of the sampling method, for messages.
    """

    method: str

    @property
    @abstractmethod
    def top_words(self) -> Int64s:
        """Ids of the top words that each topic had at the end of training, (K, W)."""

    @abstractmethod
    def sweep(
        self, sweeps: int, others: Sequence[Any] = (), waiting: Callable[[], None] | None = None
    ) -> None:
        """Do sweeps of this chain and of the chains ``others``, on the calling thread.

        Parameters
        ----------
        sweeps : int
        others : sequence of ExactChain
            Chains from the same initial state with the same number of sweeps; the draws of a chain
            do not depend on the other chains.
        waiting : callable, optional
            Called regularly; it may raise an exception to stop. The next call then draws the
            remaining variables.
        """

    @abstractmethod
    def monitored_values(self) -> dict[str, Doubles]:
        """Return the quantities for which effective sample sizes are computed, by name."""

    @abstractmethod
    def snapshot(self) -> Self:
        """Return a read-only copy, which does not change while this chain continues."""


class ReplicatedChain(ExactChain):
    """Chain of a Gibbs refinement that can be continued on resampled documents."""

    @abstractmethod
    def replicate(self, number: int, threads: int, waiting: Callable[[], None]) -> Floats:
        """Continue this chain on resampled documents, and return the mean of the topics, (K, V).

        Parameters
        ----------
        number : int
            Number of the replicate, which determines the documents and the random numbers.
        threads : int
        waiting : callable
            Called between sweeps; it may raise an exception to stop.
        """


class ExactStage:
    """State of a Gibbs refinement: its chains, the averages over their draws, and their progress.

    Parameters
    ----------
    chains : sequence of ExactChain
    posterior : Posterior
        Averages over draws, still empty.
    begun : int
        Iteration of training at which the refinement begins.
    sweeps : int
        Total number of sweeps of each chain; the number after the burn-in is rounded down to a
        multiple of the interval between draws.
    threads : int
        Maximum number of threads; chains sweep at the same time on several threads.

    Attributes
    ----------
    sweep : int
        Number of sweeps that each chain has done.
    draws : int
        Number of draws taken.
    """

    def __init__(
        self,
        chains: Sequence[ExactChain],
        posterior: Posterior,
        begun: int,
        sweeps: int,
        threads: int,
    ) -> None:
        self.chains, self.posterior, self.begun, self.threads = chains, posterior, begun, threads
        self.sweep = 0
        self._plan_draws(sweeps)
        self._trace: dict[str, list[Floats]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._keep: Keep | None = None
        self._drawn: ExactChain | None = None

    @property
    def step(self) -> int:
        """Total of training iterations and sweeps so far; draws are numbered by this total."""
        return self.begun + self.sweep

    @property
    def done(self) -> bool:
        """True if all sweeps are done."""
        return self.sweep >= self.sweeps

    @property
    def replicates(self) -> int:
        """Number of replicates (continuations on resampled documents) done so far."""
        return len(self._spread.replicates) if self._spread else 0

    @property
    def complete(self) -> bool:
        """True if all sweeps and replicates are done.

        A replicate is the continuation of a chain on resampled documents. Replicates require at
        least two draws.
        """
        if not self.done or self._spread is None:
            return self.done
        self._take()
        return self._spread.draws < 2 or self.replicates >= REPLICATES

    @property
    def draws(self) -> int:
        """Number of draws taken so far."""
        return max(0, self.sweep - self.burn_in) // self.every

    @contextmanager
    def run_chains(self, keep: Keep) -> Iterator[None]:
        """Run the chains on parallel threads in the ``with`` block; call ``keep`` for each draw.

        Parameters
        ----------
        keep : callable
            Called for each draw with a copy of its chain, while `step` and `draws` have the values
            of this draw. Returns the draw in the form of a sample if the draw is stored, else None.
        """
        number, self._keep = min(self.threads, len(self.chains)), keep
        if number < 2:
            yield
            return
        with ThreadPoolExecutor(number, "exact") as pool:
            self._pool = pool
            try:
                yield
                self._take()
            finally:
                self._pool, self._drawn = None, None

    def advance(self, waiting: Callable[[], None] = lambda: None) -> None:
        """Sweep up to the next draw, or up to the end of the burn-in.

        With several threads, a draw is averaged, scored and stored while the chains sweep to the
        next draw.

        Parameters
        ----------
        waiting : callable
            Called regularly, on several threads if chains sweep at the same time; it may raise an
            exception to stop. The next call of `advance` then continues from that point, also after
            `restore`.

        Raises
        ------
        NumericalError
            If a state is no longer finite.
        """
        burning = self.sweep < self.burn_in
        number = min(self.every, self.burn_in - self.sweep) if burning else self.every
        size = 1 if self.threads >= len(self.chains) else TOGETHER
        least = min(chain.step for chain in self.chains)
        behind = [chain for chain in self.chains if chain.step == least]
        groups = [behind[i : i + size] for i in range(0, len(behind), size)]
        if self._pool is None:
            for first, *rest in groups:
                waiting()
                first.sweep(number, rest, waiting)
        else:
            sweeping = [
                self._pool.submit(first.sweep, number, rest, waiting) for first, *rest in groups
            ]
            try:
                self._take()
            finally:
                wait(sweeping)
            for one in sweeping:
                one.result()
        self.sweep += number
        if burning:
            return
        if self._pool is None:
            self._drawn = self.last
            self._take()
        else:
            self._drawn = self.last.snapshot()

    def replicate(self, waiting: Callable[[], None]) -> None:
        """Continue the next chain on resampled documents; all sweeps must be done.

        Parameters
        ----------
        waiting : callable
            Called between sweeps; it may raise an exception to stop. The replicate is then run
            again from its start.
        """
        assert self._spread is not None
        self._take()
        number = self.replicates
        chain = self.chains[number % len(self.chains)]
        assert isinstance(chain, ReplicatedChain)
        self._spread.add_replicate(chain.replicate(number, self.threads, waiting))

    def _take(self) -> None:
        """Add the last draw to the averages, score it and store it, unless this was done before."""
        chain, self._drawn = self._drawn, None
        if chain is None:
            return
        self.posterior.take_sample(chain)
        for name, figures in chain.monitored_values().items():
            self._trace.setdefault(name, []).append(figures.astype(np.float32))
        sample = self._keep(chain) if self._keep is not None else None
        if sample is not None and self._spread is not None:
            self._spread.add_draw(sample[chain.topics.name])

    def is_stored(self, most: int) -> bool:
        """Return True if the last draw is to be stored.

        Equally many draws of each chain are stored: at most ``most``, and one more of each chain.
        """
        per_chain = -(-(self.sweeps - self.burn_in) // self.every // len(self.chains))
        spacing = max(1, -(-per_chain * len(self.chains) // most))
        return (self.draws - 1) // len(self.chains) % spacing == 0

    @property
    def last(self) -> ExactChain:
        """The chain that made the last draw."""
        return self.chains[(self.draws - 1) % len(self.chains)]

    def point(self) -> Estimate:
        """Compute the score of the last draw; NaN without held-out documents."""
        scorer, chain = self.posterior.scorer, self.last
        if scorer is None:
            return Estimate(math.nan)
        draw = select_words(matrices_to_draw(chain.sample(), chain.blocks), scorer.words)
        return scorer.point(Key(chain.seed, chain.chain, self.begun), draw)

    def arrays(
        self, stored_form: Callable[[Chain], Mapping[str, Array]] = lambda chain: chain.sample()
    ) -> dict[str, Array]:
        """Return the arrays from which the refinement can be restored exactly.

        Parameters
        ----------
        stored_form : callable
            Returns the draw of a chain in the form of a kept sample.
        """
        self._take()
        plan = np.array([self.begun, self.sweep, self.sweeps, self.burn_in, self.every])
        arrays: dict[str, Array] = {_PLAN: plan}
        for r, chain in enumerate(self.chains):
            arrays |= {f"{_PREFIX}{r}.{name}": a for name, a in chain.arrays().items()}
        if self.draws:
            arrays |= {f"{_PREFIX}{name}": a for name, a in self.posterior.arrays().items()}
            arrays |= {f"{_LAST}{name}": a for name, a in stored_form(self.last).items()}
        if self._spread is not None:
            arrays |= {f"{_PREFIX}{name}": a for name, a in self._spread.arrays().items()}
        return arrays | {f"{_TRACE}{name}": np.array(t) for name, t in self._trace.items()}

    def record(self) -> dict[str, Array]:
        """Return the plan and the results as arrays, without the states of the chains."""
        prefixes = (_PLAN, _TRACE, _LAST, _SPREAD, _PREFIX + PREFIX)
        return {name: a for name, a in self.arrays().items() if name.startswith(prefixes)}

    def restore(self, arrays: Mapping[str, Array], sweeps: int = 0) -> None:
        """Restore the chains from a checkpoint; increase the number of sweeps if requested.

        Parameters
        ----------
        arrays : mapping
        sweeps : int
            New total number of sweeps of each chain. If it exceeds the planned number, all draws so
            far become burn-in; otherwise it is ignored.

        Raises
        ------
        CheckpointError
            If the arrays are not a state of this refinement.
        """
        plan = read_refinement_plan(arrays)
        assert plan is not None
        self.sweep, self.sweeps, self.burn_in, self.every = plan[1:]
        for r, chain in enumerate(self.chains):
            chain.restore(self.sweep, Within(arrays, f"{_PREFIX}{r}."))
        if sweeps > self.sweeps:
            self._plan_draws(sweeps)
            return
        if self.draws:
            self.posterior.restore(Within(arrays, _PREFIX))
        if self._spread is not None:
            self._spread.restore(Within(arrays, _PREFIX))
        self._trace = {name: list(a) for name, a in Within(arrays, _TRACE).items()}

    def _plan_draws(self, sweeps: int) -> None:
        """Plan burn-in and draws for a total number of sweeps, including the sweeps done."""
        self.burn_in = max(self.sweep, sweeps // 2)
        self.every = max(1, -(-(sweeps - self.burn_in) // DRAWS))
        self.sweeps = sweeps - (sweeps - self.burn_in) % self.every
        self._spread: WordSpread | None = None
        if isinstance(first := self.chains[0], ReplicatedChain) and self.sweeps >= FEWEST:
            self._spread = WordSpread(first.top_words, first.start_variance)


#: Function that is called with a chain, and may store the chain's draw. It returns the stored
#: matrices (one row per topic), or None if it does not store the draw.
Keep = Callable[[ExactChain], Mapping[str, Array] | None]


class ExactPlan(NamedTuple):
    """Planned numbers of sweeps of a Gibbs refinement, and its progress.

    Attributes
    ----------
    begun : int
        Iteration of training at which the refinement began.
    sweep, sweeps, burn_in, every : int
        Numbers of sweeps of each chain: done, in total, of the burn-in, and between two draws.
    """

    begun: int
    sweep: int
    sweeps: int
    burn_in: int
    every: int

    @property
    def has_draws(self) -> bool:
        """True if the refinement has at least one draw."""
        return self.sweep >= self.burn_in + self.every

    @property
    def converged(self) -> bool:
        """True if the chains have enough sweeps to compute credible intervals from their draws."""
        return self.has_draws and self.sweep >= FEWEST

    def chain_number(self, step: int) -> int:
        """Return the number of the chain that made a draw, given the draw's number ``step``."""
        return ((step - self.begun - self.burn_in) // self.every - 1) % CHAINS


def read_refinement_plan(arrays: Mapping[str, Array]) -> ExactPlan | None:
    """Return the plan of the Gibbs refinement in a checkpoint, or None without a refinement.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.

    Raises
    ------
    CheckpointError
        If the plan is invalid.
    """
    if _PLAN not in arrays:
        return None
    plan = arrays[_PLAN]
    if plan.shape != (5,) or (plan < 0).any() or plan[4] < 1 or plan[1] > plan[2]:
        raise CheckpointError(f"array {_PLAN!r} of the checkpoint is not a valid plan of sweeps")
    return ExactPlan(*plan.tolist())


def read_averages(arrays: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the averages over posterior samples that a checkpoint stores, by array name.

    These are averages over the draws of the Gibbs refinement or, without such draws, over samples
    of training. The names are equal in both cases.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.
    """
    plan = read_refinement_plan(arrays)
    return Within(arrays, _PREFIX) if plan and plan.has_draws else arrays


def population_draws(arrays: Mapping[str, Array], seed: int, chain: int) -> PopulationDraws | None:
    """Return the object that widens draws of topics to the variation between corpora, or None.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.
    seed : int
        Seed of the run.
    chain : int
        Number of the chain in random keys, from 0.

    Returns
    -------
    PopulationDraws or None
        None if the checkpoint has too few draws or replicates.
    """
    return PopulationDraws.of(Within(arrays, _PREFIX), seed, chain)


def last_draw(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the last draw of topics by the Gibbs refinement in a checkpoint.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.

    Returns
    -------
    dict of str to array
        Matrices with a row for each topic; empty if the refinement has no draws.
    """
    return dict(Within(arrays, _LAST))


def read_trace(arrays: Mapping[str, Array], name: str) -> Array | None:
    """Return a monitored quantity, (S, n), with a row for each draw, or None if it is absent.

    Monitored quantities are the ones for which effective sample sizes are computed.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.
    name : str
        "words", "shares" or "documents".
    """
    return arrays.get(f"{_TRACE}{name}")


def read_ess(arrays: Mapping[str, Array]) -> dict[str, float]:
    """Return median effective sample sizes: over words, topic shares and documents, if known.

    Parameters
    ----------
    arrays : mapping of str to array
        Arrays of the checkpoint, by name.

    Returns
    -------
    dict of str to float
        Median sizes, with the keys "words", "shares" and "documents".
    """
    medians = {}
    names = (n.removeprefix(_TRACE) for n in arrays if n.startswith(_TRACE))
    for name in sorted(names, reverse=True):  # in the order words, shares, documents
        sizes = bulk_sizes(split_by_chain(arrays[f"{_TRACE}{name}"]))
        if not np.isnan(sizes).all():
            medians[name] = median(sizes)
    return medians


def split_by_chain(draws: Array) -> Doubles:
    """Rearrange draws, (S, ...), by chain, (4, S // 4, ...); the last S mod 4 draws are dropped.

    Parameters
    ----------
    draws : array, (S, ...)
        Values of each draw; draw s belongs to chain s mod 4.

    Returns
    -------
    array of float64, (4, S // 4, ...)
        Values by chain.
    """
    rounds = len(draws) // CHAINS
    shaped = draws[: rounds * CHAINS].reshape(rounds, CHAINS, *draws.shape[1:])
    return np.moveaxis(shaped, 1, 0).astype(np.float64)
