"""Result files of a search: values in JSON, a web page, and a picture with up to four charts."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.report.page_file import page
from pysgrld.run import jsonio
from pysgrld.run.machine import RELEASE
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import claim_files
from pysgrld.search.outcome import SearchResult, SettingResult
from pysgrld.search.show import sentences, setting_name, table

#: Names of the result files in a search's folder.
RESULT, PAGE, PICTURE = "result.json", "search.html", "search.png"
#: Scripts in the web page, which `pysgrld.report.page_file` inserts into it.
SCRIPTS = ("core.js", "charts/figure.js", "charts/lines.js", "search.js")


def write_result(result: SearchResult, note: Callable[[str], None]) -> list[Path]:
    """Write all files of a result into the search's folder; a picture requires matplotlib.

    Parameters
    ----------
    result : SearchResult
    note : callable
        Called with a line about a file that is left out.

    Returns
    -------
    list of Path
        The files written.
    """
    record = jsonio.plain(result.record(), nonfinite_is_null=True)
    claim_results(result.folder)
    files = [result.folder / RESULT, result.folder / PAGE]
    for path, content in zip(files, (jsonio.pretty(record), html(result)), strict=True):
        with open_output(path) as file:
            file.write(content)
    if find_spec("matplotlib") is None:
        note("the picture is not drawn because matplotlib is missing: pip install matplotlib")
    elif any(row.topics for row in result.rows):
        files.append(draw(result, result.folder / PICTURE))
    return files


def claim_results(folder: Path) -> None:
    """Claim the names of the result files; raise an error if other programs use these names.

    Raises
    ------
    OutputError
        If a file with such a name exists that sgmc did not write.
    """
    claim_files(folder, [RESULT, PAGE, PICTURE], force=True)


def html(result: SearchResult) -> bytes:
    """Return the web page of a search as bytes, which depend only on the result.

    Parameters
    ----------
    result : SearchResult
    """
    corpus = result.plan.corpus
    heads, *rows = table(result)
    tags = {result.interpretable_setting: "for reading", result.best: "predicts best"}
    content = {
        "title": f"How many topics? {corpus['name']}",
        "corpus": corpus["name"],
        "facts": [
            ["documents", corpus["training_documents"], f"{result.documents:,} more held out"],
            ["words", corpus["training_tokens"], f"{corpus['words']:,} different"],
        ],
        "sentences": sentences(result),
        "marks": [
            [result.row(result.best).topics, 0],
            [result.row(result.interpretable_setting).topics, 1],
        ],
        "ticks": sorted({row.topics for row in result.rows}),
        "charts": [
            chart._asdict()
            | {
                "lines": [
                    {"name": line.name, "points": [p._asdict() for p in line.points]}
                    for line in chart.lines
                ]
            }
            for chart in charts(result)
        ],
        "heads": list(heads),
        "rows": [
            {"cells": list(cells), "tag": tags.get(row.name), "dropped": row.dropped is not None}
            for cells, row in zip(rows, result.rows, strict=True)
        ],
        "sgmc": RELEASE,
    }
    return page(content, {}, scripts=SCRIPTS)


def draw(result: SearchResult, path: Path) -> Path:
    """Write the picture of a search as a PNG file; this requires matplotlib.

    Parameters
    ----------
    result : SearchResult
    path : Path
    """
    all_charts = charts(result)
    figure = new_figure(9.5, 3.1 * -(-len(all_charts) // 2))
    places = figure.subplots(-(-len(all_charts) // 2), 2, squeeze=False).ravel()
    ticks = sorted({row.topics for row in result.rows})
    for axes, chart in zip(places, all_charts, strict=False):
        for line, colour in zip(chart.lines, COLOURS * len(chart.lines), strict=False):
            trained = [point for point in line.points if not point.dropped]
            topics, values = [p.topics for p in trained], [p.value for p in trained]
            axes.plot(topics, values, "o-", ms=4, color=colour, label=line.name)
            for point in line.points:
                if point.low is not None and point.high is not None:
                    axes.vlines(
                        point.topics, point.low, point.high, color=colour, lw=1.2, alpha=0.6
                    )
                if point.dropped:
                    axes.plot(point.topics, point.value, "x", ms=5, color="#999999")
        axes.set_xscale("log")
        axes.set_xlim(ticks[0] / 1.15, ticks[-1] * 1.15)
        axes.set_xticks(ticks, [str(k) for k in ticks])
        axes.minorticks_off()
        axes.set_title(chart.title, fontsize=10, loc="left")
        axes.set_xlabel("topics", fontsize=8)
        axes.tick_params(labelsize=8)
        if chart.low is not None:
            axes.set_ylim(chart.low, chart.high)
        for name, style in ((result.best, "--"), (result.interpretable_setting, ":")):
            axes.axvline(result.row(name).topics, color="#888888", lw=0.9, ls=style, zorder=0)
        show_grid(axes)
    for axes in places[len(all_charts) :]:
        axes.set_visible(False)
    if len(all_charts[0].lines) > 1:
        places[0].legend(fontsize=7, frameon=False)
    return write_png(path, figure)


# ---- the charts of the page and of the picture


class ChartPoint(NamedTuple):
    """Point of a chart: a setting's number of topics and value, with bounds if these are known."""

    topics: int
    value: float
    low: float | None
    high: float | None
    dropped: bool


