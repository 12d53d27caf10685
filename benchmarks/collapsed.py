"""Collapsed Gibbs beside tomotopy's: nanoseconds of one core for a token of a sweep.

    pip install tomotopy
    python benchmarks/collapsed.py CORPUS [--topics 50,100,...] [--sweeps 5] [--repeats 3]

The same documents, K, alpha and eta, by turns in one process, after two sweeps that start the topics;
the least of the repeats. Times are of the thread, so that a busy machine matters less. CORPUS is what
`sgmc train` takes. tomotopy runs on one worker and leaves its priors as they are.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tomotopy

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import compact
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.types import Block, Documents, Key

ALPHA, ETA = 0.1, 0.05


def own(corpus: Corpus, documents: Documents, topics: int, chains: int) -> Callable[[int], None]:
    """Return a function that does so many sweeps of chains, together, with sgmc's kernel."""
    batch = compact(documents, np.arange(len(documents)), 1.0)
    block = Block("phi", "simplex", (corpus.words, topics), ETA, 0, 0.0)
    samplers = [
        CollapsedDocuments(block=block, alpha=ALPHA, sweeps=1, threads=1) for _ in range(chains)
    ]
    for sampler in samplers:
        sampler.keep(Documents(batch.indptr, batch.indices, batch.counts))
    done = iter(range(1 << 30))

    def sweep(n: int) -> None:
        samplers[0].sweeps = n
        keys = [Key(0, 0, next(done)) for _ in samplers]
        CollapsedDocuments.visit_together(samplers, keys, [{}] * chains, batch)

    return sweep


def theirs(documents: Documents, topics: int) -> Callable[[int], None]:
    """Return a function that does so many sweeps with tomotopy."""
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=ETA, seed=1)
    model.optim_interval = 0
    words = documents.indices.astype(str)
    for a, b in zip(documents.indptr[:-1], documents.indptr[1:], strict=True):
        model.add_doc(np.repeat(words[a:b], documents.counts[a:b]).tolist())

    def sweep(n: int) -> None:
        model.train(n, workers=1)

    return sweep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--topics", default="50,100,200,500,1000")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = open_corpus([a.corpus], CorpusOptions(), store=Path(folder) / "corpus")
        documents = corpus.take(np.arange(corpus.documents))
        print(f"tomotopy {tomotopy.__version__} ({tomotopy.isa}), {documents.tokens:,} tokens")
        print("| K | sgmc, ns a token | two chains together | tomotopy | times |")
        print("|---|---|---|---|---|")
        for k in map(int, a.topics.split(",")):
            ways = own(corpus, documents, k, 1), own(corpus, documents, k, 2), theirs(documents, k)
            best, chains = [np.inf] * 3, (1, 2, 1)
            for way in ways:
                way(2)
            for _ in range(a.repeats):
                for i, way in enumerate(ways):
                    began = time.process_time()
                    way(a.sweeps)
                    spent = (time.process_time() - began) / a.sweeps / documents.tokens / chains[i]
                    best[i] = min(best[i], 1e9 * spent)
            one, two, peer = best
            times = f"{peer / one:.2f}, {peer / two:.2f}"
            print(f"| {k} | {one:.0f} | {two:.0f} | {peer:.0f} | {times} |", flush=True)


if __name__ == "__main__":
    main()
