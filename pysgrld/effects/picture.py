"""A picture of effects: predicted shares of topics along columns of numbers, or at each category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.effects.answers import Effects, PredictedShares
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png

#: Maximum number of topics and of categories in a panel, and of letters in their names.
TOPICS, _LEVELS, _LETTERS = 6, 30, 24
#: Distance between neighbouring points of a category, in units of the distance between categories.
_BESIDE = 0.1


def draw(path: Path, effects: Effects, topics: Sequence[int], names: Mapping[int, str]) -> Path:
    """Draw a panel for each column, with the topics that are asked for, and write a PNG file.

    Parameters
    ----------
    path : Path
    effects : Effects
    topics : sequence of int
        Their numbers; at most `TOPICS` of them are drawn.
    names : mapping of int to str
        Names of the topics.
    """
    columns = list(dict.fromkeys(comparison.column for comparison in effects.compared))
    figure = new_figure(max(6.4, 4.6 * len(columns)), 4.4)
    panels = figure.subplots(1, len(columns), squeeze=False, sharey=True)[0]
    place = {topic: i for i, topic in enumerate(effects.topics.tolist())}
    chosen = [(topic, place[topic]) for topic in topics[:TOPICS]]
    for axes, column in zip(panels, columns, strict=True):
        curve = effects.curve(column)[:_LEVELS]
        show_grid(axes)
        for i, (topic, index) in enumerate(chosen):
            _draw(axes, curve, index, i, len(chosen), f"{topic} {names[topic]}")
        axes.set_title(column)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("predicted share, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return write_png(path, figure)


def _draw(
    axes: Any, curve: Sequence[PredictedShares], index: int, number: int, n_topics: int, label: str
) -> None:
    """Draw a topic: a line in its 90 % band, or points with bars next to the other topics' points."""
    mean, low, high = (
        100 * np.array([part[index] for part in parts])
        for parts in zip(*((p.mean, p.low, p.high) for p in curve), strict=True)
    )
    colour = COLOURS[number % len(COLOURS)]
    numbers = [point.number for point in curve if point.number is not None]
    if numbers:
        axes.fill_between(numbers, low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(numbers, mean, color=colour, label=label)
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
