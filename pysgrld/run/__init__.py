"""Run directories, which store training runs so that they can be resumed later.

docs/run-directory.md describes the files of a run directory.
"""

from __future__ import annotations

from pysgrld.run.chain_folders import chain_number, chain_path, find_chains
from pysgrld.run.checkpoint_read import (
    Checkpoint,
    CheckpointReport,
    list_checkpoints,
    verify_checkpoint,
)
from pysgrld.run.choose import Candidate, Decision, claim, decide, find_run, latest_run, set_latest
from pysgrld.run.directory import RunDirectory
from pysgrld.run.machine import boot_clock, process_start
from pysgrld.run.signals import SecondInterrupt, StopFlag

__all__ = [
    "Candidate",
    "Checkpoint",
    "CheckpointReport",
    "Decision",
    "RunDirectory",
    "SecondInterrupt",
    "StopFlag",
    "boot_clock",
    "chain_number",
    "chain_path",
    "claim",
    "decide",
    "find_chains",
    "find_run",
    "latest_run",
    "list_checkpoints",
    "process_start",
    "set_latest",
    "verify_checkpoint",
]
