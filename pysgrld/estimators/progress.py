"""Iterations that a person waits for: lines on how far they are, and Ctrl-C between two of them."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, Self

from pysgrld.errors import plural

#: Most seconds between two lines; the first ones come sooner.
SELDOM = 30.0


class Progress:
    """A context around iterations: Ctrl-C within it waits for the end of the iteration.

    Whoever iterates asks `interrupted` after each one, and leaves the model in order; then
    `KeyboardInterrupt` is raised. A second Ctrl-C raises it at once. Outside the main thread, and where
    somebody handles Ctrl-C already, nothing is changed.

    Parameters
    ----------
    name : str
        What the lines begin with.
    verbose : int
        Whether there are lines, on standard output: after a second, then ever more seldom, at most every
        30 seconds, and at the end.

    Attributes
    ----------
    interrupted : bool
    """

    def __init__(self, name: str, verbose: int = 0) -> None:
        self.name, self.verbose, self.interrupted = name, verbose, False
        self._ours = False
        self._started = time.monotonic()
        self._due = 1.0

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._ours = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.interrupted and kind is None:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> Any:
        if self.interrupted:
            signal.default_int_handler(number, frame)
        self.interrupted = True

    def show(self, step: int, of: int | None, more: list[str], *, last: bool = False) -> None:
        """Write a line, if one is wanted and it is time.

        Parameters
        ----------
        step : int
            Iterations done.
        of : int or None
            Iterations to be done, if that is known.
        more : list of str
            Other parts of the line.
        last : bool
            Whether it is the last line.
        """
        seconds = time.monotonic() - self._started
        if not self.verbose or not (last or seconds >= self._due):
            return
        self._due = seconds + min(seconds, SELDOM)
        done = plural(step, "iteration") if of is None else f"iteration {step:,} of {of:,}"
        line = ", ".join([done, *more, f"{seconds:.1f} s"])
        sys.stdout.write(f"{self.name}: {line}\n")
        sys.stdout.flush()
