"""Requests of exports, their results, and the functions that the module of a format has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pysgrld.errors import MissingInputError, plural
from pysgrld.reading.results import Results

#: Told what is being done, how much of it is, and of how much.
Tell = Callable[[str, int, int], None]


class ExportRequest(NamedTuple):
    """The wishes of a person for an export.

    Attributes
    ----------
    format : str
        A key of `pysgrld.report.exports.table.FORMATS`.
    folder : Path
        Made if it is not there.
    draw : {"mean", "last", "all"}
    top : int
        Words of each topic; 0: all.
    sparse : bool
        Whether documents list the topics that they have, and not all of them.
    align : bool
        Whether topics of other chains are put in the order of the first one's.
    mallet_old : bool
        Whether MALLET's documents are written as before its version 2.0.8.
    at : int
        The layer, counted from 0.
    """

    format: str
    folder: Path
    draw: str
    top: int = 0
    sparse: bool = False
    align: bool = True
    mallet_old: bool = False
    at: int = 0


class Exported(NamedTuple):
    """The files that were written.

    Attributes
    ----------
    path : Path
        The first of them.
    what : str
        What they hold, for a person.
    notes : tuple of str
        What is left out, and why.
    """

    path: Path
    what: str
    notes: tuple[str, ...] = ()


class ExportModule(Protocol):
    """A module that writes a format. Topics are those of the first chain, unless it takes them all."""

    def files(self, chains: Sequence[Results], asked: ExportRequest) -> list[str]:
        """Name the files that will be written, the first one first; refuse what cannot be."""

    def write(self, chains: Sequence[Results], asked: ExportRequest, tell: Tell) -> Exported:
        """Write them, each by a rename when it is complete."""


def drawn_from(results: Results, draw: str) -> str:
    """Say which draw topics are of, the mean or the last, for a person."""
    if draw == "last":
        return "current topics"
    if results.samples:
        return f"mean of {plural(results.samples, 'sample')}"
    return f"{results.no_mean}: the current ones"


def module_for(name: str, extra: str, what: str) -> MissingInputError:
    """Return the error which says that a library is missing, and how it is installed."""
    return MissingInputError(f"{what} needs {name}: pip install 'pysgrld[{extra}]'")
