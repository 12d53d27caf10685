"""Names of the files of a stored corpus, and the reader of its header ``meta.json``."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus.reading import READING
from pysgrld.corpus.vectors import stamp_of
from pysgrld.errors import CorpusError, DamagedCorpusError, SgmcError
from pysgrld.options.paths import is_file, is_folder, path_error, path_exists
from pysgrld.run import jsonio
from pysgrld.run.files import open_regular, read_small, write_new
from pysgrld.run.schema import NATURAL, Each, misfit

#: Name and version of the format of stored corpora, as recorded in the header.
FORMAT, VERSION = "sgmc-corpus", 2
ARRAYS: dict[str, np.dtype[Any]] = {
    "indptr": np.dtype("<i8"),
    "indices": np.dtype("<i4"),
    "counts": np.dtype("<i4"),
}

#: Names of the files that a stored corpus must have, unless its arrays are packed.
PARTS = (*(f"{name}.npy" for name in ARRAYS), "vocab.txt", "meta.json")
#: Name of the archive that has all arrays of a small corpus, such as held-out documents, instead of
#: a file for each array.
PACKED = "counts.npz"
#: Name of the file with two numbers for each word. They are the number of the word's occurrences,
#: and the sum of its squared counts in documents.
WORD_COUNTS = "word-counts.npy"
#: Name of the archive of the documents' ids, titles and columns.
DOCUMENTS = "documents.npz"
#: Name of the archive of the documents' texts.
TEXTS = "texts.npz"
#: Name of the list of files in input folders.
INPUTS = "inputs.jsonl"
#: Names of the files that training never reads.
BESIDE = (DOCUMENTS, TEXTS, INPUTS)
#: Names of all files that may be in a stored corpus.
FILES = frozenset(
    {*(f"{name}.npy" for name in ARRAYS), PACKED, "vocab.txt", WORD_COUNTS, "meta.json", *BESIDE}
)

#: Types of the entries in the record of a file, which is an input or belongs to a stored corpus.
_FILE = {"sha256": str | None, "stamp": list[int] | None}
#: Types of the entries in ``meta.json``.
_HEADER = {
    **dict.fromkeys(("documents", "words", "nnz", "tokens"), NATURAL),
    "fingerprint": str,
    "provenance": dict[str, Any],
    "parts": Each(_FILE),
    "files": Each(_FILE),
}
_PROVENANCE = {
    **dict.fromkeys(("documents_read", "earlier", "empty", "unknown_tokens"), int | None),
    **dict.fromkeys(("options", "lists", "of"), dict[str, Any] | None),
    "skipped": dict[str, int] | None,
    "slices": list[int] | None,
    "vocabulary": {"from": str | None},
    "inputs": Each({**_FILE, "text-field": str | None, "files": int | list[dict[str, Any]] | None}),
    "reading": READING,
}

#: Number of bytes that are hashed between two calls of the callback that may stop the hashing.
_PIECE = 2**23
#: Number of records of input files that are written at a time.
_TOGETHER = 1024
#: Maximum size in bytes of the list of records of input files.
_LONGEST = 2**30


def is_stored(path: Path) -> bool:
    """Return True if a folder is a stored corpus, even if the corpus is damaged.

    Parameters
    ----------
    path : Path
        Any path.

    Returns
    -------
    bool
        True if the folder has the header or the first array of a stored corpus.
    """
    return is_file(path / "meta.json") or is_file(path / "indptr.npy")


def fingerprint_of(digests: Sequence[str]) -> str:
    """Return the fingerprint of a corpus, which is computed from the SHA-256 of its files.

    Parameters
    ----------
    digests : sequence of str
        SHA-256 of each array and of the vocabulary, in hexadecimal.

    Returns
    -------
    str
        SHA-256 of the digests, in hexadecimal.
    """
    # A forged digest may be any text, even with lone surrogates.
    return hashlib.sha256("".join(digests).encode(errors="surrogatepass")).hexdigest()


def damaged(path: Path, problem: str) -> DamagedCorpusError:
    """Return the error for a damaged stored corpus, with the damage and advice in its message.

    Parameters
    ----------
    path : Path
        Folder of the corpus.
    problem : str
        The damage.

    Returns
    -------
    DamagedCorpusError
        The error, which the caller raises.
    """
    advice = (
        "build it again with `sgmc corpus build`; if it belongs to a run, restore it, or "
        "train a new run"
    )
    return DamagedCorpusError(problem, advice, path)


@contextlib.contextmanager
def part_of(path: Path, name: str) -> Iterator[Path]:
    """Context manager that yields the path of a corpus's file, and converts an `OSError`."""
    part = path / name
    try:
        yield part
    except FileNotFoundError:
        if not is_folder(path):
            raise path_error(path, FileNotFoundError()) from None
        raise damaged(path, f"{name} is missing") from None
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENXIO):
            raise damaged(path, f"{name} is not a regular file") from None
        raise path_error(part, error) from None


