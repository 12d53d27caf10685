"""Topics over time (`--model dtm`) measured: coverage, beside gensim, NIPS by year, a million documents.

    python benchmarks/over_time.py coverage [--corpora 20] [--algo mala]
    python benchmarks/over_time.py gensim [--python PYTHON] [--documents 2000] [-k 5]
    python benchmarks/over_time.py nips DOCWORD NAMES [-k 20] [--algo sgld]
    python benchmarks/over_time.py large FOLDER [--documents 1000000] [--minutes 60]

``coverage`` draws corpora from the model, trains on each, and counts how often 90 % intervals hold the
truth: probabilities of the ten words of each topic that the page shows, in all slices, and how many times
as probable each is in the last slice as in the first.

``gensim`` trains LdaSeqModel on a made corpus, by an interpreter that has gensim, scores its topics on
the held-out documents of a run of sgmc on the same training documents, by the same completion, and says
how long either took, and when sgmc had the figure that gensim ends with.

``nips`` trains on all years but the last, a tenth of the papers held out, and scores these and the papers
of the last year; beside it LDA on the same papers, and LDA on the last year of training alone.
Differences are paired, document by document.

``large`` trains on made documents in 100 slices with 100 topics and says how far it is, and in what
memory.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.corpus.reading import ReadingProgress
from pysgrld.evaluate import Estimate
from pysgrld.evaluate.matching import DISTRIBUTIONS, assign
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.intervals import bounds
from pysgrld.reading.results import Results
from pysgrld.reading.score import held_out_of, score, score_own
from pysgrld.report.words_over_time import words_over_time
from pysgrld.types import Doubles, Int64s, Key

DRIFT, SPREAD = 0.15, 2.0


class Quiet:
    """A listener that ignores messages about reading."""

    def note(self, line: str, *_: object) -> None:
        """Ignore a line."""

    def reading(self, progress: ReadingProgress) -> None:
        """Ignore the progress."""


class Made(NamedTuple):
    """A corpus drawn from the model: its topics (T, K, V), and documents as counts of words."""

    phi: Doubles
    slices: Int64s
    words: list[Int64s]


def made(seed: int, documents: int, slices: int, words: int, topics: int, length: int) -> Made:
    """Draw topics that change as random walks, and documents with these topics."""
    rng = np.random.default_rng(seed)
    scale = np.array([SPREAD, *[DRIFT] * (slices - 1)])[:, None, None]
    b = np.cumsum(rng.standard_normal((slices, topics, words)) * scale, axis=0)
    phi = np.exp(b - b.max(axis=2, keepdims=True))
    phi /= phi.sum(axis=2, keepdims=True)
    theta = rng.dirichlet(np.full(topics, 0.1), documents)
    of = np.sort(rng.integers(slices, size=documents))
    texts = [_document(rng, phi[t], share, length) for t, share in zip(of, theta, strict=True)]
    return Made(phi, of, texts)


def _document(rng: np.random.Generator, phi: Doubles, theta: Doubles, length: int) -> Int64s:
    """Draw the words of a document."""
    counts = rng.multinomial(length, theta)
    drawn = [rng.choice(phi.shape[1], n, p=phi[k]) for k, n in enumerate(counts) if n]
    return np.concatenate(drawn)


def write_lines(path: Path, corpus: Made) -> None:
    """Write a corpus as JSON lines, with a number as the time of each document."""
    with path.open("w") as file:
        for t, words in zip(corpus.slices.tolist(), corpus.words, strict=True):
            text = " ".join(f"w{w}" for w in words.tolist())
            file.write(json.dumps({"text": text, "year": 1900 + t}) + "\n")


ALL_WORDS = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--numbers", "keep")


def trained(corpus: Path, out: Path, *options: Any) -> tuple[Results, float]:
    """Train with the command; return the run, and the seconds that the command took."""
    began = time.monotonic()
    command = [sys.executable, "-P", "-m", "pysgrld", "train", str(corpus), "--out", str(out), "-q"]
    subprocess.run([*command, *map(str, options)], check=True)
    return open_run(str(out), 2), time.monotonic() - began


def true_order(results: Results, truth: Doubles) -> tuple[Int64s, Doubles]:
    """Return the true topic matched to each topic of a run, and true topics over the run's words."""
    places = np.array([int(word[1:]) for word in results.vocabulary])
    over = truth[:, :, places]
    mean = over.mean(axis=0)
    found = np.ascontiguousarray(results.phi()[:, : mean.shape[0]].T)
    real = (mean / mean.sum(axis=1, keepdims=True)).astype(np.float32)
    return assign(DISTRIBUTIONS.similarity(found, real)), over


# ---- coverage


