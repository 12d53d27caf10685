"""Hand-written types of the compiled module; cpp/text/wikitext.hpp has the contract."""

from collections.abc import Sequence

class Stripper:
    """Remover of MediaWiki markup from texts; several threads may use it at the same time.

    Parameters
    ----------
    files, categories : sequence of str
        Names of the namespaces of pictures, and of the namespaces with links that a page does not
        show; lower-case ASCII.
    entities : sequence of (str, str)
        Name of each entity and the text that ``&name;`` stands for, in UTF-8 no longer than
        ``&name;``.

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
        """Return the prose of each document, at most as long as the document; other threads can run."""
    def work(self, document: bytes) -> int:
        """Return the number of bytes read to strip a document, at most 32 times its size."""
