"""Training of several runs at the same time, each in a process that a parent process watches.

A run that fails does not end the other runs. A request to stop the parent stops all runs: the
parent sends the request through a pipe to each run. If the parent dies, the runs notice that the
pipe is closed, and stop in the same way.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing as mp
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pysgrld.corpus.reading import Listener, ReadingProgress
from pysgrld.errors import Interrupted, MemoryLimitError, Severity, SgmcError
from pysgrld.run import RunDirectory, SecondInterrupt, StopFlag
from pysgrld.run.machine import sign_of_life
from pysgrld.run.signals import STOP_SIGNALS
from pysgrld.train.events import Position
from pysgrld.train.request import Request
from pysgrld.train.start import train

#: Seconds between two checks of whether there is a reason to stop.
LOOK = 0.1
#: Seconds from a second Ctrl-C until all runs that have not ended are killed.
PATIENCE = 1.0
#: Seconds without activity after which a run that was requested to stop is killed.
GRACE = 10.0


class Watcher(Listener, Protocol):
    """Callbacks that report the progress of several runs."""

    def of_run(self, number: int, event: str, *values: Any) -> None:
        """Report an event of a run; ``event`` is the name of a `Reporter` method, or "failed"."""


class RunsError(SgmcError):
    """Error raised if runs failed; its exit code is the exit code of the first failed run."""


@dataclass
class RunProcess:
    """Process of a run; it gets an exit code at its end, and a reason if it was stopped.

    ``silent`` is the number of seconds for which a process that was asked to stop has been
    inactive; ``life`` is the last state of the process that the system reported.
    """

    number: int
    process: Any
    events: Connection
    orders: Connection
    code: int | None = None
    stopped: str | None = None
    silent: float = 0.0
    life: str | None = None


def run_all(
    tasks: Sequence[Task], watcher: Watcher, stop: StopFlag, at_a_time: int | None = None
) -> list[RunProcess]:
    """Start one process for each task, and wait until all processes have ended.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks, numbered from 1.
    watcher : Watcher
    stop : StopFlag
        Flag whose context is already entered.
    at_a_time : int, optional
        Maximum number of processes that run at the same time; by default all. No process is started
        once there is a reason to stop.

    Returns
    -------
    list of Ended
        The processes that were started, sorted by number.
    """
    # Discard a checkpoint request that is due to the time limit, because runs check the limit
    # themselves.
    stop.take_checkpoint_request()
    waiting = list(enumerate(tasks, 1))
    runs: list[RunProcess] = []
    is_stopping, looked = False, time.monotonic()
    try:
        while True:
            running = {run.events: run for run in runs if run.code is None}
            free = (at_a_time or len(tasks)) - len(running)
            if waiting and free > 0 and not is_stopping:
                _start(waiting[:free], runs, stop)
                del waiting[:free]
                continue
            if not running:
                return runs
            for ready in wait(list(running), timeout=LOOK):
                run = next(r for events, r in running.items() if events is ready)
                _handle_event(run, watcher, stop)
            # The runs check the time limit themselves, unless they are suspended.
            if stop.should_stop(0.0) and not is_stopping:
                is_stopping = True
                _notify(runs, lambda run: run.orders.send(stop.reason))
            seconds, looked = time.monotonic() - looked, time.monotonic()
            if is_stopping:
                # A long time since the last check means that this process was suspended, so at most
                # one second counts.
                _wake_or_kill(runs, min(seconds, 1.0))
            if stop.take_checkpoint_request():
                _notify(runs, lambda run: os.kill(run.process.pid, signal.SIGUSR2))
    except BaseException:  # After a second Ctrl-C or a bug, no process may remain.
        _kill_all(runs)
        raise


def _start(tasks: Iterable[tuple[int, Task]], runs: list[RunProcess], stop: StopFlag) -> None:
    """Start a process for each numbered task, and append the process to `runs`.

    The start method of `multiprocessing` is spawn, because a fork may hang if OpenMP threads exist.
    Signals are blocked during the start, and a new process keeps them blocked until its handlers
    are set.
    """
    context = mp.get_context("spawn")
    held = {*stop.stop_signals, signal.SIGUSR2, signal.SIGHUP}
    # The resource tracker is started before signals are blocked, because its start unblocks them.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        for number, task in tasks:
            events, sender = context.Pipe(duplex=False)
            obeys, orders = context.Pipe(duplex=False)
            process = context.Process(
                target=in_process, args=(task, sender, obeys), name=f"run-{number}"
            )
            process.start()
            # Close the child's ends of the pipes in this process, so that each process notices when
            # the other has ended.
            sender.close()
            obeys.close()
            runs.append(RunProcess(number, process, events, orders))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _handle_event(run: RunProcess, watcher: Watcher, stop: StopFlag) -> None:
    """Pass on an event that a run reports, or record the run's end."""
    try:
        event, values = run.events.recv()
    except (EOFError, OSError):
        _ended_without_a_word(run, watcher, stop)
        return
    if event == "ended":
        run.code, run.stopped, text = values
        run.process.join()
        run.events.close()
        if run.code and not run.stopped:
            watcher.of_run(run.number, "failed", text)
    else:
        watcher.of_run(run.number, event, *values)


