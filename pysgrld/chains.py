"""Several chains at a time: one process for each, all told of from one place.

The parent reads the corpus, stores it once and finds the folder; every chain is a run of its own in
it, started as `pysgrld.train.train` starts any. A chain that fails does not end the others. What asks
the parent to stop asks all chains, by a pipe: its other end also tells them when the parent has died,
and then they stop in order too.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from pysgrld.chain_process import Task, in_process
from pysgrld.errors import Interrupted, MemoryLimitError, MismatchError, SgmcError, UsageError
from pysgrld.options import FREE, check_usage
from pysgrld.plan import name_of, plan
from pysgrld.prepare import beside, settle_corpus
from pysgrld.reporter import Listener
from pysgrld.resources import threads
from pysgrld.run import (
    Candidate,
    RunDirectory,
    StopFlag,
    chain_path,
    chains_of,
    find_run,
    process_start,
    set_latest,
)
from pysgrld.run.files import make_folder
from pysgrld.run.identity import identity, mismatch
from pysgrld.run.signals import STOP_SIGNALS
from pysgrld.train import Stoppable, ending_with

#: Seconds between two looks at whether to stop.
LOOK = 0.1
#: Seconds that chains get to end after a second Ctrl-C, before they are killed.
PATIENCE = 1.0


class Teller(Listener, Protocol):
    """Whoever tells a person of several chains."""

    def of_chain(self, number: int, event: str, *values: Any) -> None:
        """Say what a chain says: an event of `pysgrld.reporter.Reporter`, or "failed" and why."""

    def all_done(self, folder: Path, number: int) -> None:
        """Say that all chains are done."""


class ChainError(SgmcError):
    """Some chains failed; the exit code is that of the first of them."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


@dataclass
class _Chain:
    """A chain's process, and what it ended with: exit code, and why if it was stopped."""

    number: int
    process: Any
    events: Connection
    orders: Connection
    code: int | None = None
    stopped: str | None = None


def train_chains(
    inputs: Sequence[str],
    given: Mapping[str, Any],
    number: int,
    teller: Teller,
    explain: Callable[[BaseException], tuple[int, str]],
    root: Path = Path("sgmc-runs"),
    *,
    break_lock: bool = False,
) -> Path:
    """Train independent chains of one model at the same time; continue those that are not done.

    Parameters
    ----------
    inputs : sequence of str
        Files or folders that make up the corpus.
    given : mapping
        Options that were given, parsed (`pysgrld.options.OPTIONS`); threads and memory are those of
        all chains together.
    number : int
        Of chains.
    teller : Teller
    explain : callable
        Exit code of an error, and the line that says it; of a module, for other processes.
    root : Path
        Folder of runs that have no ``out``.
    break_lock : bool
        Take over what a process of another host has left locked.

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
    check_usage(given)
    if "chain-id" in given:
        raise UsageError("--chains numbers the chains itself: leave --chain-id out")
    if any(path == "-" or Path(path).is_fifo() for path in inputs):
        raise UsageError(
            "--chains reads the corpus more than once, which standard input and pipes do not allow: "
            "store it first, with 'sgmc corpus build CORPUS -o DIR', and train on DIR"
        )
    started = process_start()
    each = max(1, threads(given.get("threads")).number // number)
    watch = StopFlag(given.get("time-limit"), stop_signal=given.get("stop-signal"), start=started)
    with watch as stop, ending_with(given):
        folder, corpus = _folder(inputs, given, number, each, Stoppable(teller, stop), root)
        tasks = [
            Task(
                tuple(inputs),
                dict(given) | {"chain-id": i, "out": str(chain_path(folder, i)),
                               "resume": "auto", "threads": each},
                corpus, started, break_lock, explain,
            )
            for i in range(1, number + 1)
        ]  # fmt: skip
        chains = _run(tasks, given, teller, stop)
    _conclude(chains, folder, given)
    teller.all_done(folder, number)
    return folder


# ---- where they go


def _folder(
    inputs: Sequence[str], given: Mapping[str, Any], number: int, each: int, listener: Listener,
    root: Path,
) -> tuple[Path, Path | None]:  # fmt: skip
    """Read the corpus, and find or make the folder; where the corpus is stored, if in it."""
    out = given.get("out")
    candidate = find_run(
        out=Path(out) if out else None, root=root, name=name_of(inputs, given),
        resume=given.get("resume", "auto"), chains=True,
    )  # fmt: skip
    places = [folder / "corpus" for folder in candidate.runs]
    with contextlib.ExitStack() as held, beside(candidate.path, held) as scratch:
        p = plan(inputs, given, places, scratch, each, listener, number)
        if p.once:
            p.once.close()
        folder = choose_folder(candidate, p.config, number, free=FREE)
        make_folder(folder, "chains")
        stored = None
        if p.once is None:
            path = settle_corpus(p.corpus, folder, scratch).path
            stored = path if str(path) not in inputs else None
    set_latest(folder, root)
    return folder, stored


def choose_folder(
    candidate: Candidate, config: Mapping[str, Any], number: int, *, free: Iterable[str]
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

    Raises
    ------
    MismatchError
        If the folder that was named holds a chain of another configuration or corpus.
    """
    wanted = _fields(config, free)
    for folder in candidate.runs:
        runs = [RunDirectory.open(path) for path in chains_of(folder)]
        other = next((run for run in runs if _fields(run.config, free) != wanted), None)
        if other is not None and candidate.named:
            summary = (
                f"{other.path}: is a chain of another configuration or corpus; name another folder "
                "with --out, or give the same options:"
            )
            raise MismatchError(mismatch(summary, _fields(other.config, free), wanted))
        asked = {chain_path(folder, i) for i in range(1, number + 1)}
        done = {run.path for run in runs if run.status.get("state") == "finished"}
        if other is None and (candidate.named or not asked <= done):
            return folder
    return candidate.path


