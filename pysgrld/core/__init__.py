"""The compiled core; the environment variable ``SGMC_ISA`` selects its instruction set.

Its values are ``baseline``, ``avx2`` and ``avx512``. Every other module imports the core from here,
so that the variable is read once.
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
            f"{folder} has the uncompiled source of sgmc, which Python finds before the installed "
            "package; run Python in another folder, or compile the source with: pip install -e ."
        ) from None

__all__ = ["check_lengths", "core", "padded_width"]

if os.environ.get("SGMC_ISA"):
    try:
        core.use_isa(os.environ["SGMC_ISA"])
    except ValueError as error:
        raise UsageError(f"SGMC_ISA: {error}") from None


def padded_width(k: int) -> int:
    """Return the number of columns of padded matrices of K topics: a multiple of 16.

    Parameters
    ----------
    k : int
        Number of topics.

    Returns
    -------
    int
    """
    return -(-k // core.ROW_PAD) * core.ROW_PAD


def check_lengths(
    lengths: Int64s, kept_sweeps: int, subject: str, ids: Int64s | None = None
) -> None:
    """Raise an error if a document is so long that the counts of its topics would overflow.

    Parameters
    ----------
    lengths : (n,) int64
        Number of tokens of each document.
    kept_sweeps : int
        Number of sweeps over which the topics of tokens are counted.
    subject : str
        "document" or "held-out document".
    ids : (n,) int64, optional
        Positions of the documents, from 0, unless all of them are listed.

    Raises
    ------
    CorpusError
        The message names the longest document.
    """
    most = core.MAX_COLLECTED // kept_sweeps
    longest = int(np.argmax(lengths)) if len(lengths) else 0
    if len(lengths) and lengths[longest] > most:
        number = (longest if ids is None else int(ids[longest])) + 1
        raise CorpusError(
            f"{subject} {number} has {lengths[longest]:,} tokens, but the maximum is {most:,}, "
            f"because its counts in {kept_sweeps} sweeps are added; split the document"
        )
