"""Parsers of dates in common notations; they return microseconds since 1970 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from pysgrld.corpus.about.scalars import EPOCH, MICROSECOND, microseconds
from pysgrld.corpus.deferred import deferred

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_NUMBER_OF_MONTH = {name: i for i, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_NUMBER_OF_MONTH |= {name[:3]: i for i, name in enumerate(_MONTHS, 1)}

_CLOCK = deferred(
    r"[T ,]*\b(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?"
    r"\s*(Z|(?:UTC|GMT)[+-]\d{1,2}|UTC|GMT|[+-]\d\d:?\d\d)?(?:\s*\([A-Za-z ]+\))?"
)
_NUMERIC = deferred(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_YEAR_FIRST = deferred(r"(\d{4})([./])(\d{1,2})(?:\2(\d{1,2}))?")
_WEEKDAY = deferred(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.I)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_MONTH, _YEAR, _GAP = r"(?P<month>[A-Za-z]{3,9})\.?", r"(?P<year>\d{4})", r"[\s,-]+"
_NAMED = [
    deferred(_GAP.join(parts))
    for parts in (
        (_DAY, _MONTH, _YEAR),
        (_MONTH, _DAY, _YEAR),
        (_MONTH, _YEAR),
        (_YEAR, _MONTH, _DAY),
        (_YEAR, _MONTH),
    )
]


class NumericDate(NamedTuple):
    """Times that a numeric date can stand for, one for each order of day, month and year.

    An attribute is None if the date is invalid in that order.
    """

    year_first: int | None
    day_first: int | None
    month_first: int | None


def numeric_date(text: bytes) -> NumericDate | None:
    """Parse a date such as 14.05.2001, 05/14/2001 or 2001/05/14, with or without a time of day.

    With dots, the day comes before the month: 05.06.2001 is in June.

    Parameters
    ----------
    text : bytes
        Value of a cell.

    Returns
    -------
    NumericDate or None
        Microseconds since 1970 for each order of day, month and year.
    """
    date, clock = _split(text)
    if match := _YEAR_FIRST.fullmatch(date):
        year, _, month, day = match.groups()
        moment = _moment(int(year), int(month), int(day or 1), clock)
        return None if moment is None else NumericDate(moment, None, None)
    if not (match := _NUMERIC.fullmatch(date)):
        return None
    first, sign, second, year = match.groups()
    day_first = _moment(int(year), int(second), int(first), clock)
    month_first = None if sign == "." else _moment(int(year), int(first), int(second), clock)
    if day_first is None and month_first is None:
        return None
    return NumericDate(None, day_first, month_first)


def named_date(text: bytes) -> int | None:
    """Parse a date with an English month name (May 2001, 14 May 2001), or a date in RFC 2822.

    Parameters
    ----------
    text : bytes
        Value of a cell.

    Returns
    -------
    int or None
        Microseconds since 1970 in UTC, or None for any other text.
    """
    date, clock = _split(text)
    date = _WEEKDAY.sub("", date, count=1)
    for pattern in _NAMED:
        if match := pattern.fullmatch(date):
            parts = match.groupdict()
            month = _NUMBER_OF_MONTH.get(parts["month"].lower())
            if month is not None:
                return _moment(int(parts["year"]), month, int(parts.get("day") or 1), clock)
    return None


def date_by_format(text: bytes, form: str) -> int | None:
    """Parse a date in a given format of ``strptime``.

    Parameters
    ----------
    text : bytes
        Value of a cell.
    form : str
        Format for ``datetime.strptime``.

    Returns
    -------
    int or None
        Microseconds since 1970 in UTC, or None for any other text.
    """
    try:
        return _since_epoch(datetime.strptime(text.decode(), form))
    except (ValueError, OverflowError):
        return None


def time_of(value: bytes | float) -> int | None:
    """Parse a date in any unambiguous notation, or a number that stands for a time.

    The size of a number decides its meaning: 20010514 is a day; seconds, milliseconds or
    microseconds since 1970 are recognised from 1973 on; serial numbers of Excel for days from 1954
    to 2119.

    Parameters
    ----------
    value : bytes or float
        Value of a cell, or a number.

    Returns
    -------
    int or None
        Microseconds since 1970 in UTC, or None for any other value.
    """
    text = value if isinstance(value, bytes) else repr(value).encode()
    try:
        return _of_number(float(text))
    except ValueError:
        pass
    if (moment := microseconds(text)) is not None:
        return moment
    if date := numeric_date(text):
        meanings = {moment for moment in date if moment is not None}
        return meanings.pop() if len(meanings) == 1 else None
    return named_date(text)


def _of_number(number: float) -> int | None:
    for least, most, unit in ((1e8, 1e10, 1e6), (1e11, 1e13, 1e3), (1e14, 1e16, 1.0)):
        if least <= number < most:
            return round(number * unit)
    if 20_000 <= number < 80_000:
        return _since_epoch(datetime(1899, 12, 30, tzinfo=UTC) + timedelta(days=number))
    if 19_000_000 <= number < 22_000_000 and number.is_integer():
        day = int(number)
        return _moment(day // 10_000, day // 100 % 100, day % 100, None)
    return None


def _split(text: bytes) -> tuple[str, re.Match[str] | None]:
    """Split a date into the text without the time of day, and the regex match of the time."""
    whole = text.decode(errors="replace")
    clock = _CLOCK.search(whole)
    if clock is None:
        return whole.strip(), None
    return f"{whole[: clock.start()]} {whole[clock.end() :]}".strip(), clock


def _moment(year: int, month: int, day: int, clock: re.Match[str] | None) -> int | None:
    zone: timezone = UTC
    hour = minute = second = 0
    if clock is not None:
        hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
        half, name = clock[4], clock[5]
        if half:
            hour = hour % 12 + (12 if half[0] in "pP" else 0)
        if name and (shift := re.search(r"([+-])(\d\d?):?(\d\d)?$", name)):
            hours, minutes = int(shift[2]), int(shift[3] or 0)
            sign = -1 if shift[1] == "-" else 1
            if hours > 23:
                return None
            zone = timezone(sign * timedelta(hours=hours, minutes=minutes))
    try:
        return _since_epoch(datetime(year, month, day, hour, minute, second, tzinfo=zone))
    except (ValueError, OverflowError):
        return None


def _since_epoch(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // MICROSECOND
