"""Bias of SGRLD and SCIR by step size (Baker et al. 2018, proposition 1.1 and corollary 3.2).

The target is Gamma(a). With all observations, a step of SGRLD is g -> |m + sqrt(2 h g) z| with m =
g + h (a - g). With minibatches, an estimate replaces a in m: here a tenth of a is the prior, and
the rest comes from 1,000 observations, ten in each of 100 categories; an iteration reads 100 of
them with replacement. Drift and noise do not change the mean, so that the bias comes from
reflection: it is the stationary mean of 2 max(0, -m - sqrt(2 h g) z), divided by h.

The stationary distribution of SGRLD is computed by quadrature, not sampled. Bins have widths
proportional to sqrt(h g), and are geometric below h; the probability of each transition from the
centre of a bin to another bin is exact. The error is of second order in the width, and is
extrapolated to width 0. The kernels of ``--algo sgrld`` and ``scir`` run for comparison; each
category of each chain is one variable of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
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
from pysgrld.samplers.targets.common import count_minibatch, start_rows
from pysgrld.samplers.targets.simplex import Chains
from pysgrld.types import Doubles, Key

SHAPES = (0.05, 0.1, 0.5, 1.0, 5.0)
STEPS, QUICK_STEPS = (0.32, 0.08, 0.02, 0.005, 0.00125), (0.32, 0.16)
#: In runs with minibatches, a shape parameter is a sum of a part from the prior and a part from
#: observations. This is the fraction of the part from the prior.
PRIOR = 0.1
#: Number of categories in runs with minibatches.
CATEGORIES = 100
#: Number of observations in runs with minibatches.
OBSERVATIONS = 1000
#: Number of observations in a minibatch.
MINIBATCH = 100
#: Number of chains for each step size.
CHAINS = 32
#: Number of chains for each step size in a quick run.
QUICK_CHAINS = 8
#: Diffusion time of a chain. The first two thirds of the time are burn-in.
TIME = 9.0
#: Width of a histogram bin in standard deviations of a step.
WIDTH = 0.4
#: Width of a histogram bin in a quick run, in standard deviations of a step.
QUICK_WIDTH = 0.6


class BiasTask(NamedTuple):
    """Task of computing the biases for one Gamma target and one step size."""

    shape: float
    h: float
    quick: bool
    seed: int


class Bias(NamedTuple):
    """Relative biases of the mean, E[g] / a - 1, for one target Gamma(a) and one step size.

    Attributes
    ----------
    full, minibatch : float
        Bias of SGRLD by quadrature, with all observations and with minibatches.
    sgrld, scir, scir_minibatch : (float, float)
        Bias estimated from chains, and its standard error.
    """

    full: float
    minibatch: float
    sgrld: tuple[float, float]
    scir: tuple[float, float]
    scir_minibatch: tuple[float, float]


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Compute the biases for all targets and step sizes; write ``bias.csv`` and ``bias.png``."""
    require_scipy("scir-bias")
    steps = QUICK_STEPS if setting.quick else STEPS
    tasks = [BiasTask(a, h, setting.quick, setting.seed) for a in SHAPES for h in steps]
    listener.note(f"{len(SHAPES)} targets, {len(steps)} steps")
    with listener.counting("rows, in percent", 100) as tell:
        biases = map_in_processes(work, tasks, [1 / t.h for t in tasks], setting.threads, tell)
    by_shape = {a: [b for t, b in zip(tasks, biases, strict=True) if t.shape == a] for a in SHAPES}
    rows: list[tuple[Any, ...]] = []
    for a, biases_of_shape in by_shape.items():
        slopes = (None, *bias_slopes([b.full for b in biases_of_shape], steps))
        for h, b, slope in zip(steps, biases_of_shape, slopes, strict=True):
            rows.append((a, h, b.full, slope, b.minibatch, *b.sgrld, *b.scir, *b.scir_minibatch))
    files = [write_csv(setting.out / "bias.csv", HEAD, rows)]
    if setting.pictures:
        files.append(draw(setting.out / "bias.png", by_shape, steps, quick=setting.quick))
    shown = [(*row[:6], row[7], row[9]) for row in rows]
    head = (*HEAD[:6], HEAD[7], HEAD[9])
    return Report(head, shown, sentences(by_shape, steps, quick=setting.quick), files)


# ---- biases


