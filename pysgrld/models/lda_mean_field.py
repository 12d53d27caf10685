"""Documents of LDA by mean-field variational Bayes: Dirichlet(gamma_d) for their proportions.

Kernel: cpp/kernels/documents_mean_field.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core, padded
from pysgrld.parts import weights_of
from pysgrld.types import (
    UNIT,
    Array,
    Documents,
    Doubles,
    Floats,
    Int64s,
    Key,
    Minibatch,
    Parts,
    Scored,
    Statistics,
)

#: A document has converged when gamma changes by less on average over topics: as Hoffman's own code.
TOLERANCE = 1e-3
#: Passes over a document at most, where it is read and not trained on.
PASSES = 100


class Local(NamedTuple):
    """How documents are fitted.

    Attributes
    ----------
    topics : int
        K.
    alpha : float
        Symmetric Dirichlet parameter per topic.
    sweeps : int
        Passes over a document at most.
    threads : int
    work : Workspace
    state : None
        Nothing is kept between visits.
    """

    topics: int
    alpha: float
    sweeps: int
    threads: int
    work: core.Workspace
    state: dict[str, Array] | None = None


def local(options: Mapping[str, Any], words: int, threads: int) -> Local:
    """How these options want documents fitted."""
    del words
    return Local(options["topics"], options["alpha"], options["sweeps"], threads, core.Workspace())


def step(key: Key, parts: Parts, batch: Minibatch, local: Local) -> dict[str, Statistics]:
    """Fit the minibatch's documents given exp(E log phi); expected counts of words by topic.

    Hoffman, Blei and Bach (2010), eq. (5). Nothing is random.
    """
    del key
    _, counts = fit(
        weights_of(parts), Documents(batch.indptr, batch.indices, batch.counts), local,
        want_words=True,
    )  # fmt: skip
    assert counts is not None
    level = batch.scale * int(batch.counts.sum(dtype=np.int64)) / local.topics
    return {"phi": Statistics(batch.words, counts, batch.scale / UNIT, level)}


def fit(
    weights: Floats, documents: Documents, local: Local, *, want_words: bool
) -> tuple[Floats, Int64s | None]:
    """Gamma of documents, (n, Kp), from a start at 1, and counts (R, Kp) in units of 2^-24."""
    gamma = core.zeros(len(documents), padded(local.topics), "float32")
    gamma[:, : local.topics] = 1.0
    counts = core.documents_mean_field(
        weights=weights,
        topics=local.topics,
        indptr=documents.indptr,
        indices=documents.indices,
        counts=documents.counts,
        alpha=local.alpha,
        sweeps=local.sweeps,
        tolerance=TOLERANCE,
        gamma=gamma,
        want_words=want_words,
        work=local.work,
        threads=local.threads,
    )
    return gamma, counts


class Reader:
    """Documents of which others are to be predicted: their gamma, topics fixed.

    Parameters
    ----------
    options : mapping
        Resolved: ``topics`` and ``alpha`` are read.
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
        Not used: nothing is random.
    threads : int
    """

    def __init__(
        self, options: Mapping[str, Any], documents: Documents, doc_ids: Int64s, threads: int
    ) -> None:
        del doc_ids
        self.documents = documents
        self.local = local(dict(options) | {"sweeps": PASSES}, 0, threads)
        self._last = core.zeros(len(documents), padded(self.local.topics), "float32")

    def _theta(self, parts: Parts) -> Floats:
        """Mean of the proportions, (n, Kp)."""
        gamma, _ = fit(weights_of(parts), self.documents, self.local, want_words=False)
        gamma /= gamma.sum(axis=1, keepdims=True)
        self._last = gamma
        return gamma

    def predict(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int,
        scored: Scored, *, go_on: bool, fresh: bool = True,
    ) -> Doubles:  # fmt: skip
        """Probability of every scored entry: the mean of theta times the mean of phi.

        Patterson and Teh (2013), eq. (16).
        """
        del key, purpose, sweeps, kept, go_on, fresh
        return core.mixture(
            phi=parts["phi"],
            topics=self.local.topics,
            indptr=scored.indptr,
            indices=scored.indices,
            theta=self._theta(parts),
            threads=self.local.threads,
        )

    def theta(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int, layer: int
    ) -> Doubles:
        """gamma_dk / gamma_d, (n, K)."""
        del key, purpose, sweeps, kept, layer
        theta: Doubles = self._theta(parts)[:, : self.local.topics].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def shares(self, layer: int) -> Doubles:
        """Expected share of the tokens that each topic has, as the documents were last fitted, (K,)."""
        del layer
        lengths = self.documents.lengths.astype(np.float64)
        share: Doubles = lengths @ self._last[:, : self.local.topics] / max(1.0, lengths.sum())
        return share

    def figures(self, scored: Scored) -> dict[str, float]:
        """None beside the perplexity."""
        del scored
        return {}

    def state(self) -> dict[str, Array]:
        """Nothing goes on between scores."""
        return {}

    def restore(self, state: Mapping[str, Array], prefix: str) -> None:
        """Nothing to restore."""
        del state, prefix
