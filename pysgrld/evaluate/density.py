"""Log predictive density of whole documents under a mixture.

Minus the mean over documents of log sum_j w_j prod_w phi_jw^n_w, without the multinomial coefficient,
which no model changes (Baker et al. 2018, section 4.2). What a sample leaves of the stick predicts as
the prior does. The posterior average takes the mean of densities over samples before the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.errors import NumericalError
from pysgrld.evaluate.split import HeldOut
from pysgrld.models.multinomials import log_mixture, prior_predictive
from pysgrld.restore import put_back
from pysgrld.types import Array, Documents, Doubles, Int32s, Int64s, Key, Parts


class Density:
    """Scores mixtures on whole documents; keeps the running posterior average. A `Scorer`.

    Parameters
    ----------
    held_out : HeldOut
        With nothing observed.
    options : mapping
        Resolved: the prior of components is read.
    words : int
        Vocabulary size V.

    Attributes
    ----------
    words : (R,) int32
        The words that occur in these documents: the rows of phi that a score needs.
    samples : int
        Posterior samples in the running average.
    """

    prefix = "density."

    def __init__(self, held_out: HeldOut, options: Mapping[str, Any], words: int) -> None:
        self.held_out, whole = held_out, held_out.held_out
        self.words: Int32s = np.unique(whole.indices).astype(np.int32)
        rows = np.searchsorted(self.words, whole.indices).astype(np.int32)
        self._documents = Documents(whole.indptr, rows, whole.counts)
        self._prior = prior_predictive(whole, words, options["eta"])
        self._total: Doubles = np.full(len(whole), -np.inf)  # log of the sum of densities
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Parts) -> float:
        """Add one posterior sample to the running average; returns the averaged score."""
        del key  # nothing is random
        self._total = np.logaddexp(self._total, self._of(parts))
        self.samples += 1
        return self.average()

    def average(self) -> float:
        """Averaged score so far; NaN before the first sample."""
        if not self.samples:
            return math.nan
        return math.log(self.samples) - float(self._total.mean())

    def point(self, key: Key, parts: Parts) -> float:
        """Score of one draw; the running average is not touched."""
        del key
        return -float(self._of(parts).mean())

    def unigram(self, counts: Int64s) -> float:
        """Score of the word frequencies of the training documents, plus 0.01 each."""
        whole = self.held_out.held_out
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        return -float(np.dot(whole.counts, np.log(q[whole.indices]))) / len(whole)

    def bought(self, before: float, now: float) -> float:
        """Share of the perplexity per token that a score has fallen by."""
        return -math.expm1((now - before) * len(self._documents) / self.tokens)

    def figures(self) -> dict[str, float]:
        """None beside the score."""
        return {}

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the average to go on exactly."""
        # minus infinity is no number that a checkpoint may hold
        total = self._total if self.samples else np.zeros(len(self._total))
        return {"total": total.copy(), "samples": np.array([self.samples])}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from `state`.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        own = self.state()
        put_back(own, state, self.prefix)
        self.samples = int(own["samples"][0])
        if self.samples:
            self._total = own["total"]

    def _of(self, parts: Parts) -> Doubles:
        """Log density of every document; ``phi`` has the rows of `words`."""
        with np.errstate(divide="ignore"):  # what single precision has not is left to the prior
            log_phi, log_w = np.log(parts["phi"]), np.log(parts["w"].astype(np.float64))
        found = log_mixture(self._documents, log_phi, log_w[:-1], log_w[-1] + self._prior)
        if not np.isfinite(found).all():
            raise NumericalError("the densities of the held-out documents are no numbers")
        return found
