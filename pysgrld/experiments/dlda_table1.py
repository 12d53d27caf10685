"""Table 1 of the paper on deep LDA (Cong et al. 2017): perplexity on the authors' 20News matrix.

Four samplers by one, two and three layers, with the constants of the authors' code (``--preset
dlda-2017``), and our own default sampler beside them. Rows of samplers that project come twice: clipped,
as the preset has them, and reflected, as the released code does. Every row trains with one thread:

- a sample after each minibatch, 1500 of them after 2000 minibatches (Gibbs: 1000 iterations) of
  burn-in. Rates of the first layer are summed over samples, then normalised: the paper's perplexity
  (section 5). The mean of normalised probabilities, which is the perplexity of ``sgmc eval``, stands
  beside it.
- in the authors' code a test document's chain gets one sweep a minibatch from the first one on. Here
  it gets 50 at the first sample and two at each further one (`pysgrld.evaluate.Completion`).
- the point perplexity, after 50, 100, 200, 300, ... minibatches as theirs and earlier too, has 50
  sweeps, the last 25 kept, not 600.

Our rows have our defaults for everything, and visit as many documents as those of minibatches of 200.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.evaluate import HeldOut, pair
from pysgrld.experiments.corpora import SplitCorpus, first, read_counts, read_known_words
from pysgrld.experiments.curves import (
    Curve,
    CurvePoint,
    CurveTask,
    deviation,
    last_points,
    mean_point,
    plot,
    scale_perplexity,
    scale_seconds,
    train_rows,
)
from pysgrld.experiments.frame import (
    ExperimentListener,
    ExperimentSetting,
    Report,
    matching,
    write_csv,
)
from pysgrld.models.resolve import resolve
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png

#: The paper's figures for 20News, whose rows do not say which boundary they had.
PAPER = {
    "tlasgr-128": 770,
    "tlasgr-128-64": 758,
    "tlasgr-128-64-32": 757,
    "tlfsgr-128": 772,
    "tlfsgr-128-64": 759,
    "tlfsgr-128-64-32": 760,
    "sgrld-128": 777,
    "sgrld-128-64": 770,
    "sgrld-128-64-32": 775,
    "gibbs-128": 768,
    "gibbs-128-64": 754,
    "gibbs-128-64-32": 752,
}
LAYERS = ((128,), (128, 64), (128, 64, 32))
#: What names of rows that reflect have behind the sampler's.
REFLECTED = "_reflect"
SAMPLERS = (
    "tlasgr",
    "tlfsgr",
    f"tlasgr{REFLECTED}",
    f"tlfsgr{REFLECTED}",
    "sgrld",
    "gibbs",
    "ours",
)

NAMES = [f"{sampler}-{'-'.join(map(str, widths))}" for sampler in SAMPLERS for widths in LAYERS]

#: Samples after the burn-in, and in what a person only wants to see work.
COLLECTED, QUICK_BURN_IN, QUICK_COLLECTED = 1500, 20, 20
#: Documents to train on and to score then.
QUICK_DOCUMENTS = (400, 150)
#: Options that make iterations short then.
QUICK = {"minibatch": 50, "sweeps": 12, "kept-sweeps": 4}


def run(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all rows; write ``table1.csv``, ``curves.csv`` and ``curves.png``."""
    wanted = matching(NAMES, setting.rows)
    data = read(corpus, setting, listener)
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [task(name, seed, data, setting) for seed in seeds for name in wanted]
    table = setting.out / "table1.csv"
    found, files = train_rows(
        tasks,
        setting,
        listener,
        lambda so_far: write_csv(table, HEAD, rows(wanted, so_far)),
        describe,
    )
    if setting.pictures:
        files.append(draw(setting.out / "curves.png", found, quick=setting.quick))
    shown = rows(wanted, found)
    columns = len(HEAD) if setting.seeds > 1 else HEAD.index("seeds")
    said = sentences(shown, found, setting)
    return Report(HEAD[:columns], [line[:columns] for line in shown], said, files)


