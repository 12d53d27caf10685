"""Several chains at a time: one process for each, all told of from one place.

The parent reads the corpus, stores it once and finds the folder; every chain is a run of its own in
it, started as `train` starts any. A chain that fails does not end the others. What asks
the parent to stop asks all chains, by a pipe: its other end also tells them when the parent has died,
and then they stop in order too.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from pysgrld.corpus.listener import Listener
from pysgrld.errors import Interrupted, MemoryLimitError, MismatchError, SgmcError, UsageError
from pysgrld.run import (
    Candidate,
    RunDirectory,
    StopFlag,
    chain_path,
    chains_of,
    process_start,
    set_latest,
)
from pysgrld.run.files import make_folder
from pysgrld.run.identity import identities, mismatch, older_than
from pysgrld.run.signals import STOP_SIGNALS
from pysgrld.settings.options import FREE
from pysgrld.train.plan import planned
from pysgrld.train.prepare import move_corpus
from pysgrld.train.request import Request
from pysgrld.train.start import Stoppable, ending_with
from pysgrld.train.worker import Task, in_process

#: Seconds between two looks at whether to stop.
LOOK = 0.1
#: Seconds that chains get to end after a second Ctrl-C, before they are killed.
PATIENCE = 1.0
#: Seconds without a sign of life after which a chain that was asked to stop is killed.
GRACE = 10.0


class Teller(Listener, Protocol):
    """Whoever tells a person of several chains."""

    def of_chain(self, number: int, event: str, *values: Any) -> None:
        """Say an event of a chain: one of `pysgrld.train.telling.Reporter`, or "failed" and why."""

    def all_done(self, folder: Path, number: int) -> None:
        """Say that all chains are done."""


class ChainError(SgmcError):
    """Some chains failed; the exit code is that of the first of them."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


@dataclass
class _Chain:
    """A chain's process, and what it ended with: exit code, and why if it was stopped.

    ``silent`` are the seconds for which a process that was asked to stop has done nothing, and
    ``life`` is what the system said of it when that was last looked at.
    """

    number: int
    process: Any
    events: Connection
    orders: Connection
    code: int | None = None
    stopped: str | None = None
    silent: float = 0.0
    life: str | None = None


