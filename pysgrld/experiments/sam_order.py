"""Convergence order of SGGMC's integrator on a circle (Liu, Zhu and Song 2016, section 3.3).

The target is that of section 5.1. With an integrator of second order, the error of the stationary
distribution decreases as the square of the step size. The error is computed without sampling. In
terms of angle and velocity, one step consists of three parts: a shift of the angle by half a step
times the velocity, which is exact for Fourier coefficients, a normal transition of the velocity,
and the same shift again. The stationary distribution is the leading eigenvector of this operator.
For comparison, the Euler step of the same dynamics is of first order: the velocity becomes v - h C
v - h dU + sqrt(2 C h) z, then the angle is shifted by h v. Gradients are exact, as noise of known
variance does not change a step's distribution.
"""

from __future__ import annotations

import math
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
from pysgrld.experiments.sam_circle import TARGET
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.types import Doubles

#: Friction coefficient of the momentum.
FRICTION = 1.0
#: Step sizes in a full run.
STEPS = (0.4, 0.28, 0.2, 0.14, 0.1, 0.07, 0.05)
#: Step sizes in a quick run.
QUICK_STEPS = (0.4, 0.2)
#: Number of grid points of the angle. The distribution's Fourier coefficients of order 48 and above
#: are below 1e-12.
ANGLES = 96
#: The grid of velocities goes from minus to plus this number of standard deviations of the
#: velocity.
FASTEST = 7.5
#: Distance between neighbouring velocities in the grid. The unit is the standard deviation of the
#: noise that one step adds to the velocity.
SPACING = 0.9
LABELS = {"sggmc": "SGGMC", "euler": "Euler"}


