"""The time of an iteration, by the number of processes that share its documents and its topics.

Documents are divided, and so are the rows of topics: each rank owns and moves some rows, and asks
other ranks for the rows of the words in its documents. It asks for fewer rows as the number of
ranks grows. It sends back the counts of these words. Messages have a latency. So with P ranks

    (sampling + moving) / P + (read + (P - 1)/P sent) P^-HEAPS + messages(P) latency.
"""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

#: A rank that samples documents or moves topics for at least this share of its time is called busy.
BUSY = 0.5
#: The number of distinct words in documents grows as the number of documents to this power (Heaps'
#: law).
HEAPS = 0.5
#: Ranks at most that are counted.
MOST = 100_000


class Cost(NamedTuple):
    """The seconds of an iteration in parts that the number of ranks P changes in different ways.

    Attributes
    ----------
    shared : float
        All documents of the minibatch sampled and all topics moved, by one rank.
    read : float
        The topics of all of the minibatch's words read.
    sent : float
        The topics and the counts of all of these words sent.
    latency : float
        A message that has no length.
    """

    shared: float
    read: float
    sent: float
    latency: float = 0.0

    @classmethod
    def measured(
        cls, ranks: int, whole: float, shared: float, exchange: float, latency: float = 0.0
    ) -> Cost:
        """Build the parts from the measurements of one of several ranks.

        Parameters
        ----------
        ranks : int
            At least 2.
        whole, shared, exchange : float
            Seconds of its iteration, and the parts of it with its own documents and its part of the
            topics, and with messages.
        latency : float
            Seconds of a message that has no length.
        """
        sent = max(0.0, exchange - cls.messages(ranks) * latency)
        read = max(0.0, whole - shared - exchange)
        words = cls.words(ranks)
        return cls(ranks * shared, read * words, sent * words * ranks / (ranks - 1), latency)

    @staticmethod
    def messages(ranks: int) -> int:
        """Return the number of messages of an iteration that wait for each other; 0 with one rank."""
        if ranks == 1:
            return 0
        # three reductions, and six messages to each of the others: how many words, which ones, topics,
        # counts, and what rows brought up to date and rows moved add to the sums of topics
        return 3 * math.ceil(math.log2(ranks)) + 6 * (ranks - 1)

    def exchange(self, ranks: int) -> float:
        """Return the seconds of messages and additions with ``ranks`` ranks; 0 with one."""
        sent = (ranks - 1) / ranks * self.sent / self.words(ranks)
        return sent + self.messages(ranks) * self.latency

    @staticmethod
    def words(ranks: int) -> float:
        """Return the ratio of the words in the minibatch to the words in one rank's documents."""
        return float(ranks**HEAPS)

    def seconds(self, ranks: int) -> float:
        """Return the seconds of an iteration with ``ranks`` ranks."""
        return self.shared / ranks + self.read / self.words(ranks) + self.exchange(ranks)

    def share(self, ranks: int) -> float:
        """Return the share of its time that each of ``ranks`` ranks spends on divided work."""
        whole = self.seconds(ranks)
        return self.shared / ranks / whole if whole else 0.0

    def busy(self) -> int:
        """Return the number of ranks, 1 to `MOST`, that are busy for at least `BUSY` of their time."""
        ranks = range(2, MOST + 1)
        return 1 + bisect.bisect_left(ranks, True, key=lambda n: self.share(n) < BUSY)

    def larger(self, ranks: int) -> float:
        """Return the factor by which the minibatch may grow for ``ranks`` ranks, given the same words."""
        waits = self.read / self.words(ranks) + self.exchange(ranks)
        return BUSY / (1.0 - BUSY) * waits * ranks / self.shared if self.shared else math.inf
