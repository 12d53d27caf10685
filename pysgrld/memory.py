"""What a run will need of memory, before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.core import padded
from pysgrld.errors import MemoryLimitError
from pysgrld.evaluate import HeldOut
from pysgrld.models.multinomials import CELLS
from pysgrld.reporter import Listener
from pysgrld.resources import allowed_memory
from pysgrld.samplers import FLOAT_ETA, SAMPLERS
from pysgrld.settings import MIXTURE_TOPICS, Facts


def check_memory(
    options: Mapping[str, Any], facts: Facts, held_out: HeldOut | None, extent: tuple[int, int],
    number: int, listener: Listener, chains: int = 1,
) -> None:  # fmt: skip
    """Say what the run will need, and refuse it if that is more than allowed.

    ``extent`` has the largest numbers of distinct words and of tokens that a document has, ``number``
    is that of threads, and ``chains`` of the runs of the kind that train at a time.
    """
    needs = _of_mixtures if options["model"] == "dpmm" else _of_topics
    need = needs(options, facts, held_out, extent, number)
    need["program and libraries"] = 80 << 20
    total = sum(need.values())
    allowed = options["max-memory"] or allowed_memory()
    listener.note(f"needs about {_megabytes(total)} of memory")
    if chains > 1:
        listener.note(f"{chains} chains need about {_megabytes(chains * total)}")
    if allowed is not None and chains * total > allowed:
        parts = ", ".join(f"{name} {_megabytes(n)}" for name, n in need.items() if n)
        who = f"each of {chains} chains" if chains > 1 else "the run"
        raise MemoryLimitError(
            f"{who} needs about {_megabytes(total)} ({parts}), allowed are {_megabytes(allowed)}: "
            f"use {'fewer --chains, ' if chains > 1 else ''}"
            f"{'fewer --topics, ' if options['topics'] else ''}a smaller --max-vocab, or a larger "
            "--max-memory"
        )


def _of_topics(
    options: Mapping[str, Any], facts: Facts, held_out: HeldOut | None, extent: tuple[int, int],
    number: int,
) -> dict[str, int]:  # fmt: skip
    """Bytes of what a topic model holds."""
    widest, longest = extent
    lazy, k = options["lazy"] == "on", padded(options["topics"])
    cells = facts.words * k
    full, deep = SAMPLERS[options["algo"]].full_batch, bool(options["layers"])
    across = sum(padded(width) for width in options["layers"] or [])
    seen = facts.minibatch_words(options["minibatch"], options["seed"])
    scored = 0 if held_out is None else 24 * held_out.observed.tokens
    scored += 0 if held_out is None else len(held_out.observed) * (k + across) * 8
    return {
        "topics": (4 if np.min(options["eta"]) >= FLOAT_ETA else 8) * cells
        + 8 * facts.words * lazy,
        "a minibatch's topics and counts": (4 + 8) * seen * k + 12 * cells * lazy,
        "documents in hand": 4 * number * (4 * widest * k + 8 * longest),
        "posterior mean": (8 + 4) * cells if options["samples"] else 0,
        "held-out documents": scored,
        "counts of all words": (4 + 8) * cells if options["algo"] == "cgs" else 0,
        "topics of tokens": 8 * facts.tokens if full and not deep else 0,
        "documents between visits": 8 * facts.documents * across if full and deep else 0,
    }


def _of_mixtures(
    options: Mapping[str, Any], facts: Facts, held_out: HeldOut | None, extent: tuple[int, int],
    number: int,
) -> dict[str, int]:  # fmt: skip
    """Bytes of what a mixture holds, if it has no more components than are expected."""
    del number, extent
    k = padded(max(MIXTURE_TOPICS, options["dp-start"]))
    share = options["minibatch"] / facts.documents
    return {
        f"{k} components": 8 * 8 * facts.words * k,  # in double, and copies of them
        "a minibatch": int(8 * share * facts.tokens * 4),
        "components of documents": 4 * facts.documents,
        "held-out documents": 8 * (CELLS + k * len(held_out.held_out)) if held_out else 0,
    }


def _megabytes(n: int) -> str:
    return f"{n / 2**20:,.0f} MB"
