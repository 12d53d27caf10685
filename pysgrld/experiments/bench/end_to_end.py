"""Benchmarks of reading generated documents, and of training on a corpus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.errors import plural
from pysgrld.experiments.bench.timing import Timing, nanoseconds
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.run.machine import threads
from pysgrld.train.begin import begin


def bundled_corpus() -> Path | None:
    """Return the path of the King James Bible in the repository, or None if the file is missing."""
    for root in (Path(__file__).parents[3], Path.cwd()):
        path = root / "data" / "docword.bible.txt.gz"
        if path.is_file():
            return path
    return None


def timings(
    quick: bool, source: Path | None, scratch: Path, most: int | None = None
) -> Iterator[Timing]:
    """Yield benchmarks of reading (CPU time) and, if ``source`` is given, of training (wall time).

    Training runs with different numbers of threads, from one to ``most``; by default, ``most`` is
    the number that this process may use.

    Documents are written to ``scratch``, and the corpus is read into it.
    """
    documents = 500 if quick else 5000
    for name, written_as in (("plain text", "text"), ("UCI counts", "uci")):
        read = partial(_read, scratch / written_as, documents)
        yield Timing("reading", name, "MB/s", read)
    if source is None:
        return
    corpus = open_corpus([str(source)], CorpusOptions(), store=scratch / "corpus")
    allowed = threads(most).number
    k = 20 if quick else 100
    for algo in ("scir", "sgrld"):
        for number in sorted({1, *(n for n in (2, 4, 8, 16, 32, 64, 128) if n < allowed), allowed}):
            name = f"{algo}, {source.name}, K={k}, {plural(number, 'thread')}"
            train = partial(_train, corpus, algo, k, number, quick)
            yield Timing("training", name, "tokens/s", train)


def _read(folder: Path, documents: int, repeats: int) -> list[float]:
    """Return the speed of reading documents of 150 tokens, as text or as UCI counts, in MB/s."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    # With this distribution, most tokens of a document belong to a few words.
    words = (20_000 * rng.random((documents, 150)) ** 3).astype(np.int64)
    if folder.name == "text":
        path = folder / "corpus.txt"
        lines = [" ".join(f"word{w}" for w in document) + "\n" for document in words.tolist()]
    else:
        path = folder / "docword.made.txt"
        (folder / "vocab.made.txt").write_text("".join(f"word{w}\n" for w in range(20_000)))
        cells = [
            f"{d} {word + 1} {count}\n"
            for d, document in enumerate(words, 1)
            for word, count in zip(*np.unique(document, return_counts=True), strict=True)
        ]
        lines = [f"{documents}\n20000\n{len(cells)}\n", *cells]
    path.write_text("".join(lines))
    times = nanoseconds(
        lambda step: open_corpus([str(path)], CorpusOptions(), store=folder / f"store-{step}"),
        path.stat().st_size,
        repeats,
    )
    return [1000.0 / t for t in times]  # A time of 1 ns per byte is a speed of 1000 MB/s.


def _train(
    corpus: Corpus, algo: str, topics: int, number: int, quick: bool, repeats: int
) -> list[float]:
    """Return the tokens per second of training with the given number of threads."""
    everything = np.arange(corpus.documents)
    words = minibatch_words(corpus, everything)
    facts = Facts(corpus.documents, corpus.words, corpus.tokens, 0, words)
    # The warm-up is short, because only the iterations after the warm-up are timed.
    resolved = resolve({"algo": algo, "topics": topics}, facts).options
    options = replace(resolved, warm_up=1 if quick else 10)
    stream = Epochs.of(options, corpus, everything)
    corpus_facts = CorpusFacts(corpus.words, corpus.tokens)
    chain = begin(options, stream, corpus_facts, RunOn(number)).chain
    for _ in range(options.warm_up):
        chain.advance()
    values = []
    for _ in range(repeats):
        began = time.perf_counter()
        tokens = sum(chain.advance().tokens for _ in range(5 if quick else 30))
        values.append(tokens / (time.perf_counter() - began))
    return values
