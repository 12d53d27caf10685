"""A start at anchor words beside one at random: perplexity by time, and topics that chains share.

    python benchmarks/spectral.py CORPUS... [--starts random,rows,recovered,same] [--chains 4]
        [--seconds 1,2,4,8,16,32] [-k 100] [--documents 10000] [--least 50]

Arora et al. (2013): from some documents, half of them at most, the rate at which two tokens of a document
are two words is estimated without bias for all pairs of words, in a random projection. Anchors are the
words whose rows are farthest from each other (Gram and Schmidt), of those in enough documents. Starts:

- ``random``: what training does;
- ``rows``: a topic is what its anchor is found with in documents, its row, as if it had no other topic;
- ``recovered``: every word's row as the mixture of the anchors' rows that is nearest, and by Bayes the
  words of each topic;
- ``same``: ``rows``, of the same documents and projection in all chains. Elsewhere each has its own,
  or chains would share what they started with.

Each corpus is a training file, divided as in benchmarks/defaults.py: no test file is looked at. A cell is
perplexity averaged over posterior samples after so many CPU seconds, those of the start counted and those
of evaluation not; starts are run in turn. Topics are shared as `sgmc diagnose` counts it: means
of samples matched one to one, 70 % in common between any two chains. The second table has the share of
topics in all chains, and the mean over pairs of chains: two of this start, before training and after, and
one of this and one of a random start. Tables of docs/internals/speed.md, "Time to quality", are made
here.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from defaults import begun, divided, trained
from scipy import sparse

from pysgrld.chain.posterior import Posterior
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import minibatch_words
from pysgrld.evaluate.matching import DISTRIBUTIONS, SAME, assign, finders
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.types import Array, Doubles, Floats, Int64s

#: Width of the random projection; steps of exponentiated gradient, and how long the first one is.
WIDTH, STEPS, LENGTH = 400, 50, 20.0
#: Share of the words' frequencies in every topic that it starts with, so that no token lacks one.
MIXED = 0.05


class Trained(NamedTuple):
    """A trained chain: seconds of its start, perplexities, iterations, topics (K, V) now and earlier."""

    start: float
    figures: list[float]
    iterations: int
    topics: Floats
    before: Floats


def main() -> None:
    """Train all chains from all starts, and print three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--starts", default="random,rows,recovered,same")
    parser.add_argument("--seconds", default="1,2,4,8,16,32")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("-k", "--topics", type=int, default=100)
    parser.add_argument("--documents", type=int, default=10_000, help="that a start reads at most")
    parser.add_argument("--least", type=int, default=50, help="documents of an anchor at least")
    given = parser.parse_args()
    seconds = [float(s) for s in given.seconds.split(",")]
    starts = given.starts.split(",")
    for source in given.corpus:
        found: dict[str, list[Trained]] = {start: [] for start in starts}
        with tempfile.TemporaryDirectory() as scratch:
            corpus = open_corpus([source], CorpusOptions(), store=Path(scratch) / "corpus")
            for chain, start in itertools.product(range(given.chains), starts):
                found[start].append(run(corpus, start, chain, seconds, given))
        print(f"\n{Path(source).name}, K = {given.topics}\n")
        tell(found, seconds)


