"""Processes that move a state together: each a part of it, with the bits that one process gives."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pysgrld.core import core, padded
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers import lazy_rows as lazy
from pysgrld.samplers.rows import FEWEST
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key

K, STEPS = 5, 6
#: Words of a vocabulary, and of a minibatch, that make blocks which three can share; the last is short.
V, SOME = 64 * 3 * FEWEST + 70, 64 * 3 * FEWEST + 9
TOPICS = Block("phi", "simplex", (V, K), 0.05, 0, 500.0)
FORMS = {
    "scir": ("scir", TOPICS),
    "scir-natural": ("scir", TOPICS._replace(settings=ScirSettings("natural"))),
    "scir-lazy": ("scir", TOPICS._replace(sparse=True, settings=ScirSettings(lazy="on"))),
    "scir-log": ("scir", TOPICS._replace(prior=0.001)),
    "sgrld": ("sgrld", TOPICS),
    "gibbs": ("gibbs", TOPICS),
    "tlasgr": ("tlasgr", TOPICS),
    "smld": ("smld", TOPICS),
}


class Threads:
    """Peers that are threads of this process: what one has filled, the others copy."""

    def __init__(self, size):
        self.size, self.moved, self.sent = size, [0] * size, 0
        self._meet, self._arrays = threading.Barrier(size), [None] * size

    def of(self, rank):
        peer = Peer()
        peer.rank, peer.size, peer.all = rank, self.size, self
        return peer


class Peer:
    """One of them."""

    def move(self, step):
        self.all.moved[self.rank] += 1
        step()

    def complete(self, array, cuts):
        own = slice(cuts[self.rank], cuts[self.rank + 1])
        self.all._arrays[self.rank] = array[own].copy()
        for rank in range(self.size):  # what is not there yet must not be what is needed
            if rank != self.rank:
                array[cuts[rank] : cuts[rank + 1]] = -1.0
        self.all._meet.wait(20)
        for rank, part in enumerate(self.all._arrays):
            array[cuts[rank] : cuts[rank + 1]] = part
        self.all._meet.wait(20)


def advanced(form, peers=None):
    """The arrays of a state after some steps in its warm-up and some after it."""
    name, block = FORMS[form]
    state = SAMPLERS[name].start(Key(1, 0, 0), block, 1)
    for t in range(2 * STEPS):
        if t == STEPS:
            state = state.after_warm_up()
        state.peers = peers
        rng = np.random.default_rng(t)
        words = np.sort(rng.choice(V, SOME, replace=False)).astype(np.int32)
        counts = np.zeros((SOME, padded(K)), np.int64)
        counts[:, :K] = rng.integers(0, 9, (SOME, K))
        state.catch_up(Key(1, 0, t), words)
        state.step(Key(1, 0, t), Counts(words, counts, 2.0, 40.0, 3.0), 0.01)
    return {name: array.tobytes() for name, array in state.arrays().items()}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_a_state_that_is_moved_together_has_the_bits_of_one_process(form, size, monkeypatch):
    """Red with: sums in the order of the peers; rows that came and were not put in their places."""
    monkeypatch.setattr(lazy, "DENSE", 0.0)
    monkeypatch.setattr(lazy, "RENEW", 4)  # all rows are brought up to date now and then
    alone, found, threads = advanced(form), [None] * size, Threads(size)

    def work(rank):
        found[rank] = advanced(form, threads.of(rank))

    started = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for one in started:
        one.start()
    for one in started:
        one.join(60)
    assert found == [alone] * size
    shares = form in ("scir", "scir-natural", "scir-lazy", "sgrld", "gibbs")
    least = 2 * STEPS if shares else 0  # the warm-up of others may be rows
    assert min(threads.moved) == max(threads.moved) >= least


def test_few_rows_are_stepped_by_each_alone():
    state = SAMPLERS["scir"].start(Key(1, 0, 0), TOPICS._replace(shape=(64 * 2 * FEWEST, K)), 1)
    state.peers = Threads(2).of(0)
    words, counts = np.zeros(1, np.int32), np.zeros((1, padded(K)), np.int64)
    state.peers.all._meet.abort()  # nobody else is there
    with pytest.raises(threading.BrokenBarrierError):
        state.step(Key(1, 0, 0), Counts(words, counts, 2.0), 0.01)
    small = SAMPLERS["scir"].start(
        Key(1, 0, 0), TOPICS._replace(shape=(64 * 2 * FEWEST - 64, K)), 1
    )
    small.peers = Threads(2).of(0)
    small.step(Key(1, 0, 0), Counts(words, counts, 2.0), 0.01)
    assert small.peers.all.moved == [0, 0]


def test_a_state_that_begins_with_other_topics_does_so_alone():
    """Red with: the first rank waiting for others, who get its topics afterwards."""
    state = SAMPLERS["scir"].start(Key(1, 0, 0), TOPICS, 1)
    state.peers = Threads(2).of(0)
    state.begin_from(Key(1, 0, 0), np.ones((V, K)))
    assert state.peers is not None
    assert state.peers.all.moved == [0, 0]


def test_a_share_that_is_none_is_refused():
    rows = np.arange(V, dtype=np.int32)
    g = core.zeros(V, padded(K), "float32")
    given = {"g": g, "sums": np.ones(padded(K)), "topics": K, "eta": 0.1, "rows": rows, "h": 0.1}
    given |= {"counts": np.zeros(g.shape, np.int64), "factor": 1.0, "work": core.Workspace()}
    given |= {"seed": 0, "chain": 0, "step": 0, "stream": 0, "threads": 1}
    blocks = -(-V // core.ROW_BLOCK)
    for added, first, last in (
        (np.zeros((blocks, padded(K))), 0, blocks + 1),
        (np.zeros((blocks, padded(K))), -1, 1),
        (np.zeros((blocks, padded(K))), 2, 1),
        (np.zeros((blocks + 1, padded(K))), 0, 1),
    ):
        with pytest.raises(ValueError, match=r"first, last: must be blocks|added has shape"):
            core.simplex_scir(**given, added=added, first=first, last=last)
