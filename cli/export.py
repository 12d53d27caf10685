"""The command ``sgmc export``, which writes results for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pysgrld.errors import UsageError
from pysgrld.options.parse import choice, integer
from pysgrld.report.exports import FORMATS

from .options import (
    Described,
    flag,
    layer,
    lent_metadata,
    metadata,
    plain,
    population,
    quiet,
    run_argument,
    threads,
    word_order,
)

_FORMATS = "\n".join(f"  {name:<12} {format.phrase}" for name, format in FORMATS.items())


@click.command(
    "export",
    cls=Described,
    epilog=f"""\b
Formats:
{_FORMATS}

\b
Examples:
  sgmc export --to csv                       for a spreadsheet, R or pandas
  sgmc export --to npy -o draws/ --draw all  every kept sample, S x K x V
  sgmc export bible-scir --to mallet -o mallet/ --force

See docs/exports.md for what each file holds, and how gensim, scikit-learn and others read them.""",
)
@run_argument
@plain("--to", "", "see below", parse=choice(*FORMATS), metavar="FORMAT", required=True)
@plain("-o/--out", "RUN/export-FORMAT", "output folder", parse=str, metavar="DIR")
@plain(
    "--draw",
    "arviz: all; mallet: last; other formats: mean",
    "mean of all posterior samples; last: the current topics; all: every stored sample",
    parse=choice("mean", "last", "all"),
    metavar="mean|last|all",
)
@plain(
    "--top",
    "30; arviz: all; mallet: 20",
    "number of words of each topic, if not all words are written",
    parse=integer(1),
    metavar="N",
)
@word_order
@flag("--sparse", "csv, parquet: write only topics above 1 % of each document, with intervals")
@click.option(
    "--align/--no-align",
    default=None,
    help="arviz: put the topics of all chains into the order of the first chain. [on]",
)
@flag("--mallet-old", "mallet: write doc-topics.txt in the form used before MALLET 2.0.8")
@layer
@metadata
@flag("--force", "replace existing files")
@population
@quiet
@threads
def command(
    run: str | None,
    to: str,
    out: str | None,
    draw: str | None,
    top: int | None,
    words: Any,
    sparse: bool,
    align: bool | None,
    mallet_old: bool,
    layer: int | None,
    metadata: str | None,
    force: bool,
    population: str | None,
    **values: Any,
) -> None:
    """Export the results of a run to other programs: topics, words, documents, draws.

    If there are several chains, each topic is the mean of the chains that have it; arviz has each chain.
    """
    options = {
        "--sparse": sparse,
        "--align": align is not None,
        "--mallet-old": mallet_old,
        "--words": words is not None,
    }
    row = FORMATS[to]
    if draw is not None and draw not in row.draws:
        raise UsageError(
            f"--draw {draw} does not apply to --to {to}; give --draw {' or '.join(row.draws)}"
        )
    if top is not None and row.top is None:
        raise UsageError(f"--top does not apply to --to {to}, which writes all words; leave it out")
    for name, typed in options.items():
        if typed and name not in row.options:
            formats = " and ".join(f for f, other in FORMATS.items() if name in other.options)
            raise UsageError(f"{name} applies only to --to {formats}; leave it out")

    from pysgrld.reading.find_runs import open_run
    from pysgrld.report.exports import ExportRequest, export
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(
            run, count(values["threads"]).number, missing=screen.warn, these=population == "these"
        )
        results.order_words(words)
        request = ExportRequest(
            to,
            results.place / f"export-{to}" if out is None else Path(out),
            draw or row.draws[0],
            top or row.top or 0,
            sparse,
            align is not False,
            mallet_old,
            results.at(layer),
        )
        with lent_metadata(results, metadata, screen.note), screen.steps() as tell:
            done = export(results, request, force=force, tell=tell)
        for line in done.notes:
            screen.note(line)
        screen.note(f"{done.path}: {done.what}")
