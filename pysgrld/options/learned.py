"""Priors that a run may learn along with the topics: ``--alpha learn`` and ``--eta learn``.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What stands for the number of a prior that is learned.
LEARN = "learn"
#: Where a learned eta starts, and its mean a priori: what a fixed one is by default up to 100 topics.
ETA = 0.05
#: Names of the blocks that learned priors are.
ALPHA_BLOCK, ETA_BLOCK = "alpha", "eta"


def usual_alpha(topics: int) -> float:
    """Return the default of LDA's alpha, which is also the mean that a learned one has a priori."""
    least = max(0.005, min(0.015, 15.0 / topics))
    return max(least, min(0.1, 5.0 / topics))


def usual_eta(topics: int) -> float:
    """Return the default of LDA's eta: many topics have few tokens each, and want a weak prior."""
    return max(0.01, min(ETA, 5.0 / topics))


def or_learn(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Parse "learn", or what else ``parse`` takes."""

    def parsed(text: str) -> Any:
        return LEARN if text == LEARN else parse(text)

    return parsed
