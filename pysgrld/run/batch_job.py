"""When the batch system will end this job, by a clock that nobody sets."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping

#: Seconds that the batch system has to answer.
PATIENCE = 5


def boot_clock() -> float:
    """Return the seconds since boot, suspension included; no change of the date moves it."""
    # macOS has no clock of that name; its monotonic one counts suspension, too
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def job_end(environment: Mapping[str, str] | None = None) -> float | None:
    """Return when the batch system will end this job, by `boot_clock`; None if it does not say.

    Newer releases of SLURM say it in ``SLURM_JOB_END_TIME``; others are asked once, by ``squeue``.
    """
    environment = os.environ if environment is None else environment
    try:
        end = float(environment["SLURM_JOB_END_TIME"])
    except (KeyError, ValueError):
        job = environment.get("SLURM_JOB_ID", "")
        left = _seconds_left(job) if job.isdigit() else None
        return None if left is None else boot_clock() + left
    # The date is read once, here: a clock that is set later has no effect.
    return boot_clock() + (end - time.time())


def _seconds_left(job: str) -> float | None:
    """Ask SLURM how long a job may still run; None where it gives no time."""
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.fullmatch(r"(?:(\d+)-)?((?:\d+:){0,2}\d+)", done.stdout.strip())
    if not found:
        return None  # UNLIMITED, INVALID, nothing
    parts = [int(part) for part in found[2].split(":")]
    units = (3600, 60, 1) if found[1] or len(parts) == 3 else (60, 1)
    within = sum(n * unit for n, unit in zip(parts, units, strict=False))
    return 86400.0 * int(found[1] or 0) + within
