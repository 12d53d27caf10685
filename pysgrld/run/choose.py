"""Decision whether a command starts a new run, resumes an existing run, or has nothing to do."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pysgrld.errors import (
    CheckpointError,
    MismatchError,
    MissingInputError,
    NoProgressError,
    OutputError,
    UsageError,
)
from pysgrld.options.paths import is_folder, list_folder, resolve_path
from pysgrld.run import jsonio
from pysgrld.run.chain_folders import find_chains, holds_chains
from pysgrld.run.checkpoint_read import checkpoint_folders, damaged_checkpoints
from pysgrld.run.directory import RunDirectory
from pysgrld.run.files import read_small, rename, temporary_name, write_new
from pysgrld.run.identity import BUDGET, identities, mismatch
from pysgrld.run.layout import LOG, TakenError, is_run
from pysgrld.run.lock import PREFIX, scratch_name, sweep
from pysgrld.run.ownership import is_marked

logger = logging.getLogger(__name__)

#: Default folder of runs, used without ``--out``.
ROOT = Path("sgmc-runs")

LATEST = "latest"


#: Maximum number of attempts to find and lock a run. An attempt fails if another process creates a
#: run in the same folder at the same time.
_TRIES = 20


class Candidate(NamedTuple):
    """Folder for a new run, and existing runs that can be resumed.

    Attributes
    ----------
    path : Path
        Folder that a new run would get.
    runs : tuple of Path
        Existing runs that could be resumed, in order of preference.
    named : bool
        True if the user named the folder (``--out`` or ``--resume RUN``). It is then an error if a
        run with another configuration is in that folder.
    """

    path: Path
    runs: tuple[Path, ...]
    named: bool


class Decision(NamedTuple):
    """Decision to start a new run, to resume an existing run, or to do nothing.

    Attributes
    ----------
    action : {"new", "continue", "finished"}
    path : Path
        Folder of the new run or of `run`.
    run : RunDirectory or None
        The existing run, or None if `action` is "new".
    required : bool
        True if a checkpoint must exist: pass it to `RunDirectory.load_checkpoint`.
    notes : tuple of str
        Messages on differences from earlier starts (instruction set, versions), with which results
        stay the same in distribution but may differ in bits.
    """

    action: Literal["new", "continue", "finished"]
    path: Path
    run: RunDirectory | None
    required: bool
    notes: tuple[str, ...]


# ---- the latest run


def latest_run(root: Path = ROOT) -> Path:
    """Return the latest run or folder of chains, for commands that name no run.

    Parameters
    ----------
    root : Path, default ./sgmc-runs
        Folder of runs.

    Returns
    -------
    Path
        Folder of the run or of the chains.

    Raises
    ------
    MissingInputError
        If `root` holds no run.
    """
    with contextlib.suppress(OSError, ValueError):
        name = read_small(root / LATEST).decode("utf-8").strip()
        if name and Path(name).name == name and (is_run(root / name) or find_chains(root / name)):
            return root / name
    # Each candidate is a tuple of the time of the last logged event, the name and the path.
    candidates: list[tuple[float, str, Path]] = []
    if is_folder(root):
        for path in list_folder(root):
            if path.name.startswith("."):
                continue
            runs: list[Path] = []
            # Folders of other users that cannot be read are skipped.
            with contextlib.suppress(MissingInputError):
                runs = [path] if is_run(path) else find_chains(path)
            if runs:
                changed = 0.0
                with contextlib.suppress(OSError):
                    changed = max((run / LOG).stat().st_mtime for run in runs)
                candidates.append((changed, path.name, path))
    if not candidates:
        raise MissingInputError(
            f"{root}: no run found; train one with 'sgmc train CORPUS', or give the folder of a run"
        )
    return max(candidates)[2]


def _is_name(content: bytes) -> bool:
    """Return True if a file's content is empty, or consists of a folder name and a line end."""
    line, end, rest = content.partition(b"\n")
    return not content or bool(line and end and not rest and b"/" not in line)


