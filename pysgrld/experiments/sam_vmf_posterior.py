"""Posterior of two directions, given points on a circle (Liu, Zhu and Song 2016, section 5.2).

Both directions, v1 and v2, have the prior vMF(e1, 20). Half of a hundred points are around v1, and
half around m, the direction of v1 + v2, each with the distribution vMF(., 20); the sampler does not
know to which half a point belongs. The paper draws the points with v1 and v2 at -7.5 and 22.5
degrees, and does not list them; here they are quantiles of the nearest normal distribution, and
thus the same in every run. The exact posterior is summed on a grid, and angles are compared in ten
bins.

Minibatches have ten points, drawn with replacement, as in the paper. The paper states neither step
size nor friction; we chose them. Chains start from the prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report, write_csv
from pysgrld.experiments.processes import map_in_processes
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.samplers.targets.sphere import VonMisesFisher, sample
from pysgrld.types import Doubles, Int64s

KAPPA, MINIBATCH = 20.0, 10
#: True angles of v1 and v2 in radians, from which the points are generated.
TRUTH = (-math.pi / 24, math.pi / 8)
#: For each angle, the grid goes from minus to plus this number of radians.
REACH = 1.6
#: Number of grid points of each angle.
GRID = 256
#: A cell of the picture joins this number of grid cells in each direction.
JOINED = 2
ANGLES = (np.arange(GRID) + 0.5) * 2 * REACH / GRID - REACH
BINS = 10
CHAINS, QUICK_CHAINS, QUICK_KEPT = 1000, 50, 2


class TwoDirections:
    """Energy (negative log posterior) of two unit vectors, given points on a circle.

    Parameters
    ----------
    points : (N, 2) float64
        Unit vectors.
    """

    def __init__(self, points: Doubles) -> None:
        self.points, self.observations = points, len(points)

    def energy(self, v: Doubles) -> Doubles:
        """Return the energy of each chain, (chains,)."""
        middle, _ = self._middle(v)
        along = np.einsum("nd,cd->nc", self.points, v[:, 0])
        beyond = np.einsum("nd,cd->nc", self.points, middle)
        likely = np.logaddexp(KAPPA * along, KAPPA * beyond).sum(axis=0)
        return np.asarray(-KAPPA * v[..., 0].sum(axis=1) - likely)

    def gradient(self, v: Doubles) -> Doubles:
        """Return the gradient of the energy, with the shape of v."""
        every = np.broadcast_to(np.arange(self.observations), (len(v), self.observations))
        return np.asarray(self.estimates(v, every).mean(axis=1))

    def estimates(self, v: Doubles, chosen: Int64s) -> Doubles:
        """Return gradient estimates, each from a single point, (chains, minibatch, 2, 2)."""
        x = self.points[chosen]
        middle, length = self._middle(v)
        beyond = np.einsum("cbd,cd->cb", x, middle)
        first = 1.0 / (1.0 + np.exp(KAPPA * (beyond - np.einsum("cbd,cd->cb", x, v[:, 0]))))
        shared = (x - beyond[..., None] * middle[:, None]) * ((1 - first) / length)[..., None]
        terms = np.stack([first[..., None] * x + shared, shared], axis=2)
        gradients = -KAPPA * self.observations * terms
        gradients[..., 0] -= KAPPA
        return np.asarray(gradients)

    def _middle(self, v: Doubles) -> tuple[Doubles, Doubles]:
        """Return the direction and the length of the sum of both vectors."""
        total = v.sum(axis=1)
        length = np.sqrt(np.einsum("cd,cd->c", total, total))[:, None]
        return total / length, length


class PosteriorRow(NamedTuple):
    """Sampler in the experiment, as arguments to `pysgrld.samplers.targets.sphere.sample`."""

    step_size: float
    friction: float = math.nan
    minibatch: int | None = None
    estimate: str | None = None
    algo: str = "sggmc"
    burn_in: int = 3_000
    iterations: int = 9_000


ROWS = {
    "gmc": PosteriorRow(0.03, algo="gmc", burn_in=20, iterations=200),
    "sggmc-full": PosteriorRow(0.01, 10.0, burn_in=500, iterations=1_500),
    "sggmc": PosteriorRow(0.002, 30.0, MINIBATCH, "fisher"),
    "sggmc-long": PosteriorRow(0.005, 30.0, MINIBATCH, "fisher"),
    "sggmc-ignored": PosteriorRow(0.005, 30.0, MINIBATCH),
    # The friction of the thermostat needs a long burn-in until it has converged.
    "gsgnht": PosteriorRow(0.005, 10.0, MINIBATCH, algo="gsgnht", burn_in=20_000),
}
#: Number of iterations between two samples.
THIN = 10


class PosteriorTask(NamedTuple):
    """Task of running one sampler with one seed; ``quick`` shortens the run."""

    row: str
    seed: int
    quick: bool


class PosteriorOutcome(NamedTuple):
    """Histogram of the samples on a grid, and statistics of the chains.

    Attributes
    ----------
    mass : (GRID, GRID) float64
        Share of the draws in the cell of each pair of grid angles, v1 by v2.
    temperature, clipped, accepted : float
        Values as in `pysgrld.samplers.targets.sphere.SphereDraws`; the last two as shares of all
        steps.
    """

    mass: Doubles
    temperature: float
    clipped: float
    accepted: float


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Run all samplers; write ``rows.csv``, ``densities.csv`` and ``posterior.png``."""
    tasks = [PosteriorTask(row, setting.seed, setting.quick) for row in ROWS]
    listener.note(f"{len(tasks)} rows of {QUICK_CHAINS if setting.quick else CHAINS:,} chains")
    # Runs that estimate the noise cost more, because they compute a covariance.
    costs = [
        (row.burn_in + row.iterations)
        * (5.0 if row.minibatch is None else 2.0 if row.estimate is None else 3.0)
        * (10 if row.algo == "gmc" else 1)
        for row in ROWS.values()
    ]
    with listener.counting("rows, in percent", 100) as tell:
        outcomes = map_in_processes(work, tasks, costs, setting.threads, tell)
    by_row = dict(zip(ROWS, outcomes, strict=True))
    laws = {"exact": exact()} | {name: o.mass for name, o in by_row.items()}
    rows = table(by_row, laws)
    files = [
        write_csv(setting.out / "rows.csv", HEAD, rows),
        write_csv(
            setting.out / "densities.csv",
            ("angle", *(f"{name}_v{i + 1}" for name in laws for i in (0, 1))),
            [
                (
                    float(a),
                    *(float(m.sum(axis=1 - i)[index]) for m in laws.values() for i in (0, 1)),
                )
                for index, a in enumerate(ANGLES)
            ],
        ),
    ]
    if setting.pictures:
        files.append(draw(setting.out / "posterior.png", laws, quick=setting.quick))
    return Report(HEAD, rows, sentences(rows, quick=setting.quick), files)


