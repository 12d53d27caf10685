"""Processes that hold rows of a state each, and move it together with the bits that one process gives."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers import lazy_rows as lazy
from pysgrld.samplers.rows import update_on_all_processes
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Block, Key, Seeds

K, STEPS = 5, 6
#: Words of a vocabulary, whose last unit of rows is short, and of a minibatch.
V, SOME = 4 * core.ROW_UNIT + 70, 500
TOPICS = Block("phi", "simplex", (V, K), 0.05, 0, 500.0)
SEEDS = Seeds(np.array([3, 700], np.int32), np.array([[5.0, 0, 0, 0, 0], [0, 0, 4.0, 0, 0]]))
FORMS = {
    "scir": ("scir", TOPICS),
    "scir-seeds": ("scir", TOPICS._replace(seeds=SEEDS)),
    "scir-natural": ("scir", TOPICS._replace(settings=ScirSettings("natural"))),
    "scir-lazy": ("scir", TOPICS._replace(sparse=True, settings=ScirSettings(lazy="on"))),
    "scir-log": ("scir", TOPICS._replace(prior=0.001)),
    "sgrld": ("sgrld", TOPICS),
    "sgrhmc": ("sgrhmc", TOPICS),
    "gibbs": ("gibbs", TOPICS),
    "ovb": ("ovb", TOPICS),
    "tlasgr": ("tlasgr", TOPICS),
    "smld": ("smld", TOPICS),
}
HELD = ("scir", "scir-seeds", "scir-natural", "scir-lazy", "sgrld", "sgrhmc", "gibbs", "ovb")


class Threads:
    """Peers that are threads of this process."""

    def __init__(self, size):
        self.size, self.moved = size, [0] * size
        self.meet, self.arrays = threading.Barrier(size), [None] * size

    def of(self, rank):
        peer = Peer()
        peer.rank, peer.size, peer.all = rank, self.size, self
        return peer


class Peer:
    """One of them."""

    def owns(self, words):
        return words // core.ROW_UNIT % self.size == self.rank

    def move(self, step):
        self.all.moved[self.rank] += 1
        step()

    def everybodys(self, array):
        self.all.arrays[self.rank] = array.copy()
        self.all.meet.wait(20)
        found = list(self.all.arrays)
        self.all.meet.wait(20)
        return found

    def allgather_rows(self, units):
        for rank, part in enumerate(self.everybodys(units)):
            units[rank :: self.size] = part[rank :: self.size]

    def sum_over_processes(self, counts):
        return sum(self.everybodys(counts))


def advanced(form, peers=None):
    """The arrays of a state after some steps in its warm-up and some after it, and who has their rows."""
    name, block = FORMS[form]
    state = SAMPLERS[name].start(Key(1, 0, 0), block, 1, peers)
    held = state.peers is not None
    mine = state.owned_rows(np.arange(V))
    for t in range(2 * STEPS):
        if t == STEPS:
            state = state.end_warm_up()
            state.peers = peers if held else None
        if held:  # what others hold must not be read
            state.g[np.setdiff1d(np.arange(V), mine)] = np.nan
        rng = np.random.default_rng(t)
        words = np.sort(rng.choice(V, SOME, replace=False)).astype(np.int32)
        counts = np.zeros((SOME, padded_width(K)), np.int64)
        counts[:, :K] = rng.integers(0, 9, (SOME, K))
        here = np.isin(words, mine)
        words, counts = words[here], counts[here]
        state.catch_up(Key(1, 0, t), words)
        state.step(Key(1, 0, t), Counts(words, counts, 2.0, 40.0, 3.0), 0.01)
    own = state.held if held else ()
    return state.arrays(), own, mine


def joined(parts):
    """The bytes of the arrays of all peers, those put together of which each has rows of its own."""
    whole, own, _ = parts[0]
    for arrays, _, mine in parts:
        for name, array in arrays.items():
            if name in own:
                whole[name][mine] = array[mine]
            else:
                assert (array == whole[name]).all()
    return {name: array.tobytes() for name, array in whole.items()}


@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.nightly), 3, 7])
@pytest.mark.parametrize("form", FORMS)
def test_a_state_that_is_moved_together_has_the_bits_of_one_process(form, size, monkeypatch):
    """Seven processes are more than there are units of rows: two hold none.

    Red with: sums in the order of the peers; rows read that others hold.
    """
    monkeypatch.setattr(lazy, "DENSE", 0.0)
    monkeypatch.setattr(lazy, "RENEW", 4)  # all rows are brought up to date now and then
    alone, found, threads = joined([advanced(form)]), [None] * size, Threads(size)

    def work(rank):
        found[rank] = advanced(form, threads.of(rank))

    started = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for one in started:
        one.start()
    for one in started:
        one.join(60)
    assert joined(found) == alone
    least = 2 * STEPS if form in HELD else 0
    assert min(threads.moved) == max(threads.moved) >= least


@pytest.mark.parametrize("size", [2, 3, 7])
def test_what_is_wrong_with_one_process_all_raise(size):
    """Red with: one that raises before it has told the others, who then wait."""
    g, sums, threads, said = np.ones((V, 16), np.float32), np.ones(16), Threads(size), {}

    def kernel(*, rank, **_):
        if rank == 1:
            raise NumericalError("a step is too small")

    def work(rank):
        with pytest.raises(NumericalError) as error:
            update_on_all_processes(threads.of(rank), kernel, anew=True, g=g, sums=sums)
        said[rank] = str(error.value)

    started = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for one in started:
        one.start()
    for one in started:
        one.join(60)
    other = "another process failed to update its part of the topics; see its message"
    assert said == dict.fromkeys(range(size), other) | {1: "a step is too small"}
    assert (sums == 1.0).all()


def test_what_a_process_does_not_hold_takes_no_memory():
    """Red with: zeros that are written to memory."""
    wide = TOPICS._replace(shape=(64 * core.ROW_UNIT, 500))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = resident()
    state = SAMPLERS["scir"].start(Key(1, 0, 0), wide, 1, Alone(0, 8))
    assert resident() - before < state.g.nbytes / 4
    assert state.g.nbytes > 30e6


class Alone(Peer):
    """One of several whose others do not answer."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def move(self, step):
        step()

    def allgather_rows(self, units):
        pass


