"""File names of inputs: standard input, the suffix of a compression, files that are not there."""

from __future__ import annotations

from pathlib import Path

from pysgrld.errors import MissingInputError

#: What messages call standard input.
STDIN = "<stdin>"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def plain_name(path: str | Path) -> str:
    """Return a file's name without its folder and without the suffix of its compression."""
    return without_suffix(Path(path).name, COMPRESSED)


def without_suffix(name: str, suffixes: tuple[str, ...]) -> str:
    """Take the first of the suffixes that a name ends with off it, in either case of letters."""
    for suffix in suffixes:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def missing(path: str | Path, error: OSError) -> MissingInputError:
    """Return the error which says that an input is not there or cannot be read."""
    if isinstance(error, FileNotFoundError):
        return MissingInputError(f"{path}: there is no such file; check the path")
    return MissingInputError(f"{path}: cannot be read: {error.strerror or error}")
