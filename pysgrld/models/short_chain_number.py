"""Number of short chains before training, and the memory that they need.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any

from pysgrld.options.priors import STARTS, lowest_eta

#: Short chains run before training if the corpus has at most this number of tokens. A larger corpus
#: does not need short chains.
MOST_TOKENS = 2_000_000
#: Short chains run only if the topic matrix has at most this number of elements, because they would
#: otherwise take too much memory.
MOST_CELLS = 1_000_000
#: Maximum number of topics of all short chains together.
MOST_CLUSTERED = 4096
#: Minimum number of short chains for which clusters of topics are better than random topics.
FEWEST = 2
#: Maximum time of all short chains together, as a fraction of the time of a run.
PART_OF_RUN = 0.1
#: Expected time of a run per training token. The unit is the time to sample one token. The Gibbs
#: refinement takes two thirds of the time.
RUN_VISITS = 6000
#: Time to update and average one element of a short chain's topic matrix, divided by the time to
#: sample one token.
CELL = 0.4
#: Number of warm-up iterations of a short chain if training has no warm-up.
_WARM_UP = 50


def default_max_starts(topics: int, words: int, tokens: int) -> int:
    """Return the default maximum number of short chains.

    The maximum is 16, less if there are many topics, and 1 (no short chains) for a large corpus.

    Parameters
    ----------
    topics, words, tokens : int
        K, V, and tokens of training.
    """
    if tokens > MOST_TOKENS or topics * words > MOST_CELLS:
        return 1
    number = min(STARTS, MOST_CLUSTERED // topics)
    return number if number >= FEWEST else 1


def affordable_starts(
    most: int, iteration_visits: float, cells: int, warm_up: int, tokens: int
) -> int:
    """Return the number of short chains that fit into a tenth of a run's expected time.

    The number 1 stands for no short chains.

    Parameters
    ----------
    most : int
        Maximum number of short chains, from `default_max_starts`.
    iteration_visits : float
        Number of times that a token is sampled in an iteration of a short chain.
    cells : int
        Number of elements of the topic matrix, K times V.
    warm_up : int
        Number of warm-up iterations.
    tokens : int
        Number of training tokens.
    """
    chain = short_chain_iterations(warm_up) * (iteration_visits + CELL * cells)
    number = min(most, int(PART_OF_RUN * RUN_VISITS * tokens / max(1.0, chain)))
    return number if number >= FEWEST else 1


def short_chain_iterations(warm_up: int) -> int:
    """Return the number of iterations of a short chain, 1.2 times the warm-up iterations.

    Parameters
    ----------
    warm_up : int
        Number of warm-up iterations of a chain.

    Returns
    -------
    int
    """
    warm_up = warm_up or _WARM_UP
    return warm_up + warm_up // 5


def short_chains_bytes(starts: int | None, topics: int, words: int, eta: Any = None) -> int:
    """Return the bytes of memory that short chains and the clustering of topics need.

    Parameters
    ----------
    starts : int or None
        Number of short chains.
    topics, words : int
        K and V.
    eta : float, "learn" or None
        Prior of words, or None for topics over time.
    """
    from pysgrld.chain.clusters import cluster_bytes
    from pysgrld.core import padded_width
    from pysgrld.samplers.log_rows import FLOAT_ETA

    if starts is None or starts < 2:
        return 0
    cells, n = words * padded_width(topics), starts * topics
    state = (4 if lowest_eta(eta or FLOAT_ETA) >= FLOAT_ETA else 8) * cells
    training = 2 * state + (8 + 8 + 4) * cells
    clustering = cluster_bytes(n, words) + (8 + 8 + 4) * cells
    total: int = 4 * n * words + max(training, clustering)
    return total
