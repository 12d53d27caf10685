"""Reading of checkpoints; every byte is verified, and sizes are checked before memory is allocated.

The checks are, in order: manifest, sizes, header, SHA-256 of every byte, names and shapes, values,
and the identity of the configuration. `pysgrld.run.checkpoint_write` writes checkpoints.

The manifest describes a checkpoint. Its digests cover every byte, including its own bytes. It is
written as canonical JSON. So after a change of any byte it is either no longer canonical, or does
not agree with the field ``digest``. All later schemas will have this field: a newer schema is
reported only if the manifest is undamaged.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CheckpointError, MismatchError, MissingInputError
from pysgrld.options.paths import is_file, is_folder
from pysgrld.run import jsonio
from pysgrld.run.files import Written, digest_of, parse_step, read_small
from pysgrld.run.identity import Identity, mismatch
from pysgrld.run.machine import RELEASE
from pysgrld.run.tensors import NONE, DamagedError, JoinedArrays, load, violation
from pysgrld.types import Array, Invariant

logger = logging.getLogger(__name__)

_warned: set[Path] = set()

#: Name of the format in manifests, and the version of its layout.
FORMAT, SCHEMA = "sgmc-checkpoint", 2

MANIFEST = "manifest.json"
STATE = "state.safetensors"
#: Name of a checkpoint's file with the arrays that have not changed since training ended. A
#: checkpoint may lack this file.
TRAINING = "training.safetensors"

#: Operating-system errors that indicate a damaged file, and not a file that is only unreadable at
#: present.
_BROKEN = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

_TABLES = ("config", "files", "tensors", "append", "samples", "meta")
_KEYS = {"format", "schema", "min_reader", "sgmc", "written", "step", "identity", *_TABLES}

#: Prefix added to a damaged checkpoint's name.
CORRUPT = ".corrupt-"

#: Prefix added to an undamaged checkpoint's name while another checkpoint of the same step replaces
#: it.
REPLACED = ".replaced-"


class Checkpoint(NamedTuple):
    """A verified checkpoint; its large arrays are read from the file at each access."""

    step: int
    arrays: Mapping[str, Array]
    meta: dict[str, Any]
    path: Path


class CheckpointReport(NamedTuple):
    """Description of a checkpoint, with the first problem that the checks found.

    Attributes
    ----------
    step, path
        Number of iterations done, and folder of the checkpoint.
    problem : str or None
        Description of the first check that failed, or None if all succeeded.
    written : str
        UTC time at which the checkpoint was written.
    size : int
        Size in bytes of the files with the checkpoint's arrays.
    tensors : dict
        dtype and shape of each array.
    meta : dict
        Values that the training loop stores in addition to the arrays.
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


def folder_step(name: str) -> int | None:
    """Return the iteration in a checkpoint folder's name, with or without the prefix `REPLACED`."""
    if name.startswith(REPLACED):
        name = "-".join(name.removeprefix(REPLACED).split("-")[:2])
    return parse_step(name)


def checkpoint_folders(run: Path) -> list[tuple[int, Path]]:
    """Return a run's committed checkpoints, newest first; empty if the folder is unreadable."""
    folder = run / "checkpoints"
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    # A checkpoint is replaced by two renames. If sgmc is killed between these, only the old
    # checkpoint is left, under another name.
    folders: dict[int, Path] = {}
    for name in sorted(names, key=lambda name: name.startswith(REPLACED)):
        if (step := folder_step(name)) is not None:
            folders.setdefault(step, folder / name)
    return sorted(folders.items(), reverse=True)


def damaged_checkpoints(run: Path) -> list[Path]:
    """Return the folders of checkpoints that the run has found damaged and renamed."""
    try:
        return sorted((run / "checkpoints").glob(f"{CORRUPT}*"))
    except OSError:
        return []


