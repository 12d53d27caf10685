"""Six methods for directions at equal training time (Liu, Zhu and Song 2016, Figure 5).

The first panel has the settings of the released code, whose steps of proportions do not move them: both
the paper's curves and these are those of a least-squares fit. The second has sgmc's own settings and the
same model. Samplers by minibatches also see the whole corpus in each iteration (``-full``), with one
step of the topics for each, as in the released code.

Two scores are shown. The paper's log-perplexity averages over 200 proportions drawn from the prior,
which is far too high where documents are concentrated, and says little; the other is importance sampling
of each document's proportions. Of variational Bayes, which has no samples, both are of its topics.
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
#: Minibatch samplers, and methods of the whole corpus; the paper's order, best first.
NOISY, EXACT, FITTED = ("gsgnht", "sggmc"), ("gmc-apprmh", "gmc-bgibbs"), ("vi", "svi")
_ALL = {"minibatch": 2**53}
#: Ours burn in for fewer iterations than by default where each sees the whole corpus.
_SHORT = {"burn-in": 20, "sample-every": 1}


class Study(NamedTuple):
    """A panel of Figure 5: the corpus's own settings.

    Attributes
    ----------
    model : dict
        Options of the model, for all rows.
    gamma : float
        SGGMC and gSGNHT have the step sqrt(gamma / D) in the released code.
    noisy, bgibbs, apprmh, svi : dict
        Options of the released code, by method, where they differ from ``--preset sam-2016``.
    seconds : float
        Training time of a row.
    """

    model: Mapping[str, Any]
    gamma: float
    noisy: Mapping[str, Any]
    bgibbs: Mapping[str, Any]
    apprmh: Mapping[str, Any]
    svi: Mapping[str, Any]
    seconds: float


#: Three newsgroups, Figure 5 (a): the corpus of Reisinger et al. (2010), whose documents are counts of
#: words divided by their norm, without document frequencies. The settings are those of ``--preset
#: sam-2016``.
NEWS = Study(
    {"topics": 20, "alpha": 10.0, "kappa": 3e4, "sigma": 1e4, "kappa0": 1e4, "weighting": "tf"},
    gamma=1e-2,
    noisy={},
    bgibbs={},
    apprmh={},
    svi={},
    seconds=60.0,
)
#: Wikipedia, Figure 5 (b): the paper's 150,000 articles are not published. Documents are weighted by
#: tf-idf.
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
    """Return the rows of a study: six methods with the released code's settings, and with ours."""
    step = (math.sqrt(study.gamma / documents), 1.0, 0.0)
    own = {
        **{algo: {**study.noisy, "step-size": step} for algo in NOISY},
        "gmc-bgibbs": study.bgibbs,
        "gmc-apprmh": study.apprmh,
        "svi": study.svi,
    }
    found = []
    for algo in (*NOISY, *EXACT, *FITTED):
        given = {**study.model, "preset": "sam-2016", "algo": algo, **own.get(algo, {})}
        kept = {"burn-in": 0, "sample-every": 10 if algo in NOISY else 1}
        given |= {} if algo in FITTED else kept
        found.append(TrainingRow(f"{algo}-2016", given, PUBLISHED))
        if algo in NOISY:
            whole = given | _ALL | {"inner-steps": 1, "sample-every": 1}
            found.append(TrainingRow(f"{algo}-full-2016", whole, PUBLISHED))
    for algo in (*NOISY, *EXACT, *FITTED):
        given = {**study.model, "model": "sam", "algo": algo}
        found.append(TrainingRow(algo, given | (_SHORT if algo in EXACT else {}), OURS))
        if algo in NOISY:
            found.append(TrainingRow(f"{algo}-full", given | _ALL | _SHORT, OURS))
    return found


def run(
    study: Study, setting: ExperimentSetting, listener: ExperimentListener, corpus: Path
) -> Report:
    """Train and score the rows of a study; write ``rows.csv``, ``curves.csv`` and ``curves.png``."""
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
    by = {line[0]: line[2] for line in report.rows if line[2] is not None}
    return report._replace(found=report.found + order(by, "by importance sampling"))


