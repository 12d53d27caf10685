"""The result of a search in words: a table, two answers, and what to try next."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pysgrld.errors import all_of, plural
from pysgrld.evaluate.score import Score
from pysgrld.search.decide import NEAR
from pysgrld.search.outcome import SearchResult, Tried
from pysgrld.search.plan import Contender

#: Heads of the table, after what was tried and its score.
HEADS = (
    "95 % interval",
    "above the best",
    "gain",
    "coherence",
    "found by all",
    "steady",
    "time",
    "memory",
    "dropped after",
)
#: Columns that a narrow table can spare, in this order.
SPARE = ("memory", "95 % interval", "steady", "time", "coherence", "gain", "found by all")


def called(row: Tried | Contender) -> str:
    """Call a contender as a sentence does: "K = 50", or with the other options tried."""
    options = {**row.options}
    parts = [f"K = {options.pop('topics')}"] if "topics" in options else []
    return ", ".join(parts + [f"{name} = {_spelled(value)}" for name, value in options.items()])


def _spelled(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def table(result: SearchResult) -> list[tuple[str, ...]]:
    """Give the table as text, the heads first; a column that nobody has a value for is left out."""
    heads = ("tried", result.kind.title, *HEADS)
    rows = [_cells(result.kind, row) for row in result.rows]
    kept = [i for i in range(len(heads)) if any(cells[i] not in ("", "-") for cells in rows)]
    return [tuple(cells[i] for i in kept) for cells in (heads, *rows)]


def _cells(kind: Score, row: Tried) -> tuple[str, ...]:
    low, high = kind.show(row.low), kind.show(row.high)
    coherence, above = "-", "-"
    if row.coherence is not None:
        coherence = "{:.3f} ({:.2f} to {:.2f})".format(*row.coherence)
    if math.isfinite(row.above[1]):
        share, least, most = (100 * part for part in row.above)
        above = f"{share:.1f} % ({least:.1f} to {most:.1f})" if share else "the best"
    return (
        called(row),
        kind.show(row.score),
        f"{low} to {high}" if math.isfinite(row.low) else "-",
        above,
        "-" if row.gain is None else f"{100 * row.gain:.1f} %",
        coherence,
        "-" if row.found is None else f"{100 * row.found:.0f} %",
        "-" if row.steady is None else f"{row.steady:.1f} of 10",
        clock(row.seconds),
        f"{row.memory / 2**20:,.0f} MB",
        "" if row.dropped is None else f"{row.dropped:g} epochs",
    )


def clock(seconds: float) -> str:
    """Say a time in the unit that people would."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def sentences(result: SearchResult) -> list[str]:
    """Say who predicts best, who is small enough to read, and what these figures leave open.

    Parameters
    ----------
    result : SearchResult
    """
    best, small = result.row(result.best), result.row(result.smallest)
    kind = result.kind
    said = [
        f"For predicting: {called(best)}, the best {kind.title}: {kind.show(best.score)} "
        f"({kind.show(best.low)} to {kind.show(best.high)})."
    ]
    reading = ""  # where no number of topics is chosen, nothing is smaller
    if small.topics and small.name == best.name:
        reading = (
            f"For reading: {called(best)}, too: nothing smaller is within {100 * NEAR:g} % of it"
        )
    elif small.topics:
        reading = (
            f"For reading: {called(small)}, the smallest within {100 * NEAR:g} % of it "
            f"({kind.show(small.score)})"
        )
    if reading:
        said.append(f"{reading}{_found(small, best)}.")
    said += _apart(result)
    said += _edge(result)
    said.append(
        f"Chosen on {plural(result.documents, 'held-out document')}, so this is no test: for a figure "
        "to report score documents that the search has not seen."
    )
    return said


def _found(small: Tried, best: Tried) -> str:
    """Say what of each is in topics that all chains found."""
    if small.found is None:
        return ""
    who = all_of(small.chains, "chains")
    said = f". {100 * small.found:.0f} % of the words are in topics that {who} found"
    if small.name != best.name and best.found is not None:
        said += f"; with {called(best)} {100 * best.found:.0f} %"
    return said


def _apart(result: SearchResult) -> list[str]:
    """Say where chains of one setting differ by more than what settings are told apart by."""
    known = [row for row in result.last if row.apart is not None]
    if not known or max(row.apart or 0.0 for row in known) <= NEAR:
        return []
    worst = max(known, key=lambda row: row.apart or 0.0)
    return [
        f"Chains of one setting differ by up to {100 * (worst.apart or 0.0):.1f} % ({called(worst)}): "
        "do not make much of differences that are smaller."
    ]


def _edge(result: SearchResult) -> list[str]:
    """Say what to try where the best is at the edge of the list, or the smallest is."""
    tried = sorted({row.topics for row in result.rows if "topics" in row.options})
    if not tried:
        return []
    best, small = result.row(result.best), result.row(result.smallest)
    said = []
    if best.topics == tried[-1]:
        said.append(
            f"{called(best)} is the most that was tried, so more may predict better still: try "
            f"{2 * tried[-1]}, by {_typed([*tried, 2 * tried[-1]])}."
        )
    half = tried[0] // 2
    if small.topics == tried[0] and half >= 2:
        said.append(
            f"{called(small)} is the fewest that was tried, so fewer may do as well: try "
            f"{half}, by {_typed([half, *tried])}."
        )
    return said


def _typed(topics: Sequence[int]) -> str:
    return f"the command of this search with -k {','.join(map(str, topics))}"
