"""The command ``sgmc runs``, which lists the runs in a folder."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pysgrld.errors import SgmcError, plural
from pysgrld.options.paths import path_exists

from .options import Described, as_json, flag, show_json
from .terminal import echo, room, table
from .values import files

if TYPE_CHECKING:
    from pysgrld.reading.find_runs import ListedRun

HEADS = ("run", "model", "sampler", "topics", "documents", "iteration", "state", "score")
#: Left-aligned columns of the table.
LEFT = ("model", "sampler", "state", "score")
#: Columns to drop, in this order, if the terminal is narrow.
SPARE = ("documents", "sampler", "model", "iteration")


@click.command(
    "runs",
    cls=Described,
    epilog="""\b
Examples:
  sgmc runs                runs under ./sgmc-runs
  sgmc runs corpus-search  runs of a search
  sgmc runs --prune        delete older checkpoints of finished runs""",
)
@click.argument("folder", required=False, metavar="[DIR]", shell_complete=files)
@flag("--all", "also list each run of a search")
@flag("--prune", "delete all checkpoints of finished runs except the newest undamaged one")
@as_json
def command(folder: str | None, all: bool, prune: bool, json: bool) -> None:
    """List the runs in DIR: model, sampler, size, progress and score.

    DIR is ./sgmc-runs by default. The score is the newest score on held-out documents; scores can be
    compared only between runs with the same held-out documents. A search is one line with its best
    score; give its folder as DIR to see its runs. JSON always has every run.
    """
    from pysgrld.errors import MissingInputError
    from pysgrld.reading.find_runs import list_runs
    from pysgrld.run.choose import ROOT

    root = ROOT if folder is None else Path(folder)
    if folder is not None and not path_exists(root) and path_exists(ROOT / folder):
        root = ROOT / folder  # A search in the default folder can be given by its name, like a run.
    found = list(list_runs(root))
    if prune:
        _prune(found)
    if json:
        show_json([run.record() for run in found])
        return
    if not found:
        raise MissingInputError(
            f"{root}: no run found; train one with 'sgmc train CORPUS', or give the folder of runs"
        )
    from pysgrld.search.show import find_search

    rows: list[tuple[str, ...]] = [HEADS]
    problems = [run.problem for run in found if run.problem]
    # List single runs if --all is given or if DIR is a search. Otherwise list each search in one
    # line.
    searches = {run.path: None if all else find_search(run.path) for run in found}
    for search, together in groupby(found, lambda run: searches[run.path]):
        runs = list(together)
        try:
            rows += (
                [_row(run, root) for run in runs]
                if search in (None, root)
                else [_line(search, runs)]
            )
        # The files of the search itself are damaged, but its runs may be intact.
        except SgmcError as error:
            problems.append(str(error))
            rows += [_row(run, root) for run in runs]
    lines, gone = table(rows, room(), left=LEFT, spare=SPARE)
    echo("\n".join(lines))
    if gone:
        echo(f"\nNot shown, because the terminal is too narrow: {', '.join(gone)}; --json has all.")
    for problem in problems:
        echo(f"sgmc: warning: {problem}", err=True)


def _prune(found: list[ListedRun]) -> None:
    """Delete all checkpoints of finished runs except the newest; print the disk space freed."""
    from pysgrld.run.prune import prune

    deleted = freed = 0
    for run in found:
        try:
            pruned = prune(run.path)
            deleted, freed = deleted + pruned.checkpoints, freed + pruned.bytes
        except SgmcError as error:
            echo(f"sgmc: warning: {error}", err=True)
    echo(f"{plural(deleted, 'checkpoint')} deleted, {freed / 1e6:,.1f} MB freed", err=True)


def _line(folder: Path, runs: list[ListedRun]) -> tuple[str, ...]:
    """Return the table row that summarises a search."""
    from pysgrld.search.show import SearchProgress

    first = runs[0]
    topics, state, score = SearchProgress.read(folder, runs).listed()
    return (folder.name, first.model, first.algo, topics, f"{first.documents:,}", "", state, score)


def _row(run: ListedRun, root: Path) -> tuple[str, ...]:
    """Return the table row of a run."""
    name = str(run.path.relative_to(root)) if run.path != root else str(root)
    if run.problem:
        return (name, "", "", "", "", "", run.state, "")
    return (
        name,
        run.model,
        run.algo,
        "-".join(map(str, run.topics)) or "any",
        f"{run.documents:,}",
        f"{run.iteration:,}",
        run.state,
        run.shown_score,
    )
