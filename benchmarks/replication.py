"""Are topics replicated as often as stated? Compares replicates of half a corpus with the other half.

    python benchmarks/replication.py CORPUS [CORPUS ...] [-k K] [--replicates N] [--splits N]

A corpus is a folder of ``sgmc corpus build``; ``made`` is a corpus drawn from the model. It is split at
random into two halves, and LDA with its defaults is trained on each. Stated is the share of the new runs
on random halves of one half that find a topic (``sgmc diagnose --replicate``). It is found if a topic of
the run on the other half has proportions in the same documents that correlate by 0.7 or more.
Printed are both for each fifth of the statement, and the Brier score next to that of a constant.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from halves import counts_of

from pysgrld.evaluate.matching import CORRELATED
from pysgrld.reading.find_runs import open_run
from pysgrld.report.compare.documents import shared_documents
from pysgrld.train.replication import replicate_topics


def write_counts(path: Path, counts: sparse.csr_matrix) -> None:
    """Write a UCI bag of words, and its words in a file next to it."""
    entries = counts.tocoo()
    rows = zip(entries.row + 1, entries.col + 1, entries.data, strict=True)
    lines = [str(counts.shape[0]), str(counts.shape[1]), str(counts.nnz)]
    lines += [f"{d} {w} {n}" for d, w, n in sorted(rows)]
    path.write_text("\n".join(lines) + "\n")
    vocabulary = path.with_name(path.name.replace("docword", "vocab"))
    vocabulary.write_text("".join(f"w{w}\n" for w in range(counts.shape[1])))


def measured(counts: sparse.csr_matrix, k: int, replicates: int, seed: int) -> list[list[int]]:
    """Return two numbers for each topic of both halves of a corpus.

    The first is the number of replicates that found it; the second is 1 if the other half did.
    """
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for name, rows in zip("ab", np.array_split(order, 2), strict=True):
            corpus, out = Path(folder) / f"docword.{name}.txt", Path(folder) / name
            write_counts(corpus, counts[rows])
            command = [sys.executable, "-m", "pysgrld", "train", str(corpus), "-k", str(k)]
            command += ["--seed", str(seed), "--threads", "1", "-q", "--out", str(out)]
            subprocess.run(command, check=True)
            runs.append(open_run(out, 1))
        for run, other in (runs, runs[::-1]):
            documents = shared_documents(run, other, (0, 0))
            assert documents is not None
            found = documents.correlations.max(axis=1) >= CORRELATED
            times = replicate_topics(run, replicates).times_found
            pairs += [[int(n), int(f)] for n, f in zip(times, found, strict=True)]
    return pairs


def main() -> None:
    """Print a row for each corpus and fifth of the stated values."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("-k", type=int, default=20, help="topics [20]")
    parser.add_argument("--replicates", type=int, default=5, help="new runs for each half [5]")
    parser.add_argument("--splits", type=int, default=1, help="random splits of each corpus [1]")
    parser.add_argument("--json", type=Path, help="also write the numbers of all topics")
    options = parser.parse_args()
    records: dict[str, list[list[int]]] = {}
    print("| corpus | topics | stated | found | Brier | constant |\n|---|---|---|---|---|---|")
    for place in options.corpora:
        counts, splits = counts_of(place), {}
        for seed in range(options.splits):
            name = Path(place).name + (f", split {seed + 1}" if options.splits > 1 else "")
            splits[name] = measured(counts, options.k, options.replicates, seed)
        records |= splits
        show(Path(place).name, [*chain(*splits.values())], options.replicates)
        if options.json is not None:
            results = {"replicates": options.replicates, "replication": records}
            options.json.write_text(json.dumps(results) + "\n")
    if len(options.corpora) > 1:
        show("all", [*chain(*records.values())], options.replicates)


def show(name: str, pairs: list[list[int]], replicates: int) -> None:
    """Print the mean stated value and the share found, for each fifth of the stated values."""
    times, found = np.array(pairs).T
    stated = times / replicates
    brier, constant = ((stated - found) ** 2).mean(), found.var()
    fifths = np.minimum((stated * 5).astype(int), 4)
    rows = [fifths == fifth for fifth in range(5)]
    parts = [
        " ".join(f"{values[row].mean():.2f}" if row.any() else "-" for row in rows)
        for values in (stated, found)
    ]
    numbers = " ".join(str(int(row.sum())) for row in rows)
    print(
        f"| {name} | {numbers} | {parts[0]} | {parts[1]} | {brier:.3f} | {constant:.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