def read_header(path: Path) -> dict[str, Any]:
    """Read the header ``meta.json`` of a stored corpus, and check the types of all entries.

    Parameters
    ----------
    path : Path
        Folder of the corpus.

    Returns
    -------
    dict of str to object
        The header.

    Raises
    ------
    MissingInputError
        If the header cannot be read.
    CorpusError
        If the header is not written by sgmc, has another version, or is damaged.
    """
    try:
        with part_of(path, "meta.json") as part:
            meta = jsonio.parse_sealed(read_small(part, links=True), part)
    except SgmcError:
        raise
    except (ValueError, RecursionError):
        raise damaged(path, "meta.json is not JSON") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise CorpusError(
            "this is not a corpus of sgmc: its meta.json was written by another program; if this "
            "is a folder of texts, move meta.json away",
            path,
        )
    version, parts = meta.get("version"), meta.get("parts")
    # A header of version 1 without the entry "parts" equals a header of version 2, so it can be
    # read.
    if version != VERSION and (version != 1 or parts):
        raise CorpusError(
            f"the corpus has version {version!r}, but this sgmc reads version {VERSION}; use the "
            "sgmc that wrote it, or build it again",
            path,
        )
    problem, origin = misfit(meta, _HEADER), meta.get("provenance")
    # The record of a sample contains the record of its corpus. This corpus may be a sample too.
    while problem is None and origin is not None:
        problem, origin = misfit(origin, _PROVENANCE, "provenance"), origin.get("of")
    if problem:
        raise damaged(path, f"meta.json: {problem}")
    return meta


def digest(path: Path, notify: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Parameters
    ----------
    path : Path
    notify : callable
        Called with the size of each hashed piece in bytes. It may raise an exception to stop.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    """
    hasher = hashlib.sha256()
    try:
        with open_regular(path, links=True) as (fd, _):
            while piece := os.read(fd, _PIECE):
                hasher.update(piece)
                notify(len(piece))
    except OSError as error:
        raise path_error(path, error) from None
    return hasher.hexdigest()


def vocabulary_of(path: Path) -> Path:
    """Return the path of a corpus's vocabulary: in its folder, the parent, or the grandparent."""
    places = [folder / "vocab.txt" for folder in (path, path.parent, path.parent.parent)]
    return next((place for place in places if path_exists(place)), places[0])


def store_files(
    corpus: Path, provenance: Mapping[str, Any], parts: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Move the records of files in input folders from the header to a separate file.

    There may be millions of files. The header has only their number, and stays small.

    Parameters
    ----------
    corpus : Path
        Folder of the corpus.
    provenance : mapping
        Provenance with the record of every file (`pysgrld.corpus.sources`).
    parts : mapping
        Digest and stamp of each file in addition to the counts.

    Returns
    -------
    provenance, parts : dict
        Entries of the header.
    """
    records: list[dict[str, Any]] = []
    header, inputs = _copied(provenance)
    for record in inputs:
        if isinstance(record.get("files"), list):
            records += record["files"]
            record["files"] = len(record["files"])
    if not records:
        return dict(provenance), dict(parts)
    lines = (
        "".join(json.dumps(record) + "\n" for record in records[start : start + _TOGETHER]).encode()
        for start in range(0, len(records), _TOGETHER)
    )
    path = corpus / INPUTS
    path.unlink(missing_ok=True)  # A killed process may have left this file.
    written = write_new(path, lines, "store")
    return header, {**parts, INPUTS: {"sha256": written.sha256, "stamp": stamp_of(path.stat())}}


def with_files(
    corpus: Path, provenance: Mapping[str, Any], parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the provenance, with the records of files in input folders added.

    This undoes `store_files`. A provenance that already contains the files, as written by version
    0.1.0, is returned unchanged.
    """
    whole, inputs = _copied(provenance)
    folders = [record for record in inputs if isinstance(record.get("files"), int)]
    if not folders:
        return whole
    inputs_part, files = parts.get(INPUTS), iter(list[dict[str, Any]]())
    with contextlib.suppress(OSError, ValueError, RecursionError):
        written = read_small(corpus / INPUTS, _LONGEST, links=True)
        if isinstance(inputs_part, dict) and hashlib.sha256(written).hexdigest() == inputs_part.get(
            "sha256"
        ):
            records = list(map(json.loads, written.splitlines()))
            if all(isinstance(record, dict) for record in records):
                files = iter(records)
    for record in folders:
        record["files"] = list(islice(files, max(record["files"], 0)))
    return whole


def _copied(provenance: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a copy of a provenance, and a list of the records of inputs in this copy.

    For a sample, the list includes the inputs of the corpus from which it was drawn.
    """
    copy, inputs = dict(provenance), list[dict[str, Any]]()
    if isinstance(copy.get("inputs"), list):
        copy["inputs"] = [dict(r) if isinstance(r, dict) else r for r in copy["inputs"]]
        inputs = [record for record in copy["inputs"] if isinstance(record, dict)]
    if isinstance(copy.get("of"), dict):
        copy["of"], parent_inputs = _copied(copy["of"])
        inputs += parent_inputs
    return copy, inputs
