"""SCIR on sparse and dense Dirichlet targets, as in Figures 1 and 2 of Baker et al. (2018).

The posterior has ten categories, 1000 observations, and prior .1. The sparse target has counts 800,
100, 100 and seven times 0, and chains start as if each category had 100. The dense target has each
observation in a random category, and chains start at the shape parameters of the posterior.
Minibatches are drawn with replacement. After 1000 iterations of burn-in, each of the next 1000
gives a draw. The distance is that of the paper: Rosenblatt's transform turns the posterior into
nine independent uniform variables, and their Kolmogorov-Smirnov distances are averaged. The results
are for the best step size of each sampler and minibatch size, which has the smallest mean distance
over five chains.

SGRLD runs in two variants: as in its paper, and as in the code released with the SCIR paper. That
code multiplies the natural gradient by the state a second time, and adds 1 to the product.
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
from pysgrld.samplers.targets import simplex
from pysgrld.samplers.targets.common import Noise, count_minibatch
from pysgrld.types import Doubles, Int64s, Key

D, OBSERVATIONS, ALPHA = 10, 1000, 0.1
SPARSE = (800, 100, 100, 0, 0, 0, 0, 0, 0, 0)
#: Number of chains of each setting.
CHAINS = 5
#: Number of samples. A quick run has as many burn-in iterations as a full run.
KEPT = 1000
#: Number of samples in a quick run.
QUICK_KEPT = 50
MINIBATCHES, QUICK_MINIBATCHES = (1, 10, 50, 100, 500), (10, 500)
#: Index of the component whose samples the figure shows.
COMPONENT = 4
#: Minibatch size of the samples that the figure shows.
SHOWN_MINIBATCH = 10


class Method(NamedTuple):
    """Label of a sampler, and its step sizes for full runs and for quick runs."""

    label: str
    steps: tuple[float, ...]
    quick: tuple[float, ...]


METHODS = {
    "scir": Method("SCIR", (1, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001), (0.5, 0.05)),
    "sgrld": Method(
        "SGRLD", (1, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00001), (0.01, 0.005)
    ),
    "sgrld-released": Method(
        "SGRLD as released", (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6), (1e-3, 5e-4)
    ),
}

#: Mean distances computed by an independent implementation, for minibatches of 1, 10, 50, 100 and
#: 500.
REFERENCE = {
    ("sparse", "scir"): (0.132, 0.091, 0.064, 0.053, 0.039),
    ("sparse", "sgrld"): (0.451, 0.414, 0.388, 0.382, 0.383),
    ("sparse", "sgrld-released"): (0.600, 0.598, 0.610, 0.619, 0.631),
    ("dense", "scir"): (0.287, 0.179, 0.116, 0.092, 0.065),
    ("dense", "sgrld"): (0.441, 0.253, 0.141, 0.110, 0.082),
    ("dense", "sgrld-released"): (0.291, 0.159, 0.109, 0.096, 0.090),
}


class DirichletTask(NamedTuple):
    """Setting of the experiment: target, sampler, minibatch size and step size."""

    target: str
    method: str
    minibatch: int
    step: float
    kept: int
    seed: int


class Distances(NamedTuple):
    """Distance of each chain from the target, and logs of one chain's samples of a component."""

    distances: list[float]
    component: Doubles


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Run all settings; write tables (``scores.csv`` and others) and ``synthetic.png``."""
    require_scipy("scir-synthetic")
    n_draws = QUICK_KEPT if setting.quick else KEPT
    minibatches = QUICK_MINIBATCHES if setting.quick else MINIBATCHES
    tasks = [
        DirichletTask(target, method, n, step, n_draws, setting.seed)
        for target in ("sparse", "dense")
        for method, m in METHODS.items()
        for n in minibatches
        for step in (m.quick if setting.quick else m.steps)
    ]
    tasks += [
        DirichletTask(target, "exact", 0, 0.0, n_draws, setting.seed)
        for target in ("sparse", "dense")
    ]
    listener.note(
        f"{len(tasks)} rows of the result table: {CHAINS} chains of {2 * n_draws} iterations each"
    )
    costs = [1.0 + task.minibatch / 100 for task in tasks]
    with listener.counting("rows, in percent", 100) as tell:
        results = map_in_processes(work, tasks, costs, setting.threads, tell)
    scored = dict(zip(tasks, results, strict=True))
    # Find the best step size for each target, method and minibatch size. It has the smallest mean
    # distance.
    best: dict[tuple[str, str, int], DirichletTask] = {}
    for task, scores in scored.items():
        key = task.target, task.method, task.minibatch
        if key not in best or np.mean(scores.distances) < np.mean(scored[best[key]].distances):
            best[key] = task
    rows = table(best, scored, quick=setting.quick)
    boxes = {
        m: scored[t].component
        for (target, m, n), t in best.items()
        if (target, n) in (("sparse", SHOWN_MINIBATCH), ("sparse", 0))
    }
    files = [
        write_csv(
            setting.out / "scores.csv",
            ("target", "method", "minibatch", "step", "chain", "distance"),
            [
                (t.target, t.method, t.minibatch, float(t.step), chain, distance)
                for t, s in scored.items()
                for chain, distance in enumerate(s.distances)
            ],
        ),
        write_csv(setting.out / "best.csv", HEAD, rows),
        write_csv(
            setting.out / "component5.csv",
            ("method", "draw", "log_omega_5"),
            [(m, i, float(x)) for m, draws in boxes.items() for i, x in enumerate(draws)],
        ),
    ]
    if setting.pictures:
        files.append(draw(setting.out / "synthetic.png", rows, boxes, quick=setting.quick))
    return Report(HEAD, rows, sentences(rows, boxes, quick=setting.quick), files)


# ---- sampling


def category_counts(target: str, seed: int) -> Int64s:
    """Return the number of observations by category, (D,), at random for the dense target."""
    if target == "sparse":
        return np.array(SPARSE)
    return np.bincount(np.random.default_rng(seed).integers(0, D, OBSERVATIONS), minlength=D)


def work(task: DirichletTask, share: Callable[[float], None]) -> Distances:
    """Run and score one setting."""
    counts = category_counts(task.target, task.seed)
    n_draws, a = task.kept, np.asarray(counts + ALPHA, np.float64)
    start = a
    if task.target == "sparse":
        start = np.full(D, OBSERVATIONS / D + ALPHA)
    if task.method == "exact":
        log_omega = simplex.sample(
            counts, alpha=ALPHA, step_size=50.0, samples=n_draws, chains=CHAINS, seed=task.seed
        ).log_omega
    elif task.method == "sgrld-released":
        log_omega = run_released_sgrld(
            counts, task.step, task.minibatch, n_draws, start, task.seed, share
        )
    else:
        h = task.step if task.method == "scir" else task.step / 2
        log_omega = simplex.sample(
            counts,
            alpha=ALPHA,
            algo=task.method,
            step_size=h,
            minibatch=task.minibatch,
            samples=n_draws,
            burn_in=n_draws,
            chains=CHAINS,
            start=start,
            seed=task.seed,
            progress=share,
        ).log_omega
    return Distances(
        [distance(log_omega[:, c], a) for c in range(CHAINS)], log_omega[:, 0, COMPONENT].copy()
    )


def run_released_sgrld(
    counts: Int64s,
    eps: float,
    minibatch: int,
    n_draws: int,
    start: Doubles,
    seed: int,
    share: Callable[[float], None],
) -> Doubles:
    """Run SGRLD as in the code released with the SCIR paper; return log probabilities.

    The log probabilities log omega have the shape (kept, chains, d). For the state g and counts N
    with the sum N., the drift of that code is g (alpha - g + N - omega N.) + 1, while the correct
    drift is alpha - g + N - omega N.
    """
    g = np.tile(start, (CHAINS, 1))
    noise, log_omega = Noise(CHAINS, D, seed), np.empty((n_draws, CHAINS, D))
    with np.errstate(all="ignore"):
        for t in range(2 * n_draws):
            if t % 100 == 0:
                share(t / (2 * n_draws))
            minibatch_counts = count_minibatch(counts, minibatch, CHAINS, Key(seed, 0, t))[
                :, :CHAINS
            ].T
            natural = ALPHA - g + minibatch_counts * (counts.sum() / minibatch)
            natural -= g / g.sum(axis=1, keepdims=True) * counts.sum()
            z, _ = noise.draw(t)
            g = np.abs(g + eps / 2 * (g * natural + 1.0) + np.sqrt(eps * g) * z)
            if t >= n_draws:
                log_omega[t - n_draws] = np.log(g) - np.log(g.sum(axis=1, keepdims=True))
    return log_omega


def distance(log_omega: Doubles, a: Doubles) -> float:
    """Return the mean Kolmogorov-Smirnov distance of Rosenblatt transforms from the uniform law.

    ``log_omega``, (draws, d), are the draws; ``a``, (d,), are the shapes of the Dirichlet. The
    result is 1 if a draw is not finite.
    """
    from scipy.special import betainc

    if not np.isfinite(log_omega).all():
        return 1.0
    n, rest = len(log_omega), np.logaddexp.accumulate(log_omega[:, ::-1], axis=1)[:, ::-1]
    i, distances = np.arange(n), []
    for j in range(len(a) - 1):
        v = np.sort(betainc(a[j], a[j + 1 :].sum(), np.exp(log_omega[:, j] - rest[:, j])))
        distances.append(max(((i + 1) / n - v).max(), (v - i / n).max()))
    return float(np.mean(distances))


# ---- results

HEAD = ("target", "minibatch", "method", "step", "distance", "least", "most", "reference")


def table(
    best: dict[tuple[str, str, int], DirichletTask],
    scored: dict[DirichletTask, Distances],
    *,
    quick: bool,
) -> list[tuple[Any, ...]]:
    """Return a table of distances by target, minibatch size and method, with reference values."""
    lines: list[tuple[Any, ...]] = []
    for (target, method, n), task in best.items():
        d = scored[task].distances
        reference = None if quick else REFERENCE.get((target, method))
        lines.append(
            (
                target,
                n or None,
                method,
                float(task.step) if n else None,
                float(np.mean(d)),
                min(d),
                max(d),
                reference[MINIBATCHES.index(n)] if reference else None,
            )
        )
    return lines


def sentences(rows: list[tuple[Any, ...]], boxes: dict[str, Doubles], *, quick: bool) -> list[str]:
    """Return sentences that compare the methods' distances, and medians of one component."""
    text = []
    if quick:
        text.append(
            "quick test with few iterations and steps: it shows only that the experiment runs."
        )
    for target in ("sparse", "dense"):
        ours = {
            m: [r[4] for r in rows if r[0] == target and r[2] == m] for m in (*METHODS, "exact")
        }
        parts = [f"{METHODS[m].label} {ours[m][0]:.3f} to {ours[m][-1]:.3f}" for m in METHODS]
        line = f"{target}: distance {', '.join(parts)}, exact draws {ours['exact'][0]:.3f}"
        nearer = all(s < o for s, o in zip(ours["scir"], ours["sgrld"], strict=True))
        if target == "sparse":
            line += "; " + (
                "SCIR is nearer to the posterior than both SGRLD samplers at every minibatch "
                "size, as in the paper"
                if nearer
                and all(s < o for s, o in zip(ours["scir"], ours["sgrld-released"], strict=True))
                else (
                    "SCIR is NOT nearer to the posterior than both SGRLD samplers at every "
                    "minibatch size"
                )
            )
        else:
            line += (
                "; SCIR is nearer to the posterior than SGRLD at every minibatch size"
                if nearer
                else ("; neither sampler is nearer to the posterior at every minibatch size")
            )
        text.append(line + ".")
    medians = {m: math.exp(float(np.median(draws))) for m, draws in boxes.items()}
    text.append(
        f"median of component 5, sparse, n = {SHOWN_MINIBATCH}: exact {medians['exact']:.0e}, "
        + ", ".join(f"{METHODS[m].label} {medians[m]:.0e}" for m in METHODS)
        + "; near zero, the drift of the released code is +1 instead of +0.1."
    )
    return text


