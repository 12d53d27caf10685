"""`sgmc infer` beside its own kernel: what reading, naming and writing add, by format.

    python benchmarks/infer.py RUN CORPUS [--documents 100000,1000000] [--formats csv] [--threads 1]

RUN is a run of LDA, CORPUS text with a document a line. The kernel alone samples the same documents from
memory, in a process of its own before and after each command, so that a machine that is busy with other
work is so for both. Prints, for each format: documents a second; the kernel's time for the same documents
as a share of the command's, by the clock and of processor time (user and system); memory; bytes of a
document.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.draws import at_words, weights_of
from pysgrld.evaluate.proportions import over_their_words
from pysgrld.reading.infer import DOCUMENTS
from pysgrld.reading.open import open_run
from pysgrld.types import Documents

SWEEPS = 50
FORMATS = (
    ("theta.npy",),
    ("theta.parquet", "--top", "5"),
    ("theta.parquet", "--dense"),
    ("theta.parquet",),
    ("theta.csv",),
    ("theta.jsonl",),
)


class Silent:
    """A listener that says nothing."""

    def reading(self, progress: object) -> None:
        del progress

    def note(self, line: str) -> None:
        del line


class Cost(NamedTuple):
    """Seconds by the clock and of processor time, and megabytes at most."""

    wall: float
    processor: float
    memory: float = 0.0


def kernel_alone(run: str, corpus: str, threads: int) -> Cost:
    """Sample the topics of all documents, which are in memory, as `sgmc infer` does."""
    results = open_run(run, threads)
    wall = processor = 0.0
    first, work = 0, core.Workspace()
    for block in results.documents(corpus, Silent()):
        for begin in range(0, len(block), DOCUMENTS):
            some = block.take(np.arange(begin, min(begin + DOCUMENTS, len(block))))
            ids = np.arange(first, first + len(some))
            there, words = over_their_words(some, ids)
            phi = weights_of(at_words(results.mean, words))
            clock, spent = time.perf_counter(), time.thread_time()
            sample(phi, results, there, ids, work, threads)
            wall += time.perf_counter() - clock
            processor += time.thread_time() - spent
            first += len(some)
    return Cost(wall, processor)


def sample(
    phi: np.ndarray,
    results: object,
    documents: Documents,
    ids: np.ndarray,
    work: core.Workspace,
    threads: int,
) -> None:
    core.documents_gibbs(
        phi=phi,
        topics=results.layers[0],
        indptr=documents.indptr,
        indices=documents.indices,
        counts=documents.counts,
        doc_ids=ids,
        alpha=results.options.alpha,
        sweeps=SWEEPS,
        kept=SWEEPS // 2,
        rao_blackwell=True,
        seed=0,
        chain=0,
        step=0,
        purpose=core.Purpose.infer,
        z=None,
        token_ptr=None,
        want_words=False,
        want_documents=True,
        work=work,
        threads=threads,
    )


def command(arguments: list[str]) -> Cost:
    """Run a command of sgmc, and wait for it."""
    clock = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "pysgrld", *arguments])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"sgmc {' '.join(arguments)} has failed")
    memory = used.ru_maxrss / 1024
    return Cost(time.perf_counter() - clock, used.ru_utime + used.ru_stime, memory)


def head(corpus: Path, documents: int, folder: Path) -> Path:
    """Copy the first documents of a text."""
    path = folder / f"{documents}.txt"
    with corpus.open("rb") as source, path.open("wb") as file:
        file.writelines(itertools.islice(source, documents))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", default="100000", help="numbers, comma between")
    parser.add_argument("--formats", default="", help="only those with this in their name")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    threads = arguments.threads
    row = "{:26} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}"
    print(row.format("format", "documents", "a second", "clock", "processor", "MB", "bytes"))
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, fresh.Pool(1) as pool:

        def alone(path: Path) -> Cost:
            return pool.apply(kernel_alone, (arguments.run, str(path), threads))

        for documents in map(int, arguments.documents.split(",")):
            path = head(arguments.corpus, documents, Path(folder))
            before = alone(path)
            for name, *options in FORMATS:
                if arguments.formats not in " ".join([name, *options]):
                    continue
                out = Path(folder) / name
                given = ["-q", "--threads", str(threads), *options, "-o", str(out)]
                whole = command(["infer", arguments.run, str(path), *given])
                after = alone(path)
                share = (before.wall + after.wall) / (2 * whole.wall)
                of_time = (before.processor + after.processor) / (2 * whole.processor)
                size = out.stat().st_size / documents
                out.unlink()
                print(
                    row.format(
                        " ".join([name, *options]),
                        f"{documents:,}",
                        f"{documents / whole.wall:,.0f}",
                        f"{share:.0%}",
                        f"{of_time:.0%}" if threads == 1 else "-",
                        f"{whole.memory:.0f}",
                        f"{size:.0f}",
                    ),
                    flush=True,
                )
                before = after


if __name__ == "__main__":
    main()
