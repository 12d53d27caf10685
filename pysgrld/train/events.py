"""Protocol of the callbacks by which training reports its progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pysgrld.corpus.reading import Listener
from pysgrld.run import RunDirectory
from pysgrld.run.layout import StopReason


class Ending(NamedTuple):
    """Reason why a process of training ended, and a line about it for the user."""

    stop: StopReason
    line: str


class Position(NamedTuple):
    """Current state of a run, for reports of its progress.

    Attributes
    ----------
    iteration, iterations : int
        Number of iterations done, and in total (0 if unknown).
    epoch : float
    tokens_per_second, step_size, score : float
        The score is NaN before the first posterior sample.
    train_seconds : float
        Estimate for all iterations done, if another process did some of them.
    kind : str
        Name of the score (`pysgrld.models.table.scores`).
    unit : str
        Unit of `iteration` and `iterations`: ``iteration``, ``Gibbs sweep`` or ``replicate``.
    """

    iteration: int
    iterations: int
    epoch: float
    tokens_per_second: float
    step_size: float
    score: float
    train_seconds: float
    kind: str
    unit: str = "iteration"


def seconds_from_start(seconds: float, first: int, done: int) -> float:
    """Estimate the seconds of all iterations of a run, from the iterations of this process.

    Parameters
    ----------
    seconds : float
        Seconds of this process for its iterations.
    first, done : int
        Iterations that were done before this process, and until now.
    """
    return seconds * done / (done - first) if done > first else seconds


class Reporter(Listener, Protocol):
    """Callbacks by which training reports its progress; a method may do nothing."""

    def started(self, run: RunDirectory, line: str) -> None:
        """Report that a run starts or resumes, and from which iteration."""

    def moved(self, position: Position) -> None:
        """Report the state after an iteration; the method must be fast."""

    def refining(self, run: RunDirectory, line: str) -> None:
        """Report that Gibbs refinement begins; `line` describes the refinement."""

    def evaluated(self, record: Mapping[str, Any]) -> None:
        """Report an evaluation, given as a record (line) of ``metrics.jsonl``."""

    def finished(self, run: RunDirectory, line: str) -> None:
        """Report the end of a run."""
