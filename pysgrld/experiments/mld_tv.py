"""Mirrored Langevin dynamics on a Dirichlet posterior (Hsieh et al. 2018, section 5.1).

See also appendix H.1 of the paper. The posterior has eleven categories, counts 10,000, 10, 10 and
eight times 0, and prior .1; every step uses all observations. The distribution at each iteration is
estimated from many independent trials. Its total variation distance to the posterior is computed
from bins of each category's probability; distances are averaged over categories with the same
counts.

The paper does not state the following choices, so they are ours. Trials start at equal
probabilities (SGRLD's g at 1/11 each). Categories with counts have 100 bins of equal width between
the quantiles 1e-4 and 1 - 1e-4, and two bins for the tails. Categories without counts have 100 bins
of equal probability. Each seed has 20,000 trials, while the paper has 2,000,000: 100 seeds give the
same number.

The samplers are sgmc's samplers of topics; each trial is one topic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.experiments.frame import (
    ExperimentListener,
    ExperimentSetting,
    Report,
    require_scipy,
    write_csv,
)
from pysgrld.experiments.processes import map_in_processes
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.samplers.state import Counts
from pysgrld.samplers.targets.common import log_total, start_rows
from pysgrld.samplers.targets.simplex import Chains
from pysgrld.types import Doubles, Int64s, Key

COUNTS = (10_000, 10, 10, 0, 0, 0, 0, 0, 0, 0, 0)
ALPHA = 0.1
#: Shape parameters of the Beta posterior of each category's probability.
SHAPES = [(n + ALPHA, sum(COUNTS) + ALPHA * len(COUNTS) - (n + ALPHA)) for n in COUNTS]
#: Groups of categories that have equal counts, and thus equal posterior distributions.
ALIKE = {
    "category 1 (10,000 counts)": [0],
    "categories 2 and 3 (10 counts)": [1, 2],
    "categories 4 to 11 (no counts)": list(range(3, 11)),
}
TRIALS, QUICK_TRIALS = 20_000, 2_000
ITERATIONS, QUICK_ITERATIONS = 20_000, 100
#: Step sizes h of each sampler. Mirrored Langevin is stable if h is below 4 / 10,021.
STEPS = {"smld": (3e-4, 1e-4, 3e-5, 1e-5), "sgrld": (1e-6, 3e-7, 1e-7, 3e-8)}
LABELS = {"smld": "MLD", "sgrld": "SGRLD"}
#: Number of step sizes of each sampler in the picture. These step sizes have the smallest final
#: distances.
SHOWN = 3
#: The decay of a curve is measured after its total variation has fallen below this number.
DECAY_FROM = 0.7
#: The decay of a curve is measured until its total variation has fallen to this multiple of the
#: final value.
DECAY_TO = 1.5


class TrialsTask(NamedTuple):
    """Independent trials of a sampler with one step size and one seed."""

    algo: str
    h: float
    seed: int
    trials: int
    iterations: int


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Run the trials of all samplers; write ``tv.csv``, ``steps.csv`` and ``tv.png``."""
    require_scipy("mld-tv")
    trials = QUICK_TRIALS if setting.quick else TRIALS
    iterations = QUICK_ITERATIONS if setting.quick else ITERATIONS
    tasks = [
        TrialsTask(algo, h, seed, trials, iterations)
        for seed in range(setting.seed, setting.seed + setting.seeds)
        for algo, steps in STEPS.items()
        for h in steps
    ]
    listener.note(f"{trials * setting.seeds:,} trials, {iterations:,} iterations, 8 rows")
    with listener.counting("iterations, in percent", 100) as tell:
        results = map_in_processes(work, tasks, [1.0] * len(tasks), setting.threads, tell)
    curves: dict[tuple[str, float], Doubles] = {}
    for algo, steps in STEPS.items():
        for h in steps:
            histograms = [
                f for t, f in zip(tasks, results, strict=True) if (t.algo, t.h) == (algo, h)
            ]
            curves[algo, h] = variation(np.sum(histograms, axis=0))
    compared, category_floors = (
        marks(iterations),
        [floor(m, trials * setting.seeds) for m in masses()],
    )
    files = [
        write_csv(
            setting.out / "tv.csv",
            ("sampler", "h", "iteration", *(f"tv_{c + 1}" for c in range(len(COUNTS)))),
            [
                (LABELS[a], h, int(t), *map(float, tv))
                for (a, h), curve in curves.items()
                for t, tv in zip(compared, curve, strict=True)
            ],
        )
    ]
    floors = [category_floors[alike[0]] for alike in ALIKE.values()]
    curves = {row: by_kind(curve) for row, curve in curves.items()}
    # Each row of the table has the distances at a sampler's last iteration.
    rows: list[tuple[Any, ...]] = [("exact", None, *floors)]
    rows += [(LABELS[a], f"{h:g}", *map(float, c[-1])) for (a, h), c in curves.items()]
    files.append(write_csv(setting.out / "steps.csv", HEAD, rows))
    if setting.pictures:
        files.append(draw(setting.out / "tv.png", curves, compared, floors, quick=setting.quick))
    return Report(HEAD, rows, sentences(curves, floors, compared, quick=setting.quick), files)


