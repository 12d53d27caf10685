"""Schedules of repeated actions, by number of iterations or by seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pysgrld.options.parse import duration
from pysgrld.types import Array

#: Minimum number of seconds of training before the state is first stored. After each storing, the
#: wait doubles.
_FIRST = 0.25
#: If a state is large, the first wait is one second for this number of bytes. Storing thus takes a
#: few percent of the time.
_BYTES_PER_SECOND = 50e6


def first_checkpoint_seconds(arrays: Iterable[Array]) -> float:
    """Return the seconds until the first checkpoint, which increase with the size of the state."""
    return max(_FIRST, sum(array.nbytes for array in arrays) / _BYTES_PER_SECOND)


class Every:
    """Schedule of an action that is repeated after some iterations or some seconds of training.

    Parameters
    ----------
    interval : int or str
        Number of iterations, or a duration such as ``15m``.
    step, seconds : int, float
        Number of iterations, and seconds of training, done so far.
    least : int
        Minimum number of iterations between two times, if the interval is a duration.
    first : float
        Seconds to the first time, if the interval is a duration; the wait then doubles each time,
        up to that duration.

    Attributes
    ----------
    last : tuple of int and float
        Iteration, and seconds of training, at which the action was last done.
    """

    def __init__(
        self,
        interval: int | str,
        step: int,
        seconds: float,
        least: int = 0,
        first: float = math.inf,
    ) -> None:
        self.steps = interval if isinstance(interval, int) else None
        self.seconds = math.inf if isinstance(interval, int) else duration(interval)
        self.last, self.least, self._next = (step, seconds), least, first

    def due(self, step: int, seconds: float) -> bool:
        """Return True if the action is due at an iteration and time."""
        if self.steps is not None:
            return step % self.steps == 0 and step != self.last[0]
        distance = min(self.seconds, self._next)
        return seconds - self.last[1] >= distance and step - self.last[0] >= self.least

    def done(self, step: int, seconds: float) -> None:
        """Record that the action was done at an iteration and time."""
        self.last = step, seconds
        self._next *= 2
