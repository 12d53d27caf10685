"""Picture of effects: predicted topic shares along numeric columns, or at each category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.effects.answers import Effects, PredictedShares, TopicsContrasted
from pysgrld.effects.design import to_date
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_picture

#: Maximum number of topics in a panel.
TOPICS = 6
#: Maximum number of categories in a panel.
_LEVELS = 30
#: Maximum number of characters of a category's name.
_LETTERS = 24
#: Maximum number of characters of a topic's name in the panel of differences between values.
_NAME = 32
#: Height in inches of a topic's row in the panel of differences.
_ROW = 0.2
#: Up to this number of categories, shares are drawn as points. For more categories, a matrix is
#: drawn.
_POINTS = 8
#: A share is written into its cell of the matrix if it is at least this number of percent.
_WRITTEN = 5.0
#: Horizontal distance between the points of two neighbouring topics in the same category. The unit
#: is the distance between two categories.
_BESIDE = 0.1


def draw(
    path: Path, effects: Effects, topics: Sequence[int], names: Mapping[int, str]
) -> tuple[Path, int]:
    """Draw each column's predicted shares and differences, and write a PNG, PDF or SVG file.

    Parameters
    ----------
    path : Path
    effects : Effects
    topics : sequence of int
        Numbers of the topics. Differences of all topics are drawn, but shares only of the first
        `TOPICS`.
    names : mapping of int to str
        Names of the topics.

    Returns
    -------
    Path, int
        The file, and the number of topics with drawn shares.
    """
    columns = list(dict.fromkeys(comparison.column for comparison in effects.compared))
    height = max(2.4, 0.8 + _ROW * len(topics))
    figure = new_figure(max(6.4, 4.6 * len(columns)), 4.4 + height)
    above, below = figure.subfigures(2, 1, height_ratios=(4.4, height))
    panels = above.subplots(1, len(columns), squeeze=False)[0]
    place = {topic: i for i, topic in enumerate(effects.topics.tolist())}
    chosen = [(topic, place[topic]) for topic in topics[:TOPICS]]
    for axes, column in zip(panels, columns, strict=True):
        curve = effects.curve(column)[:_LEVELS]
        dates = effects.design.is_date(column)
        if len(curve) > _POINTS and curve[0].number is None:
            _draw_matrix(axes, curve, chosen, names)
            axes.set_title(f"{column}: predicted share, %")
            continue
        show_grid(axes)
        for i, (topic, index) in enumerate(chosen):
            label = f"{topic} {_shortened(names[topic])}"
            _draw(axes, curve, index, i, len(chosen), label, dates=dates)
        axes.set_title(column)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("predicted share, %")
    handles, labels = next(
        (found for found in (each.get_legend_handles_labels() for each in panels) if found[0]),
        ([], []),
    )
    above.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    for axes, column in zip(
        below.subplots(1, len(columns), squeeze=False)[0], columns, strict=True
    ):
        compared = [each for each in effects.compared if each.column == column]
        _draw_differences(axes, compared, topics, names)
    return write_picture(path, figure), len(chosen)


def _draw_differences(
    axes: Any, compared: Sequence[TopicsContrasted], topics: Sequence[int], names: Mapping[int, str]
) -> None:
    """Draw each topic's largest difference as a point with a 90 % interval, and a line at zero."""
    rows = [
        (topic, comparison)
        for comparison in compared
        for topic in comparison.topics
        if topic.topic in topics
    ]
    rows.sort(key=lambda row: row[0].rank)
    by_topic = {topic.topic: (topic, pair) for topic, pair in rows}
    largest = sorted(by_topic.values(), key=lambda row: row[0].rank)
    show_grid(axes)
    axes.axvline(0.0, color="#555555", lw=1.0)
    labels = []
    for y, (topic, pair) in enumerate(largest):
        mean, low, high = (None if x is None else 100 * x for x in topic.difference)
        colour = COLOURS[2] if topic.surely else COLOURS[6]
        if low is not None:
            axes.plot([low, high], [y, y], color=colour, lw=1.4)
        axes.plot([mean], [y], "o", ms=4, color=colour)
        values = (
            f": {pair.second[:_LETTERS]} - {pair.first[:_LETTERS]}" if len(compared) > 1 else ""
        )
        labels.append(f"{topic.topic} {_shortened(names[topic.topic])}{values}")
    axes.set_yticks(np.arange(len(labels)), labels, fontsize=7)
    pair = compared[0]
    title = "largest difference" if len(compared) > 1 else f"{pair.second} less {pair.first}"
    axes.set_xlabel(f"{pair.column}: {title},\npercentage points", fontsize=8)


def _shortened(name: str) -> str:
    """Shorten a long name of a topic by leaving out its last words."""
    while len(name) > _NAME and " · " in name:
        name = name.rpartition(" · ")[0]
    return name[:_NAME]


def _draw_matrix(
    axes: Any,
    curve: Sequence[PredictedShares],
    chosen: Sequence[tuple[int, int]],
    names: Mapping[int, str],
) -> None:
    """Draw a matrix of predicted shares, with a coloured cell for each topic and category.

    Parameters
    ----------
    axes : matplotlib Axes
    curve : sequence of PredictedShares
    chosen : sequence of (int, int)
        Number and index of each topic.
    names : mapping of int to str
    """
    shares = 100 * np.array([[point.mean[index] for _, index in chosen] for point in curve])
    axes.imshow(shares, aspect="auto", cmap="Blues", vmin=0.0, vmax=max(1.0, shares.max()))
    axes.set_yticks(np.arange(len(curve)), [p.value[:_LETTERS] for p in curve], fontsize=7)
    labels = [f"{topic} {names[topic].split(' · ')[0]}" for topic, _ in chosen]
    axes.set_xticks(np.arange(len(chosen)), labels, fontsize=7, rotation=30, ha="right")
    for (row, column), share in np.ndenumerate(shares):
        if share >= _WRITTEN:
            colour = "white" if share > 0.6 * shares.max() else "black"
            axes.text(
                column, row, f"{share:.0f}", ha="center", va="center", fontsize=6, color=colour
            )


def _draw(
    axes: Any,
    curve: Sequence[PredictedShares],
    index: int,
    number: int,
    n_topics: int,
    label: str,
    *,
    dates: bool,
) -> None:
    """Draw one topic's predicted shares: a line with a 90 % band, or bars for categories."""
    mean, low, high = (
        100 * np.array([part[index] for part in parts])
        for parts in zip(*((p.mean, p.low, p.high) for p in curve), strict=True)
    )
    colour = COLOURS[number % len(COLOURS)]
    numbers = [point.number for point in curve if point.number is not None]
    if numbers:
        x: Any = np.array([to_date(year) for year in numbers]) if dates else numbers
        axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(x, mean, color=colour, label=label)
        axes.tick_params(axis="x", rotation=30 if dates else 0)
        return
    x = np.arange(len(curve)) + _BESIDE * (number - (n_topics - 1) / 2)
    bars = np.maximum(0.0, [mean - low, high - mean])
    axes.errorbar(x, mean, bars, fmt="o", ms=4, lw=1.4, color=colour, label=label)
    names = [point.value[:_LETTERS] for point in curve]
    turned = sum(map(len, names)) > 40
    axes.set_xticks(
        np.arange(len(curve)),
        names,
        rotation=45 if turned else 0,
        ha="right" if turned else "center",
    )
