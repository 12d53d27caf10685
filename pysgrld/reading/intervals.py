"""Credible intervals of figures, from kept posterior samples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pysgrld.types import Array, Doubles

#: Kept samples from which a credible interval is read.
ENOUGH = 20
#: Share of the posterior that lies within an interval.
SHARE = 0.9


def credible_interval(draws: Iterable[Array]) -> tuple[Doubles, Doubles] | None:
    """Give the bounds of the 90 % credible intervals of values that every sample has.

    Parameters
    ----------
    draws : iterable of arrays
        One of each kept sample, all of one shape.

    Returns
    -------
    low, high : float64 arrays of that shape, or None
        The 5 % and 95 % quantiles over the samples; None where they are fewer than 20.
    """
    found = list(draws)
    if len(found) < ENOUGH:
        return None
    tail = (1.0 - SHARE) / 2
    low, high = np.quantile(np.stack(found), (tail, 1.0 - tail), axis=0)
    return low, high
