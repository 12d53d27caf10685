"""Minibatches of training documents, from a stored corpus or from a stream that is read once.

`Epochs` goes through a stored corpus repeatedly, and `OnePass` takes documents from a stream. `Ahead`
prepares their next minibatches on another thread while the training uses the current minibatch.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

import numpy as np

from pysgrld.core import core
from pysgrld.errors import UsageError, plural
from pysgrld.options.option import Resolved
from pysgrld.run.machine import check_room_for_thread
from pysgrld.types import Documents, Int32s, Int64s, Key, Minibatch, Positions

#: Minimum number of documents that are passed to the training thread at a time.
TOGETHER = 64
#: Seconds between two checks of whether training should stop, while it waits for documents.
PATIENCE = 0.1


class Source(Protocol):
    """Protocol for a corpus from which documents are read by their ids."""

    def take(self, ids: Int64s) -> Documents:
        """Return the documents with the given ids, in the order of the ids."""


class Feed(Protocol):
    """Protocol for a stream of documents, which can be read once and only in order."""

    def take(self, n: int) -> Documents:
        """Return the next ``n`` documents, or fewer at the end of the input."""


def compact(documents: Documents, doc_ids: Int64s, scale: float) -> Minibatch:
    """Return a minibatch of documents; its word ids are indices in the list of its distinct words.

    Parameters
    ----------
    documents : Documents
    doc_ids : (B,) int64
        Positions of the documents in their corpus.
    scale : float
        D / B: number of training documents divided by number of documents in the minibatch.
    """
    words, indices = core.renumber(documents.rows)
    return Minibatch(documents.indptr, indices, documents.counts, words, doc_ids, scale)


def hold_out_size(requested: int | float | None, documents: int) -> int:
    """Return the number of held-out documents; the default is 10 %, but at most 1000 documents.

    Parameters
    ----------
    requested : int, float or None
        A number of documents, a fraction in (0, 1], or None for the default.
    documents : int
        Number of documents of the corpus.

    Returns
    -------
    int
        Number of documents, below `documents`.

    Raises
    ------
    UsageError
        If no document would be left to train on.
    """
    if requested is None:
        return min(1000, max(1, documents // 10)) if documents > 1 else 0
    size = max(1, round(requested * documents)) if isinstance(requested, float) else requested
    if (size and size >= documents) or size < 0:
        raise UsageError(
            f"holdout {requested} is not possible with {plural(documents, 'document')}; hold out "
            "fewer, so that some remain for training"
        )
    return size


def choose_documents(documents: int, size: int, key: Key) -> Int64s:
    """Draw a simple random sample of documents without replacement.

    A smaller sample with the same key is a subset of every larger sample.

    Parameters
    ----------
    documents : int
        Number of documents in the corpus.
    size : int
        Number of documents to choose, at most ``documents``.
    key : Key
        Key of the random numbers; its step is ignored.

    Returns
    -------
    (size,) int64
        Positions in [0, documents), ascending.
    """
    chosen = core.permute(
        np.arange(size), documents, key.seed, key.chain, core.Purpose.holdout_choice, 0
    )
    return np.sort(chosen)


class Epochs(NamedTuple):
    """Minibatches of a stored corpus; in each epoch, every document is in exactly one minibatch.

    Each epoch is a new random permutation of the training documents. It is split into the minimum
    number of minibatches with at most `size` documents, with sizes that differ by at most one. If
    the last minibatch were small, it would be scaled up, and its step would move topics more than
    other steps. Seed, chain and iteration determine a minibatch.

    Attributes
    ----------
    source : Source
    train : (D,) int64, or PositionsExcept
        Corpus positions of the training documents, ascending.
    size : int
        Maximum number of documents per minibatch; at most D.
    seed, chain : int
        Seed of all randomness of the run, and number of the chain among the chains of a seed, from 0.
    rank, ranks : int
        Number of this process, from 0, and number of processes. Each process gets a contiguous slice
        of every minibatch. The scale is the scale of the whole minibatch.
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
        """Create the minibatches for a run, with the size, seed and chain of its options."""
        size, seed, chain = options.minibatch, options.seed, options.chain
        return cls(source, train, size, seed, chain, rank, ranks)

    @property
    def documents(self) -> int:
        """Number of training documents, D."""
        return len(self.train)

    @property
    def per_epoch(self) -> int:
        """Number of minibatches in an epoch."""
        return -(-len(self.train) // self.size)

    @property
    def together(self) -> int:
        """Number of consecutive minibatches that `Ahead` prepares at a time."""
        return max(1, TOGETHER // self.size)

    def ids(self, t: int) -> Int64s:
        """Return the ids of the documents that this process uses in iteration ``t``."""
        whole = slice_of(range(len(self.train)), t % self.per_epoch, self.per_epoch)
        rank_slice = slice_of(whole, self.rank, self.ranks)
        positions = np.arange(rank_slice.start, rank_slice.stop)
        if self.per_epoch == 1:
            return self.train[positions]
        epoch = t // self.per_epoch
        order = core.permute(
            positions, len(self.train), self.seed, self.chain, core.Purpose.epoch_order, epoch
        )
        return self.train[order]

    def minibatch(self, t: int) -> Minibatch:
        """Return the minibatch of iteration ``t``, counted from 0."""
        ids = self.ids(t)
        whole = slice_of(range(len(self.train)), t % self.per_epoch, self.per_epoch)
        return compact(self.source.take(ids), ids, len(self.train) / len(whole))


def slice_of(whole: range, rank: int, ranks: int) -> range:
    """Split a range into ``ranks`` slices of almost equal size, and return slice number ``rank``.

    Parameters
    ----------
    whole : range
        Positions to divide.
    rank : int
        Number of the slice, from 0.
    ranks : int
        Number of slices.

    Returns
    -------
    range
        The slice.
    """
    n = len(whole)
    return whole[rank * n // ranks : (rank + 1) * n // ranks]


def minibatch_words(source: Source, train: Positions) -> Callable[[int, int], int]:
    """Return a function that counts the distinct words in the first minibatch of a run.

    Parameters
    ----------
    source : Source
        The corpus.
    train : positions
        Positions of the training documents.

    Returns
    -------
    callable
        Takes the size of a minibatch and the seed; returns a number of words. Results are cached.
    """
    return functools.cache(
        lambda size, seed: len(Epochs(source, train, size, seed, 0).minibatch(0).words)
    )


class FeedPosition(NamedTuple):
    """Position in a stream of documents after an iteration.

    Attributes
    ----------
    documents : int
        Number of documents taken from the stream so far.
    digest : str
        Digest of all these documents, in hexadecimal.
    """

    documents: int
    digest: str


class OnePass:
    """Minibatches drawn at random from a buffer, which is refilled from a stream of documents.

    At first, the buffer has the training documents among the stored first documents of the corpus
    (`head`). Each iteration draws a minibatch from the buffer, and the next documents of the stream
    (`feed`) replace the drawn documents; at the end of the stream the buffer empties. Iterations
    come in order. To resume a run, `go_to` draws the minibatches of the earlier iterations again,
    for which the stream must yield the same documents again.

    Parameters
    ----------
    head : Source
        The first documents of the corpus, stored.
    train : (n,) int64, or PositionsExcept
        Positions of the training documents in the head.
    first : int
        Number of the feed's first document; documents of the head have smaller numbers.
    feed : Feed
    documents : int
        Training documents D of the whole corpus, or the best known estimate.
    size : int
        Number of documents per minibatch.
    seed, chain : int
        As for `Epochs`.
    """

    #: Number of minibatches that `Ahead` prepares at a time. It is 1, because waiting for more
    #: documents would delay the training on a stream.
    together = 1

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
    def per_epoch(self) -> int:
        """Number of minibatches that together have D documents."""
        return -(-self.documents // self.size)

    def minibatch(self, t: int) -> Minibatch | None:
        """Return the minibatch of iteration ``t``, or None if the buffer is empty.

        Raises
        ------
        ValueError
            If ``t`` is not the next iteration.
        """
        if t != self._next:
            raise ValueError(
                f"the documents of iteration {t} cannot be read, because a stream is read in "
                f"order; read iteration {self._next} next"
            )
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
        """Draw and discard the minibatches before iteration ``t``.

        ``waiting`` is called before each minibatch, and may raise an exception to stop.
        """
        while self._next < t:
            waiting()
            self._draw()

    def position(self, t: int) -> FeedPosition:
        """Return the position in the stream after ``t`` minibatches; old positions are dropped."""
        return self._positions[t]

    def _draw(self) -> list[tuple[int, Int32s, Int32s]]:
        """Draw the documents of the next minibatch from the buffer, and refill the buffer."""
        buffer, t = self._buffer, self._next
        size = min(self.size, len(buffer))
        order = core.permute(
            np.arange(size), len(buffer), self.seed, self.chain, core.Purpose.stream_order, t
        ).tolist()
        drawn = [buffer[i] for i in order]
        documents = self.feed.take(size) if size else None
        if documents is not None:
            for part in (documents.indptr, documents.indices, documents.counts):
                self._digest.update(np.ascontiguousarray(part).data)
            for i, pair in zip(order, _rows(documents), strict=False):
                buffer[i] = (self._first + self._taken, *pair)
                self._taken += 1
            for i in sorted(order[len(documents) :], reverse=True):
                buffer[i] = buffer[-1]
                buffer.pop()
        self._next = t + 1
        self._positions[t + 1] = FeedPosition(self._taken, self._digest.hexdigest())
        self._positions.pop(t - 3, None)
        return drawn


def _rows(documents: Documents) -> list[tuple[Int32s, Int32s]]:
    """Return a list with copies of the word ids and the counts of each document."""
    return [
        (documents.indices[a:b].copy(), documents.counts[a:b].copy())
        for a, b in itertools.pairwise(documents.indptr.tolist())
    ]


class WholeCorpus(NamedTuple):
    """Training documents in memory; every minibatch has all of them.

    Attributes
    ----------
    batch : Minibatch
    seed, chain : int
        As for `Epochs`.
    """

    batch: Minibatch
    seed: int
    chain: int

    @property
    def per_epoch(self) -> int:
        """Number of minibatches in an epoch, always 1."""
        return 1

    @property
    def together(self) -> int:
        """Number of minibatches that `Ahead` prepares at a time; here it is 1."""
        return 1

    @property
    def documents(self) -> int:
        """Number of training documents, D."""
        return len(self.batch.doc_ids)

    @property
    def size(self) -> int:
        """Number of documents per minibatch, D."""
        return self.documents

    def minibatch(self, t: int) -> Minibatch:
        """Return all documents; the iteration ``t`` is ignored."""
        del t
        return self.batch


#: Minibatches on which a chain is trained, one in each iteration.
Minibatches = Epochs | OnePass | WholeCorpus

#: Number of an iteration, and the minibatches of this iteration and of the next ones. None at the
#: end of the list marks the end of a stream.
_Batches = tuple[int, list[Minibatch | None]]


class Ahead:
    """Minibatches that a separate thread prepares before they are needed.

    The thread changes only the time at which minibatches are ready, never their content. Small
    minibatches are prepared several at a time, because handing over a minibatch to another thread
    takes as long as preparing several documents.

    Parameters
    ----------
    stream : Epochs or OnePass
    waiting : callable, optional
        Called now and then until the next minibatch is ready. It may raise an exception to stop.
    """

    def __init__(self, stream: Minibatches, waiting: Callable[[], None] = lambda: None) -> None:
        self.stream, self.waiting = stream, waiting
        self._thread = ThreadPoolExecutor(1, "minibatch")
        # True if minibatches are prepared on the calling thread, because no other thread could be
        # started.
        self._alone: bool | None = None
        self._ready: _Batches = 0, []
        self._next: tuple[int, Future[_Batches]] | None = None

    def minibatch(self, t: int) -> Minibatch | None:
        """Return the minibatch of iteration ``t``, and start to prepare the next minibatches."""
        if self._alone is None:
            try:
                check_room_for_thread()
                self._thread.submit(int)
                self._alone = False
            except RuntimeError:
                self._alone = True
        if self._alone:
            return self.stream.minibatch(t)
        first, batches = self._ready
        if not first <= t < first + len(batches):
            if self._next is None or self._next[0] != t:
                self._next = t, self._thread.submit(self._prepare, t)
            under_way = self._next[1]
            while not under_way.done():
                wait([under_way], timeout=PATIENCE)
                self.waiting()
            first, batches = self._ready = under_way.result()
            after = first + len(batches)
            ends = batches[-1] is None
            self._next = None if ends else (after, self._thread.submit(self._prepare, after))
        return batches[t - first]

    def _prepare(self, t: int) -> _Batches:
        """Prepare up to ``together`` consecutive minibatches; return ``t`` and these minibatches.

        An error in a later minibatch is raised only when that minibatch is requested.
        """
        batches = [self.stream.minibatch(t)]
        with contextlib.suppress(Exception):
            while batches[-1] is not None and len(batches) < self.stream.together:
                batches.append(self.stream.minibatch(t + len(batches)))
        return t, batches

    def close(self) -> None:
        """End the thread; the callback `waiting` is not called after the end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._next, self.waiting = None, lambda: None