def _ended_without_a_word(run: RunProcess, watcher: Watcher, stop: StopFlag) -> None:
    """Report a run whose process ended without reporting its end."""
    run.process.join()
    run.events.close()
    code: int = run.process.exitcode
    run.code = SgmcError.exit_code
    if code >= 0:
        # An exit code of 0 is an error if the run has not reported its end.
        run.code = code or run.code
        reason = f"its process ended with exit code {code}"
    elif run.silent >= GRACE:
        reason = f"did nothing for {GRACE:g} seconds when asked to stop, and was killed"
    # A stop signal came after the process had sent its last message.
    elif stop.reason and -code in STOP_SIGNALS:
        run.code, run.stopped = Interrupted.exit_code, stop.reason
        return
    elif code == -signal.SIGKILL:
        run.code = MemoryLimitError.exit_code
        reason = "was killed by SIGKILL, most often because memory ran out"
    else:
        names = (number.name for number in signal.Signals if number == -code)
        reason = f"was ended by {next(names, f'signal {-code}')}"
    watcher.of_run(run.number, "failed", reason)


def _wake_or_kill(runs: Iterable[RunProcess], seconds: float) -> None:
    """Wake up runs that were requested to stop, and kill runs that do not react.

    A process that works or waits for a disk is not killed, so that it can write a checkpoint.
    """
    for run in runs:
        if run.code is not None:
            continue
        life = sign_of_life(run.process.pid)
        alive = life is None or life != run.life or life.startswith("D")
        run.life, run.silent = life, 0.0 if alive else run.silent + seconds
        if run.silent >= GRACE:
            run.process.kill()
        else:
            with contextlib.suppress(OSError):
                # SIGCONT wakes the run if it is suspended.
                os.kill(run.process.pid, signal.SIGCONT)


def _notify(runs: Iterable[RunProcess], report: Callable[[RunProcess], None]) -> None:
    for run in runs:
        if run.code is None:
            with contextlib.suppress(OSError):  # The run may have ended already.
                report(run)


def _kill_all(runs: Sequence[RunProcess]) -> None:
    """End all processes immediately, as a second Ctrl-C does with a single run."""
    for _ in range(2):
        _notify(runs, lambda run: os.kill(run.process.pid, signal.SIGINT))
    deadline = time.monotonic() + PATIENCE
    for run in runs:
        run.process.join(max(0.0, deadline - time.monotonic()))
        if run.process.is_alive():
            run.process.kill()
            run.process.join()


