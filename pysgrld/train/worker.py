"""The process of one of several runs: trains it, obeys the parent, and sends it events."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple

from pysgrld.corpus import ReadingProgress
from pysgrld.errors import Interrupted
from pysgrld.run import RunDirectory, SecondInterrupt, StopFlag
from pysgrld.train.request import Request
from pysgrld.train.start import train
from pysgrld.train.telling import Position

#: Seconds between two tellings of where the chain stands.
TELL = 0.2


class Task(NamedTuple):
    """Arguments of a run's process.

    Attributes
    ----------
    request : Request
    started : float
        When the command began, by the clock of processes: the time limit counts from there.
    explain : callable
        Exit code of an error, and the line that says it.
    limit : float, "auto" or None
        Time limit of the command; the run's own budget is in the request.
    """

    request: Request
    started: float
    explain: Callable[[BaseException], tuple[int, str]]
    limit: float | Literal["auto"] | None


def in_process(task: Task, told: Connection, orders: Connection) -> None:
    """Train one run, and say how it ended."""
    relay = _Relay(told)
    given = task.request.given
    stop = StopFlag(task.limit, stop_signal=given.get("stop-signal"), start=task.started)
    code, stopped, text = 0, False, ""
    try:
        with stop, relay.logging():
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            threading.Thread(target=_obey, args=(orders, stop), daemon=True).start()
            train(task.request, relay, stop)
    except BaseException as error:
        code, text = task.explain(error)
        stopped = isinstance(error, Interrupted | SecondInterrupt)
    relay.send("ended", code, stop.reason if stopped else None, text)


def _obey(orders: Connection, stop: StopFlag) -> None:
    """Stop when the parent says so, or when it is gone."""
    try:
        stop.stop(orders.recv())
    except (EOFError, OSError):
        stop.stop("the command that started the runs has ended")


class _Relay:
    """Sends events to the parent. A `pysgrld.train.telling.Reporter`."""

    def __init__(self, told: Connection) -> None:
        self.told, self.last = told, 0.0

    def send(self, event: str, *values: Any) -> None:
        """Send an event to the parent; nothing is sent if it is gone."""
        with contextlib.suppress(OSError):
            self.told.send((event, values))

    def note(self, line: str) -> None:
        self.send("note", line)

    def reading(self, progress: ReadingProgress) -> None:
        """Do nothing: the parent read the corpus, and has shown it."""

    def started(self, run: RunDirectory, line: str) -> None:
        self.send("started", run.path, line)

    def moved(self, position: Position) -> None:
        if time.monotonic() - self.last >= TELL:
            self.last = time.monotonic()
            self.send("moved", position)

    def evaluated(self, record: Mapping[str, Any]) -> None:
        self.send("evaluated", dict(record))

    def finished(self, run: RunDirectory, line: str) -> None:
        self.send("finished", run.path, line)

    @contextlib.contextmanager
    def logging(self) -> Iterator[None]:
        """Send the parent the library's log, too."""
        logger, handler = logging.getLogger("pysgrld"), _Handler(self)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, relay: _Relay) -> None:
        super().__init__()
        self.relay = relay

    def emit(self, record: logging.LogRecord) -> None:
        event = "warn" if record.levelno >= logging.WARNING else "detail"
        self.relay.send(event, record.getMessage())
