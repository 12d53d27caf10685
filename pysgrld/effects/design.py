"""Design matrix of a formula over document columns, and comparisons of the columns' values."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysgrld.errors import UsageError, plural
from pysgrld.types import Array, Doubles, Int64s

if TYPE_CHECKING:
    import pandas

#: Maximum number of distinct values of a categorical column.
LEVELS = 100
#: Maximum number of characters of a name in messages.
_SHOWN = 40
#: All pairs of values of a categorical column are compared if it has at most this number of values.
PAIRED = 10
#: Maximum number of documents over which predictions are averaged.
_AVERAGED = 20_000
#: Maximum number of points on a curve.
POINTS = 21


#: Pandas' names for types of numbers.
_NUMBERS = ("integer", "floating", "mixed-integer-float")
#: Texts that stand for True and False.
_FLAGS = {True: "yes", False: "no"}


class ValuePrediction(NamedTuple):
    """Mean row of the design matrix if a column had the same value in all documents.

    Attributes
    ----------
    value : str
        The value, as it is shown.
    number : float or None
        The value as a number; None if the column has categories.
    mean : (P,) float64
        Means of the design matrix's columns, with the documents' other columns unchanged.
    """

    value: str
    number: float | None
    mean: Doubles


class Contrast(NamedTuple):
    """Comparison of two values of a column; the other columns are unchanged."""

    column: str
    first: ValuePrediction
    second: ValuePrediction


class Design:
    """The design matrix of a regression, and predictions at given values of the columns.

    Parameters
    ----------
    formula : str
        Formula in the syntax of R and formulaic: ``~ party + bs(year, df=4)``.
    columns : mapping of str to sequence
        Values of each column of the documents, None if a value is missing. Dates (datetime64) are
        converted to years, with fractions, for the formula, and shown as months.

    Attributes
    ----------
    used : (n,) int64
        Positions of the documents that have a value in every column of the formula.
    matrix : (n, P) float64
        Design matrix.
    names : list of str
        Names of the columns of ``matrix``.
    columns : list of str
        Columns of the documents that the formula names.
    missing : int
        Number of documents that are left out.

    Raises
    ------
    UsageError
        If the formula does not parse or does not fit the columns, or formulaic is not installed.
    """

    def __init__(self, formula: str, columns: Mapping[str, Sequence[Any]]) -> None:
        self.formula = formula
        self.columns = formula_columns(formula, list(columns))
        import pandas
        from formulaic import model_matrix

        self._dates: set[str] = set()
        data = {name: _values(self._numbers(name, columns[name])) for name in self.columns}
        whole = np.ones(len(next(iter(data.values()))), bool)
        for values in data.values():
            whole &= ~pandas.isna(values)
        self.used: Int64s = np.flatnonzero(whole)
        self.missing = int((~whole).sum())
        if not len(self.used):
            raise UsageError(
                f"formula {formula[:_SHOWN]!r}: no document has a value in every column of the "
                "formula; leave out a column that is often empty"
            )
        self._data = pandas.DataFrame(
            {name: _column(name, values[self.used]) for name, values in data.items()}
        )
        with _FormulaErrors(formula), np.errstate(all="ignore"):
            made = model_matrix(formula, self._data, context={}, na_action="ignore")
        self._spec = made.model_spec
        self.names = [str(name) for name in made.columns]
        self.matrix: Doubles = np.asarray(made, np.float64)
        for name, values in zip(self.names, self.matrix.T, strict=True):
            if not np.isfinite(values).all():
                raise UsageError(
                    f"formula: the term {name} is infinite or NaN in a document; correct the values"
                )
        checked_rank(self.matrix, self.names)
        step = -(-len(self._data) // _AVERAGED)
        self._some = self._data.iloc[::step]

    def _numbers(self, column: str, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values of a column, with dates converted to years."""
        if not any(isinstance(value, np.datetime64) for value in values):
            return values
        self._dates.add(column)
        return [None if value is None else to_years(value) for value in values]

    def comparisons(
        self, contrasts: Sequence[tuple[str, str, str]] = (), reference: str | None = None
    ) -> list[Contrast]:
        """Return the requested contrasts, or else the default comparisons of each column.

        Columns of numbers are compared at the first and the third quartile, or if these are equal,
        at the minimum and the maximum. Values of a category are compared in all pairs if there are
        at most `PAIRED` values; otherwise each is compared with the most frequent value.

        Parameters
        ----------
        contrasts : sequence of (column, first value, second value)
        reference : str, optional
            Value with which the other values of its column are compared.

        Raises
        ------
        UsageError
            If a column or a value does not exist.
        """
        if contrasts:
            return [
                Contrast(
                    column,
                    self._predict_at_value(column, first),
                    self._predict_at_value(column, second),
                )
                for column, first, second in contrasts
            ]
        categories = [column for column in self.columns if not self.is_number(column)]
        if reference is not None and not any(reference in self.grid(c) for c in categories):
            values = [level[:_SHOWN] for column in categories for level in self.grid(column)]
            available = (
                f"the values are {', '.join(values[:20])}"
                if values
                else ("the formula has no category column")
            )
            raise UsageError(
                f"reference {reference[:_SHOWN]!r} is not a value of a category column in the "
                f"formula; {available}"
            )
        pairs = []
        for column in self.columns:
            values = self.grid(column, quartiles=True)
            predicted = {value: self._predict(column, value) for value in values}
            chosen = reference if reference in predicted else None
            if chosen is None and len(values) > PAIRED:
                chosen = str(self._data[column].value_counts().idxmax())
            firsts = values if chosen is None else [chosen]
            for i, first in enumerate(firsts):
                seconds = values[i + 1 :] if chosen is None else [v for v in values if v != first]
                pairs += [Contrast(column, predicted[first], predicted[v]) for v in seconds]
        return pairs

    def curve(self, column: str) -> list[ValuePrediction]:
        """Return predictions along a numeric column, or at each value of a categorical column."""
        return [self._predict(column, value) for value in self.grid(column)]

    def grid(self, column: str, *, quartiles: bool = False) -> list[Any]:
        """Return the values of a categorical column, or points over the range of a numeric column.

        With ``quartiles``, return only two points for a column of numbers: the first and the third
        quartile, or the least and the greatest number if the quartiles are equal.
        """
        values = self._data[column]
        if not self.is_number(column):
            return list(values.cat.categories)
        numbers = values.to_numpy()
        ends: Sequence[float] = (
            np.quantile(numbers, (0.25, 0.75), method="nearest") if quartiles else (0.0, 0.0)
        )
        if ends[0] == ends[1]:
            ends = numbers.min(), numbers.max()
        points = np.linspace(ends[0], ends[1], 2 if quartiles else POINTS)
        if (numbers == np.round(numbers)).all():
            # If all numbers in a column are whole, such as years, the points are whole numbers,
            # too.
            points = np.unique(np.round(points))
        return [float(point) for point in points]

    def documents_of(self, column: str) -> list[int]:
        """Count the documents with each value of a category; return [] for a column of numbers."""
        if self.is_number(column):
            return []
        numbers: list[int] = self._data[column].value_counts(sort=False).tolist()
        return numbers

    def is_date(self, column: str) -> bool:
        """Return True if the numbers of a column were converted from dates."""
        return column in self._dates

    def is_number(self, column: str) -> bool:
        """Return True if a column is numeric."""
        return bool(self._data[column].dtype.kind == "f")

    def _predict_at_value(self, column: str, text: str) -> ValuePrediction:
        """Return the prediction at a value that the user typed."""
        if column not in self.columns:
            raise UsageError(
                f"contrast {column[:_SHOWN]!r}: the formula has no such column; its columns are "
                f"{', '.join(self.columns)}"
            )
        if not self.is_number(column):
            levels = self.grid(column)
            if text not in levels:
                available = ", ".join(level[:_SHOWN] for level in levels[:20])
                raise UsageError(
                    f"contrast {column}: no document has the value {text[:_SHOWN]!r}; the values "
                    f"are {available}"
                )
            return self._predict(column, text)
        least, greatest = float(self._data[column].min()), float(self._data[column].max())
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not least <= number <= greatest:
            raise UsageError(
                f"contrast {column}: {text[:_SHOWN]!r} is not a number from {least:g} to "
                f"{greatest:g}"
            )
        return self._predict(column, number)

    def _predict(self, column: str, value: Any) -> ValuePrediction:
        changed = self._some.copy()
        number = float(value) if self.is_number(column) else None
        if number is None:
            import pandas

            changed[column] = pandas.Categorical([value] * len(changed), self.grid(column))
        else:
            changed[column] = number
        with _FormulaErrors(self.formula):
            made = np.asarray(self._spec.get_model_matrix(changed, context={}), np.float64)
        return ValuePrediction(self._shown(column, value), number, made.mean(axis=0))

    def _shown(self, column: str, value: Any) -> str:
        """Format a value; a date is shown as its month, or as its year if it is the first of January."""
        if not self.is_number(column):
            return str(value)
        number = float(value)
        if column in self._dates and not number.is_integer():
            return str(to_date(number).astype("datetime64[M]"))
        return f"{number:.{10 if number.is_integer() else 6}g}"


