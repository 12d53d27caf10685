"""Comparison of Langevin samplers, as in Figure 1 of Patterson and Teh (2013) on SGRLD.

The posterior has ten categories, counts 90, 5, 5 and seven times 0, and prior .1. Each run has
110,000 iterations. The first 10,000 are burn-in, and of the rest every 100th state is a sample. The
figure shows the effective sample size of the probabilities over the step size, and traces at the
step size with the largest effective sample size. The paper does not state its estimator: here it is
Geyer's initial monotone sequence on the kept draws, limited to the number of distinct draws. All
chains start at the posterior mean, because from a random start the largest step sizes in natural
coordinates accept no proposal. Results are means of ten chains, as a single chain that is stuck
does not represent its sampler.

The expanded-mean sampler runs twice: with the Metropolis step, as the paper describes it, and
without this step, because only the second variant agrees with the paper's figure. The table also
has the error of the sampled distribution for each step size, since draws from a wrong distribution
may easily be independent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report, write_csv
from pysgrld.experiments.processes import map_in_processes
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.samplers.targets import simplex
from pysgrld.types import Doubles

COUNTS = (90, 5, 5, 0, 0, 0, 0, 0, 0, 0)
ALPHA = 0.1
#: Step sizes epsilon in the paper's notation. They are twice the diffusion time h.
STEPS = tuple(10.0 ** (power / 2) for power in range(-10, 1))
#: Number of burn-in iterations, and number of iterations between two samples.
FULL = (10_000, 100)
#: In a quick run, number of burn-in iterations, and number of iterations between two samples.
QUICK = (100, 1)
KEPT = 1000
#: Number of chains of each sampler with each step size.
CHAINS = 10
#: Categories with a trace in the figure. Their counts are 90, 5, and 0.
SHOWN = (0, 1, 3)
RARE = 1e-6


class LangevinVariant(NamedTuple):
    """Sampler in the figure: its coordinates, its metric, and whether it has a Metropolis step."""

    label: str
    coordinates: str
    riemannian: bool
    adjusted: bool


SAMPLERS = {
    "em-rld": LangevinVariant("EM-RLD, accept step", "expanded-mean", True, True),
    "em-rld-unadjusted": LangevinVariant("EM-RLD, unadjusted", "expanded-mean", True, False),
    "rn-ld": LangevinVariant("RN-LD, accept step", "reduced-natural", False, True),
    "en-ld": LangevinVariant("EN-LD, accept step", "expanded-natural", False, True),
}


class LangevinTask(NamedTuple):
    """Task of running one sampler with one seed and all step sizes."""

    name: str
    seed: int
    burn_in: int
    thin: int


class Outcome(NamedTuple):
    """Efficiency and accuracy of a sampler with one step size.

    Attributes
    ----------
    accepted : float
        Share of accepted proposals.
    ess_mean, ess_median : float
        Mean and median effective sample size of the ten probabilities.
    zeros : float
        Mean total probability of the seven categories without counts.
    rare : float
        Share of draws below `RARE` in these categories.
    scale : float
        Mean sum of the unnormalised variables g.
    """

    accepted: float
    ess_mean: float
    ess_median: float
    zeros: float
    rare: float
    scale: float


def run(setting: ExperimentSetting, listener: ExperimentListener) -> Report:
    """Run all samplers and step sizes; write ``ess.csv``, ``traces.csv`` and ``figure1.png``."""
    burn_in, thin = QUICK if setting.quick else FULL
    tasks = [
        LangevinTask(name, seed, burn_in, thin)
        for seed in range(setting.seed, setting.seed + setting.seeds)
        for name in SAMPLERS
    ]
    listener.note(
        f"{len(SAMPLERS)} samplers, {len(STEPS)} steps, {burn_in + KEPT * thin:,} iterations"
    )
    with listener.counting("iterations, in percent", 100) as tell:
        results = map_in_processes(work, tasks, [1.0] * len(tasks), setting.threads, tell)
    outcomes = {
        name: [
            mean([o[0][index] for t, o in zip(tasks, results, strict=True) if t.name == name])
            for index in range(len(STEPS))
        ]
        for name in SAMPLERS
    }
    best = {name: best_step(outcomes[name]) for name in SAMPLERS}
    traces = {name: o[1][best[name]] for name, o in zip(SAMPLERS, results, strict=False)}
    rows: list[tuple[Any, ...]] = [("exact", None, *exact())]
    for name, of_algo in outcomes.items():
        for eps, outcome in zip(STEPS, of_algo, strict=True):
            line = (name, eps, *outcome)
            # RN-LD has no unnormalised variables g, and so no sum of g in the last column.
            rows.append((*line[:-1], None) if name == "rn-ld" else line)
    files = [
        write_csv(setting.out / "ess.csv", HEAD, rows),
        write_csv(
            setting.out / "traces.csv",
            ("sampler", "epsilon", "draw", *(f"log_phi_{c + 1}" for c in SHOWN)),
            [
                (name, STEPS[best[name]], i, *map(float, line))
                for name, trace in traces.items()
                for i, line in enumerate(trace)
            ],
        ),
    ]
    if setting.pictures:
        files.append(draw(setting.out / "figure1.png", outcomes, traces, best, setting))
    return Report(HEAD, rows, sentences(outcomes, setting), files)


def work(task: LangevinTask, share: Callable[[float], None]) -> tuple[list[Outcome], list[Doubles]]:
    """Run a sampler; for each step size, return the mean outcome and one chain's draws."""
    sampler = SAMPLERS[task.name]
    draws = simplex.langevin(
        COUNTS,
        alpha=ALPHA,
        coordinates=sampler.coordinates,
        riemannian=sampler.riemannian,
        adjusted=sampler.adjusted,
        step_size=np.tile(STEPS, CHAINS) / 2,
        chains=len(STEPS) * CHAINS,
        samples=KEPT,
        burn_in=task.burn_in,
        thin=task.thin,
        start=(np.array(COUNTS) + ALPHA) / sum(COUNTS),
        seed=task.seed,
        progress=share,
    )
    measured = [measure(draws, chain) for chain in range(len(STEPS) * CHAINS)]
    outcomes = [mean(measured[index :: len(STEPS)]) for index in range(len(STEPS))]
    return outcomes, [draws.log_omega[:, index, list(SHOWN)] for index in range(len(STEPS))]


