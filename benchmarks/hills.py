"""Starts and schedules that may make independent chains find the same topics, against the default.

    python benchmarks/hills.py CORPUS... [-k 20] [--chains 8] [--iterations 600]
        [--exact 1000] [--only NAME;...]

Each corpus is a training file, divided as in benchmarks/defaults.py: no test file is looked at. Rows have
perplexity averaged over posterior samples, CPU seconds of a chain, and the topics that two chains share
and those that four share, on average over all pairs and fours, as `sgmc diagnose` counts them: matched
one to one, 70 % in common between any two. Ways of two stages begin the chain by the topics that the
first stage ends with; iterations of both together are those of the default, or what the name says. With
``--exact`` four chains of collapsed Gibbs follow, whose draws are looked at. The tables of
docs/internals/models.md, "What chains agree on", come from here.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from defaults import begun, divided

from pysgrld.chain.blocks import BlockChain
from pysgrld.chain.posterior import Posterior
from pysgrld.corpus import Corpus, CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import minibatch_words
from pysgrld.evaluate.held_out import split
from pysgrld.evaluate.matching import DISTRIBUTIONS, assign, match
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts, Resolved
from pysgrld.train.begin import begin_refinement
from pysgrld.train.short_chains import clusters_of_topics
from pysgrld.types import Doubles, Floats


class Ground(NamedTuple):
    """Settings and documents shared by all chains of a corpus."""

    corpus: Corpus
    train: Any
    ids: Any
    k: int
    iterations: int

    def options(self, seed: int, burn_in: int, **changed: Any) -> Resolved:
        """Return the options of a chain that takes samples after ``burn_in`` iterations."""
        tokens = int(self.corpus.lengths()[self.train].sum())
        seen = minibatch_words(self.corpus, self.train)
        facts = Facts(len(self.train), self.corpus.words, tokens, 10_000, seen)
        given = {"algo": "scir", "topics": self.k, "seed": seed, "exact-sweeps": 0}
        given |= {"burn-in": burn_in, "sample-every": 5, "starts": 1} | changed
        return resolve(given, facts).options

    def chain(self, seed: int, burn_in: int, **changed: Any) -> Posterior:
        """Start a chain with such options."""
        options = self.options(seed, burn_in, **changed)
        return begun(options, self.corpus, self.train, self.ids, keep_mean=True)


class Topics(NamedTuple):
    """Topics of a chain, (K, V), and how many tokens each has."""

    phi: Floats
    tokens: Doubles


def advance(posterior: Posterior, iterations: int) -> Topics:
    """Train for some iterations; return mean topics, or the last state's topics without samples."""
    chain = posterior.chain
    assert isinstance(chain, BlockChain)
    for _ in range(iterations):
        chain.advance()
        if posterior.is_due:
            posterior.take_sample()
    block = chain.topics
    (v, k), sums = block.shape, np.asarray(chain.states["phi"].sums, float)
    mean = posterior.mean()
    phi = (chain.draw() if mean is None else mean)["phi"][:, :k].astype(np.float64).T
    tokens = np.maximum(sums[:k] - v * block.prior, 1.0)
    return Topics((phi / phi.sum(axis=1, keepdims=True)).astype(np.float32), tokens)


