"""Types and functions common to all experiments: settings, report, and CSV files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pysgrld.errors import OutputError, Severity, UsageError
from pysgrld.options.paths import is_folder, list_folder
from pysgrld.run.layout import claim_outputs
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import LIST, foreign, is_marked


class ExperimentSetting(NamedTuple):
    """Options of ``sgmc reproduce`` that every experiment receives.

    Attributes
    ----------
    out : Path
        Existing folder for the results.
    quick : bool
        Whether to use few data and few iterations, as a check that the experiment works, not for
        comparison.
    seed : int
    threads : int
    pictures : bool
        Whether to write PNG files; matplotlib is installed if True.
    seeds : int
        Number of repetitions, with seeds ``seed``, ``seed + 1``, ...
    rows : tuple of str
        Patterns of the rows to run; all rows if empty.
    seconds : float or None
        Training time after which a row ends, in seconds.
    """

    out: Path
    quick: bool = False
    seed: int = 0
    threads: int = 1
    pictures: bool = True
    seeds: int = 1
    rows: tuple[str, ...] = ()
    seconds: float | None = None


class Report(NamedTuple):
    """Result of an experiment: a table, sentences about it, and files.

    Attributes
    ----------
    head : tuple of str
        Columns of the table.
    rows : list of tuple
        Numbers, text, or None for a missing value.
    sentences : list of str
        The findings.
    files : list of Path
        Paths of the files written.
    """

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    sentences: list[str]
    files: list[Path]


class ExperimentListener(Protocol):
    """Receiver of an experiment's progress reports, such as the screen of ``sgmc reproduce``."""

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Show a line of text."""

    def counting(self, label: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Return a context manager that yields a function, which reports how much is finished."""


def make_folder(path: Path, *, force: bool) -> None:
    """Create the folder for the results of an experiment.

    Parameters
    ----------
    path : Path
        The folder.
    force : bool
        Whether the folder may contain files.

    Raises
    ------
    OutputError
        If the folder cannot be created, contains anything and ``force`` is not set, or contains a
        file that sgmc did not write or that was changed afterwards.
    """
    try:
        holds = is_folder(path, OutputError) and any(
            entry.name != LIST and not is_marked(entry.name)
            for entry in list_folder(path, OutputError)
        )
        if holds and not force:
            raise OutputError(f"{path}: is there already; --force replaces the results in it")
        files = claim_outputs(path, [], force=force)
        if holds and (other := next(files.foreign(), None)) is not None:
            raise foreign(path / other)
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be created: {error.strerror or error}; choose another folder"
        ) from error


def require_scipy(name: str) -> None:
    """Raise an error if SciPy, which provides distribution functions, is not installed.

    Raises
    ------
    UsageError
        If SciPy is not installed.
    """
    if find_spec("scipy") is None:
        raise UsageError(f"{name} needs scipy: pip install scipy")


def select_names(names: Sequence[str], patterns: tuple[str, ...]) -> list[str]:
    """Return the names that match any pattern, in the given order; without patterns, all names.

    Raises
    ------
    UsageError
        If a pattern matches no name.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"--rows {pattern}: no such row; the rows are {', '.join(names)}")
    return [n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns)]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table as CSV; numbers have at most seven digits, and None and NaN are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        cells = ("" if isinstance(v, float) and math.isnan(v) else v for v in row)
        writer.writerow(f"{v:.7g}" if isinstance(v, float) else v for v in cells)
    with open_output(path) as file:
        file.write(text.getvalue().encode())
    return path
