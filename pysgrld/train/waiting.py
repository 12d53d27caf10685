"""Ranks that wait: whether the minibatch of a run keeps all of its communicator busy."""

from __future__ import annotations

from pysgrld.chain.ranks.cost import Cost
from pysgrld.chain.ranks.protocol import Communicator
from pysgrld.errors import plural

#: Iterations of a start that are looked at, after the first one, which is slower than the others.
LOOKED_AT = 5
#: Share of the time in sampling up to which a line says so: below a half, so that it is rare.
WASTED = 1 / 3


class Waiting:
    """Looks at the first iterations of a start, and says once if fewer ranks would do.

    Parameters
    ----------
    comm : Communicator
    minibatch, documents : int
        Documents of an iteration, and of the corpus.
    """

    def __init__(self, comm: Communicator, minibatch: int, documents: int) -> None:
        self._team, self._minibatch, self._documents = comm, minibatch, documents
        self._seen, self._seconds = 0, 0.0
        self._before: dict[str, float] = {}

    def saw(self, seconds: float) -> str | None:
        """Count an iteration; give the line after the last that is looked at, if ranks wait.

        Parameters
        ----------
        seconds : float
            Its time, without what the reading of its documents was waited for.
        """
        if self._team.size == 1 or self._seen > LOOKED_AT:
            return None
        self._seen += 1
        if self._seen == 1:
            self._before = self._team.figures()
            return None
        self._seconds += seconds
        return self._line() if self._seen > LOOKED_AT else None

    def _line(self) -> str | None:
        now, before, ranks = self._team.figures(), self._before, self._team.size
        parts = (now[name] - before[name] for name in ("sampling_seconds", "exchange_seconds"))
        cost = Cost.measured(ranks, self._seconds, *parts)
        if cost.share(ranks) > WASTED:
            return None
        share = 100 * cost.share(ranks)
        line = (
            f"a minibatch of {plural(self._minibatch, 'document')} keeps about "
            f"{plural(cost.busy(), 'rank')} busy; more wait: with {ranks}, {share:.0f} % of the time is "
            "sampling; give fewer ranks"
        )
        wanted = cost.larger(ranks) * self._minibatch
        if wanted < self._documents:
            line += f", or a new run --minibatch {float(f'{wanted:.2g}'):.0f} or more"
        return line
