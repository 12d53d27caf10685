"""Sources of minibatches: documents of a stored corpus, or of one that is read once."""

from __future__ import annotations

from typing import Protocol

from pysgrld.core import core
from pysgrld.types import Documents, Int64s, Minibatch


class Source(Protocol):
    """A corpus as minibatches need it."""

    def take(self, ids: Int64s) -> Documents:
        """Gather documents, in this order."""


class Feed(Protocol):
    """Documents that come once, in order."""

    def take(self, n: int) -> Documents:
        """Take the next documents: ``n``, or fewer at the end."""


class Minibatches(Protocol):
    """Minibatches of the documents that a chain is trained on, one for each iteration.

    Attributes
    ----------
    size : int
        Documents per minibatch.
    seed, chain : int
        Seed and number of the chain in the random keys of the run: chains of one seed count from 0.
    """

    @property
    def size(self) -> int:
        """Documents per minibatch."""

    @property
    def seed(self) -> int:
        """Seed of all randomness of the run."""

    @property
    def chain(self) -> int:
        """Number of the chain among those of one seed, from 0."""

    @property
    def documents(self) -> int:
        """Training documents D, as far as is known."""

    @property
    def per_epoch(self) -> int:
        """Minibatches in a pass over the D documents."""

    @property
    def together(self) -> int:
        """Minibatches that may be asked for before the first of them is used."""

    def minibatch(self, t: int) -> Minibatch | None:
        """Give the documents of iteration ``t``, counted from 0; None at the end of the corpus."""


def compact(documents: Documents, doc_ids: Int64s, scale: float) -> Minibatch:
    """Renumber the distinct words of some documents once; kernels work on the compact rows."""
    words, indices = core.renumber(documents.indices)
    return Minibatch(documents.indptr, indices, documents.counts, words, doc_ids, scale)
