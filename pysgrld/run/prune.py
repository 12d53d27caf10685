"""Deletion of checkpoints that finished runs no longer need."""

from __future__ import annotations

from pathlib import Path

from pysgrld.run.checkpoint_read import checkpoint_folders
from pysgrld.run.checkpoint_write import remove_older
from pysgrld.run.directory import RunDirectory


def prune(path: Path) -> int:
    """Delete all checkpoints of a finished run, except the newest undamaged checkpoint.

    Parameters
    ----------
    path : Path
        Folder of a run. A run that is not finished is not changed.

    Returns
    -------
    int
        Number of checkpoints deleted.

    Raises
    ------
    SgmcError
        If the run cannot be read, another process writes to it, or it has no undamaged checkpoint.
    """
    run = RunDirectory.open(path)
    before = checkpoint_folders(path)
    if run.status.get("state") != "finished" or len(before) < 2:
        return 0
    with run.lock():
        newest = run.load_checkpoint(required=True)
        assert newest is not None
        remove_older(newest.path, 1)
    return len(before) - len(checkpoint_folders(path))
