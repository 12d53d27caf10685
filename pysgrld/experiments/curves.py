"""Rows that are training runs: held-out perplexity of one chain over its training time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain import Chain
from pysgrld.errors import NumericalError
from pysgrld.evaluate import Completion, HeldOut
from pysgrld.posterior import Posterior
from pysgrld.stream import Stream
from pysgrld.types import Documents

#: A row with more iterations ends by the clock, and is looked at by it: after so many seconds, and
#: each further time after so many times as many.
MOST, FIRST, SPACING = 2**40, 0.1, 1.35


class Task(NamedTuple):
    """One row with one seed: plain values, for another process."""

    name: str
    options: dict[str, Any]
    iterations: int
    train: Documents
    words: int
    held_out: HeldOut
    seconds: float | None


class Point(NamedTuple):
    """How good a row is at some time. Perplexities of samples are NaN before there are any.

    ``seconds`` are those of the processor, in training alone: what else the machine does hardly shows.
    """

    iteration: int
    seconds: float
    point: float
    rate_weighted: float
    perplexity: float
    samples: int


class Curve(NamedTuple):
    """All that is known of a task when it is done; ``fault`` says why it ended early, if it did."""

    name: str
    seed: int
    points: list[Point]
    fault: str


def cost(row: Task) -> float:
    """What a row takes, in sweeps of a document over one layer: training, and scoring samples.

    Of one that ends by the clock, its seconds: such rows are alone among themselves.
    """
    o = row.options
    if row.seconds is not None and row.iterations > MOST:
        return row.seconds
    samples = max(0, row.iterations - o["burn-in"]) / o["sample-every"]
    visited = row.iterations * o["minibatch"] * o["sweeps"]
    return float(len(o["layers"] or (1,)) * (visited + 2 * samples * len(row.held_out.observed)))


def train_row(row: Task, share: Callable[[float], None]) -> Curve:
    """Train and score one row, with one thread."""
    options = row.options
    stream = Stream.of(options, row.train, np.arange(len(row.train)))
    chain = Chain(options, stream, row.words, row.train.tokens, 1)
    completion = Completion(row.held_out, options, 1)
    posterior = Posterior(chain, completion, options["burn-in"], options["sample-every"], False)
    points: list[Point] = []
    seconds, fault, ends, at = 0.0, "", False, FIRST
    try:
        while not ends:
            began = time.process_time()
            chain.advance()
            seconds += time.process_time() - began
            chain.check()
            share(max(chain.step / row.iterations, min(1.0, seconds / (row.seconds or math.inf))))
            if posterior.due and posterior.draws:
                posterior.observe()
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
    return Curve(row.name, options["seed"], points, fault)


def is_mark(step: int, iterations: int) -> bool:
    """Whether the curve has a point here: 10, 20, 50, 100, 200, 300, ...; more in a short row."""
    return step % 100 == 0 or step in (10, 20, 50) or (iterations < 100 and step % 10 == 0)


def look(posterior: Posterior, seconds: float) -> Point:
    """Where a row stands."""
    weighted = posterior.figures().get("rate_weighted_perplexity", math.nan)
    return Point(
        posterior.chain.step, seconds, posterior.point(), weighted, posterior.score,
        posterior.samples,
    )  # fmt: skip


# ---- how it is drawn


def plot(
    axes: Any, curve: Curve, colour: str, value: Callable[[Point], float], *,
    documents: int | None = None, dash: str = "-",
) -> None:  # fmt: skip
    """Draw a row: its current topics dotted, and its averaged samples.

    Over training seconds, or over documents seen where ``documents`` has those of a minibatch.
    """
    times = [p.iteration * documents if documents else p.seconds for p in curve.points]
    axes.plot(times, [p.point for p in curve.points], color=colour, lw=1.0, ls=":")
    axes.plot(times, [value(p) for p in curve.points], color=colour, lw=2.2, marker=".",
              markevery=[-1], ls=dash)  # fmt: skip


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
