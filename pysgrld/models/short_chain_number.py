"""How many short chains training begins with, and the memory that they take.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any

from pysgrld.options.priors import STARTS, lowest_eta

#: Tokens, cells of topics by words, and topics of all short chains up to which training begins with
#: them: more cells or topics take more memory than topics themselves, more tokens need no such start.
MOST_TOKENS, MOST_CELLS, MOST_CLUSTERED = 2_000_000, 1_000_000, 4096
#: Fewest short chains with clusters that are better than random topics.
FEWEST = 2
#: Part of an expected run that short chains may take, and the token visits of a run for each token
#: of training: refinement of four chains by 400 sweeps, with visits that take as long as 2.5 of
#: training, and half as much for training, scores, kept draws and replicates.
PART_OF_RUN, RUN_VISITS = 0.1, 6000
#: Token visits that take as long as stepping a cell of the topics of a short chain, and averaging it.
CELL = 0.4
#: Iterations of the warm-up of a short chain if the chain itself has none.
_WARM_UP = 50


def most_starts(topics: int, words: int, tokens: int) -> int:
    """Return the most short chains by default: 16, fewer for many topics, 1 (none) of a large corpus.

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
    """Return the number of short chains that take no more than a tenth of an expected run; 1: none.

    Parameters
    ----------
    most : int
        As many at most, of `most_starts`.
    iteration_visits : float
        Token visits of an iteration of a short chain.
    cells : int
        Cells of the topics, K times V.
    warm_up : int
        Iterations of the warm-up.
    tokens : int
        Tokens of training.
    """
    chain = short_chain_iterations(warm_up) * (iteration_visits + CELL * cells)
    number = min(most, int(PART_OF_RUN * RUN_VISITS * tokens / max(1.0, chain)))
    return number if number >= FEWEST else 1


def short_chain_iterations(warm_up: int) -> int:
    """Return the iterations of a short chain: the warm-up, and some with noise.

    Parameters
    ----------
    warm_up : int
        Iterations of a chain's warm-up.

    Returns
    -------
    int
    """
    warm_up = warm_up or _WARM_UP
    return warm_up + warm_up // 5


def short_chains_bytes(starts: int | None, topics: int, words: int, eta: Any = None) -> int:
    """Return the bytes of short chains: topics of all, the one that is trained, and their clusters.

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
