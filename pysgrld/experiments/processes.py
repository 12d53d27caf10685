"""Rows of an experiment, each by a process with one thread; results do not depend on how many."""

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

#: Seconds between two looks at how far the rows are.
LOOK = 0.5
#: Values shared with a process: the finished share of every task, and a request to stop.
_shared: tuple[Any, Any] | None = None


def in_processes(
    work: Callable[[Task, Callable[[float], None]], Result],
    tasks: Sequence[Task],
    costs: Sequence[float],
    processes: int,
    tell: Callable[[int], None],
    done: Callable[[int, Result], None] = lambda position, result: None,
) -> list[Result]:
    """Run ``work(task, share)`` for all tasks, the longest first; return results in the order of tasks.

    A process is spawned, not forked: a fork in the presence of OpenMP's threads may hang.

    Parameters
    ----------
    work : callable
        Defined in a module, so that another process can import it. It calls ``share`` often, with
        the share of the task that is done, from 0 to 1; that call ends a task that is no longer
        needed.
    tasks : sequence
        Plain values.
    costs : sequence of float
        What each task takes, in any unit.
    processes : int
        At most.
    tell : callable
        Called with the percentage of all tasks that is done.
    done : callable, optional
        Called with each result as soon as it is available: its task's position, and the result.

    Raises
    ------
    MemoryLimitError
        If a process was killed.
    """
    # an interrupt inside of the executor could leave it waiting for ever, and inside of an import it
    # would be lost
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
        signal.signal(signal.SIGINT, before)  # the next one stops at once
        stop.set()
        executor.shutdown(cancel_futures=True)
    return [results[position] for position in range(len(tasks))]


def _start(shares: Any, stop: Any) -> None:
    global _shared
    _shared = shares, stop
    # Ctrl-C reaches all processes of a terminal: the first one stops the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent has died, for whatever reason."""
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
            raise Interrupted("the row was cancelled")
        shares[position] = part

    return work(task, share)