def run(corpus: Corpus, start: str, chain: int, seconds: list[float], given: Any) -> Trained:
    """Train one chain from one kind of start."""
    train, ids = divided(corpus)
    tokens = int(corpus.lengths()[train].sum())
    facts = Facts(len(train), corpus.words, tokens, 0, minibatch_words(corpus, train))
    asked = {"algo": "scir", "chain-id": chain + 1, "topics": given.topics}
    options, _ = resolve(asked, facts)
    posterior = begun(options, corpus, train, ids, keep_mean=True)
    spent = 0.0
    if start != "random":
        began = time.process_time()
        rng = np.random.default_rng(0 if start == "same" else chain)
        some = rng.permutation(train)[: min(given.documents, len(train) // 2)]
        joint = anchored(counts_of(corpus, np.sort(some)), options.topics, rng, given.least, start)
        put(posterior, joint * tokens)
        spent = time.process_time() - began
    before, first = phi_of(posterior.chain.draw()["phi"], options.topics), spent
    figures = []
    for limit in seconds:
        spent = trained(posterior, spent, limit)
        figures.append(posterior.score if posterior.samples else math.nan)
    posterior.chain.close()
    topics = phi_of((posterior.mean() or posterior.chain.draw())["phi"], options.topics)
    return Trained(first, figures, posterior.chain.step, topics, before)


def phi_of(rows: Floats, k: int) -> Floats:
    """Return topics as rows, (K, V), from rows of words."""
    phi: Floats = rows[:, :k].T / rows[:, :k].sum(axis=0)[:, None]
    return phi


def put(posterior: Posterior, counts: Doubles) -> None:
    """Start a chain, not yet trained, where the corpus has these counts of words by topic, (V, K)."""
    chain: Any = posterior.chain
    state, k = chain.states["phi"], counts.shape[1]
    state.g[:, :k] = counts + chain.topics.prior
    state.sums[:] = state.g.sum(axis=0, dtype=np.float64)


# ---- anchor words


def counts_of(corpus: Corpus, ids: Int64s) -> sparse.csr_matrix:
    """Give the counts of words in these documents that have two tokens or more, (n, V) float32."""
    found = corpus.take(ids)
    parts = (found.counts.astype(np.float32), found.indices, found.indptr)
    return sparse.csr_matrix(parts, shape=(len(ids), corpus.words))[found.lengths >= 2]


def anchored(x: sparse.csr_matrix, k: int, rng: Any, least: int, how: str) -> Doubles:
    """Estimate the joint law of words and topics, (V, K), by anchor words.

    Parameters
    ----------
    x : (n, V)
        Counts.
    k : int
    rng : generator
    least : int
        Documents that an anchor is in, at least.
    how : str
        ``recovered``, or the anchors' rows themselves.
    """
    n = np.asarray(x.sum(axis=1)).ravel()
    # two tokens of a document, drawn without the first put back: x_i x_j - [i = j] x_i over n (n - 1)
    pairs = sparse.diags(1.0 / (n * (n - 1.0))).astype(np.float32) @ x
    alike, rate = column_sums(pairs), x.T @ (1.0 / n)
    directions = rng.choice(np.array([-1.0, 1.0], np.float32), (x.shape[1], WIDTH))
    rows = pairs.T @ (x @ directions) - alike[:, None] * directions
    rows /= np.maximum(rate, 1e-30)[:, None] * np.float32(math.sqrt(WIDTH))
    candidates = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]) >= least)
    anchors = candidates[farthest(rows[candidates], k)]
    if how == "recovered":
        law: Doubles = mixtures(rows, anchors) * (rate / rate.sum())[:, None]
    else:
        law = np.asarray((x.T @ pairs[:, anchors]).todense(), np.float64)
        law[anchors, np.arange(k)] -= alike[anchors]
        law = np.maximum(law, 0.0)
        law /= law.sum(axis=0) * k
    mixed: Doubles = (1.0 - MIXED) * law + MIXED / k * (rate / rate.sum())[:, None]
    return mixed


def column_sums(x: sparse.csr_matrix) -> Floats:
    """Sum over documents, (V,)."""
    sums: Floats = np.asarray(x.sum(axis=0)).ravel().astype(np.float32)
    return sums


def farthest(rows: Floats, k: int) -> list[int]:
    """Choose k rows greedily: each is the farthest from the affine span of the rows chosen before."""
    rest = rows - rows[np.argmax((rows * rows).sum(axis=1))]
    chosen = [int(np.argmax((rows * rows).sum(axis=1)))]
    while len(chosen) < k:
        lengths = (rest * rest).sum(axis=1)
        lengths[chosen] = -1.0
        chosen.append(int(np.argmax(lengths)))
        unit = rest[chosen[-1]] / math.sqrt(lengths[chosen[-1]])
        rest -= np.outer(rest @ unit, unit)
    return chosen


