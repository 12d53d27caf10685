"""How long a held-out document may be: what is counted over its sweeps must be exact."""

from __future__ import annotations

from pysgrld.core import check_lengths, core
from pysgrld.types import Int64s

#: Sweeps that a document's chain gets when it starts, the second half of them kept.
FRESH_SWEEPS = 50


def check_observed(lengths: Int64s) -> None:
    """Refuse held-out documents of which too many tokens are observed to be counted.

    Parameters
    ----------
    lengths : (n,) int64
        Observed tokens of each document.

    Raises
    ------
    CorpusError
        Naming the longest.
    """
    check_lengths(lengths, FRESH_SWEEPS // 2, "held-out document")


def longest_counted(sweeps: int) -> int:
    """Give the most tokens of a document that can be counted over the second half of some sweeps."""
    return core.MAX_COLLECTED // (sweeps // 2)
