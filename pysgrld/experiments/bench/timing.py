"""One figure of the bench, and the clock that kernels and reading are timed by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Timing(NamedTuple):
    """One figure, which is measured by calling ``run``.

    Attributes
    ----------
    group, name, unit : str
    run : callable (repeats) -> list of float
        The figure in ``unit``, a value per repeat.
    """

    group: str
    name: str
    unit: str
    run: Callable[[int], list[float]]


def nanoseconds(work: Callable[[int], object], units: int, repeats: int) -> list[float]:
    """Time ``work(step)`` for steps 1, 2, ...; step 0 warms up and is not timed.

    Returns
    -------
    list of float
        CPU nanoseconds per unit, for each repeat; a call is ``units`` units of work.
    """
    work(0)
    values = []
    for step in range(1, repeats + 1):
        began = time.process_time_ns()
        work(step)
        values.append(max(1, time.process_time_ns() - began) / units)
    return values
