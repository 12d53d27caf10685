"""Start of ``sgmc train --mpi``, in which several MPI processes run a command together."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from pysgrld.errors import LaunchError, SgmcError

from . import explain
from .progress import Screen

if TYPE_CHECKING:
    from pysgrld.chain.mpi import Ranks

#: Default of the setting ``rank-timeout``, the number of seconds to wait for another process.
PATIENCE = 1800.0
#: Seconds for which all processes wait after an error, so that the launcher can print the error.
PASSED_ON = 0.5


class Mute(Screen):
    """Screen that prints nothing, for all MPI processes except the first."""

    def _line(self, *_: Any, **__: Any) -> None:
        pass


@contextlib.contextmanager
def over_ranks(timeout: float | None, threads: int | None) -> Iterator[Ranks]:
    """Connect all processes of an MPI launch; after an error, all of them exit with the same code.

    Rank 0 reports an expected error (`SgmcError`) of any rank. The rank in which an unexpected
    error occurs reports the error and ends all ranks.

    Raises
    ------
    LaunchError
        If MPI is missing, or differs from the launcher's.
    """
    try:
        from pysgrld.chain.mpi import Ranks
    except ModuleNotFoundError:
        raise LaunchError(
            "--mpi needs the package mpi4py: pip install mpi4py; if this machine has no MPI "
            "library, pip install mpi4py mpich"
        ) from None
    from pysgrld.run.machine import threads as allowed

    comm = Ranks(timeout or PATIENCE, allowed(threads).number)
    try:
        try:
            yield comm
        except SgmcError as error:
            comm.fail(error)
    except SgmcError as error:
        if comm.rank == 0:
            raise
        raise click.exceptions.Exit(error.exit_code) from None
    except BaseException as error:
        if comm.size == 1:
            raise
        explanation = explain(error)
        with contextlib.suppress(OSError):
            lines = "".join(
                f"[{comm.names[comm.rank]}] {line}\n" for line in explanation.line.splitlines()
            )
            os.write(2, lines.encode())
        time.sleep(PASSED_ON)
        comm.abort(explanation.code)
