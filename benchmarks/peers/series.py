"""Lines of a contest: what the points of each peer are called, and the contest itself."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Whose seconds are compared with tomotopy's.
OURS, THEIRS = "sgmc scir", "tomotopy"

#: Figures of a point, and what they are called.
FIGURES = {"averaged": "draws averaged", "mean": "mean topics", "point": "one draw"}


class Series(NamedTuple):
    """The perplexity of one peer over seconds, by one kind of figure."""

    peer: dict[str, Any]
    figure: str
    points: list[tuple[float, float]]

    @property
    def label(self) -> str:
        """Return the name of the series in the table and at the end of its line."""
        label = str(self.peer["peer"])
        has_draws = any(point["averaged"] for point in self.peer["points"])
        return f"{label}, {FIGURES[self.figure]}" if has_draws else label

    @property
    def is_one_draw(self) -> bool:
        """Return whether the peer has another line, of averaged draws."""
        return self.label.endswith(FIGURES["point"])


def all_series(found: dict[str, Any]) -> list[Series]:
    """Give every line that a contest has to draw, the lowest end first."""
    series = []
    for peer in found["peers"]:
        for figure in FIGURES:
            points = [(p["seconds"], p[figure]) for p in peer["points"] if p.get(figure)]
            if points:
                series.append(Series(peer, figure, points))
    return sorted(series, key=lambda one: one.points[-1][1])


def title(found: dict[str, Any]) -> str:
    """Return the title of a contest."""
    settings = found["settings"]
    own = ", own priors" if settings["own"] else ""
    of = f"K = {settings['topics']:,}, {threads(settings)}{chains(settings)}{own}"
    return f"{found['corpus']['name']}, {of}"


def threads(settings: dict[str, Any]) -> str:
    """Return text about the number of threads of a contest."""
    return "one thread" if settings["threads"] == 1 else f"{settings['threads']} threads"


def chains(settings: dict[str, Any]) -> str:
    """Return text about the number of chains of a peer if it had several (older results lack it)."""
    number = settings.get("chains", 1)
    return f", {number} chains" if number > 1 else ""
