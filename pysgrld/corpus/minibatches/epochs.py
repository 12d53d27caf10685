"""Minibatches of a stored corpus: a pure function of the iteration's number, nothing to store or resume.

Each epoch is a fresh keyed permutation of the training documents, cut into the fewest minibatches of at
most so many documents; their sizes differ by one at most. A small rest at the end of each epoch would be
scaled so much that one step by it moves topics more than all others of the epoch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.corpus.minibatches.sources import Source, compact
from pysgrld.options.resolved import Resolved
from pysgrld.types import Int64s, Minibatch, Positions

#: Documents that are worth handing to the thread that trains.
TOGETHER = 64


class Epochs(NamedTuple):
    """Minibatches of a stored corpus, epoch after epoch.

    Attributes
    ----------
    source : Source
    train : (D,) int64, or Others
        Corpus positions of the training documents, ascending.
    size : int
        Documents per minibatch at most; no more than D.
    seed, chain : int
    rank, ranks : int
        Which of so many contiguous slices of every minibatch is given; it is scaled as the whole is.
    """

    source: Source
    train: Positions
    size: int
    seed: int
    chain: int
    rank: int = 0
    ranks: int = 1

    @classmethod
    def of(
        cls, options: Resolved, source: Source, train: Positions, rank: int = 0, ranks: int = 1
    ) -> Epochs:
        """Make the minibatches that resolved options ask for."""
        size, seed, chain = options.minibatch, options.seed, options.chain
        return cls(source, train, size, seed, chain, rank, ranks)

    @property
    def documents(self) -> int:
        """Training documents D."""
        return len(self.train)

    @property
    def per_epoch(self) -> int:
        """Minibatches in an epoch."""
        return -(-len(self.train) // self.size)

    @property
    def together(self) -> int:
        """Minibatches that are prepared together."""
        return max(1, TOGETHER // self.size)

    def _whole(self, t: int) -> range:
        """Give the places in their epoch of all documents of iteration ``t``."""
        return slice_of(range(len(self.train)), t % self.per_epoch, self.per_epoch)

    def ids(self, t: int) -> Int64s:
        """Give the corpus positions of the documents of iteration ``t``."""
        epoch, whole = t // self.per_epoch, self._whole(t)
        own = slice_of(whole, self.rank, self.ranks)
        at = np.arange(own.start, own.stop)
        if self.per_epoch == 1:
            return self.train[at]
        order = core.permute(
            at, len(self.train), self.seed, self.chain, core.Purpose.epoch_order, epoch
        )
        return self.train[order]

    def minibatch(self, t: int) -> Minibatch:
        """Give the documents of iteration ``t``, counted from 0."""
        ids = self.ids(t)
        return compact(self.source.take(ids), ids, len(self.train) / len(self._whole(t)))


def slice_of(whole: range, rank: int, ranks: int) -> range:
    """Give one of so many contiguous slices, as equal as can be, and perhaps empty."""
    n = len(whole)
    return whole[rank * n // ranks : (rank + 1) * n // ranks]


def minibatch_words(source: Source, train: Positions) -> Callable[[int, int], int]:
    """Make a function that counts the distinct words of the first minibatch, by its size and the seed."""

    @functools.cache
    def words(size: int, seed: int) -> int:
        return len(Epochs(source, train, size, seed, 0).minibatch(0).words)

    return words
