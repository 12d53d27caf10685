"""Parallel runs of an experiment, each in a process with one thread."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from pysgrld.errors import Interrupted, MemoryLimitError

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Seconds between two updates of the progress display.
LOOK = 0.5
#: Worker processes share two objects with the parent process. They are the finished fraction of
#: each task, and a request to stop.
_shared: tuple[Any, Any] | None = None


def map_in_processes(
    work: Callable[[Task, Callable[[float], None]], Result],
    tasks: Sequence[Task],
    costs: Sequence[float],
    processes: int,
    tell: Callable[[int], None],
    done: Callable[[int, Result], None] = lambda position, result: None,
) -> list[Result]:
    """Run ``work(task, share)`` for all tasks, costliest first; return results in task order.

    Results do not depend on the number of processes. Processes are spawned, not forked, as a fork
    may hang if OpenMP threads exist.

    Parameters
    ----------
    work : callable
        Function at the top level of a module, so that other processes can import it. It calls
        ``share`` often, with the finished fraction of the task, from 0 to 1; this call raises an
        error if the task is cancelled.
    tasks : sequence
        Plain values.
    costs : sequence of float
        Estimated cost of each task, in any unit.
    processes : int
        Maximum number of processes.
    tell : callable
        Called with the finished percentage of all tasks.
    done : callable, optional
        Called with the position of a task and its result, as soon as the task is finished.

    Raises
    ------
    MemoryLimitError
        If a process was killed.
    """
    # The handler only sets a flag. An exception inside the executor might make the executor wait
    # forever, and an exception inside an import might be lost.
    interrupted = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    context = mp.get_context("spawn")
    shares, stop = context.Array("d", len(tasks)), context.Event()
    executor = ProcessPoolExecutor(
        max(1, min(processes, len(tasks))), context, _start, (shares, stop)
    )
    results: dict[int, Result] = {}
    try:
        running: dict[Future[Result], int] = {
            executor.submit(_do, work, position, tasks[position]): position
            for position in sorted(range(len(tasks)), key=lambda i: -costs[i])
        }
        while running:
            ready, _ = wait(running, LOOK, FIRST_COMPLETED)
            if interrupted.is_set():
                raise KeyboardInterrupt
            for future in ready:
                position = running.pop(future)
                results[position] = future.result()
                shares[position] = 1.0
                done(position, results[position])
            tell(int(100 * sum(c * s for c, s in zip(costs, shares[:], strict=True)) / sum(costs)))
    except BrokenProcessPool:
        raise MemoryLimitError(
            "a process of the experiment was killed, most often because memory ran out: "
            "use fewer --threads"
        ) from None
    finally:
        signal.signal(signal.SIGINT, before)  # Another interrupt stops the process at once.
        stop.set()
        executor.shutdown(cancel_futures=True)
    return [results[position] for position in range(len(tasks))]


def _start(shares: Any, stop: Any) -> None:
    global _shared
    _shared = shares, stop
    # Ctrl-C reaches all processes of a terminal. Workers ignore it, because the parent process
    # stops them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as its parent process has ended."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(
    work: Callable[[Task, Callable[[float], None]], Result], position: int, task: Task
) -> Result:
    assert _shared is not None
    shares, stop = _shared

    def share(part: float) -> None:
        if stop.is_set():
            raise Interrupted(
                "this row was cancelled, because another row failed or training was stopped"
            )
        shares[position] = part

    return work(task, share)
