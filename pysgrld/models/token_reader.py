"""Collapsed-Gibbs inference of new documents, for models in which each token has a topic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw, sampling_weights
from pysgrld.core.restore import check_topics, restore_arrays
from pysgrld.evaluate.reader import (
    DocumentDraw,
    Reader,
    Readers,
    Sweeps,
    VisitPurpose,
    draw_proportions,
    held_out_sweeps,
    sweeps_of_draw,
)
from pysgrld.models.token_topics import resolve_alpha, token_places
from pysgrld.types import UNIT, Array, Documents, Doubles, HeldOutCounts, Int32s, Int64s, Key

#: Number of passes of collapsed variational inference over a new document. With more passes, the
#: topic probabilities of its words would be more certain than in the posterior
#: (docs/internals/mathematics.md, "New documents").
EXPECTED_PASSES = 8


def gibbs_readers(topics: int, alpha: float | None) -> Readers:
    """Return a function that creates readers, which infer documents by sampling tokens' topics.

    Parameters
    ----------
    topics : int
        K.
    alpha : float or None
        Symmetric Dirichlet prior per topic of a document, or None if draws include alpha_k.
    """
    return Readers((topics,), core.MAX_COLLECTED, partial(GibbsReader, topics, alpha))


class GibbsReader(Reader):
    """Reader that samples the topics of tokens by collapsed Gibbs, given fixed topics over words.

    Parameters
    ----------
    topics : int
    alpha : float or None
        Symmetric Dirichlet prior per topic, or None if draws include alpha_k.
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
    threads : int
    """

    def __init__(
        self, topics: int, alpha: float | None, documents: Documents, doc_ids: Int64s, threads: int
    ) -> None:
        self.topics, self.alpha = topics, alpha
        self.documents, self.doc_ids, self.threads = documents, doc_ids, threads
        self._lengths = documents.lengths
        self._work = core.Workspace()

    @cached_property
    def _token_ptr(self) -> Int64s:
        return token_places(self.documents)

    @cached_property
    def _z(self) -> Int32s:
        return np.full(self._token_ptr[-1], -1, np.int32)

    @property
    def _fresh(self) -> bool:
        """True until a Gibbs sweep has assigned topics to all tokens."""
        return bool((self._z < 0).any())

    def counts(self, key: Key, parts: Draw, sweeps: Sweeps, *, expected: bool = True) -> Int64s:
        """Count each document's tokens by topic, summed over the last sweeps, (n, Kp).

        Expected counts are in units of 2^-24.
        """
        _, counts = core.documents_gibbs(
            phi=sampling_weights(parts),
            topics=self.topics,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            doc_ids=self.doc_ids,
            alpha=resolve_alpha(parts, self.alpha),
            sweeps=sweeps.number,
            kept=sweeps.kept,
            rao_blackwell=expected,
            seed=key.seed,
            chain=key.chain,
            step=key.step,
            purpose=sweeps.purpose,
            z=self._z if sweeps.go_on else None,
            token_ptr=self._token_ptr if sweeps.go_on else None,
            want_words=False,
            want_documents=True,
            work=self._work,
            threads=self.threads,
        )
        assert counts is not None
        return counts

    def predict(self, key: Key, parts: Draw, scored: HeldOutCounts, how: VisitPurpose) -> Doubles:
        """Return the probability of each held-out word in its document.

        See Patterson and Teh (2013), eq. 12 to 15.
        """
        sweeps = held_out_sweeps(how, fresh=self._fresh)
        return core.predictive(
            phi=parts["phi"],
            topics=self.topics,
            indptr=scored.indptr,
            indices=scored.indices,
            doc_counts=self.counts(key, parts, sweeps),
            tokens=self._lengths,
            alpha=resolve_alpha(parts, self.alpha),
            factor=1.0 / (UNIT * sweeps.kept),
            threads=self.threads,
        )

    def theta(self, key: Key, parts: Draw, how: VisitPurpose, layer: int = 0) -> Doubles:
        """Return the expected proportions of topics in documents, (n, K).

        They are (alpha_k + E[n_dk]) / (sum alpha + N_d), eq. 15 of Patterson and Teh (2013).

        The expectation comes from collapsed variational inference of zeroth order (Asuncion et al.
        2009, eq. 8). It is not random, and is nearer to the posterior expectation than a mean of
        fifty sweeps.
        """
        del key, how, layer  # The result is not random, and the model has only one layer.
        alpha = resolve_alpha(parts, self.alpha)
        counts = core.documents_expected(
            phi=sampling_weights(parts),
            topics=self.topics,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            alpha=alpha,
            passes=EXPECTED_PASSES,
            work=self._work,
            threads=self.threads,
        )
        prior = (
            alpha[: self.topics] if isinstance(alpha, np.ndarray) else np.full(self.topics, alpha)
        )
        return core.proportions_of(
            counts=counts, alpha=prior.astype(np.float64), threads=self.threads
        )

    def draw(self, key: Key, parts: Draw, layer: int = 0) -> DocumentDraw:
        """Continue the documents' chains; return the last sweep's token counts and a draw of theta.

        Theta is drawn given the token counts.
        """
        del layer  # `layer` is unused, because the model has only one layer.
        counts = self.counts(key, parts, sweeps_of_draw(fresh=self._fresh), expected=False)
        theta = draw_proportions(
            counts,
            self.topics,
            resolve_alpha(parts, self.alpha),
            key,
            self.doc_ids,
            self._work,
            self.threads,
        )
        return DocumentDraw(theta, counts[:, : self.topics].astype(np.float32))

    def token_topics(self, key: Key, parts: Draw, layer: int = 0) -> Int32s:
        """Continue the documents' chains, and return the topic of each token in the last sweep."""
        del layer  # `layer` is unused, because the model has only one layer.
        self.counts(key, parts, sweeps_of_draw(fresh=self._fresh), expected=False)
        return self._z

    def shares(self, layer: int = 0) -> Doubles:
        """Return the current share of each topic in the tokens, (K,)."""
        del layer  # `layer` is unused, because the model has only one layer.
        counts: Doubles = np.bincount(self._z, minlength=self.topics) / max(1, len(self._z))
        return counts

    def arrays(self) -> dict[str, Array]:
        """Return the topics of all tokens, which are the state of the Gibbs chains."""
        return {"z": self._z}

    def restore(self, arrays: Mapping[str, Array], prefix: str) -> None:
        """Restore the state of the documents' chains from `arrays`.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        restore_arrays(self.arrays(), arrays, prefix)
        check_topics(f"{prefix}z", self._z, self.topics)