def to_years(day: np.datetime64) -> float:
    """Convert a day to a number of years, with the elapsed part of the year as its fraction."""
    first = day.astype("datetime64[Y]")
    begin, end = (year.astype("datetime64[D]") for year in (first, first + np.timedelta64(1, "Y")))
    return 1970 + int(first.astype(int)) + float((day - begin) / (end - begin))


def to_date(years: float) -> np.datetime64:
    """Convert a number of years to a day; this is the inverse of `to_years`."""
    year = np.datetime64(int(np.floor(years)) - 1970, "Y")
    begin, end = (y.astype("datetime64[D]") for y in (year, year + np.timedelta64(1, "Y")))
    day: np.datetime64 = begin + np.timedelta64(
        round((years - np.floor(years)) * float((end - begin) / np.timedelta64(1, "D"))), "D"
    )
    return day


class _FormulaErrors:
    """Context manager that turns an error of formulaic into a one-line error message."""

    def __init__(self, formula: str) -> None:
        self._formula = formula

    def __enter__(self) -> None:
        """Enter the context without any action."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise `UsageError` for an error of formulaic."""
        if isinstance(error, Exception):
            lines = [line for line in str(error).splitlines() if line.strip()]
            reason = lines[0].strip().rstrip(".") if lines else type(error).__name__
            if smooth := re.search(r"\bs\((\w+)", self._formula):
                reason = f"write the smooth curve s({smooth[1]}) as bs({smooth[1]}, df=4)"
            raise UsageError(f"formula {self._formula[:80]!r}: {reason[:160]}") from None


