"""Table 1 of the paper on deep LDA (Cong et al. 2017): perplexity on the authors' 20News matrix.

Four samplers by one, two and three layers, with the constants of the authors' code (``--preset
dlda-2017``), and our own default sampler beside them. Every row trains with one thread:

- a sample after each minibatch, 1500 of them after 2000 minibatches (Gibbs: 1000 iterations) of
  burn-in. Rates of the first layer are summed over samples, then normalised: the paper's perplexity
  (section 5). The mean of normalised probabilities, which is the perplexity of ``sgmc eval``, stands
  beside it.
- in the authors' code a test document's chain gets one sweep a minibatch from the first one on. Here
  it gets 50 at the first sample and two at each further one (`pysgrld.evaluate.Completion`).
- the point perplexity after 50, 100, 200, 300, ... minibatches has 50 sweeps, the last 25 kept, not
  600.

Our rows have our defaults for everything, and visit as many documents as those of minibatches of 200.
"""

from __future__ import annotations

import itertools
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain import Chain
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.matched import matched_documents
from pysgrld.errors import CorpusError, MissingInputError, NumericalError, UsageError
from pysgrld.evaluate import Completion, HeldOut, pair, visits
from pysgrld.experiments.frame import (
    COLOURS,
    Listener,
    Report,
    Setting,
    new_figure,
    write_csv,
    write_png,
)
from pysgrld.experiments.processes import in_processes
from pysgrld.posterior import Posterior
from pysgrld.settings import Facts, resolve
from pysgrld.stream import Stream, minibatch_words
from pysgrld.types import Documents

#: The paper's figures for 20News.
PAPER = {
    "tlasgr-128": 770, "tlasgr-128-64": 758, "tlasgr-128-64-32": 757,
    "tlfsgr-128": 772, "tlfsgr-128-64": 759, "tlfsgr-128-64-32": 760,
    "sgrld-128": 777, "sgrld-128-64": 770, "sgrld-128-64-32": 775,
    "gibbs-128": 768, "gibbs-128-64": 754, "gibbs-128-64-32": 752,
}  # fmt: skip
LAYERS = ((128,), (128, 64), (128, 64, 32))
SAMPLERS = ("tlasgr", "tlfsgr", "sgrld", "gibbs", "ours")

#: Samples after the burn-in, and in what a person only wants to see work.
COLLECTED, QUICK_BURN_IN, QUICK_COLLECTED = 1500, 20, 20
#: Documents to train on and to score then.
QUICK_DOCUMENTS = (400, 150)
#: Options that make iterations short then.
QUICK = {"minibatch": 50, "sweeps": 12, "kept-sweeps": 4}


class Task(NamedTuple):
    """One row with one seed: plain values, for another process."""

    name: str
    options: dict[str, Any]
    iterations: int
    train: Documents
    words: int
    held_out: HeldOut
    seconds: float | None


class Point(NamedTuple):
    """How good a row is at some time. Perplexities of samples are NaN before there are any."""

    iteration: int
    seconds: float
    point: float
    rate_weighted: float
    perplexity: float
    samples: int


class Curve(NamedTuple):
    """All that is known of a task when it is done; ``fault`` says why it ended early, if it did."""

    name: str
    seed: int
    points: list[Point]
    fault: str