def read_checkpoint(
    folder: Path, run_identity: Identity | None, invariants: Mapping[str, Invariant] = NONE
) -> Checkpoint:
    """Read and verify a checkpoint.

    Parameters
    ----------
    folder : Path
    run_identity : Identity or None
        Identity of the run's configuration, or None to skip that check.
    invariants : mapping
        Additional conditions on the arrays, by pattern of array names; all floats must be finite in
        any case.

    Raises
    ------
    DamagedError
        If a check fails; the message names the file and the check.
    MismatchError
        If the checkpoint is undamaged but belongs to another configuration.
    CheckpointError
        If the checkpoint was written by a newer sgmc, or cannot be opened by this user.
    """
    manifest = read_manifest(folder)
    parts = []
    for name, written in digests(manifest, "files").items():
        try:
            parts.append(
                load(
                    folder / name,
                    written,
                    lambda name, array: violation(name, array, invariants, finite=True),
                )
            )
        except OSError as error:
            raise damage(folder / name, error) from error
    described = {name: entry for part in parts for name, entry in part.described.items()}
    if described != manifest["tensors"] or len(described) != sum(map(len, parts)):
        raise DamagedError(
            f"{folder / STATE}: names, types or shapes of arrays differ from the list in the "
            "checkpoint"
        )
    if run_identity is not None and (
        manifest["identity"] != run_identity.digest
        or Identity(manifest["config"]).digest != run_identity.digest
    ):
        summary = (
            f"{folder}: the configuration of the checkpoint differs from config.json; restore "
            "config.json, or start a new run with another --out. Different:"
        )
        raise MismatchError(mismatch(summary, manifest["config"], run_identity.fields))
    # If this process does not hold the lock, another process may have deleted the folder by now.
    # That is no error, because the arrays are verified.
    with contextlib.suppress(OSError):
        extra = {entry.name for entry in folder.iterdir()} - {*manifest["files"], MANIFEST}
        if extra:
            logger.warning(
                "%s: ignored files that sgmc did not write: %s", folder, ", ".join(sorted(extra))
            )
    return Checkpoint(manifest["step"], JoinedArrays(*parts), manifest["meta"], folder)


def newest(
    run: Path, run_identity: Identity, *, required: bool, invariants: Mapping[str, Invariant] = NONE
) -> tuple[Checkpoint | None, list[tuple[Path, str]]]:
    """Return the newest undamaged checkpoint, and the problems of newer, damaged checkpoints.

    Parameters
    ----------
    run : Path
    run_identity : Identity
        Identity of the run's configuration.
    required : bool
        True to raise an error even if the run has no checkpoint at all.
    invariants : mapping
        As for `read_checkpoint`.

    Raises
    ------
    CheckpointError
        If checkpoints exist but none is usable, or if none exists although one is required.
    MismatchError
        If the newest undamaged checkpoint belongs to another configuration.
    """
    for _ in range(5):
        damaged: list[tuple[Path, str]] = []
        vanished = False
        for _step, folder in checkpoint_folders(run):
            try:
                checkpoint = read_checkpoint(folder, run_identity, invariants)
            except DamagedError as error:
                # If this process does not hold the lock, another process may have deleted this
                # checkpoint, because newer ones exist.
                if folder.exists():
                    damaged.append((folder, str(error)))
                else:
                    vanished = True
                continue
            return checkpoint, damaged
        if not vanished:
            break
    problems = [problem for _, problem in damaged]
    problems += [
        f"{path}: was found damaged at an earlier start" for path in damaged_checkpoints(run)
    ]
    if problems:
        raise CheckpointError(
            "\n".join(
                [
                    f"{run}: no checkpoint is usable; restore one from a backup, or start a new "
                    "run with another --out. Problems:",
                    *(f"  {problem}" for problem in problems),
                ]
            )
        )
    if required:
        raise CheckpointError(f"{run}: has no checkpoint; start again without --resume")
    return None, []


