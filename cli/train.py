"""``sgmc train``."""

from __future__ import annotations

from typing import Any

import click

from pysgrld.parsers import integer

from .options import Described, flag, given, options_of_training, plain, quiet


@click.command(
    "train",
    cls=Described,
    epilog="""\b
Examples:
  sgmc train corpus.txt                        a document a line; no tuning
  sgmc train -k 20 data/docword.bible.txt.gz   UCI counts, 20 topics
  sgmc train enwiki-latest-pages-articles.xml.bz2
  zcat news.jsonl.gz | sgmc train --text-field body --max-vocab 20000 -
  sgmc train --algo sgrld --time-limit 2h corpus.txt --out runs/a
  sgmc train --chains 4 corpus.txt             then: sgmc diagnose
  sgmc train --chain-id $SLURM_ARRAY_TASK_ID built \\
    --out runs/a/chain-$SLURM_ARRAY_TASK_ID

Stopped by Ctrl-C, SIGTERM or the time limit (exit code 85)? Run the same
command again: it goes on, bit for bit.""",
)
@click.argument("corpus", nargs=-1, required=True)
@options_of_training()
@quiet
@flag("-v/--verbose", "also print every option's value")
@flag("--json-log", "JSON lines on standard error")
@plain(
    "--chains",
    "1",
    "independent chains at the same time, each a run in DIR/chain-1, ...",
    parse=integer(1, 1024),
    metavar="N",
    group="Run",
)
@flag("--break-lock", "take over a run whose process on another host has died")
def command(
    corpus: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    json_log: bool,
    break_lock: bool,
    chains: int | None,
    **values: Any,
) -> None:
    """Train a model on CORPUS: files or folders, or - for standard input.

    Plain text (a document a line, or a folder of .txt files), a Wikipedia dump, JSON lines, CSV,
    Parquet, counts (UCI, LDA-C, SVMlight, Matrix Market, .npz) or a folder made by 'sgmc corpus
    build'; gz, bz2, xz and zst are read as they are. Without a budget it trains until the held-out
    perplexity has settled. Defaults are in [brackets].
    """
    from pysgrld.options import check_usage

    options = given(values)
    check_usage(options)

    limit = options.get("time-limit")
    how: dict[str, Any] = {
        "quiet": quiet, "verbose": verbose, "json_log": json_log, "stamped": True,
        "limit": limit if isinstance(limit, float) else None,
    }  # fmt: skip
    if (chains or 1) > 1:
        from pysgrld.chains import train_chains

        from . import explain
        from .several import SeveralScreen

        with SeveralScreen(chains, **how) as several:
            train_chains(corpus, options, chains, several, explain, break_lock=break_lock)
        return
    from pysgrld.train import train

    from .progress import Screen

    with Screen(**how) as screen:
        train(corpus, options, screen, break_lock=break_lock)
