"""Geodesic Monte Carlo with gradient noise on a circle (Liu, Zhu and Song 2016, section 5.1).

The energy is -log(exp(5 m1'x) + 2 exp(5 m2'x)), with m1 and m2 at 60 degrees to either side of the
x axis. Gradients are exact, plus normal noise of variance 1000 in each of their two components. The
paper states neither step size nor friction; ours are eps = .005 and C = 5, so that noise that a
sampler does not model raises the temperature of chains to 1 + 1000 eps / (2 C) = 1.5. Chains start
from exact draws: the figure shows their stationary distribution, not the time that they need to
cross between modes.

The thermostat runs twice, with two divisors: the dimension of the circle, 1, and the dimension of
the plane around it, 2, as in the released code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report, write_csv
from pysgrld.experiments.processes import map_in_processes
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.samplers.targets.sphere import (
    FrictionChains,
    Gradients,
    SphereDraws,
    VonMisesFisher,
    follow,
    sample,
)
from pysgrld.types import Doubles, Schedule

TARGET = VonMisesFisher([[0.5, 0.75**0.5], [0.5, -(0.75**0.5)]], kappa=5.0, weights=[1, 2])
#: Variance of the noise added to gradients.
NOISE = 1000.0
BINS = 36
CHAINS, QUICK_CHAINS = 2000, 50
BURN_IN, KEPT, THIN = 6000, 200, 20
QUICK_BURN_IN, QUICK_KEPT = 200, 10


class CircleRow(NamedTuple):
    """Sampler in the experiment: its label, and its arguments to `targets.sphere.sample`."""

    label: str
    step_size: float
    friction: float
    noise: float = NOISE
    estimate: float | None = None
    algo: str = "sggmc"


ROWS = {
    "exact": CircleRow("exact draws", math.nan, math.nan, 0.0),
    "gmc": CircleRow("GMC", 0.3, math.nan, 0.0, algo="gmc"),
    "sggmc-quiet": CircleRow("SGGMC, no noise", 0.05, 1.0, 0.0),
    "sggmc": CircleRow("SGGMC, noise known", 0.005, 5.0, estimate=NOISE),
    "sggmc-ignored": CircleRow("SGGMC, noise ignored", 0.005, 5.0),
    "gsgnht": CircleRow("gSGNHT", 0.005, 5.0, algo="gsgnht"),
    "gsgnht-released": CircleRow("gSGNHT as released", 0.005, 5.0, algo="released"),
}
#: Samplers whose density the figure shows.
SHOWN = ("sggmc", "sggmc-ignored", "gsgnht", "gsgnht-released")


class CircleTask(NamedTuple):
    """Task of running one sampler with one seed; ``quick`` shortens the run."""

    row: str
    seed: int
    quick: bool


class CircleOutcome(NamedTuple):
    """Histogram of the sampled angles, mean temperature, mean friction, and 100 sampled angles."""

    counted: list[int]
    temperature: float
    friction: float
    first: list[float]


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Run all samplers; write ``rows.csv``, ``angles.csv`` and ``circle.png``."""
    tasks = [CircleTask(row, setting.seed, setting.quick) for row in ROWS]
    listener.note(f"{len(tasks)} rows of {QUICK_CHAINS if setting.quick else CHAINS:,} chains")
    with listener.counting("rows, in percent", 100) as tell:
        outcomes = map_in_processes(work, tasks, [1.0] * len(tasks), setting.threads, tell)
    by_row = dict(zip(ROWS, outcomes, strict=True))
    # The second total variation in a row compares the exact distribution at the sampler's
    # temperature with the exact distribution at temperature 1.
    rows = [
        (
            name,
            None if math.isnan(ROWS[name].step_size) else f"{ROWS[name].step_size:g}",
            None if math.isnan(ROWS[name].friction) else f"{ROWS[name].friction:g}",
            variation(share(o)),
            o.temperature,
            None if math.isnan(o.temperature) else variation(masses(o.temperature)),
            o.friction if ROWS[name].algo in ("gsgnht", "released") else None,
        )
        for name, o in by_row.items()
    ]
    edges = np.linspace(-180, 180, BINS + 1)
    files = [
        write_csv(setting.out / "rows.csv", HEAD, rows),
        write_csv(
            setting.out / "angles.csv",
            ("from_degrees", "to_degrees", "law", *ROWS),
            zip(
                map(float, edges[:-1]),
                map(float, edges[1:]),
                map(float, masses()),
                *(list(map(float, share(o))) for o in by_row.values()),
                strict=True,
            ),
        ),
    ]
    if setting.pictures:
        files.append(draw(setting.out / "circle.png", by_row, quick=setting.quick))
    return Report(HEAD, rows, sentences(by_row, quick=setting.quick), files)


