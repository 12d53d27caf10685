"""Opening a run for reading: which kind of results its model has."""

from __future__ import annotations

from pathlib import Path

from pysgrld.mixture_results import MixtureResults
from pysgrld.results import Results, find
from pysgrld.run import RunDirectory

#: Models whose results are of another kind.
KINDS = {"dpmm": MixtureResults}


def opened(name: str | Path | None, threads: int) -> Results:
    """Open the run that a person means, as `pysgrld.results.find` does.

    Raises
    ------
    MissingInputError
        If there is no such run, or it cannot be read.
    """
    path = find(None if name is None else str(name))
    model = RunDirectory.open(path).config["options"]["model"]
    return KINDS.get(model, Results)(path, threads)
