"""The values of ``--eta``, the Dirichlet prior of words: a number, one for each layer, or learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.options.learned import ETA


def check_one_eta(given: Mapping[str, Any]) -> None:
    """Raise unless ``--eta`` has one value, for models with one layer of topics.

    Raises
    ------
    UsageError
    """
    eta = given.get("eta", ())
    if isinstance(eta, tuple | list) and len(eta) > 1:
        raise UsageError(f"--eta has {len(eta)} numbers: give one, or one for each layer")


def lowest_eta(eta: float | str | Sequence[float]) -> float:
    """Return the prior of topics over words: the number, the first of several, or its start."""
    if isinstance(eta, str):
        return ETA
    return eta if isinstance(eta, float | int) else eta[0]