def set_latest(path: Path, root: Path = ROOT) -> None:
    """Record the latest run or folder of chains, if it is directly in `root`; never raise an error.

    Parameters
    ----------
    path : Path
        Folder of the run or of the chains.
    root : Path, default ./sgmc-runs
        Folder of runs.
    """
    try:
        if path.parent.resolve() != root.resolve():
            return
        with contextlib.suppress(FileNotFoundError):
            if not _is_name(read_small(root / LATEST, links=False)):
                raise OSError(errno.EEXIST, "sgmc did not write the existing file")
        # If a kill leaves this file behind, the next start removes it.
        temporary = path / temporary_name(LATEST)
        write_new(temporary, [f"{path.name}\n".encode()], "latest")
        rename(temporary, root / LATEST, "latest")
    except OSError as error:
        logger.warning("%s: cannot be written: %s", root / LATEST, error.strerror or error)


# ---- search for folders


def named_folder(name: str, root: Path, holds: Callable[[Path], object]) -> Path | None:
    """Find a folder by its path, or else by its name under `root`; return None if it is missing.

    Parameters
    ----------
    name : str
        A path, a name under `root`, or "latest" for the run that was started last.
    root : Path
    holds : callable (path) -> object
        Returns a true value if a folder has the required content.

    Returns
    -------
    Path or None
        The folder with the required content.

    Raises
    ------
    MissingInputError
        If the system refuses to look up one of the two paths, and the other one is not suitable.
    """
    refusal = None
    for path in (Path(name), root / name):
        try:
            if holds(path):
                return path
        except MissingInputError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal
    if name == LATEST:
        path = latest_run(root)
        return path if holds(path) else None
    return None


def check_writable(path: Path) -> None:
    """Check that a folder can be created at a path, by creating one in the nearest existing parent.

    Parameters
    ----------
    path : Path
        The folder to be made later; it is not changed.

    Raises
    ------
    OutputError
        If no folder can be made.
    """
    for attempt in range(_TRIES):
        place = path
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        probe = place / scratch_name()
        try:
            probe.mkdir()
        except OSError as error:
            if error.errno == errno.ENOENT and attempt < _TRIES - 1:
                continue  # Another sgmc process has just moved its run to this path.
            raise OutputError(
                f"{path}: cannot be written: {place}: {error.strerror or error}; choose another "
                "folder with --out"
            ) from error
        with contextlib.suppress(OSError):  # Another sgmc process may have moved the folder.
            probe.rmdir()
        sweep(place)  # Remove temporary folders of processes that were killed in this function.
        return


def free_path(root: Path, name: str, holds: Callable[[Path], object]) -> tuple[Path, list[Path]]:
    """Return the free path after ``name``, ``name-2``, ..., and folders with the required content.

    Parameters
    ----------
    root : Path
        Folder of runs.
    name : str
        Name without a number.
    holds : callable
        Returns a true value if a folder has the required content.

    Returns
    -------
    (Path, list[Path])
        The next free path, and the folders with the required content, newest first.
    """
    pattern = re.compile(re.escape(name) + r"(?:-([1-9]\d{0,8}))?")
    taken: dict[int, Path] = {}
    if is_folder(root):
        for path in list_folder(root):
            if match := pattern.fullmatch(path.name):
                taken[int(match[1] or 1)] = path
    number = max(taken, default=0) + 1
    free = root / (name if number == 1 else f"{name}-{number}")
    return free, [path for _, path in sorted(taken.items(), reverse=True) if holds(path)]


