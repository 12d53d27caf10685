"""The model of an iteration's cost by ranks, what it advises, and the bench that measures its parts."""

import itertools

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.chain.communicator import Communicator
from pysgrld.chain.rank_cost import BUSY, MOST, Cost
from pysgrld.cli import main
from pysgrld.train.ranks_together import LOOKED_AT, IdleTimeMonitor


@pytest.mark.parametrize("ranks", [2, 3, 16, 1000])
def test_the_model_gives_back_what_it_was_made_of(ranks):
    """Red with: shares of rows that are not (P - 1)/P; latencies counted twice; as many words."""
    cost = Cost.measured(ranks, whole=2.0, shared=0.9, exchange=0.5, latency=1e-5)
    assert cost.seconds(ranks) == pytest.approx(2.0)
    assert cost.exchange(ranks) == pytest.approx(0.5)
    assert cost.share(ranks) == pytest.approx(0.45)
    assert cost.seconds(1) == pytest.approx(ranks * 0.9 + 0.6 * ranks**0.5)


def test_what_a_rank_sends_is_less_with_more_of_them():
    """All but one of the rows are with others, of words of which documents of a rank have fewer."""
    cost = Cost(1.0, 0.0, 0.3)
    assert cost.exchange(1) == 0.0
    assert cost.exchange(4) == pytest.approx(0.3 * 3 / 4 / 2)
    assert cost.exchange(10**6) == pytest.approx(0.3 / 1000, rel=1e-5)
    assert Cost(1.0, 0.0, 0.0, 1.0).exchange(4) == 3 * 2 + 6 * 3


@pytest.mark.parametrize(
    ("cost", "busy"),
    [
        (Cost(1.0, 0.099, 0.0), 102),
        (Cost(1.0, 0.25, 0.0), 16),
        (Cost(1.0, 5.0, 0.0), 1),
        (Cost(0.0, 0.0, 0.0), 1),
        (Cost(1.0, 0.0, 0.0), MOST),
        (Cost(1.0, 0.0, 0.125), 65),
    ],
)
def test_ranks_are_busy_that_sample_for_half_of_their_time(cost, busy):
    """Red with: the first number of ranks that is not busy any more."""
    assert cost.busy() == busy
    shares = [cost.share(n) for n in (1, 2, 3, 10, 100, 1000)]
    assert all(a >= b for a, b in itertools.pairwise(shares))


def test_a_larger_minibatch_keeps_the_ranks_busy():
    cost = Cost(1.0, 0.2, 0.1, 1e-4)
    times = cost.larger(16)
    assert cost._replace(shared=times).share(16) == pytest.approx(BUSY)
    assert cost._replace(shared=0.0).larger(16) == np.inf


class Members(Communicator):
    """A communicator of some members that takes given seconds for each iteration."""

    def __init__(self, size, shared, exchange):
        self.size, self.each, self.looked = size, (shared, exchange), 0

    def metrics(self):
        shared, exchange = (x * self.looked for x in self.each)
        found = {"sampling_seconds": 0.75 * shared, "moving_seconds": 0.25 * shared}
        return {"ranks": self.size, "exchange_seconds": exchange} | found


def said(comm, seconds=1.0, iterations=20, minibatch=400, documents=10**6):
    """The lines of a start, by iteration."""
    waiting, lines = IdleTimeMonitor(comm, minibatch, documents), {}
    for i in range(1, iterations + 1):
        comm.looked = i
        if line := waiting.record_iteration(100.0 if i == 1 else seconds):
            lines[i] = line
    return lines


def test_ranks_that_wait_are_told_so_once():
    """8 ranks do what they share for 0.1 s of 1 s.

    Red with: the first iteration counted; a line after each.
    """
    ((after, line),) = said(Members(8, 0.1, 0.7)).items()
    assert after == 1 + LOOKED_AT
    assert line == (
        "minibatches of 400 documents are too small for 8 ranks, which spend only 10 % of the time on "
        "parallel work; use at most 1 rank, or train a new run with --minibatch 3600 "
        "or more"
    )


def test_nothing_is_said_where_it_does_not_matter():
    assert not said(Members(8, 0.5, 0.3))
    assert not said(Members(2, 0.4, 0.3))  # a little less than half
    assert not said(Members(1, 0.1, 0.0))
    assert not said(Members(8, 0.1, 0.7), iterations=LOOKED_AT)


def test_no_minibatch_is_named_that_is_more_than_the_corpus():
    (line,) = said(Members(8, 0.1, 0.7), documents=3000).values()
    assert line.endswith("use at most 1 rank")


def test_bench_with_one_rank_or_without_mpi_is_refused(monkeypatch):
    done = CliRunner().invoke(main, ["bench", "--minibatch", "100"])
    assert done.exit_code == 2
    assert "require --mpi" in done.stderr
    monkeypatch.setitem(__import__("sys").modules, "mpi4py", None)
    monkeypatch.delitem(__import__("sys").modules, "pysgrld.chain.mpi", raising=False)
    done = CliRunner().invoke(main, ["bench", "--mpi"])
    assert done.exit_code == 64
    assert "pip install mpi4py; if" in done.stderr
