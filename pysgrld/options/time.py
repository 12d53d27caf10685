"""Options of time slices, and the slices that result for a corpus.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pysgrld.options.option import Option
from pysgrld.options.parse import integer, or_word

#: Periods that a slice may be, instead of a number of slices. The largest number of slices is
#: limited, as each slice has a row of the topics for every word.
UNITS, MOST_SLICES = ("year", "month", "decade"), 1000
_GROUP = "Time (--model dtm)"


class FoundSlices(NamedTuple):
    """The slices of time that ``--slices`` means for a corpus: the option's value in a run.

    Attributes
    ----------
    by : str or int
        The length of a slice, or the number of slices.
    names : tuple of str
        The name of each, the earliest first.
    begins : tuple of float or str
        The first number, or date in ISO 8601, of each slice.
    tokens : tuple of int
        Tokens of the corpus in each.
    """

    by: str | int
    names: tuple[str, ...] = ()
    begins: tuple[float | str, ...] = ()
    tokens: tuple[int, ...] = ()


def asked_for(value: Any) -> str | int:
    """Return the length or the number of slices, of a value as typed or as stored in a run.

    Parameters
    ----------
    value : object
        Value of ``--time`` as the parser or the run has it.

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
        "column with the date of each document: numbers, as years, or dates",
        _GROUP,
        metavar="COLUMN",
    ),
    "slices": Option(
        or_word(integer(1, MOST_SLICES), *UNITS),
        UNITS[0],
        "what a slice of time is: year, month, decade; or how many there are, of equal size",
        _GROUP,
        metavar="year|month|decade|N",
        spell=lambda value: str(asked_for(value)),
    ),
}
