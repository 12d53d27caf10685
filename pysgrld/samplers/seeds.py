"""Seed words of topics, as prior counts that are added to the Dirichlet prior of these words.

Dirichlet parameters eta + c are the parameters eta after a document of c tokens with known topics.
Every step adds c to the estimated counts of the corpus, as if each minibatch had this document, so
samplers need no code for seed words. Seed words are among the words of every step, so their lazy
rows never miss a step with the wrong prior.
"""

from __future__ import annotations

import numpy as np

from pysgrld.samplers.state import Counts, Peers
from pysgrld.types import UNIT, Floats, Int32s, Seeds

#: Factor on a seed word's initial probability in topics that do not have this seed.
ELSEWHERE = 0.01


def add_seed_counts(statistics: Counts, seeds: Seeds, *, whole_tokens: bool) -> Counts:
    """Add the prior counts of seed words to a minibatch's counts; the sums are integers.

    The integers have a unit that is small enough for prior counts.

    Parameters
    ----------
    statistics : Counts
        Counts of the minibatch; their arrays may be changed.
    seeds : Seeds
    whole_tokens : bool
        Whether the unit of the counts is a token; else the unit is 2^-24 already.
    """
    rows: Int32s = np.union1d(statistics.rows, seeds.rows)
    counts, factor = statistics.counts, statistics.factor
    if len(rows) > len(statistics.rows):
        counts = np.zeros((len(rows), counts.shape[1]), np.int64)
        counts[np.searchsorted(rows, statistics.rows)] = statistics.counts
    if whole_tokens:
        counts *= UNIT
        factor /= UNIT
    k = seeds.counts.shape[1]
    counts[np.searchsorted(rows, seeds.rows), :k] += np.rint(seeds.counts / factor).astype(np.int64)
    return statistics._replace(rows=rows, counts=counts, factor=factor)


def start_at_seeds(seeds: Seeds, g: Floats, peers: Peers | None) -> None:
    """Change initial rows such that almost all tokens of a seed word are in the word's topic.

    The rows are changed in place; each process changes the rows that it owns. The
    start is no part of the posterior. After a random start, a small prior would often have no effect,
    as another topic would already have the word.
    """
    seeds = select_owned_seeds(seeds, peers)
    k = seeds.counts.shape[1]
    before = g[seeds.rows, :k].astype(np.float64)
    g[seeds.rows, :k] = np.where(seeds.counts > 0.0, before + seeds.counts, before * ELSEWHERE)


def select_owned_seeds(seeds: Seeds, peers: Peers | None) -> Seeds:
    """Return the seed words that this process owns; a single process owns all words.

    Parameters
    ----------
    seeds : Seeds
        Seeds of all topics.
    peers : Peers or None
        The processes, or None for a single one.

    Returns
    -------
    Seeds
    """
    if peers is None:
        return seeds
    is_owned = peers.owns(seeds.rows)
    return Seeds(seeds.rows[is_owned], seeds.counts[is_owned])
