"""Time of `sgmc infer` and of its kernel alone: cost of reading, naming and writing, by format.

    python benchmarks/infer.py RUN CORPUS [--documents 100000,1000000] [--formats csv] [--threads 1]
    python benchmarks/infer.py RUN CORPUS --peers [--documents 10000]

RUN is a run of LDA, CORPUS text with a document a line. The kernel alone reads the same documents from
memory, in a process of its own before and after each command, so that a machine that is busy with other
work is so for both. Prints, for each format: documents a second; the kernel's time for the same documents
as a share of the command's, by the clock and of processor time (user and system); memory; bytes of a
document.

With --peers: documents a second of processor time beside gensim (given sgmc's topics and alpha) and
tomotopy (which has to train topics of its own, 50 sweeps over the same documents), one thread, by
their own defaults; and the mean log likelihood of every second token of documents, given proportions
that are inferred from the others.
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
from pysgrld.core.draws import sampling_weights, select_words
from pysgrld.corpus.minibatches import compact
from pysgrld.models.token_reader import EXPECTED_PASSES
from pysgrld.reading.find_runs import open_run
from pysgrld.reading.infer import DOCUMENTS, infer
from pysgrld.types import Documents, Minibatch

FORMATS = (
    ("theta.npy",),
    ("theta.parquet", "--top", "5"),
    ("theta.parquet", "--dense"),
    ("theta.parquet",),
    ("theta.csv",),
    ("theta.jsonl",),
)


class Silent:
    """A listener that prints nothing."""

    def reading(self, progress: object) -> None:
        del progress

    def note(self, line: str, *_: object) -> None:
        del line


class Cost(NamedTuple):
    """Wall-clock and processor seconds, and peak memory in MB."""

    wall: float
    processor: float
    memory: float = 0.0


def kernel_alone(run: str, corpus: str, threads: int) -> Cost:
    """Infer expected topics of all documents, which are in memory, as `sgmc infer` does."""
    results = open_run(run, threads)
    wall = processor = 0.0
    first, work = 0, core.Workspace()
    for block in results.documents(corpus, Silent()):
        for begin in range(0, len(block), DOCUMENTS):
            some = block.take(np.arange(begin, min(begin + DOCUMENTS, len(block))))
            ids = np.arange(first, first + len(some))
            there = compact(some, ids, 1.0)
            phi = sampling_weights(select_words(results.mean, there.words))
            clock, spent = time.perf_counter(), time.thread_time()
            expect(phi, results, there, work, threads)
            wall += time.perf_counter() - clock
            processor += time.thread_time() - spent
            first += len(some)
    return Cost(wall, processor)


def expect(
    phi: np.ndarray,
    results: object,
    documents: Documents | Minibatch,
    work: core.Workspace,
    threads: int,
) -> None:
    core.documents_expected(
        phi=phi,
        topics=results.fitted.layers[0],
        indptr=documents.indptr,
        indices=documents.indices,
        counts=documents.counts,
        alpha=results.options.alpha,
        passes=EXPECTED_PASSES,
        work=work,
        threads=threads,
    )


def command(arguments: list[str]) -> Cost:
    """Run a command of sgmc, and wait until it ends."""
    clock = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-P", "-m", "pysgrld", *arguments])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"sgmc {' '.join(arguments)} has failed")
    memory = used.ru_maxrss / 1024
    return Cost(time.perf_counter() - clock, used.ru_utime + used.ru_stime, memory)


def head(corpus: Path, documents: int, folder: Path) -> Path:
    """Copy the first documents of a text file."""
    path = folder / f"{documents}.txt"
    with corpus.open("rb") as source, path.open("wb") as file:
        file.writelines(itertools.islice(source, documents))
    return path


def beside(run: str, corpus: Path, number: int) -> None:
    """Print documents per second and quality of sgmc, gensim and tomotopy, a row for each."""
    import tomotopy
    from gensim.models import LdaModel

    results = open_run(run, 1)
    with tempfile.TemporaryDirectory() as folder:
        blocks = list(results.documents(str(head(corpus, number, Path(folder))), Silent()))
    phi = results.mean["phi"][:, : results.fitted.layers[0]].T
    alpha, (k, v) = results.options.alpha, phi.shape
    tokens = [
        np.repeat(some.indices[a:b], some.counts[a:b])
        for some in blocks
        for a, b in itertools.pairwise(some.indptr)
    ]
    tokens = [np.random.default_rng(i).permutation(t) for i, t in enumerate(tokens)]
    observed = [np.unique(t[::2], return_counts=True) for t in tokens]

    def say(name: str, seconds: float, theta: np.ndarray, topics: np.ndarray) -> None:
        logs = [np.log(theta[d] @ topics[:, t[1::2]]) for d, t in enumerate(tokens)]
        print(
            f"{name:44} {len(tokens) / seconds:10,.0f} {np.concatenate(logs).mean():8.3f}",
            flush=True,
        )

    indptr = np.concatenate(([0], np.cumsum([len(w) for w, _ in observed]))).astype(np.int64)
    halves = Documents(
        indptr,
        np.concatenate([w for w, _ in observed]).astype(np.int32),
        np.concatenate([n for _, n in observed]).astype(np.int32),
    )
    clock = time.process_time()
    theta = np.concatenate([block.theta for block in infer(results, [halves])])
    say("sgmc", time.process_time() - clock, theta, phi)

    model = LdaModel(
        num_topics=k, id2word={w: str(w) for w in range(v)}, alpha=alpha, dtype=np.float32
    )
    model.expElogbeta = phi.astype(np.float32)
    bags = [list(zip(w.tolist(), n.tolist(), strict=True)) for w, n in observed]
    clock = time.process_time()
    gamma, _ = model.inference(bags)
    seconds = time.process_time() - clock
    say("gensim, topics and alpha of sgmc", seconds, gamma / gamma.sum(axis=1, keepdims=True), phi)

    own = tomotopy.LDAModel(k=k, alpha=alpha, seed=1)
    for t in tokens:
        own.add_doc([str(w) for w in t])
    own.optim_interval = 0
    own.train(50, workers=1)
    topics = np.full((k, v), 1e-9)
    words = [int(w) for w in own.used_vocabs]
    topics[:, words] = [own.get_topic_word_dist(i) for i in range(k)]
    documents = [own.make_doc([str(w) for w in t[::2]]) for t in tokens]
    clock = time.process_time()
    own.infer(documents, workers=1)
    seconds = time.process_time() - clock
    theta = np.array([document.get_topic_dist() for document in documents])
    say("tomotopy, its own topics (of these documents)", seconds, theta, topics)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", default="100000", help="numbers, comma between")
    parser.add_argument("--formats", default="", help="only those with this in their name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="beside gensim and tomotopy")
    arguments = parser.parse_args()
    threads = arguments.threads
    if arguments.peers:
        beside(arguments.run, arguments.corpus, int(arguments.documents.split(",")[0]))
        return
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
