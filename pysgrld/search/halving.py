"""The search itself: rungs are trained, judged and written down until the last one is decided.

Whatever stops it, the same command goes on: runs by their checkpoints, the search by its two files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pysgrld.errors import Interrupted, SgmcError, UsageError
from pysgrld.reading.run_record import model_and_options
from pysgrld.run import RunDirectory, StopFlag, process_start
from pysgrld.run.machine import threads
from pysgrld.search.decide import judge
from pysgrld.search.folder import ReadySearch, SearchRequest, find, prepared, reopened
from pysgrld.search.plan import SearchPlan
from pysgrld.search.rungs import Rung, conclusion, decision, next_rung, read_rungs, write_rungs
from pysgrld.search.so_far import SoFar
from pysgrld.search.standing import standing
from pysgrld.train.events import Reporter
from pysgrld.train.processes import Task, Watcher, conclude, run_all
from pysgrld.train.start import ending_with, train

#: Exit code of an error, and the line that says it.
Explain = Callable[[BaseException], tuple[int, str]]


class SearchTeller(Watcher, Protocol):
    """Whoever tells a person of a search."""

    def rung(self, rung: Rung, names: Sequence[str]) -> None:
        """Say which rung begins; runs have these names, the first has number 1."""

    def decided(self, record: Mapping[str, Any]) -> None:
        """Say what was decided (a line of ``rungs.jsonl``)."""

    def stopped(self, so_far: SoFar) -> None:
        """Say how far a search was when it was stopped."""


class Decided(NamedTuple):
    """The end of a search: its folder, its plan, and the lines of all rungs."""

    folder: Path
    plan: SearchPlan
    records: list[dict[str, Any]]


def search(request: SearchRequest, teller: SearchTeller, explain: Explain) -> Decided:
    """Search until the last rung is decided; go on where an earlier start left off.

    Parameters
    ----------
    request : SearchRequest
        Checked.
    teller : SearchTeller
    explain : callable
        Exit code of an error, and the line that says it; of a module, for other processes.

    Raises
    ------
    Interrupted
        If it was stopped early, each run after a checkpoint.
    SgmcError
        For everything else that is wrong.
    """
    given, started = request.given, process_start()
    watch = StopFlag(given.get("time-limit"), stop_signal=given.get("stop-signal"), start=started)
    with (
        watch as stop,
        ending_with(given.get("requeue-exit-code")),
        prepared(request, teller, stop) as ready,
    ):
        records = read_rungs(ready.folder)
        try:
            while (rung := next_rung(ready.plan, records)) is not None:
                _train(ready, rung, teller, stop, started, explain)
                records = _decide(ready, rung, records, teller)
        except Interrupted:
            with contextlib.suppress(SgmcError):  # that it was stopped is what is to be said
                teller.stopped(SoFar.read(ready.folder))
            raise
        return Decided(ready.folder, ready.plan, records)


def tasks(request: SearchRequest, teller: SearchTeller) -> int:
    """Count the tasks of the rung that is open, after deciding those that are done; 0: all is done.

    Parameters
    ----------
    request : SearchRequest
        Checked.
    teller : SearchTeller
    """
    with StopFlag() as stop, prepared(request, teller, stop) as ready:
        records = read_rungs(ready.folder)
        while (rung := next_rung(ready.plan, records)) is not None:
            if not all(rung.is_done(cell, ready.folder) for cell in rung.cells):
                return len(rung.cells)
            records = _decide(ready, rung, records, teller)
        return 0


def train_task(request: SearchRequest, number: int, reporter: Reporter) -> RunDirectory | None:
    """Train one run of the rung that is open; None where the search is done already.

    Parameters
    ----------
    request : SearchRequest
        Checked.
    number : int
        From 1 to what `tasks` has counted.
    reporter : Reporter

    Raises
    ------
    UsageError
        If the rung has fewer runs.
    SgmcError
        As `pysgrld.train.start.train` does.
    """
    folder = find(request)
    ready = reopened(request._replace(inputs=(str(folder),), jobs=1), folder)
    rung = next_rung(ready.plan, read_rungs(folder))
    if rung is None:
        return None
    if number > len(rung.cells):
        raise UsageError(
            f"--task {number}: rung {rung.number} has {len(rung.cells)} tasks; --tasks says how many"
        )
    own = ready.cell_request(rung, rung.cells[number - 1])
    given = request.given
    with (
        StopFlag(given.get("time-limit"), stop_signal=given.get("stop-signal")) as stop,
        ending_with(given.get("requeue-exit-code")),
    ):
        return train(own, reporter, stop)


def _train(
    ready: ReadySearch,
    rung: Rung,
    teller: SearchTeller,
    stop: StopFlag,
    started: float,
    explain: Explain,
) -> None:
    """Train the runs of a rung that are not done."""
    cells = [cell for cell in rung.cells if not rung.is_done(cell, ready.folder)]
    if not cells:
        return
    names = [
        f"{c.contender.name}, chain {c.chain}" if rung.last else c.contender.name for c in cells
    ]
    teller.rung(rung, names)
    given = ready.request.given
    work = [
        Task(ready.cell_request(rung, cell), started, explain, given.get("time-limit"))
        for cell in cells
    ]
    ended = run_all(work, teller, stop, ready.request.jobs)
    conclude(ended, lambda some: "; ".join(names[n - 1] for n in some), ready.folder)
    if len(ended) < len(cells):
        raise Interrupted(
            f"{stop.reason}: stopped after {len(ended)} of {len(cells)} runs of rung {rung.number}; run "
            "the same command again to continue"
        )


def _decide(
    ready: ReadySearch, rung: Rung, records: Sequence[dict[str, Any]], teller: SearchTeller
) -> list[dict[str, Any]]:
    """Judge a rung that is trained, and write it down."""
    number = threads(ready.request.given.get("threads")).number
    runs: dict[str, list[Path]] = {}
    for cell in rung.cells:
        runs.setdefault(cell.contender.name, []).append(cell.path(ready.folder))
    judged = judge(
        [standing(ready.plan.contender(name), paths, number) for name, paths in runs.items()]
    )
    if rung.last:
        record = conclusion(rung, judged, {n: sizes_of(paths[0]) for n, paths in runs.items()})
    else:
        record = decision(ready.plan, rung, judged)
    found = [*records, record]
    write_rungs(ready.folder, found)
    teller.decided(record)
    return found


def sizes_of(run: Path) -> int:
    """Give the topics of the lowest layer of a run; 0 where their number is not chosen."""
    widths = model_and_options(RunDirectory.open(run))[1].widths
    return widths[0] if widths else 0
