"""Search by successive halving: in each round, train all remaining settings and drop bad ones.

After an interruption, the same command continues the runs from their checkpoints, and the search
from ``search.json`` and ``rounds.jsonl``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pysgrld.errors import Interrupted, SgmcError, UsageError, plural
from pysgrld.reading.results import Results
from pysgrld.run import RunDirectory, StopFlag, jsonio, process_start
from pysgrld.run.files import replace_file
from pysgrld.run.machine import threads
from pysgrld.search.folder import ReadySearch, SearchRequest, find, prepare_search, reopen_search
from pysgrld.search.outcome import read_standing
from pysgrld.search.plan import SearchPlan
from pysgrld.search.rounds import ROUNDS, Round, decision, judge, next_round, read_rounds
from pysgrld.search.show import SearchProgress
from pysgrld.train.events import Reporter
from pysgrld.train.processes import Explain, Task, Watcher, raise_failures, run_all
from pysgrld.train.start import replace_exit_code, train


class SearchTeller(Watcher, Protocol):
    """Callbacks that report a search's progress.

    Attributes
    ----------
    progress : SearchProgress or None
        Progress of the search, which is set when the search is stopped early.
    """

    progress: SearchProgress | None

    def begin_round(self, current_round: Round, names: Sequence[str]) -> None:
        """Show the names of the runs in a round that begins; runs are numbered from 1."""

    def decided(self, record: Mapping[str, Any]) -> None:
        """Show which settings a round has dropped, given its line of ``rounds.jsonl``."""


class DecidedSearch(NamedTuple):
    """Completed search: its folder, its plan, and the records of all rounds."""

    folder: Path
    plan: SearchPlan
    records: list[dict[str, Any]]


def search(request: SearchRequest, teller: SearchTeller, explain: Explain) -> DecidedSearch:
    """Run a search to its last round, or continue an unfinished search with the same arguments.

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
        replace_exit_code(options.requeue_exit_code),
        prepare_search(request, teller, stop) as ready,
    ):
        records = read_rounds(ready.folder)
        try:
            while (current_round := next_round(ready.plan, records)) is not None:
                _train(ready, current_round, teller, stop, started, explain)
                records = _decide(ready, current_round, records, teller)
        except Interrupted:
            # Suppress errors of reading the progress, so that the early stop is reported.
            with contextlib.suppress(SgmcError):
                teller.progress = SearchProgress.read(ready.folder)
            raise
        return DecidedSearch(ready.folder, ready.plan, records)


def open_tasks(request: SearchRequest, teller: SearchTeller) -> int:
    """Drop bad settings after each trained round; return the next round's number of runs, or 0.

    Parameters
    ----------
    request : SearchRequest
        The request, already checked.
    teller : SearchTeller
    """
    with StopFlag() as stop, prepare_search(request, teller, stop) as ready:
        records = read_rounds(ready.folder)
        while (current_round := next_round(ready.plan, records)) is not None:
            if not all(current_round.is_done(cell, ready.folder) for cell in current_round.cells):
                return len(current_round.cells)
            records = _decide(ready, current_round, records, teller)
        return 0


def train_task(request: SearchRequest, number: int, reporter: Reporter) -> RunDirectory | None:
    """Train one run of the current round, or return None if the search is finished.

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
        If the round has fewer than `number` runs.
    SgmcError
        As `pysgrld.train.start.train` does.
    """
    folder = find(request)
    ready = reopen_search(request._replace(inputs=(str(folder),), jobs=1), folder)
    current_round = next_round(ready.plan, read_rounds(folder))
    if current_round is None:
        return None
    if number > len(current_round.cells):
        raise UsageError(
            f"--task {number} does not exist, because round {current_round.number} has only "
            f"{plural(len(current_round.cells), 'task')}; list them with --tasks"
        )
    run_request = ready.cell_request(current_round, current_round.cells[number - 1])
    options = request.choices.start
    with (
        StopFlag(options.time_limit, stop_signal=options.stop_signal) as stop,
        replace_exit_code(options.requeue_exit_code),
    ):
        return train(run_request, reporter, stop)


def _train(
    ready: ReadySearch,
    current_round: Round,
    teller: SearchTeller,
    stop: StopFlag,
    started: float,
    explain: Explain,
) -> None:
    """Train the runs of a round that are not finished yet."""
    cells = [cell for cell in current_round.cells if not current_round.is_done(cell, ready.folder)]
    if not cells:
        return
    names = [
        f"{c.contender.name}, chain {c.chain}" if current_round.last else c.contender.name
        for c in cells
    ]
    teller.begin_round(current_round, names)
    limit = ready.request.choices.start.time_limit
    work = [
        Task(ready.cell_request(current_round, cell), started, explain, limit) for cell in cells
    ]
    ended = run_all(work, teller, stop, ready.request.jobs)
    raise_failures(ended, lambda numbers: "; ".join(names[n - 1] for n in numbers), ready.folder)
    if len(ended) < len(cells):
        raise Interrupted(
            f"{stop.reason}: stopped after {len(ended)} of {len(cells)} runs of "
            f"round {current_round.number}; run the same command again to continue"
        )


def _decide(
    ready: ReadySearch,
    current_round: Round,
    records: Sequence[dict[str, Any]],
    teller: SearchTeller,
) -> list[dict[str, Any]]:
    """Decide which settings a trained round keeps; store the decision, and return all decisions."""
    number = threads(ready.request.choices.start.threads).number
    standings, sizes = [], {}
    for contender in ready.plan.contenders:
        cells = [cell for cell in current_round.cells if cell.contender == contender]
        if cells:
            chains = [Results(cell.path(ready.folder), number) for cell in cells]
            standings.append(read_standing(contender, chains)[0])
            widths = chains[0].options.widths
            sizes[contender.name] = widths[0] if widths else 0
    lines = [*records, decision(ready.plan, current_round, judge(standings), sizes)]
    replace_file(ready.folder / ROUNDS, [jsonio.line(record) for record in lines], "search")
    teller.decided(lines[-1])
    return lines
