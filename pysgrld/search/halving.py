"""Search by successive halving: in each round, train all remaining settings and drop bad ones.

A round is called a rung. After an interruption, the same command continues the runs from their
checkpoints, and the search from ``search.json`` and ``rungs.jsonl``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pysgrld.errors import Interrupted, SgmcError, UsageError
from pysgrld.reading.results import Results
from pysgrld.run import RunDirectory, StopFlag, jsonio, process_start
from pysgrld.run.files import replace_file
from pysgrld.run.machine import threads
from pysgrld.search.folder import ReadySearch, SearchRequest, find, prepared, reopened
from pysgrld.search.outcome import read_standing
from pysgrld.search.plan import SearchPlan
from pysgrld.search.rungs import RUNGS, Rung, decision, judge, next_rung, read_rungs
from pysgrld.search.show import SearchProgress
from pysgrld.train.events import Reporter
from pysgrld.train.processes import Explain, Task, Watcher, conclude, run_all
from pysgrld.train.start import ending_with, train


class SearchTeller(Watcher, Protocol):
    """Callbacks that report a search's progress.

    Attributes
    ----------
    progress : SearchProgress or None
        Progress of the search, which is set when the search is stopped early.
    """

    progress: SearchProgress | None

    def rung(self, rung: Rung, names: Sequence[str]) -> None:
        """Show the names of the runs in a round (rung) that begins; runs are numbered from 1."""

    def decided(self, record: Mapping[str, Any]) -> None:
        """Show which settings a round has dropped, given its line of ``rungs.jsonl``."""


class DecidedSearch(NamedTuple):
    """Completed search: its folder, its plan, and the records of all rounds (rungs)."""

    folder: Path
    plan: SearchPlan
    records: list[dict[str, Any]]


def search(request: SearchRequest, teller: SearchTeller, explain: Explain) -> DecidedSearch:
    """Search until the last round is decided; an earlier start of the same search is continued.

    Parameters
    ----------
    request : SearchRequest
        The request, already checked.
    teller : SearchTeller
    explain : callable
        Explains errors; a function at the top level of a module, because other processes call it.

    Raises
    ------
    Interrupted
        If the search was stopped early; each run has written a checkpoint before it stopped.
    SgmcError
        For every other error.
    """
    options, started = request.choices.start, process_start()
    watch = StopFlag(options.time_limit, stop_signal=options.stop_signal, start=started)
    with (
        watch as stop,
        ending_with(options.requeue_exit_code),
        prepared(request, teller, stop) as ready,
    ):
        records = read_rungs(ready.folder)
        try:
            while (rung := next_rung(ready.plan, records)) is not None:
                _train(ready, rung, teller, stop, started, explain)
                records = _decide(ready, rung, records, teller)
        except Interrupted:
            # The error of an early stop must be reported, rather than this error.
            with contextlib.suppress(SgmcError):
                teller.progress = SearchProgress.read(ready.folder)
            raise
        return DecidedSearch(ready.folder, ready.plan, records)


def open_tasks(request: SearchRequest, teller: SearchTeller) -> int:
    """Decide all trained rounds (rungs), and return the number of runs in the next, or 0.

    Parameters
    ----------
    request : SearchRequest
        The request, already checked.
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
    """Train one run of the current round (rung), or return None if the search is finished.

    Parameters
    ----------
    request : SearchRequest
        The request, already checked.
    number : int
        Number of the run, from 1 to the number that `open_tasks` returned.
    reporter : Reporter

    Returns
    -------
    RunDirectory or None
        The folder of the run.

    Raises
    ------
    UsageError
        If the rung has fewer than `number` runs.
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
            f"--task {number}: rung {rung.number} has {len(rung.cells)} tasks (see --tasks)"
        )
    run_request = ready.cell_request(rung, rung.cells[number - 1])
    options = request.choices.start
    with (
        StopFlag(options.time_limit, stop_signal=options.stop_signal) as stop,
        ending_with(options.requeue_exit_code),
    ):
        return train(run_request, reporter, stop)


def _train(
    ready: ReadySearch,
    rung: Rung,
    teller: SearchTeller,
    stop: StopFlag,
    started: float,
    explain: Explain,
) -> None:
    """Train the runs of a round (rung) that are not finished yet."""
    cells = [cell for cell in rung.cells if not rung.is_done(cell, ready.folder)]
    if not cells:
        return
    names = [
        f"{c.contender.name}, chain {c.chain}" if rung.last else c.contender.name for c in cells
    ]
    teller.rung(rung, names)
    limit = ready.request.choices.start.time_limit
    work = [Task(ready.cell_request(rung, cell), started, explain, limit) for cell in cells]
    ended = run_all(work, teller, stop, ready.request.jobs)
    conclude(ended, lambda numbers: "; ".join(names[n - 1] for n in numbers), ready.folder)
    if len(ended) < len(cells):
        raise Interrupted(
            f"{stop.reason}: stopped after {len(ended)} of {len(cells)} runs of rung {rung.number}; run "
            "the same command again to continue"
        )


def _decide(
    ready: ReadySearch, rung: Rung, records: Sequence[dict[str, Any]], teller: SearchTeller
) -> list[dict[str, Any]]:
    """Decide which settings a trained round keeps; store the decision, and return all decisions."""
    number = threads(ready.request.choices.start.threads).number
    standings, sizes = [], {}
    for contender in ready.plan.contenders:
        cells = [cell for cell in rung.cells if cell.contender == contender]
        if cells:
            chains = [Results(cell.path(ready.folder), number) for cell in cells]
            standings.append(read_standing(contender, chains)[0])
            widths = chains[0].options.widths
            sizes[contender.name] = widths[0] if widths else 0
    lines = [*records, decision(ready.plan, rung, judge(standings), sizes)]
    replace_file(ready.folder / RUNGS, [jsonio.line(record) for record in lines], "search")
    teller.decided(lines[-1])
    return lines
