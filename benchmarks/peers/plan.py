"""The contests of docs/internals/benchmarks.md: corpus, K, threads, chains, seconds, priors, peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from contestants import PEERS

from pysgrld.types import Documents

#: A short document has so many tokens: with 100 at least, there would be 1,467 documents only.
SHORTEST, LONGEST = 80, 200
#: Documents of the small corpus.
FEW = 2000


class Source(NamedTuple):
    """Location of a corpus, and how it is preprocessed.

    Attributes
    ----------
    files : tuple of str
        One file (some of its documents are held out), training and test, or training and two halves
        of test documents.
    about : str
        What they are, in a sentence.
    cut : callable (documents, seed), optional
        Takes some of the first file.
    """

    files: tuple[str, ...]
    about: str = ""
    cut: Callable[[Documents, int], Documents] | None = None


class Contest(NamedTuple):
    """One comparison: all peers train on the same documents for the same time.

    Attributes
    ----------
    corpus : str
    topics : int
    budget : float
        Seconds of training, each; all chains of a peer together.
    peers : tuple of str
    threads : int
    chains : int
        Chains of each peer, one after the other, whose draws are averaged.
    own : bool
        Whether each peer has its own priors.
    alpha, eta : float, optional
        Priors for all; without them those that sgmc has by default at that K.
    seed : int
    """

    corpus: str
    topics: int
    budget: float
    peers: tuple[str, ...] = tuple(PEERS)
    threads: int = 1
    chains: int = 1
    own: bool = False
    alpha: float | None = None
    eta: float | None = None
    seed: int = 1

    @property
    def name(self) -> str:
        """Name the contest by its corpus, K, and unusual settings."""
        threads = f"-{self.threads}t" if self.threads > 1 else ""
        chains = f"-{self.chains}c" if self.chains > 1 else ""
        return f"{self.corpus}-{self.topics}{threads}{chains}{'-own' if self.own else ''}"


def small(documents: Documents, seed: int) -> Documents:
    """Choose a few documents of some length in random order, and cut them at random lengths."""
    rng = np.random.default_rng(seed)
    long_ones = np.flatnonzero(documents.lengths >= SHORTEST)
    chosen = documents.take(rng.permutation(long_ones)[:FEW])
    counts = [
        rng.multivariate_hypergeometric(n, min(LONGEST, n.sum()))
        for n in np.split(chosen.counts, chosen.indptr[1:-1])
    ]
    holders = np.repeat(np.arange(len(chosen)), np.diff(chosen.indptr))
    left = np.concatenate(counts).astype(np.int32)
    sizes = np.bincount(holders[left > 0], minlength=len(chosen))
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Documents(indptr, chosen.indices[left > 0], left[left > 0])


#: Files below the folder of data.
CORPORA = {
    "20news": Source(
        (
            "20news/docword.20news.train.txt.gz",
            "20news/docword.20news.test-observed.txt.gz",
            "20news/docword.20news.test-heldout.txt.gz",
        ),
        "20 Newsgroups, matrix and split of the authors of deep LDA.",
    ),
    "wikipedia": Source(
        ("wikipedia/docword.wiki.train.txt.gz", "wikipedia/docword.wiki.test.txt.gz"),
        "English Wikipedia, whole articles.",
    ),
    "simplewiki": Source(
        ("simplewiki/docword.simplewiki.train.txt.gz", "simplewiki/docword.simplewiki.test.txt.gz"),
        "Simple English Wikipedia, whole articles.",
    ),
    "nips": Source(("nips/docword.nips.txt.gz",), "NIPS papers, volumes 0 to 12."),
    "small": Source(
        ("20news/docword.20news-rawcount.train.txt.gz",),
        f"20 Newsgroups, raw counts: {FEW:,} of the documents with at least {SHORTEST} tokens, cut to "
        f"{LONGEST} at random.",
        small,
    ),
}

EXACT = ("sgmc scir", "sgmc cgs", "tomotopy")
AVERAGED = ("sgmc scir", "tomotopy")
MANY_TOPICS = ("sgmc scir", "tomotopy", "topica", "topica warp")
LEARNED = ("sgmc scir", "tomotopy", "topica", "pyrmallet")

#: In the order of the page.
CONTESTS = (
    Contest("20news", 100, 64),
    Contest("20news", 100, 64, EXACT, chains=4),
    Contest("20news", 100, 32, LEARNED, own=True),
    Contest("wikipedia", 100, 64),
    Contest("wikipedia", 100, 64, AVERAGED, chains=4),
    Contest("wikipedia", 100, 32, LEARNED, own=True),
    Contest("wikipedia", 500, 256, MANY_TOPICS),
    Contest("wikipedia", 1000, 256, MANY_TOPICS),
    Contest("wikipedia", 500, 256, MANY_TOPICS, threads=2),
    Contest("wikipedia", 1000, 256, MANY_TOPICS, threads=2),
    Contest("simplewiki", 100, 64, EXACT),
    Contest("simplewiki", 100, 64, AVERAGED, chains=4),
    Contest("simplewiki", 500, 256, MANY_TOPICS),
    Contest("simplewiki", 1000, 256, MANY_TOPICS),
    Contest("simplewiki", 500, 256, MANY_TOPICS, threads=2),
    Contest("simplewiki", 1000, 256, MANY_TOPICS, threads=2),
    Contest("nips", 100, 64, EXACT),
    Contest("nips", 100, 64, EXACT, chains=4),
    Contest("small", 100, 64, EXACT),
    Contest("small", 100, 64, EXACT, chains=4),
)
