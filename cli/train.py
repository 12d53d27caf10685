"""The command ``sgmc train``, which trains a model on a corpus."""

from __future__ import annotations

import atexit
import contextlib
import signal
from typing import Any

import click

from pysgrld.chain.communicator import ALONE, Communicator, launch, refuse_launch
from pysgrld.errors import UsageError
from pysgrld.options.option import Option
from pysgrld.options.parse import duration, integer

from .options import ALL, Described, flag, given, help_all, options_of_training, plain, quiet
from .values import files

#: Settings of the command that are not options of a run.
SETTINGS = {
    "forget": Option(
        integer(1),
        "never",
        "--from: drop half of the old documents for every N new ones",
        "Run",
        metavar="N",
        setting=True,
    ),
    "rank-timeout": Option(
        duration,
        "30m",
        "--mpi: maximum time that a process waits for the others",
        "Run",
        metavar="TIME",
        setting=True,
    ),
}


class Train(Described):
    """Command ``train``, with a full help that also lists the models and samplers."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; with ``--help-all``, also a line for each model and each sampler."""
        super().format_options(ctx, formatter)
        if ctx.meta.get(ALL):
            from pysgrld.models.table import all_models
            from pysgrld.samplers import SAMPLERS

            for heading, rows in (("Models", all_models()), ("Samplers", SAMPLERS.values())):
                with formatter.section(heading):
                    formatter.write_dl([(row.name, row.summary) for row in rows])


@click.command(
    "train",
    cls=Train,
    instead={"-o": "give the folder of the run with --out DIR"},
    epilog="""\b
Examples:
  sgmc train corpus.txt                        one document per line
  sgmc train -k 20 data/docword.bible.txt.gz   UCI counts, 20 topics
  sgmc train --from news-scir november.csv     continue with new documents
  zcat news.jsonl.gz | sgmc train --text-field body --max-vocab 20000 -
  sgmc train --chains 4 corpus.txt             then: sgmc diagnose

Stopped by Ctrl-C, SIGTERM or the time limit (exit code 85)? Run the same
command again to resume, bit for bit. To train a run for longer, name it:
  sgmc train --resume bible-scir --iterations 5000""",
)
@click.argument("corpus", nargs=-1, shell_complete=files)
@options_of_training(further=SETTINGS)
@help_all
@quiet
@flag("-v/--verbose", "also print every option's value", first=False)
@flag("--json-log", "JSON lines on standard error", first=False)
@plain(
    "--chains",
    "1",
    "number of independent chains (DIR/chain-1, ...)",
    parse=integer(1, 1024),
    metavar="N",
    group="Run",
)
@plain(
    "--from",
    "none",
    "start from the topics of RUN, and train on its documents and the new documents of CORPUS",
    parse=str,
    metavar="RUN",
    group="Run",
    first=False,
)
@flag("--only-new", "--from: train only on the new documents", "Run", first=False)
@flag("--break-lock", "continue a run whose process on another host has died", first=False)
@flag("--mpi", "train one chain with all processes of an MPI launch", "Run", first=False)
def command(
    corpus: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    json_log: bool,
    break_lock: bool,
    chains: int | None,
    mpi: bool,
    only_new: bool,
    rank_timeout: float | None = None,
    forget: int | None = None,
    **values: Any,
) -> None:
    """Train a model on CORPUS: files or folders, or - for standard input.

    CORPUS may be plain text (one document per line, or a folder of .txt files), a Wikipedia dump,
    JSON lines, CSV, Excel, RIS, BibTeX, Parquet, counts (UCI, LDA-C, SVMlight, Matrix Market, .npz)
    or a folder made by 'sgmc corpus build'; gz, bz2, xz and zst are decompressed. Without
    --iterations and the like, training lasts until held-out perplexity has converged. Defaults are
    in [brackets]. The usual options follow; --help-all lists all by model.
    """
    # During a run, SIGUSR2 requests a checkpoint. Before and after a run, the signal is ignored.
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    # While Python exits, signals must not change the exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        atexit.register(signal.signal, number, signal.SIG_IGN)
    if quiet and verbose:
        raise UsageError("-q and -v contradict each other; give one of them")
    options, parent = given(values), values["from"]
    if only_new and parent is None:
        raise UsageError("--only-new requires --from RUN")
    if forget is not None and (parent is None or only_new):
        raise UsageError("--set forget requires --from RUN without --only-new")
    limit = options.get("time-limit")
    how: dict[str, Any] = {
        "quiet": quiet,
        "verbose": verbose,
        "json_log": json_log,
        "stamped": True,
        "limit": limit if isinstance(limit, float) else None,
    }
    together: contextlib.AbstractContextManager[Communicator] = contextlib.nullcontext(ALONE)
    if mpi:
        from .ranks import over_ranks

        together = over_ranks(rank_timeout, options.get("threads"))
    elif rank_timeout:
        raise UsageError("--set rank-timeout requires --mpi")
    elif "chain-id" not in options:
        refuse_launch(launch())
    with together as comm:
        _train(
            corpus, options, chains, comm, how, (parent, only_new, forget), break_lock=break_lock
        )


def _train(
    corpus: tuple[str, ...],
    options: dict[str, Any],
    chains: int | None,
    comm: Communicator,
    how: dict[str, Any],
    parent: tuple[str | None, bool, int | None],
    *,
    break_lock: bool,
) -> None:
    """Train one chain on all ranks of ``comm``, or train several chains."""
    from pysgrld.models.choices import Choices
    from pysgrld.train.request import Request, continuation_request, resume_request

    choices = Choices(options)

    request, n_chains = Request(corpus, choices, break_lock=break_lock), 0
    if parent[0] is not None:
        request = continuation_request(parent[0], request, only_new=parent[1], forget=parent[2])
    elif not corpus:  # Without a corpus, resume a run, or all chains of a folder.
        request, n_chains = resume_request(choices, break_lock=break_lock)
    request.choices.check()
    if n_chains or (chains or 1) > 1:
        if comm is not ALONE:
            raise UsageError(
                "--chains does not apply to --mpi, which trains a single chain; start each chain "
                "with its own --chain-id"
            )
        from pysgrld.train.several import train_chains

        from . import explain
        from .several import SeveralScreen

        number = chains or n_chains
        with SeveralScreen(number, **how) as several:
            several.all_done(train_chains(request, number, several, explain), number)
        return
    from pysgrld.train.start import train

    from .progress import Screen

    show = Screen
    if comm.rank:
        from .ranks import Mute

        show, how = Mute, how | {"quiet": True}
    with show(**how) as screen:
        train(request, screen, comm=comm)