def run(setting: Setting, listener: Listener) -> Report:
    """Train and score all rows; write ``table1.csv``, ``curves.csv`` and ``curves.png``."""
    wanted = names(setting.rows)
    assert setting.corpus is not None
    train, words, held_out = read(setting.corpus, setting, listener)
    tasks = [
        task(name, seed, train, words, held_out, setting)
        for seed in range(setting.seed, setting.seed + setting.seeds)
        for name in wanted
    ]
    listener.note(
        f"{len(train):,} documents to train on, {len(held_out.observed):,} to score; {len(tasks)} "
        f"rows, {min(setting.threads, len(tasks))} at a time"
    )
    curves: dict[int, Curve] = {}
    table, series = setting.out / "table1.csv", setting.out / "curves.csv"

    def keep(at: int, curve: Curve) -> None:
        curves[at] = curve
        last = curve.points[-1] if curve.points else None
        told = f"perplexity {last.rate_weighted:.1f}" if last else "nothing"
        listener.note(f"{curve.name}, seed {curve.seed}: {curve.fault or told}")
        so_far = [curves[i] for i in sorted(curves)]
        write_csv(table, HEAD, rows(wanted, so_far))
        write_csv(
            series,
            ("row", "seed", *Point._fields),
            [(c.name, c.seed, *p) for c in so_far for p in c.points],
        )

    with listener.counting("rows", 100) as tell:
        found = in_processes(
            train_row, tasks, [cost(t) for t in tasks], setting.threads, tell, keep
        )
    files = [table, series]
    if setting.pictures:
        files.append(draw(setting.out / "curves.png", found, quick=setting.quick))
    shown = rows(wanted, found)
    return Report(HEAD, shown, sentences(shown, found, setting), files)


# ---- what is trained on what


def names(patterns: tuple[str, ...]) -> list[str]:
    """Rows that match any pattern, in the order of the table.

    Raises
    ------
    UsageError
        If a pattern matches none.
    """
    every = [f"{sampler}-{'-'.join(map(str, layers))}" for sampler in SAMPLERS for layers in LAYERS]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in every):
            raise UsageError(
                f"--rows {pattern}: there is no such row; there are {', '.join(every)}"
            )
    return [n for n in every if not patterns or any(fnmatchcase(n, p) for p in patterns)]


