"""Defaults of Dirichlet priors, of the number of topics, and of the number of short chains.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pysgrld.errors import UsageError

#: Value of ``--alpha`` or ``--eta`` for a prior that is learned instead of fixed.
LEARN = "learn"
#: Default of a fixed eta for at most 100 topics. A learned eta starts at this value, which is also
#: its prior mean.
ETA = 0.05
#: Names of the learned priors alpha and eta in the parameters of a model.
ALPHA_BLOCK, ETA_BLOCK = "alpha", "eta"

#: Bounds of the default number of topics.
FEWEST_TOPICS, MOST_TOPICS = 5, 200


def usual_topics(tokens: int) -> int:
    """Return the default number of topics: a tenth of the square root of the number of tokens.

    The number is a multiple of five up to fifty and of ten above. Twelve corpora were used to
    compare rules. This rule has the fewest topics with words that do not go together
    (docs/internals/defaults.md).

    Parameters
    ----------
    tokens : int
        Number of training tokens.

    Returns
    -------
    int
        Number of topics K.
    """
    k = min(max(math.sqrt(tokens) / 10, FEWEST_TOPICS), MOST_TOPICS)
    step = 5 if k < 50 else 10
    return step * round(k / step)


#: Maximum of the default number of short chains before training.
STARTS = 16


def usual_alpha(topics: int, length: float = 640.0) -> float:
    """Return the default of LDA's alpha for documents with a mean length of `length` tokens.

    The prior must not weigh more than the tokens of a short document, unless there are few topics,
    because few topics would then mix badly. The prior weighs twice as much in a long document as in
    a document of usual length, which has 640 tokens (docs/internals/defaults.md). For documents of
    usual length, the default is also the prior mean of a learned alpha.

    Parameters
    ----------
    topics : int
        Number of topics K.
    length : float, optional
        Mean number of tokens of a document.

    Returns
    -------
    float
        Value of alpha, rounded to two significant digits.
    """
    short = max(0.6, min(length / 75.0, 1.0))
    long = max(1.0, min(length / 640.0, 2.0))
    least = short * max(0.005, min(0.015, 15.0 / topics))
    usual = min(max(0.03, 0.75 / topics, length / 1400.0), 5.0 * short / topics)
    return float(f"{max(least, min(long * usual, 0.1)):.2g}")


def usual_eta(topics: int) -> float:
    """Return the default of LDA's eta, which is smaller for more topics.

    The prior is weaker for more topics, because each topic then has fewer tokens.

    Parameters
    ----------
    topics : int
        Number of topics K.

    Returns
    -------
    float
        Dirichlet prior per word of a topic.
    """
    return max(0.01, min(ETA, 5.0 / topics))


def check_one_eta(eta: Any) -> None:
    """Raise an error if a model with a single layer of topics gets several values of ``--eta``.

    Parameters
    ----------
    eta : object
        Value of the option, or None if it was not chosen.

    Raises
    ------
    UsageError
    """
    if isinstance(eta, tuple | list) and len(eta) > 1:
        raise UsageError(f"--eta has {len(eta)} numbers; this model takes one number")


def fixed_value(prior: float | str) -> float | None:
    """Return the value of a prior, or None if the prior is learned.

    Parameters
    ----------
    prior : float or "learn"
        Value of the option.
    """
    return None if isinstance(prior, str) else prior


def lowest_eta(eta: float | str | Sequence[float]) -> float:
    """Return the parameter of the Dirichlet prior on the words of the lowest layer's topics.

    This is the first number of a fixed eta, or the initial value of a learned eta.

    Parameters
    ----------
    eta : float or str or sequence of float
        Value of the option.

    Returns
    -------
    float
        Dirichlet prior per word of the lowest layer.
    """
    if isinstance(eta, str):
        return ETA
    return eta if isinstance(eta, float | int) else eta[0]
