"""What all experiments share: what was asked for, what came out, and the files that tell of it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pysgrld.errors import OutputError, UsageError
from pysgrld.export import whole_file

#: After Okabe and Ito, whose colours colour-blind readers can tell apart.
COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#555555")


class Setting(NamedTuple):
    """What a person asked for.

    Attributes
    ----------
    corpus : Path or None
        None where the experiment makes its own data.
    out : Path
        A folder that is there and may be written to.
    quick : bool
        A small cut and few iterations: to see that it works, not to compare.
    seed : int
    threads : int
    pictures : bool
        Whether PNG files are wanted; matplotlib is then there.
    seeds : int
        Repetitions, with seeds ``seed``, ``seed + 1``, ...
    rows : tuple of str
        Patterns of the rows that are wanted, all where empty.
    seconds : float or None
        Training time after which a row ends.
    """

    corpus: Path | None
    out: Path
    quick: bool = False
    seed: int = 0
    threads: int = 1
    pictures: bool = True
    seeds: int = 1
    rows: tuple[str, ...] = ()
    seconds: float | None = None


class Report(NamedTuple):
    """What came out.

    Attributes
    ----------
    head : tuple of str
        Columns of the table.
    rows : list of tuple
        Numbers, text, or None where there is nothing to say.
    found : list of str
        In sentences.
    files : list of Path
        What was written.
    """

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    found: list[str]
    files: list[Path]


class Listener(Protocol):
    """Whom an experiment tells how far it is."""

    def note(self, line: str) -> None:
        """Say a fact."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Give a function that is told how many of ``total`` are done."""


def make_folder(path: Path, *, force: bool) -> None:
    """Make the folder of the results; one that holds anything only if that is wanted.

    Raises
    ------
    OutputError
    """
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file; name a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        holds = any(path.iterdir())
    except OSError as error:
        raise OutputError(f"{path}: cannot be created: {error.strerror or error}") from error
    if holds and not force:
        raise OutputError(f"{path}: is there already; --force writes over what is in it")


def require_matplotlib(
    what: str = "pictures need", otherwise: str = ", or --no-pictures for the CSV files alone"
) -> None:
    """Refuse to compute for hours what cannot be drawn in the end.

    Raises
    ------
    UsageError
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"{what} matplotlib: pip install 'pysgrld[plot]'{otherwise}")


def require_scipy(name: str) -> None:
    """Refuse at once what needs distribution functions.

    Raises
    ------
    UsageError
    """
    if find_spec("scipy") is None:
        raise UsageError(f"{name} needs scipy: pip install 'pysgrld[plot]'")


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table: numbers with at most seven digits, an empty cell for None and NaN."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow(map(_cell, row))
    with whole_file(path) as file:
        file.write(text.getvalue().encode())
    return path


def _cell(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.7g}"


def new_figure(width: float, height: float) -> Any:
    """Begin a picture of so many inches; matplotlib's figure, of no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def write_png(path: Path, figure: Any, dpi: int = 110) -> Path:
    """Write a picture."""
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    return path
