"""Log predictive density of whole documents under a mixture.

The score is minus the mean over documents of log sum_j w_j prod_w phi_jw^n_w, without the
multinomial coefficient, which is equal in all models (Baker et al. 2018, section 4.2). The weight
of a sample's components that are not yet drawn goes to the prior's density. The posterior average
is the logarithm of the mean density over samples.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.core.arithmetic import dot, log
from pysgrld.core.draws import Draw
from pysgrld.errors import NumericalError
from pysgrld.evaluate import DensityScorer, Estimate, HeldOut, Score
from pysgrld.models.dpmm.likelihood import log_mixture, prior_predictive
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.types import Documents, Doubles, Int64s, Key

#: The score of a draw is minus the mean log density of a document, in nats (Baker et al. 2018,
#: section 4.2).
LOG_PREDICTIVE = Score(
    "log_predictive",
    "minus log predictive",
    3,
    whole=True,
    unit="in nats for each document",
    extra_counts=(
        ("components", "components"),
        ("components_of_ten", "with at least ten documents"),
    ),
)


class MixtureScorer(DensityScorer):
    """Scorer of a mixture's draws, which uses the densities of whole held-out documents.

    Parameters
    ----------
    held_out : HeldOut
        Held-out documents without observed parts.
    options : MixtureOptions
        Resolved: the prior of components is read.
    words : int
        Vocabulary size V.
    """

    def __init__(self, held_out: HeldOut, options: MixtureOptions, words: int) -> None:
        whole = held_out.held_out
        super().__init__(held_out, np.unique(whole.indices).astype(np.int32), whole.tokens)
        rows = np.searchsorted(self.words, whole.indices).astype(np.int32)
        self._documents = Documents(whole.indptr, rows, whole.counts)
        self._prior = prior_predictive(whole, words, options.eta)

    def logs(self, key: Key, parts: Draw) -> Doubles:
        """Return the log density of each document under a draw.

        ``phi`` of the draw has the rows of `words`.

        Raises
        ------
        NumericalError
            If a log density is not finite.
        """
        # `key` is unused, because the score is not random.
        del key
        # A probability in phi may be 0 in single precision. Its log is then minus infinity, which
        # is harmless, because the mixture includes the density of the prior.
        log_phi, log_w = log(parts["phi"]), log(parts["w"].astype(np.float64))
        log_densities = log_mixture(self._documents, log_phi, log_w[:-1], log_w[-1] + self._prior)
        if not np.isfinite(log_densities).all():
            raise NumericalError(
                "the densities of the held-out documents are not finite; use a smaller step size"
            )
        return log_densities

    def average(self) -> Estimate:
        """Return the score averaged over samples, or NaN before the first sample."""
        if not self.samples:
            return super().average()
        return Estimate.mean(math.log(self.samples) - float(self._total.mean()), -self._total)

    def unigram(self, counts: Int64s) -> Estimate:
        """Return the score of a unigram model that is fitted to training counts plus 0.01."""
        whole = self.held_out.held_out
        q = (counts + 0.01) / (counts.sum() + 0.01 * len(counts))
        logs = log(q[whole.indices])
        value = -dot(whole.counts, logs) / len(whole)
        return Estimate.mean(value, -whole.sum_by_document(logs * whole.counts))
