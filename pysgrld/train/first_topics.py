"""Initial topics of a run, from short chains that are stored in the run and have a time limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pysgrld.corpus.minibatches import Minibatches
from pysgrld.errors import GoneError, WriteError, plural
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.short_chain_number import short_chain_iterations
from pysgrld.options.option import Resolved
from pysgrld.run import RunDirectory, StopFlag
from pysgrld.train.short_chains import (
    PART_OF_LIMIT,
    ChainStore,
    FirstTopics,
    clusters_of_topics,
    time_until,
)
from pysgrld.types import Array


class RunStore(ChainStore):
    """Storage of short chains in the folder of a run, until the run's first checkpoint.

    Parameters
    ----------
    run : RunDirectory
        A locked run.
    note : callable (str)
        Called once, with a line for the user, if a chain cannot be stored: a later start then
        trains the chain again.
    """

    def __init__(self, run: RunDirectory, note: Callable[[str], None]) -> None:
        self.parts, self.note, self._failed = run.short_chains, note, False

    def read(self) -> Mapping[int, tuple[int, Mapping[str, Array]]]:
        """Return the iteration and the arrays of each stored chain, by chain number."""
        return self.parts.read()

    def write(self, number: int, iteration: int, arrays: Mapping[str, Array]) -> None:
        """Store the state of a chain after the given iteration."""
        try:
            self.parts.write(number, iteration, arrays)
        except GoneError:
            raise
        except WriteError as error:
            if not self._failed:
                self.note(f"{error}; training continues without storing its short chains")
            self._failed = True

    def chosen(self) -> Sequence[int] | None:
        """Return the numbers of the chains that the run uses, or None if not chosen yet."""
        return self.parts.chosen()

    def choose(self, numbers: Sequence[int]) -> None:
        """Store the numbers of the chains that the run uses.

        Raises
        ------
        WriteError
            If the numbers cannot be stored: a later start might then use other chains.
        """
        self.parts.choose(numbers)


def first_topics(
    run: RunDirectory,
    stream: Minibatches,
    options: Resolved,
    corpus: CorpusFacts,
    run_on: RunOn,
    stop: StopFlag | None,
    note: Callable[[str], None],
) -> FirstTopics | None:
    """Train the missing short chains of a run, and cluster the topics of all its short chains.

    Parameters
    ----------
    run : RunDirectory
        A locked run.
    stream, options, corpus, run_on
        As for `clusters_of_topics`.
    stop : StopFlag or None
        Flag with the time limit; short chains get a tenth of it. None to train all chains however
        long they take.
    note : callable (str)
        Called with a line for the user when training of the chains begins.

    Raises
    ------
    Stopped
        If training must stop; the chains are stored before.
    """
    starts, ranks, store = options.starts or 1, run_on.comm.size, RunStore(run, note)
    iterations = plural(short_chain_iterations(options.warm_up), "iteration")
    on = f" on {ranks} ranks" if ranks > 1 else ""
    note(f"first topics from {starts} short chains of {iterations}{on}")
    limit = math.inf if stop is None else stop.share(PART_OF_LIMIT)
    was_chosen = store.chosen()
    topics = clusters_of_topics(stream, options, corpus, run_on, store, time_until(limit))
    used = store.chosen()
    if used is not None:
        run.log_event("short-chains", used=len(used), planned=starts)
    if used is not None and was_chosen is None:
        begins = (
            f"training begins with {len(used)} of {starts} short chains"
            if used
            else "training begins with random topics"
        )
        note(
            f"short chains have used {100 * PART_OF_LIMIT:.0f} % of the time limit, so {begins}; "
            f"--set starts={max(1, len(used))} gives the same first topics on any machine"
        )
    return topics