def list_checkpoints(
    path: Path, *, verify: bool = False, invariants: Mapping[str, Invariant] = NONE
) -> list[CheckpointReport]:
    """Return reports on a run's checkpoints, oldest first, even while the run is training.

    Old checkpoints that the run deletes in the meantime are left out, because they are not damaged.

    Parameters
    ----------
    path : Path
    verify : bool
        True to read every byte of each checkpoint, and not only the manifests.
    invariants : mapping
        As for `verify_checkpoint`.

    Raises
    ------
    MissingInputError
        If the run is missing.
    """
    if not is_file(path / "config.json"):
        raise MissingInputError(f"{path}: is not a run (it has no config.json); check the path")
    for _ in range(5):
        reports = [
            _report(step, folder, whole=verify, invariants=invariants)
            for step, folder in checkpoint_folders(path)
        ]
        # Leave out old checkpoints that the run has deleted in the meantime. If all are deleted,
        # the run has written newer ones, so try again.
        existing = [r for r in reversed(reports) if r.problem is None or r.path.exists()]
        if existing or not reports:
            break
    return existing


def verify_checkpoint(path: Path, invariants: Mapping[str, Invariant] = NONE) -> CheckpointReport:
    """Read every byte of a checkpoint and report the first problem; no file is changed.

    Parameters
    ----------
    path : Path
        The folder ``.../checkpoints/step-NNNNNNNN``.
    invariants : mapping
        Additional conditions on its arrays, by pattern of array names; all floats must be finite in
        any case.

    Raises
    ------
    MissingInputError
        If the folder is missing.
    """
    step = parse_step(path.name)
    if step is None or not is_folder(path):
        raise MissingInputError(
            f"{path}: is not a checkpoint (a folder called step-NNNNNNNN); check the path"
        )
    return _report(step, path, whole=True, invariants=invariants)


def _report(
    step: int, folder: Path, *, whole: bool, invariants: Mapping[str, Invariant]
) -> CheckpointReport:
    report = CheckpointReport(step, folder, None, "", 0, {}, {}, verified=False)
    try:
        manifest = read_manifest(folder)
        report = report._replace(
            written=str(manifest["written"]),
            size=sum(written.size for written in digests(manifest, "files").values()),
            tensors=manifest["tensors"],
            meta=manifest["meta"],
        )
        if whole:
            read_checkpoint(folder, None, invariants)
            return report._replace(verified=True)
        for name, written in digests(manifest, "files").items():
            path = folder / name
            if path.stat(follow_symlinks=False).st_size != written.size:
                return report._replace(problem=f"{path}: the size differs from the manifest")
    except (DamagedError, CheckpointError) as error:
        return report._replace(problem=str(error))
    except OSError as error:
        return report._replace(problem=f"{error.filename or folder}: {error.strerror or error}")
    return report


# ---- manifests


def seal(content: dict[str, Any]) -> bytes:
    """Format a manifest: return the bytes of the content, with a digest of the content.

    Raises
    ------
    ValueError
        If a value cannot be represented in JSON, for instance NaN.
    """
    content = jsonio.plain(content, where="manifest")
    digest = hashlib.sha256(jsonio.pretty(content)).hexdigest()
    return jsonio.pretty({**content, "digest": digest})


#: Pattern of the manifest's line with the digest, and of a comma after it.
_DIGEST = re.compile(rb'\n  "digest": "([0-9a-f]{64})"(,?)')


def unseal(path: Path, data: bytes) -> dict[str, Any]:
    """Verify a manifest, and return its content.

    Raises
    ------
    DamagedError
        If any byte was changed.
    """
    try:
        content = jsonio.parse(data)
        if not isinstance(content, dict):
            raise ValueError("not a table")
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: {error}") from None
    if match := _DIGEST.search(data):
        # The digest was computed from the manifest before `seal` added the digest.
        before, after = data[: match.start()], data[match.end() :]
        rest = (before if match[2] else before.removesuffix(b",")) + after
        if content.pop("digest", None) == match[1].decode() == hashlib.sha256(rest).hexdigest():
            return content
    raise DamagedError(f"{path}: the content does not match its recorded checksum")


