"""A run, or several chains of one, written in any of the formats."""

from __future__ import annotations

from collections.abc import Sequence

from pysgrld.errors import MissingInputError
from pysgrld.reading.results import Results
from pysgrld.report.exports.request import Exported, ExportRequest, Tell
from pysgrld.report.exports.table import FORMATS
from pysgrld.run.whole import refuse_existing


def export(
    chains: Sequence[Results],
    asked: ExportRequest,
    *,
    force: bool = False,
    tell: Tell = lambda what, done, total: None,
) -> Exported:
    """Write what a run found as files that other programs read, each by a rename when it is complete.

    Parameters
    ----------
    chains : sequence of Results
        The run, or the chains of one.
    asked : ExportRequest
    force : bool
        Whether files that are there may be replaced.
    tell : callable (what, done, total)
        Told how far it is.

    Raises
    ------
    UsageError
        If the model has nothing of that kind.
    MissingInputError
        If no sample is kept, the corpus is gone, or a library is not installed.
    OutputError
        If a file is there already, or the folder cannot be made.
    WriteError
        If the disk is full.
    """
    writer = FORMATS[asked.format].writer
    refuse_existing([asked.folder / n for n in writer.files(chains, asked)], force=force)
    while True:
        kept = [results.kept() for results in chains]
        try:
            return writer.write(chains, asked, tell)
        except MissingInputError:  # a run that is training has thinned its samples meanwhile
            if [results.kept() for results in chains] == kept:
                raise
