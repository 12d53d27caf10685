"""A formula made into a matrix of the documents' columns, and the questions that it is asked."""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.about.stored import Column
from pysgrld.errors import MissingInputError, UsageError, plural
from pysgrld.report.sections.groups import column_of
from pysgrld.report.texts_and_metadata import Known
from pysgrld.types import Doubles, Int64s

#: Kinds of columns that are numbers; others are text, of which each value is a group.
NUMBERS = ("integer", "real", "time")
#: Values of a column of text, at most: more are names, not groups.
LEVELS = 50
#: Documents over which predicted shares are averaged, at most.
_AVERAGED = 20_000
#: Names in backquotes.
_QUOTED = re.compile("`([^`]+)`")
#: Letters of a label.
_LABEL = 40


class Asked(NamedTuple):
    """A question: what a share is on average, or how much more in one case than in another.

    Attributes
    ----------
    column : str
    what : str
        "share", of documents with a value of the column, or "difference", of two such shares.
    label : str
        The value, or the two.
    weights : (P,) float64
        Of the coefficients: the answer is their product.
    """

    column: str
    what: str
    label: str
    weights: Doubles


class Design(NamedTuple):
    """Documents as a regression sees them.

    Attributes
    ----------
    rows : (n,) int64
        Positions in the corpus of the documents that have all columns.
    matrix : (n, P) float64
    names : tuple of str
        Of the columns of the matrix.
    asked : list of Asked
    missing : int
        Documents that lack a value, and are left out.
    """

    rows: Int64s
    matrix: Doubles
    names: tuple[str, ...]
    asked: list[Asked]
    missing: int


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise MissingInputError("formulas need formulaic: pip install 'pysgrld[effect]'") from None
    return formulaic


def design(
    formula: str, about: Known, rows: Int64s, contrasts: Mapping[str, Sequence[str]]
) -> Design:
    """Make the matrix of a formula over the columns of documents.

    Parameters
    ----------
    formula : str
        As R and formulaic write it, without a left side: ``~ party + bs(year, df=4)``.
    about : Known
    rows : (n,) int64
        Documents that are looked at.
    contrasts : mapping of str to sequence of str
        Values of a column that are compared, the others with the first; by default all with its first.

    Raises
    ------
    MissingInputError
        If the library is not installed.
    UsageError
        If the formula cannot be read, or a column is not there, has one value or too many, or follows
        from others.
    """
    library = _formulaic()
    import pandas

    text = formula if "~" in formula else f"~ {formula}"
    if text.partition("~")[0].strip():
        raise UsageError(f"{formula!r}: has a left side: topics are that; begin with ~")
    try:
        wanted = _columns_in(library.Formula(text))
    except Exception as error:  # of many classes, and of Python's own parser
        raise UsageError(f"{formula!r}: is no formula: {_first_line(error)}") from None
    if not wanted:
        raise UsageError(f"{formula!r}: names no column: give some, as in '~ party + year'")
    columns = {name: column_of(about, name, "the formula's") for name in wanted}
    for name in contrasts:
        if name not in columns:
            raise UsageError(f"--contrast {name}: the formula has no such column")
    values = {name: _values(column, about, rows) for name, column in columns.items()}
    table = pandas.DataFrame(
        {
            name: np.array(each, np.float64 if columns[name].kind in NUMBERS else object)
            for name, each in values.items()
        }
    ).dropna()
    texts = {name for name, column in columns.items() if column.kind not in NUMBERS}
    for name in wanted:
        number = table[name].nunique()
        if number < 2:
            raise UsageError(
                f"column {name!r} has {plural(number, 'value')} in {plural(len(table), 'document')} with "
                "all columns: leave it out"
            )
        if name in texts and number > LEVELS:
            raise UsageError(
                f"column {name!r} is text of {number:,} values, at most {LEVELS} can be compared: name "
                "another, or group them first"
            )
    matrix = _evaluated(library, formula, text, table)
    names, spec = tuple(matrix.columns), matrix.model_spec
    found = np.ascontiguousarray(matrix.to_numpy(np.float64))
    _check_rank(found, names)
    some = table.iloc[
        np.arange(min(len(table), _AVERAGED)) * len(table) // min(len(table), _AVERAGED)
    ]

    def average(name: str, value: Any) -> Doubles:
        """Return the mean row of the matrix if all documents had a value of a column."""
        mean: Doubles = (
            spec.get_model_matrix(some.assign(**{name: value})).to_numpy(np.float64).mean(axis=0)
        )
        return mean

    asked: list[Asked] = []
    for name in wanted:
        if name in texts:
            levels = sorted(table[name].unique())
            chosen = list(contrasts.get(name, levels))
            if strange := [level for level in chosen if level not in levels]:
                shown = ", ".join(levels[:20])
                raise UsageError(f"--contrast {name}={strange[0]}: its values are {shown}")
            means = {level: average(name, level) for level in chosen}
            asked += [Asked(name, "share", level, mean) for level, mean in means.items()]
            first = chosen[0]
            asked += [
                Asked(name, "difference", f"{level} - {first}", means[level] - means[first])
                for level in chosen[1:]
            ]
        else:
            ends = np.quantile(table[name], (0.25, 0.75))
            if ends[0] == ends[1]:
                ends = np.array([table[name].min(), table[name].max()])
            if name in contrasts:
                ends = _numbers(name, contrasts[name])
            low, high = (average(name, float(end)) for end in ends)
            said = [_said(end, columns[name].kind) for end in ends]
            asked += [Asked(name, "share", said[0], low), Asked(name, "share", said[1], high)]
            asked.append(Asked(name, "difference", f"{said[1]} - {said[0]}", high - low))
    kept = rows[table.index.to_numpy()]
    return Design(kept, found, names, asked, len(rows) - len(kept))