def test_a_state_begins_with_the_topics_of_another_chain():
    """Red with: rows of others that are begun, or own ones that are not."""
    block = TOPICS._replace(prior=0.5)
    whole = SAMPLERS["scir"].start(Key(1, 0, 0), block, 1)
    part = SAMPLERS["scir"].start(Key(1, 0, 0), block, 1, Alone(1, 2))
    tokens = np.random.default_rng(0).integers(0, 9, (V - 50, K)).astype(float)
    whole.start_from_counts(Key(1, 0, 0), tokens)
    part.start_from_counts(Key(1, 0, 0), tokens)
    mine = part.owned_rows(np.arange(V))
    assert len(mine) == 2 * core.ROW_UNIT
    assert (part.g[mine] == whole.g[mine]).all()
    assert not part.g[np.setdiff1d(np.arange(V), mine)].any()


def test_a_share_that_is_none_is_refused():
    rows = np.arange(V, dtype=np.int32)
    g = core.zeros(V, padded_width(K), "float32")
    given = {
        "g": g,
        "sums": np.ones(padded_width(K)),
        "topics": K,
        "eta": 0.1,
        "rows": rows,
        "h": 0.1,
    }
    given |= {"counts": np.zeros(g.shape, np.int64), "factor": 1.0, "work": core.Workspace()}
    given |= {"seed": 0, "chain": 0, "step": 0, "stream": 0, "threads": 1}
    added = np.zeros((-(-V // core.ROW_UNIT), padded_width(K)))
    for wrong in (
        {"added": added, "rank": 2, "size": 2},
        {"added": added, "rank": -1, "size": 2},
        {"added": np.zeros((7, padded_width(K))), "rank": 0, "size": 2},
        {"totals": np.zeros(3, np.int64)},
    ):
        with pytest.raises(
            ValueError, match=r"rank, size: must be|added has shape|totals has shape"
        ):
            core.simplex_scir(**given, **wrong)
    more = {"lengths": np.ones(V), "packed": False, "purpose": core.Purpose.scir_pass}
    listed = {name: value for name, value in given.items() if name != "h"} | more
    with pytest.raises(ValueError, match="rows: must be those of the process"):
        core.simplex_scir_rows(**listed, added=added, rank=0, size=2)


def test_rows_of_several_processes_are_added_up():
    """Red with: a row left out, or added twice; the first of several found in another place."""
    rng = np.random.default_rng(0)
    own, theirs = rng.integers(0, 9, (4, 16)), rng.integers(0, 9, (5, 16))
    order, begin = np.array([0, 4, 1, 5, 8, 2, 6, 3, 7]), np.array([0, 2, 5, 6, 7, 9])
    given = {"own": own, "theirs": theirs, "order": order, "begin": begin, "threads": 1}
    out = np.full((5, 16), -1)
    core.add_rows(**given, out=out)
    both = np.concatenate([own, theirs])
    wanted = [both[order[a:b]].sum(axis=0) for a, b in itertools.pairwise(begin)]
    assert (out == wanted).all()
    for wrong in (
        {"order": order[:-1]},
        {"order": order + 1},
        {"begin": begin[::-1].copy()},
        {"begin": np.array([0, 2, 2, 6, 7, 9])},
        {"theirs": np.zeros((5, 32), np.int64)},
    ):
        with pytest.raises(ValueError, match=r"order|begin|theirs"):
            core.add_rows(**given | wrong, out=out)
