"""Training as a command or a program asks for it: prepare, hold the run, go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pysgrld.corpus import Progress
from pysgrld.errors import Interrupted
from pysgrld.options import check_usage
from pysgrld.prepare import prepare
from pysgrld.reporter import Listener, Reporter
from pysgrld.run import RunDirectory, StopFlag, set_latest
from pysgrld.training import Training


def train(
    inputs: Sequence[str],
    given: Mapping[str, Any],
    reporter: Reporter,
    root: Path = Path("sgmc-runs"),
    *,
    break_lock: bool = False,
    corpus: Path | None = None,
    watch: StopFlag | None = None,
) -> RunDirectory:
    """Train a model on a corpus; continue where an earlier start of the same run left off.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders that make up the corpus.
    given : mapping
        Options that were given, parsed (`pysgrld.options.OPTIONS`).
    reporter : Reporter
    root : Path
        Folder of runs that have no ``out``.
    break_lock : bool
        Take over a run that a process of another host has left locked.
    corpus : Path, optional
        Where somebody has stored the inputs already.
    watch : StopFlag, optional
        Says when to stop, and is entered already; by default signals and the time limit do.

    Returns
    -------
    RunDirectory

    Raises
    ------
    Interrupted
        If a signal or the time limit ended it, after a checkpoint.
    SgmcError
        For everything else that is wrong, with its exit code.
    """
    check_usage(given)
    limit = given.get("time-limit")
    own = watch or StopFlag(limit, stop_signal=given.get("stop-signal"))
    entered = contextlib.nullcontext(own) if watch else own
    with entered as stop, contextlib.ExitStack() as locks, ending_with(given):
        stoppable = Stoppable(reporter, stop)
        prepared = prepare(
            inputs, given, root, stoppable, locks, break_lock=break_lock, corpus=corpus
        )
        run = prepared.run
        set_latest(run.path, root)
        if prepared.action == "finished":
            reporter.finished(run, "finished already: nothing to do")
            return run
        if prepared.once:
            locks.callback(prepared.once.close)
        return Training(prepared, given, reporter, stop).go()


@contextlib.contextmanager
def ending_with(given: Mapping[str, Any]) -> Iterator[None]:
    """End an early stop with the exit code that this batch system requeues on."""
    try:
        yield
    except Interrupted as stopped:
        stopped.exit_code = given.get("requeue-exit-code", stopped.exit_code)
        raise


class Stoppable:
    """Passes on what is said while a corpus is read, and ends the reading when asked to stop."""

    def __init__(self, listener: Listener, stop: StopFlag) -> None:
        self.note, self.listener, self.stop = listener.note, listener, stop

    def reading(self, progress: Progress) -> None:
        """Show how far the reading of a corpus is, unless it is to stop."""
        self.listener.reading(progress)
        if self.stop.should_stop(0.0):
            raise Interrupted(
                f"{self.stop.reason}: stopped while the corpus was read, nothing is kept of it; run "
                "the same command again, or build the corpus first: 'sgmc corpus build' goes on "
                "where it was stopped"
            )