def draw(
    path: Path, rows: list[tuple[Any, ...]], boxes: dict[str, Doubles], *, quick: bool
) -> Path:
    """Plot the draws of a component without counts, and the distances for each minibatch size."""
    colours = {"exact": "black"} | dict(zip(METHODS, COLOURS[2::-1], strict=True))
    labels = {"exact": "exact draws"} | {name: m.label for name, m in METHODS.items()}
    figure = new_figure(13, 4.9)
    top = 1.05 * max(0.68, *(r[6] for r in rows))
    draws_axes, *distance_axes = figure.subplots(1, 3, width_ratios=(1.05, 1, 1))
    order = list(colours)
    shown = draws_axes.boxplot(
        [boxes[m] / math.log(10) for m in order],
        widths=0.6,
        whis=(2.5, 97.5),
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "white", "lw": 2},
    )
    for box, m in zip(shown["boxes"], order, strict=True):
        box.set(facecolor=colours[m], edgecolor=colours[m])
    draws_axes.set_xticks(range(1, 5), ["exact", "SCIR", "SGRLD", "SGRLD\nas released"])
    draws_axes.set(
        ylabel="log10 of the probability",
        xlabel="boxes: half of the draws, lines: 95 %",
        title=f"Sparse: a category without counts,\nminibatches of {SHOWN_MINIBATCH} in 1000",
    )
    for axes, target in zip(distance_axes, ("sparse", "dense"), strict=True):
        for m in METHODS:
            curve = [r for r in rows if r[0] == target and r[2] == m]
            x = [r[1] / OBSERVATIONS for r in curve]
            axes.plot(x, [r[4] for r in curve], "o-", color=colours[m], lw=2, ms=5, label=labels[m])
            axes.fill_between(
                x, [r[5] for r in curve], [r[6] for r in curve], color=colours[m], alpha=0.2, lw=0
            )
        (exact,) = [r[4] for r in rows if r[0] == target and r[2] == "exact"]
        axes.axhline(exact, color="black", lw=1.2, ls="--", label=labels["exact"])
        axes.set(
            xscale="log",
            xlabel="share of the observations in a minibatch",
            ylim=(0, top),
            title=f"{target.capitalize()}: distance to the posterior,\nbest step of each",
        )
    distance_axes[0].set_ylabel("mean Kolmogorov-Smirnov distance")
    for axes in (draws_axes, *distance_axes):
        show_grid(axes)
    handles, names = distance_axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(
        "Dirichlet posteriors from minibatches"
        + (", few iterations" if quick else "")
        + " (Baker et al. 2018, Figures 1 and 2); bands: five chains"
    )
    return write_png(path, figure, dpi=90)
