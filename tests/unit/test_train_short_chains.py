"""Short chains that are stored, and a time that they may take."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.estimators import topic_model
from pysgrld.run.signals import StopFlag
from pysgrld.train.due import Every
from pysgrld.train.short_chains import ChainStore, ShortChain, Stopped, clusters_of_topics


class Memory(ChainStore):
    """A store in memory."""

    def __init__(self):
        self.chains, self.numbers = {}, None

    def read(self):
        return dict(self.chains)

    def write(self, number, iteration, arrays):
        copies = {name: np.array(array) for name, array in arrays.items()}
        self.chains[number] = (iteration, copies)

    def chosen(self):
        return self.numbers

    def choose(self, numbers):
        self.numbers = list(numbers)


class ArgumentsError(Exception):
    """Carries the arguments of a call."""


@pytest.fixture
def arguments(monkeypatch):
    """Stream, options, facts of the corpus, and threads, of eight short chains of LDA."""

    def caught(*given):
        raise ArgumentsError(given)

    monkeypatch.setattr(topic_model, "clusters_of_topics", caught)
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(6, 0.2), 300)
    counts = np.stack(
        [rng.multinomial(40, row) for row in theta @ rng.dirichlet(np.full(60, 0.1), 6)]
    )
    with pytest.raises(ArgumentsError) as raised:
        LDA(6, max_iter=80, holdout=0, exact_sweeps=0, starts=8, random_state=5).fit(counts)
    return raised.value.args[0]


def counted(monkeypatch):
    """Return a list to which the number of each chain that is trained is added."""
    trained, train = [], ShortChain.train

    def watched(self, stored, seconds_left):
        trained.append(self.number)
        return train(self, stored, seconds_left)

    monkeypatch.setattr(ShortChain, "train", watched)
    return trained


def test_a_stop_at_any_iteration_and_in_the_clustering_changes_no_bit(arguments, monkeypatch):
    """Red with: a chain that is stored without its sums; topics of other chains after a stop."""
    stream, options, corpus, run_on = arguments
    whole = clusters_of_topics(*arguments)
    trained = counted(monkeypatch)
    store, calls = Memory(), 0

    def stopping():
        nonlocal calls
        calls += 1
        if calls % 67 == 0:
            raise Stopped

    starts = 0
    while True:
        starts += 1
        try:
            found = clusters_of_topics(
                stream, options, corpus, run_on._replace(waiting=stopping), store
            )
        except Stopped:
            continue
        break
    assert starts > 5
    assert len(trained) < 8 + starts  # each continues the chain that the one before was in
    np.testing.assert_array_equal(found.topics, whole.topics)


def test_time_ends_short_chains_early_and_later_starts_use_the_same_ones(arguments, monkeypatch):
    """Red with: numbers that are not stored; chains of a later start added to them."""
    store, seconds = Memory(), iter([1e6] * 3 + [-1.0] * 10_000)
    found = clusters_of_topics(*arguments, store, lambda: next(seconds))
    used = store.numbers
    assert 1 < len(used) < 8
    trained = counted(monkeypatch)
    del store.chains[used[0]]  # damaged, perhaps
    again = clusters_of_topics(*arguments, store, lambda: math.inf)
    assert trained == [used[0]]
    np.testing.assert_array_equal(found.topics, again.topics)
    stream, options, *others = arguments
    fewer = clusters_of_topics(stream, replace(options, starts=len(used)), *others)
    np.testing.assert_array_equal(fewer.topics, found.topics)


def test_without_time_for_one_chain_training_begins_at_random(arguments):
    """Red with: a first chain that takes as long as it takes."""
    store = Memory()
    assert clusters_of_topics(*arguments, store, lambda: -1.0) is None
    assert store.numbers == []
    assert clusters_of_topics(*arguments, store) is None


def test_a_tenth_of_a_time_limit_is_counted_from_the_start_of_the_process():
    assert StopFlag(None).share(0.1) == math.inf
    assert StopFlag(45.0, start=100.0, clock=lambda: 130.0).share(0.1) == pytest.approx(4.5)


def test_checkpoints_come_soon_at_first_and_then_ever_more_rarely():
    """Red with: the first one after the whole interval."""
    every, moments = Every("15m", 0, 0.0, first=0.25), []
    for step in range(1, 100_000):
        if every.due(step, step / 10):
            every.done(step, step / 10)
            moments.append(step / 10)
    assert moments[:4] == pytest.approx([0.25, 0.75, 1.75, 3.75], abs=0.3)
    assert max(np.diff(moments)) == pytest.approx(900.0)
    assert not Every("15m", 0, 0.0).due(10_000, 899.0)
