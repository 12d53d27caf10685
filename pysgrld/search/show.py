"""A search in words: how far it is, the table of its result, two answers, and what to try next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import all_of, plural
from pysgrld.reading.find_runs import ListedRun, list_runs
from pysgrld.search.outcome import SearchResult, Tried
from pysgrld.search.plan import Contender, SearchPlan, is_search, read_plan
from pysgrld.search.rungs import NEAR, Rung, next_rung, read_rungs

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
#: Longest list of numbers of topics that is written out.
_LISTED = 20


def called(row: Tried | Contender) -> str:
    """Return what a sentence calls a contender: "K = 50", or with the other options tried.

    >>> called(Contender("k-50-eta-0.1", (1, 0), {"topics": 50, "eta": (0.1,)}))
    'K = 50, eta = 0.1'
    """
    parts = []
    for name, value in row.options.items():
        typed = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        parts.append(f"{'K' if name == 'topics' else name} = {typed}")
    return ", ".join(parts)


class SearchProgress(NamedTuple):
    """How far a search is: what ``sgmc runs`` says of it, and what one that was stopped prints.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    records : sequence of mapping
        Rungs that are decided, as ``rungs.jsonl`` has them.
    rung : Rung or None
        The one that is open, or None if the last one is decided.
    runs : tuple of ListedRun
        Runs that have begun.
    """

    folder: Path
    plan: SearchPlan
    records: Sequence[Mapping[str, Any]]
    rung: Rung | None
    runs: tuple[ListedRun, ...]

    @classmethod
    def read(cls, folder: Path, runs: Sequence[ListedRun] | None = None) -> SearchProgress:
        """Read the files of a search.

        Parameters
        ----------
        folder : Path
        runs : sequence of ListedRun, optional
            Its runs, where they were read already.

        Raises
        ------
        CheckpointError
            If one of them is not what was written.
        """
        found = tuple(list_runs(folder) if runs is None else runs)
        plan, records = read_plan(folder), read_rungs(folder)
        return cls(folder, plan, records, next_rung(plan, records), found)

    def listed(self) -> tuple[str, str, str]:
        """Return topics, state and score as a list of runs shows them.

        Topics are the numbers that are tried, or their range where they are many. The state says how many
        settings are tried, and how far it is. The score is that of who leads by the last rung that was
        decided, with its name. What there is not is a dash.
        """
        contenders = self.plan.contenders
        counts = sorted({c.options["topics"] for c in contenders if "topics" in c.options})
        topics = ",".join(map(str, counts)) or "-"
        if len(topics) > _LISTED:
            topics = f"{counts[0]} to {counts[-1]}"
        state = "finished" if self.rung is None else f"rung {self.rung.number}"
        score = "-"
        if self.records:
            leader = self.records[-1]["leader"]
            first = next((run for run in self.runs if run.path.parent.name == leader), None)
            if first and first.score is not None:
                score = f"{first.shown_score} ({leader})"
        return topics, f"{plural(len(contenders), 'setting')}, {state}", score

    def table(self) -> list[tuple[str, ...]]:
        """Return a row for every setting as text, the heads first; nothing where no run has begun."""
        rung = self.rung
        if not self.runs or rung is None:
            return []
        title = next((run.kind.title for run in self.runs if run.kind is not None), "score")
        rows: list[tuple[str, ...]] = [("tried", title, "iterations", f"rung {rung.number}")]
        for contender in self.plan.contenders:
            runs = [run for run in self.runs if run.path.parent.name == contender.name]
            scores = [run.score for run in runs if run.score is not None]
            kind = next((run.kind for run in runs if run.kind is not None), None)
            cells = [cell for cell in rung.cells if cell.contender == contender]
            done = sum(rung.is_done(cell, self.folder) for cell in cells)
            if not cells:
                left = next(r for r in self.records if contender.name not in r["goes_on"])
                state = f"dropped after {left['epochs']:g} epochs"
            elif done == len(cells):
                state = "done"
            elif len(cells) == 1:
                state = "not done"
            else:
                state = f"{done} of {len(cells)} chains done"
            score = kind.show(sum(scores) / len(scores)) if kind and scores else "-"
            far = max((run.iteration for run in runs), default=0)
            rows.append((called(contender), score, f"{far:,}", state))
        return rows


def search_of(run: Path) -> Path | None:
    """Return the folder of the search that a run belongs to, or None if it belongs to none."""
    folder = run.parent.parent
    return folder if is_search(folder) else None


# ---- the result


def table(result: SearchResult) -> list[tuple[str, ...]]:
    """Return the table as text, the heads first; a column that nobody has a value for is left out."""
    kind = result.kind
    rows: list[tuple[str, ...]] = [("tried", kind.title, *HEADS)]
    for row in result.rows:
        low, high = kind.show(row.low), kind.show(row.high)
        coherence, above = "-", "-"
        if row.coherence is not None:
            coherence = "{:.3f} ({:.2f} to {:.2f})".format(*row.coherence)
        if math.isfinite(row.above[1]):
            share, least, most = (100 * part for part in row.above)
            above = f"{share:.1f} % ({least:.1f} to {most:.1f})" if share else "the best"
        time = f"{row.seconds:.0f} s"
        if row.seconds >= 120:
            minutes = row.seconds / 60
            time = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
        rows.append(
            (
                called(row),
                kind.show(row.score),
                f"{low} to {high}" if math.isfinite(row.low) else "-",
                above,
                "-" if row.gain is None else f"{100 * row.gain:.1f} %",
                coherence,
                "-" if row.found is None else f"{100 * row.found:.0f} %",
                "-" if row.steady is None else f"{row.steady:.1f} of 10",
                time,
                f"{row.memory / 2**20:,.0f} MB",
                "" if row.dropped is None else f"{row.dropped:g} epochs",
            )
        )
    known = [
        any(cell not in ("", "-") for cell in column) for column in zip(*rows[1:], strict=True)
    ]
    return [tuple(c for c, keep in zip(row, known, strict=True) if keep) for row in rows]


def sentences(result: SearchResult) -> list[str]:
    """Return who predicts best, who is small enough to read, and what these numbers leave open.

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
    if small.topics:  # where no number of topics is chosen, nothing is smaller
        near = f"within {100 * NEAR:g} % of it"
        reading = f"For reading: {called(best)}, too: nothing smaller is {near}"
        if small.name != best.name:
            score = kind.show(small.score)
            reading = f"For reading: {called(small)}, the smallest {near} ({score})"
        if small.found is not None:
            who = all_of(small.chains, "chains")
            found = f"{100 * small.found:.0f} % of the words are in topics that {who} found"
            reading += f". {found}"
            if small.name != best.name and best.found is not None:
                reading += f"; with {called(best)} {100 * best.found:.0f} %"
        said.append(f"{reading}.")
    # chains of one setting that differ by more than what settings are told apart by
    apart = {called(row): row.apart for row in result.rows if row.dropped is None and row.apart}
    worst = max(apart, key=lambda name: apart[name], default=None)
    if worst is not None and apart[worst] > NEAR:
        said.append(
            f"Chains of one setting differ by up to {100 * apart[worst]:.1f} % ({worst}): "
            "do not make much of differences that are smaller."
        )
    said += _more_to_try(result)
    said.append(
        f"Chosen on {plural(result.documents, 'held-out document')}, so this is no test: for a figure "
        "to report score documents that the search has not seen."
    )
    return said


def _more_to_try(result: SearchResult) -> list[str]:
    """Return what to try where the best or the smallest is at an end of the numbers of topics tried."""
    tried = sorted({row.topics for row in result.rows if "topics" in row.options})
    if not tried:
        return []
    best, small = result.row(result.best), result.row(result.smallest)
    said = []
    command = "the command of this search with -k"
    if best.topics == tried[-1]:
        more = [*tried, 2 * tried[-1]]
        said.append(
            f"{called(best)} is the most that was tried, so more may predict better still: try "
            f"{more[-1]}, by {command} {','.join(map(str, more))}."
        )
    half = tried[0] // 2
    if small.topics == tried[0] and half >= 2:
        fewer = [half, *tried]
        said.append(
            f"{called(small)} is the fewest that was tried, so fewer may do as well: try "
            f"{half}, by {command} {','.join(map(str, fewer))}."
        )
    return said
