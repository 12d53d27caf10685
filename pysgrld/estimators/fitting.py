"""Threads, memory limit, progress lines and Ctrl-C during `fit`."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

import numpy as np

from pysgrld.errors import UsageError, plural
from pysgrld.models.protocol import Extent
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts, Resolved
from pysgrld.run.machine import MOST, allowed_memory, threads
from pysgrld.types import Documents

#: Maximum number of seconds between two progress lines. The first lines follow at shorter
#: intervals.
SELDOM = 30.0
#: Number of seconds after which a progress bar appears.
PATIENCE = 2.0
#: If a parameter has this value, sgmc chooses the behaviour.
AUTO = "auto"


def jobs(n_jobs: Any) -> int:
    """Convert the parameter `n_jobs` to a number of threads, by scikit-learn's rules.

    Parameters
    ----------
    n_jobs : int or None
        A number of threads; -1 for all processors, -2 for all but one, and so on. None stands for
        the number that the environment sets, or else for all processors.

    Raises
    ------
    UsageError
        A `ValueError`, if `n_jobs` is 0 or no whole number.
    """
    if n_jobs is None:
        return threads(None).number
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise UsageError(
            f"n_jobs: wanted a number of threads, or -1 for all processors, found {n_jobs!r}"
        )
    if n_jobs > 0:
        return threads(min(int(n_jobs), MOST)).number
    return max(1, threads(None, {}).number + 1 + int(n_jobs))


def check_memory(
    options: Resolved, facts: Facts, documents: Documents, number: int, n_samples: int = 0
) -> None:
    """Raise `UsageError` if fitting needs more memory than this process is allowed to use.

    Parameters
    ----------
    options : Resolved
        Options of training.
    facts : Facts
        Sizes of the corpus.
    documents : Documents
        Documents with which the chain begins.
    number : int
        Number of threads.
    n_samples : int
        Number of posterior samples to keep.

    Raises
    ------
    UsageError
        A `ValueError` that states the memory needed.
    """
    distinct = int(np.diff(documents.indptr).max(initial=0))
    samples = n_samples * facts.words * sum(options.widths[:1]) * 4

    def needed(facts: Facts, longest: int) -> int:
        extent = Extent(distinct, longest, number, None)
        return samples + sum(find_model(options.model).memory(options, facts, extent).values())

    longest = int(documents.lengths.max(initial=0))
    need, allowed = needed(facts, longest), allowed_memory()
    if allowed is not None and need > allowed:
        entry = int(documents.counts.argmax())
        most, word = int(documents.counts[entry]), int(documents.indices[entry])
        without = facts._replace(tokens=facts.tokens - most)
        if needed(without, max(longest - most, 0)) <= allowed:
            row = int(np.searchsorted(documents.indptr, entry, side="right")) - 1
            raise UsageError(
                f"X[{row}, {word}] is {most:,}: a document with that many tokens needs about "
                f"{need / 2**30:,.1f} GB of memory, but {allowed / 2**30:,.1f} GB may be used; "
                "check that X has counts, and split large documents"
            )
        part = f", of which {samples / 2**30:,.1f} GB for samples" if samples else ""
        fewer = "topics, features or stored samples" if samples else "topics or features"
        raise UsageError(
            f"topics over the {facts.words} features of X need about {need / 2**30:,.1f} GB of "
            f"memory{part}, but {allowed / 2**30:,.1f} GB may be used; use fewer {fewer}"
        )


@dataclass
class Progress:
    """Context manager in which Ctrl-C ends training after the current iteration.

    The loop of the caller checks `interrupted` after each iteration, and leaves the model in a
    valid state. At the end of the context, `KeyboardInterrupt` is raised. A second Ctrl-C aborts
    the iteration. Outside the main thread, or if other code already handles Ctrl-C, signals are not
    handled here.

    Parameters
    ----------
    name : str
        First word of the progress lines.
    verbose : int or "auto"
        1 to print progress lines on standard output: after one second, then at growing intervals of
        up to 30 seconds, and at the end. "auto" for a bar on standard error, if a person watches.

    Attributes
    ----------
    interrupted : bool
        True after a Ctrl-C.
    """

    name: str
    verbose: int | str = 0
    interrupted: bool = False
    _bar: Any = None
    _ours: bool = False
    _due: float = 1.0
    _started: float = field(default_factory=time.monotonic)

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._ours = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.interrupted and kind is None:
            raise KeyboardInterrupt

    def advance(self, iteration: Callable[[], object], done: int) -> None:
        """Do one iteration; Ctrl-C ends training, or raises an error in the first iteration.

        Parameters
        ----------
        iteration : callable
        done : int
            Number of iterations already done.
        """
        try:
            iteration()
        except KeyboardInterrupt:
            if not done:
                raise
            self.interrupted = True

    def _note(self, number: int, frame: FrameType | None) -> Any:
        if self.interrupted:
            signal.default_int_handler(number, frame)
        self.interrupted = True

    def show(self, step: int, total: int | None, parts: list[str], *, last: bool = False) -> None:
        """Print a progress line if `verbose` is set and enough time has passed since the last line.

        Parameters
        ----------
        step : int
            Number of iterations done.
        total : int or None
            Number of iterations to be done, or None if unknown.
        parts : list of str
            Other parts of the line.
        last : bool
            True for the last line.
        """
        seconds = time.monotonic() - self._started
        if self.verbose == AUTO:
            if _is_watched():
                self._move_bar(step, total, parts, seconds)
            return
        if not self.verbose or not (last or seconds >= self._due):
            return
        self._due = seconds + min(seconds, SELDOM)
        done = plural(step, "iteration") if total is None else f"iteration {step:,} of {total:,}"
        line = ", ".join([done, *parts, f"{seconds:.1f} s"])
        sys.stdout.write(f"{self.name}: {line}\n")
        sys.stdout.flush()

    def _move_bar(self, step: int, total: int | None, parts: list[str], seconds: float) -> None:
        """Show the progress as a bar, and begin a new bar when another stage begins."""
        from tqdm import tqdm

        if self._bar is None or self._bar.total != total or step < self._bar.n:
            if self._bar is not None:
                self._bar.close()
            delay = max(0.0, PATIENCE - seconds)
            self._bar = tqdm(desc=self.name, total=total, delay=delay, leave=False)
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update(step - self._bar.n)


def _is_watched() -> bool:
    """Return True if standard error is a terminal or a notebook's output."""
    try:
        return "ipykernel" in sys.modules or sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):  # `sys.stderr` is closed or None.
        return False
