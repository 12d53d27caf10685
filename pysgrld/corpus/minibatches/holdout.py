"""The number of documents that are held out; `pysgrld.corpus.choice` says which."""

from __future__ import annotations

from pysgrld.errors import UsageError, plural


def hold_out_size(wanted: int | float | None, documents: int) -> int:
    """Give the number of documents to hold out: a number, a share, or min(1000, 10 %) where None.

    Raises
    ------
    UsageError
        If none would be left to train on.
    """
    if wanted is None:
        return min(1000, max(1, documents // 10)) if documents > 1 else 0
    size = max(1, round(wanted * documents)) if isinstance(wanted, float) else wanted
    if (size and size >= documents) or size < 0:
        raise UsageError(
            f"holdout {wanted}: the corpus has {plural(documents, 'document')}; leave some to train on"
        )
    return size
