"""Conversion of single field values to texts, and of texts to numbers, times and truth values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pysgrld.corpus._columns import iso_time

#: Tags for the type that a value has in the input. A CELL is a value of CSV, which is text but may
#: stand for a number.
MISSING, STRING, CELL, INTEGER, REAL, FLAG, TIME = range(7)

#: Number that is stored instead of a missing integer or time. NaN is stored instead of a missing
#: real number, and -1 instead of a missing flag or category.
NONE = -(2**63)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})")
_REAL = re.compile(rb"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_TIME = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].{1,40})?")
_MONTH = re.compile(rb"[0-9]{4}-[0-9]{2}")
_FLAGS = {b"true": 1, b"false": 0}


def spelled(value: Any, typed: bool) -> tuple[int, bytes]:
    """Return the type tag of a value, and the value as UTF-8 text; NaN and "" count as missing.

    Parameters
    ----------
    value : object
        Value as read from the input: text, a number, a truth value, a time, or None.
    typed : bool
        Whether text is always text; if False it is a cell, which may stand for a number.
    """
    if type(value) is str:
        if not value:
            return MISSING, b""
        return STRING if typed else CELL, value.encode("utf-8", "replace")
    if value is None:
        return MISSING, b""
    if isinstance(value, bool):
        return FLAG, b"true" if value else b"false"
    if isinstance(value, int):
        return INTEGER, str(value).encode()
    if isinstance(value, float | Decimal):
        finite = math.isfinite(value)
        return (REAL, repr(float(value)).encode()) if finite else (MISSING, b"")
    if isinstance(value, datetime | date):
        return TIME, value.isoformat().encode()
    if isinstance(value, bytes):
        return STRING if value else MISSING, value.decode("utf-8", "replace").encode()
    return STRING, str(value).encode("utf-8", "replace")


def integer(value: bytes) -> int | None:
    """Parse a whole number of at most 64 bits; return None for any other text.

    Parameters
    ----------
    value : bytes
        Value as spelled.

    Returns
    -------
    int or None
        The number.
    """
    if not _INTEGER.fullmatch(value):
        return None
    number = int(value)
    return number if -(2**63) < number < 2**63 else None


def real(value: bytes) -> float | None:
    """Parse a finite number in decimal notation; return None for any other text.

    Parameters
    ----------
    value : bytes
        Value as spelled.

    Returns
    -------
    float or None
        The number.
    """
    number = float(value) if _REAL.fullmatch(value) else math.inf
    return number if math.isfinite(number) else None


def microseconds(value: bytes) -> int | None:
    """Convert a date or time in ISO 8601 to microseconds since 1970.

    A time without a time zone is in UTC. A month without a day, such as 2001-05, stands for its
    first day.

    Parameters
    ----------
    value : bytes
        Value as spelled.

    Returns
    -------
    int or None
        Microseconds, or None for text that is no such date.
    """
    # Most columns of times have the format of `iso_time`. It is tried first, because it is fast.
    if (moment := iso_time(value)) is not None:
        return int(moment)
    if _MONTH.fullmatch(value):
        value += b"-01"
    if not _TIME.fullmatch(value):
        return None
    try:
        time = datetime.fromisoformat(value.decode())
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return (time - EPOCH) // MICROSECOND
    except (ValueError, OverflowError):
        return None


def iso(value: int) -> str:
    """Format a time in ISO 8601, in UTC but without a time zone; midnight is formatted as a date.

    Parameters
    ----------
    value : int
        Microseconds since 1970 in UTC.

    Returns
    -------
    str
        Date, or date and time.
    """
    moment = (EPOCH + value * MICROSECOND).replace(tzinfo=None)
    return moment.date().isoformat() if moment.time() == time() else moment.isoformat()


#: Functions that parse a value, by the kind of the column. They return None for a value of another
#: kind. Text and categories need no function.
PARSERS: dict[str, Callable[[bytes], int | float | None]] = {
    "integer": integer,
    "real": real,
    "time": microseconds,
    "flag": lambda value: _FLAGS.get(value.lower()),
}
