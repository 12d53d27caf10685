"""The command ``sgmc reproduce``, which repeats experiments of published papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import UsageError
from pysgrld.experiments import EXPERIMENTS, Experiment, check_corpus, find
from pysgrld.models.options import OPTIONS
from pysgrld.options.parse import duration, integer

from .options import Described, flag, plain, quiet, threads
from .terminal import echo

if TYPE_CHECKING:
    from pysgrld.experiments.frame import Report

#: Default folder for results. It gets a subfolder for each experiment.
OUT = "sgmc-reproduce"


def patterns(value: str) -> tuple[str, ...]:
    """Parse comma-separated patterns, which select rows of an experiment's table by name."""
    names = tuple(part.strip() for part in value.split(","))
    if not all(names):
        raise UsageError(f"'{value}' has an empty name; write names of rows, separated by commas")
    return names


#: Text printed instead of a verdict if ``--quick`` is given.
QUICK = "the experiment works; for a comparison with the paper, leave out --quick"


@click.command(
    "reproduce",
    cls=Described,
    epilog="""\b
Examples:
  sgmc reproduce                                     list the experiments
  sgmc reproduce dlda-table1 --corpus 20news --quick
  sgmc reproduce dlda-table1 --corpus 20news --rows 'tlasgr-*,ours-*'
  sgmc reproduce dlda-mnist --corpus mnist -o figure3""",
)
@click.argument("experiment", required=False, metavar="[EXPERIMENT]")
@plain("--corpus", "none", "folder with the paper's data", parse=str, metavar="PATH")
@flag("--quick", "only a test: part of the data, few iterations")
@plain(
    "-o/--out", f"{OUT}/EXPERIMENT", "output folder of CSV and PNG files", parse=str, metavar="DIR"
)
@flag("--force", "replace the results in that folder")
@flag("--no-pictures", "write only CSV files (matplotlib is not needed)")
@plain(
    "--rows",
    "all",
    "rows of the result table to compute, by name or pattern",
    parse=patterns,
    metavar="NAME,...",
)
@plain(
    "--seeds",
    "1",
    "run each row with N seeds, and report the mean",
    parse=integer(1, 1000),
    metavar="N",
)
@plain(
    "--seconds",
    "none",
    "training time of each row of the result table: 90s, 10m",
    parse=duration,
    metavar="TIME",
)
@plain("--seed", "0", OPTIONS["seed"].help, parse=OPTIONS["seed"].parse, metavar="N")
@quiet
@threads
def command(
    experiment: str | None,
    corpus: str | None,
    quick: bool,
    out: str | None,
    force: bool,
    no_pictures: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Reproduce a figure or table of a paper, and compare the numbers with the paper's.

    Writes the data as CSV and the picture as PNG. Rows are trained at the same time, each with one
    thread. Without EXPERIMENT, list all experiments.
    """
    typed = {name: value for name, value in values.items() if value is not None}
    if experiment is None:
        if corpus or out or quick or force or no_pictures or typed:
            raise UsageError(f"give an experiment: {', '.join(EXPERIMENTS)}")
        width = max(map(len, EXPERIMENTS))
        for name, each in EXPERIMENTS.items():
            echo(f"{name:<{width}}  {each.summary}")
        return
    chosen = find(experiment)
    for option in ("rows", "seeds", "seconds"):
        if option in typed and option not in chosen.options:
            raise UsageError(f"--{option} does not apply to {experiment}; leave it out")
    source = check_corpus(experiment, corpus)

    from pysgrld.experiments.frame import ExperimentSetting, make_folder
    from pysgrld.reading.plotting import require_matplotlib
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    if not no_pictures:
        require_matplotlib()
    folder = Path(out or Path(OUT) / experiment)
    make_folder(folder, force=force)
    number = count(typed.pop("threads", None)).number
    with Screen(quiet=quiet) as screen:
        setting = ExperimentSetting(
            folder, quick, threads=number, pictures=not no_pictures, **typed
        )
        report = chosen.run(setting, screen, source)
    _show(chosen, report, quick=quick)


def _show(experiment: Experiment, report: Report, *, quick: bool) -> None:
    cells = [tuple(map(str, report.head)), *(tuple(map(cell, row)) for row in report.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    echo(f"{experiment.source}\n")
    for line in cells:
        first, *rest = zip(line, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(value.rjust(width) for value, width in rest)]
        echo("  ".join(padded).rstrip())
    echo(f"\nthe paper: {experiment.claim}")
    # An experiment reduced by ``--quick`` cannot test the paper's claim.
    for sentence in [QUICK] if quick else report.sentences:
        echo(f"found: {sentence}")
    echo(f"written: {', '.join(map(str, report.files))}")


def cell(value: Any) -> str:
    """Format a cell of a table, with a dash for None and NaN."""
    if value is None or value != value:  # `value != value` is True for NaN.
        return "-"
    if isinstance(value, float):
        # Small numbers get two significant digits, because three decimals would show 1e-5 as 0.
        if 0.0 < abs(value) < 0.01:
            return f"{value:.2g}"
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3f}"
    return str(value)
