"""The compiled core, with the instruction set chosen: ``SGMC_ISA=baseline|avx2|avx512`` forces one.

Every other module takes the core from here, so that the environment is read once.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysgrld.errors import CorpusError, UsageError, check_interpreter
from pysgrld.types import Int64s

if TYPE_CHECKING:
    import pysgrld._core as core
else:
    check_interpreter()
    try:
        core = importlib.import_module("pysgrld._core")
    except ModuleNotFoundError as error:
        if error.name != "pysgrld._core":
            raise
        folder = Path(__file__).parents[2]
        raise ImportError(
            f"{folder} is the source of sgmc, which is not compiled, and hides the installed package: "
            "run Python in another folder, or install it in place with: pip install -e ."
        ) from None

__all__ = ["check_lengths", "core", "padded"]

if os.environ.get("SGMC_ISA"):
    try:
        core.use_isa(os.environ["SGMC_ISA"])
    except ValueError as error:
        raise UsageError(f"SGMC_ISA: {error}") from None


def padded(k: int) -> int:
    """Return the columns of a row that holds K topics: K rounded up to the width of a vector."""
    return -(-k // core.ROW_PAD) * core.ROW_PAD


def check_lengths(lengths: Int64s, kept: int, what: str, ids: Int64s | None = None) -> None:
    """Refuse documents that are too long to be counted exactly.

    Parameters
    ----------
    lengths : (n,) int64
        Tokens of each document.
    kept : int
        Number of sweeps with counted topics.
    what : str
        "document" or "held-out document".
    ids : (n,) int64, optional
        Positions of the documents, from 0, unless all of them are listed.

    Raises
    ------
    CorpusError
        Naming the longest.
    """
    most = core.MAX_COLLECTED // kept
    at = int(np.argmax(lengths)) if len(lengths) else 0
    if len(lengths) and lengths[at] > most:
        number = (at if ids is None else int(ids[at])) + 1
        raise CorpusError(
            f"{what} {number} has {lengths[at]:,} tokens: in {kept} kept sweeps at most {most:,} can "
            "be counted; split it into several documents"
        )
