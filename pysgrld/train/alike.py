"""Members of a communicator made alike before they train: version, instruction set, threads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pysgrld.chain.ranks.protocol import Communicator
from pysgrld.core import core
from pysgrld.corpus.listener import Listener
from pysgrld.errors import LaunchError, plural
from pysgrld.run.machine import threads, version
from pysgrld.train.plan import Sharing


def make_alike(comm: Communicator, given: Mapping[str, Any], listener: Listener) -> Sharing:
    """Compare versions of the members, take the instruction set that all have, and say how many they are.

    Returns
    -------
    Sharing
        How many there are.

    Raises
    ------
    LaunchError
        If they are of other versions.
    """
    count = threads(given.get("threads"))
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    members = comm.gather((version(), core.isa(), comm.host, count.number, cpus))
    versions, isas, hosts, numbers, _ = zip(*members, strict=True)
    for rank, found in enumerate(versions):
        if found != versions[0]:
            raise LaunchError(
                f"--mpi: rank {rank} on {hosts[rank]} has sgmc {found}, rank 0 has {versions[0]}: "
                "install the same version everywhere"
            )
    if len(set(isas)) > 1:
        order = core.available_isas()  # each has all that come before its own
        least = min(isas, key=lambda isa: order.index(isa) if isa in order else len(order))
        core.use_isa(least)
        if comm.rank == 0:
            listener.note(f"processors differ: all ranks use the instruction set {least}")
    sharing = Sharing(comm.size, hosts.count(comm.host))
    if comm.rank:
        return sharing
    each = plural(count.number, "thread")
    if len(set(numbers)) > 1:
        each = f"{min(numbers)} to {max(numbers)} threads"
    listener.note(
        f"{plural(comm.size, 'rank')} on {plural(len(set(hosts)), 'node')}, {each} each "
        f"({count.source}); {comm.library}"
    )
    for host in dict.fromkeys(hosts):
        here = [m for m in members if m[2] == host]
        used, there = sum(m[3] for m in here), len({cpu for m in here for cpu in m[4]})
        if used > there > 0:
            listener.note(
                f"warning: {plural(len(here), 'rank')} on {host} use {used} threads on {there} CPUs, "
                "and wait for each other: give --threads, or start fewer"
            )
            break
    return sharing
