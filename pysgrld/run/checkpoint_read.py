"""Reading checkpoints: nothing is believed, nothing is allocated by what a file claims.

In order: manifest, sizes, header, SHA-256 of every byte, names and shapes, values, and the
identity of the configuration. Writing is `pysgrld.run.checkpoint_write`'s.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CheckpointError, MismatchError, MissingInputError
from pysgrld.run.files import REPLACED, folder_step, parse_step
from pysgrld.run.identity import Identity, mismatch
from pysgrld.run.invariants import NONE, violation
from pysgrld.run.manifest import MANIFEST, STATE, damage, read_manifest, written_from
from pysgrld.run.tensors import Array, DamagedError, load
from pysgrld.types import Invariant

logger = logging.getLogger(__name__)

#: Prefix of a damaged checkpoint that was set aside.
CORRUPT = ".corrupt-"


class Checkpoint(NamedTuple):
    """A verified checkpoint, in memory."""

    step: int
    arrays: dict[str, Array]
    meta: dict[str, Any]
    path: Path


class CheckpointReport(NamedTuple):
    """A description of a checkpoint, with the first of its faults.

    Attributes
    ----------
    step, path
        Iterations done, and its folder.
    problem : str or None
        The first check that failed; None if there was none.
    written : str
        UTC time.
    size : int
        Bytes of its state.
    tensors : dict
        dtype and shape of each array.
    meta : dict
        What the training loop keeps beside the arrays.
    verified : bool
        True if every byte was read and agrees with its digest.
    """

    step: int
    path: Path
    problem: str | None
    written: str
    size: int
    tensors: dict[str, Any]
    meta: dict[str, Any]
    verified: bool


def checkpoint_folders(run: Path) -> list[tuple[int, Path]]:
    """List the committed checkpoints of a run, newest first; none where that fails."""
    folder = run / "checkpoints"
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    # A kill between the two renames of a replacement leaves only the old one, under another name.
    found: dict[int, Path] = {}
    for name in sorted(names, key=lambda name: name.startswith(REPLACED)):
        if (step := folder_step(name)) is not None:
            found.setdefault(step, folder / name)
    return sorted(found.items(), reverse=True)


def damaged_checkpoints(run: Path) -> list[Path]:
    """List the damaged checkpoints that earlier starts have set aside."""
    try:
        return sorted((run / "checkpoints").glob(f"{CORRUPT}*"))
    except OSError:
        return []


def read_checkpoint(
    folder: Path, own: Identity | None, invariants: Mapping[str, Invariant] = NONE
) -> Checkpoint:
    """Read and verify one checkpoint.

    Parameters
    ----------
    folder : Path
    own : Identity or None
        Of the run's configuration; None to skip that check.
    invariants : mapping
        What holds of the arrays beside that every float is finite, by pattern of names.

    Raises
    ------
    DamagedError
        Naming the file and the check that failed.
    MismatchError
        If it is whole and belongs to another configuration.
    CheckpointError
        If it was written by a newer sgmc, or cannot be opened by this user.
    """
    manifest = read_manifest(folder)
    path = folder / STATE
    try:
        header, arrays = load(path, written_from(folder / MANIFEST, manifest["files"][STATE]))
    except OSError as error:
        raise damage(path, error) from error
    described = {t.name: {"dtype": t.dtype, "shape": list(t.shape)} for t in header.tensors}
    if described != manifest["tensors"]:
        raise DamagedError(f"{path}: names, types or shapes differ from the manifest's")
    for name, array in arrays.items():
        if problem := violation(name, array, invariants, finite=True):
            raise DamagedError(f"{path}: {problem}")
    if own is not None and (
        manifest["identity"] != own.digest or Identity(manifest["config"]).digest != own.digest
    ):
        summary = f"{folder}: written under another configuration than config.json has now"
        raise MismatchError(mismatch(summary, manifest["config"], own.fields))
    # For a reader without the lock the folder may be gone by now; what was read is whole.
    with contextlib.suppress(OSError):
        extra = {entry.name for entry in folder.iterdir()} - {STATE, MANIFEST}
        if extra:
            logger.warning("%s: ignored: %s", folder, ", ".join(sorted(extra)))
    return Checkpoint(manifest["step"], arrays, manifest["meta"], folder)


def newest(
    run: Path,
    own: Identity,
    *,
    required: bool,
    discard: Callable[[Path, str], None],
    invariants: Mapping[str, Invariant] = NONE,
) -> Checkpoint | None:
    """Find the newest checkpoint that verifies.

    Parameters
    ----------
    run : Path
    own : Identity
        Of the run's configuration.
    required : bool
        If True, that there is none at all is an error too.
    discard : callable (folder, problem)
        Called for each damaged checkpoint that is passed over, once a good one was found.
    invariants : mapping
        As `read_checkpoint` has them.

    Raises
    ------
    CheckpointError
        If none is usable although some exist, or one is required.
    MismatchError
        If the newest whole one belongs to another configuration.
    """
    for _ in range(5):
        damaged: list[tuple[Path, str]] = []
        vanished = False
        for _step, folder in checkpoint_folders(run):
            try:
                found = read_checkpoint(folder, own, invariants)
            except DamagedError as error:
                # A reader without the lock may meet a checkpoint just when retention deletes it.
                if folder.exists():
                    damaged.append((folder, str(error)))
                else:
                    vanished = True
                continue
            for bad, problem in damaged:
                discard(bad, problem)
            return found
        if not vanished:
            break
    problems = [problem for _, problem in damaged]
    problems += [f"{path}: found damaged at an earlier start" for path in damaged_checkpoints(run)]
    if problems:
        raise CheckpointError(
            "\n".join(
                [
                    f"{run}: no checkpoint is usable; restore one from a backup, or start anew "
                    "with another --out:",
                    *(f"  {problem}" for problem in problems),
                ]
            )
        )
    if required:
        raise CheckpointError(f"{run}: there is no checkpoint; start anew without --resume")
    return None


def _report(
    step: int, folder: Path, *, whole: bool, invariants: Mapping[str, Invariant] = NONE
) -> CheckpointReport:
    report = CheckpointReport(step, folder, None, "", 0, {}, {}, verified=False)
    try:
        manifest = read_manifest(folder)
        report = report._replace(
            written=str(manifest["written"]),
            size=manifest["files"][STATE]["size"],
            tensors=manifest["tensors"],
            meta=manifest["meta"],
        )
        if whole:
            read_checkpoint(folder, None, invariants)
            return report._replace(verified=True)
        path = folder / STATE
        if path.stat(follow_symlinks=False).st_size != report.size:
            return report._replace(problem=f"{path}: size differs from the manifest's")
    except (DamagedError, CheckpointError) as error:
        return report._replace(problem=str(error))
    except OSError as error:
        return report._replace(problem=f"{folder}: {error.strerror or error}")
    return report


def _reports(
    path: Path, *, whole: bool, invariants: Mapping[str, Invariant] = NONE
) -> list[CheckpointReport]:
    if not (path / "config.json").is_file():
        raise MissingInputError(f"{path}: is not a run (it has no config.json)")
    for _ in range(5):
        reports = [
            _report(step, folder, whole=whole, invariants=invariants)
            for step, folder in checkpoint_folders(path)
        ]
        # Deleted by retention while it was looked at: not damaged, gone. If that is true of all of
        # them there are newer ones.
        there = [r for r in reversed(reports) if r.problem is None or r.path.exists()]
        if there or not reports:
            break
    return there


def list_checkpoints(path: Path) -> list[CheckpointReport]:
    """List the checkpoints of a run, oldest first, reading their manifests only.

    Raises
    ------
    MissingInputError
        If there is no run.
    """
    return _reports(path, whole=False)


def verify_checkpoint(path: Path, invariants: Mapping[str, Invariant] = NONE) -> CheckpointReport:
    """Read every byte of one checkpoint and say what is wrong with it, changing nothing.

    Parameters
    ----------
    path : Path
        The folder ``.../checkpoints/step-NNNNNNNN``.
    invariants : mapping
        What holds of its arrays beside that every float is finite, by pattern of names.

    Raises
    ------
    MissingInputError
        If there is no such folder.
    """
    step = parse_step(path.name)
    if step is None or not path.is_dir():
        raise MissingInputError(f"{path}: is not a checkpoint (a folder called step-NNNNNNNN)")
    return _report(step, path, whole=True, invariants=invariants)


def verify_checkpoints(
    path: Path, invariants: Mapping[str, Invariant] = NONE
) -> list[CheckpointReport]:
    """Verify every checkpoint of a run, oldest first, while it may be training.

    Those that retention deletes meanwhile are left out: they were not damaged.

    Parameters
    ----------
    path : Path
    invariants : mapping
        As `verify_checkpoint` has them.

    Raises
    ------
    MissingInputError
        If there is no run.
    """
    return _reports(path, whole=True, invariants=invariants)
