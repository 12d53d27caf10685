"""Dirichlet-process mixture of web users by SCIR and SGRLD (Baker et al. 2018, Figure 3 (b)).

Each iteration sees 1,000 users. The released code gives the two samplers different priors
(components: 0.5 for SCIR, 0.001 for SGRLD) and starts (20 and 30 components), and has two defects.
First, it uses the *positions* of users in the minibatch as their row numbers in the corpus, so that
the first 1,000 users of the corpus move the components in every iteration. Second, its SGRLD has a
wrong drift of the second stick variable, v in place of 1 - v. The rows show all variants: as
published, with SCIR's prior, with only the wrong drift, and as released, with both defects. Exact
slice Gibbs sampling over all users is the reference.

The paper's score is minus the mean log predictive density of a test user under the current
components, without an average over samples; weights of components are divided by their sum. The
last column is the average over samples, with the rest of the stick on the prior.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import NumericalError
from pysgrld.experiments.corpora import first, read_unsplit_parts
from pysgrld.experiments.frame import (
    ExperimentListener,
    ExperimentSetting,
    Report,
    select_names,
    write_csv,
)
from pysgrld.experiments.processes import map_in_processes
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.types import Documents, Doubles, Int32s, Int64s

ITERATIONS, MINIBATCH, BURN_IN, LOOK = 1000, 1000, 200, 5
QUICK_ITERATIONS, QUICK_USERS, QUICK_MINIBATCH = 20, 600, 100
_SCIR = Settings("scir", base=0.5, start=20, step=0.1, stick_step=0.1)
_SGRLD = Settings("sgrld", base=0.001, start=30, step=1e-3, stick_step=5e-3)


class Row(NamedTuple):
    """Settings of a run: the sampler, and which defects of the released code it reproduces.

    Attributes
    ----------
    settings : Settings
    drift : bool
        Whether sticks drift by v in place of 1 - v.
    positions : bool
        Whether the first users of the corpus move components, in place of the minibatch.
    """

    settings: Settings
    drift: bool = False
    positions: bool = False


ROWS = {
    "gibbs": Row(Settings("gibbs", start=60, concentration="escobar-west")),
    "scir": Row(_SCIR),
    "scir-as-released": Row(_SCIR._replace(reuse=True), positions=True),
    "sgrld": Row(_SGRLD),
    "sgrld-prior-of-scir": Row(_SGRLD._replace(base=0.5)),
    "sgrld-released-drift": Row(_SGRLD._replace(reuse=True), drift=True),
    "sgrld-as-released": Row(_SGRLD._replace(reuse=True), drift=True, positions=True),
}


class ReleasedMixture(Mixture):
    """Dirichlet-process mixture that reproduces defects of the released code.

    Parameters
    ----------
    row : Row
    first : Documents
        The first users of the corpus, as many as a minibatch has.
    """

    def __init__(self, row: Row, first: Documents, users: Int64s, words: int, seed: int) -> None:
        super().__init__(users, words, row.settings, seed)
        self.row, self.first = row, first

    def _move(self, documents: Documents, z: Int32s, scale: float, pace: float) -> None:
        seen = first(self.first, len(documents)) if self.row.positions else documents
        super()._move(seen, z, scale, pace)

    def _shares(self, g: Doubles) -> Doubles:
        shares = super()._shares(g)
        return np.broadcast_to(shares[:1], shares.shape) if self.row.drift else shares


class MixtureTask(NamedTuple):
    """Arguments of a run with one seed, which can be pickled for another process."""

    name: str
    row: Row
    seed: int
    iterations: int
    minibatch: int
    train: Documents
    test: Documents
    words: int


class ScoredState(NamedTuple):
    """Score and number of components of a run after some iterations."""

    iteration: int
    seconds: float
    score: float
    components: int
    concentration: float


class RunScores(NamedTuple):
    """All `ScoredState` records of a finished run, and the score averaged over samples, or NaN."""

    name: str
    seed: int
    looks: list[ScoredState]
    averaged: float
    fault: str


def work(task: MixtureTask, share: Callable[[float], None]) -> RunScores:
    """Sample and score one run."""
    users = np.arange(len(task.train))
    size = len(users) if task.row.settings.algo == "gibbs" else task.minibatch
    stream = Epochs(task.train, users, size, task.seed, 0)
    chain = ReleasedMixture(task.row, first(task.train, size), users, task.words, task.seed)
    looks, total, samples, seconds, fault = [], None, 0, 0.0, ""
    try:
        for t in range(1, task.iterations + 1):
            began = time.process_time()
            ids = stream.ids(t - 1)
            chain.iterate(task.train.take(ids), ids)
            seconds += time.process_time() - began
            share(t / task.iterations)
            if t % LOOK and t > LOOK:
                continue
            score = -float(chain.log_predictive(task.test, leftover=False).mean())
            looks.append(ScoredState(t, seconds, score, chain.n_occupied, chain.concentration))
            if t > BURN_IN:
                p = chain.log_predictive(task.test)
                total, samples = p if total is None else np.logaddexp(total, p), samples + 1
    except NumericalError as error:
        fault = str(error)
    averaged = math.nan if total is None else -float(total.mean() - math.log(samples))
    return RunScores(task.name, task.seed, looks, averaged, fault)


HEAD = ("row", "score", "averaged", "components", "concentration", "seconds", "seeds", "sd")


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Sample all runs; write ``rows.csv``, ``curves.csv`` and ``curves.png``."""
    names = select_names(list(ROWS), setting.rows)
    train, test, words = read_unsplit_parts(corpus, setting, listener)
    iterations, minibatch = ITERATIONS, min(MINIBATCH, len(train))
    if setting.quick:
        train, test = first(train, QUICK_USERS), first(test, QUICK_USERS)
        iterations, minibatch = QUICK_ITERATIONS, min(QUICK_MINIBATCH, len(train))
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [
        MixtureTask(name, ROWS[name], seed, iterations, minibatch, train, test, words)
        for seed in seeds
        for name in names
    ]
    listener.note(
        f"{len(train):,} users to train on, {len(test):,} to score; {len(tasks)} rows of the "
        "result table"
    )
    costs = [len(train) / minibatch if t.row.settings.algo == "gibbs" else 4.0 for t in tasks]
    with listener.counting("rows", 100) as tell:
        outcomes = map_in_processes(work, tasks, costs, setting.threads, tell)
    shown = lines(names, outcomes)
    files = [
        write_csv(setting.out / "rows.csv", HEAD, shown),
        write_csv(
            setting.out / "curves.csv",
            ("row", "seed", *ScoredState._fields),
            [(f.name, f.seed, *look) for f in outcomes for look in f.looks],
        ),
    ]
    if setting.pictures:
        files.append(draw(setting.out / "curves.png", names, outcomes))
    sentences = [
        "quick test with part of the data and few iterations: it shows only that the experiment "
        "runs."
    ] * setting.quick
    return Report(HEAD, shown, sentences + say(shown, outcomes), files)


