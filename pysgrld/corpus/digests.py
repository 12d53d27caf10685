"""SHA-256 digests of what files hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from pysgrld.corpus.names import missing

#: Bytes hashed between two looks at whether to stop.
_PIECE = 2**23


def digest(path: Path, notify: Callable[[int], None] = lambda _: None, skip: int = 0) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Parameters
    ----------
    path : Path
    notify : callable
        Told of the bytes of each piece that was hashed; may raise, to stop.
    skip : int
        Bytes at the beginning that are left out.

    Raises
    ------
    MissingInputError
        If it cannot be read.
    """
    found = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(skip)
            while piece := file.read(_PIECE):
                found.update(piece)
                notify(len(piece))
    except OSError as error:
        raise missing(path, error) from None
    return found.hexdigest()
