"""Iterations of a chain, each of them begun by all of its communicator or by none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pysgrld.chain.protocol import Chain, Visit
from pysgrld.chain.ranks.protocol import Communicator, Orders
from pysgrld.run import StopFlag
from pysgrld.types import Array

#: Bytes of an array of the state up to which it is compared before each iteration: sums of topics.
_SMALL = 1 << 16


class Stopped(Exception):
    """Raised to stop while the next minibatch is not there yet."""


class Rounds:
    """The iterations of a chain until somebody gives the order to leave.

    Iterating gives a `Visit` after each, and None where a checkpoint is to be written.

    Parameters
    ----------
    chain : Chain
    comm : Communicator
        Processes that train it together.
    stop : StopFlag
    wants : callable
        Gives the orders of this process, before an iteration.
    clock : callable
        Gives seconds.

    Attributes
    ----------
    waited : float
        Seconds for which the last iteration has waited for its documents.
    exhausted : bool
        Whether the stream had no more.
    reason : str or None
        Why it was stopped early, if it was.
    """

    def __init__(
        self,
        chain: Chain,
        comm: Communicator,
        stop: StopFlag,
        wants: Callable[[], Orders],
        clock: Callable[[], float],
    ) -> None:
        self.chain, self.comm, self.stop = chain, comm, stop
        self._wants, self._clock = wants, clock
        self.waited = 0.0
        self.exhausted = False
        self.reason: str | None = None

    def __iter__(self) -> Iterator[Visit | None]:
        chain, comm = self.chain, self.comm
        batch = None
        while True:
            orders = self._wants()
            if not orders and batch is None:
                began = self._clock()
                try:
                    batch = chain.next_batch()
                    self.exhausted = batch is None
                    orders = Orders.END if batch is None else orders
                except Stopped:
                    orders = Orders.STOP
                self.waited = self._clock() - began
            met = comm.meet(batch, orders, self._small)
            if met.orders:
                comm.agree(chain.arrays().values())
            if met.orders & Orders.SAVE:
                yield None
            elif met.orders:
                self.reason = self._reason(met.orders)
                return
            else:
                assert batch is not None
                assert met.words is not None
                visit = chain.advance(batch.over(met.words))
                batch = None
                yield Visit(met.documents, met.tokens, visit.step_size)

    def _small(self) -> Iterator[Array]:
        """Give the small arrays of the state, which tell soon where members have different ones."""
        return (a for a in self.chain.arrays().values() if a.nbytes <= _SMALL)

    def _reason(self, orders: Orders) -> str | None:
        """Say why the first member that was told to stop was."""
        if not orders & Orders.STOP:
            return None
        reasons = self.comm.gather(self.stop.reason)
        rank = next(r for r, reason in enumerate(reasons) if reason)
        return f"{reasons[rank]} (rank {rank})" if self.comm.size > 1 else reasons[rank]


def stopping(stop: StopFlag) -> Callable[[], None]:
    """Make what a chain calls while it waits for documents: it stops waiting when it is to stop."""

    def waiting() -> None:
        if stop.should_stop(0.0):
            raise Stopped

    return waiting
