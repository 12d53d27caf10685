"""Names of inputs, and the files of a folder, told without reading them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pysgrld.corpus.beside import stem
from pysgrld.corpus.formats import IN_FOLDERS, of_folder
from pysgrld.corpus.names import plain_name
from pysgrld.errors import CorpusError, MissingInputError, plural
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


class Folder(NamedTuple):
    """The files below a folder, told by their names.

    Attributes
    ----------
    files : list of Path
        Those that are documents, sorted by path.
    others : Counter
        How many are of other kinds, by suffix.
    folders : int
        Folders below it that hold documents.
    hidden, ours, empty : int
        Hidden files and folders; folders that sgmc has written; documents of no byte.
    """

    files: list[Path]
    others: Counter[str]
    folders: int
    hidden: int
    ours: int
    empty: int


def texts_of_folder(folder: Path) -> list[Path]:
    """List the documents below a folder, compressed ones too, sorted by path.

    Raises
    ------
    MissingInputError
        If there are none, or the folder cannot be read.
    CorpusError
        If it is a run.
    """
    return _looked_through(folder).files


def said_of_folder(folder: Path) -> Iterator[str]:
    """Say which files below a folder are read, and which are left out and why: a line for each reason.

    Raises
    ------
    MissingInputError
        If the folder cannot be read.
    """
    found = _looked_through(folder)
    below = f" in it and {plural(found.folders, 'folder')} below" if found.folders else ""
    yield f"{folder}: {plural(len(found.files), 'file')}{below}, each a document"
    *some, last = IN_FOLDERS
    read = f"{', '.join(some)} and {last}"
    if others := _listed(found.others, "{}"):
        yield f"{folder}: left out, as only {read} files of a folder are read: {others}"
    if found.hidden:
        hidden = plural(found.hidden, "file or folder", "files or folders")
        yield f"{folder}: left out, as hidden: {hidden}"
    if found.ours:
        yield f"{folder}: left out, as written by sgmc: {plural(found.ours, 'folder')}"
    if found.empty:
        yield f"{folder}: {plural(found.empty, 'empty file')}"


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


def _looked_through(folder: Path) -> Folder:
    """Look through a folder by names; what is hidden and what sgmc has written there is passed over."""

    def refuse(error: OSError) -> None:
        raise MissingInputError(f"{error.filename}: cannot be read: {error.strerror}") from None

    if all((folder / name).exists() for name in _RUN):
        raise CorpusError(
            "a run, and no folder of texts: 'sgmc train' goes on with it where it is to be resumed, and "
            f"what it has read is {folder / 'corpus'}",
            folder,
        )
    files: list[Path] = []
    others: Counter[str] = Counter()
    hidden = ours = 0
    for parent, folders, names in os.walk(folder, onerror=refuse):
        seen = [name for name in folders if not name.startswith(".")]
        kept = [name for name in seen if not _is_ours(Path(parent) / name)]
        hidden += len(folders) - len(seen)
        ours += len(seen) - len(kept)
        folders[:] = kept
        for name in names:
            if name.startswith("."):
                hidden += 1
            elif of_folder(plain_name(name)):
                files.append(Path(parent) / name)
            else:
                others[Path(plain_name(name)).suffix.lower()] += 1
    if not files:
        raise MissingInputError(
            f"{folder}: a folder without .txt files{_listed(others, ' (it has {})')}, pages (.html) or "
            "documents (.docx, .pdf), and not one written by `sgmc corpus build`; name the files that "
            "are to be read"
        )
    files.sort(key=lambda path: path.relative_to(folder).parts)
    below = len({path.parent for path in files} - {folder})
    empty = sum(path.stat().st_size == 0 for path in files if path.is_file())
    return Folder(files, others, below, hidden, ours, empty)
