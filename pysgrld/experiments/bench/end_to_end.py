"""Training end to end, by the wall's clock, with one thread and more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.errors import plural
from pysgrld.experiments.bench.timing import Timing
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.facts import Facts
from pysgrld.run.machine import threads
from pysgrld.train.begin import begin


def bundled_corpus() -> Path | None:
    """Find the King James Bible of the repository; None where it is not at hand."""
    for root in (Path(__file__).parents[3], Path.cwd()):
        path = root / "data" / "docword.bible.txt.gz"
        if path.is_file():
            return path
    return None


def timings(quick: bool, source: Path, scratch: Path) -> list[Timing]:
    """Give the figures of training on a corpus, which is read into ``scratch``."""
    corpus = open_corpus([str(source)], CorpusOptions(), store=scratch / "corpus")
    allowed = threads(None).number
    numbers = sorted({1, *(n for n in (2, 4, 8, 16, 32, 64, 128) if n < allowed), allowed})
    k, iterations = (20, 5) if quick else (100, 30)

    def train(algo: str, number: int) -> Callable[[int], list[float]]:
        def run(repeats: int) -> list[float]:
            everything = np.arange(corpus.documents)
            words = minibatch_words(corpus, everything)
            facts = Facts(corpus.documents, corpus.words, corpus.tokens, 0, words)
            # the sampler is what is timed: a short warm-up
            given = {"algo": algo, "topics": k}
            options = replace(resolve(given, facts).options, warm_up=1 if quick else 10)
            stream = Epochs.of(options, corpus, everything)
            facts_of = CorpusFacts(corpus.words, corpus.tokens)
            chain = begin(options, stream, facts_of, RunOn(number)).chain
            for _ in range(options.warm_up):
                chain.advance()
            values = []
            for _ in range(repeats):
                began = time.perf_counter()
                tokens = sum(chain.advance().tokens for _ in range(iterations))
                values.append(tokens / (time.perf_counter() - began))
            return values

        return run

    return [
        Timing(
            "training",
            f"{algo}, {source.name}, K={k}, {plural(number, 'thread')}",
            "tokens/s",
            train(algo, number),
        )
        for algo in ("scir", "sgrld")
        for number in numbers
    ]