def lines(names: Sequence[str], outcomes: Sequence[RunScores]) -> list[tuple[Any, ...]]:
    """Return a line of results for each kind of run, with final values averaged over seeds."""
    table: list[tuple[Any, ...]] = []
    for name in names:
        of_row = [f for f in outcomes if f.name == name and f.looks and not f.fault]
        if not of_row:
            table.append((name, *(None,) * 5, 0, None))
            continue
        ends = [f.looks[-1] for f in of_row]
        scores = [e.score for e in ends]
        table.append(
            (
                name,
                statistics.fmean(scores),
                statistics.fmean(f.averaged for f in of_row),
                statistics.fmean(e.components for e in ends),
                statistics.fmean(e.concentration for e in ends),
                statistics.fmean(e.seconds for e in ends),
                len(of_row),
                statistics.stdev(scores) if len(of_row) > 1 else None,
            )
        )
    return table


def say(shown: Sequence[tuple[Any, ...]], outcomes: Sequence[RunScores]) -> list[str]:
    """Return sentences on whether SCIR has a lower score, and on the numbers of components."""
    line = {row[0]: row for row in shown if row[1] is not None}
    text = []
    for other in [name for name in ROWS if name not in ("gibbs", "scir")]:
        if "scir" in line and other in line:
            ahead = "lower" if line["scir"][1] < line[other][1] else "not lower"
            text.append(
                f"SCIR is {ahead} than {other}: {line['scir'][1]:.3f} against {line[other][1]:.3f}"
            )
    if len(line) > 1:
        text.append(
            "occupied components at the end: "
            + ", ".join(f"{name} {row[3]:.0f}" for name, row in line.items())
        )
    return text + [f"{f.name}, seed {f.seed}: {f.fault}" for f in outcomes if f.fault]


def draw(path: Path, names: Sequence[str], outcomes: Sequence[RunScores]) -> Path:
    """Draw the score and the number of components over iterations."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    figure = new_figure(11.5, 4.8)
    score_axes, right = figure.subplots(1, 2)
    for name, colour in zip(names, COLOURS, strict=False):
        for f in (f for f in outcomes if f.name == name):
            steps = [look.iteration for look in f.looks]
            score_axes.plot(
                steps, [look.score for look in f.looks], color=colour, lw=1.0, alpha=0.8
            )
            right.plot(
                steps, [look.components for look in f.looks], color=colour, lw=1.0, alpha=0.8
            )
    late = [look.score for f in outcomes for look in f.looks[len(f.looks) // 10 :]]
    if late:
        low, high = min(late), float(np.quantile(late, 0.98))
        score_axes.set_ylim(low - 0.05 * (high - low), high + 0.15 * (high - low))
    score_axes.set_ylabel("minus log predictive density of a test user (lower is better)")
    right.set_ylabel("occupied components")
    right.set_yscale("log")
    right.yaxis.set_major_locator(FixedLocator([5, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300]))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    for axes in (score_axes, right):
        axes.set_xlabel("iterations")
        show_grid(axes)
    handles = [
        Line2D([], [], color=colour, lw=2.2, label=name)
        for name, colour in zip(names, COLOURS, strict=False)
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    figure.suptitle("Dirichlet-process mixture of web users: a line for each seed")
    return write_png(path, figure, dpi=85)