def coverage(arguments: argparse.Namespace) -> None:
    """Print the share of true values that are in their intervals."""
    held: dict[str, list[float]] = {"words": [], "change": [], "all changes": []}
    for seed in range(arguments.first, arguments.first + arguments.corpora):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            corpus = made(seed, 3000, 10, 200, 5, 60)
            write_lines(place / "made.jsonl", corpus)
            given = ["--time", "year", "-k", 5, "--algo", arguments.algo, *ALL_WORDS]
            given += [
                "--set",
                f"drift={DRIFT}",
                "--set",
                f"spread={SPREAD}",
                *arguments.options.split(),
            ]
            results, seconds = trained(place / "made.jsonl", place / "run", *given)
            own, truth = true_order(results, corpus.phi)
            topics = np.arange(5)
            found = words_over_time(results, topics, 10)
            real = np.stack([truth[:, own[k]][:, found.words[k]].T for k in topics])  # (K, n, T)
            held["words"].append(float(((found.low < real) & (real < found.high)).mean()))
            change = real[:, :, -1] / real[:, :, 0]
            inside = (found.change_low < change) & (change < found.change_high)
            held["change"].append(float(inside.mean()))
            held["all changes"].append(_all_changes(results, own, truth))
        told = ", ".join(f"{name} {100 * values[-1]:.1f}" for name, values in held.items())
        print(f"corpus {seed}: {told} % ({seconds:.0f} s)", flush=True)
    for name, values in held.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(f"{name}: {100 * np.mean(values):.1f} ± {100 * error:.1f} %")


def _all_changes(results: Results, own: Int64s, truth: Doubles) -> float:
    """Return the share of all words of all topics whose change is in its interval."""
    draws = []
    for step in results.kept():
        phi = results.fitted.topics_by_slice(
            results.fitted.sample_to_draw(results.read_sample(step))
        )
        draws.append(phi[-1] / phi[0])
    low, high = bounds(np.stack(draws))
    real = (truth[-1] / truth[0])[own]
    return float(((low < real) & (real < high)).mean())


# ---- beside gensim

GENSIM = """
import json, sys, time
import numpy as np
from gensim.models import LdaSeqModel
place, k = sys.argv[1], int(sys.argv[2])
docs = json.load(open(f"{place}/docs.json"))
began = time.monotonic()
model = LdaSeqModel(
    corpus=[[tuple(pair) for pair in doc] for doc in docs["bags"]], time_slice=docs["sizes"],
    id2word={i: str(i) for i in range(docs["words"])}, num_topics=k, chain_variance=docs["variance"],
    alphas=0.1, random_state=1, initialize="gensim",
)
seconds = time.monotonic() - began
phi = np.stack([np.exp(chain.e_log_prob - chain.e_log_prob.max(axis=0)) for chain in model.topic_chains])
np.save(f"{place}/phi.npy", phi / phi.sum(axis=1, keepdims=True))
print(seconds)
"""


def gensim(arguments: argparse.Namespace) -> None:
    """Train gensim's model and ours on the same documents, and score both on the same held-out ones."""
    k = arguments.topics
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        corpus = made(1, arguments.documents, 10, arguments.words, k, 80)
        write_lines(place / "made.jsonl", corpus)
        given = ["--time", "year", "-k", k, *ALL_WORDS, "--eval-every", "1", "--exact-sweeps", 0]
        given += ["--set", f"drift={DRIFT}", "--set", f"spread={SPREAD}"]
        results, seconds = trained(place / "made.jsonl", place / "run", *given)
        stored = results.training_corpus()
        assert stored is not None
        ids = results.training_documents(stored)[:]
        taken = stored.take(ids)
        order = np.argsort(taken.slices, kind="stable")
        bags = []
        for d in order.tolist():
            here = slice(*taken.indptr[d : d + 2].tolist())
            bags.append(
                list(zip(taken.indices[here].tolist(), taken.counts[here].tolist(), strict=True))
            )
        sizes = np.bincount(taken.slices, minlength=10).tolist()
        record = {"bags": bags, "sizes": sizes, "words": stored.words, "variance": DRIFT**2}
        (place / "docs.json").write_text(json.dumps(record))
        command = [arguments.python, "-c", GENSIM, str(place), str(k)]
        theirs = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        phi = np.load(place / "phi.npy")  # (K, V, T)
        rows = core.zeros(stored.words * 10, padded_width(k), "float32")
        rows[:, :k] = np.moveaxis(phi, 0, 2).reshape(-1, k)
        scorer = results.fitted.scorer(results.held_out())
        figure = float(scorer.point(Key(0, 0, 1), {"phi": np.maximum(rows[scorer.words], 1e-12)}))
        lines = (place / "run" / "metrics.jsonl").read_text().splitlines()
        metrics = [json.loads(line) for line in lines]
        reached = next((m for m in metrics if m["point_perplexity"] <= figure), None)
        own = float(score_own(results).average)
        truth = np.moveaxis(corpus.phi, 0, 2)  # (K, V, T)
        places = np.array([int(word[1:]) for word in results.vocabulary])
        rows[:, :k] = np.moveaxis(truth[:, places], 0, 2).reshape(-1, k)
        best = float(scorer.point(Key(0, 0, 1), {"phi": np.maximum(rows[scorer.words], 1e-12)}))
        print(f"gensim LdaSeqModel: {theirs:.0f} s, perplexity {figure:.1f}")
        when = "never" if reached is None else f"after {reached['train_seconds']:.2f} s of training"
        print(f"sgmc: that figure {when}; the whole command {seconds:.1f} s, perplexity {own:.1f}")
        print(f"the topics that were planted: {best:.1f}")
        if figure >= own:  # its own time to that figure is no longer than that of the command
            print(f"{theirs / seconds:.0f} times sooner to that figure, at least")


