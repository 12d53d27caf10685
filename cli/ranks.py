"""``sgmc train --mpi``: a command that several processes run together, and one of them speaks for."""

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

#: Seconds that a process waits for others where nothing was said.
PATIENCE = 1800.0
#: Seconds for the launcher to pass on what a process has said before all are ended: it drops the rest.
PASSED_ON = 0.5


class Mute(Screen):
    """Tells nobody: the screen of all ranks but the first."""

    def _line(self, *_: Any, **__: Any) -> None:
        pass


@contextlib.contextmanager
def over_ranks(timeout: float | None, threads: int | None) -> Iterator[Ranks]:
    """Make one team of all processes of an MPI launch, which end alike.

    The first one says what is wrong, whoever has failed. What nobody has foreseen is said by whom it
    happens to, and ends all.

    Raises
    ------
    LaunchError
        If there is no MPI, or not the launcher's.
    """
    try:
        from pysgrld.chain.mpi import Ranks
    except ModuleNotFoundError:
        raise LaunchError(
            "--mpi needs mpi4py: pip install mpi4py for the MPI of this cluster, or pip install mpi4py "
            "mpich for one that comes along"
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
        code, text = explain(error)
        with contextlib.suppress(OSError):
            lines = "".join(f"[{comm.names[comm.rank]}] {line}\n" for line in text.splitlines())
            os.write(2, lines.encode())
        time.sleep(PASSED_ON)
        comm.abort(code)
