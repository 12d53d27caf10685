"""The Dirichlet prior of words as ``--eta`` gives it: a number, one for each layer, or learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.options.learned import ETA


def check_one_eta(given: Mapping[str, Any]) -> None:
    """Refuse more than one prior, where there is one layer of topics.

    Raises
    ------
    UsageError
    """
    eta = given.get("eta", ())
    if isinstance(eta, tuple | list) and len(eta) > 1:
        raise UsageError(f"--eta has {len(eta)} numbers: give one, or one for each layer")


def lowest_eta(eta: float | str | Sequence[float]) -> float:
    """Give the prior of topics over words: a number, the first of a list, or where it begins."""
    if isinstance(eta, str):
        return ETA
    return eta if isinstance(eta, float | int) else eta[0]