def measure(draws: simplex.Draws, chain: int) -> Outcome:
    """Return the efficiency and accuracy of a chain."""
    assert draws.accepted is not None
    phi = np.exp(draws.log_omega[:, chain])
    sizes = [effective_size(series) for series in phi.T]
    return Outcome(
        float(draws.accepted[chain]),
        statistics.fmean(sizes),
        statistics.median(sizes),
        float(phi[:, 3:].sum(axis=1).mean()),
        float((phi[:, 3:] < RARE).mean()),
        float(np.exp(draws.log_mass[:, chain]).mean()),
    )


def effective_size(series: Doubles) -> float:
    """Return the effective sample size of a series, by Geyer's (1992) initial monotone sequence.

    The result is at least 1 and at most the number of distinct draws. Without this limit, a chain
    that stops moving would look uncorrelated.
    """
    n, different = len(series), len(np.unique(series))
    centred = series - series.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    covariances = np.fft.irfft(spectrum * spectrum.conj(), 2 * n)[:n] / n
    # If the variance is almost 0, the chain has never moved.
    if not covariances[0] > 1e-12 * (series * series).mean():
        return 1.0
    pairs = covariances[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    spread = 2 * pairs.sum() - covariances[0]
    size = n * covariances[0] / spread if spread > 0 else n
    return float(np.clip(size, 1.0, different))


def mean(outcomes: list[Outcome]) -> Outcome:
    """Return the mean of each field over the outcomes of chains or seeds."""
    return Outcome._make(map(statistics.fmean, zip(*outcomes, strict=True)))


def best_step(outcomes: list[Outcome]) -> int:
    """Return the index of the step size with the greatest mean effective sample size."""
    return max(range(len(outcomes)), key=lambda index: outcomes[index].ess_mean)


# ---- results

HEAD = (
    "sampler",
    "epsilon",
    "accepted",
    "ess-mean",
    "ess-median",
    "mass-without-counts",
    "below-1e-6",
    "sum-of-g",
)


def exact() -> Outcome:
    """Return the outcome expected for independent posterior samples, in closed form."""
    total = sum(COUNTS) + ALPHA * len(COUNTS)
    zeros = ALPHA * COUNTS.count(0) / total
    log_beta = math.lgamma(ALPHA) + math.lgamma(total - ALPHA) - math.lgamma(total)
    # The probability below x is x^a / (a B(a, b)) (1 - (b - 1) a x / (a + 1)). The next term is
    # smaller by the factor 1e-9.
    rest = 1 - (total - ALPHA - 1) * ALPHA / (ALPHA + 1) * RARE
    rare = math.exp(ALPHA * math.log(RARE) - log_beta) / ALPHA * rest
    return Outcome(math.nan, KEPT, KEPT, zeros, rare, ALPHA * len(COUNTS))


def sentences(outcomes: dict[str, list[Outcome]], setting: ExperimentSetting) -> list[str]:
    """Return sentences on the sampler with the largest effective sample size, and on its bias."""
    text = []
    if setting.quick:
        text.append("quick test with few iterations: it shows only that the experiment runs.")
    best_steps = {name: best_step(of_algo) for name, of_algo in outcomes.items()}
    best = {name: outcomes[name][best_steps[name]] for name in outcomes}
    adjusted = sorted(
        (n for n in SAMPLERS if SAMPLERS[n].adjusted), key=lambda n: -best[n].ess_mean
    )
    order = ", ".join(
        f"{SAMPLERS[n].label.split(',')[0]} {best[n].ess_mean:.0f} (epsilon {STEPS[best_steps[n]]:.2g}, "
        f"accepts {best[n].accepted:.0%})"
        for n in adjusted
    )
    verdict = "as in the paper" if adjusted[0] == "em-rld" else "NOT the paper's order"
    text.append(
        f"with a correct accept step, the best mean ESS of {KEPT} draws is {order}: {verdict}."
    )
    free, truth = best["em-rld-unadjusted"], exact()
    top = max(best, key=lambda n: best[n].ess_mean)
    text.append(
        f"without the accept step, EM-RLD has ESS {free.ess_mean:.0f} at epsilon "
        f"{STEPS[best_steps['em-rld-unadjusted']]:.2g}, "
        + ("the highest of all" if top == "em-rld-unadjusted" else "not the highest")
        + ", but a wrong distribution: the seven categories without counts have "
        f"{free.zeros:.4f} of the mass, {free.zeros / truth.zeros:.1f} times the exact "
        f"{truth.zeros:.4f}, and {free.rare:.0%} of their draws are below 1e-6 instead of "
        f"{truth.rare:.0%}."
    )
    return text


def draw(
    path: Path,
    outcomes: dict[str, list[Outcome]],
    traces: dict[str, Doubles],
    best: dict[str, int],
    setting: ExperimentSetting,
) -> Path:
    """Draw effective sample size and bias over step size, and traces at the best step size."""
    figure = new_figure(12.5, 8.2)
    rows = figure.subfigures(2, 1, height_ratios=(1.15, 1))
    size, bias = rows[0].subplots(1, 2)
    truth = exact()
    for (name, of_algo), colour in zip(outcomes.items(), COLOURS, strict=False):
        label = SAMPLERS[name].label
        size.plot(STEPS, [o.ess_mean for o in of_algo], "o-", color=colour, lw=2, ms=4, label=label)
        size.plot(STEPS, [o.ess_median for o in of_algo], color=colour, lw=1.2, ls=":")
        moving = [(eps, o) for eps, o in zip(STEPS, of_algo, strict=True) if o.ess_mean > 10]
        bias.plot(
            [eps for eps, _ in moving], [o.zeros for _, o in moving], "o-", color=colour, lw=2, ms=4
        )
    size.plot([], [], color="black", lw=1.2, ls=":", label="median instead of mean")
    size.set(
        ylim=(0, 1050),
        ylabel=f"effective sample size of {KEPT} draws, mean of 10 categories",
        title="How independent the draws are",
    )
    bias.axhline(truth.zeros, color="black", lw=1.2)
    bias.annotate(
        "exact", (1, truth.zeros), (4, 0), ("axes fraction", "data"), "offset points", va="center"
    )
    bias.set(
        yscale="log",
        ylabel="mass of the 7 categories without counts",
        title="Bias (if the effective sample size is above 10)",
    )
    for axes in (size, bias):
        axes.set(
            xscale="log", xlabel="step size epsilon = 2h", xlim=(STEPS[0] / 1.5, STEPS[-1] * 1.5)
        )
        show_grid(axes)
    rows[0].legend(loc="outside right center", frameon=False)
    panels = rows[1].subplots(1, len(traces), sharey=True)
    lowest = min(trace.min() for trace in traces.values()) / math.log(10)
    for axes, (name, trace) in zip(panels, traces.items(), strict=True):
        for column, (category, colour) in enumerate(zip(SHOWN, COLOURS[2:], strict=False)):
            axes.plot(
                trace[:, column] / math.log(10),
                color=colour,
                lw=0.7,
                label=f"category with {COUNTS[category]} of 100 counts",
            )
        axes.set_title(f"{SAMPLERS[name].label}, epsilon {STEPS[best[name]]:.2g}", fontsize=10)
        axes.set_xlabel("kept draw")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="log10 of the probability", ylim=(5 * math.floor(lowest / 5), 1))
    handles, labels = panels[0].get_legend_handles_labels()
    lines = rows[1].legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    for line in lines.get_lines():
        line.set_linewidth(2.2)
    figure.suptitle(
        "Langevin samplers on a Dirichlet posterior"
        + (", few iterations" if setting.quick else "")
        + " (Patterson and Teh 2013, Figure 1)"
    )
    return write_png(path, figure, dpi=80)
