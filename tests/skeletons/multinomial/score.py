"""Perplexity of a token of whole documents: exp of minus the mean of log phi_w.

The posterior average takes the mean of phi_w over samples before the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core.arithmetic import log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.evaluate import Estimate, HeldOut, Score, Scorer
from pysgrld.types import Array, Doubles, Int32s, Int64s, Key

TOKEN_PERPLEXITY = Score("token_perplexity", "perplexity of a token", 1, whole=True)


class TokenPerplexity(Scorer):
    """Scores the one topic on whole documents; keeps the running posterior average.

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
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average; returns the averaged score."""
        del key  # nothing is random
        self.samples += 1
        self._mean += (parts["phi"][:, 0] - self._mean) / self.samples
        return self.average()

    def average(self) -> Estimate:
        """Give the averaged score so far; NaN before the first sample."""
        if not self.samples:
            return Estimate(math.nan, np.full(len(self.held_out.held_out), math.nan))
        return self.score(self.log_averages())

    def log_averages(self) -> Doubles:
        """Give the log of the averaged probability of every word, (R,)."""
        return log(self._mean)

    def score(self, logs: Doubles) -> Estimate:
        """Give the perplexity of the tokens, whose words have such log probabilities."""
        whole = self.held_out.held_out
        value = math.exp(-float(self._counts @ logs) / self.tokens)
        of_documents = whole.summed(logs[self._rows] * whole.counts)
        return Estimate.perplexity(value, of_documents, whole.lengths.astype(np.float64))

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Give the score of one draw; the running average is not touched."""
        del key
        return self.score(log(parts["phi"][:, 0].astype(np.float64)))

    def unigram(self, counts: Int64s) -> Estimate:
        """Score the word frequencies of the training documents, plus 0.01 each."""
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return self.score(log(q[self.words]))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Give the mean log probability of a whole document under one draw."""
        return -math.log(self.point(key, parts)) * self.tokens / len(self.held_out.held_out)

    def shares(self, at: int) -> Doubles:
        """Give the one topic's share of all tokens, (1,)."""
        del at  # there is one layer
        return np.ones(1)

    def share_gained(self, before: float, now: float) -> float:
        """Give the share of the perplexity that was gained: 1 - now / before."""
        return 1.0 - now / before

    def figures(self) -> dict[str, float]:
        """Give nothing: there is no figure beside the score."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Give what a checkpoint must hold for the average to go on exactly."""
        return {"mean": self._mean, "samples": np.array([self.samples])}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from `arrays`.

        Raises
        ------
        CheckpointError
            If they are not those of these documents.
        """
        own = self.arrays()
        put_back(own, arrays, self.prefix)
        self.samples = int(own["samples"][0])
