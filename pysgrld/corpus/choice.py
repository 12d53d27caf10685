"""A random choice among the documents of a corpus that depends on nothing but its key."""

from __future__ import annotations

import numpy as np

from pysgrld.core import core
from pysgrld.types import Int64s, Key


def choose_documents(documents: int, size: int, key: Key) -> Int64s:
    """Choose some of the documents of a corpus at random, each as likely as any other.

    A smaller choice with one key is a part of every larger one.

    Parameters
    ----------
    documents : int
        How many there are.
    size : int
        How many are wanted, at most ``documents``.
    key : Key
        Its step is not looked at.

    Returns
    -------
    (size,) int64
        Positions in [0, documents), ascending.
    """
    chosen = core.permute(
        np.arange(size), documents, key.seed, key.chain, core.Purpose.holdout_choice, 0
    )
    return np.sort(chosen)
