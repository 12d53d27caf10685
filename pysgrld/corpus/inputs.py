"""Names of inputs, and the files of a folder, told without reading them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pysgrld.corpus.beside import stem
from pysgrld.corpus.names import plain_name
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.run.create import CHECKPOINTS, CONFIG

#: Suffixes that are named in a message.
MOST = 8
#: What a run holds, and what all folders do that sgmc writes: runs, stored corpora, exports.
_RUN = (CONFIG, CHECKPOINTS)
_OURS = (
    _RUN,
    ("meta.json", "indptr.npy"),
    ("topics.npy", "vocab.txt"),
    ("topics.safetensors", "vocab.txt"),
)


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
    CorpusError
        If it is a run.
    """
    if all((folder / name).exists() for name in _RUN):
        raise CorpusError(
            "a run, and no folder of texts: 'sgmc train' goes on with it where it is to be resumed, and "
            f"what it has read is {folder / 'corpus'}",
            folder,
        )
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


def _is_ours(folder: Path) -> bool:
    return any(all((folder / name).exists() for name in names) for names in _OURS)


def _files_below(folder: Path) -> tuple[list[Path], Counter[str]]:
    """Give the ``.txt`` files below a folder, by path, and the number of others by their suffix.

    What is hidden is left out in silence, and so is what sgmc itself has written there before.
    """

    def refuse(error: OSError) -> None:
        raise MissingInputError(f"{error.filename}: cannot be read: {error.strerror}") from None

    texts: list[Path] = []
    others: Counter[str] = Counter()
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not _is_ours(Path(parent) / name)
        ]
        for name in names:
            suffix = Path(plain_name(name)).suffix.lower()
            if suffix == ".txt" and not name.startswith("."):
                texts.append(Path(parent) / name)
            elif not name.startswith("."):
                others[suffix] += 1
    return sorted(texts, key=lambda path: path.relative_to(folder).parts), others