def _columns_in(formula: Any) -> list[str]:
    """Return the names in a formula that are not those of functions, sorted."""
    found: set[str] = set()
    for factor in {factor for term in formula for factor in term.factors}:
        text = str(factor.expr)
        if factor.eval_method.value == "lookup":
            found.add(text)
        elif factor.eval_method.value == "python":
            found |= {*_QUOTED.findall(text)}
            tree = ast.parse(_QUOTED.sub("0", text.strip("{}")), mode="eval")
            called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
            inside = {
                id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)
            }  # np of np.log
            names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
            found |= {n.id for n in names if id(n) not in called | inside}
    return sorted(found)


def _evaluated(library: Any, formula: str, text: str, table: Any) -> Any:
    try:
        return library.Formula(text).get_model_matrix(table, context={})
    except Exception as error:  # of functions that a formula names, too
        raise UsageError(f"{formula!r}: cannot be computed: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def _values(column: Column, about: Known, rows: Int64s) -> list[Any]:
    """Return a column's values as a regression takes them: numbers, years of dates, or text."""
    values = about.values(column.name, rows)
    if column.kind in ("integer", "real"):
        return [None if v is None else float(v) for v in values]
    if column.kind == "time":
        return [None if v is None else _years(str(v)) for v in values]
    if column.kind == "flag":
        return [None if v is None else "yes" if v else "no" for v in values]
    return [None if v is None else str(v) for v in values]


def _years(time: str) -> float:
    """Return a time in ISO 8601 in years: 2020.5 is the middle of 2020."""
    when = datetime.datetime.fromisoformat(time.replace("Z", "+00:00"))
    begin = datetime.datetime(when.year, 1, 1, tzinfo=when.tzinfo)
    end = datetime.datetime(when.year + 1, 1, 1, tzinfo=when.tzinfo) if when.year < 9999 else begin
    return when.year + (when - begin) / max(end - begin, datetime.timedelta(days=365))


def _said(value: float, kind: str) -> str:
    return f"{value:.1f}" if kind == "time" else f"{value:.6g}"


def _numbers(name: str, given: Sequence[str]) -> Doubles:
    try:
        low, high = map(float, given)
    except ValueError:
        raise UsageError(
            f"--contrast {name}={','.join(given)}: a column of numbers is compared at two of them, as in "
            f"{name}=1990,2010"
        ) from None
    return np.array([low, high])


def _check_rank(matrix: Doubles, names: Sequence[str]) -> None:
    """Refuse columns of a matrix that follow from those before them."""
    n, p = matrix.shape
    if n <= p + 1:
        raise UsageError(
            f"{plural(n, 'document')} with all columns cannot tell {plural(p, 'coefficient')}: name "
            "fewer columns"
        )
    scale = np.linalg.norm(matrix, axis=0)
    r = np.asarray(np.linalg.qr(matrix / np.where(scale > 0, scale, 1.0), mode="r"))
    rank = 0
    for i in range(p):
        more = int(np.linalg.matrix_rank(r[:, : i + 1], tol=1e-9 * np.sqrt(n)))
        if more == rank:
            raise UsageError(
                f"{names[i][:_LABEL]!r} follows from the columns before it in the formula: leave one out"
            )
        rank = more
