"""The command ``sgmc search``, which compares numbers of topics and other settings."""

from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import Interrupted, UsageError
from pysgrld.options.parse import integer

from .options import (
    Described,
    as_json,
    flag,
    given,
    help_all,
    options_of_training,
    plain,
    quiet,
    show_json,
)
from .terminal import echo, fill, room, table
from .values import files

if TYPE_CHECKING:
    from pathlib import Path

    from pysgrld.search.folder import SearchRequest
    from pysgrld.search.outcome import SearchResult

#: Training options that ``sgmc search`` refuses, each with the advice for the error message. The
#: search sets these options itself, or they apply only to streams of documents.
_INSTEAD = {
    "chain-id": "--chains N trains N chains of each remaining setting",
    "iterations": "--epochs E sets the length of the last round",
    "resume": "repeat the same command to resume a search, or begin a new one with another --out",
    "corpus-size": "a search knows the size of its stored corpus; leave out this option",
    "shuffle-buffer": "a search reads its stored corpus in random order; leave out this option",
}
_WITHOUT = ("topics", "out", *_INSTEAD)
_SEARCH = "Search"


def _topics(typed: str) -> tuple[int, ...]:
    parts = [part.strip() for part in typed.split(",")]
    try:
        numbers = tuple(integer(1, 1 << 18)(part) for part in parts)
    except UsageError as error:
        raise UsageError(f"{error}; write numbers separated by commas, such as 10,20,50") from None
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"'{typed}' has the same number twice; remove one")
    return numbers


def _axis(ctx: click.Context, param: click.Parameter, typed: tuple[str, ...]) -> Any:
    del param
    from pysgrld.search.plan import parse_grid

    try:
        return [parse_grid(one) for one in typed]
    except UsageError as error:
        raise click.UsageError(f"--grid: {error}", ctx) from None


@click.command(
    "search",
    cls=Described,
    instead={f"--{name}": what for name, what in _INSTEAD.items()},
    epilog="""\b
Examples:
  sgmc search corpus.txt                     numbers that suit the corpus
  sgmc search corpus.txt -k 10,20,50 --grid eta=0.01,0.05 --jobs 2
  sgmc search sgmc-runs/corpus-search        resume it, or show its result
  sgmc search built --out s --tasks          tasks that are open, for an array
  sgmc search s --task $SLURM_ARRAY_TASK_ID  one of them

Stopped (exit code 85) or killed? Run the same command again to resume. See
docs/choosing-k.md.""",
)
@click.argument("corpus", nargs=-1, required=True, shell_complete=files)
@plain(
    "-k/--topics",
    "half, once and twice that of train",
    "numbers of topics to compare",
    parse=_topics,
    metavar="K,K,...",
    group=_SEARCH,
)
@plain(
    "--grid",
    "none",
    "values of another option to compare (may be repeated)",
    metavar="NAME=V,V",
    group=_SEARCH,
    multiple=True,
    callback=_axis,
)
@plain(
    "--chains",
    "2",
    "number of chains per setting in the last round",
    parse=integer(1, 1024),
    metavar="N",
    group=_SEARCH,
)
@plain(
    "--jobs",
    "1",
    "runs at the same time; they share threads and memory",
    parse=integer(1, 1024),
    metavar="N",
    group=_SEARCH,
)
@plain(
    "--out",
    "sgmc-runs/CORPUS-search",
    "folder of the search",
    parse=str,
    metavar="DIR",
    group=_SEARCH,
)
@flag("--tasks", "compare the finished tasks, and print the number of open tasks", group=_SEARCH)
@plain(
    "--task",
    "none",
    "train only task I, for job arrays",
    parse=integer(1, 1 << 20),
    metavar="I",
    group=_SEARCH,
)
@options_of_training(without=_WITHOUT)
@help_all
@as_json
@quiet
@flag("-v/--verbose", "also print every option's value")
@flag("--json-log", "JSON lines on standard error")
@flag("--break-lock", "continue a search whose process on another host has died")
def command(
    corpus: tuple[str, ...],
    topics: tuple[int, ...] | None,
    grid: list[Any],
    chains: int | None,
    jobs: int | None,
    tasks: bool,
    task: int | None,
    json: bool,
    break_lock: bool,
    **values: Any,
) -> None:
    """Find numbers of topics with which models of CORPUS predict well and are easy to read.

    A model is trained for each number of topics (or other option), in rounds of 4, 8, 16, ... epochs.
    A round drops settings that are certainly worse on held-out documents and cannot catch up; the
    others train until they have converged, in several chains. All options of 'sgmc train' apply to
    every setting.
    """
    from pysgrld.models.choices import Choices
    from pysgrld.search.folder import SearchRequest, check

    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    how = {name: values.pop(name) for name in ("quiet", "verbose", "json_log")}
    if how["quiet"] and how["verbose"]:
        raise UsageError("-q and -v contradict each other; give one of them")
    if tasks and task is not None:
        raise UsageError("--tasks and --task contradict each other; give one of them")
    if task is not None and (jobs is not None or json):
        unused = "--json" if json else "--jobs"
        raise UsageError(
            f"{unused} does not apply to --task, which trains one run and prints no result; leave "
            "it out"
        )
    options = given(values)
    request = SearchRequest(
        corpus, Choices(options), topics, grid, chains, jobs or 1, break_lock=break_lock
    )
    check(request)
    limit = options.get("time-limit")
    how |= {"stamped": True, "limit": limit if isinstance(limit, float) else None}
    if task is not None:
        from pysgrld.search.halving import train_task

        from .progress import Screen

        with Screen(**how) as screen:
            if train_task(request, task, screen) is None:
                screen.note("the search is already finished; nothing to do")
    else:
        _search(request, how, tasks=tasks, json=json)


def _search(request: SearchRequest, how: dict[str, Any], *, tasks: bool, json: bool) -> None:
    from pysgrld.search import halving

    from . import explain
    from .searching import SearchScreen

    with SearchScreen(**how) as screen:
        if tasks:
            echo(str(halving.open_tasks(request, screen)))
            return
        try:
            found = halving.search(request, screen, explain)
        except Interrupted:
            if screen.progress is not None and not json and (rows := screen.progress.table()):
                lines, _ = table(rows, room(), left=rows[0][-1:])
                echo("\n".join(lines))
            raise
        from pysgrld.run.machine import threads
        from pysgrld.search.outcome import read_result
        from pysgrld.search.result_files import write_result

        number = threads(request.choices.start.threads).number
        with screen.counting("reading runs", len(found.plan.contenders)) as tell:
            result = read_result(found.folder, found.plan, found.records, number, tell)
        written = write_result(result, screen.note)
    if json:
        show_json(result.record() | {"files": written})
    else:
        _show(result, written)


def _show(result: SearchResult, written: list[Path]) -> None:
    """Print the table of settings, the conclusions, and the names of the written files."""
    from pysgrld.search.show import SPARE, sentences
    from pysgrld.search.show import table as table_of

    lines, gone = table(table_of(result), room(), left=("dropped after",), spare=SPARE)
    echo("\n".join(lines))
    if gone:
        echo(
            fill(
                f"Not shown, because the terminal is too narrow: {', '.join(gone)}; the page and "
                "--json have all."
            )
        )
    echo()
    for line in sentences(result):
        echo(fill(line))
    run = result.folder / result.interpretable_setting
    echo(f"Look at the topics with: sgmc report {shlex.quote(str(run))}")
    echo(fill(f"Written: {', '.join(map(str, written))}"))