def raise_failures(
    runs: Sequence[RunProcess], named: Callable[[Sequence[int]], str], folder: Path
) -> None:
    """If runs were stopped or failed, raise an error that summarises these runs.

    Parameters
    ----------
    runs : sequence of Ended
        Result of `run_all`.
    named : callable
        Returns the words for runs in a sentence, given their numbers.
    folder : Path
        Folder of the runs.

    Raises
    ------
    Interrupted
        If some runs were stopped early, each after a checkpoint.
    RunsError
        If some runs failed.
    """
    stopped = [run for run in runs if run.stopped]
    failed = [run for run in runs if run.code and not run.stopped]
    early, failing = (named([run.number for run in group]) for group in (stopped, failed))
    if stopped:
        failures = f"; {failing} failed, see above" if failed else ""
        raise Interrupted(
            f"{stopped[0].stopped}: {early} stopped, with a checkpoint of each in "
            f"{folder}{failures}; run the same command again to continue"
        )
    if failed:
        first = failed[0]
        raise RunsError(
            f"{folder}: {failing} failed, and {len(runs) - len(failed)} of {len(runs)} are "
            "done; see the messages above, then run the same command again to continue",
            first.code or SgmcError.exit_code,
        )


#: Minimum number of seconds between two progress reports of a run.
TELL = 0.2


#: Type of a function that is called with an error. It returns the exit code, the message and a
#: label for the error.
Explain = Callable[[BaseException], tuple[int, str, str]]


class Task(NamedTuple):
    """Arguments for the process that trains a run.

    Attributes
    ----------
    request : Request
    started : float
        Start of the command, from which the time limit counts, on a clock that processes share.
    explain : callable
        Explains an error that ends the process.
    limit : float, "auto" or None
        Time limit of the command; the budget of the run is in the request.
    """

    request: Request
    started: float
    explain: Explain
    limit: float | Literal["auto"] | None


def in_process(task: Task, sender: Connection, orders: Connection) -> None:
    """Train a run in its own process, and report its end to the parent process."""
    relay, logger = _Relay(sender), logging.getLogger("pysgrld")
    logger.setLevel(logging.INFO)
    stop_signal = task.request.choices.start.stop_signal
    stop = StopFlag(task.limit, stop_signal=stop_signal, start=task.started)
    code, stopped, text = 0, False, ""
    try:
        with stop, contextlib.ExitStack() as ending:
            logger.addHandler(relay)
            ending.callback(logger.removeHandler, relay)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            threading.Thread(target=_stop_on_request, args=(orders, stop), daemon=True).start()
            train(task.request, relay, stop)
    except BaseException as error:
        code, text, _ = task.explain(error)
        stopped = isinstance(error, Interrupted | SecondInterrupt)
    relay.send("ended", code, stop.reason if stopped else None, text)


def _stop_on_request(orders: Connection, stop: StopFlag) -> None:
    """Stop training when the parent process requests it, or when the parent process has ended."""
    try:
        stop.stop(orders.recv())
    except (EOFError, OSError):
        stop.stop("the command that started the runs has ended")


class _Relay(logging.Handler):
    """A `pysgrld.train.events.Reporter` that passes events and log records to the parent process."""

    def __init__(self, sender: Connection) -> None:
        super().__init__()
        self.told, self.last = sender, 0.0

    def send(self, event: str, *values: Any) -> None:
        """Send an event to the parent process; do nothing if the parent process has ended."""
        with contextlib.suppress(OSError):
            self.told.send((event, values))

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        self.send("note", line, severity)

    def reading(self, progress: ReadingProgress) -> None:
        """Do nothing, because the parent process has read the corpus and shown the progress."""

    def started(self, run: RunDirectory, line: str) -> None:
        self.send("started", run.path, line)

    def moved(self, position: Position) -> None:
        if time.monotonic() - self.last >= TELL:
            self.last = time.monotonic()
            self.send("moved", position)

    def refining(self, run: RunDirectory, line: str) -> None:
        self.send("note", line, Severity.NOTE)

    def evaluated(self, record: Mapping[str, Any]) -> None:
        self.send("evaluated", dict(record))

    def finished(self, run: RunDirectory, line: str) -> None:
        self.send("finished", run.path, line)

    def emit(self, record: logging.LogRecord) -> None:
        is_warning = record.levelno >= logging.WARNING
        self.note(record.getMessage(), Severity.WARNING if is_warning else Severity.DETAIL)
