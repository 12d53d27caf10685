"""Timing of a benchmark, its row in the table of results, and a description of the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.errors import UsageError
from pysgrld.run.machine import RELEASE, processor_name, threads

#: Version of the layout of result files. Files of other versions are not compared.
SCHEMA = 1


class Timing(NamedTuple):
    """Benchmark with its group, name and unit; the method ``run`` measures it.

    Attributes
    ----------
    group, name, unit : str
        The subject of the measurement, and its unit.
    run : callable (repeats) -> list of float
        Returns one value in ``unit`` per repeat.
    """

    group: str
    name: str
    unit: str
    run: Callable[[int], list[float]]


def nanoseconds(work: Callable[[int], object], units: int, repeats: int) -> list[float]:
    """Time ``work(step)`` for step = 1, 2, ...; step 0 is a warm-up and is not timed.

    Returns
    -------
    list of float
        CPU nanoseconds per unit of work, for each repeat; one call does ``units`` units.
    """
    work(0)
    values = []
    for step in range(1, repeats + 1):
        began = time.process_time_ns()
        work(step)
        values.append(max(1, time.process_time_ns() - began) / units)
    return values


def result_row(group: str, name: str, unit: str, values: list[float]) -> dict[str, Any]:
    """Return a row of results: the median and the range of the repeats, rounded to four digits."""
    numbers = {"value": median(values), "low": min(values), "high": max(values)}
    digits = {key: float(f"{value:.4g}") for key, value in numbers.items()}
    return {"group": group, "name": name, "unit": unit, **digits}


def machine() -> dict[str, Any]:
    """Return the conditions of a measurement: processor, instruction set, versions, load, date."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": processor_name(),
        "isa": core.isa(),
        "threads": threads(None).number,
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": core.compiler,
        "pysgrld": RELEASE,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def use_isa(name: str) -> None:
    """Set the instruction set of the kernels.

    Parameters
    ----------
    name : str
        Name of an instruction set.

    Raises
    ------
    UsageError
        If this build has no instruction set of that name.
    """
    try:
        core.use_isa(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
