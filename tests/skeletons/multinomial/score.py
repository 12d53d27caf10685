"""Perplexity of a token of whole documents: exp of minus the mean log phi_w.

The posterior average takes the mean of phi_w over samples before the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import restore_arrays
from pysgrld.evaluate import Estimate, HeldOut, Score, Scorer
from pysgrld.types import Array, Doubles, Int32s, Int64s, Key

TOKEN_PERPLEXITY = Score("token_perplexity", "perplexity of a token", 1, whole=True)


class TokenPerplexity(Scorer):
    """A scorer of the single topic by whole documents.

    Parameters
    ----------
    held_out : HeldOut
        With nothing observed.

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    prefix = "predictive."

    def __init__(self, held_out: HeldOut) -> None:
        self.held_out, whole = held_out, held_out.held_out
        self.words: Int32s = np.unique(whole.indices).astype(np.int32)
        rows = np.searchsorted(self.words, whole.indices)
        self._rows, self._counts = rows, np.bincount(rows, whole.counts, len(self.words))
        self._mean: Doubles = np.zeros(len(self.words))

    def logs(self, key: Key, parts: Draw) -> Doubles:
        """Return the log probability of every word under one draw, (R,)."""
        del key  # nothing is random
        return log(parts["phi"][:, 0].astype(np.float64))

    def score(self, logs: Doubles) -> Estimate:
        """Return the perplexity of tokens, given the log probabilities of words."""
        whole = self.held_out.held_out
        value = math.exp(-float(self._counts @ logs) / whole.tokens)
        of_documents = whole.sum_by_document(logs[self._rows] * whole.counts)
        return Estimate.perplexity(value, of_documents, whole.lengths.astype(np.float64))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Return the mean log probability of a whole document under one draw."""
        whole = self.held_out.held_out
        return -math.log(self.point(key, parts)) * whole.tokens / len(whole)

    def unigram(self, counts: Int64s) -> Estimate:
        """Return the score of the word frequencies of the training documents, plus 0.01 each."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self.score(log(q[self.words]))

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average, and return the averaged score."""
        del key  # nothing is random
        self.samples += 1
        self._mean += (parts["phi"][:, 0] - self._mean) / self.samples
        return self.average()

    def log_averages(self) -> Doubles:
        """Return the log of the averaged probability of every word, (R,)."""
        return log(self._mean)

    def shares(self, at: int) -> Doubles:
        """Return the one topic's share of all tokens, (1,)."""
        del at  # there is one layer
        return np.ones(1)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays from which the average continues exactly."""
        return {"mean": self._mean, "samples": np.array([self.samples])}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Continue from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """
        own = self.arrays()
        restore_arrays(own, arrays, self.prefix)
        self.samples = int(own["samples"][0])
