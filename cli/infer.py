"""``sgmc infer``."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.grammar import plural
from pysgrld.options.parse import integer, text

from .options import Described, flag, layer, options_of_reading, plain, quiet, reading_of, threads


@click.command(
    "infer",
    cls=Described,
    epilog="""\b
Examples:
  sgmc infer new.txt -o theta.npy       D x K float32, row d is document d
  sgmc infer new.txt -o theta.csv       a header, then a row a document
  sgmc infer new.csv --text-field body --on-bad-document skip -o theta.csv
  sgmc infer bible-scir new.jsonl -o theta.jsonl
  sgmc infer --layer 2 new.txt -o t.npy of a deep model's second layer
  sgmc infer new.txt --draws 20 --top 5 -o theta.parquet
  head -5 new.txt | sgmc infer -        JSON lines on standard output""",
)
@click.argument("run_and_corpus", nargs=-1, required=True, metavar="[RUN] CORPUS")
@plain(
    "-o/--out",
    "-: JSON lines on standard output",
    "a file that ends in .npy, .csv, .jsonl or .parquet",
    parse=text,
    metavar="FILE",
)
@plain(
    "--draws",
    "none",
    "90 % interval of each proportion, from so many kept samples",
    parse=integer(20),
    metavar="S",
)
@plain("--top", "all", "topics listed of a document; .parquet", parse=integer(1), metavar="N")
@flag("--dense", "a column for each topic; .parquet")
@options_of_reading
@layer
@flag("--force", "replace a file that is there")
@quiet
@threads
def command(
    run_and_corpus: tuple[str, ...],
    out: str | None,
    draws: int | None,
    top: int | None,
    dense: bool,
    layer: int | None,
    force: bool,
    **values: Any,
) -> None:
    """Topic proportions of the documents of CORPUS, under the posterior-mean topics of RUN.

    Any corpus that 'sgmc train' reads; words that the run does not know are counted and left out.
    Rows are in the order of the documents and sum to 1; a document with no known word gets 1/K.
    """
    from pysgrld.machine import threads as count
    from pysgrld.reading.infer import steps_of, write_proportions
    from pysgrld.reading.inferred import check_suffix
    from pysgrld.reading.open import find_folder, open_run
    from pysgrld.run.create import is_run
    from pysgrld.run.whole import refuse_existing, whole_file

    from .progress import Screen

    if len(run_and_corpus) > 2:
        raise UsageError(f"give one corpus, and before it a run: '{run_and_corpus[2]}' is too many")
    *run, path = run_and_corpus
    if not run and (is_run(Path(path)) or not Path(path).exists()):
        with contextlib.suppress(MissingInputError):
            find_folder(path)
            raise UsageError(f"{path} is a run: give a corpus after it")
    out = out or "-"
    if top and dense:
        raise UsageError("--top and --dense: a table lists topics or has a column for each")
    suffix = check_suffix(out, table=bool(top or dense))
    if out != "-":
        refuse_existing([Path(out)], force=force)
    with Screen(quiet=values["quiet"]) as screen:
        number = count(values["threads"]).number
        results = open_run(run[0] if run else None, number, reading_of(values))
        at = results.at(layer)
        if results.samples == 0:
            screen.note(f"{results.no_mean}: under the current ones")
        steps = steps_of(results, draws) if draws else None
        documents = results.documents(path, screen)
        with contextlib.ExitStack() as stack:
            piped = out == "-"
            file = sys.stdout.buffer if piped else stack.enter_context(whole_file(Path(out)))
            done = write_proportions(
                results, documents, file, suffix, at, steps, top=top, dense=dense
            )
        empty = f", {done.empty:,} of them without a known word" if done.empty else ""
        where = "" if out == "-" else f"{out}: "
        screen.note(f"{where}{plural(done.documents, 'document')}{empty}")
