"""Detection of documents that equal another document, or differ from it in only a few words.

Near duplicates are found by MinHash with one permutation: the words of a document fall into bins by
their hash, and each bin keeps its minimum hash. The fraction of bins with equal minima estimates
the Jaccard similarity: the fraction of the words of two documents that occur in both. Only documents
are compared that have the same minima in four consecutive bins, a band.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pysgrld.types import Documents, Int64s

#: Number of hash values of a document, which are called bins.
_BINS = 32
#: Number of consecutive bins that form a band.
_BAND = 4
#: Documents are similar if at least this fraction of their bins are equal.
_ALIKE = 0.8
#: Documents with fewer distinct words than this number are only compared for equality.
_WORDS = 8
_NONE = np.uint32(2**32 - 1)
_Hashes = npt.NDArray[np.uint64]


def _mixed(x: Any) -> _Hashes:
    """Return a 64-bit hash of each number, computed by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        z = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: _Hashes = z ^ (z >> np.uint64(31))
    return mixed


class Sketches:
    """Hashes of documents, 136 bytes each, by which equal and similar documents are found."""

    def __init__(self) -> None:
        self._digests: list[_Hashes] = []
        self._bins: list[npt.NDArray[np.uint32]] = []

    def add(self, block: Documents) -> None:
        """Add the word counts of the next documents; each document must have at least one word."""
        n = len(block)
        lengths = np.diff(block.indptr)
        rows = np.repeat(np.arange(n), lengths)
        words = _mixed(block.indices)
        entries = _mixed(words ^ _mixed(block.counts))
        self._digests.append(np.add.reduceat(entries, block.indptr[:-1]) if n else entries)
        bins: npt.NDArray[np.uint32] = np.full(n * _BINS, _NONE, np.uint32)
        place = rows * _BINS + (words % np.uint64(_BINS)).astype(np.int64)
        np.minimum.at(bins, place, (words >> np.uint64(33)).astype(np.uint32))
        bins = bins.reshape(n, _BINS)
        bins[lengths < _WORDS] = _NONE
        self._bins.append(bins)

    def groups(self) -> tuple[Int64s, Int64s]:
        """Group the documents with equal word counts, and the documents with similar word counts.

        For each document, the first array has the position of the first document with equal word
        counts, and the second array the position of the first document of its group of similar
        documents.
        """
        digests, bins = np.concatenate(self._digests), np.concatenate(self._bins)
        _, first, inverse = np.unique(digests, return_index=True, return_inverse=True)
        same = first[inverse]
        parent = same.copy()

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = int(parent[i])
            return i

        heads = np.flatnonzero(same == np.arange(len(same)))
        for begin in range(0, _BINS, _BAND):
            band = bins[heads, begin : begin + _BAND]
            filled_heads = heads[(band != _NONE).any(axis=1)]
            keys = np.zeros(len(filled_heads), np.uint64)
            for column in bins[filled_heads, begin : begin + _BAND].T:
                keys = _mixed(keys ^ column)
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            one, other = filled_heads[first[inverse]], filled_heads
            pairs = one != other
            one, other = one[pairs], other[pairs]
            for start in range(0, len(one), 1 << 14):
                a, b = one[start : start + (1 << 14)], other[start : start + (1 << 14)]
                filled = (bins[a] != _NONE) | (bins[b] != _NONE)
                equal = (bins[a] == bins[b]) & filled
                alike = equal.sum(axis=1) >= _ALIKE * filled.sum(axis=1)
                for i, j in zip(a[alike].tolist(), b[alike].tolist(), strict=True):
                    i, j = root(i), root(j)
                    parent[max(i, j)] = min(i, j)
        near = np.array([root(i) for i in range(len(parent))], np.int64)
        return same.astype(np.int64), near
