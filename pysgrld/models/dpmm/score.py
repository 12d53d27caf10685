"""Log predictive density of whole documents under a mixture.

Minus the mean over documents of log sum_j w_j prod_w phi_jw^n_w, without the multinomial coefficient,
which no model changes (Baker et al. 2018, section 4.2). What a sample leaves of the stick predicts as
the prior does. The posterior average takes the mean of densities over samples before the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.core.arithmetic import dot, log, logaddexp
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.errors import NumericalError
from pysgrld.evaluate import Estimate, HeldOut, Score
from pysgrld.models.dpmm.likelihood import log_mixture, prior_predictive
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.types import Array, Documents, Doubles, Int32s, Int64s, Key

#: Minus the mean log density of a document, in nats (Baker et al. 2018, section 4.2).
LOG_PREDICTIVE = Score(
    "log_predictive",
    "minus log predictive",
    3,
    whole=True,
    unit="in nats for each document",
    beside=(("components", "components"), ("components_of_ten", "of ten documents or more")),
)


class Density:
    """Scores mixtures on whole documents; keeps the running posterior average. A `Scorer`.

    Parameters
    ----------
    held_out : HeldOut
        With nothing observed.
    options : MixtureOptions
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

    def __init__(self, held_out: HeldOut, options: MixtureOptions, words: int) -> None:
        self.held_out, whole = held_out, held_out.held_out
        self.words: Int32s = np.unique(whole.indices).astype(np.int32)
        rows = np.searchsorted(self.words, whole.indices).astype(np.int32)
        self._documents = Documents(whole.indptr, rows, whole.counts)
        self._prior = prior_predictive(whole, words, options.eta)
        self._total: Doubles = np.full(len(whole), -np.inf)  # log of the sum of densities
        self.samples = 0

    @property
    def tokens(self) -> int:
        """Tokens that are scored."""
        return self.held_out.held_out.tokens

    def update(self, key: Key, parts: Draw) -> float:
        """Add one posterior sample to the running average, and give the averaged score."""
        del key  # nothing is random
        self._total = logaddexp(self._total, self._of(parts))
        self.samples += 1
        return self.average()

    def average(self) -> Estimate:
        """Give the averaged score so far; NaN before the first sample."""
        if not self.samples:
            return Estimate(math.nan, np.full(len(self._documents), math.nan))
        return Estimate.mean(math.log(self.samples) - float(self._total.mean()), -self._total)

    def log_averages(self) -> Doubles:
        """Give the log of the averaged density of every document."""
        return self._total - math.log(self.samples)

    def score(self, logs: Doubles) -> Estimate:
        """Give minus the mean of log densities of the documents."""
        return Estimate.mean(-float(logs.mean()), -logs)

    def point(self, key: Key, parts: Draw) -> Estimate:
        """Give the score of one draw; the running average is not touched."""
        del key
        return self.score(self._of(parts))

    def unigram(self, counts: Int64s) -> Estimate:
        """Score the word frequencies of the training documents, plus 0.01 each."""
        whole = self.held_out.held_out
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        logs = log(q[whole.indices])
        value = -dot(whole.counts, logs) / len(whole)
        return Estimate.mean(value, -whole.summed(logs * whole.counts))

    def log_probability(self, key: Key, parts: Draw) -> float:
        """Give the mean log density of a document under one draw; nothing of the documents is sampled."""
        return -self.point(key, parts)

    def shares(self, at: int) -> Doubles | None:
        """Give None: a document has one component, and it is not sampled."""
        del at
        return None

    def share_gained(self, before: float, now: float) -> float:
        """Give the share of the perplexity per token that was gained, of scores per document."""
        return -math.expm1((now - before) * len(self._documents) / self.tokens)

    def figures(self) -> dict[str, float]:
        """Give nothing: there is no figure beside the score."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Give the arrays from which the average goes on exactly."""
        # minus infinity is no number that a checkpoint may hold
        total = self._total if self.samples else np.zeros(len(self._total))
        return {"total": total.copy(), "samples": np.array([self.samples])}

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
        if self.samples:
            self._total = own["total"]

    def _of(self, parts: Draw) -> Doubles:
        """Give the log density of every document; ``phi`` has the rows of `words`."""
        # log 0 where single precision underflowed: the prior's term of the mixture covers it
        log_phi, log_w = log(parts["phi"]), log(parts["w"].astype(np.float64))
        found = log_mixture(self._documents, log_phi, log_w[:-1], log_w[-1] + self._prior)
        if not np.isfinite(found).all():
            raise NumericalError("the densities of the held-out documents are no numbers")
        return found
