"""The manifest of a checkpoint: what it is, and a digest of every byte, its own included.

The file is the canonical JSON of its content. So a changed byte anywhere in it either is not
canonical any more or does not agree with the field ``digest``. That envelope is the same in every
schema to come: only inside a manifest that is known to be whole is a newer schema believed.
"""

from __future__ import annotations

import errno
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError
from pysgrld.run import jsonio
from pysgrld.run.files import Written, folder_step, read_small
from pysgrld.run.tensors import DamagedError

FORMAT = "sgmc-checkpoint"
SCHEMA = 1

MANIFEST = "manifest.json"
STATE = "state.safetensors"

#: Errors of the system that say something about the file and not about this machine now.
_BROKEN = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

_KEYS = {
    "format",
    "schema",
    "min_reader",
    "sgmc",
    "written",
    "step",
    "identity",
    "config",
    "files",
    "tensors",
    "append",
    "samples",
    "meta",
}


def release() -> str:
    """Return the version of this package."""
    try:
        return version("pysgrld")
    except PackageNotFoundError:
        return "unreleased"


def seal(content: dict[str, Any]) -> bytes:
    """Return the bytes of the manifest with this content.

    Raises
    ------
    ValueError
        If something in it is no plain JSON, NaN for instance.
    """
    content = jsonio.plain(content, where="manifest")
    digest = hashlib.sha256(jsonio.pretty(content)).hexdigest()
    return jsonio.pretty({**content, "digest": digest})


def unseal(path: Path, data: bytes) -> dict[str, Any]:
    """Return the content of a manifest.

    Raises
    ------
    DamagedError
        If any byte is not as it was written.
    """
    try:
        content = jsonio.parse(data)
        if not isinstance(content, dict):
            raise ValueError("not a table")
        canonical = jsonio.pretty(content)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: {error}") from None
    digest = content.pop("digest", None)
    if canonical != data or digest != hashlib.sha256(jsonio.pretty(content)).hexdigest():
        raise DamagedError(f"{path}: digest differs from what was written")
    return content


def written_from(path: Path, entry: Any) -> Written:
    """Return the size and digest that a manifest gives of a file.

    Raises
    ------
    DamagedError
        If they are none.
    """
    if isinstance(entry, dict):
        size, digest = entry.get("size"), entry.get("sha256")
        if type(size) is int and 0 <= size < 1 << 62 and isinstance(digest, str):
            return Written(size, digest)
    raise DamagedError(f"{path}: size or digest of a file")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a checkpoint.

    Raises
    ------
    DamagedError
        If it is missing, damaged, or that of another checkpoint.
    CheckpointError
        If it is whole but was written by a newer sgmc, or cannot be opened by this user.
    """
    path = folder / MANIFEST
    try:
        if folder.is_symlink():
            raise DamagedError(f"{folder}: a symbolic link")
        data = read_small(path)
    except OSError as error:
        raise damage(path, error) from error
    content = unseal(path, data)
    if content.get("format") != FORMAT:
        raise DamagedError(f"{path}: format {content.get('format')!r}")
    needed = content.get("min_reader")
    if type(needed) is int and needed > SCHEMA:
        raise CheckpointError(
            f"{path}: written by sgmc {content.get('sgmc')}, needs >= {content.get('sgmc')}; this "
            f"is {release()}: update it, or start anew with another --out"
        )
    _check(path, content)
    return content


def _check(path: Path, content: dict[str, Any]) -> None:
    missing = _KEYS - content.keys()
    if missing or type(content["min_reader"]) is not int:
        raise DamagedError(f"{path}: lacks {', '.join(sorted(missing)) or 'a schema number'}")
    tables = ("config", "files", "tensors", "append", "samples", "meta")
    if not all(isinstance(content[name], dict) for name in tables):
        raise DamagedError(f"{path}: a table is none")
    if content["step"] != folder_step(path.parent.name):
        raise DamagedError(f"{path}: says step {content['step']}, lies in {path.parent.name}")
    for name in content["files"]:
        if name != STATE:
            raise DamagedError(f"{path}: names a file {str(name)[:80]!r}")
    if STATE not in content["files"]:
        raise DamagedError(f"{path}: names no {STATE}")
    for table in ("files", "append", "samples"):
        for entry in content[table].values():
            written_from(path, entry)


def damage(path: Path, error: OSError) -> Exception:
    """Return the error for a failed read: the file is damaged, or cannot be read now."""
    reason = error.strerror or str(error)
    if isinstance(error, _BROKEN):
        return DamagedError(f"{path}: {reason}")
    # EIO: a bad sector. EINVAL, ELOOP, ENXIO, EFBIG: not the kind of file that was written.
    if error.errno in (errno.EIO, errno.EINVAL, errno.ELOOP, errno.ENXIO, errno.EFBIG):
        return DamagedError(f"{path}: {reason}")
    return CheckpointError(f"{path}: cannot be read: {reason}; make it readable, then try again")
