"""``sgmc effect``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import UsageError, plural
from pysgrld.options.parse import integer

from .options import (
    Described,
    as_json,
    flag,
    layer,
    plain,
    population,
    quiet,
    run_argument,
    show_json,
    threads,
)
from .terminal import echo, fill, room, table, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysgrld.effects.answers import Effects, TopicEffect, TopicsContrasted
    from pysgrld.report.answers import Between

#: Comparisons that are shown with all topics: of more, only topics that surely differ are.
WHOLE = 4
#: Columns of a name of a topic.
NAME = 22


@click.command(
    "effect",
    cls=Described,
    epilog="""\b
Examples:
  sgmc effect "~ party"                  the latest run: shares by party
  sgmc effect blogs "~ party + year"     each, with the other as it is
  sgmc effect blogs "~ party * bs(year, df=4)" --plot effects.png
  sgmc effect blogs "~ party" --contrast party=dem,rep --topics 3,5
  sgmc effect blogs "~ age" --metadata people.csv -o effects.csv
  sgmc effect bible "~ testament" --cluster book""",
)
@run_argument
@click.argument("formula", required=False, metavar="FORMULA")
@plain("--topics", "all", "numbers of topics that are shown", parse=str, metavar="N,N,...")
@plain(
    "--contrast",
    "see above",
    "compare the second value with the first; may be given again",
    parse=str,
    metavar="COLUMN=A,B",
    multiple=True,
)
@plain(
    "--cluster",
    "each document alone",
    "documents of one value of this column came together",
    parse=str,
    metavar="COLUMN",
)
@plain("--metadata", "as kept", "columns, a row a document", parse=str, metavar="FILE")
@layer
@plain("-o/--out", "none", "also write a table: FILE.csv or .parquet", parse=str, metavar="FILE")
@plain("--plot", "none", "also draw predicted shares, as PNG", parse=str, metavar="FILE")
@flag("--force", "replace files that are there")
@population
@as_json
@quiet
@threads
def command(
    run: str | None,
    formula: str | None,
    topics: str | None,
    contrast: tuple[str, ...],
    cluster: str | None,
    metadata: str | None,
    layer: int | None,
    out: str | None,
    plot: str | None,
    force: bool,
    population: str | None,
    **values: Any,
) -> None:
    """Estimate effects of document columns on shares of topics; FORMULA combines the columns.

    Columns of numbers are compared at their third quartile and their first, categories with their
    first value. Shown are predicted shares in percent, other columns being as they are, and their
    difference in percentage points with an interval of 90 %, for other documents like these.
    FORMULA may have +, *, :, bs(), poly(), C(), np.log(). See docs/effect.md.
    """
    if formula is None and run is not None and run.lstrip().startswith("~"):
        run, formula = None, run
    if formula is None:
        raise UsageError(
            "a formula is wanted, as in: sgmc effect RUN '~ party + year'; 'sgmc corpus info' "
            "lists the columns"
        )
    from pysgrld.effects.answers import EffectRequest
    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.plotting import require_matplotlib
    from pysgrld.report.exports.table_files import TABLES
    from pysgrld.report.topic_words import heaviest, names_of
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    suffix = "" if out is None else Path(out).suffix.removeprefix(".")
    if out is not None and suffix not in TABLES:
        raise UsageError(f"--out {out}: wanted a name that ends in .csv or .parquet")
    if plot is not None:
        require_matplotlib("--plot needs", ", or leave it out")
    written = [Path(name) for name in (out, plot) if name is not None]
    check_outputs(written, force=force, inputs=[metadata] if metadata else [])
    request = EffectRequest(formula, [_contrast(text) for text in contrast], cluster, layer)
    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(
            run, count(values["threads"]).number, missing=screen.warn, these=population == "these"
        )
        effects = estimate(screen, results, request, metadata)
        layer_index = results.at(layer)
        names = names_of(results, layer_index) | results.given_names(layer_index)
        order = _chosen(topics, heaviest(effects.topics, _weights(effects)))
        if effects.design.missing:
            screen.note(
                f"{plural(effects.design.missing, 'document')} without a value in "
                f"{' or '.join(effects.design.columns)} left out"
            )
        if results.fitted.slices:
            screen.warn(
                "words are sorted by what topics are on average over time: an effect of time is also how "
                "their words have changed"
            )
        if effects.draws == 1:
            screen.note(
                "fewer than 20 full samples are kept: intervals leave out how unsure the topics are"
            )
        if out is not None:
            _write(Path(out), suffix, effects, order, names)
            screen.note(f"{out}: {plural(len(effects.compared) * len(order), 'row')}")
        if plot is not None:
            from pysgrld.effects.picture import draw

            draw(Path(plot), effects, order, names)
            screen.note(f"{plot}: predicted shares of {plural(min(6, len(order)), 'topic')}")
        spread = results.spread()
        if values["json"]:
            show_json(
                {
                    "run": results.place,
                    "formula": formula,
                    "layer": layer_index + 1,
                    "documents": len(effects.design.used),
                    "missing": effects.design.missing,
                    "clusters": cluster,
                    "likeness": effects.likeness and effects.likeness._asdict(),
                    "interval": 0.9,
                    "interval_of": "posterior" if spread.faithful else "draws",
                    "comparisons": [
                        _record(comparison, order, names) for comparison in effects.compared
                    ],
                }
            )
            return
        documents = plural(len(effects.design.used), "document")
        echo(f"{results.place}, {formula}, {documents}\n")
        _show(effects, order, names, cluster, everything=topics is not None)
        if remark := spread.remark():
            echo("\n" + fill(f"{spread.title}: {remark}"))


def estimate(screen: Any, results: Any, request: Any, metadata: str | None) -> Effects:
    """Estimate, with the columns that a file lends."""
    import tempfile

    from pysgrld.effects.answers import effects_of
    from pysgrld.report.texts_and_metadata import AddedFiles

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sgmc-")))
        added = AddedFiles(None, metadata, folder, screen.note)
        with screen.steps() as tell:
            effects = effects_of(results, request, added, tell)
    if effects.likeness is not None:
        screen.warn(effects.likeness.warning)
    return effects


def _contrast(text: str) -> tuple[str, str, str]:
    """Read COLUMN=A,B."""
    column, equals, two = text.partition("=")
    first, comma, second = two.partition(",")
    if not (column and equals and first and comma and second):
        raise UsageError(f"--contrast {text[:60]!r}: wanted COLUMN=A,B, as party=dem,rep")
    return column, first, second


def _chosen(text: str | None, order: list[int]) -> list[int]:
    """Return the topics that were asked for; all, by weight, where none was."""
    if text is None:
        return order
    chosen = [integer(0)(part) for part in text.split(",")]
    for topic in chosen:
        if topic not in order:
            raise UsageError(f"--topics {topic}: there are topics {min(order)} to {max(order)}")
    return list(dict.fromkeys(chosen))


def _weights(effects: Effects) -> Any:
    """Return the share of each topic at its number."""
    import numpy as np

    ranks = np.zeros(int(effects.topics.max()) + 1)
    ranks[effects.topics] = effects.shares
    return ranks


def _of(comparison: TopicsContrasted, order: Sequence[int]) -> list[TopicEffect]:
    by_topic = {topic.topic: topic for topic in comparison.topics}
    return [by_topic[topic] for topic in order]


def _record(
    comparison: TopicsContrasted, order: Sequence[int], names: Mapping[int, str]
) -> dict[str, Any]:
    from pysgrld.report.answers import plain as plain_values

    topics = [plain_values(t) | {"name": names[t.topic]} for t in _of(comparison, order)]
    return {
        "column": comparison.column,
        "first": comparison.first,
        "second": comparison.second,
        "topics": topics,
    }


def _show(
    effects: Effects,
    order: Sequence[int],
    names: Mapping[int, str],
    cluster: str | None,
    *,
    everything: bool,
) -> None:
    """Print a table for each comparison."""
    whole = everything or len(effects.compared) <= WHOLE
    for comparison in effects.compared:
        listed = [topic for topic in _of(comparison, order) if whole or topic.surely]
        heads = (
            "topic",
            "name",
            comparison.first,
            comparison.second,
            "difference (90 %)",
            "surely",
        )
        same = heads[2] == heads[3]
        rows = [heads if not same else (*heads[:3], f"{heads[3]} ", *heads[4:])]
        for topic in listed:
            name = names[topic.topic]
            rows.append(
                (
                    str(topic.topic),
                    name if width(name) <= NAME else f"{name[: NAME - 3]}...",
                    f"{100 * topic.first.mean:.1f}",
                    f"{100 * topic.second.mean:.1f}",
                    _points(topic.difference),
                    {1: "more", -1: "less"}.get(topic.surely, ""),
                )
            )
        echo(
            f"{comparison.column}: from {comparison.first} to {comparison.second}, % of a document"
        )
        if listed:
            lines, _ = table(
                rows, room(), left=("name", "difference (90 %)", "surely"), spare=("name",)
            )
            echo("\n".join(lines) + "\n")
        else:
            echo("  no topic is surely more or less\n")
    units = f"values of {cluster}" if cluster else "documents"
    omission = (
        "" if whole else " Topics that are not surely more or less are left out: --topics, -o."
    )
    echo(
        fill(
            f"Intervals are for other {units} like these. More and less: of all that are called so, "
            f"at most 5 % are expected to be wrong.{omission}"
        )
    )


def _points(value: Between) -> str:
    """Return a difference in percentage points."""
    if value.low is None or value.high is None:
        return f"{100 * value.mean:+.1f} (too few documents)"
    return f"{100 * value.mean:+.1f} ({100 * value.low:+.1f} to {100 * value.high:+.1f})"


def _write(
    path: Path, format: str, effects: Effects, order: Sequence[int], names: Mapping[int, str]
) -> None:
    """Write a row for each comparison and topic."""
    from pysgrld.report.exports.table_files import TableColumn, whole_table

    rows = effects.rows(order, names)
    kinds = {"topic": "topic", "surely": "topic"} | dict.fromkeys(
        ("column", "from", "to", "name"), "string"
    )
    columns = [TableColumn(name, kinds.get(name, "figure")) for name in rows]
    with whole_table(path, format, columns) as file:
        file.write(list(rows.values()))
