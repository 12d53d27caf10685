"""Deep LDA by Cong et al. (2017): perplexities (Table 1, Figure 1) and step sizes (Figure 2).

20News is the authors' matrix, with their split; Wikipedia consists of our articles, with the same
vocabulary. Four samplers run with one, two and three layers and the constants of the authors' code
(``--preset dlda-2017``), and sgmc's default sampler runs for comparison. A sampler with projection
to the simplex has two runs (rows of the table): clipped, as in the preset, and reflected, as in the
released code. Every run uses one thread:

- After 2000 minibatches of burn-in (Wikipedia: 3500; Gibbs: 1000 iterations), a row takes 1500
  samples, one after each minibatch. The paper's perplexity (section 5) sums rates of the first
  layer over samples, then normalises. The next column is the perplexity of ``sgmc eval``, of the
  mean of normalised probabilities.
- In the authors' code, the chain of a test document makes one sweep per minibatch from the start of
  training. Here it makes 50 sweeps at the first sample and two at each later one
  (`pysgrld.evaluate.Completion`).
- The point perplexity is measured after 50, 100, 200, 300, ... minibatches, as in the authors'
  code, and also earlier. It uses 50 sweeps and keeps the last 25, instead of 600.

The rows "ours" have all defaults of sgmc, and visit as many documents as the rows with minibatches
of 200.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.evaluate import HeldOut, pair_parts
from pysgrld.experiments.corpora import (
    SplitCorpus,
    first,
    read_counts,
    read_known_words,
    read_parts,
)
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
    select_names,
    write_csv,
)
from pysgrld.experiments.processes import map_in_processes
from pysgrld.models.dlda.documents import topics_name
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Resolved
from pysgrld.options.paths import is_folder, path_exists
from pysgrld.reading.plotting import COLOURS, new_figure, show_grid, write_png
from pysgrld.train.begin import begin
from pysgrld.types import Doubles

LAYERS = ((128,), (128, 64), (128, 64, 32))
#: Fraction of a test document's tokens that the model observes, unless the authors split the
#: documents.
OBSERVED = 0.8
#: Suffix of a sampler's name in runs with reflection at the boundary of the simplex.
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
#: Numbers of topics of LDA models that are trained by Gibbs sampling with sgmc's default priors.
#: The paper uses 128 topics.
LDA = (64, 128, 256)
DRAWN = (*SAMPLERS, "lda")
#: Number of burn-in iterations of LDA models that are trained by Gibbs sampling.
LDA_BURN_IN = 200
#: Number of samples of LDA models that are trained by Gibbs sampling.
LDA_COLLECTED = 300


class PaperColumn(NamedTuple):
    """Column of Table 1, for one corpus: the paper's values, and the runs that repeat them.

    Attributes
    ----------
    title : str
    paper : dict
        Perplexity of each row with one to three layers; the paper does not state how it treats the
        boundary of the simplex.
    names : list of str
    burn_in : int
        Minibatches before the first sample.
    """

    title: str
    paper: dict[str, int]
    names: list[str]
    burn_in: int


def _rows(samplers: Sequence[str]) -> list[str]:
    return [f"{sampler}-{'-'.join(map(str, widths))}" for sampler in samplers for widths in LAYERS]


def _paper(**figures: tuple[int, int, int]) -> dict[str, int]:
    return {
        name: value
        for sampler, values in figures.items()
        for name, value in zip(_rows([sampler]), values, strict=True)
    }


NEWS = PaperColumn(
    "20News",
    _paper(
        tlasgr=(770, 758, 757), tlfsgr=(772, 759, 760), sgrld=(777, 770, 775), gibbs=(768, 754, 752)
    )
    | {"lda-128": 893},
    [*_rows(SAMPLERS), *(f"lda-{topics}" for topics in LDA)],
    2000,
)
WIKI = PaperColumn(
    "Wikipedia",
    _paper(tlasgr=(802, 787, 786), tlfsgr=(804, 791, 789), sgrld=(803, 792, 792)),
    [*_rows(("tlasgr", "tlfsgr", "sgrld")), "gibbs-128-64", *_rows(["ours"])],
    3500,
)

#: Number of samples in a full run.
COLLECTED = 1500
#: Number of burn-in iterations in a quick run.
QUICK_BURN_IN = 20
#: Number of samples in a quick run.
QUICK_COLLECTED = 20
#: Number of training documents and number of scored documents in a quick run.
QUICK_DOCUMENTS = (200, 50)
#: Options that shorten iterations in a quick run.
QUICK = {"minibatch": 50, "sweeps": 12, "kept-sweeps": 4}


def table1(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score runs on 20News; write ``table1.csv``, ``curves.csv`` and ``curves.png``."""
    return _run(NEWS, lambda: read(corpus, setting, listener), setting, listener)


