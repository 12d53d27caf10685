"""What draws of scir are of, beside those of gibbs, and how many tokens a topic needs to be found.

    python benchmarks/draws.py widths CORPUS [--topics 20] [--iterations 1500]
    python benchmarks/draws.py means [--documents 60] [--tokens 20] [--iterations 12000]
    python benchmarks/draws.py recover [--iterations 400]

The tables of docs/choosing-a-sampler.md, "What the draws are of", and of docs/evaluation.md, "How much is
enough?".
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.chain.blocks import BlockChain
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.evaluate.matching import assign
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts
from pysgrld.train.begin import begin
from pysgrld.types import Documents

#: Overlap from which topics are called the same.
SAME = 0.7


def started(corpus: Documents, words: int, **given: Any) -> BlockChain:
    """Start a chain on one thread."""
    train = np.arange(len(corpus))
    facts = Facts(len(corpus), words, corpus.tokens, 0, minibatch_words(corpus, train))
    options = resolve(
        {name.replace("_", "-"): value for name, value in given.items()}, facts
    ).options
    stream = Epochs.of(options, corpus, train)
    return begin(options, stream, CorpusFacts(words, corpus.tokens), RunOn(1)).chain


def draws(chain: BlockChain, iterations: int, every: int, leave_out: float) -> np.ndarray:
    """Return every n-th draw of the topics after a given share of the iterations, (S, K, V)."""
    k, found = chain.topics.shape[1], []
    for t in range(iterations):
        chain.advance()
        if t >= leave_out * iterations and t % every == 0:
            phi = chain.draw()["phi"][:, :k].T.astype(np.float64)
            found.append((phi / phi.sum(axis=1, keepdims=True)).astype(np.float32))
    chain.close()
    return np.stack(found)


def overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the probability mass shared by each pair of topics, (K, K)."""
    return np.stack([np.minimum(row, other).sum(axis=1) for row in one])


def sparse(counts: np.ndarray) -> Documents:
    """Turn a table of counts into documents."""
    where = np.nonzero(counts)
    ends = np.concatenate(([0], np.cumsum((counts > 0).sum(axis=1))))
    return Documents(ends, where[1].astype(np.int32), counts[where].astype(np.int32))


def made_up(
    rng: Any, documents: int, tokens: int, alpha: np.ndarray, phi: np.ndarray
) -> np.ndarray:
    """Draw word counts of documents, each with its own proportions of the topics."""
    return np.array([rng.multinomial(tokens, rng.dirichlet(alpha) @ phi) for _ in range(documents)])


def widths(path: str, topics: int, iterations: int) -> None:
    """Compare widths of 90 % intervals of top words, and variances, with those of gibbs."""
    with tempfile.TemporaryDirectory() as folder:
        stored = open_corpus([path], CorpusOptions(), store=Path(folder) / "corpus")
        corpus, words = stored.take(np.arange(stored.documents)), stored.words
    exact = [
        draws(started(corpus, words, algo="gibbs", topics=topics, seed=s), 2 * iterations, 5, 1 / 3)
        for s in (0, 1)
    ]

    def row(name: str, found: np.ndarray) -> None:
        common = overlaps(exact[0].mean(axis=0), found.mean(axis=0))
        partner = assign(common)
        ratios = []
        for k in np.flatnonzero(common[np.arange(topics), partner] > 0.8):
            top = np.argsort(-exact[0].mean(axis=0)[k])[:10]
            pair = found[:, partner[k]][:, top], exact[0][:, k][:, top]
            width, wanted = (np.diff(np.quantile(p, (0.05, 0.95), axis=0), axis=0)[0] for p in pair)
            ratios += list(
                zip(width / wanted, pair[0].var(axis=0) / pair[1].var(axis=0), strict=True)
            )
        width, variance = np.median(ratios, axis=0)
        print(f"{name}: {len(ratios) // 10} topics, width {width:.2f}, variance {variance:.2f}")

    row("gibbs again", exact[1])
    default_chain = started(corpus, words, topics=topics)
    default = default_chain.step_size_at(default_chain.warm_up)
    for share in (1.0, 0.5, 0.25, 0.1, 0.05):
        chain = started(corpus, words, topics=topics, step_size=(share * default, 1.0, 0.0))
        name = f"scir {share * default:.3g}, noise inflation {chain.noise_inflation:.2f}"
        row(name, draws(chain, iterations if share > 0.1 else 2 * iterations, 5, 1 / 3))


def means(documents: int, tokens: int, iterations: int) -> None:
    """Compare means of sum_k phi_kw^2 with those of gibbs, in the posterior's standard deviations."""
    rng = np.random.default_rng(3)
    phi = rng.dirichlet(np.ones(5), 2)
    corpus = sparse(made_up(rng, documents, tokens, np.full(2, 0.3), phi))

    def figures(**given: Any) -> np.ndarray:
        model = {"topics": 2, "alpha": 0.3, "eta": (0.3,), **given}
        chains = (started(corpus, 5, seed=s, **model) for s in (0, 1))
        return np.stack([(draws(c, iterations, 1, 0.1) ** 2).sum(axis=1) for c in chains])

    exact = figures(algo="gibbs").reshape(-1, 5)
    for minibatch in (documents, documents // 4):
        for sweeps in (10, 20, 40, 60):
            for h in (0.5, 0.05):
                found = figures(minibatch=minibatch, sweeps=sweeps, step_size=(h, 1.0, 0.0))
                bias, apart = (
                    found.mean(axis=(0, 1)) - exact.mean(axis=0),
                    np.ptp(found.mean(axis=1), 0),
                )
                bias, apart = (np.abs(x / exact.std(axis=0)).max() for x in (bias, apart))
                print(
                    f"minibatch {minibatch}, {sweeps} sweeps, h {h}: {bias:.2f}, chains {apart:.2f} apart"
                )


def recover(iterations: int) -> None:
    """Count the topics of artificial corpora that gibbs finds, by number of tokens per topic."""
    for topics in (20, 50):
        for tokens in (30, 100, 300, 1000, 3000):
            common = []
            for seed in (0, 1):
                rng = np.random.default_rng(seed)
                phi = rng.dirichlet(np.full(1000, 0.05), topics)
                size = max(2, topics * tokens // 100)
                corpus = sparse(made_up(rng, size, 100, np.full(topics, 0.1), phi))
                chain = started(corpus, 1000, algo="gibbs", topics=topics, seed=seed)
                table = overlaps(phi, draws(chain, iterations, 1, 0.5).mean(axis=0))
                common += table[np.arange(topics), assign(table)].tolist()
            found = np.mean(np.array(common) >= SAME)
            print(f"{topics} topics, {tokens} tokens for each: {found:.2f} of them found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("widths", "means", "recover"))
    parser.add_argument("corpus", nargs="?")
    for name, default in (("topics", 20), ("documents", 60), ("tokens", 20), ("iterations", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    if given.what == "widths":
        widths(given.corpus, given.topics, given.iterations or 1500)
    elif given.what == "means":
        means(given.documents, given.tokens, given.iterations or 12_000)
    else:
        recover(given.iterations or 400)


if __name__ == "__main__":
    main()
