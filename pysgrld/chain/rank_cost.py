"""Model of the time per iteration as a function of the number of processes (ranks).

Documents and rows of the topic matrix are divided among the ranks. Each rank owns and updates its
rows, and requests from other ranks the rows of the words in its documents; with more ranks, each
rank requests fewer rows. A rank sends back the counts of these words. Messages have a latency. With
P ranks, the time is

    (sampling + moving) / P + (read + (P - 1)/P sent) P^-HEAPS + messages(P) latency.
"""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

#: A rank counts as busy if it spends at least this fraction of its time on sampling documents or on
#: updating topics.
BUSY = 0.5
#: Exponent in Heaps' law: the number of distinct words grows as this power of the number of
#: documents.
HEAPS = 0.5
#: Maximum number of ranks that `Cost.busy` returns.
MOST = 100_000


class Cost(NamedTuple):
    """Seconds of an iteration: for work divided among ranks, for other work, and for messages.

    Attributes
    ----------
    shared : float
        Time for one rank to sample all documents of the minibatch and to move all topics.
    read : float
        Time to read the topics of all words of the minibatch.
    sent : float
        Time to send the topics and the counts of all these words.
    latency : float
        Time of an empty message.
    """

    shared: float
    read: float
    sent: float
    latency: float = 0.0

    @classmethod
    def measured(
        cls, ranks: int, whole: float, shared: float, exchange: float, latency: float = 0.0
    ) -> Cost:
        """Create a `Cost` from the seconds of the parts of an iteration, measured on one rank.

        Parameters
        ----------
        ranks : int
            Number of ranks, at least 2.
        whole, shared, exchange : float
            Seconds of an iteration of this rank; of these, the seconds for its documents and its
            part of the topics, and the seconds for messages.
        latency : float
            Seconds of an empty message.
        """
        sent = max(0.0, exchange - cls.messages(ranks) * latency)
        read = max(0.0, whole - shared - exchange)
        words = cls.words(ranks)
        return cls(ranks * shared, read * words, sent * words * ranks / (ranks - 1), latency)

    @staticmethod
    def messages(ranks: int) -> int:
        """Return the number of messages that follow one another in an iteration; 0 with one rank."""
        if ranks == 1:
            return 0
        # An iteration has three reductions. Each rank also sends six messages to every other rank.
        # Four of them are the number of words, the words, the topics and the counts. The other two
        # are changes of the topics' sums.
        return 3 * math.ceil(math.log2(ranks)) + 6 * (ranks - 1)

    def exchange(self, ranks: int) -> float:
        """Return the seconds that ``ranks`` ranks need for messages and for adding up counts.

        Return 0 for one rank.
        """
        sent = (ranks - 1) / ranks * self.sent / self.words(ranks)
        return sent + self.messages(ranks) * self.latency

    @staticmethod
    def words(ranks: int) -> float:
        """Return the factor by which ``ranks`` minibatches have more distinct words than one."""
        return float(ranks**HEAPS)

    def seconds(self, ranks: int) -> float:
        """Return the seconds of an iteration with ``ranks`` ranks."""
        return self.shared / ranks + self.read / self.words(ranks) + self.exchange(ranks)

    def share(self, ranks: int) -> float:
        """Return the share of an iteration's time that is spent on work divided among ranks."""
        whole = self.seconds(ranks)
        return self.shared / ranks / whole if whole else 0.0

    def busy(self) -> int:
        """Return the greatest number of ranks that mostly work rather than wait (see `BUSY`)."""
        ranks = range(2, MOST + 1)
        return 1 + bisect.bisect_left(ranks, True, key=lambda n: self.share(n) < BUSY)

    def larger(self, ranks: int) -> float:
        """Return the factor by which the minibatch must grow to keep ``ranks`` ranks busy.

        The number of distinct words is assumed to stay the same.
        """
        waits = self.read / self.words(ranks) + self.exchange(ranks)
        return BUSY / (1.0 - BUSY) * waits * ranks / self.shared if self.shared else math.inf
