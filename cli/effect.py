"""``sgmc effect``."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import UsageError, plural

from .options import Described, as_json, flag, layer, plain, quiet, show_json, threads
from .terminal import echo, fill, screen_rows
from .values import runs

if TYPE_CHECKING:
    from pysgrld.effects import Effect, Effects


def _contrast(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = text.partition("=")
    chosen = tuple(values.split(","))
    if not (name and equals) or len(chosen) < 2 or not all(chosen):
        raise UsageError(f"'{text}' is not COLUMN=VALUE,VALUE, as in party=dem,rep")
    return name, chosen


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise UsageError(f"'{text}' is not numbers of topics, as in 3,5") from None


@click.command(
    "effect",
    cls=Described,
    epilog="""\b
Examples:
  sgmc effect "~ party"                    the latest run, by a column of text
  sgmc effect news-scir "~ party + year"   each with the other as it is
  sgmc effect "~ party * bs(year, df=4)"   splines, interactions
  sgmc effect "~ party" --contrast party=dem,rep
  sgmc effect "~ year" --contrast year=1990,2010
  sgmc effect "~ party" --cluster speaker  speeches of one person
  sgmc effect "~ party" --plot effect.png -o effect.csv""",
)
@click.argument(
    "run_and_formula", nargs=-1, required=True, metavar="[RUN] FORMULA", shell_complete=runs
)
@plain(
    "--contrast",
    "all with the first; of numbers the quartiles",
    "values of a column that are compared, with the first; more than once for more columns",
    parse=_contrast,
    metavar="COLUMN=A,B",
    multiple=True,
)
@plain("--topics", "all", "topics that are told", parse=_numbers, metavar="K,K")
@plain(
    "--cluster",
    "each document alone",
    "documents of one value came together",
    parse=str,
    metavar="COLUMN",
)
@plain("--metadata", "as kept", "columns from a file, a row a document", parse=str, metavar="FILE")
@flag("--all", "all topics on a terminal, not only those that surely differ")
@plain("-o/--out", "none", "a table, .csv or .parquet", parse=str, metavar="FILE")
@plain("--plot", "none", "a picture of the differences", parse=str, metavar="FILE.png")
@flag("--force", "replace files that are there")
@layer
@as_json
@quiet
@threads
def command(
    run_and_formula: tuple[str, ...],
    contrast: tuple[tuple[str, tuple[str, ...]], ...],
    topics: tuple[int, ...] | None,
    cluster: str | None,
    metadata: str | None,
    out: str | None,
    plot: str | None,
    force: bool,
    layer: int | None,
    **values: Any,
) -> None:
    """Tell how topics go with columns of the documents: what differs, and how surely.

    FORMULA names columns that were kept (--meta-field of training), as R writes it.
    Each topic's share of a document's words is regressed on them, document by document, for every
    posterior draw and with documents weighted at random: intervals are for documents like these. Shown
    are predicted shares, the other columns as they are, and differences in percentage points.
    """
    from pysgrld.effects import effect
    from pysgrld.report.texts_and_metadata import AddedFiles, with_added
    from pysgrld.run.layout import check_outputs

    from .progress import Screen

    if len(run_and_formula) > 2:
        raise UsageError(
            f"give a run and a formula in quotes: '{run_and_formula[2][:40]}' is too many"
        )
    *run, formula = run_and_formula
    if plot is not None:
        from pysgrld.effects.picture import check_picture

        check_picture(plot)
    suffix = Path(out).suffix.lower() if out is not None else ".csv"
    if suffix not in (".csv", ".parquet"):
        raise UsageError(f"-o {out}: name a file that ends in .csv or .parquet")
    wanted = [Path(name) for name in (out, plot) if name is not None]
    check_outputs(wanted, force=force, inputs=[metadata] if metadata else [])
    with Screen(quiet=values["quiet"]) as screen, tempfile.TemporaryDirectory() as scratch:
        added = AddedFiles(None, metadata, Path(scratch), screen.note)
        with screen.steps() as tell:
            found = effect(
                run[0] if run else None,
                formula,
                contrasts=dict(contrast),
                topics=topics,
                cluster=cluster,
                layer=layer,
                about=None if metadata is None else partial(with_added, added=added),
                threads=values["threads"],
                tell=lambda done, total: tell("drawing documents", done, total),
            )
        if out is not None:
            _write(found, Path(out), suffix[1:])
        if plot is not None:
            from pysgrld.effects.picture import draw

            draw(found, plot)
        for path in wanted:
            screen.note(f"{path}: is written")
    if values["json"]:
        show_json(
            found._asdict()
            | {
                "names": {str(topic): name for topic, name in found.names.items()},
                "effects": [each._asdict() for each in found.effects],
            }
        )
        return
    _show(found, everything=values["all"] or not screen_rows())


def _write(found: Effects, path: Path, format: str) -> None:
    """Write the answers as a table."""
    from pysgrld.report.exports.table_files import TableColumn, whole_table

    text = ("name", "column", "what", "label")
    columns = [TableColumn("topic", "topic"), *(TableColumn(name, "string") for name in text)]
    columns += [TableColumn(name, "figure") for name in ("mean", "low", "high")]
    columns.append(TableColumn("surely", "figure"))
    rows = found.effects
    with whole_table(path, format, columns) as table:
        table.write(
            [
                [e.topic for e in rows],
                [found.names[e.topic] for e in rows],
                *([getattr(e, name) for e in rows] for name in text[1:]),
                *(
                    [float("nan") if (v := getattr(e, name)) is None else float(v) for e in rows]
                    for name in ("mean", "low", "high", "surely")
                ),
            ]
        )


#: Tokens of a document below which differences were found to be understated (docs/effect.md).
SHORT = 50


def _show(found: Effects, *, everything: bool) -> None:
    """Print the differences, a column of the formula after the other."""
    left = f" ({plural(found.missing, 'document')} left out)" if found.missing else ""
    echo(fill(f"{found.run}, {found.formula}: {plural(found.documents, 'document')}{left}"))
    differences = [e for e in found.effects if e.what == "difference"]
    for column in dict.fromkeys(e.column for e in differences):
        own = [e for e in differences if e.column == column]
        some = [e for e in own if everything or e.surely]
        wide = max(len(found.names[e.topic]) for e in own)
        labels = max(len(e.label) for e in own)
        kind = "90 % interval" if found.interval_of == "posterior" else "90 % of draws"
        echo(f"\n{column}\ntopic  {'':<{wide}}  {'':<{labels}}  points  {kind}")
        for each in some:
            echo(_line(each, found.names[each.topic], wide, labels))
        if rest := len(own) - len(some):
            what = "no other topic surely differs" if some else "no topic surely differs"
            echo(f"{what}; --all shows {plural(rest, 'difference')} more")
    echo(
        "\n"
        + fill(
            "Points: how many percentage points more of a document's words are the topic's, on average, "
            "the other columns as they are. Of what is called more or less at most 5 % is expected to be "
            "wrong."
        )
    )
    if found.length < SHORT:
        echo(
            fill(
                f"Documents have {found.length:.0f} words, the median: how large a difference is may be "
                "understated, by a quarter or more where topics overlap."
            )
        )


def _line(each: Effect, name: str, wide: int, labels: int) -> str:
    said = {1: "  more", -1: "  less"}.get(each.surely or 0, "")
    between = ""
    if each.low is not None and each.high is not None:
        between = f"{100 * each.low:>+6.2f} to {100 * each.high:+.2f}"
    return (
        f"{each.topic:>5}  {name:<{wide}}  {each.label:<{labels}}  {100 * each.mean:>+6.2f}  "
        f"{between:<17}{said}".rstrip()
    )
