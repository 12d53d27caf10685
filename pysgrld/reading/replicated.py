"""Replicates that found each topic of a run, stored in the run's file ``replication.json``.

Replicates are new runs on halves of the documents (`pysgrld.train.replication`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pysgrld.errors import CorpusError
from pysgrld.options.option import Resolved
from pysgrld.options.paths import read_input
from pysgrld.reading.results import Results
from pysgrld.run import jsonio
from pysgrld.run.output_files import open_output

#: Name of the file in a run's folder.
REPLICATION = "replication.json"
#: Minimum number of replicates whose counts are stored. Fewer do not tell how reliable a topic is.
ENOUGH = 4
#: Maximum number of replicates.
MOST = 100
#: Maximum number of bytes of the file.
LARGEST = 16 << 20


class Replicated(NamedTuple):
    """Number of replicates, and number of replicates that found each topic.

    Attributes
    ----------
    replicates : int
    times : tuple of int
        For each topic of the run.
    """

    replicates: int
    times: tuple[int, ...]


def can_replicate(options: Resolved) -> bool:
    """Return True if a model can be trained again on halves of the documents: if it is LDA.

    Parameters
    ----------
    options : Resolved
        Options of the run.

    Returns
    -------
    bool
        False for several layers of topics, topics that change with time, mixtures, and directions.
    """
    return options.starts is not None and options.slicing is None and len(options.widths) == 1


def write_replicated(results: Results, times: Sequence[int], replicates: int) -> None:
    """Store which topics replicates found; the record of former replicates is replaced.

    Parameters
    ----------
    results : Results
        A single run.
    times : sequence of int
        Number of replicates that found each topic.
    replicates : int

    Raises
    ------
    CorpusError
        If the run's folder has another file of this name.
    MissingInputError
        If the former record exists but cannot be read.
    OutputError, WriteError
        If the file cannot be written.
    """
    path = results.path / REPLICATION
    if os.path.lexists(path):
        _read_record(path)
    record = {
        "found": [int(number) for number in times],
        "replicates": replicates,
        "step": results.checkpoint.step,
    }
    with open_output(path) as file:
        file.write(jsonio.format_sealed(record))


def read_replicated(results: Results, layer_index: int = 0) -> Replicated | None:
    """Read which topics of a run replicates found.

    Parameters
    ----------
    results : Results
    layer_index : int
        The layer, counted from 0.

    Returns
    -------
    Replicated or None
        None if there were no replicates, if the run was trained further since, or if the topics are
        means over several chains.

    Raises
    ------
    CorpusError
        If the file has wrong content.
    MissingInputError
        If the file exists but cannot be read.
    """
    path = results.path / REPLICATION
    if layer_index or len(results.chains) > 1 or not os.path.lexists(path):
        return None
    replicated, step = _read_record(path)
    if step != results.checkpoint.step:
        return None
    if len(replicated.times) != results.fitted.layers[0]:
        raise _wrong(path)
    return replicated


def _read_record(path: Path) -> tuple[Replicated, int]:
    """Read the counts, and the iteration of the run to which they belong."""
    try:
        record = jsonio.parse_sealed(read_input(path, LARGEST, "record of replicates"), path)
        times, replicates, step = (record[name] for name in ("found", "replicates", "step"))
        numbers = [replicates, step, *times]
    except (ValueError, KeyError, TypeError):
        raise _wrong(path) from None
    is_valid = all(type(number) is int for number in numbers) and 0 < replicates <= MOST
    if not is_valid or not all(0 <= number <= replicates for number in times):
        raise _wrong(path)
    return Replicated(replicates, tuple(times)), step


def _wrong(path: Path) -> CorpusError:
    return CorpusError(
        "is not a record of replicates; move it, and repeat 'sgmc diagnose --replicate N'", path
    )
