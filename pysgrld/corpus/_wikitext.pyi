"""The compiled module, typed by hand. Contract: cpp/text/wikitext.hpp."""

from collections.abc import Sequence

class Stripper:
    """Takes MediaWiki markup out of texts; may be used by many threads at once.

    Parameters
    ----------
    files, categories : sequence of str
        Names of namespaces whose links are pictures, and are not shown; ASCII in lower case.
    entities : sequence of (str, str)
        What ``&name;`` stands for; in UTF-8 not longer than that.

    Raises
    ------
    ValueError
        If an entity stands for more bytes than it has.
    """

    def __init__(
        self,
        *,
        files: Sequence[str],
        categories: Sequence[str],
        entities: Sequence[tuple[str, str]],
    ) -> None: ...
    def strip(self, documents: list[bytes]) -> list[bytes]:
        """Give the prose of each document, never longer than it; other threads go on meanwhile."""
    def work(self, document: bytes) -> int:
        """Give the bytes looked at to strip it, each time they were: at most 32 for each byte."""
