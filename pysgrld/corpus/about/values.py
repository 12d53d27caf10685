"""Detection of the kind of a column (number, date, category, ...) and of its missing values.

The notation of numbers and dates is a property of a whole column: 1,234 is more than a thousand in
one column and about one and a quarter in another. Each value is therefore tested for all notations,
and the column has the notation that fits all of its values, or at least 95 % of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.corpus._columns import Tally
from pysgrld.corpus.about.dates import date_by_format, named_date, numeric_date, time_of
from pysgrld.corpus.about.scalars import (
    CELL,
    FLAG,
    INTEGER,
    PARSERS,
    REAL,
    STRING,
    TIME,
    integer,
    real,
)
from pysgrld.errors import CorpusError, plural

#: Texts that stand for a missing value, in this spelling, in lower case or in upper case.
MISSING_VALUES = (
    "NA",
    "NaN",
    "NaT",
    "null",
    "None",
    "nil",
    "N/A",
    "#N/A",
    "<NA>",
    ".",
    "-",
    "?",
    "n.d.",
)
#: A column has numbers (or dates) if at least this fraction of its values are numbers (or dates).
SHARE = 0.95
#: Maximum number of values quoted in a log message.
QUOTED = 5

# Blanks that separate groups of digits.
_BLANKS = re.compile(rb"\xc2\xa0|\xe2\x80\xaf|\xe2\x80\x89")
_MINUS = "\u2212".encode()
_DIGIT = re.compile(rb"[0-9]")
#: Pattern of codes, which look like numbers but have leading zeros, or too many digits for 64 bits.
_CODE = re.compile(rb"-?0[0-9]+|[-+]?[1-9][0-9]{19,}")
_GROUPED = re.compile(rb"[-+]?[0-9]{1,3}(?:[, ][0-9]{3})+(?:\.[0-9]*)?")
_COMMA = re.compile(rb"[-+]?(?:[0-9]{1,3}(?:[. ][0-9]{3})+|[0-9]+)(?:,[0-9]+)?")

#: A number may be written plainly, with separators of thousands, or with a decimal comma. Each of
#: these notations has a bit.
_PLAIN, _THOUSANDS, _DECIMAL_COMMA = 1, 2, 4
#: A percentage has the bit of its number's notation, shifted left by this number.
_PERCENT = 3
_ISO, _YEAR_FIRST, _DAY_FIRST, _MONTH_FIRST, _NAMED, _FORMAT = (1 << i for i in range(6, 12))
#: Bits for three properties of a value. It may be a whole number, or a code, or a date that stays
#: the same if day and month are exchanged.
_WHOLE, _IS_CODE, _SAME_DAY = 1 << 12, 1 << 13, 1 << 14

_NUMBERS = (_PLAIN, _THOUSANDS, _DECIMAL_COMMA)
_DATES = (_FORMAT, _ISO, _YEAR_FIRST, _NAMED, _DAY_FIRST, _MONTH_FIRST)


@dataclass(frozen=True)
class ValueRules:
    """Rules for reading the values of columns, as set by the user.

    Attributes
    ----------
    missing : str, optional
        Further texts that stand for a missing value, joined by commas.
    date_format : str, optional
        Format of dates, as for ``strptime``.
    share : float
        Minimum fraction of numbers, or of dates, for a column to be one of numbers, or of dates.
    """

    missing: str | None = None
    date_format: str | None = None
    share: float = SHARE
    _missing: frozenset[bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        texts = {b"", *(m.encode() for m in MISSING_VALUES)}
        texts |= {text.lower() for text in texts} | {text.upper() for text in texts}
        texts |= {text.strip().encode() for text in (self.missing or "").split(",")}
        object.__setattr__(self, "_missing", frozenset(texts))

    def is_missing(self, value: bytes) -> bool:
        """Return True if a text stands for a missing value."""
        return value.strip() in self._missing

    def trimmed(self, values: Iterable[bytes]) -> list[bytes]:
        """Return the values without surrounding blanks, and empty bytes for missing values."""
        missing = self._missing
        return [b"" if (text := v.strip()) in missing else text for v in values]

    def fits(self, kind: str, value: bytes) -> bool:
        """Return True if a value is missing, or fits the given kind in some notation."""
        text = value.strip()
        if text in self._missing:
            return True
        bits = self._notations(text)
        if kind == "integer":
            return bool(bits & _WHOLE)
        if kind == "real":
            return any(bits & (number | number << _PERCENT) for number in _NUMBERS)
        if kind == "time":
            return any(bits & date for date in _DATES) or time_of(text) is not None
        return kind not in PARSERS or PARSERS[kind](text) is not None

    def _notations(self, text: bytes) -> int:
        """Return a bit mask of the notations of numbers and dates that a text fits."""
        if self.date_format is None:  # The most frequent notations are tested first.
            if text.isdigit() and not text.startswith(b"0") and len(text) < 19:
                return _WHOLE | sum(_NUMBERS)
            if text[4:5] == b"-" and PARSERS["time"](text) is not None:
                return _ISO
        if not _DIGIT.search(text):
            return 0
        bits = _number_bits(text)
        if text.endswith(b"%"):
            bits = _number_bits(text[:-1].rstrip())
            bits = bits & _WHOLE | (bits & sum(_NUMBERS)) << _PERCENT
        if bits and self.date_format is None:
            return bits
        if self.date_format is not None and date_by_format(text, self.date_format) is not None:
            bits |= _FORMAT
        if len(text) > 60:
            return bits
        if PARSERS["time"](text) is not None:
            return bits | _ISO
        day = numeric_date(text)
        if day is not None:
            bits |= _YEAR_FIRST if day.year_first is not None else 0
            bits |= _DAY_FIRST if day.day_first is not None else 0
            bits |= _MONTH_FIRST if day.month_first is not None else 0
            bits |= _SAME_DAY if day.day_first == day.month_first else 0
        elif named_date(text) is not None:
            bits |= _NAMED
        return bits


def _number_bits(text: bytes) -> int:
    if _CODE.fullmatch(text):
        return _IS_CODE
    if integer(text) is not None:
        return _PLAIN | _THOUSANDS | _DECIMAL_COMMA | _WHOLE
    bits = 0
    if real(text) is not None:
        bits |= _PLAIN | _THOUSANDS
    spaced = _BLANKS.sub(b" ", text).replace(_MINUS, b"-")
    if spaced != text and real(spaced) is not None:
        bits |= _THOUSANDS | _DECIMAL_COMMA | (0 if integer(spaced) is None else _WHOLE)
    if _GROUPED.fullmatch(spaced):
        bits |= _THOUSANDS | (0 if b"." in spaced else _WHOLE)
    if _COMMA.fullmatch(spaced) and real(_comma(spaced)) is not None:
        bits |= _DECIMAL_COMMA
    return bits


def _thousands(text: bytes) -> bytes:
    text = _BLANKS.sub(b"", text).replace(_MINUS, b"-")
    return text.replace(b" ", b"").replace(b",", b"")


def _comma(text: bytes) -> bytes:
    text = _BLANKS.sub(b"", text).replace(_MINUS, b"-").replace(b" ", b"")
    return text.replace(b".", b"").replace(b",", b".")


#: Functions that rewrite a number in plain notation, by the notation of the number.
_PLAINLY: dict[int, Callable[[bytes], bytes]] = {
    _PLAIN: lambda text: text,
    _THOUSANDS: _thousands,
    _DECIMAL_COMMA: _comma,
}


class ColumnReading(NamedTuple):
    """The kind of a column, and the function that parses its values.

    Attributes
    ----------
    kind : str
    parse : callable
        Returns the number of a trimmed value, or None if it is not of the kind.
    is_strict : bool
        Whether a value of another kind is an error, not a missing value.
    notes : list of str
        Messages about the column, for the log.
    """

    kind: str
    parse: Callable[[bytes], int | float | None]
    is_strict: bool
    notes: list[str]


class _Tally(Tally):  # type: ignore[misc]
    """Counts of the values of a column that fit each notation of numbers or dates."""

    def __init__(self, rules: ValueRules, levels: int) -> None:
        simple = [-1, _WHOLE | sum(_NUMBERS), _PLAIN | _THOUSANDS, _ISO, 0]
        if rules.date_format is not None:
            simple = [-1, -1, -1, -1, 0]
        super().__init__(rules._missing, rules._notations, simple, levels, 4 * QUOTED)
        self.rules = rules

    def fitting(self, bit: int) -> int:
        """Return the number of values that fit a notation."""
        return sum(count for bits, count in self.by_bits.items() if bits & bit)

    def others(self, bit: int) -> str:
        """Return a text that quotes values that do not fit a notation, with their frequencies."""
        others: Counter[bytes] = Counter()
        for bits, examples in self.examples.items():
            if not bits & bit:
                others.update(examples)
        return _quoted(others)

    def example(self, bit: int, without: int) -> str:
        """Return a value that fits notation ``bit`` but not notation ``without``, if any, or ""."""
        for bits, examples in self.examples.items():
            if bits & bit and not bits & without:
                return str(next(iter(examples)).decode(errors="replace")[:40])
        return ""

    def best(self, candidates: Iterable[int]) -> tuple[int, int]:
        """Return the notation that most values fit, and the number of these values."""
        best = max(candidates, key=self.fitting)
        return best, self.fitting(best)


def _quoted(values: Counter[bytes]) -> str:
    shown = [
        f"'{value[:40].decode(errors='replace')}'" + (f" ({count})" if count > 1 else "")
        for value, count in values.most_common(QUOTED)
    ]
    return ", ".join(shown) + (", ..." if len(values) > QUOTED else "")


def read_as(
    name: str,
    pieces: Iterator[tuple[list[bytes], npt.NDArray[np.int32], npt.NDArray[np.uint8]]],
    kind: str | None,
    rules: ValueRules,
    levels: int,
) -> ColumnReading:
    """Detect the kind of a column unless the user declared it, and choose a parser for its values.

    Parameters
    ----------
    name : str
        Name of the column, for messages.
    pieces : iterator of (list of bytes, (n,) int32, (n,) uint8)
        Different values as they were spelled, and for each row its value and its type tag.
    kind : str or None
        Kind that the user has declared; None if the values decide.
    rules : ValueRules
    levels : int
        Maximum number of different values of a column detected as categorical.

    Raises
    ------
    CorpusError
        If dates are declared and the order of days and months is ambiguous.
    """
    tally = _Tally(rules, levels)
    for values, numbers, tags in pieces:
        tally.add(values, numbers, tags)
    notes: list[str] = []
    missing: Counter[bytes] = Counter(tally.missing)
    if missing:
        notes.append(f"{plural(missing.total(), 'missing value')} ({_quoted(missing)})")
    if kind in ("string", "category", "flag"):
        return ColumnReading(kind, PARSERS.get(kind, integer), True, notes)
    if not tally.rows:
        return ColumnReading(kind or "string", PARSERS.get(kind or "", integer), True, notes)
    strict = kind is not None
    if kind in ("integer", "real"):
        return _as_number(tally, kind, notes)
    if kind == "time":
        reading = _as_dates(name, tally, strict, notes)
        return reading or ColumnReading("time", time_of, strict, notes)
    seen = tally.seen
    if seen == {FLAG}:
        return ColumnReading("flag", PARSERS["flag"], True, notes)
    if rules.date_format is not None and (dates := _as_dates(name, tally, strict, notes)):
        return dates
    if (numbers := seen & {INTEGER, REAL, CELL}) and not tally.fitting(_IS_CODE):
        plain = tuple(bit << shift for shift in (0, _PERCENT) for bit in _NUMBERS)
        _, fitting = tally.best(plain)
        whole = seen <= {INTEGER, REAL} or (numbers and fitting >= rules.share * tally.rows)
        if fitting and whole:
            return _as_number(tally, None, notes)
    if seen <= {STRING, CELL, TIME} and (dates := _as_dates(name, tally, strict, notes)):
        return dates
    kinds = sorted({_KINDS.get(tag, "string") for tag in seen})
    few = len(tally.levels) <= levels and 2 * len(tally.levels) <= tally.documents
    if len(kinds) > 1:
        as_what = "categories" if few else "text"
        notes.append(
            f"the values are of different kinds ({', '.join(kinds)}) and are read as {as_what}"
        )
    if few:
        notes += _alike(tally.levels)
    return ColumnReading("category" if few else "string", integer, True, notes)


_KINDS = {INTEGER: "integer", REAL: "real", FLAG: "flag", TIME: "time"}


def _alike(levels: set[bytes]) -> list[str]:
    """Return a list with a warning about categories that differ only in case, or an empty list."""
    by_fold: dict[str, list[str]] = {}
    for level in sorted(levels):
        text = level.decode(errors="replace")
        by_fold.setdefault(text.casefold(), []).append(text)
    alike = [
        " and ".join(repr(t[:40]) for t in texts) for texts in by_fold.values() if len(texts) > 1
    ]
    shown = "; ".join(alike[:QUOTED]) + ("; ..." if len(alike) > QUOTED else "")
    return (
        [f"these categories differ only in upper and lower case and are kept separate: {shown}"]
        if alike
        else []
    )


def _as_number(tally: _Tally, kind: str | None, notes: list[str]) -> ColumnReading:
    """Return kind and parser of a column of numbers, read in the notation that most values fit."""
    candidates = [bit << shift for shift in (0, _PERCENT) for bit in _NUMBERS]
    bit, fitting = tally.best(candidates)
    percent = bit >= 1 << _PERCENT
    plainly = _PLAINLY[bit >> _PERCENT if percent else bit]

    def spelled(text: bytes) -> bytes:
        if percent:
            text = text[:-1].rstrip() if text.endswith(b"%") else b""
        return plainly(text)

    whole = sum(count for bits, count in tally.by_bits.items() if bits & bit and bits & _WHOLE)
    chosen = kind or ("integer" if whole == fitting and REAL not in tally.seen else "real")
    parser = PARSERS[chosen]
    if example := tally.example(bit, _PLAIN):
        number = real(spelled(example.encode()))
        if number is not None:
            unit = ", in percent" if percent else ""
            notes.append(f"'{example}' is read as {number:.10g}{unit}")
    if kind is None and fitting < tally.rows:
        notes.append(_left(tally, bit, fitting, "number"))
    parse = parser if bit == _PLAIN else lambda text: parser(spelled(text))
    return ColumnReading(chosen, parse, kind is not None, notes)


def _left(tally: _Tally, bit: int, fitting: int, noun: str) -> str:
    misfits = tally.rows - fitting
    is_no = f"is not a {noun} and is" if misfits == 1 else f"are not {noun}s and are"
    return f"{plural(misfits, 'value')} {is_no} treated as missing: {tally.others(bit)}"


def _as_dates(name: str, tally: _Tally, strict: bool, notes: list[str]) -> ColumnReading | None:
    """Return kind and parser of a column of dates, or None if too few values fit one notation.

    Raises
    ------
    CorpusError
        If the user has declared dates, and the order of days and months is ambiguous.
    """
    bit, fitting = tally.best(_DATES)
    if not fitting or (fitting < tally.rules.share * tally.rows and not strict):
        return None
    if bit in (_DAY_FIRST, _MONTH_FIRST):
        day, month = tally.fitting(_DAY_FIRST), tally.fitting(_MONTH_FIRST)
        differ = tally.rows > tally.fitting(_SAME_DAY)
        least = tally.rules.share * tally.rows
        if differ and (day == month or (fitting < tally.rows and min(day, month) >= least)):
            reason = (
                "it is unclear which number is the day and which is the month "
                f"({tally.example(bit, _SAME_DAY)!r}); give --date-format %d/%m/%Y or %m/%d/%Y"
            )
            if strict:
                raise CorpusError(f"column {name[:40]!r}: {reason}")
            notes.append(f"the column is read as text, because {reason}")
            return None
    if not strict and fitting < tally.rows:
        notes.append(_left(tally, bit, fitting, "date"))

    def parse(text: bytes) -> int | None:
        if bit == _FORMAT:
            return date_by_format(text, tally.rules.date_format or "")
        if bit == _ISO:
            return PARSERS["time"](text)  # type: ignore[return-value]
        if bit == _NAMED:
            return named_date(text)
        day = numeric_date(text)
        if day is None:
            return None
        return {_YEAR_FIRST: day.year_first, _DAY_FIRST: day.day_first}.get(bit, day.month_first)

    return ColumnReading("time", parse, strict, notes)
