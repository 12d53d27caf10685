"""What experiments on LDA share: corpora, rows that are training runs, their table and their picture."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.matched import matched_documents
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.evaluate import HeldOut, split, visits
from pysgrld.experiments.curves import (
    Curve,
    Point,
    Task,
    cost,
    plot,
    scale_perplexity,
    scale_seconds,
    train_row,
)
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
from pysgrld.settings import Facts, resolve
from pysgrld.stream import minibatch_words
from pysgrld.types import Documents

#: Documents to train on and to score, and seconds of training, where a person wants to see it work.
QUICK_TRAIN, QUICK_SCORED, QUICK_SECONDS = 300, 60, 2.0


class Row(NamedTuple):
    """A training run.

    Attributes
    ----------
    name : str
        As typed after ``--rows``, and in the table.
    given : dict
        Options, as after ``sgmc train``.
    panel : str
        Title of the panel of the picture that it is drawn in.
    """

    name: str
    given: dict[str, Any]
    panel: str = ""


class Data(NamedTuple):
    """Documents to train on over so many words, and documents to score."""

    train: Documents
    words: int
    held_out: HeldOut


class Plan(NamedTuple):
    """How long rows train: for so many seconds each, or so many minibatches."""

    seconds: float | None = None
    iterations: int | None = None


# ---- corpora


def read_parts(folder: Path, observed: float, setting: Setting, listener: Listener) -> Data:
    """A folder with docword.NAME.train.txt and docword.NAME.test.txt; test documents are split here.

    Raises
    ------
    MissingInputError
        If they are not there.
    """
    train, test, words = read_whole(folder, setting, listener)
    if setting.quick:
        train, test = _first(train, QUICK_TRAIN), _first(test, QUICK_SCORED)
    held_out = split(test, np.arange(len(test)), observed, setting.seed)
    return Data(train, words, held_out)


def read_whole(
    folder: Path, setting: Setting, listener: Listener
) -> tuple[Documents, Documents, int]:
    """Training documents, test documents and number of words of such a folder; no row is empty.

    Raises
    ------
    MissingInputError
        If they are not there.
    """
    found = sorted(folder.glob("docword.*.train.txt*")) if folder.is_dir() else []
    tests = [p.with_name(p.name.replace(".train.", ".test.")) for p in found]
    if not found or not tests[0].exists():
        raise MissingInputError(
            f"{folder}: no folder with docword.NAME.train.txt(.gz), docword.NAME.test.txt(.gz) and "
            "vocab.NAME.txt"
        )
    train, words = _read(found[0], setting, listener)
    test = join(
        matched_documents([str(tests[0])], CorpusOptions(), words, threads=setting.threads,
                          notify=lambda progress: None, log=listener.note)
    )  # fmt: skip
    return train, test.take(np.flatnonzero(test.lengths > 0)), len(words)


def read_split(path: Path, observed: float, setting: Setting, listener: Listener) -> Data:
    """A docword file, or a folder with one: every document is split, and trained on by its first part.

    Raises
    ------
    MissingInputError
        If there is none.
    """
    found = [path] if path.is_file() else sorted(path.glob("docword.*.txt*"))
    if not found:
        raise MissingInputError(f"{path}: no docword.NAME.txt(.gz), nor a folder with one")
    documents, words = _read(found[0], setting, listener)
    if setting.quick:
        documents = _first(documents, QUICK_TRAIN // 3)
    held_out = split(documents, np.arange(len(documents)), observed, setting.seed)
    return Data(held_out.observed, len(words), held_out)


def _read(path: Path, setting: Setting, listener: Listener) -> tuple[Documents, tuple[str, ...]]:
    with tempfile.TemporaryDirectory(prefix="sgmc-") as scratch:
        corpus = open_corpus([str(path)], CorpusOptions(min_df=0), store=Path(scratch) / "corpus",
                             threads=setting.threads, log=listener.note)  # fmt: skip
        return corpus.take(np.arange(corpus.documents)), corpus.vocabulary


def join(blocks: Iterable[Documents]) -> Documents:
    """Make consecutive blocks of documents one."""
    listed = list(blocks)
    ends = np.cumsum([0, *(b.indptr[-1] for b in listed)])
    indptr = np.concatenate(
        [np.zeros(1, np.int64), *(b.indptr[1:] + e for b, e in zip(listed, ends, strict=False))]
    )
    return Documents(
        indptr.astype(np.int64),
        np.concatenate([b.indices for b in listed] or [np.zeros(0, np.int32)]).astype(np.int32),
        np.concatenate([b.counts for b in listed] or [np.zeros(0, np.int32)]).astype(np.int32),
    )


def _first(documents: Documents, n: int) -> Documents:
    return documents.take(np.arange(min(n, len(documents))))


# ---- rows


def matching(names: Sequence[str], patterns: tuple[str, ...]) -> list[str]:
    """Names that match any pattern, in their order; all where there is no pattern.

    Raises
    ------
    UsageError
        If a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(
                f"--rows {pattern}: there is no such row; there are {', '.join(names)}"
            )
    return [n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns)]


def task(row: Row, seed: int, data: Data, plan: Plan) -> Task:
    """One row with one seed, its options resolved."""
    train = data.train
    facts = Facts(
        len(train), data.words, train.tokens, visits(data.held_out),
        minibatch_words(train, np.arange(len(train))),
    )  # fmt: skip
    options, _ = resolve(row.given | {"seed": seed}, facts)
    iterations = plan.iterations or 2**53
    return Task(row.name, options, iterations, train, data.words, data.held_out, plan.seconds)


HEAD = (
    "row",
    "perplexity",
    "point",
    "samples",
    "iterations",
    "documents",
    "seconds",
    "seeds",
    "sd",
)


