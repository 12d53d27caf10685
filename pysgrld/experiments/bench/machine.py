"""The machine that figures are measured on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.core import core
from pysgrld.errors import UsageError
from pysgrld.run.machine import threads, version


def use_isa(name: str) -> None:
    """Choose the instruction set of the kernels.

    Raises
    ------
    UsageError
        If there is none of that name here.
    """
    try:
        core.use_isa(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def machine() -> dict[str, Any]:
    """Describe what a figure depends on: processor, instruction set, versions, load, and date."""
    count = threads(None)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "isa": core.isa(),
        "threads": count.number,
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": core.compiler,
        "pysgrld": version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = " ".join(line.split(":", 1)[1].split())
                return f"{name}, model {_field('cpu model')} model {_field('model')}"
    except OSError:
        pass
    return platform.processor() or "unknown"


def _field(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        left, _, right = line.partition(":")
        if left.strip() == name:
            return right.strip()
    return "unknown"
