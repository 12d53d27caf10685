"""What lazy rows save: milliseconds of a minibatch with and without, by vocabulary and minibatch.

    python benchmarks/lazy_rows.py [--topics 100] [--words 2000,8000,...] [--documents 50,200,...]

Documents of 150 tokens, words by Zipf's law, topics as sparse as learned ones; step 0.02, ten
sweeps, one thread. Times are of the thread, not of the wall, so that a busy machine matters less:
the topics' step alone, and in brackets with the documents. The table of docs/internals/defaults.md,
and the rule of ``lazy``, come from here.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.train.begin import begin
from pysgrld.types import Documents

DOCUMENTS, LENGTH, ETA = 4000, 150, 0.05
#: The corpus that the state speaks of is so many times the one that is visited.
LARGER = 50


def zipf(words: int) -> Documents:
    """Draw a corpus whose words have Zipf's frequencies, in no order."""
    rng = np.random.default_rng(0)
    share = np.cumsum(1 / np.arange(1, words + 1))
    tokens = np.searchsorted(share / share[-1], rng.random((DOCUMENTS, LENGTH)))
    rows = [np.unique(row, return_counts=True) for row in rng.permutation(words)[tokens]]
    return Documents(
        np.cumsum([0] + [len(w) for w, _ in rows]),
        np.concatenate([w for w, _ in rows]).astype(np.int32),
        np.concatenate([n for _, n in rows]).astype(np.int32),
    )


def sparse_start(chain: BlockChain, corpus: Documents) -> None:
    """Assign each word to a few topics, as a trained chain would."""
    rng, state = np.random.default_rng(1), chain.states["phi"]
    words, topics = chain.topics.shape
    counts = LARGER * np.bincount(corpus.indices, corpus.counts, minlength=words)
    for w in range(words):
        share = rng.gamma(ETA, size=topics) + 1e-30
        state.g[w, :topics] = rng.gamma(ETA + counts[w] * share / share.sum())
    state.sums[:] = state.g.sum(axis=0, dtype=np.float64)


def measure(corpus: Documents, words: int, topics: int, size: int, lazy: str) -> tuple[float, ...]:
    """Time the topics' step and a whole minibatch: median milliseconds, and distinct words."""
    given = {
        "algo": "scir",
        "topics": topics,
        "minibatch": size,
        "warm-up": 0,
        "step-size": (0.02, 1.0, 0.0),
        "alpha": 0.05,
        "eta": (ETA,),
        "sweeps": 10,
        "lazy": lazy,
    }
    tokens = LARGER * DOCUMENTS * LENGTH
    everything = np.arange(DOCUMENTS)
    options, _ = resolve(
        given, Facts(DOCUMENTS, words, tokens, 0, minibatch_words(corpus, everything))
    )
    stream = Epochs.of(options, corpus, everything)
    chain = begin(options, stream, CorpusFacts(words, tokens), RunOn(1)).chain
    sparse_start(chain, corpus)
    visit, spent, seen = chain.documents.visit, [], []

    def documents(*args):
        began = time.thread_time()
        found = visit(*args)
        spent.append(time.thread_time() - began)
        return found

    chain.documents.visit = documents
    whole = []
    for t in range(max(30, DOCUMENTS // size) + 15):  # an epoch first: gaps as they will be
        batch = chain.stream.minibatch(t)
        began = time.thread_time()
        chain.advance(batch)
        whole.append(time.thread_time() - began)
        seen.append(len(batch.words))
    rows = np.array(whole[-15:]) - spent[-15:]
    return 1e3 * np.median(rows), 1e3 * np.median(whole[-15:]), np.median(seen)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--words", type=numbers, default=[2000, 8000, 50_000, 200_000])
    parser.add_argument("--documents", type=numbers, default=[50, 200, 1000])
    args = parser.parse_args()
    print(
        "| V | documents | distinct words | V / distinct | `off` | `on` |\n|---|---|---|---|---|---|"
    )
    for words in args.words:
        corpus = zipf(words)
        for size in args.documents:
            off, all_off, _ = measure(corpus, words, args.topics, size, "off")
            on, all_on, seen = measure(corpus, words, args.topics, size, "on")
            print(
                f"| {words:,} | {size:,} | {seen:,.0f} | {words / seen:.1f} | "
                f"{off:.1f} ({all_off:.0f}) | {on:.1f} ({all_on:.0f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
