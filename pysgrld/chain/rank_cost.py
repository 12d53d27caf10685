"""The time of an iteration, by the number of processes that share its documents and its topics.

Documents are divided, and so are topics where they are moved; every rank reads them. Counts and moved
topics are exchanged in shares, and each rank sends and receives (P - 1)/P of all of them, twice; messages
have a latency. So with P ranks

    (sampling + moving) / P + own + 2 (P - 1)/P sent + messages(P) latency.
"""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

#: A rank that samples documents or moves topics for at least this share of its time is called busy.
BUSY = 0.5
#: Ranks at most that are counted.
MOST = 100_000


class Cost(NamedTuple):
    """The seconds of an iteration in parts that the number of ranks P changes in different ways.

    Attributes
    ----------
    shared : float
        All documents of the minibatch sampled and all topics moved, by one rank.
    own : float
        What each rank does whatever their number: topics read.
    sent : float
        All counts and moved topics sent once, half of what they are sent in all.
    latency : float
        A message that has no length.
    """

    shared: float
    own: float
    sent: float
    latency: float = 0.0

    @classmethod
    def measured(
        cls, ranks: int, whole: float, shared: float, exchange: float, latency: float = 0.0
    ) -> Cost:
        """Make the parts of what one of several ranks has measured.

        Parameters
        ----------
        ranks : int
            At least 2.
        whole, shared, exchange : float
            Seconds of its iteration, and of it those with its own documents and its part of the topics,
            and with messages.
        latency : float
            Seconds of a message that has no length.
        """
        without_length = cls(0.0, 0.0, 0.0, latency).exchange(ranks)
        sent = max(0.0, exchange - without_length)
        own = max(0.0, whole - shared - exchange)
        return cls(ranks * shared, own, sent * ranks / (2 * (ranks - 1)), latency)

    def exchange(self, ranks: int) -> float:
        """Return the seconds of messages and additions with so many ranks; none with one."""
        if ranks == 1:
            return 0.0
        # two reductions, and six messages to each of the others: counts, there and back; rows brought up
        # to date and rows moved, and what either adds to the sums of topics
        messages = 2 * math.ceil(math.log2(ranks)) + 6 * (ranks - 1)
        return 2 * (ranks - 1) / ranks * self.sent + messages * self.latency

    def seconds(self, ranks: int) -> float:
        """Return the seconds of an iteration with so many ranks."""
        return self.shared / ranks + self.own + self.exchange(ranks)

    def share(self, ranks: int) -> float:
        """Return the share of its time for which each of so many ranks does what they share."""
        whole = self.seconds(ranks)
        return self.shared / ranks / whole if whole else 0.0

    def busy(self) -> int:
        """Return the number of ranks, 1 to `MOST`, that are busy for at least `BUSY` of their time."""
        ranks = range(2, MOST + 1)
        return 1 + bisect.bisect_left(ranks, True, key=lambda n: self.share(n) < BUSY)

    def larger(self, ranks: int) -> float:
        """Return how many times the minibatch keeps so many ranks busy, if its words were the same."""
        waits = self.own + self.exchange(ranks)
        return BUSY / (1.0 - BUSY) * waits * ranks / self.shared if self.shared else math.inf