# ---- sampling


def work(task: CircleTask, share: Callable[[float], None]) -> CircleOutcome:
    """Run one sampler, and count its angles in the histogram bins."""
    row = ROWS[task.row]
    chains = QUICK_CHAINS if task.quick else CHAINS
    burn_in, n_draws = (QUICK_BURN_IN, QUICK_KEPT) if task.quick else (BURN_IN, KEPT)
    start = TARGET.draw(chains, seed=task.seed)
    # GMC makes longer moves in an iteration, so it needs neither burn-in nor thinning.
    exact = row.algo == "gmc"
    if task.row == "exact":
        x = TARGET.draw(chains * n_draws, seed=task.seed + 1)
        draws = SphereDraws(x[:, None], *(np.full(1, math.nan),) * 4)
    elif row.algo == "released":
        gradients = Gradients(TARGET, start, None, row.noise, row.estimate, task.seed)
        moved = FrictionChains(
            gradients, start, row.step_size, row.friction, task.seed, thermostat=True
        )
        # The degrees of freedom should be the dimension of the circle, 1, but the released code
        # uses the dimension of the plane, 2.
        moved.degrees = 2
        draws = follow(moved, Schedule(row.step_size, 1.0, 0.0), n_draws, burn_in, THIN, share)
    else:
        draws = sample(
            TARGET,
            start,
            algo=row.algo,
            step_size=row.step_size,
            friction=row.friction,
            gradient_noise=row.noise,
            noise_estimate=row.estimate,
            leaps=5,
            samples=n_draws,
            burn_in=0 if exact else burn_in,
            thin=1 if exact else THIN,
            seed=task.seed,
            progress=share,
        )
    angles = np.arctan2(draws.x[..., 1], draws.x[..., 0])
    return CircleOutcome(
        np.histogram(angles, BINS, (-math.pi, math.pi))[0].tolist(),
        math.nan if exact else float(draws.temperature.mean()),
        float(draws.friction.mean()),
        angles[-1].ravel()[:100].tolist(),
    )


def masses(temperature: float = 1.0) -> Doubles:
    """Return the exact probability of each histogram bin, at a given temperature."""
    fine = 100
    angles = ((np.arange(BINS * fine) + 0.5) / (BINS * fine) * 2 - 1) * math.pi
    log_density = TARGET.log_density(np.stack([np.cos(angles), np.sin(angles)], axis=-1))
    mass = np.exp(log_density / temperature).reshape(BINS, fine).sum(axis=1)
    return np.asarray(mass / mass.sum())


def share(outcome: CircleOutcome) -> Doubles:
    """Return the fraction of the sampled angles in each histogram bin."""
    return np.array(outcome.counted) / sum(outcome.counted)


def variation(p: Doubles) -> float:
    """Return the total variation distance of a histogram from the exact distribution."""
    return 0.5 * float(np.abs(p - masses()).sum())


# ---- results

HEAD = ("sampler", "step", "C", "variation", "temperature", "variation-at-it", "friction")


