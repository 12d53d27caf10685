"""Minibatches of a corpus that is read once: every document once, drawn from a shuffle buffer."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pysgrld.corpus.minibatches import Ahead, OnePass
from pysgrld.types import Documents

V = 10_000


class Numbered:
    """Document i has the words i and V - 1 - i, the first of them i + 1 times."""

    @staticmethod
    def take(ids):
        ids = np.asarray(ids)
        low, high = np.minimum(ids, V - 1 - ids), np.maximum(ids, V - 1 - ids)
        indices = np.stack([low, high], 1).ravel().astype(np.int32)
        counts = np.stack([np.where(low == ids, ids + 1, 1), np.where(low == ids, 1, ids + 1)], 1)
        return Documents(
            2 * np.arange(len(ids) + 1, dtype=np.int64), indices, counts.ravel().astype(np.int32)
        )


class Feed:
    def __init__(self, first, last):
        self.next, self.last = first, last

    def take(self, n):
        ids = np.arange(self.next, min(self.next + n, self.last))
        self.next += len(ids)
        return Numbered.take(ids)


def online(head=30, total=200, size=7, documents=200, seed=1, chain=0, train=None):
    train = np.arange(head) if train is None else train
    return OnePass(Numbered(), train, head, Feed(head, total), documents, size, seed, chain)


def every(stream):
    t, batches = 0, []
    while (batch := stream.minibatch(t)) is not None:
        batches.append(batch)
        t += 1
    return batches


@pytest.mark.parametrize(
    ("head", "total", "size"), [(30, 200, 7), (30, 30, 7), (5, 40, 9), (1, 1, 1), (50, 57, 50)]
)
def test_every_document_comes_once_with_its_own_words(head, total, size):
    """Red with: drained places not removed; numbers of the feed's documents off by one."""
    batches = every(online(head, total, min(size, head)))
    ids = np.concatenate([batch.doc_ids for batch in batches])
    assert sorted(ids.tolist()) == list(range(total))
    for batch in batches:
        wanted = Numbered.take(batch.doc_ids)
        assert np.array_equal(batch.words[batch.indices], wanted.indices)
        assert np.array_equal(batch.counts, wanted.counts)


def test_documents_that_are_held_out_never_come():
    train = np.setdiff1d(np.arange(30), [3, 4, 5])
    ids = np.concatenate([batch.doc_ids for batch in every(online(train=train))])
    assert sorted(ids.tolist()) == sorted({*range(200)} - {3, 4, 5})


def test_minibatches_are_scaled_to_the_corpus_by_their_own_size():
    """Red with: D over the size asked for."""
    batches = every(online(documents=1000))
    assert [batch.scale for batch in batches] == [1000 / len(b.doc_ids) for b in batches]
    assert len(batches[-1].doc_ids) == 200 % 7


@pytest.mark.parametrize("changed", [{"seed": 2}, {"chain": 1}])
def test_the_order_depends_on_seed_and_chain(changed):
    a, b = online().minibatch(0), online(**changed).minibatch(0)
    assert a.doc_ids.tolist() != b.doc_ids.tolist()


def test_a_buffer_shuffles_as_far_as_it_reaches():
    """A document leaves the buffer within some multiples of it, at a geometric age.

    Red with: the same places drawn each time; the oldest drawn first.
    """
    batches = every(online(head=500, total=9000, size=10))
    ages = [
        t - (i - 500) // 10
        for t, batch in enumerate(batches)
        for i in batch.doc_ids.tolist()
        if 500 <= i < 4500
    ]
    mean = 500 / 10  # geometric from 1 on
    assert abs(np.mean(ages) - mean) < 4.5 * mean / np.sqrt(len(ages))
    assert min(ages) == 1
    assert abs(np.std(ages) - np.sqrt(mean * (mean - 1))) < 0.08 * mean


def test_going_to_an_iteration_gives_the_same_stream_from_there():
    """Red with: the draw not keyed by the iteration; the digest not of all that was taken."""
    one, other = online(), online()
    batches = [one.minibatch(t) for t in range(12)]
    other.go_to(9, lambda: None)
    for t in (9, 10, 11):
        for part, wanted in zip(other.minibatch(t), batches[t], strict=True):
            assert np.array_equal(part, wanted)
    assert other.position(12) == one.position(12)
    assert one.position(12).documents == 12 * 7


def test_other_documents_have_another_digest():
    class Other(Feed):
        def take(self, n):
            found = super().take(n)
            if len(found):
                found.counts[-1] += 1
            return found

    a, b = online(), online()
    b.feed = Other(30, 200)
    a.minibatch(0), b.minibatch(0)
    assert a.position(1).documents == b.position(1).documents == 7
    assert a.position(1).digest != b.position(1).digest


def test_iterations_come_in_order():
    stream = online()
    with pytest.raises(ValueError, match="read iteration 0 next"):
        stream.minibatch(3)


def test_what_waits_for_a_stalled_feed_can_stop():
    """Red with: Ahead waiting without asking."""
    stalled = threading.Event()

    class Stalled(Feed):
        def take(self, n):
            stalled.wait(10)
            return super().take(n)

    class Enough(Exception):
        pass

    def waiting():
        raise Enough

    stream = online()
    stream.feed = Stalled(30, 200)
    with pytest.raises(Enough):
        Ahead(stream, waiting).minibatch(0)
    stalled.set()


def test_ahead_ends_where_the_stream_ends():
    stream = Ahead(online(head=10, total=15, size=5))
    sizes = []
    while (batch := stream.minibatch(len(sizes))) is not None:
        sizes.append(len(batch.doc_ids))
    assert sizes == [5, 5, 5]
