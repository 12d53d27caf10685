"""Minibatches of a stored corpus: a pure function of the iteration's number, nothing to store or resume.

Each epoch is a fresh keyed permutation of the training documents, cut into minibatches; the last one of
an epoch may be smaller and is scaled by its own size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.minibatches.sources import Source, compact
from pysgrld.options.resolved import Resolved
from pysgrld.types import Int64s, Minibatch


class Epochs(NamedTuple):
    """Minibatches of a stored corpus, epoch after epoch.

    Attributes
    ----------
    source : Source
    train : (D,) int64
        Corpus positions of the training documents, ascending.
    size : int
        Documents per minibatch, at most D.
    seed, chain : int
    """

    source: Source
    train: Int64s
    size: int
    seed: int
    chain: int

    @classmethod
    def of(cls, options: Resolved, source: Source, train: Int64s) -> Epochs:
        """Make the minibatches that resolved options ask for."""
        return cls(source, train, options.minibatch, options.seed, options.chain)

    @property
    def documents(self) -> int:
        """Training documents D."""
        return len(self.train)

    @property
    def per_epoch(self) -> int:
        """Minibatches in an epoch."""
        return -(-len(self.train) // self.size)

    def ids(self, t: int) -> Int64s:
        """Give the corpus positions of the documents of iteration ``t``."""
        epoch, batch = divmod(t, self.per_epoch)
        if self.per_epoch == 1:
            return self.train
        at = np.arange(batch * self.size, min((batch + 1) * self.size, len(self.train)))
        order = core.permute(
            at, len(self.train), self.seed, self.chain, core.Purpose.epoch_order, epoch
        )
        return self.train[order]

    def minibatch(self, t: int) -> Minibatch:
        """Give the documents of iteration ``t``, counted from 0."""
        ids = self.ids(t)
        return compact(self.source.take(ids), ids, len(self.train) / len(ids))


def minibatch_words(source: Source, train: Int64s) -> Callable[[int, int], int]:
    """Make a function that counts the distinct words of the first minibatch, by its size and the seed."""

    @functools.cache
    def words(size: int, seed: int) -> int:
        return len(Epochs(source, train, size, seed, 0).minibatch(0).words)

    return words
