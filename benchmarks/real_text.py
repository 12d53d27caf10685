"""Draw how well statements about other texts hold: the picture of docs/calibration.md.

    python benchmarks/real_text.py RESULTS.json... PICTURE.png

RESULTS.json are files that ``benchmarks/halves.py`` and ``benchmarks/replication.py`` write with
--json, or benchmarks/results/real-text.json, which has means of several splits. On the left, a 90 %
interval of a difference between halves should hold 0 nine times in ten; on the right, points should lie
on the diagonal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png

MADE = "drawn from the model"


def mean_of(rows: list[dict[str, Any]], corpus: str) -> dict[str, Any]:
    """Return the mean of the fractions of a corpus over its splits, and the least of the worst topics."""
    splits = [row for row in rows if row["corpus"] == corpus]
    means = {name: float(np.mean([row[name] for row in splits])) for name in ("posterior", "alike")}
    return {"corpus": corpus, "worst": min(row["worst"] for row in splits), **means}


def draw_halves(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Draw the coverage of posterior intervals and of intervals for other texts, by corpus."""
    rows = [mean_of(rows, name) for name in dict.fromkeys(row["corpus"] for row in rows)]
    rows = sorted(rows, key=lambda row: (row["corpus"] == MADE, -row["alike"]))[::-1]
    places = np.arange(len(rows))
    posterior, alike, worst = (
        np.array([row[name] for row in rows]) for name in ("posterior", "alike", "worst")
    )
    axes.axvline(0.9, color="#555555", lw=1.0, ls="--")
    axes.hlines(places, posterior, alike, color="#bbbbbb", lw=2.0)
    axes.plot(posterior, places, "o", color=COLOURS[0], ms=8, label="these documents alone")
    axes.plot(alike, places, "o", color=COLOURS[2], ms=8, label="other texts like these")
    axes.plot(worst, places, "|", color=COLOURS[2], ms=10, label="the worst topic")
    axes.set_yticks(places, [row["corpus"] for row in rows])
    axes.set_xlim(0.3, 1.0)
    axes.set_xlabel("words' intervals that hold (90 %: dashed)")
    axes.set_title("Intervals of words", fontsize=11)
    axes.legend(loc="upper left", fontsize=8, framealpha=0.9, edgecolor="none")
    show_grid(axes)


def draw_replication(axes: Any, replication: dict[str, Any], replicates: int) -> None:
    """Draw the share of topics found in new texts against the share of replicates that found them."""
    pairs = np.concatenate([np.array(rows) for name, rows in replication.items() if name != MADE])
    axes.plot([0, 1], [0, 1], color="#555555", lw=1.0, ls="--")
    for times in range(replicates + 1):
        found = pairs[pairs[:, 0] == times, 1]
        mean = found.mean()
        # Wilson's interval of a proportion, 90 %.
        z, n = 1.645, len(found)
        middle = (mean + z * z / (2 * n)) / (1 + z * z / n)
        width = z / (1 + z * z / n) * np.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
        share = times / replicates
        axes.plot([share] * 2, [middle - width, middle + width], color=COLOURS[2], lw=1.5)
        axes.plot(share, mean, "o", color=COLOURS[2], ms=4 + np.sqrt(n))
        axes.annotate(
            f"{n}", (share, middle + width), (0, 4), textcoords="offset points", ha="center"
        )
    axes.set_xticks(np.arange(replicates + 1) / replicates, range(replicates + 1))
    axes.set_xlim(-0.07, 1.07)
    axes.set_ylim(0.0, 1.1)
    axes.set_xlabel(f"replicates that found a topic, of {replicates}")
    axes.set_ylabel("found by the run on the other half")
    axes.set_title("Topics found in new texts (numbers: topics)", fontsize=11)
    show_grid(axes)


def main() -> None:
    *inputs, picture = sys.argv[1:]
    results: dict[str, Any] = {}
    for path in inputs:
        results |= json.loads(Path(path).read_text())
    figure = new_figure(10.5, 4.3)
    left, right = figure.subplots(1, 2)
    draw_halves(left, results["halves"])
    draw_replication(right, results["replication"], results["replicates"])
    write_png(Path(picture), figure)


if __name__ == "__main__":
    main()