def sentences(by_row: dict[str, CircleOutcome], *, quick: bool) -> list[str]:
    """Return sentences on distances and temperatures, with and without a model of the noise."""
    far = {name: variation(share(o)) for name, o in by_row.items()}
    hot = {name: o.temperature for name, o in by_row.items()}
    text = []
    if quick:
        text.append(
            "quick test with few chains and iterations: it shows only that the experiment runs."
        )
    verdict = "as in the paper" if far["sggmc"] < 0.02 else "NOT as in the paper"
    text.append(
        f"noise known to the sampler: total variation {far['sggmc']:.3f} (exact draws "
        f"{far['exact']:.3f}), temperature {hot['sggmc']:.2f}: {verdict}. Noise ignored: total "
        f"variation {far['sggmc-ignored']:.3f}, temperature {hot['sggmc-ignored']:.2f}."
    )
    text.append(
        f"thermostat for the dimension of the circle: temperature {hot['gsgnht']:.2f}, total "
        f"variation {far['gsgnht']:.3f}; for the dimension of the plane, as in the released code: "
        f"temperature {hot['gsgnht-released']:.2f}, total variation "
        f"{far['gsgnht-released']:.3f}, a factor of d / (d - 1) = 2."
    )
    return text


def draw(path: Path, by_row: dict[str, CircleOutcome], *, quick: bool) -> Path:
    """Draw a hundred sampled points on the circle, and the densities of the angle."""
    colours = dict(zip(SHOWN, (COLOURS[2], COLOURS[0], COLOURS[3], COLOURS[1]), strict=True))
    figure = new_figure(12, 5.2)
    density_axes, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    degrees = (np.arange(720) + 0.5) / 2 - 180
    angles = np.radians(degrees)
    density = np.exp(TARGET.log_density(np.stack([np.cos(angles), np.sin(angles)], axis=-1)))
    width = 2 * math.pi / BINS
    ring = 1 + density
    density_axes.plot(np.cos(angles), np.sin(angles), color="#bbbbbb", lw=1)
    density_axes.plot(ring * np.cos(angles), ring * np.sin(angles), color="black", lw=1.4)
    centres = (np.arange(BINS) + 0.5) * width - math.pi
    height = 1 + share(by_row["sggmc"]) / width
    for a, h in zip(centres, height, strict=True):
        edge = np.linspace(a - width / 2, a + width / 2, 9)
        rim = np.concatenate([edge, edge[::-1]])
        out = np.concatenate([np.full(9, h), np.ones(9)])
        density_axes.fill(
            out * np.cos(rim), out * np.sin(rim), color=colours["sggmc"], alpha=0.35, lw=0
        )
    points = np.array(by_row["sggmc"].first)
    density_axes.plot(np.cos(points), np.sin(points), "o", ms=4, color=colours["sggmc"], alpha=0.6)
    density_axes.set(
        aspect="equal",
        title=("SGGMC, noise known: 100 draws;\noutside: all draws, and the exact density"),
    )
    density_axes.set_axis_off()
    right.plot(degrees, density, color="black", lw=1.6, label="the law")
    for name in SHOWN:
        o = by_row[name]
        label = f"{ROWS[name].label}: temperature {o.temperature:.2f}"
        heights = np.append(share(o), share(o)[-1]) / width
        right.step(
            np.linspace(-180, 180, BINS + 1),
            heights,
            where="post",
            color=colours[name],
            lw=1.8,
            label=label,
        )
    right.set(
        xlabel="angle, degrees",
        ylabel="density",
        xlim=(-180, 180),
        xticks=range(-180, 181, 60),
        title="Density of the angle",
    )
    show_grid(right)
    figure.legend(
        *right.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.suptitle(
        "A circle, gradients with noise of variance 1000"
        + (", few chains" if quick else "")
        + " (Liu, Zhu and Song 2016, section 5.1)"
    )
    return write_png(path, figure, dpi=90)
