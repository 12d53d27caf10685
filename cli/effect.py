"""The command ``sgmc effect``, which estimates how topic shares depend on metadata columns."""

from __future__ import annotations

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
    lent_metadata,
    metadata,
    plain,
    population,
    quiet,
    run_argument,
    show_json,
    threads,
)
from .terminal import echo, fill, room, shortened, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysgrld.effects.answers import ColumnTest, Effects, TopicEffect, TopicsContrasted
    from pysgrld.report.answers import Between

#: If a formula has more columns than this number, tables list only the topics with significant
#: differences.
WHOLE = 4
#: Maximum width of topic names.
NAME = 22
#: On a narrow terminal, topic names are shortened to this width, but not further.
_LEAST_NAME = 12
#: A value that fewer documents than this number have is listed below the table.
FEW = 10
#: Maximum number of characters of a column's value in the table.
_VALUE = 12


@click.command(
    "effect",
    cls=Described,
    epilog="""\b
Examples:
  sgmc effect "~ party"                  the latest run: shares by party
  sgmc effect blogs "~ party + year"     each column, given the other
  sgmc effect blogs "~ party * bs(year, df=4)" --plot effects.png
  sgmc effect blogs "~ party" --reference dem --topics 3,5
  sgmc effect blogs "~ age" --metadata people.csv -o effects.csv
  sgmc effect bible "~ testament" --cluster book""",
)
@run_argument
@click.argument("formula", required=False, metavar="FORMULA")
@plain("--topics", "all", "numbers of the topics to show", parse=str, metavar="N,N,...")
@plain(
    "--contrast",
    "see above",
    "compare the second value with the first (may be repeated)",
    parse=str,
    metavar="COLUMN=A,B",
    multiple=True,
)
@plain(
    "--reference",
    "all pairs",
    "compare this value with the other values of its column",
    parse=str,
    metavar="VALUE",
)
@plain(
    "--cluster",
    "documents are independent",
    "column with the source (author, book) of documents that are not independent",
    parse=str,
    metavar="COLUMN",
)
@metadata
@layer
@plain("-o/--out", "none", "also write the table: FILE.csv or .parquet", parse=str, metavar="FILE")
@plain(
    "--plot",
    "none",
    "also draw shares and differences: FILE.png, .pdf or .svg",
    parse=str,
    metavar="FILE",
)
@flag("--force", "replace existing files")
@population
@as_json
@quiet
@threads
def command(
    run: str | None,
    formula: str | None,
    topics: str | None,
    contrast: tuple[str, ...],
    reference: str | None,
    cluster: str | None,
    metadata: str | None,
    layer: int | None,
    out: str | None,
    plot: str | None,
    force: bool,
    population: str | None,
    **values: Any,
) -> None:
    """Estimate how shares of topics depend on columns of the documents, given in FORMULA.

    Numbers are compared at their first and third quartile, categories in all pairs.
    The table has predicted shares in percent, while other columns keep their values, and the
    difference in percentage points with a 90 % interval for other documents like these; greatest
    differences first.
    FORMULA may have +, *, :, bs(), poly(), C(), np.log(). See docs/effect.md.
    """
    if formula is None and run is not None and (run.lstrip().startswith("~") or " ~ " in run):
        run, formula = None, run
    if formula is None:
        raise UsageError(
            "FORMULA is missing; give one, such as: sgmc effect RUN '~ party + year' ('sgmc "
            "corpus info' lists the columns)"
        )
    from pysgrld.effects.answers import EffectRequest
    from pysgrld.reading.find_runs import open_run
    from pysgrld.reading.plotting import check_format
    from pysgrld.report.exports.table_files import TABLES
    from pysgrld.report.topic_words import heaviest, names_of
    from pysgrld.run.layout import check_outputs
    from pysgrld.run.machine import threads as count

    from .progress import Screen

    suffix = "" if out is None else Path(out).suffix.removeprefix(".")
    if out is not None and suffix not in TABLES:
        raise UsageError(f"--out {out}: give a file name that ends in .csv or .parquet")
    if plot is not None:
        check_format("--plot", plot)
    written = [Path(name) for name in (out, plot) if name is not None]
    check_outputs(written, force=force, inputs=[metadata] if metadata else [])
    if contrast and reference is not None:
        raise UsageError("--contrast and --reference cannot be combined; give one of them")
    contrasts = [_contrast(text) for text in contrast]
    request = EffectRequest(formula, contrasts, cluster, layer, reference)
    with Screen(quiet=values["quiet"]) as screen:
        results = open_run(
            run, count(values["threads"]).number, missing=screen.warn, these=population == "these"
        )
        layer_index = results.at(layer)
        names = names_of(results, layer_index) | results.given_names(layer_index)
        chosen = None if topics is None else _chosen(topics, list(names))
        effects = estimate(screen, results, request, metadata)
        order = chosen or heaviest(effects.topics, _weights(effects))
        if effects.design.missing:
            screen.note(
                f"ignored {plural(effects.design.missing, 'document')} without a value in "
                f"{' or '.join(effects.design.columns)}"
            )
        if results.fitted.slices:
            screen.warn(
                "this command averages topics over time, so that an effect of time may come from "
                "changes of topics' words ('sgmc topics --over-time' shows the changes)"
            )
        if effects.draws == 1:
            screen.note(
                "intervals ignore the uncertainty about the topics, because the run stores "
                "fewer than 20 posterior samples; train longer"
            )
        if out is not None:
            _write(Path(out), suffix, effects, order, names)
            screen.note(f"{out}: {plural(len(effects.compared) * len(order), 'row')}")
        if plot is not None:
            from pysgrld.effects.picture import draw

            _, number = draw(Path(plot), effects, order, names)
            shares = f"the {number} largest topics" if number < len(order) else "all topics"
            screen.note(
                f"{plot}: differences of {plural(len(order), 'topic')}, shares of {shares} "
                "(choose topics with --topics)"
            )
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
                    "whole_documents": effects.wholes,
                    "likeness": effects.likeness and effects.likeness._asdict(),
                    "interval": 0.9,
                    **spread.sense,
                    "comparisons": [
                        _record(comparison, order, names) for comparison in effects.compared
                    ],
                    "tests": [_test_record(test, effects, order) for test in effects.tests],
                }
            )
            return
        documents = plural(len(effects.design.used), "document")
        if effects.wholes is not None:
            documents += f" (chunks of {plural(effects.wholes, 'whole document')})"
        echo(f"{results.place}, {formula}, {documents}\n")
        _show(effects, order, names, cluster, everything=topics is not None)
        if remark := spread.remark():
            echo("\n" + fill(f"{spread.title}: {remark}"))


