"""The minibatch and the step of a corpus of a million documents, on held-out documents.

    python benchmarks/large.py RUN FOLDER [--documents 1000000]

Draws documents of about sixty tokens from the topics of RUN (any LDA run), writes them into FOLDER
as a stored corpus, and trains one epoch on them for each setting below, one thread. Prints held-out
perplexity after each quarter of the epoch. The table of docs/internals/defaults.md comes from here,
with a run of 200 topics on Simple English Wikipedia.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
from small import SGMC

from pysgrld import LDA
from pysgrld.corpus.write import Writer
from pysgrld.models.options import option_text
from pysgrld.types import Documents

BLOCK = 100_000
#: Minibatch, iterations of the warm-up, step; None is the default. Warm-ups of 200,000 documents.
SETTINGS = (
    (400, 500, None),
    (400, 500, 0.004),
    (400, 500, 0.001),
    (1000, 200, None),
    (2000, 100, None),
    (4000, 50, None),
)


def write(folder: Path, topics: np.ndarray, words: list[str], documents: int) -> None:
    """Write a corpus of documents drawn from topics (K, V), which are used unequally."""
    k, rng, writer = len(topics), np.random.default_rng(7), Writer(folder)
    upto = np.cumsum(topics.astype(np.float64), axis=1)
    upto /= upto[:, -1:]
    usual = rng.dirichlet(np.full(k, 2.0))
    writer.files["indptr"].append(np.zeros(1, np.int64))
    for begin in range(0, documents, BLOCK):
        n = min(BLOCK, documents - begin)
        theta = rng.gamma(0.06 * k * usual, size=(n, k))
        lengths = np.clip(rng.lognormal(3.8, 0.8, n), 8, 800).astype(int)
        drawn = rng.multinomial(lengths, theta / theta.sum(axis=1, keepdims=True))
        cells = []
        for topic, times in enumerate(drawn.T):
            word = np.searchsorted(upto[topic], rng.random(times.sum()))
            cells.append(np.repeat(np.arange(n), times) * len(words) + word)
        cell, counts = np.unique(np.concatenate(cells), return_counts=True)
        indptr = np.searchsorted(cell, np.arange(n + 1) * len(words))
        indices = (cell % len(words)).astype(np.int32)
        writer.append(Documents(indptr, indices, counts.astype(np.int32)))
    writer.finish_corpus(words, {"inputs": [], "options": {}})


def train(corpus: Path, run: Path, setting: tuple[int, int, float | None], documents: int) -> None:
    """Train for one epoch in a separate process, and print a row of the table."""
    minibatch, warm_up, step = setting
    options = {"topics": 100, "threads": 1, "epochs": 1, "samples": 1, "minibatch": minibatch}
    options |= {"warm-up": warm_up, "eval-every": documents // minibatch // 4}
    options |= {"step-size": f"{step},1,0"} if step else {}
    typed = [
        word for name, value in options.items() for word in option_text(name, value).split(" ")
    ]
    command = [*SGMC, "train", str(corpus), "--out", str(run), "--quiet"]
    subprocess.run(command + typed, check=True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()][:4]
    name = f"{minibatch}, step {lines[-1]['step_size']:.3f}"
    averaged = ", ".join(f"{line['perplexity'] or float('nan'):.0f}" for line in lines)
    points = ", ".join(f"{line['point_perplexity']:.0f}" for line in lines)
    print(f"| {name} | {averaged} | {points} |", flush=True)


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    given = parser.parse_args()
    corpus = given.folder / f"corpus-{given.documents}"
    if not corpus.exists():
        model = LDA.load(given.run)
        write(corpus, model.components_, list(model.feature_names_in_), given.documents)
    print("| minibatch | averaged perplexity by quarter | of one draw |\n|---|---|---|")
    for setting in SETTINGS:
        run = given.folder / "-".join(map(str, ("run", *setting)))
        train(corpus, run, setting, given.documents)


if __name__ == "__main__":
    main()
