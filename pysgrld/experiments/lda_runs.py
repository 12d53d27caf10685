"""Experiments whose rows are training runs: LDA's, and directions'; their table and their picture."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.experiments.corpora import SplitCorpus
from pysgrld.experiments.curves import (
    Curve,
    CurvePoint,
    CurveTask,
    deviation,
    last_points,
    mean_point,
    plot,
    scale_perplexity,
    scale_seconds,
    train_rows,
)
from pysgrld.experiments.frame import (
    ExperimentListener,
    ExperimentSetting,
    Report,
    matching,
    write_csv,
)
from pysgrld.models.resolve import resolve
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png

#: Seconds of training where a person wants to see it work.
QUICK_SECONDS = 2.0


class TrainingRow(NamedTuple):
    """A training run of an experiment.

    Attributes
    ----------
    name : str
        As typed after ``--rows``, and in the table.
    given : dict
        Options, as after ``sgmc train``.
    panel : str
        Title of the panel of the picture that it is drawn in.
    iterations : int, optional
        Iterations in place of the experiment's, of a sampler that sees the whole corpus in each.
    """

    name: str
    given: dict[str, Any]
    panel: str = ""
    iterations: int | None = None


#: Draws rows and their curves into a file, under a title.
Picture = Callable[[Path, Sequence[TrainingRow], Sequence[Curve], str], Path]


class Length(NamedTuple):
    """The length of training of a row, in CPU seconds or in minibatches."""

    seconds: float | None = None
    iterations: int | None = None


# ---- rows


def task(row: TrainingRow, seed: int, data: SplitCorpus, length: Length) -> CurveTask:
    """Resolve the options of a row with one seed."""
    options, _ = resolve(row.given | {"seed": seed}, data.facts())
    most = length.iterations or 2**53
    iterations = min(row.iterations or most, most)
    return CurveTask(row.name, options, iterations, data, length.seconds)


#: Columns of the table; those of `WHOLE` where documents are scored whole.
HEAD = (
    "row",
    "perplexity",
    "point",
    "samples",
    "iterations",
    "documents",
    "seconds",
    "seeds",
    "sd",
)
WHOLE = ("row", "log-perplexity", "by-importance", *HEAD[2:])


def run_rows(
    setting: ExperimentSetting,
    listener: ExperimentListener,
    rows: Sequence[TrainingRow],
    data: SplitCorpus,
    length: Length,
    title: str,
    say: Callable[[dict[str, float]], list[str]],
    *,
    head: Sequence[str] = HEAD,
    picture: Picture | None = None,
    by_documents: bool = False,
) -> Report:
    """Train and score rows; write ``rows.csv``, ``curves.csv`` and ``curves.png``.

    Parameters
    ----------
    rows : sequence of TrainingRow
        All that there are; those that the setting asks for are trained.
    say : callable
        From the perplexity of each row to sentences.
    head : sequence of str
        Columns of the table, `HEAD` or `WHOLE`.
    picture : callable, optional
        Draws in place of `draw`.
    by_documents : bool
        Whether the picture has documents on its axis, and not seconds.
    """
    wanted = matching([row.name for row in rows], setting.rows)
    chosen = [row for row in rows if row.name in wanted]
    if setting.quick and length.seconds:
        length = Length(QUICK_SECONDS)
    if setting.seconds is not None:
        length = length._replace(seconds=setting.seconds)
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [task(row, seed, data, length) for seed in seeds for row in chosen]

    def write_table(so_far: list[Curve]) -> Path:
        return write_csv(setting.out / "rows.csv", head, lines(chosen, so_far, tasks, head))

    found, files = train_rows(
        tasks, setting, listener, write_table, lambda end: f"{head[1]} {score(end):.1f}"
    )
    if setting.pictures:
        to = setting.out / "curves.png"
        files.append(
            picture(to, chosen, found, title)
            if picture
            else draw(to, chosen, found, tasks, title, by_documents)
        )
    shown = lines(chosen, found, tasks, head)
    columns = len(head) if setting.seeds > 1 else head.index("seeds")
    scores = {line[0]: line[1] for line in shown if line[1] is not None}
    sentences = ["a small cut and few seconds: only that it works can be seen."] * setting.quick
    sentences += say(scores)
    sentences += [f"{c.name}, seed {c.seed}: {c.fault}" for c in found if c.fault]
    return Report(tuple(head[:columns]), [line[:columns] for line in shown], sentences, files)


def score(point: CurvePoint) -> float:
    """Give the perplexity of the averaged samples; of the topics as they stand if there are none."""
    return point.perplexity if point.samples else point.point


def lines(
    rows: Sequence[TrainingRow],
    curves: Sequence[Curve],
    tasks: Sequence[CurveTask],
    head: Sequence[str] = HEAD,
) -> list[tuple[Any, ...]]:
    """Give a line of the table for each row that is done: means over seeds that did not diverge."""
    sizes = {t.name: t.options.minibatch for t in tasks}
    found: list[tuple[Any, ...]] = []
    for row in rows:
        own = [c for c in curves if c.name == row.name]
        ends = last_points(own)
        if not ends:
            found += [(row.name, *(None,) * (len(head) - 3), 0, None)] if own else []
            continue
        mean, scores = mean_point(ends), [score(end) for end in ends]
        found.append(
            (
                row.name,
                statistics.fmean(scores),
                *([mean.further] if head == WHOLE else []),
                mean.point,
                round(mean.samples),
                round(mean.iteration),
                round(mean.iteration * sizes[row.name]),
                mean.seconds,
                len(ends),
                deviation(scores),
            )
        )
    return found


# ---- the picture


def draw(
    path: Path,
    rows: Sequence[TrainingRow],
    curves: Sequence[Curve],
    tasks: Sequence[CurveTask],
    title: str,
    by_documents: bool,
) -> Path:
    """Draw perplexity against training, a panel for each that rows name."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import StrMethodFormatter

    titles = list(dict.fromkeys(row.panel for row in rows))
    sizes = {t.name: t.options.minibatch for t in tasks}
    figure = new_figure(1.2 + 5.4 * len(titles), 4.9)
    panels = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for panel, axes in zip(titles, panels, strict=True):
        inside = [row for row in rows if row.panel == panel]
        handles = []
        for i, row in enumerate(inside):
            colour, dash = COLOURS[i % len(COLOURS)], "-" if i < len(COLOURS) else "--"
            for curve in (c for c in curves if c.name == row.name and c.points):
                size = sizes[row.name] if by_documents else None
                plot(axes, curve, colour, score, documents=size, dash=dash)
            handles.append(Line2D([], [], color=colour, lw=2.2, ls=dash, label=row.name))
        axes.legend(handles=handles, loc="best", fontsize=9, framealpha=0.8, edgecolor="none")
        if by_documents:
            axes.set_xlabel("documents seen")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        else:
            scale_seconds(axes)
        axes.set_title(panel, fontsize=10)
        show_grid(axes)
    # the first looks are far above everything: they would squeeze what differs
    late = [p.point for c in curves for p in c.points[len(c.points) // 4 :]]
    low = min((score(p) for c in curves for p in c.points), default=1.0)
    panels[0].set_ylim(0.97 * low, 1.05 * float(np.quantile(late or [low], 0.9)))
    scale_perplexity(panels[0], late)
    figure.suptitle(f"{title}\nthick: samples averaged; thin and dotted: topics as they stand")
    return write_png(path, figure)
