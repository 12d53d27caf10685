"""What two runs must have in common, and which files a run may leave."""

from __future__ import annotations

import hashlib

from pysgrld.run import RunDirectory, list_checkpoints, verify_checkpoint
from pysgrld.run.jsonio import read_lines
from pysgrld.run.ownership import LIST

#: Keys of a line of metrics that a clock or the system writes.
TIMES = ("train_seconds", "wait_seconds", "tokens_per_second", "rss_bytes")


def record(run):
    """Return all parts of a run that must be bit-identical."""
    newest = max((run / "checkpoints").glob("step-*"))
    paths = [newest / "state.safetensors", *sorted((run / "samples").iterdir())]
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}
    found["step"] = newest.name
    return found


def metrics(run):
    """Return the lines of metrics without times and speeds."""
    lines = RunDirectory.open(run).read_metrics()
    return [{k: v for k, v in line.items() if k not in TIMES} for line in lines]


def exported(forks, run):
    """Return the digest of the topics written by ``sgmc export``."""
    out = run.with_name(f"{run.name}-export")
    forks("export", run, "--to", "npy", "-o", out, "--force")
    return hashlib.sha256((out / "topics.npy").read_bytes()).hexdigest()


def events(run, name=None):
    """Return the events of ``log.jsonl``, with one name or all."""
    return [e for e in read_lines(run / "log.jsonl") if name in (None, e["event"])]


def acknowledged(run):
    """Return the step of the latest checkpoint in the log, or 0."""
    return max((e["step"] for e in events(run, "checkpoint")), default=0)


def check_intact(run):
    """Check that the latest acknowledged checkpoint, or a later one, verifies.

    Gives its step, 0: none yet.
    """
    said = acknowledged(run)
    there = [r.step for r in list_checkpoints(run)]
    newest = max(there, default=0)
    assert newest >= said, f"step {said} was acknowledged, {newest} is there"
    if newest:
        report = verify_checkpoint(run / "checkpoints" / f"step-{newest:08d}")
        assert report.problem is None, report.problem
    return newest


def left_behind(folder):
    """Return the names of unfinished work anywhere below a folder."""
    return sorted(
        str(p.relative_to(folder))
        for p in folder.rglob(".*")
        if ".dropped-" not in p.name and p.name != LIST  # of an export that is whole
    )
