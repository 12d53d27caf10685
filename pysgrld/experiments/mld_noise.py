"""Gradient noise in dual and in primal coordinates (Hsieh et al. 2018, lemma 2, item 4).

The posterior is that of section 5.1: eleven categories, counts 10,000, 10, 10 and eight times 0,
prior .1. Minibatches have 100 observations, drawn with replacement. In the primal coordinates x_1
to x_10 (the last category is the reference), an observation of category c has the gradient
-1[c = l] / x_l + 1[c = 11] / x_11; in the dual coordinates it has -1[c = l] + x_l. The expected
squared norm of a minibatch's error is N^2 / b times the trace of the covariance of these gradients,
for the shares p_c of observations in each category. It has a closed form, and is computed at exact
draws of the posterior.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report, write_csv
from pysgrld.experiments.mld_tv import ALPHA, COUNTS
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.types import Doubles

#: Minibatch size in the paper's experiment.
MINIBATCH = 100
#: Number of posterior samples at which the noise is computed.
DRAWS = 100_000
#: Number of posterior samples at which the noise is computed in a quick run.
QUICK_DRAWS = 1_000
#: Quantiles shown in the table, in percent.
QUANTILES = (0, 2.5, 50, 97.5, 100)
HEAD = ("quantile", "primal", "dual", "ratio")


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Compute primal and dual gradient errors; write ``noise.csv`` and ``noise.png``."""
    draws = QUICK_DRAWS if setting.quick else DRAWS
    with listener.counting("draws", draws) as tell:
        rng = np.random.default_rng(setting.seed)
        x = rng.dirichlet(np.array(COUNTS) + ALPHA, draws)
        primal, dual = squared_errors(x, np.array(COUNTS), MINIBATCH)
        tell(draws)
    ratio = primal / dual
    columns = [np.percentile(values, QUANTILES) for values in (primal, dual, ratio)]
    rows: list[tuple[Any, ...]] = [
        (f"{q:g} %", *map(float, line))
        for q, line in zip(QUANTILES, np.transpose(columns), strict=True)
    ]
    files = [write_csv(setting.out / "noise.csv", HEAD, rows)]
    if setting.pictures:
        files.append(draw(setting.out / "noise.png", primal, dual))
    verdict = "as in the paper" if ratio.min() >= 1 else "NOT as in the paper"
    sentence = (
        "squared error of the primal gradient, divided by the squared error of the dual "
        f"gradient: {rows[1][3]:.2g} to {rows[3][3]:.2g} in 95 % of the posterior, nowhere less "
        f"than {ratio.min():.2g}: {verdict}."
    )
    return Report(HEAD, rows, [sentence], files)


def squared_errors(x: Doubles, counts: Any, minibatch: int) -> tuple[Doubles, Doubles]:
    """Return the expected squared errors of minibatch gradients, primal and dual, (draws,) each.

    Parameters
    ----------
    x : (draws, d) float64
        Probabilities; the last category is the reference.
    counts : (d,) int64
        Number of observations in each category.
    minibatch : int
        Number of observations in a minibatch, drawn with replacement.
    """
    total = counts.sum()
    p, last = counts[:-1] / total, counts[-1] / total
    primal = p * (1 - p) / x[:, :-1] ** 2 + last * (1 - last) / x[:, -1:] ** 2
    primal += 2 * p * last / (x[:, :-1] * x[:, -1:])
    scale = float(total) ** 2 / minibatch
    return scale * primal.sum(axis=1), np.full(len(x), scale * (p * (1 - p)).sum())


def draw(path: Path, primal: Doubles, dual: Doubles) -> Path:
    """Draw the distribution of squared errors over the posterior, on a logarithmic axis."""
    figure = new_figure(8.5, 3.8)
    axes = figure.subplots()
    axes.hist(
        np.log10(primal),
        80,
        color=COLOURS[0],
        density=True,
        label=("primal gradient (varies over the posterior)"),
    )
    axes.axvline(
        np.log10(dual[0]),
        color=COLOURS[2],
        lw=2.5,
        label=("dual gradient (constant over the posterior)"),
    )
    axes.set(
        xlabel="log10 of the expected squared error of a minibatch's gradient",
        ylabel="density",
        title="Minibatches of 100 in 10,020 observations (Hsieh et al. 2018, lemma 2)",
    )
    show_grid(axes)
    axes.legend(frameon=False, loc="upper center")
    return write_png(path, figure, dpi=90)
