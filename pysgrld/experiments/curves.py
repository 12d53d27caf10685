"""Experiments that train several runs and plot their scores over training time.

A run is a row of the experiment's table. `run_rows` trains and scores the runs, and writes a table
and a picture. `train_rows` is for experiments that write a different table.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.posterior import Posterior
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import NumericalError
from pysgrld.experiments.corpora import SplitCorpus
from pysgrld.experiments.frame import (
    ExperimentListener,
    ExperimentSetting,
    Report,
    select_names,
    write_csv,
)
from pysgrld.experiments.processes import map_in_processes
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Resolved
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.train.begin import begin
from pysgrld.types import Key

#: A run with more iterations than this number is limited by training time instead.
MOST = 2**40
#: Seconds of training after which a run that is limited by training time is scored for the first
#: time.
FIRST = 0.1
#: A run that is limited by training time is scored again whenever this time has grown by this
#: factor.
SPACING = 1.35
#: Seconds of training in a quick run.
QUICK_SECONDS = 0.2
#: Columns of the table if the model observes a part of each scored document.
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
#: Columns of the table if documents are scored as a whole.
WHOLE = ("row", "log-perplexity", "by-importance", *HEAD[2:])


# ---- training runs (rows of the table) and their results


class TrainingRow(NamedTuple):
    """Row of an experiment's table: options of a training run that is repeated with each seed.

    Attributes
    ----------
    name : str
        Name after ``--rows`` and in the table.
    options : dict
        Options of ``sgmc train``.
    panel : str
        Title of the panel of the picture that shows the row.
    iterations : int, optional
        Maximum number of iterations of this row, for samplers that see the whole corpus in each
        iteration. The experiment's limit applies too.
    """

    name: str
    options: dict[str, Any]
    panel: str = ""
    iterations: int | None = None


class Length(NamedTuple):
    """Length of a training run, in CPU seconds or in minibatches."""

    seconds: float | None = None
    iterations: int | None = None


class CurveTask(NamedTuple):
    """Arguments of a training run with one seed, which can be pickled for another process."""

    name: str
    options: Resolved
    iterations: int
    data: SplitCorpus
    seconds: float | None


class CurvePoint(NamedTuple):
    """Held-out scores of a run at one time during training; for LDA, the scores are perplexities.

    Attributes
    ----------
    iteration : int
    seconds : float
        CPU time of training alone, which other load on the machine hardly affects.
    point : float
        Score of the current topics.
    further, perplexity : float
        Scores of the averaged samples, NaN before the first sample. `further` is the scorer's
        second figure, if it has one, and `perplexity` its main one. For variational approximations,
        `further` is the figure of the current topics.
    samples : int
    """

    iteration: int
    seconds: float
    point: float
    further: float
    perplexity: float
    samples: int


class Curve(NamedTuple):
    """Scores of a finished run over time; ``fault`` is the error that ended it early, or ""."""

    name: str
    seed: int
    points: list[CurvePoint]
    fault: str


def task(row: TrainingRow, seed: int, data: SplitCorpus, length: Length) -> CurveTask:
    """Return the arguments of a training run with one seed: resolved options, length and others."""
    options, _ = resolve(row.options | {"seed": seed}, data.facts())
    most = length.iterations or 2**53
    iterations = min(row.iterations or most, most)
    return CurveTask(row.name, options, iterations, data, length.seconds)


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
    picture: Callable[[Path, Sequence[TrainingRow], Sequence[Curve], str], Path] | None = None,
    by_documents: bool = False,
) -> Report:
    """Train and score several runs; write ``rows.csv``, ``curves.csv`` and ``curves.png``.

    Parameters
    ----------
    rows : sequence of TrainingRow
        All rows; the setting chooses the rows to be trained.
    say : callable
        Turns a mapping of rows to perplexities into sentences.
    head : sequence of str
        Columns of the table, `HEAD` or `WHOLE`.
    picture : callable, optional
        Function that replaces `draw`.
    by_documents : bool
        Whether the horizontal axis of the picture shows documents, not seconds.
    """
    names = select_names([row.name for row in rows], setting.rows)
    chosen = [row for row in rows if row.name in names]
    if setting.quick and length.seconds:
        length = Length(QUICK_SECONDS)
    if setting.seconds is not None:
        length = length._replace(seconds=setting.seconds)
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [task(row, seed, data, length) for seed in seeds for row in chosen]
    table = setting.out / "rows.csv"
    curves, files = train_rows(
        tasks,
        setting,
        listener,
        lambda so_far: write_csv(table, head, lines(chosen, so_far, tasks, head)),
        lambda end: f"{head[1]} {score(end):.1f}",
    )
    if setting.pictures:
        to = setting.out / "curves.png"
        files.append(
            picture(to, chosen, curves, title)
            if picture
            else draw(to, chosen, curves, tasks, title, by_documents)
        )
    shown = lines(chosen, curves, tasks, head)
    columns = len(head) if setting.seeds > 1 else head.index("seeds")
    scores = {line[0]: line[1] for line in shown if line[1] is not None}
    sentences = [
        "quick test with part of the data, for a few seconds: it shows only that the experiment "
        "runs."
    ] * setting.quick
    sentences += say(scores)
    sentences += [f"{c.name}, seed {c.seed}: {c.fault}" for c in curves if c.fault]
    return Report(tuple(head[:columns]), [line[:columns] for line in shown], sentences, files)


def score(point: CurvePoint) -> float:
    """Return the perplexity of the sample average or, without samples, of the current topics."""
    return point.perplexity if point.samples else point.point


def lines(
    rows: Sequence[TrainingRow],
    curves: Sequence[Curve],
    tasks: Sequence[CurveTask],
    head: Sequence[str] = HEAD,
) -> list[tuple[Any, ...]]:
    """Return a line of results for each kind of run, averaged over seeds that did not diverge."""
    sizes = {t.name: t.options.minibatch for t in tasks}
    table: list[tuple[Any, ...]] = []
    for row in rows:
        row_curves = [c for c in curves if c.name == row.name]
        ends = last_points(row_curves)
        if not ends:
            table += [(row.name, *(None,) * (len(head) - 3), 0, None)] if row_curves else []
            continue
        mean, scores = mean_point(ends), [score(end) for end in ends]
        table.append(
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
    return table


# ---- training


def train_rows(
    tasks: Sequence[CurveTask],
    setting: ExperimentSetting,
    listener: ExperimentListener,
    write_table: Callable[[list[Curve]], Path],
    describe: Callable[[CurvePoint], str],
) -> tuple[list[Curve], list[Path]]:
    """Train and score all runs; after each run, write the table and ``curves.csv``.

    Parameters
    ----------
    tasks : sequence of CurveTask
        At least one task; all have the same data.
    write_table : callable (curves)
        Writes the table of the finished curves, given in the order of the tasks.
    describe : callable (point)
        Describes the last point of a finished row for the waiting user.

    Returns
    -------
    curves : list of Curve
        In the order of the tasks.
    files : list of Path
        The table and ``curves.csv``.
    """
    data = tasks[0].data
    listener.note(
        f"{len(data.train):,} documents to train on, {len(data.held_out.observed):,} to score; "
        f"{len(tasks)} rows of the result table, {min(setting.threads, len(tasks))} at a time"
    )
    done: dict[int, Curve] = {}
    files: list[Path] = []

    def keep(position: int, curve: Curve) -> None:
        done[position] = curve
        end = describe(curve.points[-1]) if curve.points else "nothing"
        listener.note(f"{curve.name}, seed {curve.seed}: {curve.fault or end}")
        so_far = [done[i] for i in sorted(done)]
        points = [(c.name, c.seed, *p) for c in so_far for p in c.points]
        head = ("row", "seed", *CurvePoint._fields)
        files[:] = write_table(so_far), write_csv(setting.out / "curves.csv", head, points)

    costs = [cost(task) for task in tasks]
    with listener.counting("percent", 100) as tell:
        curves = map_in_processes(train_row, tasks, costs, setting.threads, tell, keep)
    return curves, files


def cost(row: CurveTask) -> float:
    """Return the estimated cost of a run; the unit is a sweep over one layer of a document.

    The cost of a run that ends after a given time is this time, because such runs are compared only
    with each other.
    """
    o = row.options
    if row.seconds is not None and row.iterations > MOST:
        return row.seconds
    samples = max(0, row.iterations - o.burn_in) / o.sample_every
    visited = row.iterations * o.minibatch * o.sweeps
    return float(o.depth * (visited + 2 * samples * len(row.data.held_out.observed)))


def train_row(row: CurveTask, share: Callable[[float], None]) -> Curve:
    """Train and score one run with one thread; pass the finished fraction to ``share``."""
    options, train = row.options, row.data.train
    stream = Epochs.of(options, train, np.arange(len(train)))
    corpus = CorpusFacts(row.data.words, train.tokens)
    posterior = begin(options, stream, corpus, RunOn(1), row.data.held_out, keep_mean=False)
    chain = posterior.chain
    points: list[CurvePoint] = []
    seconds, fault, ends, next_look = 0.0, "", False, FIRST
    try:
        while not ends:
            began = time.process_time()
            chain.advance()
            seconds += time.process_time() - began
            share(max(chain.step / row.iterations, min(1.0, seconds / (row.seconds or math.inf))))
            if posterior.is_due and posterior.draws:
                posterior.take_sample()
            ends = chain.step == row.iterations or seconds >= (row.seconds or math.inf)
            timed = row.iterations > MOST
            mark = seconds >= next_look if timed else is_mark(chain.step, row.iterations)
            if ends or mark:
                points.append(score_state(posterior, seconds))
                while next_look <= seconds:
                    next_look *= SPACING
    # If a run diverges, this is a valid result. The other runs continue.
    except NumericalError as error:
        fault = str(error)
    finally:
        chain.close()
    return Curve(row.name, options.seed, points, fault)


def is_mark(step: int, iterations: int) -> bool:
    """Return True if scores are plotted at this step: 10, 20, 50, 100, 200, 300, ...

    Runs of fewer than 100 iterations are scored at every tenth step.
    """
    return step % 100 == 0 or step in (10, 20, 50) or (iterations < 100 and step % 10 == 0)


def score_state(posterior: Posterior, seconds: float) -> CurvePoint:
    """Score the current state of a run.

    The field `further` is the score of the current topics if documents are scored whole and the run
    has no samples.
    """
    scorer, chain, point = posterior.scorer, posterior.chain, posterior.point()
    figures = [] if scorer is None else list(scorer.metrics().values())
    further = figures[0] if figures else math.nan
    if not (figures or posterior.draws or scorer is None or scorer.held_out.observed.tokens):
        key = Key(chain.seed, chain.chain, chain.step)
        further = -scorer.log_probability(key, chain.draw(scorer.words))
    return CurvePoint(chain.step, seconds, point, further, posterior.score, posterior.samples)


def last_points(curves: Iterable[Curve]) -> list[CurvePoint]:
    """Return the last score of each run that did not diverge."""
    return [c.points[-1] for c in curves if c.points and not c.fault]


def mean_point(points: Sequence[CurvePoint]) -> CurvePoint:
    """Return the mean of each field over one or more records."""
    return CurvePoint._make(map(statistics.fmean, zip(*points, strict=True)))


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation, or None for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


# ---- pictures


def draw(
    path: Path,
    rows: Sequence[TrainingRow],
    curves: Sequence[Curve],
    tasks: Sequence[CurveTask],
    title: str,
    by_documents: bool,
) -> Path:
    """Draw perplexity over training time or documents; there is a panel for each panel title."""
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
    # Limit the axis, because the first scores are far above all later ones.
    late = [p.point for c in curves for p in c.points[len(c.points) // 4 :]]
    low = min((score(p) for c in curves for p in c.points), default=1.0)
    panels[0].set_ylim(0.97 * low, 1.05 * float(np.quantile(late or [low], 0.9)))
    scale_perplexity(panels[0], late)
    figure.suptitle(f"{title}\nthick lines: mean over samples; thin dotted lines: current topics")
    return write_png(path, figure)


def plot(
    axes: Any,
    curve: Curve,
    colour: str,
    value: Callable[[CurvePoint], float],
    *,
    documents: int | None = None,
    dash: str = "-",
) -> None:
    """Draw the scores of a run: a dotted line for current topics, a thick line for sample averages.

    The horizontal axis is training seconds. If ``documents`` (the size of a minibatch) is given,
    the axis is the number of documents seen.
    """
    times = [p.iteration * documents if documents else p.seconds for p in curve.points]
    axes.plot(times, [p.point for p in curve.points], color=colour, lw=1.0, ls=":")
    axes.plot(
        times,
        [value(p) for p in curve.points],
        color=colour,
        lw=2.2,
        marker=".",
        markevery=[-1],
        ls=dash,
    )


def scale_seconds(axes: Any) -> None:
    """Set the ticks of the time axis: 1, 2, 5, 10, ..., or 1, 3, 10, ... on a long axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    begin, end = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if end < 50 * begin else (1, 3)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel("training, CPU seconds")


def scale_perplexity(axes: Any, values: Iterable[float]) -> None:
    """Set the ticks of a logarithmic axis of perplexity to round numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_yscale("log")
    axes.set_ylabel("held-out perplexity (lower is better)")
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return
    bottom, top = axes.get_ylim()[0], 1.05 * max(finite)
    step = 10
    while (top - bottom) / step > 12:
        step = step * 5 // 2 if str(step).startswith("2") else 2 * step
    first = step * math.ceil(bottom / step)
    axes.set_ylim(bottom, top)
    axes.yaxis.set_major_locator(FixedLocator([*range(first, int(top) + 1, step)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
