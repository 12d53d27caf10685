"""Number of short chains at the start of training, and the memory that they need.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any

from pysgrld.options.priors import STARTS, lowest_eta

#: Training begins with short chains if the corpus has at most this many tokens, the topics this
#: many cells (topics times words), and all short chains this many topics. Beyond these limits, they
#: would take more memory than the topics of training, or the corpus does not need them.
MOST_TOKENS, MOST_CELLS, MOST_CLUSTERED = 2_000_000, 1_000_000, 4096
#: Minimum number of short chains whose clusters are better than random topics.
FEWEST = 2
#: Maximum fraction of an expected run for short chains, and the expected number of token visits of a
#: run per training token: four chains of refinement by 400 sweeps, with visits that take as long as 2.5
#: visits of training, and half as much again for training, scores, kept draws and replicates.
PART_OF_RUN, RUN_VISITS = 0.1, 6000
#: Time of stepping and averaging one cell of a short chain's topics, in token visits.
CELL = 0.4
#: Number of warm-up iterations of a short chain if the training chain has none.
_WARM_UP = 50


def most_starts(topics: int, words: int, tokens: int) -> int:
    """Return the default maximum number of short chains.

    This is 16, fewer if there are many topics, and 1 (no short chains) for a large corpus.

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
    """Return the number of short chains whose time is at most a tenth of an expected run.

    The number 1 stands for no short chains.

    Parameters
    ----------
    most : int
        Maximum number of short chains, from `most_starts`.
    iteration_visits : float
        Number of token visits in an iteration of a short chain.
    cells : int
        Number of cells of the topics, K times V.
    warm_up : int
        Number of warm-up iterations.
    tokens : int
        Number of training tokens.
    """
    chain = short_chain_iterations(warm_up) * (iteration_visits + CELL * cells)
    number = min(most, int(PART_OF_RUN * RUN_VISITS * tokens / max(1.0, chain)))
    return number if number >= FEWEST else 1


def short_chain_iterations(warm_up: int) -> int:
    """Return the number of iterations of a short chain: the warm-up, plus some with noise.

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
    """Return the bytes of the short chains: their topics, one running chain, and the clustering.

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
    from pysgrld.core import padded
    from pysgrld.samplers.log_rows import FLOAT_ETA

    if starts is None or starts < 2:
        return 0
    cells, n = words * padded(topics), starts * topics
    state = (4 if lowest_eta(eta or FLOAT_ETA) >= FLOAT_ETA else 8) * cells
    training = 2 * state + (8 + 8 + 4) * cells
    clustering = cluster_bytes(n, words) + (8 + 8 + 4) * cells
    total: int = 4 * n * words + max(training, clustering)
    return total
