"""Who is told how far the reading of a corpus is. No NumPy here."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class ReadingProgress(NamedTuple):
    """How far the reading of a corpus is.

    Attributes
    ----------
    bytes_read : int
        Of the files as they lie on disk, compressed or not.
    bytes_total : int or None
        None if it cannot be known (standard input, pipes).
    documents : int
        Read so far, skipped ones included.
    """

    bytes_read: int
    bytes_total: int | None
    documents: int


class Listener(Protocol):
    """Whoever tells a person what is going on; every method may do nothing."""

    def note(self, line: str) -> None:
        """Say a fact that a person should see."""

    def reading(self, progress: ReadingProgress) -> None:
        """Show how far the reading of a corpus is."""
