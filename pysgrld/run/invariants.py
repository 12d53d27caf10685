"""Whether arrays hold what whoever writes or reads them says that they must (`Invariant`)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

import numpy as np

from pysgrld.run.files import PIECE
from pysgrld.types import Array, Condition, Invariant

#: No invariants: what the arrays mean is not known.
NONE: Mapping[str, Invariant] = MappingProxyType({})

#: How far the sum or the norm of a row may be from 1, by rounding to single precision.
TOLERANCE = 1e-3

_WILDCARDS = frozenset("*?[")


def violation(
    name: str, array: Array, invariants: Mapping[str, Invariant], *, finite: bool = False
) -> str | None:
    """Say which invariant an array breaks first, and where; None if it breaks none.

    Parameters
    ----------
    name : str
    array : ndarray
        A matrix, where an invariant is about rows.
    invariants : mapping
        Shell pattern of names to what holds of arrays with such names; all that match count.
    finite : bool
        Whether every float must be finite, whatever the name of its array.
    """
    known = [invariant for pattern, invariant in invariants.items() if fnmatchcase(name, pattern)]
    conditions = {invariant.condition for invariant in known}
    not_negative = Condition.NOT_NEGATIVE in conditions
    looked_at = array.dtype.kind == "f" and (
        finite or not_negative or Condition.FINITE in conditions
    )
    if looked_at and (problem := _first_bad(name, array, not_negative)):
        return problem
    for condition, row in dict.fromkeys(known):
        if condition is Condition.ROWS_SUM_TO_1:
            sums = array.sum(axis=1, dtype=np.float64)
            if (k := _first_off(sums)) is not None:
                return f"{row} {k} sums to {sums[k]:g} and not to 1"
        elif condition is Condition.ROWS_UNIT_NORM:
            norms = np.linalg.norm(array.astype(np.float64), axis=1)
            if (k := _first_off(norms)) is not None:
                return f"{row} {k} has the norm {norms[k]:g} and not 1"
    return None


def required(invariants: Mapping[str, Invariant]) -> list[str]:
    """Return the names that must be there: those of the patterns without a wildcard."""
    return [name for name in invariants if not _WILDCARDS & set(name)]


def _first_bad(name: str, array: Array, not_negative: bool) -> str | None:
    flat = array.reshape(-1)
    for start in range(0, flat.size, PIECE):
        piece = flat[start : start + PIECE]
        bad = ~np.isfinite(piece)
        if not_negative:
            bad |= piece < 0
        if bad.any():
            index = np.unravel_index(start + int(bad.argmax()), array.shape)
            where = ", ".join(str(int(i)) for i in index)
            return f"array {name!r} has {array[index]} at [{where}]"
    return None


def _first_off(values: Array) -> int | None:
    """Return the position of the first value that is not 1; NaN is none either."""
    off = ~(np.abs(values - 1) < TOLERANCE)
    return int(off.argmax()) if off.any() else None
