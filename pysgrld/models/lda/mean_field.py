"""Mean-field variational Bayes for LDA's documents, with q(theta_d) = Dirichlet(gamma_d).

Kernel: cpp/kernels/documents_mean_field.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.chain.communicator import ALONE, Collected, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw, sampling_weights
from pysgrld.core.restore import check_positive, restore_arrays
from pysgrld.samplers.state import Counts
from pysgrld.types import UNIT, Array, Documents, Floats, Int64s, Key, Minibatch

#: A document has converged if gamma changes by less than this number on average over topics, as in
#: Hoffman's code.
TOLERANCE = 1e-3
#: Maximum number of passes over a document that is not used for training.
PASSES = 100


class MeanFieldDocuments(DocumentSampler):
    """Mean-field fit of documents: coordinate ascent on the Dirichlet parameters gamma_d.

    Parameters
    ----------
    topics : int
        K.
    alpha : float
        Symmetric Dirichlet parameter per topic.
    sweeps : int
        Maximum number of passes over a document.
    threads : int
    """

    by_document = frozenset({"gamma"})

    def __init__(self, *, topics: int, alpha: float, sweeps: int, threads: int) -> None:
        self.topics, self.alpha, self.sweeps, self.threads = topics, alpha, sweeps, threads
        self._gamma: Floats | None = None
        self._work = core.Workspace()

    def keep(self, documents: Documents) -> None:
        """Allocate the variational parameters gamma of all documents, initially 1."""
        self._gamma = self._start(len(documents))

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Fit the documents of a minibatch; return expected word counts by topic.

        The draw has exp(E log phi).

        Hoffman, Blei and Bach (2010), eq. (5). Nothing is random.
        """
        del key
        weights = sampling_weights(draw)
        fitted = comm.collect(lambda part: self._fit_and_count(weights, part), batch)
        assert fitted.words is not None
        (counts,), (tokens,) = fitted.by_word, fitted.sums
        level = batch.scale * int(tokens[0]) / self.topics
        return {"phi": Counts(fitted.words, counts, batch.scale / UNIT, level)}

    def _fit_and_count(self, weights: Floats, batch: Minibatch) -> Collected:
        """Fit documents; return expected word counts by topic, and the number of tokens."""
        documents = Documents(batch.indptr, batch.indices, batch.counts)
        _, counts = self.fit(weights, documents, want_words=True, gamma=self._gamma)
        assert counts is not None
        return Collected((counts,), (np.array([documents.tokens]),))

    def fit(
        self,
        weights: Floats,
        documents: Documents,
        *,
        want_words: bool,
        gamma: Floats | None = None,
    ) -> tuple[Floats, Int64s | None]:
        """Fit documents; return their gamma, (n, Kp), and expected word counts by topic.

        The counts are (R, Kp), in units of 2^-24.

        The fit continues in place from ``gamma`` if it is not None; else it starts at 1.
        """
        gamma = self._start(len(documents)) if gamma is None else gamma
        counts = core.documents_mean_field(
            weights=weights,
            topics=self.topics,
            indptr=documents.indptr,
            indices=documents.indices,
            counts=documents.counts,
            alpha=self.alpha,
            sweeps=self.sweeps,
            tolerance=TOLERANCE,
            gamma=gamma,
            want_words=want_words,
            work=self._work,
            threads=self.threads,
        )
        return gamma, counts

    def _start(self, documents: int) -> Floats:
        gamma = core.zeros(documents, padded_width(self.topics), "float32")
        gamma[:, : self.topics] = 1.0
        return gamma

    def arrays(self) -> dict[str, Array]:
        """Return ``gamma`` of all documents, if it is stored between iterations."""
        return {} if self._gamma is None else {"gamma": self._gamma}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy gamma from a checkpoint's arrays, if it is stored between iterations.

        Raises
        ------
        CheckpointError
            If gamma is missing, or is not a valid Dirichlet parameter.
        """
        restore_arrays(self.arrays(), arrays)
        if self._gamma is not None:
            check_positive("gamma", self._gamma[:, : self.topics])
