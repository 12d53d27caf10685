"""A search as far as it is: what ``sgmc runs`` says of it, and what one that was stopped prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import plural
from pysgrld.reading.find_runs import ListedRun, list_runs
from pysgrld.search.plan import Contender, SearchPlan, is_search, read_plan
from pysgrld.search.rungs import Rung, next_rung, read_rungs
from pysgrld.search.show import called

#: Longest list of numbers of topics that is written out.
_LISTED = 20


class SoFar(NamedTuple):
    """A search as far as it is.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    records : sequence of mapping
        Rungs that are decided, as ``rungs.jsonl`` has them.
    runs : tuple of ListedRun
        Runs that have begun.
    """

    folder: Path
    plan: SearchPlan
    records: Sequence[Mapping[str, Any]]
    runs: tuple[ListedRun, ...]

    @classmethod
    def read(cls, folder: Path, runs: Sequence[ListedRun] | None = None) -> SoFar:
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
        return cls(folder, read_plan(folder), read_rungs(folder), found)

    @property
    def rung(self) -> Rung | None:
        """The rung that is open; None where the last one is decided."""
        return next_rung(self.plan, self.records)

    @property
    def state(self) -> str:
        """How many settings are tried, and how far it is."""
        rung = self.rung
        tried = plural(len(self.plan.contenders), "setting")
        return f"{tried}, {'finished' if rung is None else f'rung {rung.number}'}"

    @property
    def topics(self) -> str:
        """The numbers of topics that are tried; their range where they are many."""
        counts = sorted(
            {c.options["topics"] for c in self.plan.contenders if "topics" in c.options}
        )
        listed = ",".join(map(str, counts))
        return listed if len(listed) <= _LISTED else f"{counts[0]} to {counts[-1]}"

    @property
    def score(self) -> str:
        """The score of who leads by the last rung that was decided, and its name; a dash before."""
        if not self.records:
            return "-"
        leader = self.records[-1]["leader"]
        first = next(iter(self._runs_of(leader)), None)
        return f"{first.shown_score} ({leader})" if first and first.score is not None else "-"

    def table(self) -> list[tuple[str, ...]]:
        """Give a row for every setting as text, the heads first; nothing where no run has begun."""
        rung = self.rung
        if not self.runs or rung is None:
            return []
        kind = next((run.kind for run in self.runs if run.kind is not None), None)
        head = ("tried", kind.title if kind else "score", "iterations", f"rung {rung.number}")
        return [head, *(self._row(contender, rung) for contender in self.plan.contenders)]

    def _row(self, contender: Contender, rung: Rung) -> tuple[str, ...]:
        runs = self._runs_of(contender.name)
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
        return (
            called(contender),
            kind.show(sum(scores) / len(scores)) if kind and scores else "-",
            f"{max((run.iteration for run in runs), default=0):,}",
            state,
        )

    def _runs_of(self, name: str) -> list[ListedRun]:
        return [run for run in self.runs if run.path.parent.name == name]


def search_of(run: Path) -> Path | None:
    """Find the folder of the search that a run belongs to; None where it belongs to none."""
    folder = run.parent.parent
    return folder if is_search(folder) else None
