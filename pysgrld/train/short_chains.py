"""Initialisation of topics: several short chains are trained, and their topics are clustered.

Each chain has a separate seed and is trained a little longer than the warm-up. The topics in the
last quarter of its iterations are averaged. MPI processes (ranks) divide the chains among them:
each rank trains its chains alone, on all documents, and the first rank receives their topics.

The number of chains follows from K, V and the number of tokens
(`pysgrld.models.short_chain_number`). If the chains would take more than a tenth of a time limit,
fewer chains are used; the numbers of these chains are then stored, so that a later start uses the
same chains.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pysgrld.chain.clusters import cluster_means, cluster_seconds, start_variance
from pysgrld.chain.protocol import Chain
from pysgrld.core.draws import sampling_weights
from pysgrld.corpus.minibatches import Epochs, Minibatches
from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.short_chain_number import short_chain_iterations
from pysgrld.models.table import find_model
from pysgrld.options.option import Resolved
from pysgrld.options.priors import STARTS
from pysgrld.train.due import Every, first_checkpoint_seconds
from pysgrld.types import Array, Doubles, Floats

#: The mean of a short chain is over the samples of every `_BETWEEN`-th iteration.
_BETWEEN = 5
#: First seed of short chains, which is greater than the seed of any run.
_OTHERS = 2**63
#: Maximum fraction of a time limit that the short chains may take.
PART_OF_LIMIT = 0.1
#: Number of iterations of a short chain after which its remaining time is predicted.
_PREDICTED_AFTER = 3
#: Name of the array of a stored short chain that has the sums of its samples.
_SUMS = "short.sums"
#: Name of the array of a stored short chain that has its mean topics. Only a finished chain has it.
_TOPICS = "short.topics"


class FirstTopics(NamedTuple):
    """Initial topics of a chain, in the form that `Chain.start_from_topics` takes.

    Attributes
    ----------
    topics : (V' or less, K or more) float32
    tokens : (K,) float64
        Number of tokens of the corpus in each topic.
    start_variance : (K,) float64, optional
        Variance of each topic between short chains (`pysgrld.chain.clusters.start_variance`).
    """

    topics: Floats
    tokens: Doubles
    start_variance: Doubles | None = None


class Stopped(Exception):
    """Raised by a callback to stop training, while a chain waits or between two chains."""


class _OutOfTimeError(Exception):
    """Raised if a short chain would take more time than is left."""


class ChainStore:
    """Storage of short chains; this base class stores nothing."""

    def read(self) -> Mapping[int, tuple[int, Mapping[str, Array]]]:
        """Return the iteration and the arrays of each stored chain, by chain number."""
        return {}

    def write(self, number: int, iteration: int, arrays: Mapping[str, Array]) -> None:
        """Store the state of a chain after the given iteration."""

    def chosen(self) -> Sequence[int] | None:
        """Return the numbers of the chains that the run uses, or None if not chosen yet."""
        return None

    def choose(self, numbers: Sequence[int]) -> None:
        """Store the numbers of the chains that the run uses."""


def time_until(limit: float) -> Callable[[], float]:
    """Start a time limit, and return a function that computes the remaining seconds."""
    end = time.monotonic() + limit
    return lambda: end - time.monotonic()


def clusters_of_topics(
    stream: Minibatches,
    options: Resolved,
    corpus: CorpusFacts,
    run_on: RunOn,
    store: ChainStore | None = None,
    seconds_left: Callable[[], float] = lambda: math.inf,
) -> FirstTopics | None:
    """Train the short chains that the options request; cluster their topics; return cluster means.

    Parameters
    ----------
    stream : Minibatches
        Documents of the chain that will start from the topics.
    options : Resolved
    corpus : CorpusFacts
    run_on : RunOn
    store : ChainStore, optional
        Storage that the first rank uses; chains that are stored in it are not trained again.
    seconds_left : callable
        Returns the seconds left for the short chains and their clustering.

    Returns
    -------
    FirstTopics or None
        None if topics must start at random: if no short chains are requested, if no chain can
        finish in time, or if a value is no longer finite (the main chain then reports that, and its
        state is stored). Also None on all ranks but the first.

    Raises
    ------
    Stopped
        If training must stop, on this rank or another.
    """
    starts, comm = options.starts or 1, run_on.comm
    if starts < 2 or not isinstance(stream, Epochs):
        return None
    store = store or ChainStore()
    k, iterations = options.widths[0], short_chain_iterations(options.warm_up)
    stored = dict(store.read())
    shape = k, corpus.words
    topics = {
        number: arrays[_TOPICS]
        for number, (iteration, arrays) in stored.items()
        if iteration == iterations and _is_whole(arrays, shape)
    }
    chosen = store.chosen()
    numbers = range(starts) if chosen is None else chosen
    todo, is_limited = comm.broadcast(([n for n in numbers if n not in topics], chosen is None))
    n_stored = len(topics)
    is_late = False
    for first in range(0, len(todo), comm.size):
        round_ = todo[first : first + comm.size]
        outcome, mean = "", np.zeros((0, *shape), np.float32)
        try:
            if comm.rank < len(round_):
                number = round_[comm.rank]
                chain = ShortChain(number, stream, options, corpus, run_on, store)
                ending = cluster_seconds((n_stored + first + len(round_)) * k, corpus.words)
                remaining = seconds_left() - ending if is_limited else math.inf
                mean = chain.train(stored.pop(number, None), time_until(remaining))[None]
        except Stopped:
            outcome = "stopped"
        except _OutOfTimeError:
            outcome = "late"
        except NumericalError:
            outcome = "not finite"
        outcomes = comm.allgather(outcome)
        if "stopped" in outcomes:
            raise Stopped
        if "not finite" in outcomes:
            return None
        if is_late := "late" in outcomes:
            break
        means = comm.gather_rows(mean)
        if comm.rank == 0:
            for number, row in zip(round_, means, strict=True):
                topics[number] = row
                store.write(number, iterations, {_TOPICS: row})
    used = sorted(topics.keys() & {*numbers})
    if is_late and comm.rank == 0:
        store.choose(used)
    return _clustered(topics, used, k, corpus, run_on)


def _clustered(
    topics: dict[int, Floats], used: Sequence[int], k: int, corpus: CorpusFacts, run_on: RunOn
) -> FirstTopics | None:
    """Cluster the topics of the chosen chains; return cluster means, on the first rank only."""
    comm, first, is_stopped = run_on.comm, None, False
    if comm.rank == 0 and used:
        together = np.empty((len(used) * k, corpus.words), np.float32)
        for place, number in enumerate(used):
            together[place * k : (place + 1) * k] = topics.pop(number)
        try:
            means = cluster_means(together, k, run_on.waiting)
        except Stopped:
            is_stopped = True
        else:
            tokens = np.full(k, corpus.tokens / k)
            variance = start_variance(together, means)
            first = FirstTopics(np.ascontiguousarray(means.T), tokens, variance)
    if comm.broadcast(is_stopped):
        raise Stopped
    return first


def _is_whole(arrays: Mapping[str, Array], shape: tuple[int, int]) -> bool:
    """Return True if stored arrays contain topics of the given shape, without invalid values."""
    if _TOPICS not in arrays:
        return False
    topics = arrays[_TOPICS]
    fits = topics.shape == shape and topics.dtype == np.float32
    return fits and bool(np.isfinite(topics).all() and (topics >= 0).all())


class ShortChain:
    """Short chain that initialises topics, trained by a single rank.

    Parameters
    ----------
    number : int
        Number of the chain, from 0; it determines the seed.
    stream : Epochs
    options : Resolved
        Options of the chain that will start from the topics.
    corpus : CorpusFacts
    run_on : RunOn
    store : ChainStore
        Storage to which the chain is saved regularly, and at a stop.
    """

    def __init__(
        self,
        number: int,
        stream: Epochs,
        options: Resolved,
        corpus: CorpusFacts,
        run_on: RunOn,
        store: ChainStore,
    ) -> None:
        starts = options.starts or 1
        # The seeds do not depend on the number of chains. A run with fewer chains than the default
        # thus uses the first chains of the default.
        seed = _OTHERS + (max(starts, STARTS) * options.seed + number) % _OTHERS
        alone = replace(options, seed=seed, starts=1)
        self.number, self.k, self.run_on, self.store = number, options.widths[0], run_on, store
        self.iterations = short_chain_iterations(options.warm_up)
        self._sums = np.zeros((self.k, corpus.words))
        self._begin: Callable[[], Chain] = lambda: find_model(options.model).short_chain(
            alone, stream, corpus, RunOn(run_on.threads, run_on.waiting)
        )

    def train(
        self, stored: tuple[int, Mapping[str, Array]] | None, seconds_left: Callable[[], float]
    ) -> Floats:
        """Train the chain to its last iteration, and return its mean topics, (K, V) float32.

        Parameters
        ----------
        stored : tuple of int and mapping, optional
            Iteration and arrays of a stored state from which the chain continues.
        seconds_left : callable
            Returns the seconds that the chain may still take.

        Raises
        ------
        Stopped
            If training must stop; the chain is stored before.
        NumericalError
            If the state is no longer finite.
        """
        chain = self._restored(stored) if stored else self._begin()
        saved = chain.step
        try:
            self._advance(chain, seconds_left)
        except Stopped:
            if chain.step > saved:
                self._store(chain)
            raise
        finally:
            chain.close()
        mean: Floats = (self._sums / self._sums.sum(axis=1, keepdims=True)).astype(np.float32)
        return mean

    def _restored(self, stored: tuple[int, Mapping[str, Array]]) -> Chain:
        """Restore the stored chain, or start a new one if the stored state is invalid."""
        iteration, arrays = stored
        chain = self._begin()
        try:
            sums = arrays[_SUMS]
            if not 0 < iteration < self.iterations or sums.shape != self._sums.shape:
                raise CheckpointError("the stored state does not belong to a short chain")
            chain.restore(iteration, arrays)
        except (CheckpointError, KeyError):
            chain.close()
            return self._begin()
        self._sums[:] = sums
        return chain

    def _advance(self, chain: Chain, seconds_left: Callable[[], float]) -> None:
        first, began = chain.step, time.monotonic()
        saves = Every(
            "15m",
            first,
            0.0,
            first=first_checkpoint_seconds([*chain.arrays().values(), self._sums]),
        )
        for t in range(first + 1, self.iterations + 1):
            self.run_on.waiting()
            chain.advance()
            if 4 * t > 3 * self.iterations and (self.iterations - t) % _BETWEEN == 0:
                self._sums += sampling_weights(chain.draw())[:, : self.k].T
            seconds = time.monotonic() - began
            if t == first + 1:
                slow = seconds  # The first iteration is slower, so the prediction ignores it.
            elif t - first > _PREDICTED_AFTER:
                seconds_each = (seconds - slow) / (t - first - 1)
                if seconds_each * (self.iterations - t) > seconds_left():
                    raise _OutOfTimeError
            if t < self.iterations and saves.due(t, seconds):
                self._store(chain)
                saves.done(t, time.monotonic() - began)

    def _store(self, chain: Chain) -> None:
        self.store.write(self.number, chain.step, {**chain.arrays(), _SUMS: self._sums})