def wikipedia(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Train and score all runs on Wikipedia; write the same files as `table1`."""
    return _run(WIKI, lambda: read_parts(corpus, OBSERVED, setting, listener), setting, listener)


def _run(
    column: PaperColumn,
    read_all: Callable[[], SplitCorpus],
    setting: ExperimentSetting,
    listener: ExperimentListener,
) -> Report:
    # Refuse unknown row names before reading the data.
    names = select_names(column.names, setting.rows)
    data = read_all()
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [task(name, seed, data, setting, column) for seed in seeds for name in names]
    table = setting.out / "table1.csv"
    curves, files = train_rows(
        tasks,
        setting,
        listener,
        lambda so_far: write_csv(table, HEAD, rows(names, so_far, column)),
        describe,
    )
    if setting.pictures:
        files.append(draw(setting.out / "curves.png", curves, column, quick=setting.quick))
    shown = rows(names, curves, column)
    columns = len(HEAD) if setting.seeds > 1 else HEAD.index("seeds")
    text = sentences(shown, curves, setting, column)
    return Report(HEAD[:columns], [line[:columns] for line in shown], text, files)


# ---- training runs and their data


def read(folder: Path, setting: ExperimentSetting, listener: ExperimentListener) -> SplitCorpus:
    """Read the training documents, and the test documents as split by the authors.

    Raises
    ------
    MissingInputError
        If the folder does not hold the three files.
    CorpusError
        If the files do not match each other.
    """
    paths = sorted(folder.glob("docword.*.test-observed.txt*")) if is_folder(folder) else []
    if not paths:
        raise MissingInputError(
            f"{folder}: is not a folder with docword.NAME.test-observed.txt(.gz), "
            "docword.NAME.train.txt, docword.NAME.test-heldout.txt and vocab.NAME.txt; give "
            "another --corpus"
        )
    observed = paths[0]
    other_paths = [
        observed.with_name(observed.name.replace(".test-observed.", f".{part}."))
        for part in ("train", "test-heldout")
    ]
    for path in other_paths:
        if not path_exists(path):
            raise MissingInputError(f"{path}: no such file; it must be next to {observed.name}")
    train, words = read_counts(other_paths[0], setting, listener)
    # Documents are kept even if one of their two parts is empty.
    parts = (
        read_known_words(path, words, setting, listener) for path in (observed, other_paths[1])
    )
    data = SplitCorpus(train, len(words), pair_parts(*parts))
    # A quick run uses only the first training documents and the first test documents.
    if setting.quick:
        chosen, held = (
            np.arange(min(QUICK_DOCUMENTS[1], len(data.held_out.observed))),
            data.held_out,
        )
        held_out = HeldOut(
            held.observed.take(chosen),
            held.held_out.take(chosen),
            held.doc_ids[chosen],
            held.dropped,
        )
        data = SplitCorpus(first(train, QUICK_DOCUMENTS[0]), len(words), held_out)
    if len(data.held_out.observed) == 0:
        raise CorpusError(
            "no document has both observed and held-out tokens; check that both files have the "
            "same documents",
            observed,
        )
    return data


def task(
    name: str, seed: int, data: SplitCorpus, setting: ExperimentSetting, column: PaperColumn = NEWS
) -> CurveTask:
    """Return the arguments of a training run with one seed: resolved options, length and others."""
    sampler, *widths = name.split("-")
    algo = sampler.removesuffix(REFLECTED)
    settings: dict[str, Any] = {"layers": tuple(map(int, widths)), "seed": seed}
    if sampler == "lda":
        settings = {"model": "lda", "algo": "gibbs", "topics": int(widths[0]), "seed": seed}
        settings |= {"burn-in": LDA_BURN_IN, "sample-every": 1}
    else:
        ours = {"algo": "scir"}
        settings |= ours if sampler == "ours" else {"algo": algo, "preset": "dlda-2017"}
    if algo != sampler:
        settings["boundary"] = "reflect"
    if sampler not in ("ours", "gibbs", "lda"):
        settings["burn-in"] = column.burn_in
    if setting.quick:
        settings |= {"burn-in": QUICK_BURN_IN}
        if sampler not in ("gibbs", "lda"):
            settings |= {"warm-up": 10 if sampler == "ours" else 0, **QUICK}
    options, _ = resolve(settings, data.facts())
    collected = LDA_COLLECTED if sampler == "lda" else COLLECTED
    collected = QUICK_COLLECTED if setting.quick else collected
    iterations = options.burn_in + collected * options.sample_every
    if sampler == "ours":
        published = task("tlasgr-128", seed, data, setting, column)
        visited = published.iterations * published.options.minibatch
        iterations = -(-visited // options.minibatch)
    return CurveTask(name, options, iterations, data, setting.seconds)


# ---- results

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


def rows(
    names: list[str], curves: list[Curve], column: PaperColumn = NEWS
) -> list[tuple[Any, ...]]:
    """Return a line of results for each kind of run, averaged over seeds that did not diverge."""
    lines: list[tuple[Any, ...]] = []
    for name in names:
        row_curves = [c for c in curves if c.name == name]
        if not row_curves:  # No run of this row is finished yet.
            continue
        ends = last_points(row_curves)
        paper = column.paper.get(name.replace(REFLECTED, ""))
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
                deviation([score(end) for end in ends]),
            )
        )
    return lines


def score(point: CurvePoint) -> float:
    """Return the perplexity of a run at one time; if known, the rate-weighted perplexity.

    The rate-weighted perplexity of deep LDA weights each sample by its total Poisson rate.
    """
    return point.perplexity if math.isnan(point.further) else point.further


def describe(point: CurvePoint) -> str:
    """Return a sentence about the current score of a run."""
    if not point.samples:
        return (
            f"perplexity {point.point:.1f} of the current topics, no sample yet after "
            f"{point.iteration} iterations"
        )
    return f"perplexity {score(point):.1f}, mean of {point.samples} samples"


def sentences(
    shown: list[tuple[Any, ...]],
    curves: list[Curve],
    setting: ExperimentSetting,
    column: PaperColumn = NEWS,
) -> list[str]:
    """Return sentences on the order of the samplers for each number of layers."""
    text = []
    if setting.quick:
        text.append(
            "quick test with part of the data and few iterations: it shows only that the "
            "experiment runs."
        )
    weighted = {
        line[0]: value
        for line in shown
        for value in (line[3] if line[0].startswith("lda-") else line[2],)
        if value is not None and math.isfinite(value)
    }
    for layers in LAYERS:
        size = "-".join(map(str, layers))
        scores = {s: weighted[f"{s}-{size}"] for s in DRAWN if f"{s}-{size}" in weighted}
        paper = {s: column.paper[f"{s}-{size}"] for s in scores if f"{s}-{size}" in column.paper}
        if not scores:
            continue
        line = f"{size}: {order(scores)}"
        text.append(line + (f"; in the paper {order(paper)}" if len(paper) > 1 else ""))
    early = [c.name for c in curves if c.points and not c.points[-1].samples]
    if early:
        text.append(
            f"no sample yet, because the burn-in has not ended: {', '.join(dict.fromkeys(early))}"
        )
    text += [f"{c.name}, seed {c.seed}: {c.fault}" for c in curves if c.fault]
    return text


def order(scores: Mapping[str, float]) -> str:
    """Return a text with the names and scores of runs, in ascending order of score."""
    return " < ".join(f"{n} {scores[n]:.0f}" for n in sorted(scores, key=lambda n: scores[n]))


def draw(path: Path, curves: list[Curve], column: PaperColumn, *, quick: bool) -> Path:
    """Draw perplexity over training seconds, with a panel for each number of layers."""
    from matplotlib.lines import Line2D

    used = {c.name.split("-", 1)[1] for c in curves}
    all_sizes = ["-".join(map(str, layers)) for layers in (*LAYERS, *((k,) for k in LDA))]
    sizes = [size for size in dict.fromkeys(all_sizes) if size in used]
    figure = new_figure(2.2 + 4.2 * len(sizes), 4.8)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for size, axes in zip(sizes, panels, strict=True):
        for sampler, colour in zip(DRAWN, (*COLOURS, "#555555"), strict=True):
            name = f"{sampler}-{size}"
            for curve in (c for c in curves if c.name == name and c.points):
                plot(axes, curve, colour, score)
                if name in column.paper and curve.points[-1].samples and not quick:
                    end, paper = curve.points[-1].seconds, column.paper[name]
                    axes.plot(end, paper, "x", color=colour, ms=7, mew=1.8)
        scale_seconds(axes)
        axes.set_title(f"{size} topics, lowest layer first" if "-" in size else f"{size} topics")
        show_grid(axes)
    scale_perplexity(panels[0], [p.point for c in curves for p in c.points])
    figure.suptitle(
        f"Deep LDA on {column.title}"
        + (", a small cut" if quick else "")
        + " (Cong et al. 2017, Table 1)"
    )
    drawn = {c.name.split("-", 1)[0] for c in curves}
    labels = {
        "gibbs": "Gibbs, whole corpus",
        "ours": "ours: SCIR",
        "lda": "LDA, Gibbs",
        f"tlasgr{REFLECTED}": "TLASGR, reflected",
        f"tlfsgr{REFLECTED}": "TLFSGR, reflected",
    }
    handles = [
        Line2D([], [], color=colour, lw=2.2, label=labels.get(sampler, sampler.upper()))
        for sampler, colour in zip(DRAWN, (*COLOURS, "#555555"), strict=True)
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


# ---- Figure 2: step sizes of each layer

#: Number of minibatches with recorded step sizes.
RECORDED = 2000
#: Number of minibatches with recorded step sizes in a quick run.
QUICK_RECORDED = 30
#: Columns of the table of step sizes. The column "layer-i" has the mean of the step sizes eps_t /
#: M_k over the topics k of layer i. The column "average-topic-i" has eps_t divided by the mean of
#: M_k over these topics.
RATES_HEAD = (
    "iteration",
    *(f"layer-{layer + 1}" for layer in range(len(LAYERS[-1]))),
    *(f"average-topic-{layer + 1}" for layer in range(len(LAYERS[-1]))),
)


class RatesTask(NamedTuple):
    """Arguments for recording TLASGR's step sizes, which can be pickled for another process."""

    options: Resolved
    data: SplitCorpus
    iterations: int


def rates(setting: ExperimentSetting, listener: ExperimentListener, corpus: Path) -> Report:
    """Record each layer's step sizes in TLASGR; write ``rates.csv`` and ``rates.png``."""
    split = is_folder(corpus) and any(corpus.glob("docword.*.test-observed.txt*"))
    data = (
        read(corpus, setting, listener)
        if split
        else read_parts(corpus, OBSERVED, setting, listener)
    )
    of_row = task(_rows(["tlasgr"])[-1], setting.seed, data, setting)
    iterations = QUICK_RECORDED if setting.quick else RECORDED
    listener.note(f"{len(data.train):,} documents, {iterations:,} minibatches")
    with listener.counting("percent", 100) as tell:
        (steps_of_layers,) = map_in_processes(
            record, [RatesTask(of_row.options, data, iterations)], [1.0], 1, tell
        )
    shown: list[tuple[Any, ...]] = [(int(t), *map(float, steps)) for t, *steps in steps_of_layers]
    files = [write_csv(setting.out / "rates.csv", RATES_HEAD, shown)]
    if setting.pictures:
        files.append(draw_rates(setting.out / "rates.png", steps_of_layers, corpus.name))
    return Report(
        RATES_HEAD,
        [
            (step, *(f"{value:.2g}" for value in means))
            for step, *means in shown
            if is_round(step) or step == iterations
        ],
        describe_rates(steps_of_layers[-1]),
        files,
    )


def record(work: RatesTask, share: Callable[[float], None]) -> Doubles:
    """Train with one thread; return the step sizes of each layer's topics by iteration.

    Returns
    -------
    (n, 1 + 2 layers) float64
        Columns of `RATES_HEAD`; the rows are all early iterations, and later ones at growing
        intervals.
    """
    train = work.data.train
    stream = Epochs.of(work.options, train, np.arange(len(train)))
    chain = begin(work.options, stream, CorpusFacts(work.data.words, train.tokens), RunOn(1)).chain
    names = [topics_name(layer) for layer in range(len(LAYERS[-1]))]
    steps: list[list[float]] = []
    try:
        while chain.step < work.iterations:
            h = chain.step_size
            chain.advance()
            share(chain.step / work.iterations)
            if chain.step < 20 or chain.step % (chain.step // 20) == 0:
                arrays = chain.arrays()
                # M_k is the scale of topic k, in tokens of the corpus.
                scales = [arrays[f"{name}.m"] for name in names]
                means = [h * float(np.mean(1.0 / m)) for m in scales]
                steps.append([float(chain.step), *means, *(h / float(m.mean()) for m in scales)])
    finally:
        chain.close()
    return np.array(steps)


def is_round(iteration: int) -> bool:
    """Return True if the table has a row for this iteration: 1, 2, 5, 10, 20, 50, ..."""
    return str(iteration).rstrip("0") in ("1", "2", "5")


def describe_rates(last: Doubles) -> list[str]:
    """Return sentences on the paper's claim that higher layers have larger step sizes."""
    text = []
    for label, steps in zip(
        ("mean over topics", "for a topic with an average number of tokens"),
        last[1:].reshape(2, -1),
        strict=True,
    ):
        rises = bool(np.all(np.diff(steps) > 0))
        listed = ", ".join(f"layer {layer + 1} {step:.2g}" for layer, step in enumerate(steps))
        verdict = "longer in higher layers, as in the paper" if rises else "not as in the paper"
        text.append(f"step after {last[0]:,.0f} minibatches, {label}: {listed}: {verdict}")
    return text


def draw_rates(path: Path, recorded: Doubles, corpus: str) -> Path:
    """Draw each layer's mean step size over iterations, for two definitions of the mean."""
    figure = new_figure(10.4, 4.6)
    panels = figure.subplots(1, 2, sharey=True)
    steps = recorded[:, 1:].reshape(len(recorded), 2, -1)
    titles = "mean of eps_t / M_k over topics", "eps_t over the mean of M_k"
    for i, axes in enumerate(panels):
        for layer, colour in zip(range(steps.shape[2]), COLOURS, strict=False):
            axes.plot(
                recorded[:, 0], steps[:, i, layer], color=colour, lw=2.2, label=f"layer {layer + 1}"
            )
        axes.set(xscale="log", yscale="log", xlabel="minibatch", title=titles[i])
        show_grid(axes)
    panels[0].legend(loc="best", frameon=False)
    figure.suptitle(f"Steps of TLASGR by layer, {corpus} (Cong et al. 2017, Figure 2)")
    return write_png(path, figure)
