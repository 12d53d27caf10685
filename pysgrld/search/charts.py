"""The four charts of a search, for the picture and for the page: values over the number of topics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from pysgrld.search.outcome import SearchResult, Tried
from pysgrld.search.show import called


class ChartPoint(NamedTuple):
    """A value at a number of topics, with its bounds where it has some."""

    topics: int
    value: float
    low: float | None
    high: float | None
    dropped: bool


class Line(NamedTuple):
    """Points of one setting of the other options, by topics; the name is empty where there is one."""

    name: str
    points: tuple[ChartPoint, ...]


class Chart(NamedTuple):
    """A chart: its title, what it says, its lines, and the ends of its axis where they are known."""

    title: str
    remark: str
    lines: tuple[Line, ...]
    low: float | None
    high: float | None


#: Value of a row, with its bounds.
_Values = tuple[float, float | None, float | None] | None


def charts(result: SearchResult) -> list[Chart]:
    """Give the charts that there are values for.

    Parameters
    ----------
    result : SearchResult
    """
    title = result.kind.title
    found = [
        _chart(
            result,
            f"{title.capitalize()} of held-out documents",
            "Lower predicts better. Bars hold 95 % of what the difference to the best may be on other "
            "documents.",
            lambda row: (row.score, *_beside_the_best(result, row)),
            None,
            None,
        ),
        _chart(
            result,
            "Words in topics that all chains found",
            "What another run would find again. 1 is all of the corpus.",
            lambda row: None if row.found is None else (row.found, None, None),
            0.0,
            1.05,
        ),
        _chart(
            result,
            "Coherence (NPMI)",
            "How often a topic's ten words meet in documents: the mean of all topics, and the bars hold "
            "half of them.",
            lambda row: row.coherence,
            None,
            None,
        ),
        _chart(
            result,
            "Steady words, of ten",
            "How many of a topic's ten words are among its ten in a single draw.",
            lambda row: None if row.steady is None else (row.steady, None, None),
            0.0,
            10.5,
        ),
    ]
    return [chart for chart in found if chart.lines]


def _beside_the_best(result: SearchResult, row: Tried) -> tuple[float | None, float | None]:
    """Give the bounds of a score if the best stayed where it is; none of what is no perplexity."""
    if result.kind.whole or not math.isfinite(row.above[1]):
        return None, None
    share, low, high = row.above
    return row.score * (1 + low) / (1 + share), row.score * (1 + high) / (1 + share)


def _chart(
    result: SearchResult,
    title: str,
    remark: str,
    value: Callable[[Tried], _Values],
    low: float | None,
    high: float | None,
) -> Chart:
    lines: dict[str, list[ChartPoint]] = {}
    for row in result.rows:
        if row.topics and (found := value(row)) is not None:
            rest = row._replace(options={n: v for n, v in row.options.items() if n != "topics"})
            point = ChartPoint(row.topics, *found, dropped=row.dropped is not None)
            lines.setdefault(called(rest), []).append(point)
    made = tuple(Line(name, tuple(points)) for name, points in lines.items())
    return Chart(title, remark, made, low, high)