# ---- NIPS


def nips(arguments: argparse.Namespace) -> None:
    """Score held-out papers and papers of the last year, and compare with LDA."""
    names = Path(arguments.names).read_text().split()
    years = np.array([1987 + int(name[4:6]) for name in names])
    with gzip.open(arguments.docword, "rt") as file:
        size = [int(next(file)) for _ in range(3)]
        entries = np.loadtxt(file, np.int64)
    vocabulary = Path(arguments.docword).with_name("vocab.nips.txt")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def part(name: str, chosen: Any) -> Path:
            """Write the chosen papers, with their years."""
            ids = np.flatnonzero(chosen)
            number = np.full(size[0] + 1, -1)
            number[ids + 1] = np.arange(1, len(ids) + 1)
            kept = entries[number[entries[:, 0]] > 0].copy()
            kept[:, 0] = number[kept[:, 0]]
            path = place / f"docword.{name}.txt"
            head = f"{len(ids)}\n{size[1]}\n{len(kept)}\n"
            lines = "\n".join(" ".join(map(str, row)) for row in kept.tolist())
            path.write_text(f"{head}{lines}\n")
            (place / f"vocab.{name}.txt").write_text(vocabulary.read_text())
            with (place / f"{name}.csv").open("w") as table:
                rows = csv.writer(table)
                rows.writerow(["year"])
                rows.writerows([[year] for year in years[ids].tolist()])
            return path

        last = years.max()
        rng = np.random.default_rng(0)
        out = rng.random(len(years)) < 0.1
        train = part("train", (years < last) & ~out)
        part("held", (years < last) & out)
        part("next", years == last)
        part("recent", (years == last - 1) & ~out)
        runs = {}
        for drift in arguments.drift.split(","):
            timed = [
                "-k",
                arguments.topics,
                "--holdout",
                100,
                "--time",
                "year",
                "--set",
                f"drift={drift}",
            ]
            timed += ["--algo", arguments.algo, "--metadata", place / "train.csv"]
            timed += ["--iterations", arguments.iterations] if arguments.iterations else []
            runs[f"dtm, drift {drift}"] = trained(train, place / f"dtm{drift}", *timed)
        plain = ["-k", arguments.topics]
        runs["LDA, all years"] = trained(train, place / "lda", *plain, "--holdout", 100)
        recent = place / "docword.recent.txt"
        runs["LDA, the last year"] = trained(recent, place / "recent", *plain, "--holdout", 15)
        found: dict[str, dict[str, Any]] = {}
        for name, (results, _) in runs.items():
            found[name] = {what: _scored(results, place, what) for what in ("held", "next")}
        for name, (_, seconds) in runs.items():
            line = f"{name}: {seconds:.0f} s"
            for what, figure in found[name].items():
                line += f"; {what} {figure:.1f} ± {figure.error:.1f}"
                if name != "LDA, all years":
                    gap = figure.subtract(found["LDA, all years"][what])
                    line += f" ({float(gap):+.1f} ± {gap.error:.1f})"
            print(line, flush=True)
        print("held-out papers by year, and LDA trained on that year alone")
        held = years[(years < last) & out]
        for year in np.unique(held).tolist():
            of = np.flatnonzero(held == year)
            told = [f"{name} {figures['held'].among(of):.0f}" for name, figures in found.items()]
            own = part(f"in{year}", (years == year) & ~out)
            results, _ = trained(own, place / f"own{year}", *plain, "--holdout", 15)
            alone = _scored(results, place, "held").among(of)
            told.append(f"LDA, its own year {alone:.0f}")
            print(f"{year}, {len(of)} papers: {', '.join(told)}", flush=True)


def _scored(results: Results, place: Path, what: str) -> Estimate:
    """Score some of the papers under a run; all runs split their words in the same way."""
    with tempfile.TemporaryDirectory() as scratch:
        path = _with_years(place, what)
        parts = held_out_of(results, str(path), 0.8, 0, Path(scratch), Quiet())
        return score(results, parts, 0.8, 0).average


