"""The one list of formats that a run is exported to."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pysgrld.report.exports.request import ExportModule


class ExportFormat(NamedTuple):
    """A format, and what may be asked of it.

    Attributes
    ----------
    phrase : str
        What it holds, for a person.
    module : str
        Has the ``files`` and the ``write`` of `pysgrld.report.exports.request.ExportModule`.
    draws : tuple of str
        Values of ``--draw`` that it can write; the first is the default.
    top : int or None
        Words of each topic where ``--top`` is not given; 0 for all, None where that makes no sense.
    options : frozenset of str
        Further options that it knows.
    """

    phrase: str
    module: str
    draws: tuple[str, ...]
    top: int | None = None
    options: frozenset[str] = frozenset()

    @property
    def writer(self) -> ExportModule:
        """The module, loaded."""
        found: ExportModule = import_module(self.module)
        return found


_MATRIX = ("mean", "last", "all")
_TABLES = ("mean", "last")
_SPARSE = frozenset({"--sparse"})

FORMATS: dict[str, ExportFormat] = {
    "npy": ExportFormat("NumPy: the topics as a matrix", "pysgrld.report.exports.matrix", _MATRIX),
    "safetensors": ExportFormat(
        "the same as one file of tensors", "pysgrld.report.exports.matrix", _MATRIX
    ),
    "csv": ExportFormat(
        "tables of topics, their words, and documents",
        "pysgrld.report.exports.topic_tables",
        _TABLES,
        30,
        _SPARSE,
    ),
    "parquet": ExportFormat(
        "the same tables with types, for pandas, R, DuckDB",
        "pysgrld.report.exports.topic_tables",
        _TABLES,
        30,
        _SPARSE,
    ),
    "arviz": ExportFormat(
        "all kept draws of all chains, for xarray and ArviZ",
        "pysgrld.report.exports.arviz",
        ("all",),
        0,
        frozenset({"--align"}),
    ),
    "pyldavis": ExportFormat(
        "pages of LDAvis and pyLDAvis", "pysgrld.report.exports.pyldavis", ("mean", "last"), 30
    ),
    "mallet": ExportFormat(
        "MALLET's files, for dfr-browser and R",
        "pysgrld.report.exports.mallet",
        ("last",),
        20,
        frozenset({"--mallet-old"}),
    ),
}
