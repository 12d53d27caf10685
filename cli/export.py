"""``sgmc export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pysgrld.grammar import plural
from pysgrld.options.parse import choice, text

from .options import Described, flag, layer, plain, quiet, run_argument, threads


@click.command(
    "export",
    cls=Described,
    epilog="""\b
Examples:
  sgmc export --to npy -o topics/            topics.npy and vocab.txt
  sgmc export --to npy -o draws/ --draw all  every kept sample, S x K x V
  sgmc export bible-scir --to safetensors -o topics/ --force

Column n of the topics is line n of vocab.txt.""",
)
@run_argument
@plain(
    "--to",
    "",
    "npy or safetensors",
    parse=choice("npy", "safetensors"),
    metavar="FORMAT",
    required=True,
)
@plain("-o/--out", "", "folder to write into", parse=text, metavar="DIR", required=True)
@plain(
    "--draw",
    "mean",
    "mean of all posterior samples, last: the current topics, or all kept samples",
    parse=choice("mean", "last", "all"),
    metavar="mean|last|all",
)
@layer
@flag("--force", "replace files that are there")
@quiet
@threads
def command(
    run: str | None, to: str, out: str, draw: str | None, layer: int | None, **values: Any
) -> None:
    """Write the topics as a matrix of float32, topics over words, and the words beside it."""
    from pysgrld.machine import threads as count
    from pysgrld.reading.export import export
    from pysgrld.reading.open import open_run

    from .progress import Screen

    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(run, count(values["threads"]).number)
        at = results.at(layer)
        done = export(results, to, Path(out), draw or "mean", force=values["force"], at=at)
        shape = " x ".join(f"{n:,}" for n in done.shape)
        if done.samples:
            what = plural(done.samples, "sample")
            what = what if draw == "all" else f"mean of {what}"
        elif draw == "last":
            what = "current topics"
        else:
            what = f"{results.no_mean}: the current ones"
        screen.note(f"{done.path}: {shape}, {what}")
