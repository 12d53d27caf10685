"""Rows that are training runs: held-out perplexity of one chain over its training time."""

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
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, write_csv
from pysgrld.experiments.processes import in_processes
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.options.option import Resolved
from pysgrld.train.begin import begin
from pysgrld.types import Key

#: A row with more iterations ends by the clock, and is looked at by it: after so many seconds, and
#: each further time after so many times as many.
MOST, FIRST, SPACING = 2**40, 0.1, 1.35


class CurveTask(NamedTuple):
    """One row with one seed, in plain values that another process can be sent."""

    name: str
    options: Resolved
    iterations: int
    data: SplitCorpus
    seconds: float | None


class CurvePoint(NamedTuple):
    """Held-out scores of a row after some training; those of LDA are perplexities.

    Attributes
    ----------
    iteration : int
    seconds : float
        CPU time of training alone: what else the machine does hardly shows.
    point : float
        Score of the topics as they stand.
    further, perplexity : float
        Scores of the averaged samples, NaN before there are any: the scorer's further figure, if it has
        one, and its own. An approximation's further figure is that of its topics.
    samples : int
    """

    iteration: int
    seconds: float
    point: float
    further: float
    perplexity: float
    samples: int


class Curve(NamedTuple):
    """The points of a task that is done; ``fault`` says why it ended early, if it did."""

    name: str
    seed: int
    points: list[CurvePoint]
    fault: str


def cost(row: CurveTask) -> float:
    """Estimate the cost of a row, in sweeps of a document over one layer.

    The cost of a row that ends by the clock is its seconds: it is compared with such rows only.
    """
    o = row.options
    if row.seconds is not None and row.iterations > MOST:
        return row.seconds
    samples = max(0, row.iterations - o.burn_in) / o.sample_every
    visited = row.iterations * o.minibatch * o.sweeps
    return float(o.depth * (visited + 2 * samples * len(row.data.held_out.observed)))


def train_row(row: CurveTask, share: Callable[[float], None]) -> Curve:
    """Train and score one row with one thread; ``share`` is told the share of it that is done."""
    options, train = row.options, row.data.train
    stream = Epochs.of(options, train, np.arange(len(train)))
    corpus = CorpusFacts(row.data.words, train.tokens)
    posterior = begin(options, stream, corpus, RunOn(1), row.data.held_out, keep_mean=False)
    chain = posterior.chain
    points: list[CurvePoint] = []
    seconds, fault, ends, at = 0.0, "", False, FIRST
    try:
        while not ends:
            began = time.process_time()
            chain.advance()
            seconds += time.process_time() - began
            share(max(chain.step / row.iterations, min(1.0, seconds / (row.seconds or math.inf))))
            if posterior.due and posterior.draws:
                posterior.take_sample()
            ends = chain.step == row.iterations or seconds >= (row.seconds or math.inf)
            timed = row.iterations > MOST
            mark = seconds >= at if timed else is_mark(chain.step, row.iterations)
            if ends or mark:
                points.append(look(posterior, seconds))
                while at <= seconds:
                    at *= SPACING
    except NumericalError as error:  # one row that diverges is a finding, not the end of the others
        fault = str(error)
    finally:
        chain.close()
    return Curve(row.name, options.seed, points, fault)


def is_mark(step: int, iterations: int) -> bool:
    """Return whether a curve has a point here: 10, 20, 50, 100, 200, 300, ...; more in a short row."""
    return step % 100 == 0 or step in (10, 20, 50) or (iterations < 100 and step % 10 == 0)


def look(posterior: Posterior, seconds: float) -> CurvePoint:
    """Score a row as it stands."""
    return CurvePoint(
        posterior.chain.step,
        seconds,
        posterior.point(),
        further(posterior),
        posterior.score,
        posterior.samples,
    )


def further(posterior: Posterior) -> float:
    """Give the further figure of a scorer; of documents scored whole, also of an approximation."""
    found = list(posterior.figures().values())
    if found:
        return found[0]
    scorer, chain = posterior.scorer, posterior.chain
    if posterior.draws or scorer is None or scorer.held_out.observed.tokens:
        return math.nan
    key = Key(chain.seed, chain.chain, chain.step)
    return -scorer.log_probability(key, chain.draw(scorer.words))


def train_rows(
    tasks: Sequence[CurveTask],
    setting: ExperimentSetting,
    listener: ExperimentListener,
    write_table: Callable[[list[Curve]], Path],
    describe: Callable[[CurvePoint], str],
) -> tuple[list[Curve], list[Path]]:
    """Train and score all rows; write the table and ``curves.csv`` whenever one is done.

    Parameters
    ----------
    tasks : sequence of CurveTask
        On the same data, at least one.
    write_table : callable (curves)
        Writes the table of the curves that are there, which come in the order of the tasks.
    describe : callable (point)
        Where a row ended, for the person who waits.

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
        f"{len(tasks)} rows, {min(setting.threads, len(tasks))} at a time"
    )
    done: dict[int, Curve] = {}
    files: list[Path] = []

    def keep(at: int, curve: Curve) -> None:
        done[at] = curve
        end = describe(curve.points[-1]) if curve.points else "nothing"
        listener.note(f"{curve.name}, seed {curve.seed}: {curve.fault or end}")
        so_far = [done[i] for i in sorted(done)]
        points = [(c.name, c.seed, *p) for c in so_far for p in c.points]
        head = ("row", "seed", *CurvePoint._fields)
        files[:] = write_table(so_far), write_csv(setting.out / "curves.csv", head, points)

    costs = [cost(task) for task in tasks]
    with listener.counting("percent", 100) as tell:
        curves = in_processes(train_row, tasks, costs, setting.threads, tell, keep)
    return curves, files


def last_points(curves: Iterable[Curve]) -> list[CurvePoint]:
    """Give the last points of the curves that did not diverge."""
    return [c.points[-1] for c in curves if c.points and not c.fault]


def mean_point(points: Sequence[CurvePoint]) -> CurvePoint:
    """Average each figure over points, at least one."""
    return CurvePoint._make(map(statistics.fmean, zip(*points, strict=True)))


def deviation(values: Sequence[float]) -> float | None:
    """Give the sample standard deviation, None of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None


# ---- how it is drawn


def plot(
    axes: Any,
    curve: Curve,
    colour: str,
    value: Callable[[CurvePoint], float],
    *,
    documents: int | None = None,
    dash: str = "-",
) -> None:
    """Draw a row: its current topics dotted, and ``value`` of each point, its samples, thick.

    The axis is training seconds, or documents seen where ``documents`` is the size of a minibatch.
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
    """Name 1, 2, 5, 10, ... on the logarithmic scale of training time; 1, 3, 10, ... of a long one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    begin, end = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if end < 50 * begin else (1, 3)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel("training, CPU seconds")


def scale_perplexity(axes: Any, values: Iterable[float]) -> None:
    """Name round numbers on the logarithmic scale of perplexity."""
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