def _with_years(place: Path, name: str) -> Path:
    """Return the path of papers as JSON lines of words with years, read as documents in time slices."""
    words = (place / f"vocab.{name}.txt").read_text().split()
    with (place / f"{name}.csv").open() as file:
        years = [row["year"] for row in csv.DictReader(file)]
    bags: list[list[str]] = [[] for _ in years]
    for line in (place / f"docword.{name}.txt").read_text().splitlines()[3:]:
        d, w, n = map(int, line.split())
        bags[d - 1] += [words[w - 1]] * n
    path = place / f"{name}.jsonl"
    with path.open("w") as file:
        for year, bag in zip(years, bags, strict=True):
            file.write(json.dumps({"text": " ".join(bag), "year": int(year)}) + "\n")
    return path


# ---- a million documents


def large(arguments: argparse.Namespace) -> None:
    """Train on many generated documents for a given time."""
    place = Path(arguments.folder)
    place.mkdir(parents=True, exist_ok=True)
    corpus, table = place / "many.ldac", place / "many.csv"
    if not corpus.exists():
        with corpus.open("w") as file, table.open("w") as times:
            times.write("year\n")
            for line, year in _many(arguments.documents, 100, arguments.words, 100, 60):
                file.write(line)
                times.write(f"{year}\n")
    given = ["--time", "year", "-k", 100, "--metadata", table, *ALL_WORDS]
    given += ["--max-memory", "8G", "--time-limit", f"{arguments.minutes}m", "--eval-every", "30s"]
    command = [
        sys.executable,
        "-m",
        "pysgrld",
        "train",
        str(corpus),
        "--out",
        str(place / "run"),
        "-v",
    ]
    subprocess.run([*command, *map(str, given)], check=False)
    lines = (place / "run" / "metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    # there is no average before the first posterior sample
    scores = [last[name] for name in ("perplexity", "point_perplexity", "unigram_perplexity")]
    told = ", ".join("none yet" if score is None else f"{score:.0f}" for score in scores)
    print(
        f"{last['iteration']} iterations, {last['epoch']:.2f} epochs in {last['train_seconds']:.0f} s of "
        f"training, {last['train_seconds'] / max(1, last['iteration']):.2f} s each; memory "
        f"{last['rss_bytes'] / 2**30:.1f} GB; perplexity, of one draw, of word frequencies: {told}"
    )


def _many(
    documents: int, slices: int, words: int, topics: int, length: int
) -> Iterator[tuple[str, int]]:
    """Yield documents as lines of LDA-C, with their slices; topics of one slice are held at a time."""
    rng = np.random.default_rng(7)
    b = rng.standard_normal((topics, words)) * 3.0
    for t in range(slices):
        b += rng.standard_normal(b.shape) * (0.1 if t else 0.0)
        phi = np.exp(b - b.max(axis=1, keepdims=True))
        edges = np.cumsum(phi / phi.sum(axis=1, keepdims=True), axis=1)
        for _ in range(documents // slices):
            counts = rng.multinomial(length, rng.dirichlet(np.full(topics, 0.05)))
            drawn = [np.searchsorted(edges[k], rng.random(n)) for k, n in enumerate(counts) if n]
            ids, n = np.unique(np.minimum(np.concatenate(drawn), words - 1), return_counts=True)
            pairs = " ".join(f"{w}:{c}" for w, c in zip(ids.tolist(), n.tolist(), strict=True))
            yield f"{len(ids)} {pairs}\n", t


def main() -> None:
    """Run the requested measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    which = parser.add_subparsers(dest="which", required=True)
    part = which.add_parser("coverage")
    part.add_argument("--corpora", type=int, default=20)
    part.add_argument("--first", type=int, default=0)
    part.add_argument("--algo", default="mala")
    part.add_argument("--options", default="")
    part = which.add_parser("gensim")
    part.add_argument("--python", default=sys.executable)
    part.add_argument("--documents", type=int, default=2000)
    part.add_argument("--words", type=int, default=500)
    part.add_argument("-k", "--topics", type=int, default=5)
    part = which.add_parser("nips")
    part.add_argument("docword")
    part.add_argument("names")
    part.add_argument("-k", "--topics", type=int, default=20)
    part.add_argument("--algo", default="mala")
    part.add_argument("--drift", default="0.05,0.1,0.2")
    part.add_argument("--iterations", type=int, default=400, help="0: until it has settled")
    part = which.add_parser("large")
    part.add_argument("folder")
    part.add_argument("--documents", type=int, default=1_000_000)
    part.add_argument("--words", type=int, default=10_000)
    part.add_argument("--minutes", type=int, default=60)
    arguments = parser.parse_args()
    {"coverage": coverage, "gensim": gensim, "nips": nips, "large": large}[arguments.which](
        arguments
    )


if __name__ == "__main__":
    main()
