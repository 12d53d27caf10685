"""When a look at the score, or a checkpoint, is due."""

from __future__ import annotations

import math

from pysgrld.options.parse import duration


class Every:
    """Says when something is due: after so many iterations, or so many seconds of training.

    Parameters
    ----------
    interval : int or str
        Iterations, or a duration such as ``15m``.
    step, seconds : int, float
        Where training stands now.
    least : int
        Iterations that are between two of a clock at least.
    """

    def __init__(self, interval: int | str, step: int, seconds: float, least: int = 0) -> None:
        self.steps = interval if isinstance(interval, int) else None
        self.seconds = math.inf if isinstance(interval, int) else duration(interval)
        self.last, self.least = (step, seconds), least

    def due(self, step: int, seconds: float) -> bool:
        """Say whether it is due now."""
        if self.steps is not None:
            return step % self.steps == 0 and step != self.last[0]
        return seconds - self.last[1] >= self.seconds and step - self.last[0] >= self.least

    def done(self, step: int, seconds: float) -> None:
        """Remember that it was done now."""
        self.last = step, seconds
