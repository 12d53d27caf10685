"""Display of a model in a notebook, as HTML and as a picture of its topics."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from pysgrld.types import Array

#: Number of charts per row.
_COLUMNS = 4
#: Width of a chart in inches.
_WIDTH = 2.9
#: Height of a one-line title in inches.
_HEAD = 0.6
#: Height of each further line of a title in inches.
_LINE = 0.17
#: Height per word of a chart in inches.
_WORD = 0.24
#: Maximum number of characters of a bar's label, which is a word.
_LETTERS = 18
#: Maximum number of characters in a line of a title.
_TITLE = 28
#: Colour of bars (Okabe and Ito).
_COLOUR = "#0072B2"


class Panel(NamedTuple):
    """Bar chart of a topic: its words, their values, and the bounds of the values if known."""

    title: str
    words: list[str]
    values: Array
    bounds: tuple[Array, Array] | None


def picture(panels: Sequence[Panel], label: str) -> Any:
    """Return a matplotlib figure with a bar chart for each topic.

    Parameters
    ----------
    panels : sequence of Panel
        At least one.
    label : str
        Name of the axis of the values.
    """
    # Import pyplot here, because an import at the top of the module would make notebooks show
    # figures.
    from matplotlib import pyplot

    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    titles = [textwrap.wrap(panel.title, _TITLE) for panel in panels]
    height = _HEAD + _LINE * (max(map(len, titles)) - 1)
    height += _WORD * max(len(panel.words) for panel in panels)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=True,
        figsize=(_WIDTH * columns, height * rows),
        layout="constrained",
    )
    # Because the figure is closed, a notebook shows it only once, as the value of a cell.
    pyplot.close(figure)
    for axes, panel, lines in zip(grid.flat, panels, titles, strict=False):
        place = np.arange(len(panel.words))
        axes.barh(place, panel.values, color=_COLOUR, alpha=0.75)
        if panel.bounds is not None:
            low, high = panel.bounds
            around = np.maximum(0.0, [panel.values - low, high - panel.values])
            axes.errorbar(panel.values, place, xerr=around, fmt="none", ecolor="#333333", lw=1)
        axes.set_yticks(place, [_short(word) for word in panel.words], fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.locator_params(axis="x", nbins=4)
        axes.invert_yaxis()
        axes.set_title(_plain("\n".join(lines)), fontsize=9, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in list(grid.flat)[max(0, len(panels) - columns) : len(panels)]:
        # Show the numbers of the x axis below the lowest chart of each column.
        axes.tick_params(axis="x", labelbottom=True)
    figure.supxlabel(label, fontsize=9)
    return figure


def _short(word: str) -> str:
    """Return a word shortened for a picture."""
    return _plain(word if len(word) <= _LETTERS else word[: _LETTERS - 1] + "…")


def _plain(text: str) -> str:
    """Return a text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")


def html(
    parameters: str,
    facts: Sequence[str],
    topics: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    hidden: int,
) -> str:
    """Return HTML that describes a model; the page around the HTML sets the colours.

    Parameters
    ----------
    parameters : str
        The model's name and parameters.
    facts : sequence of str
        Facts known after `fit`; empty before `fit`.
    topics : sequence of (str, sequence of (str, float))
        For each topic its name, and its words with their values.
    hidden : int
        Number of topics that are not shown.
    """
    head = f"<pre>{escape(parameters)}</pre>"
    if not facts:
        return head
    rows = [
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>"
        + " ".join(f"<span title='{value:.4g}'>{escape(word)}</span>" for word, value in words)
        + "</td></tr>"
        for name, words in topics
    ]
    if hidden > 0:
        rows.append(f"<tr><td></td><td style='text-align:left'>and {hidden:,} more</td></tr>")
    return f"{head}<p>{escape(', '.join(facts))}</p><table>{''.join(rows)}</table>"