# ---- the posterior


def points() -> Doubles:
    """Return the hundred data points on the circle, (100, 2)."""
    normal = NormalDist(0.0, KAPPA**-0.5)
    quantiles = np.array([normal.inv_cdf((i + 0.5) / 50) for i in range(50)])
    angles = np.concatenate([TRUTH[0] + quantiles, sum(TRUTH) / 2 + quantiles])
    return circle_points(angles)


def circle_points(angles: Doubles) -> Doubles:
    """Return the unit vectors with the given angles, (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def exact() -> Doubles:
    """Return the exact posterior probability of each pair of grid angles, v1 by v2."""
    target, circle = TwoDirections(points()), circle_points(ANGLES)
    energies = np.array(
        [
            target.energy(np.stack([np.broadcast_to(v1, circle.shape), circle], axis=1))
            for v1 in circle
        ]
    )
    mass = np.exp(energies.min() - energies)
    return np.asarray(mass / mass.sum())


def moments(mass: Doubles) -> tuple[float, float, float]:
    """Return the two standard deviations and the correlation of a distribution on the grid."""
    away = [ANGLES - mass.sum(axis=1 - i) @ ANGLES for i in (0, 1)]
    first, second = (float(mass.sum(axis=1 - i) @ away[i] ** 2) ** 0.5 for i in (0, 1))
    return first, second, float(away[0] @ mass @ away[1]) / (first * second)


# ---- sampling


def work(task: PosteriorTask, share: Callable[[float], None]) -> PosteriorOutcome:
    """Run one sampler."""
    row = ROWS[task.row]
    chains = QUICK_CHAINS if task.quick else CHAINS
    n_draws = QUICK_KEPT if task.quick else row.iterations // THIN
    burn_in = 0 if task.quick else row.burn_in
    prior = VonMisesFisher([1.0, 0.0], KAPPA).draw(2 * chains, seed=task.seed)
    draws = sample(
        TwoDirections(points()),
        prior.reshape(chains, 2, 2),
        algo=row.algo,
        step_size=row.step_size,
        friction=row.friction,
        minibatch=row.minibatch,
        noise_estimate=row.estimate,
        samples=n_draws,
        burn_in=burn_in,
        thin=THIN,
        seed=task.seed,
        progress=share,
    )
    angles = np.arctan2(draws.x[..., 1], draws.x[..., 0]).reshape(-1, 2)
    angles = np.clip(angles, -0.999 * REACH, 0.999 * REACH)
    reach = (-REACH, REACH)
    mass = np.histogram2d(angles[:, 0], angles[:, 1], GRID, (reach, reach))[0]
    return PosteriorOutcome(
        mass / mass.sum(),
        float(draws.temperature.mean()),
        float(draws.clipped.mean()) / (burn_in + n_draws * THIN),
        float(draws.accepted.mean()),
    )


# ---- results

HEAD = (
    "sampler",
    "step",
    "C",
    "variation-v1",
    "variation-v2",
    "sd-v1",
    "sd-v2",
    "correlation",
    "temperature",
    "clipped",
)


def variation(mass: Doubles, law: Doubles, axis: int) -> float:
    """Return the total variation distance between two distributions of one angle, in ten bins."""
    marginal, exactly = (m.sum(axis=1 - axis) for m in (mass, law))
    bins = np.floor((np.cumsum(exactly) - exactly / 2) * BINS).astype(int)
    return 0.5 * float(np.abs(np.bincount(bins, marginal - exactly)).sum())


def table(by_row: dict[str, PosteriorOutcome], laws: dict[str, Doubles]) -> list[tuple[Any, ...]]:
    """Return a table line for the exact posterior, then a line for each sampler."""
    lines: list[tuple[Any, ...]] = []
    for name, mass in laws.items():
        far = [variation(mass, laws["exact"], i) for i in (0, 1)]
        if name == "exact":
            lines.append((name, None, None, *far, *moments(mass), None, None))
            continue
        row, o = ROWS[name], by_row[name]
        friction = None if math.isnan(row.friction) else f"{row.friction:g}"
        warm = None if row.algo == "gmc" else o.temperature
        clipped = o.clipped if row.estimate else None
        lines.append((name, f"{row.step_size:g}", friction, *far, *moments(mass), warm, clipped))
    return lines


def sentences(rows: list[tuple[Any, ...]], *, quick: bool) -> list[str]:
    """Return sentences on the errors of samplers that estimate or ignore minibatch noise."""
    cells = {row[0]: row for row in rows}
    text = []
    if quick:
        text.append(
            "quick test with few chains and iterations: it shows only that the experiment runs."
        )
    far = {name: max(row[3:5]) for name, row in cells.items()}
    verdict = "as in the paper" if far["sggmc"] < 0.02 else "NOT as in the paper"
    text.append(
        f"total variation distance between sampled and exact angles of the two unit vectors: at "
        f"most {far['sggmc']:.3f} with minibatches of {MINIBATCH} and noise estimated by the "
        f"empirical Fisher information, {far['gmc']:.3f} with all points (GMC): {verdict}."
    )
    text.append(
        f"with steps of .005, the total variation distance is {far['sggmc-long']:.3f} with "
        f"estimated noise ({cells['sggmc-long'][9]:.0%} of the steps have more noise than the "
        f"sampler can correct), {far['sggmc-ignored']:.3f} with noise ignored, and "
        f"{far['gsgnht']:.3f} with the thermostat (temperature {cells['gsgnht'][8]:.2f}). The "
        "noise differs between directions, but the friction does not."
    )
    return text


def draw(path: Path, laws: dict[str, Doubles], *, quick: bool) -> Path:
    """Draw the marginal densities of both angles, and the joint densities: exact and by SGGMC."""
    cells = GRID // JOINED
    joint = {n: m.reshape(cells, JOINED, cells, JOINED).sum(axis=(1, 3)) for n, m in laws.items()}
    figure = new_figure(13, 6.6)
    places = figure.add_gridspec(2, 3, width_ratios=(1.5, 1, 1))
    end = math.degrees(REACH)
    angles, width = (np.arange(cells) + 0.5) * 2 * end / cells - end, 2 * end / cells
    styles = {
        "gmc": ("GMC, all points", COLOURS[3], "--"),
        "sggmc": ("SGGMC, minibatches of 10", COLOURS[2], "-"),
        "sggmc-ignored": ("... longer steps, noise ignored", COLOURS[0], ":"),
    }
    for i in (0, 1):
        axes = figure.add_subplot(places[i, 0])
        law = joint["exact"].sum(axis=1 - i) / width
        axes.fill_between(angles, law, color="#cccccc", lw=0, label="the posterior")
        for name, (label, colour, style) in styles.items():
            marginal = joint[name].sum(axis=1 - i) / width
            axes.plot(angles, marginal, style, color=colour, lw=1.8, label=label)
        axes.set(
            xlim=((-25, 25), (-45, 45))[i],
            ylim=(0, 1.45 * law.max()),
            ylabel="density",
            title=f"v{i + 1}",
        )
        show_grid(axes)
    axes.set(xlabel="angle, degrees")
    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper center", ncols=2)
    for column, (name, title) in enumerate((("exact", "the posterior"), ("sggmc", "SGGMC")), 1):
        axes = figure.add_subplot(places[:, column])
        axes.imshow(
            joint[name].T,
            origin="lower",
            extent=(-end, end, -end, end),
            vmin=0,
            vmax=joint["exact"].max(),
            cmap="Blues",
        )
        axes.set(xlim=(-25, 25), ylim=(-45, 45), xlabel="v1, degrees", title=title)
        axes.set(ylabel="v2, degrees" if column == 1 else "")
    figure.suptitle(
        "Two directions given a hundred points"
        + (", few chains" if quick else "")
        + " (Liu, Zhu and Song 2016, section 5.2)"
    )
    return write_png(path, figure, dpi=90)
