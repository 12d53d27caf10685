"""Tables of a contest: perplexities after so many seconds, and seconds until those of tomotopy."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from series import FIGURES, OURS, THEIRS, all_series

#: Of a series, the last point not later than a column's time, give or take this much.
GRACE = 1.15


def tables(found: dict[str, Any]) -> str:
    """Write all there is to tell of a contest: perplexities, and seconds until those of tomotopy."""
    return "\n\n".join(part for part in (table(found), versus(found)) if part)


def table(found: dict[str, Any]) -> str:
    """Write a Markdown table of perplexity after so many seconds, a row for each series."""
    ends = [p["seconds"] for peer in found["peers"] for p in peer["points"]]
    columns = [2.0**i for i in range(-1, 12) if 2.0**i <= GRACE * max(ends, default=0.0)]
    head = ["", *(f"{t:g} s" for t in columns), "best of other priors", "M tokens/s", "MB"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for series in all_series(found):
        peer, last = series.peer, series.peer["points"][-1]
        cells = [cell(series.points, t) for t in columns]
        best = "" if series.figure != "point" else f"{min(peer['other_alphas'].values()):.0f}"
        speed = f"{last['tokens'] / last['seconds'] / 1e6:.2f}"
        name = f"**{series.label}**" if peer["kind"] == "sgmc" else series.label
        memory = f"{peer['peak_rss_bytes'] / 1e6:.0f}"
        lines.append(f"| {' | '.join([name, *cells, best, speed, memory])} |")
    failed = ", ".join(peer["peer"] for peer in found["peers"] if peer.get("failed"))
    return "\n".join(lines) + (f"\n\nFailed, and left out: {failed}." if failed else "")


def cell(points: list[tuple[float, float]], t: float) -> str:
    """Write the figure of the last point that belongs to a column; empty where there is none."""
    inside = [p for s, p in points if GRACE * t / 2 < s <= GRACE * t]
    return f"{inside[-1]:.0f}" if inside else ""


# ---- seconds until a perplexity


def versus(found: dict[str, Any]) -> str:
    """Write the seconds that sgmc takes for tomotopy's perplexities; empty without either of them."""
    lines = {(s.peer["peer"], s.figure): s.points for s in all_series(found)}
    ours = lines.get((OURS, "averaged"))
    theirs = {f: lines[THEIRS, f] for f in ("averaged", "point") if (THEIRS, f) in lines}
    if not ours or not theirs:
        return ""
    rows = []
    for figure, points in theirs.items():
        for part in (0.25, 0.5, 1.0):
            t = part * points[-1][0]
            goal = perplexity_at(points, t)
            if goal is None:
                continue
            s = seconds_until(ours, goal)
            what = f"| {THEIRS}, {FIGURES[figure]} | {goal:.0f} | {t:.1f} |"
            if s is None:
                rows.append(f"{what} not within {ours[-1][0]:.0f} | |")
            elif s <= ours[0][0]:  # before its first point: a bound is all there is
                rows.append(f"{what} at most {s:.2f} | at least {t / s:.1f} |")
            else:
                rows.append(f"{what} {s:.{1 if s >= 10 else 2}f} | {t / s:.2f} |")
    head = ["perplexity of", "is", "after, s", f"{OURS}, draws averaged, s", f"{THEIRS}'s / sgmc's"]
    table = [f"| {' | '.join(head)} |", "|---|---:|---:|---:|---:|", *rows]
    if "averaged" in theirs:
        ends = ours[-1][1] / theirs["averaged"][-1][1]
        table += [
            "",
            f"At the end, draws averaged, {OURS} has {ends:.3f} of {THEIRS}'s perplexity.",
        ]
    return "\n".join(table)


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
    """Interpolate y at x on a straight line through two points, all on log scales."""
    return y1 * (y2 / y1) ** (math.log(x / x1) / math.log(x2 / x1))
