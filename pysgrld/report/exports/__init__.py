"""Results of a run as files of other programs: the list of formats, and the export in one of them.

A format is a row of `FORMATS` and a module next to this one. The module has two functions of the chains
(most formats use the topics of the first) and of the `ExportRequest`: ``files`` returns the names
of the files that will be written, or raises an error if they cannot be; ``write``, which gets a `Tell`
too, writes each by a rename when it is complete, and returns the `Exported` record.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pysgrld.errors import MissingInputError, plural

if TYPE_CHECKING:  # the command line reads the list without loading what reads a run
    from pysgrld.reading.results import Results

#: Called with the name of the step, the amount done, and the total.
Tell = Callable[[str, int, int], None]


class ExportRequest(NamedTuple):
    """Choices of the user for an export.

    Attributes
    ----------
    format : str
        A key of `FORMATS`.
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
        Their content in words, for a person.
    notes : tuple of str
        Reasons why something is left out.
    """

    path: Path
    what: str
    notes: tuple[str, ...] = ()


class ExportFormat(NamedTuple):
    """A format, and what may be asked of it.

    Attributes
    ----------
    phrase : str
        Its content in words, for a person.
    module : str
        Name of the module in this folder that writes it.
    draws : tuple of str
        Values of ``--draw`` that it can write; the first is the default.
    top : int or None
        Words of each topic without ``--top``; 0 for all, None if the format has no such limit.
    options : frozenset of str
        Further options that it knows.
    sometimes : tuple of str
        Names of files that it writes for some runs only; such files of another run are removed.
    """

    phrase: str
    module: str
    draws: tuple[str, ...]
    top: int | None = None
    options: frozenset[str] = frozenset()
    sometimes: tuple[str, ...] = ()


_MATRIX, _TABLES = ("mean", "last", "all"), ("mean", "last")
_SPARSE = frozenset({"--sparse", "--words"})

FORMATS: dict[str, ExportFormat] = {
    "npy": ExportFormat(
        "NumPy: the topics as a matrix", "matrix", _MATRIX, sometimes=("labels.json", "weights.npy")
    ),
    "safetensors": ExportFormat(
        "the same as one file of tensors", "matrix", _MATRIX, sometimes=("labels.json",)
    ),
    "csv": ExportFormat(
        "tables of topics, their words, and documents",
        "table_files",
        _TABLES,
        30,
        _SPARSE,
        ("documents.csv",),
    ),
    "parquet": ExportFormat(
        "the same tables with types, for pandas, R, DuckDB",
        "table_files",
        _TABLES,
        30,
        _SPARSE,
        ("documents.parquet",),
    ),
    "arviz": ExportFormat(
        "all kept draws of all chains, for xarray and ArviZ",
        "arviz",
        ("all",),
        0,
        frozenset({"--align", "--words"}),
    ),
    "pyldavis": ExportFormat("pages of LDAvis and pyLDAvis", "pyldavis", ("mean", "last"), 30),
    "mallet": ExportFormat(
        "MALLET's files, for dfr-browser and R",
        "mallet",
        ("last",),
        20,
        frozenset({"--mallet-old"}),
    ),
}


def export(
    results: Results,
    request: ExportRequest,
    *,
    force: bool = False,
    tell: Tell = lambda what, done, total: None,
) -> Exported:
    """Write what a run found as files that other programs read, each by a rename when it is complete.

    Parameters
    ----------
    results : Results
        The run, or the chains of one.
    request : ExportRequest
    force : bool
        True if files that sgmc wrote there may be replaced; files of another run that this run does not
        write are removed.
    tell : callable (what, done, total)
        Called with the progress.

    Raises
    ------
    UsageError
        If the model has nothing of that kind.
    MissingInputError
        If no sample is kept, the corpus is gone, or a library is not installed.
    OutputError
        If a file is there already that `force` does not replace, or the folder cannot be made.
    WriteError
        If the disk is full.
    """
    from pysgrld.run.layout import claim_outputs
    from pysgrld.run.ownership import FileList

    row = FORMATS[request.format]
    writer = import_module(f"{__package__}.{row.module}")
    names: list[str] = writer.files(results, request)
    missing_names = [name for name in row.sometimes if name not in names]
    claim_outputs(request.folder, [*names, *missing_names], force=force)
    while True:
        kept_samples = [chain.kept() for chain in results.chains]
        try:
            done: Exported = writer.write(results, request, tell)
            FileList(request.folder).remove(missing_names)
            return done
        except MissingInputError:  # a run in training may have thinned its samples meanwhile
            if [chain.kept() for chain in results.chains] == kept_samples:
                raise


def drawn_from(results: Results, draw: str) -> str:
    """Describe the draw of the topics for the user: the mean of the samples, or the last sample."""
    if draw == "last":
        return "current topics"
    if results.fitted.samples:
        n_samples = plural(results.fitted.samples, "sample")
        of_chains = f" of {len(results.chains)} chains" if results.found_by() is not None else ""
        return f"mean of {n_samples}{of_chains}"
    return f"{results.no_mean}: the current ones"
