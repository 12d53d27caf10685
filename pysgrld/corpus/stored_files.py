"""The files of a stored corpus: their names, and each opened with what is wrong with it said."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.corpus.about.stored import names_of
from pysgrld.corpus.names import missing
from pysgrld.corpus.vectors import Vector
from pysgrld.corpus.vocabulary import read_vocabulary
from pysgrld.errors import CorpusError, SgmcError
from pysgrld.run.files import open_regular, read_small

FORMAT, VERSION = "sgmc-corpus", 1
ARRAYS: dict[str, np.dtype[Any]] = {
    "indptr": np.dtype("<i8"),
    "indices": np.dtype("<i4"),
    "counts": np.dtype("<i4"),
}

#: The file that has the occurrences of every word.
WORD_COUNTS = "word-counts.npy"
#: The files of a stored corpus, by which it is whole.
PARTS = (*(f"{name}.npy" for name in ARRAYS), "vocab.txt", "meta.json")


def fingerprint_of(digests: Sequence[str]) -> str:
    """Give the fingerprint of a corpus: of the SHA-256 of its arrays' values and its vocabulary."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def parts_of(path: Path) -> list[str]:
    """List the files of a stored corpus, by their names in its folder, those about documents too.

    Raises
    ------
    CorpusError
        If ``meta.json`` is none of ours.
    """
    meta = read_header(path)
    counted = [WORD_COUNTS] if "totals" in meta else []
    return [*PARTS, *counted, *names_of(meta.get("parts", {}))]


def is_stored(path: Path) -> bool:
    """Whether a folder is a stored corpus, be it a damaged one."""
    return (path / "meta.json").is_file() or (path / "indptr.npy").is_file()


def damaged(path: Path, what: str) -> CorpusError:
    """Say what is damaged of a stored corpus, and what to do."""
    advice = "build it again with `sgmc corpus build`; of a run: restore it, or train anew"
    return CorpusError(f"a damaged corpus ({what}); {advice}", path)


@contextlib.contextmanager
def part_of(path: Path, name: str) -> Iterator[Path]:
    """Say of a file of a stored corpus that it is missing, or cannot be read."""
    part = path / name
    try:
        yield part
    except FileNotFoundError:
        if not path.is_dir():
            raise missing(path, FileNotFoundError()) from None
        raise damaged(path, f"{name} is missing") from None
    except OSError as error:
        raise missing(part, error) from None


def read_header(path: Path) -> dict[str, Any]:
    """Read ``meta.json``, and check that it has all that a header has.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CorpusError
        If it is none of ours, of another version, or damaged.
    """
    try:
        with part_of(path, "meta.json") as part:
            meta = json.loads(read_small(part, links=True))
    except SgmcError:
        raise
    except (ValueError, RecursionError):
        raise damaged(path, "meta.json is not JSON") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise CorpusError(
            "not a corpus of sgmc (meta.json says something else); of a folder of "
            "texts, move meta.json away",
            path,
        )
    if meta.get("version") != VERSION:
        raise CorpusError(
            f"a corpus of version {meta.get('version')!r}, but this sgmc reads version {VERSION}; "
            "use the sgmc that wrote it, or build it again",
            path,
        )
    kinds = {"documents": int, "words": int, "nnz": int, "tokens": int}
    for key, kind in {**kinds, "fingerprint": str, "provenance": dict}.items():
        if not isinstance(meta.get(key), kind):
            raise damaged(path, f"meta.json has no proper {key!r}")
    if not isinstance(meta.get("parts", {}), dict):
        raise damaged(path, "meta.json has no proper 'parts'")
    return meta


def open_vocabulary(path: Path, meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the words, if the file has the size that the header says.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CorpusError
        If it was changed.
    """
    with part_of(path, "vocab.txt") as part, open_regular(part, links=True) as (_, size):
        pass
    written = meta["files"].get("vocab.txt") if isinstance(meta.get("files"), dict) else None
    if isinstance(written, dict) and written.get("stamp", [size])[0] != size:
        raise damaged(path, "vocab.txt was changed since it was written")
    return read_vocabulary(part, exact=True)


def open_vector(path: Path, name: str) -> Vector:
    """Open one of `ARRAYS`.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CorpusError
        If it is no vector of its type, or is cut off.
    """
    bad = damaged(path, f"{name}.npy is not a vector of {ARRAYS[name].name}, or is cut off")
    with part_of(path, f"{name}.npy") as part:
        try:
            vector = Vector.open(part, ARRAYS[name])
        except (ValueError, EOFError):
            raise bad from None
    if name == "indptr" and len(vector) == 0:
        raise bad
    return vector
