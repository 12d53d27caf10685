"""Deletion of checkpoints that finished runs no longer need."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path
from typing import NamedTuple

from pysgrld.run.checkpoint_read import checkpoint_folders
from pysgrld.run.checkpoint_write import remove_older
from pysgrld.run.directory import RunDirectory


class Pruned(NamedTuple):
    """Number of deleted checkpoints, and number of bytes of disk space that were freed."""

    checkpoints: int
    bytes: int


def prune(path: Path) -> Pruned:
    """Delete all checkpoints of a finished run, except the newest undamaged checkpoint.

    Parameters
    ----------
    path : Path
        Folder of a run. A run that is not finished is not changed.

    Returns
    -------
    Pruned

    Raises
    ------
    SgmcError
        If the run cannot be read, another process writes to it, or it has no undamaged checkpoint.
    """
    run = RunDirectory.open(path)
    before = checkpoint_folders(path)
    if run.status.get("state") != "finished" or len(before) < 2:
        return Pruned(0, 0)
    with run.lock():
        newest = run.load_checkpoint(required=True)
        assert newest is not None
        used = _disk_usage(path)
        remove_older(newest.path, 1)
    return Pruned(len(before) - len(checkpoint_folders(path)), max(0, used - _disk_usage(path)))


def _disk_usage(folder: Path) -> int:
    """Return the number of bytes of a folder's files; several links to a file count once."""
    sizes = {}
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            about = file.lstat()
            if stat.S_ISREG(about.st_mode):
                sizes[about.st_dev, about.st_ino] = about.st_size
    return sum(sizes.values())
