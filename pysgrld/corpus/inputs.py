"""Names of inputs, and the files of a folder, told without reading them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pysgrld.corpus.beside import stem
from pysgrld.corpus.names import plain_name
from pysgrld.errors import MissingInputError

#: Suffixes that are named in a message.
MOST = 8


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
    texts, others = _files_below(folder)
    if not texts:
        raise MissingInputError(
            f"{folder}: a folder without .txt files{_listed(others, ' (it has {})')}, and not one "
            "written by `sgmc corpus build`; name the files that are to be read"
        )
    return texts


def left_out_of_folder(folder: Path) -> str:
    """Say which files below a folder are not read, by their suffixes; nothing if all are.

    Raises
    ------
    MissingInputError
        If the folder cannot be read.
    """
    others = _files_below(folder)[1]
    return _listed(others, f"{folder}: left out, as only .txt files of a folder are read: {{}}")


def _listed(others: Counter[str], form: str) -> str:
    """Name suffixes with how many files have each, the most frequent first; nothing for none."""
    named = [
        f"{n:,} {suffix or 'without a suffix'}"
        for suffix, n in sorted(others.items(), key=lambda of: (-of[1], of[0]))
    ]
    if len(named) > MOST:
        named[MOST:] = ["others"]
    return form.format(", ".join(named)) if named else ""


def _files_below(folder: Path) -> tuple[list[Path], Counter[str]]:
    """Give the ``.txt`` files below a folder, by path, and the number of others by their suffix."""

    def refuse(error: OSError) -> None:
        raise MissingInputError(f"{error.filename}: cannot be read: {error.strerror}") from None

    texts: list[Path] = []
    others: Counter[str] = Counter()
    for parent, _, names in os.walk(folder, onerror=refuse):
        for name in names:
            suffix = Path(plain_name(name)).suffix.lower()
            if suffix == ".txt" and not name.startswith("."):
                texts.append(Path(parent) / name)
            elif not name.startswith("."):
                others[suffix] += 1
    return sorted(texts, key=lambda path: path.relative_to(folder).parts), others