def digests(manifest: Mapping[str, Any], table: str) -> dict[str, Written]:
    """Return file sizes and digests, by file name, from a table of a checkpoint's manifest."""
    return {name: Written(e["size"], e["sha256"]) for name, e in manifest[table].items()}


def newest_digests(run: Path, table: str) -> dict[str, Written]:
    """Return file sizes and digests, by file name, from the newest undamaged manifest."""
    for _, folder in checkpoint_folders(run):
        with contextlib.suppress(DamagedError, CheckpointError):
            return digests(read_manifest(folder), table)
    return {}


def warn_of_changed(run: Path, name: str) -> None:
    """Warn once if an append-only file differs from its digest in the newest checkpoint."""
    path = run / name
    written = newest_digests(run, "append").get(name)
    if written is None or path in _warned:
        return
    try:
        problem = (
            ""
            if digest_of(path, written.size) == written
            else "the file was changed by another program"
        )
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
    if problem:
        _warned.add(path)
        logger.warning("%s: %s; results from it may be wrong; restore it", path, problem)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check a checkpoint's manifest.

    Raises
    ------
    DamagedError
        If the manifest is missing, damaged, or belongs to another checkpoint.
    CheckpointError
        If the manifest is undamaged but was written by a newer sgmc, or if this user cannot open
        it.
    """
    path = folder / MANIFEST
    try:
        if folder.is_symlink():
            raise DamagedError(f"{folder}: is a symbolic link")
        data = read_small(path)
    except OSError as error:
        raise damage(path, error) from error
    content = unseal(path, data)
    if content.get("format") != FORMAT:
        raise DamagedError(f"{path}: has the unknown format {content.get('format')!r}")
    needed = content.get("min_reader")
    if type(needed) is int and needed > SCHEMA:
        raise CheckpointError(
            f"{path}: was written by sgmc {content.get('sgmc')} and cannot be read by sgmc "
            f"{RELEASE}; update sgmc, or start a new run with another --out"
        )
    missing = _KEYS - content.keys()
    if missing or type(needed) is not int:
        raise DamagedError(f"{path}: lacks {', '.join(sorted(missing)) or 'a schema number'}")
    if not all(isinstance(content[name], dict) for name in _TABLES):
        raise DamagedError(f"{path}: an entry is not a JSON object")
    if content["step"] != folder_step(folder.name):
        raise DamagedError(
            f"{path}: records step {content['step']}, but is in the folder {folder.name}"
        )
    for name in content["files"]:
        if name not in (STATE, TRAINING):
            raise DamagedError(f"{path}: lists an unknown file {str(name)[:80]!r}")
    if STATE not in content["files"]:
        raise DamagedError(f"{path}: does not list {STATE}")
    for table in ("files", "append", "samples"):
        for entry in content[table].values():
            record = entry if isinstance(entry, dict) else {}
            size, digest = record.get("size"), record.get("sha256")
            if type(size) is not int or not 0 <= size < 1 << 62 or not isinstance(digest, str):
                raise DamagedError(f"{path}: the size or digest of a file is not valid")
    return content


def damage(path: Path, error: OSError) -> Exception:
    """Convert a failed read to a `DamagedError`, or `CheckpointError` if the file may be intact."""
    reason = error.strerror or str(error)
    if isinstance(error, _BROKEN):
        return DamagedError(f"{path}: {reason}")
    # EIO indicates a bad sector. The other error codes indicate that sgmc did not write this file.
    if error.errno in (errno.EIO, errno.EINVAL, errno.ELOOP, errno.ENXIO, errno.EFBIG):
        return DamagedError(f"{path}: {reason}")
    return CheckpointError(f"{path}: cannot be read: {reason}; make it readable, then try again")
