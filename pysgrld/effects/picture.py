"""Effects as a picture: a panel for each comparison, a topic a line, its difference and its interval."""

from __future__ import annotations

from pathlib import Path

from pysgrld.effects.answers import Effects
from pysgrld.errors import UsageError
from pysgrld.reading.plotting import COLOURS, new_figure, require_matplotlib, show_grid, write_png

#: Topics and comparisons that are drawn, at most, and letters of a name.
TOPICS, PANELS, LETTERS = 30, 6, 34


def check_picture(path: str) -> None:
    """Refuse what cannot be drawn before anything is computed.

    Raises
    ------
    UsageError
        If matplotlib is not there, or the name is not that of a PNG file.
    """
    require_matplotlib("--plot needs", "")
    if Path(path).suffix.lower() != ".png":
        raise UsageError(f"--plot {path}: name a file that ends in .png")


def draw(found: Effects, path: str | Path) -> Path:
    """Write the differences of the heaviest topics as a PNG file; needs matplotlib."""
    differences = [e for e in found.effects if e.what == "difference"]
    panels = list(dict.fromkeys((e.column, e.label) for e in differences))[:PANELS]
    topics = list(dict.fromkeys(e.topic for e in differences))[:TOPICS]
    place = {topic: len(topics) - 1 - i for i, topic in enumerate(topics)}
    figure = new_figure(2.6 + 2.9 * len(panels), 1.2 + 0.24 * len(topics))
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (column, label) in zip(all_axes, panels, strict=True):
        show_grid(axes)
        axes.axvline(0.0, color="black", lw=0.8)
        for each in differences:
            if (each.column, each.label) != (column, label) or each.topic not in place:
                continue
            y, colour = place[each.topic], COLOURS[2] if each.surely else "#777777"
            if each.low is not None and each.high is not None:
                axes.plot((100 * each.low, 100 * each.high), (y, y), color=colour, lw=2)
            axes.plot(100 * each.mean, y, "o", color=colour, ms=5)
        axes.set_title(f"{column}: {label}"[:LETTERS], fontsize=9)
        axes.set_xlabel("percentage points", fontsize=8)
        axes.tick_params(labelsize=8)
    names = [f"{found.names[topic]}"[:LETTERS] for topic in topics]
    all_axes[0].set_yticks([place[topic] for topic in topics], names, fontsize=8)
    all_axes[0].set_ylim(-0.7, len(topics) - 0.3)
    return write_png(Path(path), figure)
