"""Threads, memory and time available to this process, and sgmc's version.

This module has all code that depends on the operating system or a batch system, except for locks
and signals.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pysgrld.core import core

#: Maximum number of threads that a user can request.
MOST = 4096

#: Version of sgmc, equal to the version in `pyproject.toml`. Reading it from the installed metadata
#: would be slow.
RELEASE = "1.0.0rc1"

#: Number of threads up to which a process does not disturb other users of a login node.
FEW_THREADS = 8

#: Seconds to wait for an answer of the batch system.
PATIENCE = 5

#: Environment variables with the current job's id: SLURM, PBS, LSF, Grid Engine, HTCondor.
_JOB = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "CONDOR_JOB_ID")

#: Commands with which users submit jobs to batch systems.
_SUBMIT = ("sbatch", "qsub", "bsub", "condor_submit")

_CGROUP, _PROC, _CPUINFO = Path("/sys/fs/cgroup"), Path("/proc"), Path("/proc/cpuinfo")

#: Number of bytes of memory that a Python thread needs to start, in addition to its stack.
_FIRST_OBJECTS = 4 << 20
#: Assumed size of a thread's stack in bytes if the system sets no limit.
_USUAL_STACK = 8 << 20


# ---- threads


class Threads(NamedTuple):
    """Number of threads, source of this number, and whether fewer were allowed than requested."""

    number: int
    source: str
    fewer: bool = False


def threads(requested: int | None, environment: Mapping[str, str] | None = None) -> Threads:
    """Return the number of threads to use, from an option, the environment or the processors.

    The sources are, in this order: ``--threads``, ``OMP_NUM_THREADS``, ``SLURM_CPUS_PER_TASK``, and
    the smaller of the CPU affinity and the cgroup's quota. The number of processors of the machine
    is used only if the system has no CPU affinity (macOS). The result is never more than this
    process can start in addition to the thread that reads ahead.

    Parameters
    ----------
    requested : int or None
        Value of ``--threads``, or None if it was not given.
    environment : mapping, optional
        By default the environment of this process.

    Returns
    -------
    Threads
        At least 1 thread.
    """
    environment = os.environ if environment is None else environment
    number, source = requested, "--threads"
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        value = environment.get(name, "").split(",")[0].strip()
        if number is None and value.isdigit() and int(value) > 0:
            number, source = min(int(value), MOST), name
    if number is None:
        cpus = processors()
        number, source = len(cpus), "CPU affinity"
        if not cpus:  # On macOS, the system does not list the processors.
            number, source = os.cpu_count() or 1, "processors"
        # CPU time that this cgroup may use per period, from files of cgroup version 2 or 1.
        quota = period = ""
        for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
            with contextlib.suppress(OSError, ValueError):
                texts = [(_CGROUP / name).read_text() for name in files]
                quota, period = " ".join(texts).split()[:2]
                break
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            allowed = max(1, -(-int(quota) // int(period)))
            if allowed < number:
                number, source = allowed, "cgroup quota"
    if number > 1:
        ask = min(number + 1, MOST)
        can = core.startable_threads(ask)
        if can < ask:
            source = f"{source} {number}, reduced by a limit on processes or memory"
            return Threads(max(1, can - 1), source, fewer=True)
    return Threads(number, source)


def processors() -> list[int]:
    """Return the processors that this process may use; empty if the system does not list them.

    Returns
    -------
    list of int
        Numbers of the processors.
    """
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def processor_name() -> str:
    """Return the processor's name, with family and model if the system reports them."""
    name = platform.processor() or "unknown"
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in _CPUINFO.read_text().splitlines():
            field, _, value = line.partition(":")
            fields.setdefault(field.strip(), value.strip())
    if "model name" in fields:
        family, model = (fields.get(field, "unknown") for field in ("cpu family", "model"))
        return f"{' '.join(fields['model name'].split())}, family {family} model {model}"
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            name = subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.strip()
    return name


