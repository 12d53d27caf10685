"""``sgmc runs``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import Described, as_json, show_json
from .values import files

if TYPE_CHECKING:
    from pysgrld.reading.listing import ListedRun


@click.command(
    "runs",
    cls=Described,
    epilog="""\b
Examples:
  sgmc runs                     those under ./sgmc-runs
  sgmc runs runs/search --json  those of another folder""",
)
@click.argument("folder", required=False, metavar="[DIR]", shell_complete=files)
@as_json
def command(folder: str | None, json: bool) -> None:
    """List the runs in DIR, with what they train, how far they are and how well they predict.

    DIR is ./sgmc-runs by default. The score is the newest one on held-out documents; scores compare
    runs only where these are the same.
    """
    from pysgrld.errors import MissingInputError
    from pysgrld.reading.listing import list_runs
    from pysgrld.run.choose import ROOT

    root = ROOT if folder is None else Path(folder)
    found = list(list_runs(root))
    if json:
        show_json([run.record() for run in found])
        return
    if not found:
        raise MissingInputError(
            f"{root}: there is no run here; train one with 'sgmc train CORPUS', or name its folder"
        )
    head: tuple[str, ...] = (
        "run",
        "model",
        "sampler",
        "topics",
        "documents",
        "iteration",
        "state",
        "score",
    )
    rows = [head]
    rows += [_row(run, root) for run in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if name in ("topics", "documents", "iteration") else cell.ljust(width)
            for cell, width, name in zip(row, widths, rows[0], strict=True)
        ]
        click.echo("  ".join(cells).rstrip())
    for run in found:
        if run.problem:
            click.echo(f"sgmc: warning: {run.problem}", err=True)


def _row(run: ListedRun, root: Path) -> tuple[str, ...]:
    name = str(run.path.relative_to(root)) if run.path != root else str(root)
    if run.problem:
        return (name, "", "", "", "", "", run.state, "")
    score = "-"
    if run.score is not None and run.kind is not None:
        score = f"{run.kind.title} {run.kind.show(run.score)}"
    return (
        name,
        run.model,
        run.algo,
        "-".join(map(str, run.topics)) or "any",
        f"{run.documents:,}",
        f"{run.iteration:,}",
        run.state,
        score,
    )