class StationaryLaw(NamedTuple):
    """Stationary distribution of an integrator.

    Attributes
    ----------
    angles : (ANGLES,) float64
        Mass of each angle on the grid.
    temperature : float
        Mean squared velocity; 1 in the exact distribution.
    """

    angles: Doubles
    temperature: float


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Compute the errors of the two integrators; write ``order.csv`` and ``order.png``."""
    require_scipy("sam-order")
    steps = QUICK_STEPS if setting.quick else STEPS
    errors: dict[str, list[tuple[float, float]]] = {name: [] for name in LABELS}
    with listener.counting("steps", len(LABELS) * len(steps)) as tell:
        for name, of_integrator in errors.items():
            for h in steps:
                law = stationary_law(name, h)
                distance = 0.5 * float(np.abs(law.angles - exact_angles()).sum())
                of_integrator.append((distance, abs(law.temperature - 1)))
                tell(sum(map(len, errors.values())))
    rows: list[tuple[Any, ...]] = [
        (LABELS[name], f"{h:g}", *pair)
        for name, of_integrator in errors.items()
        for h, pair in zip(steps, of_integrator, strict=True)
    ]
    files = [write_csv(setting.out / "order.csv", HEAD, rows)]
    if setting.pictures:
        files.append(draw(setting.out / "order.png", errors, steps))
    return Report(HEAD, rows, sentences(errors, steps), files)


def grid() -> Doubles:
    """Return the angles of the grid in radians, (ANGLES,)."""
    return np.asarray(np.arange(ANGLES) * (2 * math.pi / ANGLES), np.float64)


def exact_angles() -> Doubles:
    """Return the exact probability of each angle on the grid, (ANGLES,)."""
    points = np.stack([np.cos(grid()), np.sin(grid())], axis=-1)
    mass = np.exp(TARGET.log_density(points))
    return np.asarray(mass / mass.sum())


def slope_of_energy() -> Doubles:
    """Return the derivative of the energy with respect to the angle, (ANGLES,)."""
    sines, cosines = np.sin(grid()), np.cos(grid())
    gradient = TARGET.gradient(np.stack([cosines, sines], axis=-1))
    return np.asarray(-sines * gradient[:, 0] + cosines * gradient[:, 1])


def stationary_law(integrator: str, h: float) -> StationaryLaw:
    """Return the stationary distribution of an integrator with step size h.

    Parameters
    ----------
    integrator : {"sggmc", "euler"}
        ``sggmc`` has the steps of `pysgrld.samplers.targets.sphere.FrictionChains`.
    h : float
        Step size.
    """
    from scipy.sparse.linalg import LinearOperator, eigs

    # A step moves along a great circle, applies friction, adds gradient and noise, applies friction
    # again, and moves along a great circle again.
    if integrator == "sggmc":
        kept, damp = math.exp(-FRICTION * h), math.exp(-0.5 * FRICTION * h)
        before, after = 0.5 * h, 0.5 * h
    else:
        kept, damp, before, after = 1 - FRICTION * h, 1.0, 0.0, h
    deviation = damp * math.sqrt(2 * FRICTION * h)
    spacing = SPACING * min(deviation, 0.5)
    v = np.arange(-math.ceil(FASTEST / spacing), math.ceil(FASTEST / spacing) + 1) * spacing
    moves = kept * v[None, None, :] - damp * h * slope_of_energy()[:, None, None]
    # The axes are angle, velocity after the step, and velocity before it.
    moves = np.exp(-0.5 * ((v[None, :, None] - moves) / deviation) ** 2)
    moves /= moves.sum(axis=1, keepdims=True)
    frequency = np.fft.rfftfreq(ANGLES, 1 / ANGLES)[:, None]
    shifts = [np.exp(-1j * frequency * v * part) for part in (before, after)]

    def shifted(law: Doubles, shift: Any) -> Doubles:
        return np.fft.irfft(np.fft.rfft(law, axis=0) * shift, ANGLES, axis=0)

    def move(flat: Doubles) -> Doubles:
        law = shifted(flat.reshape(ANGLES, len(v)), shifts[0])
        law = np.matmul(moves, law[:, :, None])[:, :, 0]
        return shifted(law, shifts[1]).ravel()

    start = exact_angles()[:, None] * np.exp(-0.5 * v * v)
    size = start.size
    operator = LinearOperator((size, size), matvec=move, dtype=np.float64)
    _, vectors = eigs(operator, k=1, v0=start.ravel(), tol=1e-10)
    law = vectors[:, 0].real.reshape(ANGLES, len(v))
    law = law / law.sum()
    return StationaryLaw(law.sum(axis=1), float((law.sum(axis=0) * v * v).sum()))


# ---- results

HEAD = ("integrator", "h", "variation", "temperature-error")


def slope(values: list[float], steps: tuple[float, ...]) -> float:
    """Return the slope of log error against log h, between the two smallest step sizes h."""
    (one, two), (h, h_next) = list(pairwise(values))[-1], list(pairwise(steps))[-1]
    return math.log(one / two) / math.log(h / h_next)


def sentences(errors: dict[str, list[tuple[float, float]]], steps: tuple[float, ...]) -> list[str]:
    """Return sentences on the slope of each integrator's error over the step size."""
    return [
        f"{LABELS[name]}: on a log scale, the error of the angle (total variation) has the "
        f"slope {slope([e[0] for e in pairs], steps):.2f}, and the error of the temperature has "
        f"the slope {slope([e[1] for e in pairs], steps):.2f}."
        for name, pairs in errors.items()
    ]


def draw(
    path: Path, errors: dict[str, list[tuple[float, float]]], steps: tuple[float, ...]
) -> Path:
    """Draw the two integrators' errors over the step size, with lines of slopes 1 and 2."""
    figure = new_figure(10.5, 4.6)
    titles = ("Total variation of the angle", "Error of the temperature")
    for i, (axes, title) in enumerate(zip(figure.subplots(1, 2), titles, strict=True)):
        for (name, pairs), colour in zip(errors.items(), (COLOURS[2], COLOURS[0]), strict=True):
            axes.plot(
                steps, [e[i] for e in pairs], "o-", color=colour, lw=2, ms=5, label=LABELS[name]
            )
        last = errors["sggmc"][-1][i], errors["euler"][-1][i]
        for order, end, style in ((2, last[0], "--"), (1, last[1], ":")):
            guide = [end * 0.6 * (h / steps[-1]) ** order for h in steps]
            axes.plot(steps, guide, color="grey", lw=1.2, ls=style, label=f"slope {order}")
        axes.set(xscale="log", yscale="log", xlabel="step size h", title=title)
        axes.set_xticks(steps, [f"{h:g}" for h in steps])
        axes.minorticks_off()
        show_grid(axes)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle("Stationary error of integrators on a circle (Liu, Zhu and Song 2016, 3.3)")
    return write_png(path, figure, dpi=90)
