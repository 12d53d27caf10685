"""Training of several chains at the same time, in separate processes.

The parent reads the corpus, stores it once and chooses the folder. Every chain is a separate run in
that folder, and is started by `train` like any other run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pysgrld.errors import MismatchError, UsageError
from pysgrld.models.options import FREE
from pysgrld.run import (
    Candidate,
    RunDirectory,
    StopFlag,
    chain_path,
    find_chains,
    process_start,
    set_latest,
)
from pysgrld.run.files import make_folder
from pysgrld.run.identity import identities, mismatch
from pysgrld.train.plan import plan_training
from pysgrld.train.prepare import move_corpus
from pysgrld.train.processes import Explain, Task, Watcher, raise_failures, run_all
from pysgrld.train.request import Request, refuse_streams
from pysgrld.train.start import Stoppable, replace_exit_code


def train_chains(request: Request, number: int, watcher: Watcher, explain: Explain) -> Path:
    """Train independent chains of a model at the same time; unfinished chains are resumed.

    Parameters
    ----------
    request : Request
        A request; all chains together share its threads and memory.
    number : int
        Number of chains.
    watcher : Watcher
    explain : callable
        Explains errors; it must be a function of a module, because other processes import it.

    Returns
    -------
    Path
        The folder of the chains.

    Raises
    ------
    Interrupted
        If some chains were stopped early, each after a checkpoint.
    RunsError
        If some chains failed; it is raised after all have ended.
    SgmcError
        For every error before the chains begin.
    """
    request.choices.check()
    choices, inputs = request.choices, request.inputs
    if choices.source.chain_id is not None:
        raise UsageError("--chain-id does not apply to --chains; leave it out")
    refuse_streams(inputs, choices, "--chains")
    started = process_start()
    chain_request = request._replace(
        inputs=tuple(inputs), choices=choices.changed(threads=max(1, request.threads // number))
    )
    limit = choices.start.time_limit
    watch = StopFlag(limit, stop_signal=choices.start.stop_signal, start=started)
    with watch as stop, replace_exit_code(choices.start.requeue_exit_code):
        with plan_training(chain_request, Stoppable(watcher, stop), number) as plan:
            if plan.once:
                plan.once.close()
            folder = choose_folder(plan.candidate, plan.config, number, free=FREE)
            make_folder(folder, "chains")
            stored = None if plan.once else move_corpus(plan, folder).path
        set_latest(folder, request.root)
        chain_request = chain_request._replace(
            corpus=None if str(stored) in chain_request.inputs else stored
        )
        tasks = []
        for i in range(1, number + 1):
            chain = chain_request.choices.changed(
                chain_id=i, out=str(chain_path(folder, i)), resume="auto"
            )
            tasks.append(Task(chain_request._replace(choices=chain), started, explain, limit))
        raise_failures(run_all(tasks, watcher, stop), _named, folder)
    return folder


def choose_folder(
    candidate: Candidate, config: Mapping[str, Any], number: int, *, free: Iterable[str]
) -> Path:
    """Choose a folder: that of unfinished chains with the same configuration, or a new one.

    Parameters
    ----------
    candidate : Candidate
        Result of `find_run` for folders of chains.
    config : mapping
        Content of ``config.json`` of one of the chains.
    number : int
        Number of chains.
    free : iterable of str
        Names of options that may differ.

    Raises
    ------
    MismatchError
        If the folder that the user named has a chain with another configuration or corpus.
    """
    for folder in candidate.runs:
        runs = [RunDirectory.open(path) for path in find_chains(folder)]
        fields = []
        for run in runs:
            fields.append((run.path, *identities(run.config, config, {*free, "chain-id"})))
        other = next(((path, stored, new) for path, stored, new in fields if stored != new), None)
        if other is not None and candidate.named:
            path, stored, new = other
            summary = (
                f"{path}: contains a chain with other options or another corpus; give the "
                "same options, or train new chains in another folder (--out, without "
                "--resume). Different:"
            )
            raise MismatchError(mismatch(summary, stored, new))
        chain_paths = {chain_path(folder, i) for i in range(1, number + 1)}
        done = {run.path for run in runs if run.status.get("state") == "finished"}
        if other is None and (candidate.named or not chain_paths <= done):
            return folder
    return candidate.path


def _named(numbers: Sequence[int]) -> str:
    return f"chain{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