def estimate(screen: Any, results: Any, request: Any, metadata: str | None) -> Effects:
    """Estimate the effects of a formula's columns; a metadata file may add columns."""
    from pysgrld.effects.answers import estimate_run_effects

    with lent_metadata(results, metadata, screen.note), screen.steps() as tell:
        effects = estimate_run_effects(results, request, tell)
    if effects.likeness is not None:
        screen.warn(effects.likeness.warning)
    return effects


def _contrast(text: str) -> tuple[str, str, str]:
    """Parse a contrast ``COLUMN=A,B`` into the column and its two values."""
    column, equals, two = text.partition("=")
    first, comma, second = two.partition(",")
    if not (column and equals and first and comma and second):
        raise UsageError(f"--contrast {text[:60]!r}: give COLUMN=A,B, such as party=dem,rep")
    return column, first, second


def _chosen(text: str, available: Sequence[int]) -> list[int]:
    """Parse topic numbers separated by commas, and remove duplicates."""
    chosen = [integer(0)(part) for part in text.split(",")]
    for topic in chosen:
        if topic not in available:
            raise UsageError(
                f"--topics {topic}: no such topic; topics are {min(available)} to {max(available)}"
            )
    return list(dict.fromkeys(chosen))


def _weights(effects: Effects) -> Any:
    """Return the topics' shares as an array, indexed by topic number."""
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