def _fields(config: Mapping[str, Any], free: Iterable[str]) -> dict[str, Any]:
    """What chains of one folder must have in common."""
    fields = identity(config, free).fields
    return {name: value for name, value in fields.items() if name != "--chain-id"}


# ---- the parent's side


def _run(
    tasks: Sequence[Task], given: Mapping[str, Any], teller: Teller, stop: StopFlag
) -> list[_Chain]:
    """Start a process for each task, and wait until all have ended."""
    stop.take_checkpoint_request()  # a time limit asks for one: the chains have their own
    chains: list[_Chain] = []
    asked = False
    try:
        with _signals_held(given):  # a chain is to know what to do with them
            for number, task in enumerate(tasks, 1):
                chains.append(_start(number, task))
        while running := {chain.events: chain for chain in chains if chain.code is None}:
            for ready in wait(list(running), timeout=LOOK):
                chain = next(c for events, c in running.items() if events is ready)
                _hear(chain, teller, stop)
            if stop.reason and not asked:
                asked = True
                _tell(chains, lambda chain: chain.orders.send(stop.reason))
            if stop.take_checkpoint_request():
                _tell(chains, lambda chain: os.kill(chain.process.pid, signal.SIGUSR2))
    except BaseException:  # a second Ctrl-C, or a bug: nobody is left behind
        _end(chains)
        raise
    return chains


def _start(number: int, task: Task) -> _Chain:
    """Spawn a process, not a fork: one in the presence of OpenMP's threads may hang."""
    context = mp.get_context("spawn")
    events, told = context.Pipe(duplex=False)
    obeys, orders = context.Pipe(duplex=False)
    process = context.Process(target=in_process, args=(task, told, obeys), name=f"chain-{number}")
    process.start()
    told.close()  # the other ends are the child's alone: each side sees when the other is gone
    obeys.close()
    return _Chain(number, process, events, orders)


def _hear(chain: _Chain, teller: Teller, stop: StopFlag) -> None:
    """Pass on what a chain says; at its end, find out how it ended."""
    try:
        event, values = chain.events.recv()
    except (EOFError, OSError):
        chain.process.join()
        chain.events.close()
        code = chain.process.exitcode
        if code is not None and code >= 0:
            chain.code = code or SgmcError.exit_code  # it would have said that all is well
        elif stop.reason:
            chain.code, chain.stopped = Interrupted.exit_code, stop.reason
        elif code == -signal.SIGKILL:
            chain.code = MemoryLimitError.exit_code
            teller.of_chain(chain.number, "failed", "was killed, for want of memory as a rule")
        else:
            chain.code = SgmcError.exit_code
            name = signal.Signals(-code).name if code else "a signal"
            teller.of_chain(chain.number, "failed", f"its process was ended by {name}")
        return
    if event == "ended":
        chain.code, chain.stopped, text = values
        chain.process.join()
        chain.events.close()
        if chain.code and not chain.stopped:
            teller.of_chain(chain.number, "failed", text)
    else:
        teller.of_chain(chain.number, event, *values)


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
    """Raise what the chains' ends add up to."""
    stopped = [chain for chain in chains if chain.stopped]
    failed = [chain for chain in chains if chain.code and not chain.stopped]
    if stopped:
        with ending_with(given):
            raise Interrupted(
                f"{stopped[0].stopped}: {_named(stopped)} stopped, a checkpoint of each written to "
                f"{folder}; run the same command again to continue"
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
