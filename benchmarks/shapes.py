"""Gibbs sampling beside tomotopy's by the shape of a corpus: token visits a second of one thread.

    pip install tomotopy
    python benchmarks/shapes.py [--topics 2,20,...] [--lengths 15,...] [--words 4600,...]
    python benchmarks/shapes.py --corpus CORPUS [--topics 50,100,...]

Documents are made from 50 planted topics over words of Zipf's law, or those of CORPUS, which is what
`sgmc train` takes. The same documents, K, alpha and eta, by turns in one process, after sweeps that
start the topics; the best of the repeats. `gibbs` is the sampler of `sgmc train --algo gibbs`, stepping
of topics included; `cgs` the collapsed one, of one chain and of two that go on together. Times are of
the process, so that a busy machine matters less. tomotopy runs on one worker and leaves its priors as
they are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tomotopy

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, compact, minibatch_words
from pysgrld.models.lda.collapsed import CollapsedDocuments
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.train.begin import begin
from pysgrld.types import Block, Documents, Key

ALPHA, ETA = 0.1, 0.05
#: Topics that documents are made from; tokens of all of them, at least, and for each word; cells of
#: topics that are too many here.
PLANTED, TOKENS, FOR_EACH, CELLS = 50, 400_000, 25, 70_000_000
#: Who sweeps, and how many chains at once.
WAYS = {"gibbs": 1, "cgs": 1, "two cgs": 2, "tomotopy": 1}

Sweep = Callable[[int], object]


def made(length: int, words: int, seed: int = 0) -> Documents:
    """Return documents of `length` tokens each over `words` words."""
    rng = np.random.default_rng(seed)
    base = 1.0 / (np.arange(words) + 2.7)
    topics = base * rng.gamma(0.1, size=(PLANTED, words))
    up_to = np.cumsum(topics, axis=1)
    number = max(20, max(TOKENS, FOR_EACH * words) // length)
    theta = rng.dirichlet(np.full(PLANTED, 0.1), number)
    drawn = np.empty((number, length), np.int64)
    for d in range(number):
        z = rng.choice(PLANTED, length, p=theta[d])
        for k in np.unique(z):
            here = np.flatnonzero(z == k)
            drawn[d, here] = np.searchsorted(up_to[k], rng.random(len(here)) * up_to[k, -1])
    keys, counts = np.unique(np.arange(number)[:, None] * words + drawn, return_counts=True)
    ends = np.searchsorted(keys, np.arange(number + 1) * words)
    return Documents(
        ends.astype(np.int64), (keys % words).astype(np.int32), counts.astype(np.int32)
    )


def blocked(documents: Documents, words: int, topics: int) -> Sweep:
    """Return a function that runs a number of iterations of ``--algo gibbs``."""
    train = np.arange(len(documents))
    facts = Facts(len(documents), words, documents.tokens, 0, minibatch_words(documents, train))
    given = {"algo": "gibbs", "topics": topics, "alpha": ALPHA, "eta": (ETA,), "model": "lda"}
    options = resolve(given, facts).options
    stream = Epochs.of(options, documents, train)
    chain = begin(options, stream, CorpusFacts(words, documents.tokens), RunOn(1)).chain
    return lambda n: [chain.advance() for _ in range(n)]


def collapsed(documents: Documents, words: int, topics: int, chains: int) -> Sweep:
    """Return a function that runs a number of sweeps of several collapsed chains."""
    batch = compact(documents, np.arange(len(documents)), 1.0)
    block = Block("phi", "simplex", (words, topics), ETA, 0, 0.0)
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


def theirs(documents: Documents, topics: int) -> Sweep:
    """Return a function that runs a number of sweeps of tomotopy."""
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=ETA, seed=1)
    model.optim_interval = 0
    words = documents.indices.astype(str)
    for a, b in zip(documents.indptr[:-1], documents.indptr[1:], strict=True):
        model.add_doc(np.repeat(words[a:b], documents.counts[a:b]).tolist())
    return lambda n: model.train(n, workers=1)


def visits(
    documents: Documents, words: int, topics: int, asked: argparse.Namespace
) -> dict[str, float]:
    """Return token visits per second of each method, in millions."""
    ways: dict[str, Sweep] = {
        "gibbs": blocked(documents, words, topics),
        "cgs": collapsed(documents, words, topics, 1),
        "two cgs": collapsed(documents, words, topics, 2),
        "tomotopy": theirs(documents, topics),
    }
    best = dict.fromkeys(ways, 0.0)
    for way in ways.values():
        way(asked.warm)
    for _ in range(asked.repeats):
        for name, way in ways.items():
            began = time.process_time()
            way(asked.sweeps)
            spent = time.process_time() - began
            done = asked.sweeps * WAYS[name] * documents.tokens / 1e6
            best[name] = max(best[name], done / spent)
    return best


def shapes(asked: argparse.Namespace) -> Iterator[tuple[str, Documents, int, int]]:
    """Yield a name for each corpus, its documents, its number of words, and K."""
    numbers = lambda text: [int(each) for each in text.split(",")]  # noqa: E731
    if asked.corpus:
        with tempfile.TemporaryDirectory() as folder:
            corpus = open_corpus([asked.corpus], CorpusOptions(), store=Path(folder) / "corpus")
            documents = corpus.take(np.arange(corpus.documents))
            for k in numbers(asked.topics):
                yield Path(asked.corpus).name, documents, corpus.words, k
        return
    for length, words in product(numbers(asked.lengths), numbers(asked.words)):
        documents = made(length, words)
        for k in numbers(asked.topics):
            if words * k <= CELLS:
                yield f"{length:,} tokens", documents, words, k


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus")
    parser.add_argument("--topics", default="2,5,20,100,500,1000")
    parser.add_argument("--lengths", default="15,100,2000,20000")
    parser.add_argument("--words", default="4600,63000,200000")
    parser.add_argument("--warm", type=int, default=3, help="sweeps that are not timed")
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--out", type=Path, help="write the figures as JSON, too")
    asked = parser.parse_args()
    print(f"tomotopy {tomotopy.__version__} ({tomotopy.isa})")
    print("| documents | V | K |", " | ".join(f"{way}, M/s" for way in WAYS), "| gibbs | two cgs |")
    print("|---|---" + "|---:" * (len(WAYS) + 3) + "|")
    rows: list[dict[str, Any]] = []
    for name, documents, words, k in shapes(asked):
        found = visits(documents, words, k, asked)
        times = [found[way] / found["tomotopy"] for way in ("gibbs", "two cgs")]
        figures = " | ".join(f"{value:.2f}" for value in [*found.values(), *times])
        print(f"| {name} | {words:,} | {k:,} | {figures} |", flush=True)
        rows.append({"documents": name, "words": words, "topics": k, **found})
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
