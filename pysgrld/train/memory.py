"""A check of the memory that a run will need, before it starts."""

from __future__ import annotations

import logging

from pysgrld.errors import MemoryLimitError
from pysgrld.models.protocol import Extent
from pysgrld.models.table import model_of
from pysgrld.options.facts import Facts
from pysgrld.options.resolved import Resolved
from pysgrld.run.machine import allowed_memory

logger = logging.getLogger(__name__)

#: Bytes of the program and its libraries, whatever the model.
PROGRAM = 80 << 20


def check_memory(
    options: Resolved, facts: Facts, extent: Extent, chains: int = 1, ranks: int = 1
) -> None:
    """Log how much memory the run will need, and refuse it if that is more than allowed.

    Parameters
    ----------
    options : Resolved
    facts : Facts
    extent : Extent
    chains : int
        Runs of the kind that train at the same time.
    ranks : int
        Processes of this machine that train one chain together; each holds all topics.

    Raises
    ------
    MemoryLimitError
        Naming the parts, and what makes them smaller.
    """
    model = model_of(options.model)
    need = model.memory(options, facts, extent) | {"program and libraries": PROGRAM}
    total = sum(need.values())
    allowed = options.max_memory or allowed_memory()
    number, what = max((chains, "runs at a time"), (ranks, "ranks of this machine"))
    who = f"{number} {what} need" if number > 1 else "needs"
    logger.info("%s about %s of memory", who, _megabytes(number * total))
    if allowed is not None and number * total > allowed:
        parts = ", ".join(f"{name} {_megabytes(n)}" for name, n in need.items() if n)
        who = f"each of {number} {what}" if number > 1 else "the run"
        fewer = "fewer --chains or --jobs, " if chains > 1 else "fewer ranks, " if ranks > 1 else ""
        raise MemoryLimitError(
            f"{who} needs about {_megabytes(total)} ({parts}), allowed are {_megabytes(allowed)}: "
            f"use {fewer}"
            f"{'fewer --topics, ' if options.topics else ''}a smaller --max-vocab, or a larger "
            "--max-memory"
        )


def _megabytes(n: int) -> str:
    return f"{n / 2**20:,.0f} MB"