# ---- trials


def marks(iterations: int) -> Int64s:
    """Return the iterations at which to compare samplers, evenly spaced on a logarithmic scale."""
    return np.unique(np.geomspace(1, iterations, 60).round().astype(np.int64))


def bins() -> list[Doubles]:
    """Return the edges of the histogram bins for each category, as log probabilities."""
    from scipy.special import betaincinv

    edges = []
    for count, shapes in zip(COUNTS, SHAPES, strict=True):
        if count:
            low, high = betaincinv(*shapes, [1e-4, 1 - 1e-4])
            edges.append(np.log(np.linspace(low, high, 101)))
        else:
            edges.append(np.log(betaincinv(*shapes, np.arange(1, 100) / 100)))
    return edges


def masses() -> list[Doubles]:
    """Return the posterior probability of each histogram bin, for each category."""
    from scipy.special import betainc

    return [
        np.diff(betainc(*shapes, np.exp(edges)), prepend=0.0, append=1.0)
        for shapes, edges in zip(SHAPES, bins(), strict=True)
    ]


def floor(mass: Doubles, trials: int) -> float:
    """Return the expected distance of a histogram of exact samples from the exact distribution."""
    return float(np.sqrt(mass * (1 - mass) / (2 * math.pi * trials)).sum())


def work(task: TrialsTask, share: Callable[[float], None]) -> Int64s:
    """Run the trials of a task from equal probabilities, and return the result of `histograms`."""
    start = np.full(len(COUNTS), 1.0 / len(COUNTS))
    rows = start_rows(len(COUNTS), task.trials, start, task.seed, ALPHA)
    return histograms(task, rows, share)


def histograms(task: TrialsTask, rows: dict[str, Any], share: Callable[[float], None]) -> Int64s:
    """Run the trials of a task from given states, and count the trials in each histogram bin.

    Returns
    -------
    (marks, categories, bins) int64
        Padded with zeros if a category has fewer bins.
    """
    chains = Chains(task.algo, rows, np.full(len(COUNTS), ALPHA), task.trials)
    width = rows["g"].shape[1]
    counts = np.zeros((len(COUNTS), width), np.int64)
    counts[:, : task.trials] = np.array(COUNTS)[:, None]
    everything = Counts(np.arange(len(COUNTS), dtype=np.int32), counts, 1.0)
    compared, edges = marks(task.iterations), bins()
    counted = np.zeros((len(compared), len(COUNTS), max(map(len, edges)) + 1), np.int64)
    for t in range(task.iterations):
        if t % 20 == 0:
            share(t / task.iterations)
        chains.step(Key(task.seed, 0, t), everything, task.h)
        mark = int(np.searchsorted(compared, t + 1))
        if mark < len(compared) and compared[mark] == t + 1:
            log_g = chains.log_g()
            log_phi = log_g - log_total(log_g)
            for c in range(len(COUNTS)):
                bin_of = np.searchsorted(edges[c], log_phi[c])
                counted[mark, c] = np.bincount(bin_of, minlength=counted.shape[2])
    return counted


def variation(counted: Int64s) -> Doubles:
    """Return each histogram's total variation distance from the posterior, (marks, categories)."""
    distances = np.zeros(counted.shape[:2])
    for i, mass in enumerate(masses()):
        share = counted[:, i] / counted[:, i].sum(axis=1, keepdims=True)
        distances[:, i] = 0.5 * np.abs(share[:, : len(mass)] - mass).sum(axis=1)
    return distances


# ---- results

HEAD = ("sampler", "h", "tv-category-1", "tv-categories-2-3", "tv-categories-4-11")


def by_kind(curve: Doubles) -> Doubles:
    """Return the mean distance in each group of categories with equal counts, (iterations, 3)."""
    return np.stack([curve[:, alike].mean(axis=1) for alike in ALIKE.values()], axis=1)


def nearest(curves: dict[tuple[str, float], Doubles], algo: str, i: int = 0) -> list[float]:
    """Return a sampler's step sizes, sorted by their final distance in group `i` of categories."""
    of_sampler = [h for a, h in curves if a == algo]
    return sorted(of_sampler, key=lambda h: curves[algo, h][-1, i])


