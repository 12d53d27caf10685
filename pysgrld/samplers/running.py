"""Running estimates that steps are scaled by: M of Cong, Chen, Liu and Zhou (2017), eq. 18."""

from __future__ import annotations

import numpy as np

from pysgrld.types import Doubles, Int64s, Schedule


def no_estimate(size: int) -> tuple[Doubles, Int64s]:
    """Give M of ``size`` numbers that are not known yet, and how often it was updated, (1,): never."""
    return np.zeros(size), np.zeros(1, np.int64)


def update(m: Doubles, updates: Int64s, found: Doubles, weight: Schedule) -> Doubles:
    """Take an estimate of a minibatch into M, in place, and give M.

    The first estimate as it is, then (1 - w) M + w found, w the weight of this update.
    """
    w = 1.0 if updates[0] == 0 else weight(int(updates[0]))
    m += w * (found - m)
    updates += 1
    return m
