"""The next minibatches prepared on another thread while the last ones are used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pysgrld.corpus.minibatches.sources import Minibatches
from pysgrld.run.machine import check_room_for_thread
from pysgrld.types import Minibatch

#: Seconds after which one who waits for documents looks whether to go on waiting.
PATIENCE = 0.1

#: Minibatches and the iteration of the first; the last is None where the stream has no more.
_Batches = tuple[int, list[Minibatch | None]]


class Ahead:
    """The minibatches of a stream, the next ones prepared on another thread meanwhile.

    Only when they are ready changes, never what they hold. Small ones are prepared several at a time:
    handing over to another thread takes as long as some documents.

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
        self._ready: _Batches = 0, []
        self._next: tuple[int, Future[_Batches]] | None = None

    def minibatch(self, t: int) -> Minibatch | None:
        """Give the documents of iteration ``t``, and begin on the next ones that are not ready."""
        if self._alone is None:
            try:
                check_room_for_thread()
                self._thread.submit(int)
                self._alone = False
            except RuntimeError:
                self._alone = True
        if self._alone:
            return self.stream.minibatch(t)
        first, batches = self._ready
        if not first <= t < first + len(batches):
            first, batches = self._ready = self._prepared(t)
            after = first + len(batches)
            ends = batches[-1] is None
            self._next = None if ends else (after, self._thread.submit(self._prepare, after))
        return batches[t - first]

    def _prepare(self, t: int) -> _Batches:
        """Make the minibatches from iteration ``t`` on that go together, as far as there are any.

        An error is raised for the minibatch that it stands in the way of, not for one before.
        """
        batches = [self.stream.minibatch(t)]
        with contextlib.suppress(Exception):
            while batches[-1] is not None and len(batches) < self.stream.together:
                batches.append(self.stream.minibatch(t + len(batches)))
        return t, batches

    def _prepared(self, t: int) -> _Batches:
        """Wait for the minibatches from iteration ``t`` on."""
        if self._next is None or self._next[0] != t:
            self._next = t, self._thread.submit(self._prepare, t)
        ready = self._next[1]
        while not ready.done():
            wait([ready], timeout=PATIENCE)
            self.waiting()
        return ready.result()

    def close(self) -> None:
        """End the thread; nobody is called any more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._next, self.waiting = None, lambda: None
