"""Noticing that the process stood still: stopped by a signal, frozen, or with the whole machine.

A thread wakes four times a second and looks at the clock. Where it wakes much later, nothing of the
process has run; a long step, a slow disk or a busy machine let it wake in time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from types import TracebackType

from pysgrld.run.batch_job import boot_clock
from pysgrld.run.machine import check_room_for_thread

#: Seconds between two looks, and how much later than that one must come to be a gap.
BEAT, GAP = 0.25, 5.0


class Pulse:
    """A clock that stands still while the process does; a context manager.

    Parameters
    ----------
    clock : callable, optional
        Replaces `boot_clock`, for tests.
    """

    def __init__(self, clock: Callable[[], float] = boot_clock) -> None:
        self._clock = clock
        self._last = clock()
        self._gaps = self._unreported = 0.0
        self._beats = False
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="pulse", daemon=True)

    def awake(self) -> float:
        """Return the seconds by the clock, without those in which the process stood still."""
        with self._mutex:
            now = self._clock()
            late = now - self._last - BEAT
            if late > GAP and self._beats:
                self._gaps += late
                self._unreported += late
            self._last = now
            return now - self._gaps

    def take_gap(self) -> float:
        """Return the seconds that the process stood still since the last call."""
        with self._mutex:
            gap, self._unreported = self._unreported, 0.0
        return gap

    def _look(self) -> None:
        while not self._stop.wait(BEAT):
            self.awake()

    def __enter__(self) -> Pulse:
        self._last = self._clock()
        # Where no thread can be had a long step cannot be told from a gap.
        with contextlib.suppress(RuntimeError, MemoryError):
            check_room_for_thread()
            self._thread.start()
        self._beats = self._thread.is_alive()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._beats:
            self._thread.join()
