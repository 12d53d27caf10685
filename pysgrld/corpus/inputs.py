"""Names of inputs, and the files of a folder, told without reading them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pysgrld.corpus.beside import stem
from pysgrld.corpus.names import plain_name
from pysgrld.errors import MissingInputError


def corpus_name(inputs: Sequence[str]) -> str:
    """Return a short name for a corpus, for the folder of a run: that of its first input.

    >>> corpus_name(["docword.20news.train.txt.gz"])
    '20news.train'
    >>> corpus_name(["-"])
    'stdin'
    """
    if not inputs or inputs[0] == "-":
        return "stdin"
    name = stem(Path(inputs[0]).resolve())
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip(".-") or "corpus"


def texts_of_folder(folder: Path) -> list[Path]:
    """List all ``.txt`` files below a folder, compressed ones too, sorted by path.

    Raises
    ------
    MissingInputError
        If there are none, or the folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise MissingInputError(f"{error.filename}: cannot be read: {error.strerror}") from None

    found = [
        Path(parent) / name
        for parent, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if plain_name(name).lower().endswith(".txt") and not name.startswith(".")
    ]
    if not found:
        raise MissingInputError(
            f"{folder}: a folder without .txt files, and not one written by `sgmc corpus build`; "
            "name the files that are to be read"
        )
    return sorted(found, key=lambda path: path.relative_to(folder).parts)
