"""Export of a run's results to other programs: the list of formats, and the export itself.

A format is a row of `FORMATS` and a module next to this one. The module has two functions, which
take the results (most formats use the topics of the first chain) and the `ExportRequest`. ``files``
returns the names of the files that will be written, or raises an error if they cannot be written.
``write`` also takes a `Tell`; it writes each file, which gets its final name only when it is
complete, and returns the `Exported` record.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pysgrld.errors import MissingInputError, plural

# Only type checkers import `Results`, because the command line must load this module quickly.
if TYPE_CHECKING:
    from pysgrld.reading.results import Results

#: Function called with a step's name, the amount done, and the total.
Tell = Callable[[str, int, int], None]


class ExportRequest(NamedTuple):
    """Options of an export, as a user requested them.

    Attributes
    ----------
    format : str
        A key of `FORMATS`.
    folder : Path
        Folder of the export, which is created if it does not exist.
    draw : {"mean", "last", "all"}
    top : int
        Number of words of each topic; 0 for all.
    sparse : bool
        Whether the table of documents lists only topics with a share of at least 0.01, and each
        document's greatest topic.
    align : bool
        Whether topics of further chains are put in the order of the first chain's topics.
    mallet_old : bool
        Whether documents have the layout of MALLET before version 2.0.8.
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
    """The files that an export wrote.

    Attributes
    ----------
    path : Path
        The first of these files.
    what : str
        Content of the files, described for the user.
    notes : tuple of str
        Reasons why something is left out.
    """

    path: Path
    what: str
    notes: tuple[str, ...] = ()


class ExportFormat(NamedTuple):
    """An export format, and the options that it accepts.

    Attributes
    ----------
    phrase : str
        Content of the files, described for the user.
    module : str
        Name of the module in this folder that writes the format.
    draws : tuple of str
        Values of ``--draw`` that the format accepts; the first is the default.
    top : int or None
        Default of ``--top``, the number of words of each topic; 0 for all, None if not supported.
    options : frozenset of str
        Further options that the format accepts.
    sometimes : tuple of str
        Names of files that are written only for some runs; such files of another run are removed.
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
        "the topics as one file of tensors", "matrix", _MATRIX, sometimes=("labels.json",)
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
        "all stored draws of all chains, for xarray and ArviZ",
        "arviz",
        ("all",),
        0,
        frozenset({"--align", "--words"}),
    ),
    "pyldavis": ExportFormat("web pages of LDAvis and pyLDAvis", "pyldavis", ("mean", "last"), 30),
    "mallet": ExportFormat(
        "files of MALLET, for dfr-browser and R",
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
    """Write a run's results as files for other programs; incomplete files have temporary names.

    Parameters
    ----------
    results : Results
        The run, or its chains.
    request : ExportRequest
    force : bool
        True if files that sgmc wrote to the folder may be replaced. Optional files of another run
        that this run does not write are then removed.
    tell : callable (what, done, total)
        Called with the progress.

    Raises
    ------
    UsageError
        If the format cannot represent the model.
    MissingInputError
        If no sample is kept, the corpus no longer exists, or a library is not installed.
    OutputError
        If a file exists that may not be replaced, or the folder cannot be created.
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
        # If the run is still training, it may have deleted samples in the meantime.
        except MissingInputError:
            if [chain.kept() for chain in results.chains] == kept_samples:
                raise


def drawn_from(results: Results, draw: str) -> str:
    """Return text that names the source of exported topics, such as "mean of 40 samples"."""
    if draw == "last":
        return "current topics"
    if results.fitted.samples:
        n_samples = plural(results.fitted.samples, "sample")
        of_chains = f" of {len(results.chains)} chains" if results.found_by() is not None else ""
        return f"mean of {n_samples}{of_chains}"
    return f"current topics, because {results.no_mean}"
