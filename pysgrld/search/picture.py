"""The result of a search as a picture: four small charts over the number of topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.search.charts import Chart, charts
from pysgrld.search.outcome import SearchResult

#: File of the picture in the folder of a search.
PICTURE = "search.png"


def draw(result: SearchResult, path: Path) -> Path:
    """Write the picture as a PNG file; needs matplotlib.

    Parameters
    ----------
    result : SearchResult
    path : Path
    """
    found = charts(result)
    figure = new_figure(9.5, 3.1 * -(-len(found) // 2))
    places = figure.subplots(-(-len(found) // 2), 2, squeeze=False).ravel()
    for axes, chart in zip(places, found, strict=False):
        _chart(axes, chart, result)
    for axes in places[len(found) :]:
        axes.set_visible(False)
    if len(found[0].lines) > 1:
        places[0].legend(fontsize=7, frameon=False)
    return write_png(path, figure)


def _chart(axes: Any, chart: Chart, result: SearchResult) -> None:
    for line, colour in zip(chart.lines, COLOURS * len(chart.lines), strict=False):
        known = [point for point in line.points if not point.dropped]
        topics, values = [p.topics for p in known], [p.value for p in known]
        axes.plot(topics, values, "o-", ms=4, color=colour, label=line.name)
        for point in line.points:
            if point.low is not None and point.high is not None:
                axes.vlines(point.topics, point.low, point.high, color=colour, lw=1.2, alpha=0.6)
            if point.dropped:
                axes.plot(point.topics, point.value, "x", ms=5, color="#999999")
    ticks = sorted({row.topics for row in result.rows})
    axes.set_xscale("log")
    axes.set_xlim(ticks[0] / 1.15, ticks[-1] * 1.15)
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set_title(chart.title, fontsize=10, loc="left")
    axes.set_xlabel("topics", fontsize=8)
    axes.tick_params(labelsize=8)
    if chart.low is not None:
        axes.set_ylim(chart.low, chart.high)
    for name, style in ((result.best, "--"), (result.smallest, ":")):
        axes.axvline(result.row(name).topics, color="#888888", lw=0.9, ls=style, zorder=0)
    show_grid(axes)
