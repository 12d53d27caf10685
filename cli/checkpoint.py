"""The commands ``sgmc checkpoint list``, ``show`` and ``verify``, which inspect checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import CheckpointError, MissingInputError, plural
from pysgrld.options.parse import integer

from .options import Described, as_json, plain, run_argument, show_json
from .terminal import echo

if TYPE_CHECKING:
    from pysgrld.run import CheckpointReport


@click.group("checkpoint")
def command() -> None:
    """List, show or verify the checkpoints of a run, without touching them."""


@command.command("list", cls=Described, epilog="\b\nExample:\n  sgmc checkpoint list")
@run_argument
@as_json
def list_(run: str | None, json: bool) -> None:
    """List the checkpoints of RUN, oldest first."""
    path, reports = _reports(run)
    if json:
        show_json({"run": path, "checkpoints": [_brief(report) for report in reports]})
        return
    echo(f"{path}\n")
    echo("  iteration  written                       size  state")
    for r in reports:
        echo(f"  {r.step:>9,}  {r.written:<24} {_megabytes(r.size)}  {r.problem or 'there'}")


@command.command(
    "show",
    cls=Described,
    epilog="\b\nExamples:\n  sgmc checkpoint show\n"
    "  sgmc checkpoint show bible-scir --step 800 --json",
)
@run_argument
@plain("--step", "the newest", "iteration of the checkpoint", parse=integer(0, 2**53), metavar="N")
@as_json
def show(run: str | None, step: int | None, json: bool) -> None:
    """Show the content of one checkpoint of RUN."""
    path, reports = _reports(run)
    report = next((r for r in reports[::-1] if step in (None, r.step)), None)
    if report is None:
        steps = ", ".join(str(report.step) for report in reports)
        raise MissingInputError(
            f"{path}: has no checkpoint of iteration {step}; its checkpoints are {steps}"
        )
    if json:
        show_json(_brief(report) | {"meta": report.meta, "arrays": report.tensors})
        return
    echo(f"{report.path}\n")
    for name, value in (
        ("iteration", f"{report.step:,}"),
        ("written", report.written),
        ("size", _megabytes(report.size).strip()),
        ("state", report.problem or "exists; 'sgmc checkpoint verify' reads every byte"),
        *(
            (name, f"{value:,.3f}" if isinstance(value, float) else f"{value:,}")
            for name, value in report.meta.items()
            if isinstance(value, int | float)
        ),
    ):
        echo(f"  {name:<16}{value}")
    echo("  arrays")
    for name, tensor in sorted(report.tensors.items()):
        shape = " x ".join(f"{n:,}" for n in tensor["shape"])
        echo(f"    {name:<22}{tensor['dtype']:<5}{shape}")


@command.command(
    "verify", cls=Described, epilog="\b\nExample:\n  sgmc checkpoint verify && echo good"
)
@run_argument
@as_json
def verify(run: str | None, json: bool) -> None:
    """Read every byte of every checkpoint of RUN; exit code 76 if one is damaged."""
    from pysgrld.models.samples import STATE
    from pysgrld.run import list_checkpoints

    path, _ = _reports(run)
    checkpoints = list_checkpoints(path, verify=True, invariants=STATE)
    if json:
        show_json({"run": path, "checkpoints": [_brief(report) for report in checkpoints]})
    else:
        for report in checkpoints:
            echo(f"{report.path}: {report.problem or 'good'}")
    if damaged := [report for report in checkpoints if report.problem]:
        raise CheckpointError(
            f"{path}: damaged: {len(damaged)} of {plural(len(checkpoints), 'checkpoint')}; restore "
            "or remove them"
        )


def _reports(run: str | None) -> tuple[Any, list[CheckpointReport]]:
    from pysgrld.reading.find_runs import find_folder
    from pysgrld.run import RunDirectory, list_checkpoints

    path = RunDirectory.open(find_folder(run)).path
    reports = list_checkpoints(path)
    if not reports:
        raise CheckpointError(f"{path}: has no checkpoint yet; train it with 'sgmc train'")
    return path, reports


def _brief(report: CheckpointReport) -> dict[str, Any]:
    return {
        "step": report.step,
        "path": report.path,
        "written": report.written,
        "size": report.size,
        "problem": report.problem,
        "verified": report.verified,
    }


def _megabytes(size: int) -> str:
    return f"{size / 2**20:>8,.1f} MB"
