"""Counts over a whole corpus, made once when it is written, so that no start has to read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pysgrld.types import Documents, Int64s

#: File of a stored corpus that has the occurrences of every word.
WORD_COUNTS = "word-counts.npy"


class Totals(NamedTuple):
    """Counts over a whole corpus.

    Attributes
    ----------
    longest : int
        Tokens of the longest document; 0 where there is none.
    longest_row : int
        Position of the first such document.
    widest : int
        Most different words that a document has.
    word_counts : (V,) int64
        Occurrences of every word.
    """

    longest: int
    longest_row: int
    widest: int
    word_counts: Int64s


def count(blocks: Iterable[Documents], words: int) -> Totals:
    """Count over blocks of documents: the longest, the widest, and occurrences of every word.

    Parameters
    ----------
    blocks : iterable of Documents
        Of at most 2^20 entries, or of one document, so that sums in double precision are exact.
    words : int
        V.
    """
    longest, at, widest, start = 0, 0, 0, 0
    totals = np.zeros(words, np.int64)
    for block in blocks:
        if len(block):
            lengths = block.lengths
            most = int(lengths.argmax())
            if lengths[most] > longest:
                longest, at = int(lengths[most]), start + most
            widest = max(widest, int(np.diff(block.indptr).max()))
            totals += np.bincount(block.indices, block.counts, words).astype(np.int64)
        start += len(block)
    return Totals(longest, at, widest, totals)