def read(folder: Path, setting: Setting, listener: Listener) -> tuple[Documents, int, HeldOut]:
    """Training documents, number of words, and the authors' split of the test documents.

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
    options = CorpusOptions(min_df=0)
    with tempfile.TemporaryDirectory(prefix="sgmc-") as scratch:
        corpus = open_corpus([str(others[0])], options, store=Path(scratch) / "train",
                             threads=setting.threads, log=listener.note)  # fmt: skip
        train = corpus.take(np.arange(corpus.documents))
        words = corpus.vocabulary
    # documents that are empty in one part keep their row
    parts = [
        join(matched_documents([str(path)], CorpusOptions(), words, threads=setting.threads,
                               notify=lambda progress: None, log=listener.note))
        for path in (observed, others[1])
    ]  # fmt: skip
    held_out = pair(*parts)
    if setting.quick:
        train, held_out = cut(train, held_out)
    if len(held_out.observed) == 0:
        raise CorpusError("no document has both observed and held-out tokens", observed)
    return train, len(words), held_out


def join(blocks: Any) -> Documents:
    """Make consecutive blocks of documents one."""
    listed = list(blocks)
    ends = np.cumsum([0, *(b.indptr[-1] for b in listed)])
    indptr = np.concatenate(
        [np.zeros(1, np.int64), *(b.indptr[1:] + e for b, e in zip(listed, ends, strict=False))]
    )
    return Documents(
        indptr.astype(np.int64),
        np.concatenate([b.indices for b in listed] or [np.zeros(0)]).astype(np.int32),
        np.concatenate([b.counts for b in listed] or [np.zeros(0)]).astype(np.int32),
    )


def cut(train: Documents, held_out: HeldOut) -> tuple[Documents, HeldOut]:
    """Keep the first few of both."""
    few, scored = (np.arange(n) for n in QUICK_DOCUMENTS)
    few, scored = few[: len(train)], scored[: len(held_out.observed)]
    return train.take(few), HeldOut(
        held_out.observed.take(scored), held_out.held_out.take(scored),
        held_out.doc_ids[scored], held_out.dropped,
    )  # fmt: skip


def task(
    name: str, seed: int, train: Documents, words: int, held_out: HeldOut, setting: Setting
) -> Task:
    """One row with one seed, its options resolved."""
    sampler, *widths = name.split("-")
    given: dict[str, Any] = {"layers": tuple(map(int, widths)), "seed": seed}
    given |= {"algo": "scir"} if sampler == "ours" else {"algo": sampler, "preset": "dlda-2017"}
    if setting.quick:
        given |= {"burn-in": QUICK_BURN_IN}
        if sampler != "gibbs":
            given |= {"warm-up": 10 if sampler == "ours" else 0, **QUICK}
    facts = Facts(
        len(train), words, train.tokens, visits(held_out),
        minibatch_words(train, np.arange(len(train))),
    )  # fmt: skip
    options, _ = resolve(given, facts)
    collected = QUICK_COLLECTED if setting.quick else COLLECTED
    iterations = options["burn-in"] + collected * options["sample-every"]
    if sampler == "ours":
        published = task("tlasgr-128", seed, train, words, held_out, setting)
        visited = published.iterations * published.options["minibatch"]
        iterations = -(-visited // options["minibatch"])
    return Task(name, options, iterations, train, words, held_out, setting.seconds)


def cost(row: Task) -> float:
    """What a row takes, in sweeps of a document over one layer: training, and scoring samples."""
    o = row.options
    samples = max(0, row.iterations - o["burn-in"]) / o["sample-every"]
    visited = row.iterations * o["minibatch"] * o["sweeps"]
    return float(len(o["layers"]) * (visited + 2 * samples * len(row.held_out.observed)))


# ---- one row


def train_row(row: Task, share: Callable[[float], None]) -> Curve:
    """Train and score one row, with one thread."""
    options = row.options
    stream = Stream.of(options, row.train, np.arange(len(row.train)))
    chain = Chain(options, stream, row.words, row.train.tokens, 1)
    completion = Completion(row.held_out, options, 1)
    posterior = Posterior(chain, completion, options["burn-in"], options["sample-every"], False)
    points: list[Point] = []
    seconds, fault = 0.0, ""
    marks = itertools.chain((50,), itertools.count(100, 100))
    if row.iterations < 100:
        marks = itertools.count(10, 10)  # type: ignore[assignment]
    mark = next(marks)
    try:
        while chain.step < row.iterations:
            began = time.perf_counter()
            chain.advance()
            seconds += time.perf_counter() - began
            share(max(chain.step / row.iterations, min(1.0, seconds / (row.seconds or math.inf))))
            chain.check()
            if posterior.due:
                posterior.observe()
            ends = chain.step == row.iterations or (row.seconds and seconds >= row.seconds)
            if chain.step == mark or ends:
                points.append(look(posterior, seconds))
            if chain.step == mark:
                mark = next(marks)
            if ends:
                break
    except NumericalError as error:  # one row that diverges is a finding, not the end of the others
        fault = str(error)
    finally:
        chain.close()
    return Curve(row.name, options["seed"], points, fault)


def look(posterior: Posterior, seconds: float) -> Point:
    """Where a row stands."""
    weighted = posterior.figures().get("rate_weighted_perplexity", math.nan)
    return Point(
        posterior.chain.step, seconds, posterior.point(), weighted, posterior.perplexity,
        posterior.samples,
    )  # fmt: skip


# ---- what came out

HEAD = (
    "row", "paper", "rate-weighted", "sd", "perplexity", "point", "samples", "minibatches",
    "seconds", "seeds",
)  # fmt: skip


def rows(wanted: list[str], curves: list[Curve]) -> list[tuple[Any, ...]]:
    """One line for each row of the table: means over its seeds; of a diverged one, none."""
    lines: list[tuple[Any, ...]] = []
    for name in wanted:
        own = [c for c in curves if c.name == name]
        ends = [c.points[-1] for c in own if c.points and not c.fault]
        if not ends:
            lines.append((name, PAPER.get(name), *(None,) * 7, len(own)))
            continue
        mean = [statistics.fmean(values) for values in zip(*ends, strict=True)]
        iteration, seconds, point, weighted, perplexity, samples = mean
        spread = statistics.stdev(e.rate_weighted for e in ends) if len(ends) > 1 else None
        lines.append(
            (name, PAPER.get(name), number(weighted), spread, number(perplexity), point,
             round(samples), round(iteration), seconds, len(ends))
        )  # fmt: skip
    return lines


def number(value: float) -> float | None:
    """None for NaN."""
    return None if math.isnan(value) else value


def sentences(shown: list[tuple[Any, ...]], curves: list[Curve], setting: Setting) -> list[str]:
    """The order of the samplers at each width, and what must not be compared."""
    found = []
    if setting.quick:
        found.append("a small cut and few iterations: only that it works can be seen from this.")
    weighted = {line[0]: line[2] for line in shown if line[2] is not None}
    for layers in LAYERS:
        size = "-".join(map(str, layers))
        scores = {s: weighted[f"{s}-{size}"] for s in SAMPLERS if f"{s}-{size}" in weighted}
        paper = {s: PAPER[f"{s}-{size}"] for s in scores if f"{s}-{size}" in PAPER}
        if not scores:
            continue
        line = f"{size}: {order(scores)}"
        found.append(line + (f"; in the paper {order(paper)}" if len(paper) > 1 else ""))
    found += [f"{c.name}, seed {c.seed}: {c.fault}" for c in curves if c.fault]
    return found


def order(scores: Mapping[str, float]) -> str:
    """Names and numbers, the lowest first."""
    return " < ".join(f"{n} {scores[n]:.0f}" for n in sorted(scores, key=lambda n: scores[n]))


def draw(path: Path, curves: list[Curve], *, quick: bool) -> Path:
    """Perplexity against training seconds, a panel for each number of layers."""
    sizes = [
        "-".join(map(str, layers))
        for layers in LAYERS
        if any(c.name.split("-", 1)[1] == "-".join(map(str, layers)) for c in curves)
    ]
    figure = new_figure(1.2 + 4.4 * len(sizes), 4.8)
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for size, axes in zip(sizes, panels, strict=True):
        for sampler, colour in zip(SAMPLERS, COLOURS, strict=False):
            name = f"{sampler}-{size}"
            for curve in (c for c in curves if c.name == name and c.points):
                times = [p.seconds for p in curve.points]
                axes.plot(times, [p.point for p in curve.points], color=colour, lw=1.0, ls=":")
                axes.plot(times, [p.rate_weighted for p in curve.points], color=colour, lw=2.2,
                          marker=".", markevery=[-1])  # fmt: skip
                if name in PAPER and not quick:
                    axes.plot(times[-1], PAPER[name], "x", color=colour, ms=7, mew=1.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("training, seconds of one thread")
        axes.set_title(f"{size} topics, from the data up" if "-" in size else f"{size} topics")
        axes.grid(color="#e6e6e6", lw=0.7, which="both")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    _scale(panels[0], [p.point for c in curves for p in c.points])
    panels[0].set_ylabel("held-out perplexity (lower is better)")
    figure.suptitle(
        "Deep LDA on 20News" + (", a small cut" if quick else "") + " (Cong et al. 2017, Table 1)"
    )
    _legend(figure, {c.name.split("-", 1)[0] for c in curves}, quick=quick)
    return write_png(path, figure)


def _scale(axes: Any, values: list[float]) -> None:
    """Name round numbers on the logarithmic scale of perplexity."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    top = 1.05 * max(v for v in values if math.isfinite(v))
    bottom = axes.get_ylim()[0]
    step = next(s for s in (10, 25, 50, 100, 200, 500, 1000) if (top - bottom) / s < 13)
    first = step * math.ceil(bottom / step)
    axes.set_ylim(bottom, top)
    axes.yaxis.set_major_locator(FixedLocator([*range(first, int(top) + 1, step)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _legend(figure: Any, drawn: set[str], *, quick: bool) -> None:
    from matplotlib.lines import Line2D

    labels = {"gibbs": "Gibbs, whole corpus", "ours": "ours: SCIR"}
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
