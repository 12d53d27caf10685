"""Do intervals hold for other texts like these? Topics of two random halves of a corpus, compared.

    python benchmarks/halves.py CORPUS [CORPUS ...] [-k K] [--splits N] [--json FILE]

A corpus is a folder of ``sgmc corpus build``. It is split at random into two halves, and LDA with its
defaults is trained on each. Topics of the halves are matched one to one by likeness; a pair counts if at
least five of its ten most distinctive words are the same. The difference of a word's square root of
probability between the halves has the variances of both: its 90 % interval should hold 0 nine times in
ten. Printed are the share of the ten top words for which it does, by posterior draws and by draws for
other texts like these, the same for the worst topic, and how many times as wide the latter are.

``made`` instead of a folder is a corpus drawn from the model, 20 topics over 3,000 words.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import linear_sum_assignment

from pysgrld import LDA
from pysgrld.corpus import Corpus
from pysgrld.types import Array

#: Top words that are compared, and how many of a pair of topics must agree.
WORDS, AGREE = 10, 5
#: Standard deviations that a normal deviate is within nine times in ten.
NORMAL = 1.6449


class Half(NamedTuple):
    """Topics of one half: square roots of probabilities, (K, V), and their variances."""

    roots: Array
    posterior: Array
    population: Array


def counts_of(place: str) -> sparse.csr_matrix:
    """Return the counts of a stored corpus, or of one that is drawn from the model."""
    if place == "made":
        rng = np.random.default_rng(5)
        topics, words, documents = 20, 3000, 3000
        phi = rng.dirichlet(np.full(words, 0.05), topics)
        rows = [
            rng.multinomial(rng.poisson(80), rng.dirichlet(np.full(topics, 0.1)) @ phi)
            for _ in range(documents)
        ]
        return sparse.csr_matrix(np.stack(rows))
    corpus = Corpus.open(Path(place))
    part = corpus.take(np.arange(corpus.documents))
    return sparse.csr_matrix(
        (part.counts, part.indices, part.indptr), shape=(corpus.documents, corpus.words)
    )


def trained(counts: sparse.csr_matrix, k: int, seed: int) -> Half:
    """Train on one half, and return its topics."""
    lda = LDA(k, random_state=seed, keep_samples=200, n_jobs=1).fit(counts)
    fitted = lda._fitted()
    draws = [np.sqrt(sample["phi"]) for sample in lda._samples.values()]
    wide = [
        np.sqrt(fitted.like_these(step, sample)["phi"]) for step, sample in lda._samples.items()
    ]
    return Half(np.mean(draws, axis=0), np.var(draws, axis=0), np.var(wide, axis=0))


def pairs(first: Half, second: Half) -> Iterator[tuple[int, int]]:
    """Yield the topics that both halves have."""
    rows, columns = linear_sum_assignment(-(first.roots @ second.roots.T))
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        top = [set(np.argsort(-half.roots[at])[:WORDS]) for half, at in ((first, i), (second, j))]
        if len(top[0] & top[1]) >= AGREE:
            yield i, j


def compared(counts: sparse.csr_matrix, k: int, seed: int) -> dict[str, Any]:
    """Split a corpus, train on both halves, and count what intervals of differences hold."""
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    middle = len(order) // 2
    first, second = (
        trained(counts[part], k, seed + 1) for part in (order[:middle], order[middle : 2 * middle])
    )
    held: dict[str, list[float]] = {"posterior": [], "population": []}
    widths = []
    for i, j in pairs(first, second):
        for half, at in ((first, i), (second, j)):
            words = np.argsort(-half.roots[at])[:WORDS]
            difference = np.abs(first.roots[i, words] - second.roots[j, words])
            for name in held:
                variance = getattr(first, name)[i, words] + getattr(second, name)[j, words]
                held[name].append(float((difference <= NORMAL * np.sqrt(variance)).mean()))
            widths.append(np.sqrt(half.population[at, words] / half.posterior[at, words]).mean())
    return {
        "topics": len(widths) // 2,
        "posterior": float(np.mean(held["posterior"])),
        "population": float(np.mean(held["population"])),
        "worst": float(np.min(held["population"])),
        "width": float(np.mean(widths)),
    }


def main() -> None:
    """Print a row for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("-k", type=int, default=10, help="topics [10]; made: 20")
    parser.add_argument("--splits", type=int, default=1, help="random splits of each corpus [1]")
    parser.add_argument("--json", type=Path, help="also write the figures")
    asked = parser.parse_args()
    print(
        "| corpus | topics in both | posterior | alike | worst topic | width |\n|---|---|---|---|---|---|"
    )
    rows = {}
    for place in asked.corpora:
        counts, k = counts_of(place), 20 if place == "made" else asked.k
        found = [compared(counts, k, seed) for seed in range(asked.splits)]
        row = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
        rows[Path(place).name] = row
        assert not math.isnan(row["population"])
        print(
            f"| {Path(place).name} | {row['topics']:.0f} of {k} | {row['posterior']:.2f} | "
            f"{row['population']:.2f} | {row['worst']:.1f} | {row['width']:.2f} |",
            flush=True,
        )
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