# ---- what is trained on what


def read(folder: Path, setting: ExperimentSetting, listener: ExperimentListener) -> SplitCorpus:
    """Read the training documents and the authors' split of the test documents.

    Raises
    ------
    MissingInputError
        If the folder does not hold the three files.
    CorpusError
        If they do not fit together.
    """
    found = sorted(folder.glob("docword.*.test-observed.txt*")) if folder.is_dir() else []
    if not found:
        raise MissingInputError(
            f"{folder}: no folder with docword.NAME.test-observed.txt(.gz) and, beside it, "
            "docword.NAME.train.txt, docword.NAME.test-heldout.txt and vocab.NAME.txt"
        )
    observed = found[0]
    others = [
        observed.with_name(observed.name.replace(".test-observed.", f".{part}."))
        for part in ("train", "test-heldout")
    ]
    for path in others:
        if not path.exists():
            raise MissingInputError(
                f"{path}: there is no such file, which belongs to {observed.name}"
            )
    train, words = read_counts(others[0], setting, listener)
    # documents that are empty in one part keep their row
    parts = (read_known_words(path, words, setting, listener) for path in (observed, others[1]))
    data = SplitCorpus(train, len(words), pair(*parts))
    if setting.quick:  # the first few documents to train on, and to score
        some, held = np.arange(min(QUICK_DOCUMENTS[1], len(data.held_out.observed))), data.held_out
        held_out = HeldOut(
            held.observed.take(some), held.held_out.take(some), held.doc_ids[some], held.dropped
        )
        data = SplitCorpus(first(train, QUICK_DOCUMENTS[0]), len(words), held_out)
    if len(data.held_out.observed) == 0:
        raise CorpusError("no document has both observed and held-out tokens", observed)
    return data