def find_run(
    *, out: Path | None, root: Path = ROOT, name: str, resume: str, chains: bool = False
) -> Candidate:
    """Find the folder for a new run, and existing runs that can be resumed.

    Parameters
    ----------
    out : Path or None
        Value of ``--out``.
    root : Path
        Folder of runs if ``--out`` is not given.
    name : str
        Name of the run without a number, ``<corpus>-<algo>``.
    resume : str
        ``auto``, ``never``, or a run, given by its folder or by its name under `root`.
    chains : bool
        True to look for folders of chains instead of runs.

    Returns
    -------
    Candidate
        Folder for a new run, and the runs that could be resumed.

    Raises
    ------
    OutputError
        If the folder cannot be written, or has files that sgmc must not change.
    MissingInputError
        If `resume` names no run.
    UsageError
        If `out` names another folder than `resume`.
    """
    holds: Callable[[Path], object] = holds_chains if chains else is_run
    if resume not in ("auto", "never"):
        path = named_folder(resume, root, holds)
        if path is None:
            kind = "is not a folder of chains" if chains else "is not a run (it has no config.json)"
            raise MissingInputError(f"--resume {resume}: {kind}; check the path")
        if out is not None and resolve_path(out, OutputError) != resolve_path(path):
            raise UsageError(
                f"--resume {resume} and --out {out} must be the same folder; leave out --out"
            )
        check_writable(path)
        return Candidate(path, (path,), named=True)
    if out is None:
        if os.path.lexists(root):
            check_writable(root)
        free, runs = free_path(root, name, holds)
        check_writable(free)
        return Candidate(free, () if resume == "never" else tuple(runs), named=False)
    check_writable(out)
    # List the folder before the check for a run, because another process may create a run in
    # between.
    occupied = is_folder(out, OutputError) and any(
        not is_marked(path.name, PREFIX) for path in list_folder(out, OutputError)
    )
    if holds(out):
        if resume == "never":
            raise _holds_run(out)
        return Candidate(out, (out,), named=True)
    if occupied:
        kind = "no run"
        if is_run(out) or find_chains(out):
            kind = (
                "a single run instead of chains" if chains else "several chains (give --chains too)"
            )
        raise OutputError(
            f"{out}: is not empty and contains {kind}; choose another folder with --out"
        )
    return Candidate(out, (), named=True)


def _holds_run(path: Path) -> OutputError:
    return OutputError(
        f"{path}: contains a run, but '--resume never' starts a new run; choose another folder"
    )


# ---- decision between a new and an existing run


def decide(candidate: Candidate, config: Mapping[str, Any], *, resume: str) -> Decision:
    """Decide whether to start a new run, to resume a run, or to do nothing for a finished run.

    Parameters
    ----------
    candidate : Candidate
        Result of `find_run` with the same `resume`.
    config : mapping
        The requested configuration, in the form of ``config.json``; the options that it lists under
        ``free`` may differ from the run's.
    resume : str
        ``auto``, ``never``, or a run.

    Raises
    ------
    MismatchError
        If the named folder has a run with another configuration or corpus; the message has one line
        for each difference, old -> new.
    OutputError
        If the folder has a run and `resume` is ``never``.
    CheckpointError
        If the run named by `resume` has no checkpoint, or the vocabulary of the run to be resumed
        was changed.
    """
    config = jsonio.plain(dict(config), where="config")
    free = config.get("free", ())
    if resume == "never" and candidate.named and candidate.runs:
        raise _holds_run(candidate.path)
    for path in candidate.runs if resume != "never" else ():
        try:
            run = RunDirectory.open(path)
        except (MissingInputError, CheckpointError) as error:
            if candidate.named:
                raise
            logger.warning("ignored: %s", error)
            continue
        stored, requested = identities(run.config, config, free)
        if stored != requested:
            if not candidate.named:
                continue
            summary = (
                f"{path}: contains a run with other options or another corpus; give the same "
                "options, or train a new run in another folder (--out, without --resume). "
                "Different:"
            )
            raise MismatchError(mismatch(summary, stored, requested))
        notes = tuple(
            f"{name} was {run.config[name]} and is now {config[name]}, so results keep their "
            "distribution but not their exact bits"
            for name in ("isa", "versions")
            if run.config.get(name, config.get(name)) != config.get(name, run.config.get(name))
        )
        finished = run.status.get("state") == "finished"
        if resume != "auto" and not checkpoint_folders(path):
            damaged = "".join(
                f"\n  {checkpoint}: damaged" for checkpoint in damaged_checkpoints(path)
            )
            raise CheckpointError(
                f"--resume {resume}: has no usable checkpoint; restore one from a backup, or start "
                f"a new run with another --out{damaged}"
            )
        had_budget, budget = (
            [c.get("options", {}).get(name) for name in BUDGET] for c in (run.config, config)
        )
        if candidate.named and finished and had_budget == budget:
            return Decision("finished", path, run, required=False, notes=notes)
        if not candidate.named and finished:
            continue
        run.check_vocabulary()
        required = resume != "auto"
        return Decision("continue", path, run, required=required, notes=notes)
    return Decision("new", candidate.path, None, required=False, notes=())


