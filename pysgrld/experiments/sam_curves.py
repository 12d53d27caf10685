"""Comparison of six methods for directional data over training time (Liu et al. 2016, Figure 5).

The first panel has the settings of the released code. With its step sizes the proportions do not
move, so that both the paper's curves and these show a least-squares fit. The second panel has
sgmc's settings and the same model. Minibatch samplers also have rows that see the whole corpus in
each iteration (``-full``), with one step of the topics per iteration, as in the released code.
Geodesic Monte Carlo also has rows with an adapted step size (``-adapted``).

Two scores are shown. The paper's log-perplexity averages over 200 proportions drawn from the prior;
it is far too high for concentrated documents, and carries little information. The other score uses
importance sampling of each document's proportions. For variational Bayes, which has no samples,
both scores use its topics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.experiments.corpora import read_parts
from pysgrld.experiments.curves import (
    WHOLE,
    Curve,
    Length,
    TrainingRow,
    plot,
    run_rows,
    scale_seconds,
    score,
)
from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png

PUBLISHED, OURS = "settings of the released code", "sgmc's settings"
#: Samplers with minibatches, in the paper's order, best first.
NOISY = ("gsgnht", "sggmc")
#: Samplers that use the whole corpus, in the paper's order, best first.
EXACT = ("gmc-apprmh", "gmc-bgibbs")
#: Variational methods, in the paper's order, best first.
FITTED = ("vi", "svi")
_ALL = {"minibatch": 2**53}
#: Options of runs with sgmc's settings in which each iteration uses the whole corpus. Their burn-in
#: is shorter than by default.
_SHORT = {"burn-in": 20, "sample-every": 1}
#: Options of further runs of geodesic Monte Carlo, whose step size is adapted in the burn-in.
_ADAPTED = {"adapted-iterations": 40, "burn-in": 40, "sample-every": 1}
#: Line styles of the rows' curves in the picture, by the suffix of a row's name.
DASHES = {"full": "--", "adapted": "-."}


class Study(NamedTuple):
    """Settings of an experiment for one panel of Figure 5, which shows one corpus.

    Attributes
    ----------
    model : dict
        Options of the model, for all rows.
    gamma : float
        Parameter of the step size of SGGMC and gSGNHT, which is sqrt(gamma / D) in the released
        code.
    noisy, bgibbs, apprmh, svi : dict
        Options of the released code that differ from ``--preset sam-2016``, for each method.
    seconds : float
        Training time of a row, in seconds.
    """

    model: Mapping[str, Any]
    gamma: float
    noisy: Mapping[str, Any]
    bgibbs: Mapping[str, Any]
    apprmh: Mapping[str, Any]
    svi: Mapping[str, Any]
    seconds: float


#: Settings for three newsgroups, Figure 5 (a), the corpus of Reisinger et al. (2010). A document is
#: its vector of word counts divided by the vector's norm, without weights by document frequency.
#: The settings are ``--preset sam-2016``.
NEWS = Study(
    {"topics": 20, "alpha": 10.0, "kappa": 3e4, "sigma": 1e4, "kappa0": 1e4, "weighting": "tf"},
    gamma=1e-2,
    noisy={},
    bgibbs={},
    apprmh={},
    svi={},
    seconds=60.0,
)
#: Settings for Wikipedia, Figure 5 (b). The paper's 150,000 articles are not published. Word counts
#: are weighted by tf-idf.
WIKIPEDIA = Study(
    {"topics": 50, "alpha": 10.0, "kappa": 2e4, "sigma": 6e3, "kappa0": 6e3, "weighting": "tf-idf"},
    gamma=1e-1,
    noisy={"minibatch": 100, "friction": 0.5},
    bgibbs={"step-size": (5e-6, 1.0, 0.0)},
    apprmh={"sweeps": 15, "step-size": (5e-5, 1.0, 0.0)},
    svi={"minibatch": 100},
    seconds=300.0,
)


def rows(study: Study, documents: int) -> list[TrainingRow]:
    """Return a study's training runs: six methods, with published and with sgmc's settings."""
    step = (math.sqrt(study.gamma / documents), 1.0, 0.0)
    of_algo = {
        **{algo: {**study.noisy, "step-size": step} for algo in NOISY},
        "gmc-bgibbs": study.bgibbs,
        "gmc-apprmh": study.apprmh,
        "svi": study.svi,
    }
    training_rows = []
    for algo in (*NOISY, *EXACT, *FITTED):
        settings = {**study.model, "preset": "sam-2016", "algo": algo, **of_algo.get(algo, {})}
        spacing = {"burn-in": 0, "sample-every": 10 if algo in NOISY else 1}
        settings |= {} if algo in FITTED else spacing
        training_rows.append(TrainingRow(f"{algo}-2016", settings, PUBLISHED))
        if algo in NOISY:
            whole = settings | _ALL | {"inner-steps": 1, "sample-every": 1}
            training_rows.append(TrainingRow(f"{algo}-full-2016", whole, PUBLISHED))
    for algo in (*NOISY, *EXACT, *FITTED):
        settings = {**study.model, "model": "sam", "algo": algo}
        training_rows.append(TrainingRow(algo, settings | (_SHORT if algo in EXACT else {}), OURS))
        if algo in NOISY:
            training_rows.append(TrainingRow(f"{algo}-full", settings | _ALL | _SHORT, OURS))
        if algo in EXACT:
            training_rows.append(TrainingRow(f"{algo}-adapted", settings | _ADAPTED, OURS))
    return training_rows


def run(
    study: Study, setting: ExperimentSetting, listener: ExperimentListener, corpus: Path
) -> Report:
    """Train and score a study's runs; write ``rows.csv``, ``curves.csv`` and ``curves.png``."""
    data = read_parts(corpus, None, setting, listener)
    title = f"{corpus.name}: {study.model['topics']} topics as directions"
    report = run_rows(
        setting,
        listener,
        rows(study, len(data.train)),
        data,
        Length(study.seconds),
        title,
        say,
        head=WHOLE,
        picture=draw,
    )
    by_importance = {line[0]: line[2] for line in report.rows if line[2] is not None}
    return report._replace(
        sentences=report.sentences + order(by_importance, "by importance sampling")
    )


