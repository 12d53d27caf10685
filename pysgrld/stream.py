"""Which documents an iteration sees: a pure function of its number, so nothing to store or resume.

Each epoch is a fresh keyed permutation of the training documents, cut into minibatches; the last
one of an epoch may be smaller and is scaled by its own size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from pysgrld.core import core
from pysgrld.types import Documents, Int64s, Key, Minibatch


class Source(Protocol):
    """What a stream needs of a corpus."""

    def take(self, ids: Int64s) -> Documents:
        """Gather documents, in this order."""


def compact(documents: Documents, doc_ids: Int64s, scale: float) -> Minibatch:
    """Renumber the distinct words of some documents once; kernels work on the compact rows."""
    words, indices = core.renumber(documents.indices)
    return Minibatch(documents.indptr, indices, documents.counts, words, doc_ids, scale)


class Stream(NamedTuple):
    """Minibatches of a corpus.

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

    @property
    def per_epoch(self) -> int:
        """Minibatches in an epoch."""
        return -(-len(self.train) // self.size)

    def ids(self, t: int) -> Int64s:
        """Corpus positions of the documents of iteration ``t``."""
        epoch, batch = divmod(t, self.per_epoch)
        if self.per_epoch == 1:
            return self.train
        at = np.arange(batch * self.size, min((batch + 1) * self.size, len(self.train)))
        order = core.permute(
            at, len(self.train), self.seed, self.chain, core.Purpose.epoch_order, epoch
        )
        return self.train[order]

    def minibatch(self, t: int) -> Minibatch:
        """The documents of iteration ``t``, counted from 0."""
        ids = self.ids(t)
        return compact(self.source.take(ids), ids, len(self.train) / len(ids))


class Ahead:
    """The minibatches of a stream, the next one prepared on another thread meanwhile.

    Only when it is ready changes, never what it holds.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._thread = ThreadPoolExecutor(1, "minibatch")
        self._next: tuple[int, Future[Minibatch]] | None = None

    def minibatch(self, t: int) -> Minibatch:
        """The documents of iteration ``t``; begins on those of the one after."""
        expected, self._next = self._next, None
        ready = expected[1].result() if expected and expected[0] == t else None
        self._next = t + 1, self._thread.submit(self.stream.minibatch, t + 1)
        return ready or self.stream.minibatch(t)


def minibatch_words(source: Source, train: Int64s) -> Callable[[int, int], int]:
    """Counter of the distinct words of the first minibatch, given its size and the seed."""

    @functools.cache
    def words(size: int, seed: int) -> int:
        return len(Stream(source, train, size, seed, 0).minibatch(0).words)

    return words


def choose_holdout(documents: int, holdout: int, key: Key) -> Int64s:
    """Positions of ``holdout`` documents out of ``documents``, ascending."""
    chosen = core.permute(
        np.arange(holdout), documents, key.seed, key.chain, core.Purpose.holdout_choice, 0
    )
    return np.sort(chosen)