def claim(
    find: Callable[[], Candidate],
    config: Mapping[str, Any],
    vocabulary: Sequence[str],
    held: contextlib.ExitStack,
    *,
    resume: str,
    break_lock: bool = False,
) -> tuple[Decision, RunDirectory]:
    """Choose the run to use, create it if needed, and lock it.

    Parameters
    ----------
    find : callable () -> Candidate
        `find_run` with its arguments; called again at each attempt, as the folder may have changed.
    config, resume
        As for `decide`.
    vocabulary : sequence of str
        Vocabulary of a new run.
    held : ExitStack
        Stack that holds the lock until it is closed.
    break_lock : bool
        True to take over a lock that a process of another host has left.

    Raises
    ------
    LockedError
        If another process holds the run's lock, or has just made the run.
    SgmcError
        The errors of `find_run`, `decide` and `RunDirectory.create`.
    """
    for attempt in range(_TRIES):
        decision = decide(find(), config, resume=resume)
        if decision.run is not None:
            held.enter_context(decision.run.lock(break_lock=break_lock))
            return decision, decision.run
        try:
            run = RunDirectory.create(decision.path, config, vocabulary, held=held)
        except TakenError:
            if attempt == _TRIES - 1:
                raise
            time.sleep(0.01 * attempt)
        else:
            return decision, run
    raise AssertionError("unreachable")


# ---- refusal of starts without progress, so that a batch system does not restart a failing run for
# ever

#: A start is refused after this number of consecutive starts without progress.
FRUITLESS = 2

#: Number of bytes at the end of the log that are searched for the last starts of a run. A start that
#: logs more bytes has made progress.
_LAST = 1 << 16

#: Last log events of starts that were not killed. A start that ends with one of these events never
#: counts as a start without progress.
_ENDED = ("finished", "failed", "refused")

#: Signals that a person sends from the keyboard. Batch systems do not use these signals to stop
#: jobs.
_BY_HAND = ("SIGINT",)


def refuse_endless_starts(run: RunDirectory, step: int, parts: int = 0) -> None:
    """Raise an error if the last two starts of a run made no progress.

    The start after a refused start is allowed again. A start made no progress if it was killed, or
    stopped by a signal or a time limit, before it wrote a checkpoint of a later step than the one
    from which it began or, before the first checkpoint, more iterations of the short chains. A
    start that reported an error does not count, because errors have exit codes of their own. A
    start that a person stopped with Ctrl-C does not count either.

    Parameters
    ----------
    run : RunDirectory
    step : int
        Step of the checkpoint from which the run would now resume; 0 without a checkpoint.
    parts : int
        Number of iterations of the short chains stored so far, before the first checkpoint.

    Raises
    ------
    NoProgressError
        If the start is refused; the message explains how to continue.
    WriteError
        If the log cannot be written.
    """
    count = 0
    in_order = False
    for record in reversed(jsonio.read_lines(run.path / LOG, _LAST)):
        event = record.get("event")
        if event == "started":
            began = record.get("step"), record.get("short_chains", 0)
            if in_order or not all(isinstance(n, int) for n in began) or began < (step, parts):
                break
            count += 1
        elif event in _ENDED:
            break
        elif event == "interrupted":
            in_order = record.get("reason") in _BY_HAND
    if count < FRUITLESS:
        return
    run.log_event("refused", step=step, fruitless=count)
    raise NoProgressError(
        f"{run.path}: not resumed, because the last {count} starts from iteration {step} ended "
        "before the next checkpoint (killed, out of memory, or out of time); look at log.jsonl, "
        "give more time or memory or a shorter --checkpoint-every, then run the same command "
        "again"
    )
