"""Requests to stop a process, and detection of periods in which the process was suspended.

Signals and the clock set a flag (`StopFlag`), which the training loop reads between minibatches.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal

from pysgrld.errors import Interrupted, UsageError
from pysgrld.options.paths import while_waiting
from pysgrld.run.machine import boot_clock, check_room_for_thread, job_end, process_start

logger = logging.getLogger(__name__)

#: Signals at which a run writes a checkpoint and stops.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU)


class SecondInterrupt(KeyboardInterrupt):
    """Error raised at the second Ctrl-C, which stops the process at once with exit code 130."""

    exit_code = 130


class StopFlag(contextlib.ExitStack):
    """Flag for a request to stop; signals that arrive in its ``with`` block set the flag.

    Within the context, SIGINT, SIGTERM, SIGUSR1 and SIGXCPU ask the run to stop, and SIGUSR2 asks
    for a checkpoint. SIGHUP asks the run to stop if it has a terminal, and is ignored otherwise. A
    second SIGINT raises `SecondInterrupt` at the current line of the program. Outside the main
    thread, the flag handles the time limit but no signals. A read from a pipe ends with
    `Interrupted` when the run is to stop. `stop_signal` adds one more signal that stops the run,
    in the place of its usual effect.

    Parameters
    ----------
    time_limit : float, "auto" or None
        Seconds of wall-clock time from the start of the process. If the batch system ends the job
        earlier, that time is the limit. ``"auto"`` uses the end of the job only.
    stop_signal : str, optional
        Name, without ``SIG``, of another signal that stops the run.
    start : float, optional
        Start time of the process by `boot_clock`.
    clock : callable, optional
        Replaces `boot_clock`, for tests.

    Raises
    ------
    UsageError
        If the time limit is not above 0.
    """

    def __init__(
        self,
        time_limit: float | Literal["auto"] | None = None,
        *,
        stop_signal: str | None = None,
        start: float | None = None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        super().__init__()
        self.reason: str | None = None
        self._clock = clock
        self._start = process_start() if start is None else start
        self._deadline: float | None = None
        self._margin = 0.0
        self._checkpoint_seconds = 0.0
        self._checkpoint_wanted = False
        self._interrupts = 0
        self.stop_signals = set(STOP_SIGNALS)
        if stop_signal is not None:
            self.stop_signals.add(signal.Signals[f"SIG{stop_signal}"])
        if time_limit is None:
            return
        self._deadline = job_end()
        if time_limit != "auto":
            if not time_limit > 0:
                raise UsageError(f"--time-limit {time_limit:g}: give a time above 0 seconds")
            limit = self._start + time_limit
            self._deadline = limit if self._deadline is None else min(self._deadline, limit)
        if self._deadline is None:
            logger.warning(
                "--time-limit auto: the batch system does not report when this job ends; give a "
                "time instead"
            )
        else:
            # Request a checkpoint, so that the time to write one is known before the deadline. The
            # run must end `_margin` seconds before the deadline, because Python needs time to exit.
            self._checkpoint_wanted = True
            self._margin = min(0.5, 0.1 * max(0.0, self._deadline - self._start))

    def stop(self, reason: str) -> None:
        """Request that the run stop; only the first reason is kept."""
        if self.reason is None:
            self.reason = reason

    def should_stop(self, step_seconds: float) -> bool:
        """Return True if a stop was requested, or if the time limit is before the end of a step."""
        if step_seconds > self.seconds_left():
            self.stop("time limit")
        return self.reason is not None

    def seconds_left(self) -> float:
        """Return the seconds until the final checkpoint must begin, or infinity without a limit."""
        if self._deadline is None:
            return math.inf
        return self._deadline - self._margin - 2 * self._checkpoint_seconds - self._clock()

    def share(self, part: float) -> float:
        """Return the given fraction of the time limit in seconds, or infinity without a limit."""
        if self._deadline is None:
            return math.inf
        return part * max(0.0, self._deadline - self._start)

    def take_checkpoint_request(self) -> bool:
        """Return True if a checkpoint was requested (SIGUSR2) since the last call.

        A time limit also requests a checkpoint at the start, because the time that a checkpoint
        takes must be known to stop early enough.
        """
        is_requested, self._checkpoint_wanted = self._checkpoint_wanted, False
        return is_requested

    def note_checkpoint_seconds(self, seconds: float) -> None:
        """Record the seconds of a checkpoint and of any other work at the end of a run."""
        self._checkpoint_seconds = max(self._checkpoint_seconds, seconds)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR2 and number not in self.stop_signals:
            self._checkpoint_wanted = True
            return
        if number == signal.SIGINT:
            self._interrupts += 1
            if self._interrupts > 1:
                raise SecondInterrupt
        self.stop(signal.Signals(number).name)

    def check(self, doing: str) -> None:
        """Raise an error if the run must stop while it has no results yet.

        Parameters
        ----------
        doing : str
            The interrupted activity for the message, for example "while x.txt was read".

        Raises
        ------
        Interrupted
        """
        if self.should_stop(0.0):
            raise Interrupted(
                f"{self.reason}: stopped {doing}, and no results are kept; run the same command "
                "again"
            )

    def __enter__(self) -> StopFlag:
        self.callback(while_waiting.set, while_waiting.get())
        while_waiting.set(lambda path: self.check(f"while waiting for {path}"))
        if threading.current_thread() is not threading.main_thread():
            return self
        handlers: dict[signal.Signals, Any] = {signal.SIGUSR2: self._on_signal}
        # If SIGHUP is ignored already, as under nohup, it stays ignored.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            terminal = sys.__stdin__ is not None and not sys.__stdin__.closed
            terminal = terminal and os.isatty(0)
            handlers[signal.SIGHUP] = self._on_signal if terminal else signal.SIG_IGN
        handlers |= dict.fromkeys(self.stop_signals, self._on_signal)
        for number, handler in handlers.items():
            old = signal.signal(number, handler)
            # None stands for a handler that Python did not install, which cannot be restored.
            self.callback(signal.signal, number, signal.SIG_DFL if old is None else old)
        return self


#: Number of seconds between two readings of an `AwakeClock`.
BEAT = 0.25
#: If a reading is late by more than this number of seconds, the process must have been suspended.
GAP = 5.0


class AwakeClock(contextlib.ExitStack):
    """Clock that ignores periods in which the process was suspended; it is a context manager.

    The process may be stopped by a signal, frozen, or suspended with the whole machine. A thread
    wakes four times a second and reads the clock. If it wakes much too late, the whole process was
    suspended, because it wakes in time during a long step, with a slow disk or on a busy machine.

    Parameters
    ----------
    clock : callable, optional
        Replaces `boot_clock`, for tests.
    """

    def __init__(self, clock: Callable[[], float] = boot_clock) -> None:
        super().__init__()
        self._clock = clock
        self._last = clock()
        self._gaps = self._unreported = 0.0
        self._beats = False
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="awake-clock", daemon=True)

    def awake(self) -> float:
        """Return the clock's time in seconds, without periods in which the process was suspended."""
        with self._mutex:
            now = self._clock()
            late = now - self._last - BEAT
            if late > GAP and self._beats:
                self._gaps += late
                self._unreported += late
            self._last = now
            return now - self._gaps

    def take_gap(self) -> float:
        """Return the number of seconds for which the process was suspended since the last call."""
        with self._mutex:
            gap, self._unreported = self._unreported, 0.0
        return gap

    def _look(self) -> None:
        while not self._stop.wait(BEAT):
            self.awake()

    def __enter__(self) -> AwakeClock:
        self._last = self._clock()
        # Without this thread, suspensions are not detected. A long time between two readings may be
        # the time of a long step.
        with contextlib.suppress(RuntimeError, MemoryError):
            check_room_for_thread()
            self._thread.start()
        self._beats = self._thread.is_alive()
        if self._beats:
            self.callback(self._thread.join)
        self.callback(self._stop.set)
        return self
