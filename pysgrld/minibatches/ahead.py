"""The next minibatch prepared on another thread while the last one is used."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pysgrld.machine import check_room_for_thread
from pysgrld.minibatches.sources import Minibatches
from pysgrld.types import Minibatch

#: Seconds after which one who waits for documents looks whether to go on waiting.
PATIENCE = 0.1


class Ahead:
    """The minibatches of a stream, the next one prepared on another thread meanwhile.

    Only when it is ready changes, never what it holds.

    Parameters
    ----------
    stream : Minibatches
    waiting : callable, optional
        Called now and then while the next one is not ready; may raise, to stop.
    """

    def __init__(self, stream: Minibatches, waiting: Callable[[], None] = lambda: None) -> None:
        self.stream, self.waiting = stream, waiting
        self._thread = ThreadPoolExecutor(1, "minibatch")
        self._alone: bool | None = None  # whether this process may have no more threads
        self._next: tuple[int, Future[Minibatch | None]] | None = None

    def minibatch(self, t: int) -> Minibatch | None:
        """Give the documents of iteration ``t``, and begin on those of the one after."""
        if self._alone is None:
            try:
                check_room_for_thread()
                self._thread.submit(int)
                self._alone = False
            except RuntimeError:
                self._alone = True
        if self._alone:
            return self.stream.minibatch(t)
        if self._next is None or self._next[0] != t:
            self._next = t, self._thread.submit(self.stream.minibatch, t)
        ready = self._next[1]
        while not ready.done():
            wait([ready], timeout=PATIENCE)
            self.waiting()
        batch = ready.result()
        self._next = (t + 1, self._thread.submit(self.stream.minibatch, t + 1)) if batch else None
        return batch

    def close(self) -> None:
        """End the thread; nobody is called any more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._next, self.waiting = None, lambda: None
