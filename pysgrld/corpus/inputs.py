"""Names and identities of inputs, told without reading them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pysgrld.errors import MissingInputError

STDIN = "<stdin>"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_FORMATS = tuple(
    [
        ".txt",
        ".text",
        ".jsonl",
        ".ndjson",
        ".json",
        ".csv",
        ".tsv",
        ".parquet",
        ".pq",
        ".xml",
        ".mm",
        ".mtx",
        ".npz",
        ".svmlight",
        ".libsvm",
        ".svm",
        ".ldac",
        ".lda-c",
        ".dat",
    ]
)
#: Names of files of counts, which may have a vocabulary beside them.
_COUNTS = (".mm", ".mtx", ".npz", ".svmlight", ".libsvm", ".svm", ".ldac", ".lda-c", ".dat")
_MIB = 2**20


def plain_name(path: str | Path) -> str:
    """File name without the suffix of its compression."""
    name = Path(path).name
    for suffix in COMPRESSED:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def stem(path: str | Path) -> str:
    """File name without compression, format and ``docword.``: what the data is called.

    >>> stem("data/docword.20news.train.txt.gz")
    '20news.train'
    """
    name = plain_name(path)
    for suffix in _FORMATS:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
            break
    return name.removeprefix("docword.") or name


def corpus_name(inputs: Sequence[str]) -> str:
    """A short name for a corpus, for the folder of a run: that of its first input.

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
    """All ``.txt`` files below a folder, compressed ones too, sorted by path.

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


def inputs_record(inputs: Sequence[str]) -> list[dict[str, Any]]:
    """Cheap identity of inputs: whether a stored corpus can still stand for them.

    Parameters
    ----------
    inputs : sequence of str
        Paths; "-" is standard input.

    Returns
    -------
    list of dict
        For a file its ``name``, ``size`` in bytes and ``sha256`` of its first and last MiB; for
        a folder its ``name`` and the same of its ``files``; ``{"name": "-"}`` for standard input.
        A vocabulary that belongs to a file of counts is in it as ``vocabulary``. Times of
        modification are not part of it.

    Raises
    ------
    MissingInputError
        If an input is missing or cannot be read.
    """
    return [_record(path) for path in inputs]


def _record(path: str) -> dict[str, Any]:
    from pysgrld.corpus.formats.words import vocabulary_beside

    if path == "-":
        return {"name": "-"}
    if Path(path).is_dir():
        root = Path(path)
        files = sorted(p for p in root.rglob("*") if p.is_file())
        records = [_file_record(p, p.relative_to(root).as_posix()) for p in files]
        return {"name": root.resolve().name, "files": records}
    record = _file_record(Path(path), Path(path).name)
    name = plain_name(path)
    if name.startswith("docword.") or name.lower().endswith(_COUNTS):
        beside = vocabulary_beside(Path(path))
        if beside is not None:
            record["vocabulary"] = _file_record(beside, beside.name)
    return record


def _file_record(path: Path, name: str) -> dict[str, Any]:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe: looking would take from it
            return {"name": name}
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(_MIB))
            file.seek(max(file.tell(), status.st_size - _MIB))
            digest.update(file.read(_MIB))
    except OSError as error:
        raise missing(path, error) from None
    return {"name": name, "size": status.st_size, "sha256": digest.hexdigest()}


def missing(path: str | Path, error: OSError) -> MissingInputError:
    """Say of an input that it is not there or cannot be read."""
    if isinstance(error, FileNotFoundError):
        return MissingInputError(f"{path}: there is no such file; check the path")
    return MissingInputError(f"{path}: cannot be read: {error.strerror or error}")