def work(task: BiasTask, share: Callable[[float], None]) -> Bias:
    """Compute the biases for one target and one step size."""
    weights = binomial(MINIBATCH, 1 / CATEGORIES)
    estimates = task.shape * (PRIOR + (1 - PRIOR) * np.arange(len(weights), dtype=np.float64))
    width = QUICK_WIDTH if task.quick else WIDTH
    full = quadrature(task.shape, task.h, np.array([task.shape]), np.ones(1), width)
    minibatch = quadrature(task.shape, task.h, estimates, weights, width)

    def third(number: int) -> Callable[[float], None]:
        return lambda part: share((number + part) / 3)

    sgrld = chain_bias(task, "sgrld", False, third(0))
    scir, scir_minibatch = (chain_bias(task, "scir", m, third(1 + m)) for m in (False, True))
    return Bias(full, minibatch, sgrld, scir, scir_minibatch)


def binomial(n: int, p: float) -> Doubles:
    """Return the binomial probabilities of 0 to 12 successes (the others are negligible)."""
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(13)])


def quadrature(a: float, h: float, estimates: Doubles, weights: Doubles, width: float) -> float:
    """Return the relative bias of SGRLD's stationary mean for a target Gamma(a).

    Parameters
    ----------
    a, h : float
        Shape of the target, and step size.
    estimates, weights : (n,) float64
        Possible values of the estimate of the shape, with mean a, and their probabilities.
    width : float
        Width of a bin in standard deviations of a step from it. The result is extrapolated from
        this width and half of it.
    """
    wide, narrow = (binned_bias(a, h, estimates, weights, w) for w in (width, width / 2))
    return (4 * narrow - wide) / 3


def binned_bias(a: float, h: float, estimates: Doubles, weights: Doubles, width: float) -> float:
    """Return the relative bias for one width of bins; the parameters are as in `quadrature`."""
    from scipy.special import ndtr

    top = a + 12 * math.sqrt(a) + 25
    low = np.geomspace(1e-6 * h * min(a, 1), h, 120)[:-1]
    high = np.arange(math.sqrt(h), math.sqrt(top), width * math.sqrt(h / 2)) ** 2
    edges = np.concatenate([[0.0], low, high])
    g = (edges[:-1] + edges[1:]) / 2
    deviation = np.sqrt(2 * h * g)[:, None]
    move, pushed = np.zeros((len(g), len(g))), np.zeros(len(g))
    for estimate, weight in zip(estimates, weights, strict=True):
        mean = (g + h * (estimate - g))[:, None]
        below = ndtr((edges - mean) / deviation) - ndtr((-edges - mean) / deviation)
        below[:, -1] = 1.0
        move += weight * np.diff(below, axis=1)
        z = mean / deviation
        normal = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        pushed += weight * 2 * (deviation * normal - mean * ndtr(-z))[:, 0]
    equations, sides = move.T - np.eye(len(g)), np.zeros(len(g))
    equations[-1], sides[-1] = 1.0, 1.0
    return float(np.linalg.solve(equations, sides) @ pushed) / (h * a)


