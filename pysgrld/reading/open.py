"""Finding the run that a person means, and opening it for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.reading.results import Results
from pysgrld.run import chains_of, latest_run
from pysgrld.run.choose import ROOT
from pysgrld.run.create import is_run


def find_folder(name: str | None, root: Path = ROOT, *, chains: bool = False) -> Path:
    """Find the folder of the run that a person means: a folder, a name under ``root``, or the latest.

    Of a folder of chains it is that of the first one, unless ``chains`` are wanted: then it is the
    folder of them all.

    Raises
    ------
    MissingInputError
        If there is no such run.
    """
    if name is None:
        path = latest_run(root)
        return path if chains or is_run(path) else chains_of(path)[0]
    for path in (Path(name), root / name):
        with contextlib.suppress(OSError, ValueError):
            if is_run(path):
                return path
            if several := chains_of(path):
                return path if chains else several[0]
    raise MissingInputError(
        f"{name}: is not a run (it has no config.json); check the path, or "
        "take one that 'sgmc runs' lists"
    )


def open_run(
    name: str | Path | None, threads: int, reading: Mapping[str, Any] | None = None
) -> Results:
    """Open the run that a person means, as `find_folder` does; the others are those of `Results`.

    Raises
    ------
    MissingInputError
        If there is no such run, or it cannot be read.
    """
    return Results(find_folder(None if name is None else str(name)), threads, reading)


def open_chains(
    name: str | Path | None,
    threads: int,
    reading: Mapping[str, Any] | None = None,
    missing: Callable[[str], None] = lambda line: None,
) -> list[Results]:
    """Open the chains, by number, of the run that a person means: those that have a checkpoint.

    Parameters
    ----------
    name, threads, reading
        As `open_run` has them.
    missing : callable, optional
        Told in a line of every chain that is left out.

    Raises
    ------
    MissingInputError
        If there is no such run, or it cannot be read.
    CheckpointError
        If no chain has a checkpoint that can be read.
    """
    folder = find_folder(None if name is None else str(name), chains=True)
    found, refused = [], {}
    for path in chains_of(folder) or [folder]:
        results = Results(path, threads, reading)
        try:
            results.checkpoint  # noqa: B018 - reads it
        except CheckpointError as error:
            refused[path.name] = error
        else:
            found.append(results)
    if not found:
        raise next(iter(refused.values()))
    for name in refused:
        missing(f"{name}: has no checkpoint that can be read, and is left out")
    return found