def formula_columns(formula: str, available: Sequence[str]) -> list[str]:
    """Return the columns named in a formula, in the order of the formula.

    Parameters
    ----------
    formula : str
        Formula over columns, such as ``~ year + author``.
    available : sequence of str
        Names of the columns of the corpus.

    Returns
    -------
    list of str
        Names of columns.

    Raises
    ------
    UsageError
        If the formula does not parse, names no column, or names a column that does not exist; or if
        formulaic is not installed.
    """
    if find_spec("formulaic") is None:
        raise UsageError("effects need formulaic and pandas: pip install 'pysgrld[effect]'")
    from formulaic import Formula
    from formulaic.formula import SimpleFormula

    with _FormulaErrors(formula):
        parsed = Formula(formula)
        if isinstance(parsed, SimpleFormula):
            factors = [str(factor) for term in parsed for factor in term.factors]
        else:
            raise ValueError(
                "the left side is always the topics; leave it out, and choose topics with --topics"
            )
        columns = list(dict.fromkeys(name for part in factors for name in _name_columns(part)))
    for name in columns:
        if name not in available:
            names = ", ".join(repr(column[:_SHOWN]) for column in available[:20])
            has = (
                f"the columns are {names}"
                if names
                else "the corpus has no columns; give --metadata FILE"
            )
            raise UsageError(f"formula: the documents have no column {name[:_SHOWN]!r}; {has}")
    if not columns:
        raise UsageError(
            f"formula {formula[:80]!r}: uses no column of the documents; name one, such as ~ year"
        )
    return columns


def _name_columns(factor: str) -> list[str]:
    """Return the names of columns in a factor (part of a term) of a formula, without functions."""
    quoted = re.findall(r"`([^`]+)`", factor)
    if factor.isidentifier():
        return [factor]
    plain = re.sub(r"`[^`]+`", "0", factor)
    try:
        nodes = list(ast.walk(ast.parse(plain, mode="eval")))
    except SyntaxError:  # Formulaic has removed the backticks that this name needs.
        return [factor]
    used = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    used |= {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
    return quoted + [n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in used]


def _values(values: Sequence[Any]) -> Array:
    """Return values of any types as a one-dimensional array of objects."""
    texts = np.empty(len(values), object)
    texts[:] = values
    return texts


def _column(name: str, values: Array) -> pandas.Series:
    """Convert a column to numbers if all its values are numbers, otherwise to categories.

    Raises
    ------
    UsageError
        If the column is constant, has numbers that are not finite, or has too many categories.
    """
    import pandas

    if pandas.api.types.infer_dtype(values) in _NUMBERS:
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise UsageError(f"column {name} has numbers that are not finite; correct them")
        levels = len(np.unique(numbers))
        series = pandas.Series(numbers)
    else:
        text = [_FLAGS.get(v, str(v)) if isinstance(v, bool) else str(v) for v in values.tolist()]
        series = pandas.Series(pandas.Categorical(text, sorted(set(text))))
        levels = len(series.cat.categories)
        if levels > LEVELS:
            raise UsageError(
                f"column {name} has {levels:,} different texts, but a category may have at most "
                f"{LEVELS} values; give a column of numbers, or a category with fewer values"
            )
    if levels < 2:
        raise UsageError(
            f"column {name} has the same value in all documents, {str(values[0])[:_SHOWN]!r}; "
            "leave it out"
        )
    return series


def checked_rank(design: Doubles, names: Sequence[str]) -> None:
    """Raise an error if a column of a regression design is a linear combination of others.

    Parameters
    ----------
    design : array of float64, (D, P)
        Columns of the regression.
    names : sequence of str
        Names of the columns.

    Raises
    ------
    UsageError
        If a column is a combination of the columns before it; the message names the first such
        column. Also if there are too few documents.
    """
    n, p = design.shape
    if n <= p:
        raise UsageError(
            f"{plural(n, 'document')} are too few for the {plural(p, 'coefficient')} of the "
            "formula; shorten it"
        )
    scale = np.sqrt((design**2).mean(axis=0))
    root = np.linalg.qr(design / np.where(scale > 0, scale, 1.0), mode="r")
    for name, diagonal in zip(names, np.abs(np.diag(root)), strict=True):
        if diagonal <= 1e-7 * np.sqrt(n):
            raise UsageError(
                f"formula: {name} is a combination of the terms before it (collinear); leave out "
                "one of them"
            )
