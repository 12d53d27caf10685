"""``sgmc bench``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

import click

from pysgrld.grammar import plural
from pysgrld.options.parse import choice, text

from .options import Described, as_json, flag, plain, quiet, reading_by_default, show_json
from .terminal import echo


@click.command(
    "bench",
    cls=Described,
    epilog="""\b
Examples:
  sgmc bench                          a table, in about a minute
  sgmc bench -o before.json           and keep it
  sgmc bench --compare before.json    how many times as fast as then
  sgmc bench --isa avx2 --quick       does it work here?

Compare figures of one machine, idle, only.""",
)
@plain("-o/--out", "none", "also write the results as JSON", parse=text, metavar="FILE")
@flag("--force", "replace a file that is there")
@plain("--compare", "none", "results of an earlier bench", parse=text, metavar="FILE")
@plain(
    "--isa",
    "the best there is",
    "instruction set of the kernels",
    parse=choice("baseline", "avx2", "avx512"),
    metavar="baseline|avx2|avx512",
)
@plain(
    "--corpus",
    "the repository's Bible, if at hand",
    "what to train on, end to end",
    parse=text,
    metavar="FILE",
)
@flag("--quick", "a few sizes, once each: to see that it works")
@as_json
@quiet
def command(
    out: str | None,
    force: bool,
    compare: str | None,
    isa: str | None,
    corpus: str | None,
    quick: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Time the kernels, the reading of corpora, and training on this machine.

    CPU time of one thread, the median of five repeats; training by the wall's clock, with one
    thread and more.
    """
    from pysgrld.bench.end_to_end import bundled_corpus
    from pysgrld.bench.machine import use_isa
    from pysgrld.bench.results import measure, read_results, speedups
    from pysgrld.run.whole import refuse_existing, whole_file

    from .progress import Screen

    # everything that may be refused, before minutes are spent
    old = read_results(Path(compare)) if compare else None
    if out:
        refuse_existing([Path(out)], force=force)
    if isa:
        use_isa(isa)
    source = Path(corpus) if corpus else bundled_corpus()
    with Screen(quiet=quiet) as screen:
        if source is None:
            screen.note("no corpus at hand, training is left out: name one with --corpus")
        with screen.counting("benchmarks", 100) as percent:
            tell = lambda done, total: percent(100 * done // total)  # noqa: E731
            with reading_by_default():
                found = measure(quick=quick, isa=isa, corpus=source, tell=tell)
        if out:
            with whole_file(Path(out)) as file:
                file.write(json_module.dumps(found, indent=1).encode() + b"\n")
    ratios = speedups(found, old) if old else {}
    if json:
        for row in found["rows"] if old else ():
            row["times_as_fast"] = ratios.get((row["group"], row["name"]))
        show_json(found)
    else:
        _show(found, ratios if old else None)


def _show(found: dict[str, Any], ratios: dict[tuple[str, str], float] | None) -> None:
    m = found["machine"]
    echo(
        f"{m['cpu']}, {m['isa']}, {plural(m['threads'], 'thread')}; sgmc {m['pysgrld']}, {m['compiler']}"
    )
    group, width = None, max(len(row["name"]) for row in found["rows"])
    for row in found["rows"]:
        if row["group"] != group:
            group = row["group"]
            echo(f"\n{group}")
        line = f"  {row['name']:<{width}} {figure(row['value'])} {row['unit']}"
        if ratios is not None:
            ratio = ratios.get((row["group"], row["name"]))
            line += "  (new)" if ratio is None else f"  x {ratio:.2f}"
        echo(line)
    if ratios is not None:
        echo("\nx: how many times as fast as in the earlier bench")


def figure(value: float) -> str:
    """Write a figure in nine columns, large ones without decimals."""
    return f"{value:>9,.0f}" if value >= 1000 else f"{value:>9.2f}"
