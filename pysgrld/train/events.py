"""Protocol of callbacks that report the progress of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pysgrld.corpus.reading import Listener
from pysgrld.run import RunDirectory
from pysgrld.run.layout import StopReason


class Ending(NamedTuple):
    """How a start of training ended: the reason, and a line for the user."""

    stop: StopReason
    line: str


class Position(NamedTuple):
    """The current state of a run, for reports of progress.

    Attributes
    ----------
    iteration, iterations : int
        Number of iterations done, and in total (0 if unknown).
    epoch : float
    tokens_per_second, step_size, score : float
        The score is NaN before the first posterior sample.
    train_seconds : float
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


class Reporter(Listener, Protocol):
    """Callbacks that report the progress of training; a method may do nothing."""

    def started(self, run: RunDirectory, line: str) -> None:
        """Report the iteration from which a run starts or resumes."""

    def moved(self, position: Position) -> None:
        """Show the state after an iteration; implementations must be fast."""

    def refining(self, run: RunDirectory, line: str) -> None:
        """Show the trained topics when the Gibbs refinement begins, which `line` describes."""

    def evaluated(self, record: Mapping[str, Any]) -> None:
        """Show a line of ``metrics.jsonl``."""

    def finished(self, run: RunDirectory, line: str) -> None:
        """Report the end of a run."""