def train_chains(
    request: Request,
    number: int,
    teller: Teller,
    explain: Callable[[BaseException], tuple[int, str]],
) -> Path:
    """Train independent chains of one model at the same time; continue those that are not done.

    Parameters
    ----------
    request : Request
        Threads and memory in it are those of all chains together.
    number : int
        Chains wanted.
    teller : Teller
    explain : callable
        Exit code of an error, and the line that says it; of a module, for other processes.

    Returns
    -------
    Path
        The folder of the chains.

    Raises
    ------
    Interrupted
        If some were stopped early, each after a checkpoint.
    ChainError
        If some failed, when the others have ended.
    SgmcError
        For everything that is wrong before the chains begin.
    """
    request.check()
    given, inputs = request.given, request.inputs
    if "chain-id" in given:
        raise UsageError("--chains numbers the chains itself: leave --chain-id out")
    if any(path == "-" or Path(path).is_fifo() for path in inputs):
        raise UsageError(
            "--chains reads the corpus more than once, which standard input and pipes do not allow: "
            "store it first, with 'sgmc corpus build CORPUS -o DIR', and train on DIR"
        )
    started = process_start()
    each = request._replace(
        inputs=tuple(inputs), given={**given, "threads": max(1, request.threads // number)}
    )
    watch = StopFlag(given.get("time-limit"), stop_signal=given.get("stop-signal"), start=started)
    with watch as stop, ending_with(given):
        folder, corpus = _folder(each, number, Stoppable(teller, stop))
        tasks = [
            Task(_request_of(each, i, folder, corpus), started, explain)
            for i in range(1, number + 1)
        ]
        chains = _run(tasks, given, teller, stop)
    _conclude(chains, folder, given)
    teller.all_done(folder, number)
    return folder


def _request_of(each: Request, number: int, folder: Path, corpus: Path | None) -> Request:
    """Give the request of one chain's process."""
    own = {"chain-id": number, "out": str(chain_path(folder, number)), "resume": "auto"}
    return each._replace(given={**each.given, **own}, corpus=corpus)


# ---- where they go


def _folder(request: Request, number: int, listener: Listener) -> tuple[Path, Path | None]:
    """Read the corpus, and find or make the folder; where the corpus is stored, if in it."""
    with planned(request, listener, number) as plan:
        if plan.once:
            plan.once.close()
        folder = choose_folder(plan.candidate, plan.config, number, free=FREE, typed=request.given)
        make_folder(folder, "chains")
        stored = None
        if plan.once is None:
            path = move_corpus(plan, folder).path
            stored = path if str(path) not in request.inputs else None
    set_latest(folder, request.root)
    return folder, stored


def choose_folder(
    candidate: Candidate,
    config: Mapping[str, Any],
    number: int,
    *,
    free: Iterable[str],
    typed: Container[str] = (),
) -> Path:
    """Choose where chains go: a folder of the same configuration where some is left to do, or anew.

    Parameters
    ----------
    candidate : Candidate
        Of `find_run`, with folders of chains.
    config : mapping
        As ``config.json`` of one of the chains would hold it.
    number : int
        Chains wanted.
    free : iterable of str
        Options that may differ.
    typed : container of str
        Options that a person has given now.

    Raises
    ------
    MismatchError
        If the folder that was named holds a chain of another configuration or corpus.
    """
    for folder in candidate.runs:
        runs = [RunDirectory.open(path) for path in chains_of(folder)]
        fields = []
        for run in runs:
            older = older_than(run.config, config, typed)
            fields.append((run.path, *identities(run.config, config, {*free, "chain-id"}, older)))
        other = next(((path, had, new) for path, had, new in fields if had != new), None)
        if other is not None and candidate.named:
            path, had, new = other
            summary = (
                f"{path}: is a chain of another configuration or corpus; train anew in another "
                "folder (--out, no --resume), or give the same options:"
            )
            raise MismatchError(mismatch(summary, had, new))
        asked = {chain_path(folder, i) for i in range(1, number + 1)}
        done = {run.path for run in runs if run.status.get("state") == "finished"}
        if other is None and (candidate.named or not asked <= done):
            return folder
    return candidate.path


# ---- the parent's side


def _run(
    tasks: Sequence[Task], given: Mapping[str, Any], teller: Teller, stop: StopFlag
) -> list[_Chain]:
    """Start a process for each task, and wait until all have ended."""
    stop.take_checkpoint_request()  # a time limit asks for one: the chains have their own
    chains: list[_Chain] = []
    asked, looked = False, time.monotonic()
    try:
        with _signals_held(given):  # a chain is to know what to do with them
            for number, task in enumerate(tasks, 1):
                chains.append(_start(number, task))
        while running := {chain.events: chain for chain in chains if chain.code is None}:
            for ready in wait(list(running), timeout=LOOK):
                chain = next(c for events, c in running.items() if events is ready)
                _hear(chain, teller, stop)
            # Chains keep the time limit themselves, unless they are suspended.
            if stop.should_stop(0.0) and not asked:
                asked = True
                _tell(chains, lambda chain: chain.orders.send(stop.reason))
            seconds, looked = time.monotonic() - looked, time.monotonic()
            if asked:
                _urge(chains, min(seconds, 1.0))  # this process may have been suspended, too
            if stop.take_checkpoint_request():
                _tell(chains, lambda chain: os.kill(chain.process.pid, signal.SIGUSR2))
    except BaseException:  # a second Ctrl-C, or a bug: nobody is left behind
        _end(chains)
        raise
    return chains


def _start(number: int, task: Task) -> _Chain:
    """Spawn a process; it is no fork, which may hang in the presence of OpenMP's threads."""
    context = mp.get_context("spawn")
    events, told = context.Pipe(duplex=False)
    obeys, orders = context.Pipe(duplex=False)
    process = context.Process(target=in_process, args=(task, told, obeys), name=f"chain-{number}")
    process.start()
    told.close()  # the other ends are the child's alone: each side sees when the other is gone
    obeys.close()
    return _Chain(number, process, events, orders)


def _hear(chain: _Chain, teller: Teller, stop: StopFlag) -> None:
    """Pass on the events of a chain; at its end, find out how it ended."""
    try:
        event, values = chain.events.recv()
    except (EOFError, OSError):
        _ended_without_a_word(chain, teller, stop)
        return
    if event == "ended":
        chain.code, chain.stopped, text = values
        chain.process.join()
        chain.events.close()
        if chain.code and not chain.stopped:
            teller.of_chain(chain.number, "failed", text)
    else:
        teller.of_chain(chain.number, event, *values)


def _ended_without_a_word(chain: _Chain, teller: Teller, stop: StopFlag) -> None:
    """Say what ended a process that has not said it."""
    chain.process.join()
    chain.events.close()
    code: int = chain.process.exitcode
    chain.code = SgmcError.exit_code
    if code >= 0:
        chain.code = code or chain.code  # it would have said that all is well
        why = f"its process ended with exit code {code}"
    elif chain.silent >= GRACE:
        why = f"did nothing for {GRACE:g} seconds when asked to stop, and was killed"
    elif stop.reason and -code in STOP_SIGNALS:  # after its last word: it was leaving
        chain.code, chain.stopped = Interrupted.exit_code, stop.reason
        return
    elif code == -signal.SIGKILL:
        chain.code = MemoryLimitError.exit_code
        why = "was killed by SIGKILL, for want of memory as a rule"
    else:
        names = (number.name for number in signal.Signals if number == -code)
        why = f"was ended by {next(names, f'signal {-code}')}"
    teller.of_chain(chain.number, "failed", why)


def _urge(chains: Iterable[_Chain], seconds: float) -> None:
    """Wake chains that were asked to stop, and kill those that show no sign of life.

    Whoever works, or waits for a disk, is given all the time that it takes to write a checkpoint.
    """
    for chain in chains:
        if chain.code is not None:
            continue
        life = _life(chain.process.pid)
        alive = life != chain.life or life.startswith("D")
        chain.life, chain.silent = life, 0.0 if alive else chain.silent + seconds
        if chain.silent >= GRACE:
            chain.process.kill()
        else:
            with contextlib.suppress(OSError):
                os.kill(chain.process.pid, signal.SIGCONT)  # it may have been suspended


def _life(pid: int) -> str:
    """Give the state of a process and the time that it has computed, where the system tells them."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return " ".join([fields[0], *fields[11:13]])


def _tell(chains: Iterable[_Chain], what: Callable[[_Chain], None]) -> None:
    for chain in chains:
        if chain.code is None:
            with contextlib.suppress(OSError):  # it has just ended
                what(chain)


def _end(chains: Sequence[_Chain]) -> None:
    """End all processes at once, as a second Ctrl-C would each of them."""
    for _ in range(2):
        _tell(chains, lambda chain: os.kill(chain.process.pid, signal.SIGINT))
    deadline = time.monotonic() + PATIENCE
    for chain in chains:
        chain.process.join(max(0.0, deadline - time.monotonic()))
        if chain.process.is_alive():
            chain.process.kill()
            chain.process.join()


def _conclude(chains: Sequence[_Chain], folder: Path, given: Mapping[str, Any]) -> None:
    """Raise the error that the ends of all chains add up to, if any."""
    stopped = [chain for chain in chains if chain.stopped]
    failed = [chain for chain in chains if chain.code and not chain.stopped]
    if stopped:
        others = f"; {_named(failed)} failed, see above" if failed else ""
        with ending_with(given):
            raise Interrupted(
                f"{stopped[0].stopped}: {_named(stopped)} stopped, a checkpoint of each written to "
                f"{folder}{others}; run the same command again to continue"
            )
    if failed:
        first = failed[0]
        raise ChainError(
            f"{folder}: {_named(failed)} failed, {len(chains) - len(failed)} of {len(chains)} are "
            "done; see above, and run the same command again to continue",
            first.code or SgmcError.exit_code,
        )


def _named(chains: Sequence[_Chain]) -> str:
    numbers = ", ".join(str(chain.number) for chain in chains)
    return f"chain{'s' if len(chains) > 1 else ''} {numbers}"


@contextlib.contextmanager
def _signals_held(given: Mapping[str, Any]) -> Iterator[None]:
    """Hold signals back while processes are started, which begin with them held back too."""
    held = {*STOP_SIGNALS, signal.SIGUSR2, signal.SIGHUP}
    if name := given.get("stop-signal"):
        held.add(signal.Signals[f"SIG{name}"])
    resource_tracker.ensure_running()  # starting it would let them through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