class Line(NamedTuple):
    """Points of a chart for settings that differ only in the number of topics.

    The name of the line is empty if there is only one line.
    """

    name: str
    points: tuple[ChartPoint, ...]


class Chart(NamedTuple):
    """Chart of values over numbers of topics: title, remark to readers, lines, axis limits."""

    title: str
    remark: str
    lines: tuple[Line, ...]
    low: float | None
    high: float | None


#: Value in a row of the search's table, with its lower and upper bound. None if the row has no
#: value.
_Values = tuple[float, float | None, float | None] | None


def charts(result: SearchResult) -> list[Chart]:
    """Return charts of values over the number of topics; a chart without any value is omitted.

    Parameters
    ----------
    result : SearchResult
    """

    def score(row: SettingResult) -> _Values:
        """Return a score and, for perplexity, bounds for its difference from the best score."""
        if result.kind.whole or not math.isfinite(row.above[1]):
            return row.score, None, None
        share, low, high = row.above
        return row.score, row.score * (1 + low) / (1 + share), row.score * (1 + high) / (1 + share)

    specifications: list[
        tuple[str, str, Callable[[SettingResult], _Values], float | None, float | None]
    ] = [
        (
            f"{result.kind.title.capitalize()} of held-out documents",
            "Lower is better. Bars: 95 % interval of the difference from the best setting, valid "
            "for other documents like these.",
            score,
            None,
            None,
        ),
        (
            "Words in topics that all chains found",
            "Fraction of words in topics that all chains found. 1: all words.",
            lambda row: None if row.found is None else (row.found, None, None),
            0.0,
            1.05,
        ),
        (
            "Coherence (NPMI)",
            "How often a topic's ten words occur in the same documents. Mean of all topics; bars "
            "contain half of the topics.",
            lambda row: row.coherence,
            None,
            None,
        ),
        (
            "Stable words (of ten)",
            "How many of a topic's ten words are also among its ten words in a single draw.",
            lambda row: None if row.steady is None else (row.steady, None, None),
            0.0,
            10.5,
        ),
    ]
    drawn_charts = []
    for title, remark, value, low, high in specifications:
        lines: dict[str, list[ChartPoint]] = {}
        for row in result.rows:
            if row.topics and (values := value(row)) is not None:
                rest = {n: v for n, v in row.options.items() if n != "topics"}
                point = ChartPoint(row.topics, *values, dropped=row.dropped is not None)
                lines.setdefault(setting_name(row._replace(options=rest)), []).append(point)
        if lines:
            drawn = tuple(Line(name, tuple(points)) for name, points in lines.items())
            drawn_charts.append(Chart(title, remark, drawn, low, high))
    return drawn_charts
