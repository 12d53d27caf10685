"""Which documents an iteration sees: a pure function of its number, so nothing to store or resume.

Of a stored corpus each epoch is a fresh keyed permutation of the training documents, cut into
minibatches; the last one of an epoch may be smaller and is scaled by its own size. A corpus that is
read once passes through a shuffle buffer, from which keyed choices are made.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

import numpy as np

from pysgrld.core import core
from pysgrld.types import Documents, Int32s, Int64s, Key, Minibatch

#: Seconds after which one who waits for documents looks whether to go on waiting.
PATIENCE = 0.1


class Source(Protocol):
    """What a stream needs of a corpus."""

    def take(self, ids: Int64s) -> Documents:
        """Gather documents, in this order."""


def chain_of(options: Mapping[str, Any]) -> int:
    """Number of the chain in random keys, from 0; runs older than ``--chain-id`` are the first.

    The choice of held-out documents, their split and what is inferred of documents have the keys of
    chain 0 in every chain: chains differ in what they draw, not in what they are given.
    """
    return int(options.get("chain-id", 1)) - 1


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

    @classmethod
    def of(cls, options: Mapping[str, Any], source: Source, train: Int64s) -> Stream:
        """Minibatches as resolved options want them."""
        return cls(source, train, options["minibatch"], options["seed"], chain_of(options))

    @property
    def documents(self) -> int:
        """Training documents D."""
        return len(self.train)

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


class Feed(Protocol):
    """Documents that come once, in order."""

    def take(self, n: int) -> Documents:
        """The next documents: ``n``, or fewer at the end."""


class Position(NamedTuple):
    """What of a feed was taken until the end of an iteration.

    Attributes
    ----------
    documents : int
    digest : str
        Of all of them, in hexadecimal.
    """

    documents: int
    digest: str


class Online:
    """Minibatches of a corpus that is read once.

    A buffer holds some documents, at first those of the head. Each iteration draws a minibatch from
    it, and the next documents of the feed take the places of those that were drawn; at the end of
    the feed the buffer empties. Iterations come in order. A run is resumed by going to a later one,
    for which the feed must give the same documents again.

    Parameters
    ----------
    head : Source
        The first documents of the corpus, stored.
    train : (n,) int64
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
        self, head: Source, train: Int64s, first: int, feed: Feed, documents: int, size: int,
        seed: int, chain: int = 0,
    ) -> None:  # fmt: skip
        self.documents, self.size, self.seed, self.chain = documents, size, seed, chain
        self.feed, self._first, self._taken = feed, first, 0
        self._digest = hashlib.blake2b(digest_size=16)
        self._buffer = [
            (int(i), *pair) for i, pair in zip(train, _rows(head.take(train)), strict=True)
        ]
        self._next = 0
        self._positions = {0: Position(0, self._digest.hexdigest())}

    @property
    def per_epoch(self) -> int:
        """Minibatches in a pass over D documents."""
        return -(-self.documents // self.size)

    def minibatch(self, t: int) -> Minibatch | None:
        """The documents of iteration ``t``, none at the end of the corpus.

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

    def position(self, t: int) -> Position:
        """What had been taken from the feed when ``t`` minibatches were drawn; of the last few t."""
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
        self._positions[t + 1] = Position(self._taken, self._digest.hexdigest())
        self._positions.pop(t - 3, None)
        return drawn


def _rows(documents: Documents) -> list[tuple[Int32s, Int32s]]:
    """Words and counts of each document, in memory of its own."""
    return [
        (documents.indices[a:b].copy(), documents.counts[a:b].copy())
        for a, b in itertools.pairwise(documents.indptr.tolist())
    ]


#: What a chain takes its minibatches from.
Minibatches = Stream | Online


class Ahead:
    """The minibatches of a stream, the next one prepared on another thread meanwhile.

    Only when it is ready changes, never what it holds.

    Parameters
    ----------
    stream : Minibatches
    waiting : callable, optional
        Called now and then while the next one is not ready; may raise, to stop.
    """

    def __init__(self, stream: Minibatches, waiting: Callable[[], None] = lambda: None) -> None:
        self.stream, self.waiting = stream, waiting
        self._thread = ThreadPoolExecutor(1, "minibatch")
        self._alone: bool | None = None  # whether this process may have no more threads
        self._next: tuple[int, Future[Minibatch | None]] | None = None

    def minibatch(self, t: int) -> Minibatch | None:
        """The documents of iteration ``t``; begins on those of the one after."""
        if self._alone is None:
            try:
                self._thread.submit(int)
                self._alone = False
            except RuntimeError:
                self._alone = True
        if self._alone:
            return self.stream.minibatch(t)
        if self._next is None or self._next[0] != t:
            self._next = t, self._thread.submit(self.stream.minibatch, t)
        ready = self._next[1]
        while not ready.done():
            wait([ready], timeout=PATIENCE)
            self.waiting()
        batch = ready.result()
        self._next = (t + 1, self._thread.submit(self.stream.minibatch, t + 1)) if batch else None
        return batch

    def close(self) -> None:
        """Let go of the thread, and of whoever was to be called."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._next, self.waiting = None, lambda: None


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
