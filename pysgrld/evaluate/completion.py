"""Perplexity by document completion, point and posterior-averaged.

theta_d is estimated from the observed tokens by Gibbs with the topics fixed; a held-out token of
word w scores p(w) = sum_k theta_dk phi_kw (Patterson and Teh 2013, eq. 12 to 15). The posterior
average takes the mean of p(w) over samples before the logarithm; tokens are pooled over documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core.arithmetic import dot, log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.errors import NumericalError
from pysgrld.evaluate.estimate import Estimate
from pysgrld.evaluate.lengths import check_observed
from pysgrld.evaluate.protocol import Readers, Visiting
from pysgrld.evaluate.score import Score
from pysgrld.evaluate.split import HeldOut
from pysgrld.evaluate.sweeps import FURTHER_SWEEPS
from pysgrld.types import Array, Documents, Doubles, Int32s, Int64s, Key, Scored

PERPLEXITY = Score("perplexity", "perplexity", 1, whole=False)


def visits(held_out: HeldOut | None, sweeps: int = FURTHER_SWEEPS) -> int:
    """Count token visits of a score: its cost beside that of training.

    Parameters
    ----------
    held_out : HeldOut or None
    sweeps : int
        Sweeps over observed tokens: by default those of one update of the running perplexity.
    """
    if held_out is None:
        return 0
    return held_out.observed.tokens * sweeps + len(held_out.held_out.indices) // 4


class Completion:
    """Scores topics on held-out documents; keeps the running posterior average. A `Scorer`.

    Parameters
    ----------
    held_out : HeldOut
    readers : Readers
        Makes what reads the observed parts of the documents.
    threads : int

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    prefix = "completion."

    def __init__(self, held_out: HeldOut, readers: Readers, threads: int) -> None:
        self.held_out = held_out
        observed, scored = held_out.observed, held_out.held_out
        check_observed(observed.lengths)
        self.words: Int32s = np.union1d(observed.indices, scored.indices).astype(np.int32)
        rows = np.searchsorted(self.words, observed.indices).astype(np.int32)
        self._reader = readers(
            Documents(observed.indptr, rows, observed.counts), held_out.doc_ids, threads
        )
        self._scored = Scored(
            scored.indptr,
            np.searchsorted(self.words, scored.indices).astype(np.int32),
            scored.counts,
        )
        self._mean: Doubles = np.zeros(len(scored.indices))
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Held-out tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average, and give the averaged perplexity.

        Each document's chain goes on from the previous sample. ``phi`` is (R, Kp) over `words`.
        """
        self._take(key, parts, Visiting.CONTINUE)
        return self._perplexity(log(self._mean))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Give the mean log probability of a held-out token, given one draw of all topics.

        That of the documents' topics is the last state of their chains. The sample is added to the
        running average.
        """
        return -float(log(self._perplexity(log(self._take(key, parts, Visiting.DRAW)))))

    def _take(self, key: Key, parts: Draw, how: Visiting) -> Doubles:
        p = self._reader.predict(key, parts, self._scored, how)
        self.samples += 1
        self._mean += (p - self._mean) / self.samples
        return p

    def shares(self, at: int = 0) -> Doubles:
        """Give the share of the observed tokens of layer ``at``'s topics in the last draw, (K,)."""
        return self._reader.shares(at)

    def average(self) -> Estimate:
        """Give the averaged perplexity so far; NaN before the first sample."""
        if not self.samples:
            return Estimate(math.nan, np.full(len(self.held_out.held_out), math.nan))
        return self.score(self.log_averages())

    def log_averages(self) -> Doubles:
        """Give the log of the averaged probability of every scored entry, (nnz,)."""
        return log(self._mean)

    def score(self, logs: Doubles) -> Estimate:
        """Give the perplexity of the log probabilities of all scored entries, with its standard error."""
        scored = self.held_out.held_out
        of_documents = scored.summed(logs * scored.counts)
        tokens = scored.lengths.astype(np.float64)
        return Estimate.perplexity(self._perplexity(logs), of_documents, tokens)

    def figures(self) -> dict[str, float]:
        """Give further figures of the samples so far, as the model's paper defines them."""
        return self._reader.figures(self._scored) if self.samples else {}

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Give the perplexity of one draw, chains started afresh; the running average is not touched."""
        return self.score(log(self._reader.predict(key, parts, self._scored, Visiting.AFRESH)))

    def unigram(self, counts: Int64s) -> Estimate:
        """Give the perplexity of the word frequencies of the training documents, plus 0.01 each."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self.score(log(q[self.held_out.held_out.indices]))

    def share_gained(self, before: float, now: float) -> float:
        """Give the share of the perplexity that was gained: 1 - now / before."""
        return 1.0 - now / before

    def arrays(self) -> dict[str, Array]:
        """Give the arrays from which the average goes on exactly."""
        own = {"mean": self._mean, "samples": np.array([self.samples])}
        return own | self._reader.arrays()

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """
        own = {"mean": self._mean, "samples": np.array([self.samples])}
        put_back(own, arrays, self.prefix)
        self._reader.restore(arrays, self.prefix)
        self.samples = int(own["samples"][0])

    def _perplexity(self, logs: Doubles) -> float:
        total = dot(self.held_out.held_out.counts, logs)
        if math.isnan(total):
            raise NumericalError("the probabilities of the held-out documents are no numbers")
        return math.exp(-total / self.tokens)
