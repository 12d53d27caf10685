"""The score of several chains together: their averaged probabilities, averaged again."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from pysgrld.core.arithmetic import logaddexp
from pysgrld.evaluate.estimate import Estimate
from pysgrld.evaluate.protocol import Scorer


def pooled(scorers: Sequence[Scorer]) -> Estimate:
    """Score the posterior average over several chains, each of which counts the same.

    The mean is taken of probabilities, or of densities, before the logarithm. Topics need no matching,
    as what they predict does not depend on their order. The logarithm is concave: the score is never
    worse than that of the mean of the chains' log probabilities.

    Parameters
    ----------
    scorers : sequence of Scorer
        One for each chain, with at least one sample, on the same held-out documents.
    """
    total = functools.reduce(logaddexp, [scorer.log_averages() for scorer in scorers])
    return scorers[0].score(total - math.log(len(scorers)))
