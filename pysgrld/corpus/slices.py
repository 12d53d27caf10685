"""Time slices (years, months, ...), to which documents are assigned by the values of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pysgrld.corpus.about.dates import date_by_format, time_of
from pysgrld.corpus.about.scalars import iso, real
from pysgrld.errors import CorpusError, UsageError, plural
from pysgrld.options.time import MOST_SLICES
from pysgrld.types import Documents, Doubles, Int32s, Slicing

#: Numbers below this limit are years. A larger number may be a date: seconds since 1970, a day
#: written as 20010514, or a serial number of Excel.
_YEARS_BELOW = 10_000


def put_in_slices(
    slicing: Slicing,
    documents: Documents,
    values: Sequence[Any],
    ids: Callable[[int], str],
    date_format: str | None = None,
) -> Documents:
    """Assign documents to time slices by the documents' values of a column.

    A value before the first slice or after the last slice belongs to that slice. An empty document
    without a value, such as a bad document, is in the first slice.

    Parameters
    ----------
    slicing : Slicing
    documents : Documents
    values : sequence
        Value of the column for each document: a number, a date, or None.
    ids : callable
        Returns the id of a document by its index, for messages.
    date_format : str, optional
        Format of the dates, as for ``strptime``.

    Raises
    ------
    CorpusError
        If a document has no value, or a value that is neither a number nor a date.
    """
    texts = [value.encode() if isinstance(value, str) else None for value in values]
    if date_format is not None and isinstance(slicing.begins[0], str):
        moments = [None if text is None else date_by_format(text, date_format) for text in texts]
        values = [v if m is None else iso(m) for v, m in zip(values, moments, strict=True)]
    empty = np.diff(documents.indptr) == 0
    first = slicing.begins[0]
    values = [first if v is None and e else v for v, e in zip(values, empty, strict=True)]
    document_slices = slices_of(slicing, values, ids)
    return replace(documents, slices=document_slices, copies=len(slicing.names))


def slices_of(slicing: Slicing, values: Sequence[Any], ids: Callable[[int], str]) -> Int32s:
    """Return the index of the time slice of each value.

    A value before the first slice or after the last slice belongs to that slice.

    Parameters
    ----------
    slicing : Slicing
        The slices and their bounds.
    values : sequence of object
        Value of the column for each document.
    ids : callable
        Returns the id of a document by its index, for messages.

    Returns
    -------
    array of int32, (n,)
        Index of the slice of each document, from 0.
    """
    dates = isinstance(slicing.begins[0], str)
    numbers = numbers_of(values, dates=dates)
    if (bad := np.flatnonzero(np.isnan(numbers))).size:
        first = int(bad[0])
        kind = "date" if dates else "number"
        value_text = "no value" if values[first] is None else repr(str(values[first])[:40])
        raise CorpusError(
            f"the time slice of {plural(len(bad), 'document')} is unknown, because column "
            f"{slicing.field!r} has no {kind} there (first: {ids(first)}, with {value_text}); add "
            "the values, or skip such records with --on-bad-document skip"
        )
    begins = numbers_of(slicing.begins, dates=dates)
    places = np.searchsorted(begins, numbers, "right") - 1
    return np.clip(places, 0, len(begins) - 1).astype(np.int32)


def numbers_of(values: Iterable[Any], *, dates: bool) -> Doubles:
    """Convert the values of a column to numbers; dates become microseconds since 1970.

    Parameters
    ----------
    values : iterable of object
        Values of a column.
    dates : bool
        True if the values are dates.

    Returns
    -------
    array of float64, (n,)
        Numbers, or microseconds since 1970; NaN for a value that is neither a number nor a date.
    """

    def number(value: Any) -> float:
        if value is None or isinstance(value, bool):
            return np.nan
        if not dates and isinstance(value, int | float):
            return float(value)
        text = str(value).strip().encode()
        parsed = time_of(text) if dates else real(text)
        return np.nan if parsed is None else float(parsed)

    return np.array([number(value) for value in values], np.float64)


def slicing_of(field: str, by: str | int, values: Sequence[Any]) -> Slicing:
    """Choose time slices that cover all values of a column.

    Parameters
    ----------
    field : str
    by : {"year", "month", "decade"} or int
        Unit of a slice, or number of slices with about equally many documents.
    values : sequence
        Values of all documents, or None for a missing value.

    Raises
    ------
    CorpusError
        If the values are neither numbers nor dates.
    UsageError
        If there would be too many slices, or numbers have no months.
    """
    present = [value for value in values if value is not None]
    if not present:
        raise CorpusError(f"--time {field}: no document has a value; choose another column")
    dates, numbers = False, numbers_of(present, dates=False)
    if np.isnan(numbers).any() or numbers.min() >= _YEARS_BELOW:
        times = numbers_of(present, dates=True)
        if not np.isnan(times).any():
            dates, numbers = True, times
        elif np.isnan(numbers).any():
            number, time = np.isnan(numbers), np.isnan(times)
            if number.all() and time.all():
                raise CorpusError(
                    f"--time {field}: values such as {str(present[0])[:40]!r} are neither "
                    "numbers nor dates like 1987-06-30; give their notation with --date-format, "
                    "such as %d/%m/%Y"
                )
            noun, bad = "date", int(np.flatnonzero(time)[0])
            if number.sum() < time.sum():
                noun, bad = "number", int(np.flatnonzero(number)[0])
            raise CorpusError(
                f"--time {field}: {str(present[bad])[:40]!r} is not a {noun} such as "
                f"{'1987' if noun == 'number' else '1987-06-30'}; correct the value, or give "
                "the notation of all values with --date-format, such as %d/%m/%Y"
            )
    if isinstance(by, int):
        return _of_equal_size(field, by, np.sort(numbers), dates=dates)
    return _by_unit(field, by, numbers, dates=dates)


def _by_unit(field: str, unit: str, numbers: Doubles, *, dates: bool) -> Slicing:
    """Return a time slice for each year, month or decade from the first value to the last."""
    if not dates and unit == "month":
        raise UsageError(
            f"--slices month: column {field!r} has numbers, but months need dates such as "
            "1987-06-30; give a number of slices"
        )
    first, last = numbers.min(), numbers.max()
    if dates:
        months = (
            numbers.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
        )
        size = {"year": 12, "month": 1, "decade": 120}[unit]
        first, last = int(months.min()) // size, int(months.max()) // size
    else:
        size = 10 if unit == "decade" else 1
        first, last = int(first // size), int(last // size)
    number = last - first + 1
    _check_number(field, number, f"of a {unit}")
    places = range(first, last + 1)
    if not dates:
        names = [f"{n * size}s" if unit == "decade" else str(n) for n in places]
        return Slicing(field, tuple(names), tuple(float(n * size) for n in places))
    starts = [divmod(n * size, 12) for n in places]
    begins = tuple(f"{year:04d}-{month + 1:02d}-01" for year, month in starts)
    cut = {"year": 4, "month": 7, "decade": 4}[unit]
    return Slicing(field, tuple(b[:cut] + "s" * (unit == "decade") for b in begins), begins)


def _of_equal_size(field: str, number: int, ordered: Doubles, *, dates: bool) -> Slicing:
    """Return a given number of time slices with about equally many documents each.

    Documents with equal values are in the same slice.
    """
    _check_number(field, number, "asked for")
    values, counts = np.unique(ordered, return_counts=True)
    if len(values) < number:
        raise UsageError(
            f"--slices {number}: {field!r} has only {plural(len(values), 'different value')}; give "
            f"{len(values)} or fewer"
        )
    before, first = np.cumsum(counts) - counts, [0]
    for n in range(1, number):
        place = int(np.searchsorted(before, n * len(ordered) / number))
        first.append(min(max(place, first[-1] + 1), len(values) - number + n))
    begins, ends = values[first], values[np.array([*first[1:], len(values)]) - 1]

    def shown(value: float) -> str:
        return iso(int(value)) if dates else f"{value:g}"

    pairs = [(shown(a), shown(b)) for a, b in zip(begins, ends, strict=True)]
    # Slices are named by their days, unless two slices begin on the same day.
    called = [(a[:10], b[:10]) for a, b in pairs] if dates else pairs
    if len({a for a, _ in called}) < number:
        called = pairs
    names = tuple(a if a == b else f"{a} to {b}" for a, b in called)
    if dates:
        return Slicing(field, names, tuple(a for a, _ in pairs))
    return Slicing(field, names, tuple(float(a) for a in begins))


def _check_number(field: str, number: int, which: str) -> None:
    if number > MOST_SLICES:
        raise UsageError(
            f"--time {field}: there are {number:,} slices {which}, but the maximum is "
            f"{MOST_SLICES:,}; give --slices a longer unit or a number of slices"
        )
