"""The Dirichlet prior of words as ``--eta`` gives it: one number, or a list with one for each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysgrld.errors import UsageError


def check_one_eta(given: Mapping[str, Any]) -> None:
    """Refuse more than one prior, where there is one layer of topics.

    Raises
    ------
    UsageError
    """
    eta = given.get("eta", ())
    if isinstance(eta, tuple | list) and len(eta) > 1:
        raise UsageError(f"--eta has {len(eta)} numbers: give one, or one for each layer")


def lowest_eta(eta: float | Sequence[float]) -> float:
    """Give the prior of the topics over words: the number, or the first of a list."""
    return eta if isinstance(eta, float | int) else eta[0]
