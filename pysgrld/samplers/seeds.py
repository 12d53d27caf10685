"""Prior counts of single cells, beside the prior eta that all words have: seed words of topics.

Dirichlet parameters eta + c are those of eta after a document of c tokens whose topics are known. Every
minibatch holds that document, unscaled: c joins the counts that the corpus is estimated to have, so that
no sampler knows of it. Seeded words are among the words of every step, so that none of their rows ever
waits, lazily, with a prior that is not its own.
"""

from __future__ import annotations

import numpy as np

from pysgrld.samplers.state import Counts, Peers
from pysgrld.types import UNIT, Floats, Int32s, Seeds

#: What a chain's start leaves of a seeded word in topics that it is no seed of.
ELSEWHERE = 0.01


def with_seeds(found: Counts, seeds: Seeds, *, whole_tokens: bool) -> Counts:
    """Add the counts of seeds to those of a minibatch, as whole numbers of a fine enough unit.

    Parameters
    ----------
    found : Counts
        Their memory may be changed.
    seeds : Seeds
    whole_tokens : bool
        Whether counts are of whole tokens; else they are in units of 2^-24 already.
    """
    rows: Int32s = np.union1d(found.rows, seeds.rows)
    counts, factor = found.counts, found.factor
    if len(rows) > len(found.rows):
        counts = np.zeros((len(rows), counts.shape[1]), np.int64)
        counts[np.searchsorted(rows, found.rows)] = found.counts
    if whole_tokens:
        counts *= UNIT
        factor /= UNIT
    k = seeds.counts.shape[1]
    counts[np.searchsorted(rows, seeds.rows), :k] += np.rint(seeds.counts / factor).astype(np.int64)
    return found._replace(rows=rows, counts=counts, factor=factor)


def start_at_seeds(seeds: Seeds, g: Floats, peers: Peers | None) -> None:
    """Start a chain where topics are as their seeds say: nearly all tokens of a seed are of its topics.

    Changes rows that a chain would start at, in place, of several processes those that this one holds.
    Where it starts is no part of the posterior, and a start at random would often give a small prior no
    chance: another topic has the word by then.
    """
    seeds = of_peer(seeds, peers)
    k = seeds.counts.shape[1]
    before = g[seeds.rows, :k].astype(np.float64)
    g[seeds.rows, :k] = np.where(seeds.counts > 0.0, before + seeds.counts, before * ELSEWHERE)


def of_peer(seeds: Seeds, peers: Peers | None) -> Seeds:
    """Return the seeds whose rows a process holds; all of them where it is alone."""
    if peers is None:
        return seeds
    own = peers.holds(seeds.rows)
    return Seeds(seeds.rows[own], seeds.counts[own])
