"""Training at the request of a command or a program: prepare and lock the run, then train."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.corpus.reading import Listener, ReadingProgress
from pysgrld.errors import Interrupted
from pysgrld.run import RunDirectory, StopFlag, set_latest
from pysgrld.train.events import Reporter
from pysgrld.train.loop import Training
from pysgrld.train.plan import ALL_ALONE
from pysgrld.train.prepare import prepare
from pysgrld.train.ranks_together import agree_on_software, describe_run, follow
from pysgrld.train.request import Request


def train(
    request: Request, reporter: Reporter, watch: StopFlag | None = None, comm: Communicator = ALONE
) -> RunDirectory | None:
    """Train a model on a corpus, or resume an unfinished run that has the same configuration.

    Parameters
    ----------
    request : Request
    reporter : Reporter
    watch : StopFlag, optional
        Flag whose context is already entered; by default one that signals and the time limit set.
    comm : Communicator
        Processes that train the chain together; all call this function.

    Returns
    -------
    RunDirectory or None
        The run, or None on all ranks but the first, which writes it.

    Raises
    ------
    Interrupted
        If a signal or the time limit stopped it, after a checkpoint.
    SgmcError
        For every other error, with its exit code.
    """
    request.choices.check()
    options, ranks = request.choices.start, ALL_ALONE
    if comm is not ALONE:
        request.choices.check_shared()
        ranks = agree_on_software(comm, options.threads, reporter)
    flag = watch or StopFlag(options.time_limit, stop_signal=options.stop_signal)
    entered = contextlib.nullcontext(flag) if watch else flag
    ending = replace_exit_code(options.requeue_exit_code)
    with entered as stop, contextlib.ExitStack() as locks, ending:
        if comm.rank:
            follow(request.threads, stop, comm)
            return None
        prepared = prepare(request, Stoppable(reporter, stop), locks, ranks)
        run = prepared.run
        set_latest(run.path, request.root)
        if prepared.action == "finished":
            comm.broadcast()
            comm.end_all_ranks()
            reporter.finished(run, "already finished; nothing to do")
            return run
        if prepared.once:
            locks.callback(prepared.once.close)
        if comm.size > 1:
            comm.broadcast(describe_run(prepared))
            comm.exchange_requests()  # Wait until all MPI processes have the corpus.
        return Training(prepared, reporter, stop, comm).go()


@contextlib.contextmanager
def replace_exit_code(exit_code: int | None) -> Iterator[None]:
    """Replace the exit code of an early stop, so that the batch system requeues the job.

    Parameters
    ----------
    exit_code : int or None
        The exit code, or None for the usual one.

    Raises
    ------
    Interrupted
        If training is stopped early in the block, with the exit code.
    """
    try:
        yield
    except Interrupted as stopped:
        stopped.exit_code = exit_code or stopped.exit_code
        raise


class Stoppable:
    """Listener that passes all calls to ``listener``, and ends reading if training must stop."""

    def __init__(self, listener: Listener, stop: StopFlag) -> None:
        self.note, self.listener, self.stop = listener.note, listener, stop

    def reading(self, progress: ReadingProgress) -> None:
        """Show the progress of reading; raise an error if training must stop."""
        self.listener.reading(progress)
        if self.stop.should_stop(0.0):
            raise Interrupted(
                f"{self.stop.reason}: stopped while reading the corpus, and nothing was stored; "
                "run the same command again, or build the corpus first with 'sgmc corpus "
                "build', which can be resumed"
            )
