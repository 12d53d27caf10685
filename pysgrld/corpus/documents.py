"""Documents that are in memory already, written as a stored corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pysgrld.corpus.store import Corpus
from pysgrld.corpus.write import WorkFolder
from pysgrld.types import Documents


def store_documents(
    path: Path, documents: Documents, vocabulary: Sequence[str], provenance: dict[str, Any]
) -> Corpus:
    """Write documents into a new folder, which appears by a rename when it is complete.

    Raises
    ------
    OutputError, WriteError
        If the folder cannot be made, or the disk is full.
    """
    with WorkFolder(path) as work:
        writer = work.writer("documents")
        writer.append(documents)
        writer.finish_corpus(vocabulary, provenance)
        work.commit(writer.folder)
    return Corpus.open(path)
