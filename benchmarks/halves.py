"""Do intervals hold for other texts like these? Runs on two random halves of a corpus, compared.

    python benchmarks/halves.py CORPUS [CORPUS ...] [-k K] [--splits N] [--json FILE]

A corpus is a folder of ``sgmc corpus build``. It is split at random into two halves, and LDA with its
defaults is trained on each, as ``sgmc diagnose --halves`` does for a run. The 90 % interval of a
difference between the halves should hold 0 nine times in ten. Printed are the fractions for which it
does: of the ten top words, for these documents and for other texts like these, of the latter in the
worst topic, of shares of topics, and of shares in groups.

``made`` instead of a folder is a corpus drawn from the model, 20 topics over 3,000 words.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sparse

from pysgrld.corpus import Corpus
from pysgrld.corpus.build import store_documents
from pysgrld.models.choices import Choices
from pysgrld.reading.find_runs import open_run
from pysgrld.report.halves import HalvesCompared, compare_halves
from pysgrld.train.halves import train_halves
from pysgrld.types import Documents


def counts_of(place: str) -> sparse.csr_matrix:
    """Return the counts of a stored corpus, or of a corpus drawn from the model."""
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


def compared(place: str, k: int, seed: int) -> HalvesCompared:
    """Split a corpus, train on both halves, and count the intervals of differences that hold 0."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        if place == "made":
            counts = counts_of(place)
            documents = Documents(
                counts.indptr.astype(np.int64),
                counts.indices.astype(np.int32),
                counts.data.astype(np.int32),
            )
            words = [f"w{w}" for w in range(counts.shape[1])]
            corpus = store_documents(folder / "made", documents, words, {})
        else:
            corpus = Corpus.open(Path(place))
        paths = train_halves(corpus, Choices({"topics": k}), folder, seed, 1)
        alike, these = (
            tuple(open_run(path, 1, these=these) for path in paths) for these in (False, True)
        )
        return compare_halves(alike, these)


def main() -> None:
    """Print a row for each split of each corpus."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("-k", type=int, default=10, help="topics [10]; made: 20")
    parser.add_argument("--splits", type=int, default=1, help="random splits of each corpus [1]")
    parser.add_argument("--json", type=Path, help="also write the figures")
    options = parser.parse_args()
    print("| corpus | topics in both | words, these | alike | worst topic | shares | groups |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for place in options.corpora:
        k = 20 if place == "made" else options.k
        for seed in range(options.splits):
            row = compared(place, k, seed)
            rows.append(
                {
                    "corpus": "drawn from the model" if place == "made" else Path(place).name,
                    "posterior": row.words_these.held,
                    "alike": row.words.held,
                    "worst": row.words.worst,
                    "shares": row.shares.held,
                    "groups": row.groups.held,
                }
            )
            numbers = [row.words_these.held, row.words.held, row.words.worst]
            numbers += [row.shares.held, row.groups.held]
            cells = ["-" if number is None else f"{number:.2f}" for number in numbers]
            print(
                f"| {Path(place).name} | {row.pairs} of {row.topics} | {' | '.join(cells)} |",
                flush=True,
            )
    if options.json is not None:
        options.json.write_text(json.dumps({"halves": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