def task(name: str, seed: int, data: SplitCorpus, setting: ExperimentSetting) -> CurveTask:
    """Return the task of a row with one seed: its options resolved, and its iterations."""
    sampler, *widths = name.split("-")
    algo = sampler.removesuffix(REFLECTED)
    given: dict[str, Any] = {"layers": tuple(map(int, widths)), "seed": seed}
    given |= {"algo": "scir"} if sampler == "ours" else {"algo": algo, "preset": "dlda-2017"}
    if algo != sampler:
        given["boundary"] = "reflect"
    if setting.quick:
        given |= {"burn-in": QUICK_BURN_IN}
        if sampler != "gibbs":
            given |= {"warm-up": 10 if sampler == "ours" else 0, **QUICK}
    options, _ = resolve(given, data.facts())
    collected = QUICK_COLLECTED if setting.quick else COLLECTED
    iterations = options.burn_in + collected * options.sample_every
    if sampler == "ours":
        published = task("tlasgr-128", seed, data, setting)
        visited = published.iterations * published.options.minibatch
        iterations = -(-visited // options.minibatch)
    return CurveTask(name, options, iterations, data, setting.seconds)


# ---- what came out

HEAD = (
    "row",
    "paper",
    "rate-weighted",
    "perplexity",
    "point",
    "samples",
    "iterations",
    "seconds",
    "seeds",
    "sd",
)


def rows(wanted: list[str], curves: list[Curve]) -> list[tuple[Any, ...]]:
    """Return a line of the table for each row that is done: means over seeds that did not diverge."""
    lines: list[tuple[Any, ...]] = []
    for name in wanted:
        own = [c for c in curves if c.name == name]
        if not own:  # not done yet
            continue
        ends = last_points(own)
        paper = PAPER.get(name.replace(REFLECTED, ""))
        if not ends:
            lines.append((name, paper, *(None,) * 6, 0, None))
            continue
        mean = mean_point(ends)
        lines.append(
            (
                name,
                paper,
                mean.further,
                mean.perplexity,
                mean.point,
                round(mean.samples),
                round(mean.iteration),
                mean.seconds,
                len(ends),
                deviation([end.further for end in ends]),
            )
        )
    return lines


def describe(point: CurvePoint) -> str:
    """Return a sentence on where a row stands."""
    if not point.samples:
        return (
            f"point perplexity {point.point:.1f}, no sample yet after {point.iteration} iterations"
        )
    return f"perplexity {point.further:.1f}, mean of {point.samples} samples"


def sentences(
    shown: list[tuple[Any, ...]], curves: list[Curve], setting: ExperimentSetting
) -> list[str]:
    """Return the order of the samplers at each width, and which rows must not be compared."""
    found = []
    if setting.quick:
        found.append("a small cut and few iterations: only that it works can be seen from this.")
    weighted = {
        line[0]: line[2] for line in shown if line[2] is not None and math.isfinite(line[2])
    }
    for layers in LAYERS:
        size = "-".join(map(str, layers))
        scores = {s: weighted[f"{s}-{size}"] for s in SAMPLERS if f"{s}-{size}" in weighted}
        paper = {s: PAPER[f"{s}-{size}"] for s in scores if f"{s}-{size}" in PAPER}
        if not scores:
            continue
        line = f"{size}: {order(scores)}"
        found.append(line + (f"; in the paper {order(paper)}" if len(paper) > 1 else ""))
    early = [c.name for c in curves if c.points and not c.points[-1].samples]
    if early:
        found.append(f"no sample yet, the burn-in is longer: {', '.join(dict.fromkeys(early))}")
    found += [f"{c.name}, seed {c.seed}: {c.fault}" for c in curves if c.fault]
    return found


def order(scores: Mapping[str, float]) -> str:
    """Return names and numbers, the lowest first."""
    return " < ".join(f"{n} {scores[n]:.0f}" for n in sorted(scores, key=lambda n: scores[n]))


def draw(path: Path, curves: list[Curve], *, quick: bool) -> Path:
    """Draw perplexity against training seconds, a panel for each number of layers."""
    from matplotlib.lines import Line2D

    sizes = [
        "-".join(map(str, layers))
        for layers in LAYERS
        if any(c.name.split("-", 1)[1] == "-".join(map(str, layers)) for c in curves)
    ]
    figure = new_figure(2.2 + 4.2 * len(sizes), 4.8)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for size, axes in zip(sizes, panels, strict=True):
        for sampler, colour in zip(SAMPLERS, COLOURS, strict=False):
            name = f"{sampler}-{size}"
            for curve in (c for c in curves if c.name == name and c.points):
                plot(axes, curve, colour, lambda p: p.further)
                if name in PAPER and curve.points[-1].samples and not quick:
                    axes.plot(
                        curve.points[-1].seconds, PAPER[name], "x", color=colour, ms=7, mew=1.8
                    )
        scale_seconds(axes)
        axes.set_title(f"{size} topics, from the data up" if "-" in size else f"{size} topics")
        show_grid(axes)
    scale_perplexity(panels[0], [p.point for c in curves for p in c.points])
    figure.suptitle(
        "Deep LDA on 20News" + (", a small cut" if quick else "") + " (Cong et al. 2017, Table 1)"
    )
    drawn = {c.name.split("-", 1)[0] for c in curves}
    labels = {
        "gibbs": "Gibbs, whole corpus",
        "ours": "ours: SCIR",
        f"tlasgr{REFLECTED}": "TLASGR, reflected",
        f"tlfsgr{REFLECTED}": "TLFSGR, reflected",
    }
    handles = [
        Line2D([], [], color=colour, lw=2.2, label=labels.get(sampler, sampler.upper()))
        for sampler, colour in zip(SAMPLERS, COLOURS, strict=False)
        if sampler in drawn
    ]
    handles += [
        Line2D([], [], color="black", lw=2.2, label="samples averaged"),
        Line2D([], [], color="black", lw=1.0, ls=":", label="current topics"),
    ]
    if not quick:
        handles.append(
            Line2D([], [], color="black", marker="x", ls="", mew=1.8, label="the paper's")
        )
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    return write_png(path, figure)
