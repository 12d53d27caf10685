"""Iterations of a chain that several MPI processes (ranks) train together."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.chain.communicator import Communicator, Orders
from pysgrld.chain.protocol import Chain, Visit
from pysgrld.chain.rank_cost import Cost
from pysgrld.core import core
from pysgrld.corpus import Corpus
from pysgrld.corpus.minibatches import Epochs
from pysgrld.corpus.reading import Listener
from pysgrld.errors import Interrupted, LaunchError, MismatchError, Severity, plural
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import restore_options
from pysgrld.models.table import find_model
from pysgrld.options.paths import resolve_path
from pysgrld.run import StopFlag
from pysgrld.run.machine import RELEASE, processors, threads
from pysgrld.train.plan import ProcessCounts
from pysgrld.train.prepare import Prepared
from pysgrld.train.short_chains import (
    PART_OF_LIMIT,
    FirstTopics,
    Stopped,
    clusters_of_topics,
    time_until,
)
from pysgrld.types import Positions

#: Maximum size in bytes of the arrays (sums of topics) that are compared between ranks before each
#: iteration, so that differences are noticed soon.
_SMALL = 1 << 16


@dataclass
class Rounds:
    """Iterations of a chain on all ranks; if one rank must stop, all ranks stop.

    The iterator yields a `Visit` after each iteration, and None if a checkpoint must be written.

    Parameters
    ----------
    chain : Chain
    comm : Communicator
        Processes that train the chain together.
    stop : StopFlag
    wants : callable
        Called before each iteration; returns the orders of this process.
    clock : callable
        Returns the time in seconds.

    Attributes
    ----------
    waited : float
        Seconds that the last iteration has waited for its documents.
    exhausted : bool
        True if the stream had no more documents.
    reason : str or None
        Reason of an early stop, if any.
    """

    chain: Chain
    comm: Communicator
    stop: StopFlag
    wants: Callable[[], Orders]
    clock: Callable[[], float]
    waited: float = 0.0
    exhausted: bool = False
    reason: str | None = None

    def __iter__(self) -> Iterator[Visit | None]:
        chain, comm = self.chain, self.comm
        batch = None
        while True:
            orders = self.wants()
            if not orders & ~Orders.LOOK and batch is None:
                began = self.clock()
                try:
                    batch = chain.next_batch()
                    self.exhausted = batch is None
                    orders = Orders.END if batch is None else orders
                except Stopped:
                    orders = Orders.STOP
                self.waited = self.clock() - began
            met = comm.exchange_requests(
                batch, orders, lambda: (a for a in chain.common().values() if a.nbytes <= _SMALL)
            )
            end = met.orders & ~Orders.LOOK
            if end:
                comm.exchange_requests(same=lambda: chain.common().values())
                chain.gather_topic_rows()
                chain.gather()
            if end & Orders.SAVE:
                yield None
            elif end:
                if met.orders & Orders.STOP:
                    self.reason = why_all_stop(comm, self.stop)
                return
            else:
                assert batch is not None
                visit = chain.advance(batch)
                batch = None
                if met.orders & Orders.LOOK:
                    chain.gather_topic_rows()
                yield Visit(met.documents, met.tokens, visit.step_size)


def why_all_stop(comm: Communicator, stop: StopFlag) -> str:
    """Return the first reason to stop in order of ranks; with several ranks, name the rank."""
    reasons = comm.allgather(stop.reason)
    rank = next(r for r, reason in enumerate(reasons) if reason)
    return str(reasons[rank]) + (f" (rank {rank})" if comm.size > 1 else "")


def stopped_before_all(reason: str) -> Interrupted:
    """Return the error for training that was stopped during its short chains."""
    return Interrupted(
        f"{reason}: stopped before the first iteration; run the same command again to continue"
    )


def begin_together(
    chain: Chain, comm: Communicator, first: FirstTopics | None = None, *, restored: bool = False
) -> None:
    """Begin the chains of all ranks in the same state, of a checkpoint or with initial topics.

    Parameters
    ----------
    chain : Chain
        Chain of this rank.
    comm : Communicator
    first : FirstTopics, optional
        Initial topics of all chains.
    restored : bool
        True if the chain of the first rank resumes from a checkpoint.
    """
    step, restored, begins = comm.broadcast((chain.step, restored, first is not None))
    if restored:
        arrays = comm.broadcast_arrays(None if comm.rank else chain.common()) | chain.scatter()
        if comm.rank:
            chain.restore(step, arrays)
    elif begins:
        parts = first._asdict() if first else {}
        known = {name: part for name, part in parts.items() if part is not None}
        chain.start_from_topics(**comm.broadcast_arrays(known))
        chain.gather_topic_rows()
        chain.gather()


def raise_if_stopped(stop: StopFlag) -> None:
    """Raise `Stopped` if training must stop; called while a chain waits for documents."""
    if stop.should_stop(0.0):
        raise Stopped


#: Number of iterations that are timed at each start, after the first iteration, which is slower.
LOOKED_AT = 5
#: A remark is logged if less than this fraction of the time is spent on work that the ranks divide.
#: It is below a half, so that the remark is rare.
WASTED = 1 / 3


@dataclass
class IdleTimeMonitor:
    """Monitor of idle time in the first iterations, which reports if fewer ranks would suffice.

    Parameters
    ----------
    comm : Communicator
    minibatch, documents : int
        Number of documents in an iteration, and in the corpus.
    """

    comm: Communicator
    minibatch: int
    documents: int
    _seen: int = 0
    _seconds: float = 0.0
    _before: dict[str, float] = field(default_factory=dict)

    def record_iteration(self, seconds: float) -> str | None:
        """Record an iteration's time; return a remark on idle ranks after the last timed iteration.

        Parameters
        ----------
        seconds : float
            Time of the iteration without the wait for its documents.
        """
        if self.comm.size == 1 or self._seen > LOOKED_AT:
            return None
        self._seen += 1
        if self._seen == 1:
            self._before = self.comm.metrics()
            return None
        self._seconds += seconds
        if self._seen <= LOOKED_AT:
            return None
        now, before, ranks = self.comm.metrics(), self._before, self.comm.size
        took = {name: seconds - before[name] for name, seconds in now.items()}
        shared = took["sampling_seconds"] + took["moving_seconds"]
        cost = Cost.measured(ranks, self._seconds, shared, took["exchange_seconds"])
        if cost.share(ranks) > WASTED:
            return None
        share = 100 * cost.share(ranks)
        line = (
            f"minibatches of {plural(self.minibatch, 'document')} are too small for {ranks} "
            f"ranks, which spend only {share:.0f} % of the time on parallel work; use at most "
            f"{plural(cost.busy(), 'rank')}"
        )
        size = cost.larger(ranks) * self.minibatch
        if size < self.documents:
            line += f", or train a new run with --minibatch {float(f'{size:.2g}'):.0f} or more"
        return line


def agree_on_software(
    comm: Communicator, requested_threads: int | None, listener: Listener
) -> ProcessCounts:
    """Compare the sgmc versions of all ranks, agree on an instruction set, and count the ranks.

    Parameters
    ----------
    comm : Communicator
    requested_threads : int or None
        Number of threads requested for this rank, or None for the default.
    listener : Listener

    Returns
    -------
    Sharing
        Number of ranks, in total and on this machine.

    Raises
    ------
    LaunchError
        If the ranks have different versions.
    """
    count = threads(requested_threads)
    members = comm.allgather(
        (RELEASE, core.isa(), comm.host, count.number, processors(), os.getpid())
    )
    versions, isas, hosts, numbers, _, processes = zip(*members, strict=True)
    for rank, rank_version in enumerate(versions):
        if rank_version != versions[0]:
            raise LaunchError(
                f"--mpi: rank {rank} on {hosts[rank]} has sgmc {rank_version}, but rank 0 has "
                f"{versions[0]}; install the same version everywhere"
            )
    if len(set(isas)) > 1:
        # Each instruction set in this list includes the earlier ones.
        order = core.available_isas()
        least = min(isas, key=lambda isa: order.index(isa) if isa in order else len(order))
        core.use_isa(least)
        if comm.rank == 0:
            listener.note(
                f"the ranks have different processors; all use the instruction set {least}"
            )
    sharing = ProcessCounts(comm.size, hosts.count(comm.host))
    if comm.rank:
        return sharing
    threads_per_rank = plural(count.number, "thread")
    if len(set(numbers)) > 1:
        threads_per_rank = f"{min(numbers)} to {max(numbers)} threads"
    listener.note(
        f"{plural(comm.size, 'rank')} on {plural(len(set(hosts)), 'node')}, {threads_per_rank} "
        f"each ({count.source}); {comm.library}"
    )
    # The host and process id are logged, because the system's log identifies a killed process by
    # its id.
    for host in dict.fromkeys(hosts):
        pids = [f"{rank}: {processes[rank]}" for rank in range(comm.size) if hosts[rank] == host]
        listener.note(f"processes of the ranks on {host}: {', '.join(pids)}")
    for host in dict.fromkeys(hosts):
        on_host = [m for m in members if m[2] == host]
        used, cpus = sum(m[3] for m in on_host), len({cpu for m in on_host for cpu in m[4]})
        if used > cpus > 0:
            listener.note(
                f"{plural(len(on_host), 'rank')} on {host} use {used} threads on {cpus} CPUs, so "
                "they slow each other down; give fewer --threads, or start fewer ranks",
                Severity.WARNING,
            )
            break
    return sharing


class Brief(NamedTuple):
    """Facts about a prepared run, which the first rank broadcasts to the other ranks.

    Attributes
    ----------
    model : str
    options : dict
        Resolved options in their JSON form.
    corpus, fingerprint : str
        Path of the stored corpus, and the fingerprint that it must have.
    train : (D,) int64, or PositionsExcept
        Positions of the training documents in the corpus.
    words, tokens : int
    """

    model: str
    options: dict[str, Any]
    corpus: str
    fingerprint: str
    train: Positions
    words: int
    tokens: int


def describe_run(prepared: Prepared) -> Brief:
    """Return the facts about a run that all ranks other than the first need."""
    stream, options = prepared.stream, prepared.options
    assert isinstance(stream, Epochs)
    assert isinstance(stream.source, Corpus)
    corpus = stream.source
    return Brief(
        options.model,
        options.plain(),
        str(resolve_path(corpus.path)),
        corpus.fingerprint,
        stream.train,
        prepared.words,
        prepared.tokens,
    )


def follow(number: int, stop: StopFlag, comm: Communicator) -> None:
    """Train on a rank other than the first; only the first rank prepares and writes the run.

    Parameters
    ----------
    number : int
        Number of threads of this rank.
    stop : StopFlag
        Flag whose context is already entered.
    comm : Communicator

    Raises
    ------
    Interrupted
        If training was stopped early, after a checkpoint.
    SgmcError
        For every other error, on any rank.
    """
    brief: Brief | None = comm.broadcast()
    if brief is None:  # The first rank sends None if the run is already finished.
        comm.end_all_ranks()
        return
    model = find_model(brief.model)
    options = restore_options(brief.options)
    corpus = Corpus.open(Path(brief.corpus))
    if corpus.fingerprint != brief.fingerprint:
        raise MismatchError(
            f"{brief.corpus}: differs from the corpus that rank 0 reads; give all ranks the same "
            "corpus"
        )
    corpus.slice_by(options.slicing)
    # Wait until all ranks have the corpus, because the ranks draw the first state together.
    comm.exchange_requests()
    facts = CorpusFacts(brief.words, brief.tokens)
    run_on = RunOn(number, partial(raise_if_stopped, stop), comm)
    stream = Epochs.of(options, corpus, brief.train, comm.rank, comm.size)
    chain = model.chain(options, stream, facts, run_on)
    try:
        comm.exchange_requests()  # Wait until all ranks have a chain.
        by_short_chains, is_limited = comm.broadcast()
        if by_short_chains:
            seconds_left = time_until(stop.share(PART_OF_LIMIT) if is_limited else math.inf)
            try:
                clusters_of_topics(stream, options, facts, run_on, seconds_left=seconds_left)
            except Stopped:
                raise stopped_before_all(why_all_stop(comm, stop)) from None
        begin_together(chain, comm)
        save = False

        def wants() -> Orders:
            if save:
                return Orders.SAVE
            return Orders.STOP if stop.should_stop(0.0) else Orders.NONE

        rounds = Rounds(chain, comm, stop, wants, time.monotonic)
        for visit in rounds:  # Only the first rank writes files.
            save = visit is not None and stop.take_checkpoint_request()
        # The first rank runs Gibbs refinement, and asks after each sweep whether any rank must
        # stop.
        while comm.broadcast():
            comm.allgather(stop.reason if stop.should_stop(0.0) else None)
        stopped = comm.broadcast()
        comm.end_all_ranks()
    finally:
        chain.close()
    if stopped:
        raise Interrupted(f"{stopped}: stopped after iteration {chain.step}")
