"""Words counted per second, beside scikit-learn's CountVectorizer.

    python benchmarks/tokeniser.py FILE...

Each FILE is text, a document a line, possibly compressed. Both count the same documents on one core,
from bytes in memory to a matrix of counts, and must find the same words and the same counts. As the
two agree on what a token is in ASCII only, documents with other characters are left out, and counted
once more by sgmc alone. Prints the best of several runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from pysgrld.corpus._tokenize import Dictionary, count_words
from pysgrld.corpus.lines import blocks

BATCH = 2**20


def documents(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        return b"".join(blocks(file.read)).split(b"\n")


def batches(lines: list[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def ours(lines: list[bytes]) -> tuple[csr_array, list[str]]:
    dictionary = Dictionary()
    indptr, ids, counts = [np.zeros(1, np.int64)], [], []
    for batch in batches(lines):
        found = count_words(batch)
        ids.append(dictionary.place(found.words, found.ends)[found.ids])
        counts.append(found.counts)
        indptr.append(found.indptr[1:] + indptr[-1][-1])
    arrays = np.concatenate(counts), np.concatenate(ids), np.concatenate(indptr)
    return csr_array(arrays, shape=(len(lines), len(dictionary))), dictionary.words()


def theirs(lines: list[bytes]) -> tuple[csr_array, list[str]]:
    vectorizer = CountVectorizer()
    return csr_array(vectorizer.fit_transform(lines)), vectorizer.get_feature_names_out().tolist()


def seconds(count: Callable[[list[bytes]], object], lines: list[bytes], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        count(lines)
        best = min(best, time.process_time() - start)
    return best


def check_equal(lines: list[bytes]) -> None:
    counts, words = ours(lines)
    their_counts, their_words = theirs(lines)
    order = np.argsort(np.asarray(words))  # both by code point
    if [words[i] for i in order] != their_words or (counts[:, order] != their_counts).nnz:
        raise SystemExit("the words or the counts differ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'file':28} {'documents':>16} {'MB':>7} {'sgmc':>10} {'sklearn':>10} {'ratio':>6}")
    for path in arguments.files:
        every = documents(path)
        ascii_only = [line for line in every if line.isascii()]
        check_equal(ascii_only)
        for name, lines in (("all", every), ("ASCII", ascii_only)):
            size = sum(map(len, lines)) / 1e6
            mine = size / seconds(ours, lines, arguments.runs)
            row = f"{path.name:28} {len(lines):9} {name:>6} {size:7.1f} {mine:5.0f} MB/s"
            if name == "ASCII":
                other = size / seconds(theirs, lines, 1)
                row += f" {other:5.1f} MB/s {mine / other:6.1f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
