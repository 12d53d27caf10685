"""Minibatches of a corpus that is read once: keyed choices from a shuffle buffer."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.corpus.minibatches.sources import Feed, Source, compact
from pysgrld.types import Documents, Int32s, Minibatch, Positions


class FeedPosition(NamedTuple):
    """The position in a feed at the end of an iteration.

    Attributes
    ----------
    documents : int
    digest : str
        Digest of all of them, in hexadecimal.
    """

    documents: int
    digest: str


class OnePass:
    """Minibatches of a corpus that is read once.

    A buffer holds some documents, at first those of the head. Each iteration draws a minibatch from
    it, and the next documents of the feed take the places of those that were drawn; at the end of
    the feed the buffer empties. Iterations come in order. A run is resumed by going to a later one,
    for which the feed must give the same documents again.

    Parameters
    ----------
    head : Source
        The first documents of the corpus, stored.
    train : (n,) int64, or Others
        Positions in it of training documents: what the buffer holds at first.
    first : int
        Number of the feed's first document; those of the head are below.
    feed : Feed
    documents : int
        Training documents D of the whole corpus, as far as is known.
    size : int
        Documents per minibatch.
    seed, chain : int
    """

    def __init__(
        self,
        head: Source,
        train: Positions,
        first: int,
        feed: Feed,
        documents: int,
        size: int,
        seed: int,
        chain: int = 0,
    ) -> None:
        self.documents, self.size, self.seed, self.chain = documents, size, seed, chain
        self.feed, self._first, self._taken = feed, first, 0
        self._digest = hashlib.blake2b(digest_size=16)
        positions = train[:]
        self._buffer = [
            (int(i), *pair) for i, pair in zip(positions, _rows(head.take(positions)), strict=True)
        ]
        self._next = 0
        self._positions = {0: FeedPosition(0, self._digest.hexdigest())}

    @property
    def together(self) -> int:
        """One minibatch at a time: what has come is used at once."""
        return 1

    @property
    def per_epoch(self) -> int:
        """Minibatches in a pass over D documents."""
        return -(-self.documents // self.size)

    def minibatch(self, t: int) -> Minibatch | None:
        """Give the documents of iteration ``t``; None at the end of the corpus.

        Raises
        ------
        ValueError
            If another iteration comes next.
        """
        if t != self._next:
            raise ValueError(f"iteration {t} of a stream: {self._next} comes next")
        drawn = self._draw()
        if not drawn:
            return None
        ids = np.array([i for i, _, _ in drawn], np.int64)
        indptr = np.zeros(len(drawn) + 1, np.int64)
        np.cumsum([len(indices) for _, indices, _ in drawn], out=indptr[1:])
        indices = np.concatenate([indices for _, indices, _ in drawn])
        counts = np.concatenate([counts for _, _, counts in drawn])
        return compact(Documents(indptr, indices, counts), ids, self.documents / len(drawn))

    def go_to(self, t: int, waiting: Callable[[], None]) -> None:
        """Read on to iteration ``t``; ``waiting`` is called now and then and may raise, to stop."""
        while self._next < t:
            waiting()
            self._draw()

    def position(self, t: int) -> FeedPosition:
        """Give the position in the feed when ``t`` minibatches had been drawn; of the last few t."""
        return self._positions[t]

    def _draw(self) -> list[tuple[int, Int32s, Int32s]]:
        """Draw the next minibatch, and fill its places."""
        buffer, t = self._buffer, self._next
        size = min(self.size, len(buffer))
        at = core.permute(
            np.arange(size), len(buffer), self.seed, self.chain, core.Purpose.stream_order, t
        ).tolist()
        drawn = [buffer[i] for i in at]
        more = self.feed.take(size) if size else None
        if more is not None:
            for part in (more.indptr, more.indices, more.counts):
                self._digest.update(np.ascontiguousarray(part).data)
            for i, pair in zip(at, _rows(more), strict=False):
                buffer[i] = (self._first + self._taken, *pair)
                self._taken += 1
            for i in sorted(at[len(more) :], reverse=True):
                buffer[i] = buffer[-1]
                buffer.pop()
        self._next = t + 1
        self._positions[t + 1] = FeedPosition(self._taken, self._digest.hexdigest())
        self._positions.pop(t - 3, None)
        return drawn


def _rows(documents: Documents) -> list[tuple[Int32s, Int32s]]:
    """Give words and counts of each document, in memory of its own."""
    return [
        (documents.indices[a:b].copy(), documents.counts[a:b].copy())
        for a, b in itertools.pairwise(documents.indptr.tolist())
    ]
