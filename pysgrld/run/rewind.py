"""Going back: metrics and samples as they were when a checkpoint was written."""

from __future__ import annotations

from pathlib import Path

from pysgrld.errors import CheckpointError
from pysgrld.run import journal
from pysgrld.run.checkpoint_read import Checkpoint
from pysgrld.run.checkpoint_write import restore_replaced
from pysgrld.run.create import CHECKPOINTS, METRICS
from pysgrld.run.files import Written, digest_of, remove_stale, writing
from pysgrld.run.manifest import read_manifest, written_from
from pysgrld.run.samples import Samples
from pysgrld.run.tensors import DamagedError


def _check_metrics(file: Path, expected: Written) -> None:
    try:
        found = digest_of(file, expected.size)
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read: {error.strerror}") from error
    if found != expected:
        raise CheckpointError(
            f"{file}: was edited since the checkpoint was written; restore it, or start anew with "
            "another --out"
        )


def rewind(run: Path, samples: Samples, checkpoint: Checkpoint | None) -> list[str]:
    """Go back to a checkpoint, or to the beginning; return the names of samples that are gone.

    Nothing is changed before everything was verified. Each change can be made twice, so a rewind
    that was stopped on the way is finished by the next one.

    Raises
    ------
    CheckpointError
        If a file was edited since.
    WriteError
        If a file cannot be cut, renamed or deleted.
    """
    size = 0
    table: dict[str, Written] = {}
    missing: list[str] = []
    if checkpoint is not None:
        try:
            manifest = read_manifest(checkpoint.path)
            metrics = written_from(checkpoint.path, manifest["append"].get(METRICS))
            for name, entry in manifest["samples"].items():
                table[name] = written_from(checkpoint.path, entry)
        except DamagedError as error:
            raise CheckpointError(str(error)) from None
        size = metrics.size
        _check_metrics(run / METRICS, metrics)
        missing = samples.check(table)
    with writing(run):
        journal.truncate(run / METRICS, size, "metrics")
        samples.rewind(table)
        restore_replaced(run)
        for folder in (run, run / CHECKPOINTS, samples.folder):
            remove_stale(folder, "stale")
    return missing
