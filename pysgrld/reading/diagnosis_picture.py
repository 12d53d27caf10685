"""Picture of a comparison of chains: traces of scores, overlaps of topics, and R-hat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.evaluate.matching import SAME
from pysgrld.reading.diagnosis import LOG_OF, MIXED, Diagnosis
from pysgrld.reading.plotting import COLOURS, new_figure, require_matplotlib, write_png

#: Colour of good values.
GOOD = COLOURS[2]
#: Colour of bad values.
BAD = COLOURS[0]
#: Maximum R-hat in the picture. Greater values are drawn at this value.
GREATEST = 4.0


def check_picture(path: str) -> None:
    """Raise an error if the picture cannot be drawn, before the comparison is computed.

    Parameters
    ----------
    path : str

    Raises
    ------
    UsageError
        If matplotlib is not installed, or the name is not that of a PNG file.
    """
    require_matplotlib("--picture needs", "")
    if Path(path).suffix.lower() != ".png":
        raise UsageError(f"--picture {path}: name a file that ends in .png")


def draw(d: Diagnosis, path: str | Path) -> Path:
    """Draw the picture and write it as a PNG file; this requires matplotlib.

    Parameters
    ----------
    d : Diagnosis
        From `diagnose`.
    path : str or Path
        The PNG file to write.

    Returns
    -------
    Path
        The file.
    """
    figure = new_figure(10.0, 3.6)
    parts = [_traces, _overlaps, _rhats] if d.topics else [_traces, _quantities]
    for part, axes in zip(parts, figure.subplots(1, len(parts)), strict=True):
        part(axes, d)
    return write_png(Path(path), figure)


def _quantities(axes: Any, d: Diagnosis) -> None:
    """Draw bars for the R-hat of the quantities that do not depend on the order of topics."""
    rhats = [q.measure.rhat for q in d.quantities][::-1]
    axes.barh(
        np.arange(len(rhats)),
        np.minimum(np.nan_to_num(rhats, nan=1.0), GREATEST) - 1.0,
        left=1.0,
        color=[GOOD if r < MIXED else BAD for r in rhats],
    )
    axes.set_yticks(np.arange(len(rhats)), [q.title for q in d.quantities][::-1], fontsize=7)
    axes.axvline(MIXED, color="black", lw=0.8, ls="--")
    axes.set_xlim(1.0, None if max(rhats) > MIXED else 1.2)
    axes.set_title("Mixing")
    axes.set_xlabel(f"split R-hat (mixed: below {MIXED:g})")


def _traces(axes: Any, d: Diagnosis) -> None:
    axes.set_title("Held-out documents")
    axes.set_xlabel("iteration")
    axes.set_ylabel(LOG_OF[d.unit])
    if d.traces is None:
        axes.text(0.5, 0.5, "not compared", ha="center", transform=axes.transAxes)
        return
    for i, (run, trace) in enumerate(zip(d.runs, d.traces, strict=True)):
        axes.plot(d.traced, trace, lw=0.9, color=COLOURS[i % len(COLOURS)], label=run.name)
    if d.chains <= len(COLOURS):
        axes.legend(fontsize=7, frameon=False, loc="lower right")


def _overlaps(axes: Any, d: Diagnosis) -> None:
    overlaps = np.sort([topic.overlap for topic in d.topics])[::-1]
    axes.set_title(
        "Topics shared by the chains" if d.chains > 1 else "Topics shared by both halves"
    )
    axes.bar(
        np.arange(len(overlaps)) + 1,
        overlaps,
        width=1.0,
        linewidth=0,
        color=[GOOD if o >= SAME else "#bbbbbb" for o in overlaps],
    )
    axes.axhline(SAME, color="black", lw=0.8, ls="--")
    n = int((overlaps >= SAME).sum())
    axes.text(
        0.98,
        0.95,
        f"{n} of {len(overlaps)} topics are shared",
        ha="right",
        va="top",
        transform=axes.transAxes,
    )
    axes.set_ylim(0, 1.15)
    axes.set_xlabel("topics in order of decreasing overlap")
    axes.set_ylabel("smallest overlap between any two " + ("chains" if d.chains > 1 else "halves"))


def _rhats(axes: Any, d: Diagnosis) -> None:
    parts = {
        "top words": [w.measure.rhat for t in d.topics for w in t.words],
        "weights": [t.weight_measure.rhat for t in d.topics if t.weight_measure],
    }
    bins = np.geomspace(0.99, GREATEST, 40)
    for (name, values), colour in zip(parts.items(), ("#bbbbbb", GOOD), strict=True):
        values_known = np.array(values)[~np.isnan(values)]
        if len(values_known):
            share = np.full(len(values_known), 100 / len(values_known))
            axes.hist(
                np.minimum(values_known, GREATEST),
                bins=bins,
                weights=share,
                label=name,
                color=colour,
                alpha=0.75,
            )
    axes.axvline(MIXED, color="black", lw=0.8, ls="--")
    axes.set_xscale("log")
    ticks = [MIXED, 1.5, 2.0, 3.0, GREATEST]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks[:-1]] + [f"{GREATEST:g}+"])
    axes.minorticks_off()
    axes.set_title("Mixing")
    axes.set_xlabel(f"split R-hat (mixed: below {MIXED:g})")
    axes.set_ylabel("% of the quantities")
    axes.legend(fontsize=7, frameon=False)
