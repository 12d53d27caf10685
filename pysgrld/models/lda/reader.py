"""Inference of documents for trained LDA runs: topic proportions and predicted words."""

from __future__ import annotations

from functools import partial

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw, sampling_weights
from pysgrld.errors import UsageError
from pysgrld.evaluate.reader import DocumentDraw, Reader, Readers, VisitPurpose
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.fitted import Record
from pysgrld.models.lda.blocks import blocks
from pysgrld.models.lda.mean_field import MeanFieldDocuments
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.token_reader import gibbs_readers
from pysgrld.options.priors import fixed_value
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Documents, Doubles, Floats, HeldOutCounts, Int32s, Int64s, Key

#: Maximum number of mean-field passes over a document that is not used for training.
PASSES = 100


def lda_readers(topics: int, alpha: float | None, *, mean_field: bool = False) -> Readers:
    """Return a factory of readers for LDA, which infer the topic proportions of documents.

    Parameters
    ----------
    topics : int
        K.
    alpha : float or None
        Symmetric Dirichlet prior per topic of a document, or None if draws include alpha_k.
    mean_field : bool
        Whether documents are fitted by mean field, as in training; if not, the topics of their
        tokens are sampled.
    """
    if not mean_field:
        return gibbs_readers(topics, alpha)
    assert alpha is not None  # Approximations do not draw samples, so they cannot learn alpha.
    return Readers((topics,), core.MAX_COLLECTED, partial(MeanFieldReader, topics, alpha))


class MeanFieldReader(Reader):
    """Reader of documents by mean-field variational Bayes with fixed topics, without randomness.

    Parameters
    ----------
    topics : int
    alpha : float
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
    threads : int
    """

    def __init__(
        self, topics: int, alpha: float, documents: Documents, doc_ids: Int64s, threads: int
    ) -> None:
        del doc_ids  # The ids are unused, because nothing is random.
        self.documents = documents
        self.fitting = MeanFieldDocuments(
            topics=topics, alpha=alpha, sweeps=PASSES, threads=threads
        )
        self._last = core.zeros(len(documents), padded_width(self.fitting.topics), "float32")

    def _theta(self, parts: Draw) -> Floats:
        """Fit documents, and return their mean topic proportions, (n, Kp)."""
        gamma, _ = self.fitting.fit(sampling_weights(parts), self.documents, want_words=False)
        gamma /= gamma.sum(axis=1, keepdims=True)
        self._last = gamma
        return gamma

    def predict(self, key: Key, parts: Draw, scored: HeldOutCounts, how: VisitPurpose) -> Doubles:
        """Return the probability of each held-out word, from mean proportions and mean topics.

        Patterson and Teh (2013), eq. (16).
        """
        del key, how  # `key` and `how` are unused, because the prediction is not random.
        return core.predictive_given_theta(
            phi=parts["phi"],
            topics=self.fitting.topics,
            indptr=scored.indptr,
            indices=scored.indices,
            theta=self._theta(parts),
            threads=self.fitting.threads,
        )

    def theta(self, key: Key, parts: Draw, how: VisitPurpose, layer: int = 0) -> Doubles:
        """Return the mean proportions of topics in documents, (n, K).

        They are gamma_dk / sum_j gamma_dj.
        """
        # Nothing is drawn here, and the model has one layer, so these arguments are unused.
        del key, how, layer
        theta: Doubles = self._theta(parts)[:, : self.fitting.topics].astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def draw(self, key: Key, parts: Draw, layer: int = 0) -> DocumentDraw:
        """Raise an error, because documents are fitted and not drawn.

        Raises
        ------
        UsageError
        """
        raise UsageError(
            "documents of --algo ovb are fitted and not sampled, so their proportions cannot be "
            "drawn; use another --algo"
        )

    def token_topics(self, key: Key, parts: Draw, layer: int = 0) -> Int32s:
        """Raise an error, because documents are fitted and not drawn.

        Raises
        ------
        UsageError
        """
        del key, parts, layer
        raise UsageError(
            "documents of --algo ovb are fitted and not sampled, so topics of their tokens "
            "cannot be drawn"
        )

    def shares(self, layer: int = 0) -> Doubles:
        """Return each topic's expected share of the tokens of the last fitted documents, (K,)."""
        del layer  # The argument is unused, because the model has one layer.
        lengths = self.documents.lengths.astype(np.float64)
        share: Doubles = (lengths[:, None] * self._last[:, : self.fitting.topics]).sum(axis=0)
        share /= max(1.0, lengths.sum())
        return share


class LDAFitted(AdmixtureFitted):
    """A trained run of LDA, opened for reading; its topics are distributions over words.

    Parameters
    ----------
    record : Record
    threads : int
    """

    def __init__(self, record: Record, threads: int) -> None:
        options: LDAOptions = record.options
        if SAMPLERS[options.algo].draws:
            self.remedy = "--exact-sweeps 1000"
        parts = blocks(options, record.words, record.tokens)
        readers = lda_readers(
            options.topics, fixed_value(options.alpha), mean_field=options.algo == "ovb"
        )
        super().__init__(record, threads, parts, readers)
