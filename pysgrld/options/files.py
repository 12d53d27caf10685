"""Files that the values of options name: read whole, as text.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from pathlib import Path

from pysgrld.errors import CorpusError, MissingInputError


def read_text(option: str, path: str, largest: int, what: str) -> str:
    """Read a file that an option names, as UTF-8; a byte-order mark is left out.

    Parameters
    ----------
    option : str
        As it is typed, for messages.
    path : str
    largest : int
        Bytes that it may have, at most.
    what : str
        What it should be, for the message on one that is larger.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    CorpusError
        If it is larger, or not UTF-8, naming the line.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise MissingInputError(
            f"{option} {path}: cannot be read: {error.strerror or error}"
        ) from None
    except ValueError:
        raise MissingInputError(f"{option}: is no name of a file") from None
    if len(data) > largest:
        raise CorpusError(f"is larger than {largest >> 20} MB: it is no {what}", path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError("this is not UTF-8: save the file as UTF-8", path, line) from None