def login_node(count: Threads, environment: Mapping[str, str] | None = None) -> str | None:
    """Return a warning if many threads run by default on a machine that may be a login node.

    Parameters
    ----------
    count : Threads
        As `threads` returns it.
    environment : mapping, optional
        By default the environment of this process.

    Returns
    -------
    str or None
        The warning, one line, or None.
    """
    environment = os.environ if environment is None else environment
    is_explicit = count.source in ("--threads", "OMP_NUM_THREADS")
    in_a_job = any(environment.get(name) for name in (*_JOB, "_CONDOR_JOB_AD"))
    if count.number <= FEW_THREADS or is_explicit or in_a_job:
        return None
    command = next((c for c in _SUBMIT if shutil.which(c, path=environment.get("PATH"))), None)
    if command is None:
        return None
    return (
        f"this machine has a batch system ({command}), but sgmc runs outside of its jobs; on a "
        f"login node, use fewer than {count.number} threads (--threads)"
    )


def check_room_for_thread() -> None:
    """Raise an error if memory does not suffice for another Python thread.

    A thread that cannot allocate its first objects ends without an error, and the thread that
    started it waits for ever.

    Raises
    ------
    RuntimeError
        The same error that Python raises if the system allows no more threads.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    stack = threading.stack_size() or (limit if limit != resource.RLIM_INFINITY else _USUAL_STACK)
    try:
        mmap.mmap(-1, stack + _FIRST_OBJECTS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise RuntimeError("no memory for another thread; use fewer threads") from None


# ---- memory


def allowed_memory() -> int | None:
    """Return the memory that this process may use: the limit of the cgroup, or of the machine.

    Returns
    -------
    int or None
        The smaller of both limits, in bytes, or None if both are unknown.
    """
    limits = []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            value = (_CGROUP / name).read_text().strip()
        except OSError:
            continue
        if value.isdigit():
            limits.append(int(value))
    with contextlib.suppress(OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)


def rss_bytes() -> int:
    """Return this process's resident memory in bytes, or 0 if the system does not report it."""
    try:
        pages = int((_PROC / "self" / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


# ---- time, and batch jobs


def boot_clock() -> float:
    """Return the seconds since boot, including suspended time; independent of the date."""
    # macOS has no CLOCK_BOOTTIME, but its CLOCK_MONOTONIC also counts time in suspension.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def process_start() -> float:
    """Return this process's start time by `boot_clock`, or the current time if it is unknown."""
    try:
        started = int(_status("self")[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return boot_clock()
    return started if 0 < started <= boot_clock() else boot_clock()


def sign_of_life(process: int) -> str | None:
    """Return a process's state and CPU time, or None if the system does not report them.

    Parameters
    ----------
    process : int
        Id of the process.

    Returns
    -------
    str or None
        State and CPU time in ticks, as text to be compared with a later result.
    """
    try:
        fields = _status(str(process))
        return " ".join([fields[0], *fields[11:13]])
    except OSError:
        return None


def _status(process: str) -> list[str]:
    """Return the fields of /proc/N/stat after the name; field 19 is the start time in ticks."""
    text = (_PROC / process / "stat").read_text("utf-8", "replace")
    # The program's name may contain parentheses, so the last parenthesis ends the name.
    return text.rpartition(")")[2].split()


def job_id(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the id of this process's batch job, or None outside of a batch job."""
    environment = os.environ if environment is None else environment
    return next((environment[name] for name in _JOB if environment.get(name)), None)


def job_end(environment: Mapping[str, str] | None = None) -> float | None:
    """Return the `boot_clock` time at which this batch job will be ended, or None if unknown.

    Newer releases of SLURM set ``SLURM_JOB_END_TIME``; for older ones ``squeue`` is called once.
    """
    environment = os.environ if environment is None else environment
    with contextlib.suppress(KeyError, ValueError):
        # Convert the date to a time of `boot_clock` now, so that later changes of the system's date
        # have no effect.
        return boot_clock() + (float(environment["SLURM_JOB_END_TIME"]) - time.time())
    job = environment.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        return None
    command = ["squeue", "--noheader", "--jobs", job, "--format", "%L"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.fullmatch(r"(?:(\d+)-)?((?:\d+:){0,2}\d+)", done.stdout.strip())
    if not match:
        return None  # For a job without a time limit, SLURM prints a word instead of a time.
    parts = [int(part) for part in match[2].split(":")]
    units = (3600, 60, 1) if match[1] or len(parts) == 3 else (60, 1)
    seconds = sum(n * unit for n, unit in zip(parts, units, strict=False))
    return boot_clock() + 86400.0 * int(match[1] or 0) + seconds