def chain_bias(
    task: BiasTask, algo: str, by_minibatch: bool, share: Callable[[float], None]
) -> tuple[float, float]:
    """Return the relative bias of the mean of a sampler's chains, and the bias's standard error."""
    chains = QUICK_CHAINS if task.quick else CHAINS
    start = np.full(CATEGORIES, task.shape)
    prior = np.full(CATEGORIES, task.shape * (PRIOR if by_minibatch else 1.0))
    rows = start_rows(CATEGORIES, chains, start, task.seed, task.shape)
    moved = Chains(algo, rows, prior, chains)
    categories = np.arange(CATEGORIES, dtype=np.int32)
    counts = Counts(categories, np.zeros(rows["g"].shape, np.int64), 1.0)
    observed = np.full(CATEGORIES, OBSERVATIONS // CATEGORIES)
    iterations = math.ceil(TIME / task.h)
    every = max(1, iterations // 100)
    total, kept = np.zeros(chains), 0
    for t in range(iterations):
        key = Key(task.seed, 0, t)
        if by_minibatch:
            read = count_minibatch(observed, MINIBATCH, chains, key)
            counts = Counts(categories, read, task.shape * (1 - PRIOR))
        moved.step(key, counts, task.h)
        if t % every == 0:
            share(t / iterations)
            if t >= 2 * iterations // 3:
                total += np.exp(moved.log_g()).mean(axis=0)
                kept += 1
    biases = total / kept / task.shape - 1
    return float(biases.mean()), float(biases.std(ddof=1) / math.sqrt(chains))


# ---- results

HEAD = (
    "shape",
    "h",
    "sgrld",
    "slope",
    "sgrld-minibatch",
    "sgrld-chains",
    "sgrld-chains-error",
    "scir-chains",
    "scir-chains-error",
    "scir-minibatch-chains",
    "scir-minibatch-chains-error",
)


def bias_slopes(biases: list[float], steps: tuple[float, ...]) -> list[float]:
    """Return the slope of log bias over log step size, between each step size and the next."""
    return [
        math.log(b / b_next) / math.log(h / h_next)
        for (b, b_next), (h, h_next) in zip(pairwise(biases), pairwise(steps), strict=True)
    ]


def sentences(
    by_shape: dict[float, list[Bias]], steps: tuple[float, ...], *, quick: bool
) -> list[str]:
    """Return sentences on the slopes of SGRLD's bias, and on whether SCIR has a bias."""
    text = []
    if quick:
        text.append("quick test with few steps: it shows only that the experiment runs.")
    slopes = ", ".join(
        f"{bias_slopes([b.full for b in biases], steps)[-1]:.2f} (a = {a:g})"
        for a, biases in by_shape.items()
    )
    text.append(
        f"SGRLD: the slope of log bias against log h at the shortest steps is {slopes}. The slope "
        "approaches the shape a when the step size h decreases, so the bias is O(h) only if a is "
        "at least 1."
    )
    sparse = ", ".join(f"{b.full:.0%}" for b in by_shape[0.1])
    text.append(f"a = 0.1: the mean is too large by {sparse} at h = {', '.join(map(str, steps))}.")
    scores = [abs(m / e) for biases in by_shape.values() for b in biases for m, e in b[3:]]
    text.append(
        f"SCIR: the largest |bias| / standard error of {len(scores)} rows, with all observations "
        f"and with minibatches, is {max(scores):.1f}: "
        + ("no bias, as in the paper." if max(scores) < 3.5 else "NOT as in the paper.")
    )
    return text


def draw(
    path: Path, by_shape: dict[float, list[Bias]], steps: tuple[float, ...], *, quick: bool
) -> Path:
    """Draw the biases of SGRLD (on logarithmic axes) and of SCIR over the step size."""
    figure = new_figure(12.5, 5)
    slopes, zero = figure.subplots(1, 2, width_ratios=(1.2, 1))
    for number, ((a, biases), colour) in enumerate(zip(by_shape.items(), COLOURS, strict=False)):
        slopes.plot(steps, [b.full for b in biases], color=colour, lw=2, label=f"a = {a:g}")
        slopes.plot(steps, [b.minibatch for b in biases], color=colour, lw=1.4, ls=":")
        clear = [
            (h, b.sgrld[0]) for h, b in zip(steps, biases, strict=True) if b.full > 10 * b.sgrld[1]
        ]
        slopes.plot(*zip(*clear, strict=True) if clear else ([], []), "o", color=colour, ms=5)
        places = np.array(steps) * (1 + 0.12 * (number - 2))
        for kind, marker in (("scir", "o"), ("scir_minibatch", "s")):
            means, errors = zip(*(getattr(b, kind) for b in biases), strict=True)
            zero.errorbar(
                places, means, 2 * np.array(errors), fmt=marker, color=colour, ms=4, lw=1.2
            )
            places = places * 1.05
    if not quick:
        sparse = [b.full for b in by_shape[0.1]]
        zero.plot(steps, sparse, color=COLOURS[1], lw=2, label="SGRLD, a = 0.1")
    zero.axhline(0, color="black", lw=1.2)
    zero.plot([], [], "o", color="black", ms=4, label="SCIR, all observations")
    zero.plot([], [], "s", color="black", ms=4, label="SCIR, minibatches")
    slopes.plot([], [], color="black", ls=":", lw=1.4, label="minibatches")
    slopes.plot([], [], "o", color="black", ms=5, label="simulated chains")
    slopes.plot(steps, [0.2 * h for h in steps], color="grey", lw=1, ls="--", label="slope 1: O(h)")
    slopes.set(
        yscale="log",
        ylim=(1e-8, 20),
        ylabel="relative bias of the mean, E[g] / a - 1",
        title="SGRLD: slopes tend to a",
    )
    zero.set(ylim=(-0.4, 3), title="SCIR: no bias (two standard errors; colours as on the left)")
    for axes in (slopes, zero):
        axes.set(xscale="log", xlabel="step size h")
        axes.set_xticks(steps, [f"{h:g}" for h in steps])
        axes.minorticks_off()
        show_grid(axes)
    slopes.legend(frameon=False, fontsize=9, loc="lower left")
    zero.legend(frameon=False, loc="upper left")
    figure.suptitle(
        "Bias by step size for the target Gamma(a)"
        + (", few steps" if quick else "")
        + " (Baker et al. 2018, proposition 1.1, corollary 3.2)"
    )
    return write_png(path, figure, dpi=90)
