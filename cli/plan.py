"""The command ``sgmc plan``, which estimates the resources that training needs."""

from __future__ import annotations

import shlex
from typing import Any

import click

from pysgrld.errors import plural
from pysgrld.models.options import OPTIONS, as_typed

from .options import Described, as_json, given, options_of, quiet, show_json
from .terminal import echo
from .values import files

#: Training options on which the estimate of time, memory and disk space depends.
_OPTIONS = ("topics", "algo", "model", "minibatch", "sweeps", "samples", "threads")
#: Minimum time limit, in hours, of the printed batch script.
_SHORTEST = 1
#: Memory that the batch script requests in addition to the estimate, as a fraction of the estimate.
_SPARE = 0.25


@click.command(
    "plan",
    cls=Described,
    epilog="""\b
Examples:
  sgmc plan built -k 500 --threads 64
  sgmc plan built -k 1000 --minibatch 20000 --threads 64 --json""",
)
@click.argument("corpus", metavar="CORPUS", shell_complete=files)
@options_of({name: OPTIONS[name]._replace(first=True) for name in _OPTIONS})
@as_json
@quiet
def command(corpus: str, json: bool, quiet: bool, **values: Any) -> None:
    """Estimate the memory, disk space, hours and threads that training on CORPUS needs.

    CORPUS is a folder of 'sgmc corpus build', which is not read as a whole. Hours are of cores like
    the one in docs/performance.md; nothing is trained or kept.
    """
    from pysgrld.models.choices import Choices
    from pysgrld.train.estimate import EPOCHS, estimate
    from pysgrld.train.request import Request

    from .progress import Screen

    typed_options = given(values)
    request = Request((corpus,), Choices(typed_options))
    request.choices.check()
    with Screen(quiet=quiet) as screen:
        needs = estimate(request, screen)
    after = needs.refinement_hours
    useful, gigabytes = needs.useful_threads, 1 << 30
    asked = max(1, round((1.0 + _SPARE) * needs.bytes / gigabytes + 0.5))
    hours = max(_SHORTEST, round(needs.hours(EPOCHS) + after + 0.5))
    typed = [as_typed(name, value) for name, value in typed_options.items() if name != "threads"]
    script = (
        f"sgmc slurm --time {hours}h --cpus {needs.threads} --mem {asked}G -o job.sh -- "
        f"train {shlex.quote(corpus)} {' '.join(typed)}"
    ).rstrip()
    if json:
        show_json(
            needs._asdict()
            | {
                "bytes": needs.bytes,
                "useful_threads": useful,
                "enough_documents": needs.enough_documents,
                "hours_per_epoch": needs.hours(),
                "refinement_hours": after,
                "script": script,
            }
        )
        return
    rows = (
        (
            "corpus",
            f"{needs.documents:,} documents, {needs.words:,} words, {needs.tokens:,} tokens",
        ),
        ("training", f"{needs.topics:,} topics, {needs.minibatch:,} documents in each iteration"),
        ("memory", f"{needs.bytes / gigabytes:.1f} GB"),
        ("disk", f"at most {needs.disk / gigabytes:.1f} GB, without the corpus"),
        ("epoch", f"about {_time(needs.hours())} with {plural(needs.threads, 'thread')}"),
        (f"{EPOCHS} epochs", f"about {_time(needs.hours(EPOCHS))}"),
        *([("Gibbs sweeps", f"about {_time(after)}, for intervals")] if after else []),
        ("useful threads", f"at most {useful:,}"),
    )
    for name, value in rows:
        echo(f"{name:<16}{value}")
    asked_documents = typed_options.get("minibatch", 0)
    if asked_documents > needs.documents:
        echo(f"--minibatch {asked_documents}: the corpus has only {needs.documents:,} documents")
    if needs.threads > useful:
        echo(f"to use {needs.threads} threads, give --minibatch {needs.enough_documents} or more")
    echo(f"\n{script}")


def _time(hours: float) -> str:
    """Format a duration in hours, or in seconds below half an hour."""
    number, unit = (hours, "h") if hours >= 0.5 else (3600 * hours, "s")
    return f"{float(f'{number:.2g}'):,g} {unit}"