def _test_record(test: ColumnTest, effects: Effects, order: Sequence[int]) -> dict[str, Any]:
    import numpy as np

    place = {topic: i for i, topic in enumerate(effects.topics.tolist())}
    topics = [
        {
            "topic": topic,
            "p": None if np.isnan(test.p[i]) else float(test.p[i]),
            "differs": bool(test.differs[i]),
        }
        for topic, i in ((topic, place[topic]) for topic in order)
    ]
    return {"column": test.column, "values": test.values, "topics": topics}


def _show(
    effects: Effects,
    order: Sequence[int],
    names: Mapping[int, str],
    cluster: str | None,
    *,
    everything: bool,
) -> None:
    """Print a table for each column of the formula, with explanations below."""
    whole = everything or len(effects.tests) <= WHOLE
    for test in effects.tests:
        comparisons = [each for each in effects.compared if each.column == test.column]
        if len(comparisons) == 1:
            _show_comparison(comparisons[0], order, names, whole=whole)
        else:
            _show_factor(effects, test, comparisons, order, names, whole=whole)
    independent = "documents" if effects.wholes is None else "whole documents"
    units = f"values of {cluster}" if cluster else independent
    omission = (
        ""
        if whole
        else " Other topics are not shown; choose topics with --topics, or write all with -o."
    )
    several = len(effects.compared) > len(effects.tests)
    of_factor = (
        " p: p-value of the test that the share is equal for all values; *: the shares differ."
        if several
        else ""
    )
    sure = "more, less or *" if several else "more or less"
    echo(
        fill(
            f"Intervals are valid for other {units} like these.{of_factor} Of all topics marked "
            f"{sure}, at most 5 % are expected to be wrong.{omission} Shares of 'sgmc topics "
            "--by' differ less, because they average the documents' proportions, which are "
            "shrunk towards the common mean."
        )
    )


def _show_comparison(
    comparison: TopicsContrasted, order: Sequence[int], names: Mapping[int, str], *, whole: bool
) -> None:
    """Print the table that compares two values of a column, largest difference first."""
    listed = [topic for topic in _of(comparison, order) if whole or topic.surely]
    listed.sort(key=lambda topic: -abs(topic.difference.mean))
    second = comparison.second + " " * (comparison.second == comparison.first)
    heads = ("topic", "name", comparison.first, second, "difference (90 %)", "surely")
    rows = [heads]
    for topic in listed:
        rows.append(
            (
                str(topic.topic),
                names[topic.topic],
                _share(topic.first, topic.second.mean - topic.difference.mean),
                _share(topic.second, topic.first.mean + topic.difference.mean),
                _points(topic.difference),
                {1: "more", -1: "less"}.get(topic.surely, ""),
            )
        )
    echo(f"{comparison.column}: from {comparison.first} to {comparison.second}, topic shares in %")
    if not listed:
        echo("  no topic has a share that surely differs\n")
        return
    echo("\n".join(_laid_out(rows, names_may_go=True)) + "\n")


