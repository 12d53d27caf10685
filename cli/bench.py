"""The command ``sgmc bench``, which measures sgmc's speed on this machine."""

from __future__ import annotations

import contextlib
import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.chain.communicator import ALONE
from pysgrld.errors import UsageError, plural
from pysgrld.options.parse import choice, integer

from .options import Described, as_json, flag, plain, quiet, reading_by_default, show_json, threads
from .terminal import echo

if TYPE_CHECKING:
    from pysgrld.chain.communicator import Communicator


@click.command(
    "bench",
    cls=Described,
    epilog="""\b
Examples:
  sgmc bench                          a table, in about a minute
  sgmc bench -o before.json           and keep it
  sgmc bench --compare before.json    how many times as fast as then
  sgmc bench --isa avx2 --quick       does it work here?
  mpiexec -n 4 sgmc bench --mpi --corpus built -k 500 --minibatch 20000

Compare only results of the same machine, with no other work on it.""",
)
@plain("-o/--out", "none", "also write the results as JSON", parse=str, metavar="FILE")
@flag("--force", "replace an existing file")
@plain(
    "--compare", "none", "compare with the results of an earlier bench", parse=str, metavar="FILE"
)
@plain(
    "--isa",
    "the best available",
    "instruction set of the kernels",
    parse=choice("baseline", "avx2", "avx512"),
    metavar="baseline|avx2|avx512",
)
@plain(
    "--corpus",
    "the repository's Bible, if available",
    "corpus for the measurement of training",
    parse=str,
    metavar="FILE",
)
@flag("--quick", "measure only a few sizes, once each, as a test")
@flag("--mpi", "measure only messages and iterations of several ranks")
@plain("-k/--topics", "100", "--mpi: topics", parse=integer(1, 1_000_000), metavar="K")
@plain(
    "--minibatch",
    "as in training",
    "--mpi: size of the smallest minibatch in documents",
    parse=integer(1, 1 << 40),
    metavar="N",
)
@as_json
@quiet
@threads
def command(
    out: str | None,
    force: bool,
    compare: str | None,
    isa: str | None,
    corpus: str | None,
    quick: bool,
    mpi: bool,
    topics: int | None,
    minibatch: int | None,
    json: bool,
    quiet: bool,
    threads: int | None,
) -> None:
    """Measure the speed of the kernels, of reading corpora, and of training on this machine.

    CPU time of one thread, the median of five repeats; training by the wall's clock, with one
    thread and more. With --mpi, under mpiexec or srun as 'sgmc train --mpi': messages and iterations
    of the ranks at hand, by the wall's clock, and how many ranks a minibatch would keep busy.
    """
    from pysgrld.experiments.bench.results import read_results, speedups
    from pysgrld.experiments.bench.timing import use_isa
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.output_files import open_output

    from .ranks import over_ranks

    if mpi and threads:
        raise UsageError(
            "--threads cannot be combined with --mpi: set the processors of each rank in mpiexec"
        )
    if not mpi and (topics or minibatch):
        raise UsageError("--topics and --minibatch require --mpi")
    with over_ranks(None, None) if mpi else contextlib.nullcontext(ALONE) as comm:
        # Check all options before the measurements, which take minutes.
        old = read_results(Path(compare)) if compare else None
        if out:
            read = [name for name in (compare, corpus) if name]
            check_outputs([Path(out)], force=force, inputs=read)
        if isa:
            use_isa(isa)
        if mpi:
            quiet = quiet or comm.rank > 0
            results = _over(comm, quick, corpus, topics, minibatch, quiet=quiet)
        else:
            results = _alone(quick, corpus, isa, threads, quiet=quiet)
    if comm.rank:
        return
    if out:
        with open_output(Path(out)) as file:
            file.write(json_module.dumps(results, indent=1).encode() + b"\n")
    ratios = speedups(results, old) if old else {}
    if json:
        for row in results["rows"] if old else ():
            row["times_as_fast"] = ratios.get((row["group"], row["name"]))
        show_json(results)
    else:
        _show(results, ratios if old else None)
        if mpi:
            _show_model(results)


def _alone(
    quick: bool, corpus: str | None, isa: str | None, threads: int | None, *, quiet: bool
) -> dict[str, Any]:
    """Measure the speed of kernels, reading and training in this process, without MPI."""
    from pysgrld.experiments.bench.end_to_end import bundled_corpus
    from pysgrld.experiments.bench.results import measure

    from .progress import Screen

    source = Path(corpus) if corpus else bundled_corpus()
    with Screen(quiet=quiet) as screen:
        if source is None:
            screen.note("training is not measured without a corpus; give one with --corpus")
        with screen.counting("benchmarks", 100) as percent, reading_by_default():
            return measure(
                quick=quick,
                isa=isa,
                corpus=source,
                threads=threads,
                tell=lambda done, total: percent(100 * done // total),
            )


def _over(
    comm: Communicator,
    quick: bool,
    corpus: str | None,
    topics: int | None,
    minibatch: int | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Time training iterations, and messages between MPI processes, on all ranks of ``comm``."""
    from pysgrld.experiments.bench.ranks import measure_ranks

    from .progress import Screen

    with (
        Screen(quiet=quiet) as screen,
        screen.counting("benchmarks", 100) as percent,
        reading_by_default(),
    ):
        results = measure_ranks(
            comm,
            quick=quick,
            corpus=Path(corpus) if corpus else None,
            topics=topics,
            minibatch=minibatch,
            tell=lambda done, total: percent(100 * done // total),
        )
        comm.end_all_ranks()
        return results


def _show_model(results: dict[str, Any]) -> None:
    """Print the iteration times that the cost model predicts, one line per minibatch size."""
    corpus, ranks = results["corpus"], results["model"][0]["ranks"]
    echo(
        "\npredicted time of an iteration, by number of ranks: milliseconds, and share of the "
        f"time spent on parallel work\n  {corpus['name']}: "
        f"{plural(corpus['documents'], 'document')}, {plural(corpus['words'], 'word')}; "
        f"{plural(corpus['topics'], 'topic')}"
    )
    echo("  minibatch" + "".join(f"{n:>15,}" for n in ranks) + "    busy")
    for line in results["model"]:
        cells = zip(line["ms"], line["shared"], strict=True)
        shown = "".join(f"{ms:>9,.4g} {100 * share:>3.0f} %" for ms, share in cells)
        echo(f"  {line['minibatch']:>9,}{shown}{line['busy']:>8,}")
    echo("\nbusy: largest number of ranks that spend at least 50 % of the time on parallel work")


def _show(results: dict[str, Any], ratios: dict[tuple[str, str], float] | None) -> None:
    m = results["machine"]
    if "ranks" in results:
        echo(
            f"{plural(results['ranks'], 'rank')} on {plural(results['nodes'], 'node')}; "
            f"{results['library']}"
        )
    echo(
        f"{m['cpu']}, {m['isa']}, {plural(m['threads'], 'thread')}; sgmc {m['pysgrld']}, "
        f"{m['compiler']}"
    )
    group, width = None, max(len(row["name"]) for row in results["rows"])
    for row in results["rows"]:
        if row["group"] != group:
            group = row["group"]
            echo(f"\n{group}")
        value = row["value"]
        figure = f"{value:>9,.0f}" if value >= 1000 else f"{value:>9.2f}"
        line = f"  {row['name']:<{width}} {figure} {row['unit']}"
        if ratios is not None:
            ratio = ratios.get((row["group"], row["name"]))
            line += "  (new)" if ratio is None else f"  x {ratio:.2f}"
        echo(line)
    if ratios is not None:
        echo("\nx: speed divided by the speed in the earlier bench")
