"""Runs of several ranks under the launcher of the ``mpich`` wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fork_server
from command_words import typed
from fork_server import SGMC

from pysgrld.run import RunDirectory
from pysgrld.run.files import digest_of

MPIEXEC = Path(sys.executable).with_name("mpiexec")
MAIN = Path(__file__).with_name("rank_main.py")

#: A run of 12 iterations, three of them of the warm-up, with checkpoints at 4, 8 and 12.
SMALL = {
    "topics": 4, "minibatch": 10, "sweeps": 2, "warm-up": 3, "burn-in": 4, "sample-every": 2, "seed": 3,
    "iterations": 12, "keep": 3, "holdout": 10, "starts": 1, "min-df": 1, "stop-words": "none",
    "eval-every": "1h", "checkpoint-every": 4, "threads": 1,
}  # fmt: skip


class Ended:
    """How a launch ended: the launcher's exit code, and the output of all ranks."""

    def __init__(self, code: int, said: str) -> None:
        self.code, self.said = code, said

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.said}"


def words(*, corpus="corpus.txt", out="run", **options):
    """Return the arguments of ``sgmc`` for a run with the options that `train` describes."""
    given = SMALL | {name.replace("_", "-"): value for name, value in options.items()}
    return ["train", str(corpus), "--out", str(out), *typed(given)]


def train(
    ranks,
    folder,
    *,
    corpus="corpus.txt",
    out="run",
    act=("-1", "none", "0"),
    timeout=200,
    then=(),
    **options,
):
    """Train a small run in a folder with a corpus, in one process without MPI if ranks is 0.

    ``options`` are added to `SMALL`, with _ for -, or taken out of it where None. The same ranks train
    what is listed in ``then`` when they have ended a run.
    """
    command = words(corpus=corpus, out=out, **options)
    if not ranks:
        ended = fork_server.shared().run([SGMC, *command], folder, text=True, seconds=timeout)
        return Ended(ended.returncode, ended.stdout + ended.stderr)
    env = {
        name: v
        for name, v in os.environ.items()
        if not name.startswith(("PMI_", "OMPI_COMM_", "SLURM_"))
    }
    launch = [MPIEXEC, "-n", str(ranks), sys.executable, MAIN, *map(str, act)]
    ended = subprocess.run(
        [*map(str, launch), *command, "--mpi"]
        + [word for more in then for word in ("--then", *words(**more), "--mpi")],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout)


def state(run, step=12):
    """Return the SHA-256 of the state after the given iteration."""
    return digest_of(run / "checkpoints" / f"step-{step:08d}" / "state.safetensors").sha256


def newest(run):
    """Return the iterations of the latest checkpoint, which must verify."""
    found = RunDirectory.open(run).load_checkpoint(required=False)
    return found.step if found else 0