def run_rows(
    setting: Setting, listener: Listener, rows: Sequence[Row], data: Data, plan: Plan, title: str,
    say: Callable[[dict[str, float]], list[str]], *, by_documents: bool = False,
) -> Report:  # fmt: skip
    """Train and score rows; write ``rows.csv``, ``curves.csv`` and ``curves.png``.

    Parameters
    ----------
    rows : sequence of Row
        All that there are; those that the setting asks for are trained.
    say : callable
        From the perplexity of each row to sentences.
    by_documents : bool
        Whether the picture has documents on its axis, and not seconds.
    """
    wanted = matching([row.name for row in rows], setting.rows)
    chosen = [row for row in rows if row.name in wanted]
    if setting.quick and plan.seconds:
        plan = Plan(QUICK_SECONDS)
    if setting.seconds is not None:
        plan = plan._replace(seconds=setting.seconds)
    seeds = range(setting.seed, setting.seed + setting.seeds)
    tasks = [task(row, seed, data, plan) for seed in seeds for row in chosen]
    listener.note(
        f"{len(data.train):,} documents to train on, {len(data.held_out.observed):,} to score; "
        f"{len(tasks)} rows, {min(setting.threads, len(tasks))} at a time"
    )
    done: dict[int, Curve] = {}
    table, series = setting.out / "rows.csv", setting.out / "curves.csv"

    def keep(at: int, curve: Curve) -> None:
        done[at] = curve
        end = f"perplexity {score(curve.points[-1]):.1f}" if curve.points else "nothing"
        listener.note(f"{curve.name}, seed {curve.seed}: {curve.fault or end}")
        so_far = [done[i] for i in sorted(done)]
        write_csv(table, HEAD, lines(chosen, so_far, tasks))
        points = [(c.name, c.seed, *p) for c in so_far for p in c.points]
        write_csv(series, ("row", "seed", *Point._fields), points)

    with listener.counting("rows", 100) as tell:
        found = in_processes(
            train_row, tasks, [cost(t) for t in tasks], setting.threads, tell, keep
        )
    files = [table, series]
    if setting.pictures:
        files.append(draw(setting.out / "curves.png", chosen, found, tasks, title, by_documents))
    shown = lines(chosen, found, tasks)
    columns = len(HEAD) if setting.seeds > 1 else HEAD.index("seeds")
    scores = {line[0]: line[1] for line in shown if line[1] is not None}
    sentences = ["a small cut and few seconds: only that it works can be seen."] * setting.quick
    sentences += say(scores)
    sentences += [f"{c.name}, seed {c.seed}: {c.fault}" for c in found if c.fault]
    return Report(HEAD[:columns], [line[:columns] for line in shown], sentences, files)


def score(point: Point) -> float:
    """Perplexity of the averaged samples; of the topics as they stand where there are none."""
    return point.perplexity if point.samples else point.point


def lines(
    rows: Sequence[Row], curves: Sequence[Curve], tasks: Sequence[Task]
) -> list[tuple[Any, ...]]:
    """One line for each row that is done: means over its seeds; of a diverged one, none."""
    sizes = {t.name: t.options["minibatch"] for t in tasks}
    told: list[tuple[Any, ...]] = []
    for row in rows:
        own = [c for c in curves if c.name == row.name]
        ends = [c.points[-1] for c in own if c.points and not c.fault]
        if not ends:
            told += [(row.name, *(None,) * 6, 0, None)] if own else []
            continue
        mean = Point._make(map(statistics.fmean, zip(*ends, strict=True)))
        scores = [score(end) for end in ends]
        told.append(
            (row.name, statistics.fmean(scores), mean.point, round(mean.samples),
             round(mean.iteration), round(mean.iteration * sizes[row.name]), mean.seconds,
             len(ends), statistics.stdev(scores) if len(ends) > 1 else None)
        )  # fmt: skip
    return told


# ---- the picture


def draw(
    path: Path, rows: Sequence[Row], curves: Sequence[Curve], tasks: Sequence[Task], title: str,
    by_documents: bool,
) -> Path:  # fmt: skip
    """Perplexity against training, a panel for each that rows name."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import StrMethodFormatter

    titles = list(dict.fromkeys(row.panel for row in rows))
    sizes = {t.name: t.options["minibatch"] for t in tasks}
    figure = new_figure(1.2 + 5.4 * len(titles), 4.9)
    panels = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for panel, axes in zip(titles, panels, strict=True):
        inside = [row for row in rows if row.panel == panel]
        handles = []
        for i, row in enumerate(inside):
            colour, dash = COLOURS[i % len(COLOURS)], "-" if i < len(COLOURS) else "--"
            for curve in (c for c in curves if c.name == row.name and c.points):
                size = sizes[row.name] if by_documents else None
                plot(axes, curve, colour, score, documents=size, dash=dash)
            handles.append(Line2D([], [], color=colour, lw=2.2, ls=dash, label=row.name))
        axes.legend(handles=handles, loc="best", fontsize=9, framealpha=0.8, edgecolor="none")
        if by_documents:
            axes.set_xlabel("documents seen")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        else:
            scale_seconds(axes)
        axes.set_title(panel, fontsize=10)
        axes.grid(color="#e6e6e6", lw=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    # the first looks are far above everything: they would squeeze what differs
    late = [p.point for c in curves for p in c.points[len(c.points) // 4 :]]
    low = min((score(p) for c in curves for p in c.points), default=1.0)
    panels[0].set_ylim(0.97 * low, 1.05 * float(np.quantile(late or [low], 0.9)))
    scale_perplexity(panels[0], late)
    figure.suptitle(f"{title}\nthick: samples averaged; thin and dotted: topics as they stand")
    return write_png(path, figure)