sam_20news, sam_wikipedia = partial(run, NEWS), partial(run, WIKIPEDIA)


def say(scores: dict[str, float]) -> list[str]:
    """Return sentences on whether the order of the methods agrees with the paper's claims."""
    text = order(scores, "by the paper's score")
    full = [f"{algo}-full" for algo in NOISY]
    for label, low, high in (
        ("gSGNHT lower than SGGMC", NOISY[:1], NOISY[1:]),
        ("minibatches lower than the whole corpus", NOISY, full),
        ("SGGMC and gSGNHT with the whole corpus lower than GMC", full, EXACT),
        ("GMC lower than variational Bayes", EXACT, FITTED),
        ("VI lower than its stochastic version", FITTED[:1], FITTED[1:]),
    ):
        a, b = (
            [scores[f"{n}-2016"] for n in names if f"{n}-2016" in scores] for names in (low, high)
        )
        if a and b:
            is_so = "found" if min(a) < min(b) else "not found"
            text.append(f"{label}: {is_so}, {min(a):,.0f} against {min(b):,.0f}")
    return text


def order(scores: Mapping[str, float], how: str) -> list[str]:
    """Return, for each panel, a sentence with the panel's rows in ascending order of score."""
    text = []
    scored = [name for name, value in scores.items() if not math.isnan(value)]
    for panel, those in (
        (PUBLISHED, [n for n in scored if n.endswith("-2016")]),
        (OURS, [n for n in scored if not n.endswith("-2016")]),
    ):
        if len(those) > 1:
            low = sorted(those, key=lambda name: scores[name])
            text.append(
                f"{how}, {panel}: "
                + " < ".join(f"{n.removesuffix('-2016')} {scores[n]:,.0f}" for n in low)
            )
    return text


def draw(path: Path, rows: Sequence[TrainingRow], curves: Sequence[Curve], title: str) -> Path:
    """Draw two scores of each run over time; runs with equal panel titles share a column."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import StrMethodFormatter

    titles = list(dict.fromkeys(row.panel for row in rows))
    names = list(dict.fromkeys(row.name.removesuffix("-2016") for row in rows))
    suffixes = {name: name.rpartition("-")[2] for name in names}
    bases = {
        name: name.removesuffix(f"-{suffix}") if suffix in DASHES else name
        for name, suffix in suffixes.items()
    }
    order_of_bases = list(dict.fromkeys(bases.values()))
    colours = {name: COLOURS[order_of_bases.index(base)] for name, base in bases.items()}
    dashes = {name: DASHES.get(suffix, "-") for name, suffix in suffixes.items()}
    figure = new_figure(1.6 + 5.0 * len(titles), 8.4)
    panels = figure.subplots(2, len(titles), sharey="row", squeeze=False)
    for index, (value, called) in enumerate(
        (
            (score, "log-perplexity, with 200 prior draws of proportions"),
            (lambda point: point.further, "... by importance sampling"),
        )
    ):
        seen: list[float] = []
        for axes, panel in zip(panels[index], titles, strict=True):
            for row in (row for row in rows if row.panel == panel):
                name = row.name.removesuffix("-2016")
                for curve in (c for c in curves if c.name == row.name and c.points):
                    # A sampler's points before its first sample lack the importance-sampling score.
                    points = [p for p in curve.points if not math.isnan(value(p))]
                    seen += map(value, points)
                    if index:
                        points = [p._replace(point=math.nan) for p in points]
                    shown_curve = curve._replace(points=points)
                    plot(axes, shown_curve, colours[name], value, dash=dashes[name])
            scale_seconds(axes)
            show_grid(axes)
            if index == 0:
                axes.set_title(panel, fontsize=10)
        panels[index][0].set_ylabel(f"{called}\n(nats a document, lower is better)")
        panels[index][0].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        if seen:  # Limit the axis, because the worst runs are far from all others.
            low, high = min(seen), float(np.quantile(seen, 0.85))
            room = 0.05 * max(1.0, high - low)
            panels[index][0].set_ylim(low - room, high + room)
    handles = [
        Line2D([], [], color=colours[name], lw=2.2, ls=dashes[name], label=name) for name in names
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    figure.suptitle(f"{title}\nthick lines: mean over samples; thin dotted lines: current topics")
    return write_png(path, figure, dpi=85)
