"""Writing of checkpoints; a rename commits a checkpoint, which is never modified afterwards.

The state and then the manifest are written and flushed in a temporary folder. The folder is flushed
and renamed to its final name, and the parent folder is flushed. Only then is the checkpoint
reported, and only then are older checkpoints deleted, oldest first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError, NumericalError, OutputError
from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import (
    CORRUPT,
    FORMAT,
    MANIFEST,
    REPLACED,
    SCHEMA,
    STATE,
    TRAINING,
    checkpoint_folders,
    digests,
    folder_step,
    read_checkpoint,
    read_manifest,
    seal,
)
from pysgrld.run.files import (
    Written,
    digest_of,
    fail_point,
    fsync_folder,
    remove_folder,
    remove_stale,
    rename,
    replace_file,
    step_name,
    temporary_name,
    write_new,
    written_form,
)
from pysgrld.run.identity import Identity
from pysgrld.run.machine import RELEASE
from pysgrld.run.tensors import NONE, DamagedError, describe, encode, violation
from pysgrld.types import Array, Invariant

logger = logging.getLogger(__name__)

#: Names of the files of a checkpoint.
FILES = (STATE, TRAINING, MANIFEST)
#: Keys of a manifest. If two checkpoints have the same state, their values for these keys are
#: equal.
_SAME = ("files", "tensors", "append", "samples", "identity")


def commit(
    run: Path,
    step: int,
    arrays: Mapping[str, Array],
    meta: Mapping[str, Any],
    run_identity: Identity,
    tables: Callable[[], dict[str, Any]],
    invariants: Mapping[str, Invariant],
    training: Mapping[str, Array] = NONE,
) -> Path:
    """Write a checkpoint durably, and return the checkpoint's folder.

    Parameters
    ----------
    run : Path
    step : int
        Number of iterations done.
    arrays, meta
        Arrays and plain values that the next step needs.
    run_identity : Identity
        Identity of the run's configuration.
    tables : callable () -> dict
        Returns the tables ``append`` and ``samples`` of the manifest, and makes the files in them
        durable; called when the state is on disk.
    invariants : mapping
        Additional conditions on the arrays, by pattern of array names; all floats must be finite in
        any case.
    training : mapping, optional
        Arrays that did not change since training ended: if an earlier checkpoint has a file of
        them, both checkpoints share it.

    Raises
    ------
    OSError
        If a system call failed; the partial checkpoint was removed.
    NumericalError
        If an array has a value that no valid state has; nothing was written.
    ValueError
        If `arrays` or `meta` have a type or value that the format does not support.
    """
    every = {**arrays, **training}
    for name, array in every.items():
        if problem := violation(name, array, invariants, finite=True):
            raise NumericalError(f"step {step}: {problem}")
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "min_reader": SCHEMA,
        "sgmc": RELEASE,
        "written": jsonio.utc_now(),
        "step": step,
        "identity": run_identity.digest,
        "config": run_identity.fields,
        "tensors": describe(every),
        "meta": dict(meta),
        "files": {},
        "append": {},
        "samples": {},
    }
    seal(manifest)  # An unstorable value raises an error here, before anything is written.
    final = run / "checkpoints" / step_name(step)
    temporary = final.with_name(temporary_name(final.name))
    fail_point("checkpoint.mkdir")
    temporary.mkdir()
    try:
        written = {STATE: write_new(temporary / STATE, encode(arrays, compress=True), "state")}
        if training:
            path = temporary / TRAINING
            written[TRAINING] = _link(path, training) or write_new(
                path, encode(training, compress=True), "training"
            )
        manifest["files"] = {name: file._asdict() for name, file in written.items()}
        manifest.update(tables())
        write_new(temporary / MANIFEST, [seal(manifest)], "manifest")
        fsync_folder(temporary, "checkpoint")
        if final.is_symlink() or final.exists():
            _replace(final, temporary, manifest, run_identity, invariants)
        else:
            rename(temporary, final, "commit")
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    # Only people and shell scripts use the file ``latest``, so a failure to write it is no error.
    with contextlib.suppress(OSError):
        replace_file(final.parent / "latest", [f"{final.name}\n".encode()], "hint")
    return final


def _link(path: Path, arrays: Mapping[str, Array]) -> Written | None:
    """Store arrays as a hard link, if another checkpoint has an equal and undamaged file.

    Files of checkpoints never change, so each of the two checkpoints stays complete if the other is
    removed or either is copied. Return None, without a file, if there is no equal file or the file
    system has no links.
    """
    found = written_form(encode(arrays, compress=True))
    for _, folder in checkpoint_folders(path.parent.parent.parent):
        with contextlib.suppress(DamagedError, CheckpointError, OSError):
            for name, file in digests(read_manifest(folder), "files").items():
                if file == found == digest_of(folder / name):
                    fail_point("training.link")
                    path.hardlink_to(folder / name)
                    return found
    return None


def _replace(
    final: Path,
    temporary: Path,
    manifest: dict[str, Any],
    run_identity: Identity,
    invariants: Mapping[str, Invariant],
) -> None:
    """Commit a checkpoint for a step that already has a checkpoint.

    If both have the same state, the old checkpoint stays. If not, because metrics were added since
    or the old checkpoint is damaged, the old checkpoint is first renamed to a name that readers
    recognise.
    """
    whole = True
    try:
        old = read_manifest(final)
        read_checkpoint(final, run_identity, invariants)
    except DamagedError as error:
        logger.warning("%s", error)
        whole = False
    else:
        if all(old[name] == manifest[name] for name in _SAME):
            fsync_folder(final.parent, "commit")
            shutil.rmtree(temporary, ignore_errors=True)
            return
    aside = final.with_name(f"{REPLACED if whole else CORRUPT}{final.name}-{os.urandom(4).hex()}")
    rename(final, aside, "replace")
    rename(temporary, final, "commit")
    if whole:
        _remove(aside, "replace")


def remove_older(newest: Path, keep: int, spared: int | None = None) -> None:
    """Keep the newest ``keep`` checkpoints; remove all others and files of interrupted writes.

    The checkpoint of the iteration ``spared`` stays as well.

    If a path cannot be removed, a warning is logged: this is no error, as the new checkpoint is
    good.
    """
    for step, older in reversed(checkpoint_folders(newest.parent.parent)[max(keep, 1) :]):
        if older != newest and step != spared:
            _remove(older, "retention")
    with contextlib.suppress(OSError):
        remove_stale(newest.parent, "stale")


def _remove(folder: Path, point: str) -> None:
    """Remove a checkpoint; warn if this fails, perhaps because it has files of the user."""
    try:
        remove_folder(folder, point, FILES)
    except (OSError, OutputError) as error:
        reason = getattr(error, "strerror", None) or error
        logger.warning("%s: cannot be deleted: %s", folder, reason)


def remove_later(run: Path, step: int) -> bool:
    """Remove all checkpoints after `step`, if `step` has a checkpoint; else return False."""
    checkpoints = checkpoint_folders(run)
    if step not in dict(checkpoints):
        return False
    # Remove the newest checkpoint first. If this process is killed before the last one is removed,
    # the others can still be resumed.
    for later, folder in checkpoints:
        if later > step:
            remove_folder(folder, "discard", FILES)
    return True


def restore_replaced(run: Path) -> None:
    """Complete or undo an interrupted replacement of a checkpoint; the caller holds the lock."""
    folder = run / "checkpoints"
    for aside in sorted(folder.glob(f"{REPLACED}*")):
        step = folder_step(aside.name)
        if step is None or (folder / step_name(step)).exists():
            _remove(aside, "replace")
        else:
            rename(aside, folder / step_name(step), "replace")


def keep_failure(run: Path, step: int, arrays: Mapping[str, Array]) -> str:
    """Write the arrays of a failed run, without checks, to ``failed-step-NNNNNNNN.safetensors``.

    The file is no checkpoint: no run can resume from it, and it may have NaN. It replaces a file of
    an earlier start at the same step.

    Parameters
    ----------
    run : Path
        Folder of the run.
    step : int
        Number of iterations done.
    arrays : mapping
        Arrays of the state by name, with any values.

    Returns
    -------
    str
        Text for the error message: the path of the file or the reason why it could not be written,
        and the path of the last good checkpoint.
    """
    path = run / f"failed-{step_name(step)}.safetensors"
    good = next((folder.name for _, folder in checkpoint_folders(run)), "none yet")
    try:
        replace_file(path, encode(arrays), "failure")
    except OSError as error:
        saved = f"the state of the run cannot be saved: {error.strerror or error}"
    else:
        saved = f"the state is saved in {path}"
    return f"{saved}; last good checkpoint: {good}"
