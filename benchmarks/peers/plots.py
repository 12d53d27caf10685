"""The plot of a contest: perplexity against training seconds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from series import OURS, Series, all_series, chains, threads

#: After Okabe and Ito, whose colours colour-blind readers can tell apart; sgmc has the warm ones.
COLOURS = {
    "sgmc scir": "#D55E00",
    "sgmc sgrld": "#E69F00",
    "sgmc cgs": "#A50F15",
    "tomotopy": "#0072B2",
    "topica": "#009E73",
    "topica warp": "#7FB98F",
    "pyrmallet": "#56B4E9",
    "lda": "#CC79A7",
    "gensim": "#555555",
    "scikit-learn": "#999999",
}


def image(found: dict[str, Any]) -> str:
    """Name the file of a contest's plot."""
    return f"peers-{found['name']}.png"


def plot(found: dict[str, Any], path: Path) -> None:
    """Draw perplexity against training seconds, both on a log scale, lines named at their ends."""
    corpus, settings = found["corpus"], found["settings"]
    series = [s for s in all_series(found) if s.figure != "mean"]
    if not series:
        return
    figure, axes = plt.subplots(figsize=(8.6, 4.9))
    figure.subplots_adjust(left=0.085, right=0.745, bottom=0.105, top=0.935)
    axes.set_xscale("log")
    axes.set_yscale("log")
    begin = 0.22
    end = 1.04 * max(t for s in series for t, _ in s.points)
    low = min(p for s in series for _, p in s.points) / 1.012
    high = 1.04 * corpus["unigram"]
    axes.set_xlim(begin, end)
    axes.set_ylim(low, high)
    for s in series:
        axes.plot(
            *zip(*s.points, strict=True),
            color=COLOURS[s.peer["peer"]],
            lw=width(s),
            ls=":" if s.is_one_draw else "-",
            marker="o",
            ms=1.5 + 1.2 * width(s),
            zorder=2 + width(s),
        )
    axes.axhline(corpus["unigram"], color="#aaaaaa", lw=1, ls="--", zorder=1)
    axes.text(
        begin * 1.06,
        corpus["unigram"] * 1.004,
        "unigram: word frequencies without topics",
        va="bottom",
        fontsize=8,
        color="#777777",
    )
    seconds = [2.0**i for i in range(-2, 12) if begin <= 2.0**i <= end]
    axes.set_xticks(seconds, [f"{t:g}" for t in seconds])
    heights = [y for y in range(500, 10_000, 50) if low <= y <= high]
    named = [y for y in heights if (y % 100 == 0 and (y < 1600 or y % 200 == 0)) or y < 1.2 * low]
    axes.set_yticks(named, [f"{y:,}" for y in named])
    axes.minorticks_off()
    axes.grid(color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    clock = "CPU" if settings["threads"] == 1 else "wall-clock"
    axes.set_xlabel(f"{clock} seconds of training, {threads(settings)}{chains(settings)}")
    axes.set_ylabel("held-out perplexity (lower is better)")
    priors = "own priors" if settings["own"] else "the same priors for all"
    axes.set_title(
        f"{corpus['name']}: {corpus['documents']:,} documents, {corpus['words']:,} words, "
        f"{settings['topics']:,} topics, {priors}",
        fontsize=9.5,
        loc="left",
    )
    name_ends(axes, series)
    figure.savefig(path, dpi=120, pil_kwargs={"optimize": True})
    plt.close(figure)


def width(series: Series) -> float:
    """Choose the thickness of a line: sgmc's own figure, its other ones, everybody else's."""
    if series.peer["kind"] != "sgmc" or series.is_one_draw:
        return 1.3
    return 3.2 if series.peer["peer"] == OURS else 2.0


def name_ends(axes: Any, series: list[Series]) -> None:
    """Write names to the right of the lines' ends, pushed apart where these are close."""
    low, high = axes.get_ylim()
    wanted = [math.log(s.points[-1][1] / low) / math.log(high / low) for s in series]
    for s, y in zip(series, apart(wanted, 0.042), strict=True):
        colour, ours = COLOURS[s.peer["peer"]], s.peer["kind"] == "sgmc" and not s.is_one_draw
        axes.annotate(
            s.label,
            s.points[-1],
            xytext=(1.035, y),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            fontweight="bold" if ours else "normal",
            color=colour,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "lw": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0.0, 0.5),
            },
        )


def apart(wanted: list[float], gap: float, floor: float = 0.0) -> list[float]:
    """Move ascending heights at least ``gap`` apart, as near to those wanted as crowds allow.

    Neighbours that would touch are placed as one crowd around the mean of what they want, and no
    name stands below ``floor``.
    """

    def centre(crowd: list[float]) -> float:
        return max(sum(crowd) / len(crowd), floor + gap * (len(crowd) - 1) / 2)

    crowds: list[list[float]] = []
    for y in wanted:
        crowds.append([y])
        while (
            len(crowds) > 1
            and centre(crowds[-1]) - centre(crowds[-2])
            < gap * (len(crowds[-1]) + len(crowds[-2])) / 2
        ):
            last = crowds.pop()
            crowds[-1] += last
    return [
        centre(crowd) + gap * (i - (len(crowd) - 1) / 2)
        for crowd in crowds
        for i in range(len(crowd))
    ]
