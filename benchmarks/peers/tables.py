"""Tables of a contest: last perplexities, and the seconds to reach tomotopy's."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from series import FIGURES, OURS, THEIRS, all_series, title

#: Head of the table of `versus`.
VERSUS = """\
| contest | tomotopy, averaged | after, s | sgmc, s | ratio | one draw | after | sgmc | ratio | end |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def table(found: dict[str, Any]) -> str:
    """Write a Markdown table of the last perplexities, a row for each series."""
    head = ["", "perplexity", "best of other priors", "M tokens/s", "MB"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    listed: set[str] = set()
    for series in all_series(found):
        peer, last = series.peer, series.peer["points"][-1]
        best = "" if series.figure != "point" else f"{min(peer['other_alphas'].values()):.0f}"
        name = f"**{series.label}**" if peer["kind"] == "sgmc" else series.label
        cells = [name, f"{series.points[-1][1]:.0f}", best, "", ""]
        if peer["peer"] not in listed:  # the same for every line of a peer
            listed.add(peer["peer"])
            cells[3] = f"{last['tokens'] / last['seconds'] / 1e6:.2f}"
            cells[4] = f"{peer['peak_rss_bytes'] / 1e6:.0f}"
        lines.append(f"| {' | '.join(cells)} |")
    failed = ", ".join(peer["peer"] for peer in found["peers"] if peer.get("failed"))
    return "\n".join(lines) + (f"\n\nFailed, and left out: {failed}." if failed else "")


def corpus_table(contests: list[dict[str, Any]], machines: list[int]) -> str:
    """Write the last perplexities on one corpus: a row for each peer, a column for each contest.

    The first rows have the priors and the number of the machine. A cell has the perplexities of a peer
    in the order of `FIGURES` ("-": missing), its speed and its memory.
    """
    columns = [title(found).split(", ", 1)[1] for found in contests]
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    priors = [
        "own" if s["own"] else f"{s['alpha']:g}, {s['eta']:g}"
        for s in (found["settings"] for found in contests)
    ]
    rows = {"alpha, eta": priors, "machine": [str(number) for number in machines]}
    ends = {}
    for column, found in enumerate(contests):
        for peer in found["peers"]:
            if not peer["points"]:
                continue
            last, label = peer["points"][-1], peer["peer"]
            figures = [last.get(figure) for figure in FIGURES]
            if not any(point["averaged"] for point in peer["points"]):
                figures = [last["point"]]
            ends.setdefault(label, next(figure for figure in figures if figure))
            perplexities = ", ".join(f"{x:.0f}" if x else "-" for x in figures)
            speed = last["tokens"] / last["seconds"] / 1e6
            cells = rows.setdefault(label, [""] * len(contests))
            cells[column] = f"{perplexities}; {speed:.1f}, {peer['peak_rss_bytes'] / 1e6:.0f}"
    for label in sorted(rows, key=lambda name: ends.get(name, 0.0)):
        name = f"**{label}**" if label.startswith("sgmc") else label
        lines.append(f"| {name} | {' | '.join(rows[label])} |")
    return "\n".join(lines)


# ---- seconds until a perplexity


def versus(contests: list[dict[str, Any]]) -> str:
    """Write the table of tomotopy's last perplexities and sgmc's seconds to reach them, or nothing."""
    rows = [f"| {title(found)} | {cells} |" for found in contests if (cells := versus_cells(found))]
    return "\n".join([VERSUS, *rows]) if rows else ""


def versus_cells(found: dict[str, Any]) -> str:
    """Format a contest's cells in the table of `versus`; they are empty without tomotopy or sgmc.

    They are, for averaged draws and for one draw: perplexity, seconds of tomotopy, seconds of sgmc,
    ratio. The last cell is the ratio of the last averaged perplexities.
    """
    lines = {(s.peer["peer"], s.figure): s.points for s in all_series(found)}
    ours = lines.get((OURS, "averaged"))
    if not ours or (THEIRS, "point") not in lines:
        return ""
    cells = []
    for figure in ("averaged", "point"):
        points = lines.get((THEIRS, figure))
        if points is None:
            cells += ["", "", "", ""]
            continue
        t, goal = points[-1]
        s = seconds_until(ours, goal)
        if s is None:
            until, ratio = f"not within {ours[-1][0]:.0f}", ""
        elif s <= ours[0][0]:  # before its first point: a bound is all there is
            until, ratio = f"at most {s:.2f}", f"at least {t / s:.1f}"
        else:
            until, ratio = f"{s:.{1 if s >= 10 else 2}f}", f"{t / s:.2f}"
        cells += [f"{goal:.0f}", f"{t:.1f}", until, ratio]
    theirs = lines.get((THEIRS, "averaged"))
    cells.append(f"{ours[-1][1] / theirs[-1][1]:.3f}" if theirs else "")
    return " | ".join(cells)


def perplexity_at(points: list[tuple[float, float]], seconds: float) -> float | None:
    """Interpolate a perplexity between two points, both on log scales; None before the first."""
    for (s1, p1), (s2, p2) in pairwise(points):
        if s1 <= seconds <= s2:
            return between(seconds, s1, s2, p1, p2)
    return points[0][1] if seconds == points[0][0] else None


def seconds_until(points: list[tuple[float, float]], perplexity: float) -> float | None:
    """Interpolate the first seconds with at most that perplexity, on log scales; None if never.

    Where the first point has it already, these are its seconds, which may be too many.
    """
    if points[0][1] <= perplexity:
        return points[0][0]
    for (s1, p1), (s2, p2) in pairwise(points):
        if p2 <= perplexity:  # and p1 is above it, or the loop would be over
            return between(perplexity, p1, p2, s1, s2)
    return None


def between(x: float, x1: float, x2: float, y1: float, y2: float) -> float:
    """Interpolate y at x on a straight line through two points, on log scales."""
    return y1 * (y2 / y1) ** (math.log(x / x1) / math.log(x2 / x1))
