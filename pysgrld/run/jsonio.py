"""JSON as this package writes it: plain values, sorted keys, never NaN."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, NoReturn

import numpy as np


def now() -> str:
    """Return the UTC time to the millisecond: ``2026-01-31T12:00:00.000Z``."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(value: Any, *, nonfinite_is_null: bool = False, where: str = "") -> Any:
    """Turn NumPy scalars, tuples, sets and paths into what JSON has.

    Raises
    ------
    ValueError
        For NaN or infinity, unless they are to become null.
    TypeError
        For anything that JSON has no word for.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        if nonfinite_is_null:
            return None
        raise ValueError(f"{where or 'a value'} is {value}, which JSON cannot hold")
    if isinstance(value, dict):
        return {
            str(key): plain(item, nonfinite_is_null=nonfinite_is_null, where=f"{where}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item, nonfinite_is_null=nonfinite_is_null, where=where) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{where or 'a value'} is a {type(value).__name__}, which JSON cannot hold")


def pretty(value: Any) -> bytes:
    """Return the bytes by which a value is written to a file of its own."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def line(value: Any) -> bytes:
    """Return one line of a ``.jsonl`` file, keys in the order given."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def parse(data: bytes) -> Any:
    """Parse strict JSON: no NaN, no key twice, nesting within reason.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
