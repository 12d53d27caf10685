"""The compiled core, with the instruction set chosen: ``SGMC_ISA=baseline|avx2|avx512`` forces one.

Every other module takes the core from here, so that the environment is read once.
"""

from __future__ import annotations

import os

from pysgrld import _core as core
from pysgrld.errors import UsageError

__all__ = ["core", "padded"]

if os.environ.get("SGMC_ISA"):
    try:
        core.use_isa(os.environ["SGMC_ISA"])
    except ValueError as error:
        raise UsageError(f"SGMC_ISA: {error}") from None


def padded(k: int) -> int:
    """Columns of a row that holds K topics: K rounded up to the width of a vector."""
    return -(-k // core.ROW_PAD) * core.ROW_PAD
