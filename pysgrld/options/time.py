"""Options for time slices, and the class of a corpus's time slices.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pysgrld.options.option import Option
from pysgrld.options.parse import integer, or_word

#: Possible periods of a time slice.
UNITS = ("year", "month", "decade")
#: Maximum number of time slices. Topics have a row for each word in each slice.
MOST_SLICES = 1000
_GROUP = "Time (--model dtm)"


class SlicesWithTokens(NamedTuple):
    """Time slices of a corpus with token counts, stored in a run as the value of ``--slices``.

    Attributes
    ----------
    by : str or int
        The length of a slice, or the number of slices.
    names : tuple of str
        The name of each slice, the earliest first.
    begins : tuple of float or str
        The first number, or date in ISO 8601, of each slice.
    tokens : tuple of int
        Number of tokens of the corpus in each slice.
    """

    by: str | int
    names: tuple[str, ...] = ()
    begins: tuple[float | str, ...] = ()
    tokens: tuple[int, ...] = ()


def requested_slices(value: Any) -> str | int:
    """Return the period of a time slice, or the number of slices, that ``--slices`` requests.

    Parameters
    ----------
    value : object
        Value of ``--slices`` as the parser returns it or a run stores it; None for the default.

    Returns
    -------
    str or int
        "month" or a similar period, or a number of slices.
    """
    if value is None:
        return UNITS[0]
    period: str | int = value[0] if isinstance(value, tuple | list) else value
    return period


TIME: dict[str, Option] = {
    "time": Option(
        str,
        "none",
        "column with the date of each document: numbers such as years, or dates",
        _GROUP,
        metavar="COLUMN",
    ),
    "slices": Option(
        or_word(integer(1, MOST_SLICES), *UNITS),
        UNITS[0],
        "time slices: year, month, decade, or a number of slices of equal size",
        _GROUP,
        metavar="year|month|decade|N",
        spell=lambda value: str(requested_slices(value)),
    ),
}
