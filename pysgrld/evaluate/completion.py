"""Perplexity by document completion, of one draw or averaged over posterior samples.

The proportions theta_d of document d are estimated from its observed tokens by Gibbs sampling,
given the topics phi. A held-out token of word w then has probability p(w) = sum_k theta_dk phi_kw
(Patterson and Teh 2013, eq. 12 to 15). The posterior average takes the mean of p(w) over samples
before the logarithm. Tokens are pooled over documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core import check_lengths
from pysgrld.core.arithmetic import dot, log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import restore_arrays
from pysgrld.errors import NumericalError
from pysgrld.evaluate.held_out import HeldOut
from pysgrld.evaluate.reader import FRESH_SWEEPS, FURTHER_SWEEPS, Readers, VisitPurpose
from pysgrld.evaluate.score import Estimate, Score, Scorer
from pysgrld.types import Array, Documents, Doubles, HeldOutCounts, Int32s, Int64s, Key

PERPLEXITY = Score("perplexity", "perplexity", 1, whole=False)


def visits(held_out: HeldOut | None, sweeps: int = FURTHER_SWEEPS) -> int:
    """Return the number of token updates that one held-out score takes, as a measure of its cost.

    Parameters
    ----------
    held_out : HeldOut or None
    sweeps : int
        Number of sweeps over observed tokens; by default as for one update of the running
        perplexity.
    """
    if held_out is None:
        return 0
    return held_out.observed.tokens * sweeps + len(held_out.held_out.indices) // 4


class Completion(Scorer):
    """Scorer that predicts the held-out parts of documents, given their observed parts.

    Parameters
    ----------
    held_out : HeldOut
    readers : Readers
        Factory of the reader that infers the documents from their observed parts.
    threads : int

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents; a score needs only these rows of phi.
    samples : int
        Number of posterior samples in the running average.

    Raises
    ------
    CorpusError
        If an observed part is too long for exact counts.
    """

    prefix = "completion."

    def __init__(self, held_out: HeldOut, readers: Readers, threads: int) -> None:
        self.held_out = held_out
        observed, scored = held_out.observed, held_out.held_out
        check_lengths(observed.lengths, FRESH_SWEEPS // 2, "held-out document")
        self.words: Int32s = np.flatnonzero(
            np.bincount(np.concatenate([observed.rows, scored.rows]))
        ).astype(np.int32)
        rows = np.searchsorted(self.words, observed.rows).astype(np.int32)
        self._reader = readers.make(
            Documents(observed.indptr, rows, observed.counts), held_out.doc_ids, threads
        )
        self._scored = HeldOutCounts(
            scored.indptr, np.searchsorted(self.words, scored.rows).astype(np.int32), scored.counts
        )
        self._mean: Doubles = np.zeros(len(scored.indices))

    def logs(self, key: Key, parts: Draw) -> Doubles:
        """Return the log probability of each held-out word of each document, given one draw.

        Documents are inferred by new chains.
        """
        return log(self._reader.predict(key, parts, self._scored, VisitPurpose.AFRESH))

    def score(self, logs: Doubles) -> Estimate:
        """Convert log probabilities of all held-out words to a perplexity with a standard error.

        Raises
        ------
        NumericalError
            If a probability is NaN.
        """
        scored = self.held_out.held_out
        of_documents = scored.sum_by_document(logs * scored.counts)
        tokens = scored.lengths.astype(np.float64)
        return Estimate.perplexity(self._perplexity(logs), of_documents, tokens)

    def _perplexity(self, logs: Doubles) -> float:
        total = dot(self.held_out.held_out.counts, logs)
        if math.isnan(total):
            raise NumericalError(
                "the probabilities of the held-out documents are not numbers (NaN); use a smaller "
                "step size"
            )
        return math.exp(-total / self.held_out.held_out.tokens)

    def update(self, key: Key, parts: Draw) -> float:
        """Add a posterior sample to the running average, and return the averaged perplexity.

        The chain of each document continues from the previous sample. ``phi`` is (R, Kp) over
        `words`.
        """
        self._add(key, parts, VisitPurpose.CONTINUE)
        # The standard error is omitted, because it takes time.
        return self._perplexity(log(self._mean))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Return the mean log probability of a held-out token, given one draw of the topics.

        The variables of each document are a draw, too: the last state of the document's chain. The
        sample is added to the running average.
        """
        return -float(log(self._perplexity(log(self._add(key, parts, VisitPurpose.DRAW)))))

    def _add(self, key: Key, parts: Draw, how: VisitPurpose) -> Doubles:
        p = self._reader.predict(key, parts, self._scored, how)
        self.samples += 1
        self._mean += (p - self._mean) / self.samples
        return p

    def log_averages(self) -> Doubles:
        """Return the log of each held-out word's probability, averaged over samples, (nnz,)."""
        return log(self._mean)

    def unigram(self, counts: Int64s) -> Estimate:
        """Return the perplexity of a unigram model that is fitted to training counts plus 0.01."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self.score(log(q[self.held_out.held_out.indices]))

    def shares(self, layer: int = 0) -> Doubles:
        """Return each topic's share of the observed tokens, in a layer's last draw, (K,)."""
        return self._reader.shares(layer)

    def metrics(self) -> dict[str, float]:
        """Return additional scores of the samples so far, if the model has such scores."""
        return self._reader.metrics(self._scored) if self.samples else {}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which `restore` continues the average exactly."""
        state = {"mean": self._mean, "samples": np.array([self.samples])}
        return state | self._reader.arrays()

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state that `arrays` returned.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        state = {"mean": self._mean, "samples": np.array([self.samples])}
        restore_arrays(state, arrays, self.prefix)
        self._reader.restore(arrays, self.prefix)
        self.samples = int(state["samples"][0])
