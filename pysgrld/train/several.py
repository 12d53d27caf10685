"""Several chains at a time: a process for each (`pysgrld.train.processes`), all told of from one place.

The parent reads the corpus, stores it once and finds the folder; every chain is a run of its own in
it, started as `train` starts any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pysgrld.errors import MismatchError, UsageError
from pysgrld.models.options import FREE
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
from pysgrld.run.identity import identities, mismatch
from pysgrld.train.plan import planned
from pysgrld.train.prepare import move_corpus
from pysgrld.train.processes import Task, Watcher, conclude, run_all
from pysgrld.train.request import Request, refuse_streams
from pysgrld.train.start import Stoppable, ending_with


def train_chains(
    request: Request,
    number: int,
    watcher: Watcher,
    explain: Callable[[BaseException], tuple[int, str]],
) -> Path:
    """Train independent chains of one model at the same time; continue those that are not done.

    Parameters
    ----------
    request : Request
        Threads and memory in it are those of all chains together.
    number : int
        Chains wanted.
    watcher : Watcher
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
    RunsError
        If some failed, when the others have ended.
    SgmcError
        For everything that is wrong before the chains begin.
    """
    request.check()
    given, inputs = request.given, request.inputs
    if "chain-id" in given:
        raise UsageError("--chains numbers the chains itself: leave --chain-id out")
    refuse_streams(inputs, given, "--chains")
    started = process_start()
    each = request._replace(
        inputs=tuple(inputs), given={**given, "threads": max(1, request.threads // number)}
    )
    watch = StopFlag(given.get("time-limit"), stop_signal=given.get("stop-signal"), start=started)
    with watch as stop, ending_with(given.get("requeue-exit-code")):
        with planned(each, Stoppable(watcher, stop), number) as plan:
            if plan.once:
                plan.once.close()
            folder = choose_folder(plan.candidate, plan.config, number, free=FREE)
            make_folder(folder, "chains")
            stored = None if plan.once else move_corpus(plan, folder).path
        set_latest(folder, request.root)
        each = each._replace(corpus=None if str(stored) in each.inputs else stored)
        tasks = []
        for i in range(1, number + 1):
            own = {"chain-id": i, "out": str(chain_path(folder, i)), "resume": "auto"}
            chain = each._replace(given={**each.given, **own})
            tasks.append(Task(chain, started, explain, given.get("time-limit")))
        conclude(run_all(tasks, watcher, stop), _named, folder)
    return folder


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
    for folder in candidate.runs:
        runs = [RunDirectory.open(path) for path in chains_of(folder)]
        fields = []
        for run in runs:
            fields.append((run.path, *identities(run.config, config, {*free, "chain-id"})))
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


def _named(numbers: Sequence[int]) -> str:
    return f"chain{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