def from_topics(ground: Ground, seed: int, start: Topics, iterations: int) -> Posterior:
    """Start a default chain at the given topics, and train it."""
    posterior = ground.chain(seed, iterations // 3, **{"warm-up": 0})
    assert isinstance(posterior.chain, BlockChain)
    posterior.chain.start_from_topics(np.ascontiguousarray(start.phi.T), start.tokens)
    advance(posterior, iterations)
    return posterior


def default(ground: Ground, seed: int, times: float = 1.0, **changed: Any) -> Posterior:
    """Train as `sgmc train` does, except for some options."""
    iterations = int(times * ground.iterations)
    posterior = ground.chain(seed, iterations // 3, **changed)
    advance(posterior, iterations)
    return posterior


def staged(
    ground: Ground, seed: int, share: float, longer: float = 1.0, **changed: Any
) -> Posterior:
    """Train with other options first, for a given share of the iterations."""
    first = int(share * ground.iterations)
    posterior = ground.chain(seed, int(first * longer * 0.7), **changed)
    start = advance(posterior, int(first * longer))
    return from_topics(ground, seed, start, ground.iterations - first)


def several(ground: Ground, seed: int, share: float, number: int) -> list[tuple[Topics, float]]:
    """Train several chains for a share of the iterations each; return topics and perplexities."""
    found = []
    for i in range(number):
        iterations = int(share * ground.iterations)
        posterior = ground.chain(1000 + 100 * seed + i, int(iterations * 0.7))
        found.append((advance(posterior, iterations), posterior.average()))
    return found


def of_mean(ground: Ground, seed: int, share: float, number: int) -> Posterior:
    """Start at the mean of the matched topics of several short chains."""
    found = [topics for topics, _ in several(ground, seed, share, number)]
    first = found[0]
    phi, tokens = first.phi.astype(float) * first.tokens[:, None], first.tokens.copy()
    for other in found[1:]:
        own = assign(DISTRIBUTIONS.similarity(first.phi, other.phi))
        phi += other.phi[own] * other.tokens[own, None]
        tokens += other.tokens[own]
    start = Topics((phi / tokens[:, None]).astype(np.float32), tokens / number)
    return from_topics(ground, seed, start, int((1 - share) * ground.iterations))


def of_best(ground: Ground, seed: int, share: float, number: int) -> Posterior:
    """Continue the one of several short chains that has the lowest perplexity."""
    found = several(ground, seed, share, number)
    start = min(found, key=lambda pair: pair[1])[0]
    return from_topics(ground, seed, start, int((1 - share) * ground.iterations))


def merged(ground: Ground, seed: int, share: float, times: float) -> Posterior:
    """Start with more topics, and merge the most similar ones."""
    iterations = int(share * ground.iterations)
    many = ground.chain(seed, int(iterations * 0.7), topics=int(times * ground.k))
    start = merge(advance(many, iterations), ground.k)
    return from_topics(ground, seed, start, ground.iterations - iterations)


def clustered(ground: Ground, seed: int, share: float, number: int) -> Posterior:
    """Start at clusters of the topics of several short chains."""
    found = [topics for topics, _ in several(ground, seed, share, number)]
    all_of = Topics(
        np.concatenate([t.phi for t in found]), np.concatenate([t.tokens for t in found]) / number
    )
    return from_topics(ground, seed, merge(all_of, ground.k), int((1 - share) * ground.iterations))


def merge(topics: Topics, k: int) -> Topics:
    """Merge pairs of topics, by Ward's rule on square roots of phi, until k are left."""
    phi, tokens = topics.phi.astype(np.float64), topics.tokens.astype(np.float64)
    while len(phi) > k:
        root = np.sqrt(phi)
        apart = np.maximum(2.0 - 2.0 * root @ root.T, 0.0)
        cost = apart * np.outer(tokens, tokens) / np.add.outer(tokens, tokens)
        cost[np.tril_indices(len(phi))] = np.inf
        a, b = np.unravel_index(cost.argmin(), cost.shape)
        both = tokens[a] + tokens[b]
        phi[a] = (tokens[a] * phi[a] + tokens[b] * phi[b]) / both
        tokens[a] = both
        phi, tokens = np.delete(phi, b, axis=0), np.delete(tokens, b)
    return Topics(phi.astype(np.float32), tokens)


def starts(ground: Ground, seed: int, number: int) -> Posterior:
    """Train as `sgmc train --set starts=N` does."""
    posterior = ground.chain(seed, ground.iterations // 3, starts=number)
    options = ground.options(seed, ground.iterations // 3, starts=number)
    tokens = int(ground.corpus.lengths()[ground.train].sum())
    chain, corpus = posterior.chain, CorpusFacts(ground.corpus.words, tokens)
    if first := clusters_of_topics(chain.stream, options, corpus, RunOn(1)):
        chain.start_from_topics(*first)
    advance(posterior, ground.iterations)
    return posterior


Way = Callable[[Ground, int], Posterior]
WAYS: Mapping[str, Way] = {
    "the default": default,
    "twice as long": lambda g, s: default(g, s, 2.0),
    "without noise for half of the time": lambda g, s: default(
        g, s, **{"warm-up": g.iterations // 2}
    ),
    "a quarter of the minibatch": lambda g, s: default(g, s, 4.0, minibatch=70),
    "noisier first: an eighth of the minibatch": lambda g, s: staged(g, s, 0.3, 8.0, minibatch=35),
    "smoother words first: eta 0.5": lambda g, s: staged(g, s, 0.3, eta=0.5),
    "smoother documents first: alpha 1": lambda g, s: staged(g, s, 0.3, alpha=1.0),
    "both": lambda g, s: staged(g, s, 0.3, alpha=1.0, eta=0.5),
    "half of the topics merged": lambda g, s: merged(g, s, 0.3, 2.0),
    "three quarters of the topics merged": lambda g, s: merged(g, s, 0.3, 4.0),
    "the best of 4": lambda g, s: of_best(g, s, 0.2, 4),
    "the mean of 4": lambda g, s: of_mean(g, s, 0.2, 4),
    "the mean of 8": lambda g, s: of_mean(g, s, 0.1, 8),
    "clusters of 4": lambda g, s: clustered(g, s, 0.2, 4),
    "--set starts=4": lambda g, s: starts(g, s, 4),
    "--set starts=8": lambda g, s: starts(g, s, 8),
    "--set starts=16": lambda g, s: starts(g, s, 16),
    "--set starts=32": lambda g, s: starts(g, s, 32),
    "clusters of 8": lambda g, s: clustered(g, s, 60 / g.iterations, 8),
    "clusters of 16": lambda g, s: clustered(g, s, 60 / g.iterations, 16),
}


def drawn_exactly(ground: Ground, trained: Posterior, sweeps: int) -> Posterior:
    """Continue a trained chain with exact chains; return the averages of their draws."""
    held_out = split(ground.corpus.take(ground.ids), ground.ids, 0.8, 0)
    options, words = ground.options(0, 1), ground.corpus.words
    stage = begin_refinement(trained, options, words, RunOn(1), held_out, sweeps=sweeps)
    while not stage.done:
        stage.advance()
    return stage.posterior


def mean_topics(posterior: Posterior, k: int) -> Floats:
    """Return the mean topics, (K, V)."""
    mean = posterior.mean()
    assert mean is not None
    phi = mean["phi"][:, :k].T
    return np.ascontiguousarray(phi / phi.sum(axis=1, keepdims=True))


def shared(topics: list[Floats], number: int) -> float:
    """Return the number of topics shared by ``number`` chains, on average over all choices of chains."""
    found = [
        (match(some, DISTRIBUTIONS).found == number).sum()
        for some in itertools.combinations(topics, number)
    ]
    return float(np.mean(found))


def main() -> None:
    """Train chains in each way, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=600)
    parser.add_argument("--exact", type=int, default=0, help="sweeps of exact chains that follow")
    parser.add_argument("--only", help="names of ways, divided by ;")
    given = parser.parse_args()
    for path in given.corpora:
        print(f"\n{Path(path).name}, K = {given.k}, {given.chains} chains\n")
        print("| | perplexity | seconds | two share | four share |")
        print("|---|---|---|---|---|")
        with tempfile.TemporaryDirectory() as folder:
            corpus = open_corpus([path], CorpusOptions(), store=Path(folder) / "corpus")
            train, ids = divided(corpus)
            ground = Ground(corpus, train, ids, given.k, given.iterations)
            for name in given.only.split(";") if given.only else WAYS:
                topics, scores, began = [], [], time.process_time()
                for seed in range(given.chains):
                    posterior = WAYS[name](ground, seed)
                    if given.exact:
                        posterior = drawn_exactly(ground, posterior, given.exact)
                    topics.append(mean_topics(posterior, given.k))
                    scores.append(posterior.average())
                seconds = (time.process_time() - began) / given.chains
                print(
                    f"| {name} | {np.mean(scores):.1f} | {seconds:.1f} | {shared(topics, 2):.1f} | "
                    f"{shared(topics, 4):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
