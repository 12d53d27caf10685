"""The place of this process in an MPI launch, as the launcher says it in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from pysgrld.errors import LaunchError, UsageError

#: Variables of launchers, the one that is nearest to the process first: Open MPI, MPICH and Intel MPI
#: (also under ``srun --mpi=pmi2``), SLURM.
_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class Launch(NamedTuple):
    """The number of this process in a launch, from 0, and how many were started."""

    rank: int
    size: int


def launch(environment: Mapping[str, str] | None = None) -> Launch:
    """Give the place of this process in an MPI launch, as the launcher has it; alone without one."""
    environment = os.environ if environment is None else environment
    for rank, size in _VARIABLES:
        if (found := environment.get(size, "")).isdigit() and int(found):
            number = environment.get(rank, "")
            return Launch(int(number) if number.isdigit() else 0, int(found))
    return Launch(0, 1)


def refuse_launch(found: Launch) -> None:
    """Refuse to be one of several processes that know nothing of each other.

    Raises
    ------
    UsageError
    """
    if found.size > 1:
        raise UsageError(
            f"this is process {found.rank + 1} of {found.size} of an MPI launch: give --mpi to train "
            "one chain over all of them, or --chain-id and --out to each for chains of their own"
        )


def check_launch(found: Launch, size: int, library: str) -> None:
    """Refuse a launcher of another library: each process would think that it is alone.

    Parameters
    ----------
    found : Launch
        As the launcher has it.
    size : int
        Processes that the library sees.
    library : str
        Its name and version.

    Raises
    ------
    LaunchError
    """
    if found.size != size:
        raise LaunchError(
            f"--mpi: the launcher started {found.size} processes, the library ({library}) sees {size}: "
            "use the mpiexec of that library, or 'srun --mpi=pmi2' or '--mpi=pmix', as it was built"
        )