sam_20news, sam_wikipedia = partial(run, NEWS), partial(run, WIKIPEDIA)


def say(scores: dict[str, float]) -> list[str]:
    """Return the order by the paper's score, and which of its claims hold with the released settings."""
    found = order(scores, "by the paper's score")
    full = [f"{algo}-full" for algo in NOISY]
    for what, low, high in (
        ("the thermostat below SGGMC", NOISY[:1], NOISY[1:]),
        ("minibatches below the whole corpus", NOISY, full),
        ("SGGMC and gSGNHT, whole corpus, below GMC", full, EXACT),
        ("GMC below variational Bayes", EXACT, FITTED),
        ("VI below its stochastic version", FITTED[:1], FITTED[1:]),
    ):
        a, b = (
            [scores[f"{n}-2016"] for n in names if f"{n}-2016" in scores] for names in (low, high)
        )
        if a and b:
            is_so = "found" if min(a) < min(b) else "not found"
            found.append(f"{what}: {is_so}, {min(a):,.0f} against {min(b):,.0f}")
    return found


def order(scores: Mapping[str, float], how: str) -> list[str]:
    """Return the rows of each panel that have a score, the lowest first."""
    found = []
    known = [name for name, value in scores.items() if not math.isnan(value)]
    for panel, those in (
        (PUBLISHED, [n for n in known if n.endswith("-2016")]),
        (OURS, [n for n in known if not n.endswith("-2016")]),
    ):
        if len(those) > 1:
            low = sorted(those, key=lambda name: scores[name])
            found.append(
                f"{how}, {panel}: "
                + " < ".join(f"{n.removesuffix('-2016')} {scores[n]:,.0f}" for n in low)
            )
    return found


def draw(path: Path, rows: Sequence[TrainingRow], curves: Sequence[Curve], title: str) -> Path:
    """Draw both scores against training time, a column for each panel that rows name."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import StrMethodFormatter

    titles = list(dict.fromkeys(row.panel for row in rows))
    names = list(dict.fromkeys(row.name.removesuffix("-2016") for row in rows))
    bases = list(dict.fromkeys(name.removesuffix("-full") for name in names))
    colours = {name: COLOURS[bases.index(name.removesuffix("-full"))] for name in names}
    dashes = {name: "--" if name.endswith("-full") else "-" for name in names}
    figure = new_figure(1.6 + 5.0 * len(titles), 8.4)
    panels = figure.subplots(2, len(titles), sharey="row", squeeze=False)
    for at, (value, called) in enumerate(
        (
            (score, "log-perplexity, 200 proportions of the prior"),
            (lambda point: point.further, "... by importance sampling"),
        )
    ):
        seen: list[float] = []
        for axes, panel in zip(panels[at], titles, strict=True):
            for row in (row for row in rows if row.panel == panel):
                name = row.name.removesuffix("-2016")
                for curve in (c for c in curves if c.name == row.name and c.points):
                    # points that have the score; topics as they stand are scored by the first alone
                    points = [p for p in curve.points if not math.isnan(value(p))]
                    seen += map(value, points)
                    if at:
                        points = [p._replace(point=math.nan) for p in points]
                    some = curve._replace(points=points)
                    plot(axes, some, colours[name], value, dash=dashes[name])
            scale_seconds(axes)
            show_grid(axes)
            if at == 0:
                axes.set_title(panel, fontsize=10)
        panels[at][0].set_ylabel(f"{called}\n(nats a document, lower is better)")
        panels[at][0].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        if seen:  # the worst rows would squeeze what differs
            low, high = min(seen), float(np.quantile(seen, 0.85))
            room = 0.05 * max(1.0, high - low)
            panels[at][0].set_ylim(low - room, high + room)
    handles = [
        Line2D([], [], color=colours[name], lw=2.2, ls=dashes[name], label=name) for name in names
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    figure.suptitle(f"{title}\nthick: samples averaged; thin and dotted: topics as they stand")
    return write_png(path, figure, dpi=85)
