"""Duration and memory of a start, by the number of documents of a stored corpus.

    python benchmarks/starts.py FOLDER [--documents 1000000,10000000,100000000]

Writes corpora of documents of four words each into FOLDER (40 bytes a document), then starts
``sgmc train`` on each for 20 iterations, in a process of its own. Prints seconds of the wall and
the greatest resident memory. The table of docs/internals/speed.md comes from here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pysgrld.corpus.write import Writer
from pysgrld.types import Documents

WORDS, WIDTH, BLOCK = 8000, 4, 2**18


def write(folder: Path, documents: int) -> None:
    """Write a corpus of some number of documents, each of four different words."""
    writer, rng = Writer(folder), np.random.default_rng(0)
    writer.files["indptr"].append(np.zeros(1, np.int64))
    for begin in range(0, documents, BLOCK):
        n = min(BLOCK, documents - begin)
        drawn = WIDTH * rng.integers(0, WORDS // WIDTH, (n, WIDTH)) + np.arange(WIDTH)
        indices = np.sort(drawn, axis=1).astype(np.int32).ravel()
        indptr = np.arange(0, WIDTH * n + 1, WIDTH)
        writer.append(Documents(indptr, indices, np.ones(WIDTH * n, np.int32)))
    writer.finish_corpus([f"w{i}" for i in range(WORDS)], {"inputs": [], "options": {}})


def start(corpus: Path, run: Path) -> tuple[float, float]:
    """Train for 20 iterations; return wall-clock seconds, and peak resident memory in MB."""
    command = [sys.executable, "-P", "-m", "pysgrld", "train", str(corpus), "--out", str(run)]
    command += ["--topics", "20", "--minibatch", "400", "--iterations", "20", "--quiet"]
    began = time.perf_counter()
    child = subprocess.Popen(command)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{corpus}: training ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, used.ru_maxrss / 1024


def main() -> None:
    """Print a line for each number of documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", default="1000000,10000000,100000000")
    options = parser.parse_args()
    print(f"{'documents':>13} {'seconds':>8} {'MB':>6}")
    for documents in map(int, options.documents.split(",")):
        corpus = options.folder / f"corpus-{documents}"
        if not corpus.exists():
            write(corpus, documents)
        seconds, memory = start(corpus, options.folder / f"run-{documents}-{os.getpid()}")
        print(f"{documents:13,} {seconds:8.2f} {memory:6.0f}")


if __name__ == "__main__":
    main()
