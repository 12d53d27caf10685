"""The policy on documents that cannot be read."""

from __future__ import annotations

from collections import Counter

from pysgrld.errors import CorpusError


class BadDocuments:
    """The policy on documents that cannot be read: they end the reading, or they are counted.

    Attributes
    ----------
    skipped : Counter
        Skipped documents by reason.
    """

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.skipped: Counter[str] = Counter()

    def __call__(self, reason: str, message: str, path: str, line: int | None) -> None:
        """Stop the reading with a message, or count a document under a reason.

        Raises
        ------
        CorpusError
            If bad documents are not skipped.
        """
        if not self.skip:
            raise CorpusError(
                f"{message}; mend it, or leave such documents out with --on-bad-document skip",
                path,
                line,
            )
        self.skipped[reason] += 1
