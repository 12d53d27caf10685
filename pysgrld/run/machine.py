"""The version of this program, and the threads and memory that it may use: no more than it was given."""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import shutil
import threading
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from pysgrld.core import core

_CGROUP = Path("/sys/fs/cgroup")

#: Threads that anybody may ask for.
MOST = 4096

#: Bytes that a thread of Python needs beside its stack before it can say that it runs.
_FIRST_OBJECTS = 4 << 20
_USUAL_STACK = 8 << 20


@cache
def version() -> str:
    """Return the version of sgmc, as its distribution's metadata has it."""
    return metadata.version("pysgrld")


class Threads(NamedTuple):
    """Number of threads, where it comes from, and whether more were wanted than there may be."""

    number: int
    source: str
    fewer: bool = False


def check_room_for_thread() -> None:
    """Refuse to start a thread of Python for which there is no memory.

    One that finds no room for its first objects ends without a word, and whoever started it waits
    for it for ever.

    Raises
    ------
    RuntimeError
        As where the system allows no more threads.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    stack = threading.stack_size() or (limit if limit != resource.RLIM_INFINITY else _USUAL_STACK)
    try:
        mmap.mmap(-1, stack + _FIRST_OBJECTS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise RuntimeError("no memory for another thread") from None


def threads(given: int | None, environment: Mapping[str, str] | None = None) -> Threads:
    """Give the number of threads: as asked for, else by the environment, else what the system allows.

    Order: ``--threads``, ``OMP_NUM_THREADS``, ``SLURM_CPUS_PER_TASK``, then the smaller of the CPU
    affinity and the cgroup's quota. Never the number of processors of the machine, and never more
    than this process can start beside the one that reads ahead.
    """
    wanted = _wanted(given, environment)
    if wanted.number == 1:
        return wanted
    ask = min(wanted.number + 1, MOST)
    can = core.startable_threads(ask)
    if can < ask:
        source = f"{wanted.source} {wanted.number}; a limit of processes or memory allows no more"
        return Threads(max(1, can - 1), source, fewer=True)
    return wanted


def _wanted(given: int | None, environment: Mapping[str, str] | None) -> Threads:
    environment = os.environ if environment is None else environment
    if given is not None:
        return Threads(given, "--threads")
    for name in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        value = environment.get(name, "").split(",")[0].strip()
        if value.isdigit() and int(value) > 0:
            return Threads(min(int(value), MOST), name)
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    quota = _cgroup_cpus()
    if quota is not None and quota < affinity:
        return Threads(quota, "cgroup quota")
    return Threads(affinity, "CPU affinity")


#: Commands of batch systems that submit a job, and variables that say this is one.
_SUBMIT = ("sbatch", "qsub", "bsub", "condor_submit")
_IN_A_JOB = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "_CONDOR_JOB_AD")

#: Threads that nobody minds on a login node.
FEW_THREADS = 8


def login_node(count: Threads, environment: Mapping[str, str] | None = None) -> str | None:
    """Give a line to say where many threads are taken unasked on what looks like a login node."""
    environment = os.environ if environment is None else environment
    asked = count.source in ("--threads", "OMP_NUM_THREADS")
    if count.number <= FEW_THREADS or asked or any(environment.get(n) for n in _IN_A_JOB):
        return None
    found = next((c for c in _SUBMIT if shutil.which(c, path=environment.get("PATH"))), None)
    if found is None:
        return None
    return (
        f"there is a batch system here ({found}) and this is no job of it: on a login node use "
        f"fewer than {count.number} threads, with --threads"
    )


def _cgroup_cpus() -> int | None:
    """Give the CPU quota of this cgroup (v2, else v1), rounded up; None without one."""
    try:
        quota, period = (_CGROUP / "cpu.max").read_text().split()[:2]
    except (OSError, ValueError):
        try:
            quota = (_CGROUP / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (_CGROUP / "cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return max(1, -(-int(quota) // int(period)))


def allowed_memory() -> int | None:
    """Give the bytes that this process may use: the cgroup's limit or the machine's memory."""
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
    """Give the memory that this process holds now, in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