def _show_factor(
    effects: Effects,
    test: ColumnTest,
    comparisons: Sequence[TopicsContrasted],
    order: Sequence[int],
    names: Mapping[int, str],
    *,
    whole: bool,
) -> None:
    """Print a table for a column with several values, with each topic's largest difference.

    Differences whose interval excludes 0 come before others, and those without an interval last.
    """
    place = {topic: i for i, topic in enumerate(effects.topics.tolist())}
    by_topic = zip(*(_of(each, order) for each in comparisons), strict=True)
    largest = []
    for topics in by_topic:
        pairs = zip(topics, comparisons, strict=True)
        largest.append(max(pairs, key=lambda pair: pair[0].rank))
    largest.sort(key=lambda pair: pair[0].rank, reverse=True)
    rows, values = [], []
    # Each comparison has two values of the column. If all comparisons have the same first value,
    # this value is the reference.
    firsts = {comparison.first for comparison in comparisons}
    for topic, pair in largest:
        i = place[topic.topic]
        if whole or test.differs[i]:
            mark = "*" if test.differs[i] else " "
            p = f"{_p_value(float(test.p[i]))} {mark}"
            difference, ends = topic.difference, [pair.second, pair.first]
            if len(firsts) > 1 and difference.mean < 0:
                difference, ends = _reversed(difference), ends[::-1]
            between = " - ".join(shortened(value, _VALUE) for value in ends)
            rows.append((str(topic.topic), names[topic.topic], _points(difference), between, p))
            values.append([f"{100 * share:.1f}" for share in test.shares[i]])
    differing = sum(bool(test.differs[place[topic]]) for topic in order)
    echo(
        f"{test.column}: {len(test.values)} values, topic shares in %; {differing} of "
        f"{plural(len(order), 'topic')} {'differs' if differing == 1 else 'differ'}"
    )
    if not rows:
        echo("  no topic has different shares\n")
        return
    small = [
        f"{value} ({count})"
        for value, count in zip(test.values, test.documents, strict=False)
        if count < FEW
    ]
    heads = ("topic", "name", "largest difference", "between", "p")
    shown = [shortened(value, _VALUE) for value in test.values]
    shown = [value + " " * shown[:i].count(value) for i, value in enumerate(shown)]
    wide = [(*heads[:2], *shown, *heads[2:])]
    for row, shares in zip(rows, values, strict=True):
        wide.append((*row[:2], *shares, *row[2:]))
    echo("\n".join(_laid_out(wide) or _laid_out([heads, *rows], names_may_go=True)))
    echo((fill(f"Fewer than {FEW} documents: {', '.join(small)}.") + "\n") if small else "")


def _p_value(p: float) -> str:
    """Format a p-value; a dash stands for an unknown p-value (too few documents)."""
    return "-" if p != p else "<0.001" if p < 1e-3 else f"{p:.3f}"


def _laid_out(rows: Sequence[Sequence[str]], *, names_may_go: bool = False) -> list[str]:
    """Lay out a table of topics; shorten or drop names to fit; return [] if it stays too wide."""
    aligned_left = ("name", "difference (90 %)", "surely", "largest difference", "between")
    for columns in range(NAME, _LEAST_NAME - 1, -1):
        cut = [(row[0], shortened(row[1], columns), *row[2:]) for row in rows]
        lines, gone = table(cut, room(), left=aligned_left, spare=("name",))
        if not gone or (names_may_go and columns == _LEAST_NAME):
            return lines
    return []


def _reversed(value: Between) -> Between:
    """Reverse the sign of a difference and of its interval's bounds."""
    low, high = (None if end is None else -end for end in (value.high, value.low))
    return value._replace(mean=-value.mean, low=low, high=high)


def _share(share: Between, by_difference: float) -> str:
    """Format a predicted share in percent; print ``<0`` if the regression predicts less than 0."""
    return "<0" if share.mean == 0 and by_difference < -0.0005 else f"{100 * share.mean:.1f}"


def _points(value: Between) -> str:
    """Format a difference in percentage points, followed by its interval."""
    if value.low is None or value.high is None:
        return f"{100 * value.mean:+.1f} (too few documents)"
    return f"{100 * value.mean:+.1f} ({100 * value.low:+.1f} to {100 * value.high:+.1f})"


def _write(
    path: Path, format: str, effects: Effects, order: Sequence[int], names: Mapping[int, str]
) -> None:
    """Write a table file with one row per comparison and topic."""
    from pysgrld.report.exports.table_files import TableColumn, whole_table

    rows = effects.rows(order, names)
    kinds = {"topic": "topic", "surely": "topic"} | dict.fromkeys(
        ("column", "from", "to", "name"), "string"
    )
    columns = [TableColumn(name, kinds.get(name, "figure")) for name in rows]
    with whole_table(path, format, columns) as file:
        file.write(list(rows.values()))