def mixtures(rows: Floats, anchors: Int64s) -> Floats:
    """Return the mixture of anchors' rows that is closest to each row: topics given words, (V, K).

    By exponentiated gradient, with a step for each row that is halved where its distance grew.
    """
    among, target = rows[anchors] @ rows[anchors].T, rows @ rows[anchors].T
    found = tried = np.full(target.shape, 1.0 / len(anchors), np.float32)
    slope = np.zeros_like(found)
    least = np.full((len(rows), 1), np.inf, np.float32)
    step = np.full((len(rows), 1), LENGTH / np.abs(among).max(), np.float32)
    for _ in range(STEPS):
        product = tried @ among
        distance = (tried * (0.5 * product - target)).sum(axis=1, keepdims=True)
        nearer = distance <= least
        step *= np.where(nearer, np.float32(1.1), np.float32(0.5))
        least, found = np.where(nearer, distance, least), np.where(nearer, tried, found)
        slope = np.where(nearer, product - target, slope)
        push = step * ((found * slope).sum(axis=1, keepdims=True) - slope)
        tried = found * np.exp(np.clip(push, -20.0, 20.0))
        tried /= tried.sum(axis=1, keepdims=True)
    return found


# ---- what is told


def tell(found: dict[str, list[Trained]], seconds: list[float]) -> None:
    """Print perplexities by time, and shares of topics that chains have in common."""
    print("| start | seconds of it | " + " | ".join(f"{s:g} s" for s in seconds), end="")
    print(" | iterations | chains at the end |" + "\n" + "|---" * (len(seconds) + 4) + "|")
    for start, runs in found.items():
        cells = [f"{np.mean([r.start for r in runs]):.2f}"]
        cells += [cell(float(np.mean([r.figures[i] for r in runs]))) for i in range(len(seconds))]
        cells.append(f"{np.mean([r.iterations for r in runs]):.0f}")
        cells.append(" ".join(cell(r.figures[-1]) for r in runs))
        print(f"| {start} | " + " | ".join(cells) + " |")
    print("\n| start | in all chains | of two: starts | of two: trained | and a random one's |")
    print("|---|---|---|---|---|", flush=True)
    for start, runs in found.items():
        topics = [r.topics for r in runs]
        cells = [
            share(in_all(topics)),
            share(in_two([r.before for r in runs])),
            share(in_two(topics)),
        ]
        others = [r.topics for r in found.get("random", [])]
        crossed = [
            alike(a, b)
            for (i, a), (j, b) in itertools.product(enumerate(topics), enumerate(others))
            if i != j
        ]
        cells.append(share(crossed))
        print(f"| {start} | " + " | ".join(cells) + " |", flush=True)


def cell(value: float) -> str:
    """Format a perplexity; empty if there was no sample yet."""
    return "" if math.isnan(value) else f"{value:.1f}"


def share(values: Sequence[float] | Array) -> str:
    """Write the mean of shares."""
    return f"{np.mean(values):.0%}" if len(values) else ""


def in_all(topics: list[Floats]) -> list[float]:
    """Return whether all chains have each topic of the first chain."""
    if len(topics) < 2:
        return []
    order = [assign(DISTRIBUTIONS.similarity(topics[0], other)) for other in topics[1:]]
    aligned = [topics[0], *(t[rows] for t, rows in zip(topics[1:], order, strict=True))]
    pairs = np.ones((len(topics), len(topics), len(topics[0])))
    for a, b in itertools.combinations(range(len(topics)), 2):
        pairs[a, b] = pairs[b, a] = DISTRIBUTIONS.overlap(aligned[a], aligned[b])
    return [float(len(finders(pairs[:, :, k])) == len(topics)) for k in range(len(topics[0]))]


def in_two(topics: list[Floats]) -> list[float]:
    """Return shares of topics that pairs of chains have in common."""
    return [alike(a, b) for a, b in itertools.combinations(topics, 2)]


def alike(a: Floats, b: Floats) -> float:
    """Return the share of topics that two chains have in common."""
    partners = b[assign(DISTRIBUTIONS.similarity(a, b))]
    return float(np.mean(DISTRIBUTIONS.overlap(a, partners) >= SAME))


if __name__ == "__main__":
    main()
