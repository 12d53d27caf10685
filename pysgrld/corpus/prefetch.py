"""Iterators that compute the next items on other threads while the caller uses an item.

Threads change only the time at which a result is ready, never its value. For any number of threads,
results come in the order of their items, and an error is raised after the results of all earlier
items. The number of results that wait for the consumer is limited.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from typing import Any, TypeVar

from pysgrld.run.machine import check_room_for_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Seconds between two checks of whether to stop while waiting for an item.
PATIENCE = 0.1


def run_ahead(
    items: Iterator[Item], depth: int, waiting: Callable[[], None]
) -> Generator[Item, None, None]:
    """Yield the items of an iterator that runs on a separate thread.

    Parameters
    ----------
    items : iterator
        If it has a method ``close``, the separate thread calls it at the end of the iterator or
        when no more items are needed.
    depth : int
        Maximum number of items that wait for the consumer.
    waiting : callable
        Called now and then while no item is ready. It may raise an exception to stop.

    Raises
    ------
    BaseException
        Error raised by the iterator, after the items before it.
    """
    ready: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    unwanted = threading.Event()

    def put(kind: str, value: Any) -> bool:
        while not unwanted.is_set():
            with suppress(queue.Full):
                ready.put((kind, value), timeout=PATIENCE)
                return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    break
            else:
                put("end", None)
        except BaseException as error:
            put("error", error)
        finally:
            if close := getattr(items, "close", None):
                close()

    # The thread is a daemon, because it may wait without end for a pipe that has no writer.
    thread = threading.Thread(target=work, name="reading", daemon=True)
    try:
        check_room_for_thread()
        thread.start()
    except RuntimeError:  # No thread can be started, so this thread computes the items.
        yield from items
        return
    try:
        while True:
            try:
                kind, value = ready.get(timeout=PATIENCE)
            except queue.Empty:
                waiting()
                continue
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        unwanted.set()
        # Wait briefly, so that the thread can close its files. A thread that waits for a pipe
        # cannot do so.
        thread.join(timeout=2 * PATIENCE)


def map_in_order(
    function: Callable[[Item], Result],
    items: Iterator[Item],
    workers: int,
    waiting: Callable[[], None],
) -> Generator[Result, None, None]:
    """Apply a function to items on several threads, and yield the results in order.

    Parameters
    ----------
    function : callable
        Must release the interpreter's lock to gain from threads.
    items : iterator
        Runs on a separate thread, as in `run_ahead`, at most ``workers + 2`` items ahead.
    workers : int
    waiting : callable
        As for `run_ahead`.
    """
    with ThreadPoolExecutor(workers, "reading") as pool:

        def under_way() -> Generator[Future[Result], None, None]:
            try:
                for item in items:
                    yield submitted(pool, function, item)
            finally:
                if close := getattr(items, "close", None):
                    close()

        with closing(run_ahead(under_way(), workers + 2, waiting)) as futures:
            for future in futures:
                while not future.done():
                    wait([future], timeout=PATIENCE)
                    waiting()
                yield future.result()


def submitted(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], item: Item
) -> Future[Result]:
    """Call a function on a thread of a pool, or at once if no thread can be started."""
    try:
        check_room_for_thread()
        return pool.submit(function, item)
    except RuntimeError:
        done: Future[Result] = Future()
        try:
            done.set_result(function(item))
        except Exception as error:
            done.set_exception(error)
        return done