def sentences(
    curves: dict[tuple[str, float], Doubles], floors: list[float], compared: Int64s, *, quick: bool
) -> list[str]:
    """Return sentences that state the final distance of each sampler at its best step size."""
    text = []
    if quick:
        text.append(
            "quick test with few trials and iterations: it shows only that the experiment runs."
        )
    for i, kind in enumerate(ALIKE):
        ends = {a: curves[a, nearest(curves, a, i)[0]][-1, i] for a in STEPS}
        parts = ", ".join(
            f"{LABELS[a]} {ends[a]:.3f} (h = {nearest(curves, a, i)[0]:g})" for a in STEPS
        )
        winner = LABELS[min(ends, key=lambda a: ends[a])]
        verdict = "as in the paper" if winner == "MLD" else "NOT as in the paper"
        text.append(
            f"{kind}: total variation after {compared[-1]:,} iterations at each sampler's best "
            f"step size: {parts}, exact draws {floors[i]:.3f}. {winner} is closest to the "
            f"posterior: {verdict}{overtaken(curves, i, compared)}."
        )
    return [*text, say_decay(curves, compared)]


def overtaken(curves: dict[tuple[str, float], Doubles], i: int, compared: Int64s) -> str:
    """Return a phrase on when MLD becomes closer to the posterior than SGRLD, or an empty text.

    At each iteration, both samplers have the step size that is best at this iteration.
    """
    best = {
        a: np.min([c[:, i] for (algo, _), c in curves.items() if algo == a], axis=0) for a in STEPS
    }
    behind = np.flatnonzero(best["smld"] >= best["sgrld"])
    if not len(behind) or behind[-1] == len(compared) - 1:
        return ""
    return f", from iteration {compared[behind[-1] + 1]:,} on"


def decay(curve: Doubles, compared: Int64s) -> float:
    """Return the slope of log total variation against log iteration, in a curve's decaying part.

    The slope is a least-squares fit from the last iteration above `DECAY_FROM` down to `DECAY_TO`
    times the last value. It is NaN if fewer than three iterations are in this range.

    Parameters
    ----------
    curve : (marks,) float64
        Distances of one sampler and step size.
    compared : (marks,) int64
        Iterations of these distances.
    """
    first = int(np.flatnonzero(curve >= DECAY_FROM).max(initial=-1)) + 1
    last = int(np.flatnonzero(curve > DECAY_TO * curve[-1]).max(initial=-1))
    if last - first < 2:
        return math.nan
    part = slice(first, last + 1)
    return float(np.polyfit(np.log(compared[part]), np.log(curve[part]), 1)[0])


def say_decay(curves: dict[tuple[str, float], Doubles], compared: Int64s) -> str:
    """Describe the decay of the error of mirrored Langevin dynamics; the paper claims T^(-1/2)."""
    parts = []
    for i, kind in enumerate(ALIKE):
        slopes = {h: decay(curves["smld", h][:, i], compared) for h in STEPS["smld"]}
        listed = ", ".join(f"{s:.2f} (h = {h:g})" for h, s in slopes.items() if not math.isnan(s))
        parts.append(f"{kind} {listed or 'none'}")
    return (
        "slopes of the log total variation of MLD against the log iteration (paper: -0.5): "
        f"{'; '.join(parts)}."
    )


def draw(
    path: Path,
    curves: dict[tuple[str, float], Doubles],
    compared: Int64s,
    floors: list[float],
    *,
    quick: bool,
) -> Path:
    """Plot the distance to the target over iterations, for each sampler's three best step sizes."""
    from matplotlib.ticker import FuncFormatter

    figure = new_figure(15, 4.9)
    for i, axes in enumerate(figure.subplots(1, len(ALIKE), sharey=True)):
        for algo, colour in zip(STEPS, (COLOURS[2], COLOURS[0]), strict=True):
            for h, style in zip(nearest(curves, algo)[:SHOWN], ("-", "--", ":"), strict=True):
                axes.plot(
                    compared,
                    curves[algo, h][:, i],
                    color=colour,
                    ls=style,
                    lw=2,
                    label=f"{LABELS[algo]}, h = {h:g}",
                )
        axes.axhline(floors[i], color="black", lw=1.2, label="the same number of exact draws")
        height = 0.9 * curves["smld", nearest(curves, "smld", i)[0]][-1, i]
        guide = compared[-1] * np.array([max(1e-3, height**2), 1.0])
        axes.plot(
            guide, height * (guide / guide[-1]) ** -0.5, "--", color="grey", label="slope -1/2"
        )
        axes.set(xscale="log", yscale="log", xlabel="iteration", title=list(ALIKE)[i])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        show_grid(axes)
    figure.axes[0].set_ylabel("total variation distance to the posterior")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(
        "Mirrored Langevin and SGRLD on a sparse Dirichlet"
        + (", few trials" if quick else "")
        + " (Hsieh et al. 2018, section 5.1 and appendix H.1)"
    )
    return write_png(path, figure, dpi=90)
