"""Gibbs sampling of token topics given phi, one token at a time in double precision.

Patterson and Teh (2013), eq. 11: docs/internals/mathematics.md, "Documents of LDA".

The kernel's uniforms are used (token i of sweep m has its own address), and its order of the
topics: k mod 16 first, then k div 16. So topics agree token by token, except where a uniform falls
within float32 rounding of a boundary, once in about a million tokens. Above 128 topics the order is
that of the document's active set: `Active`. A single sweep whose topics are counted as drawn has that
order only for documents that use few topics (cpp/drivers/documents.cpp), named by a caller: `sparse`.
"""

from __future__ import annotations

import numpy as np
from oracles.philox import Address, uniform24

#: Up to this many topics a document is sampled over all of them.
DENSE_TOPICS = 128


def uniforms(address: Address, entity: int, tokens: int, sweep: int) -> np.ndarray:
    """Return the uniforms of one sweep: 64 tokens share 16 blocks, word by word."""
    groups = -(-tokens // 64)
    first = 16 * sweep * groups
    words = [address.block(first + j, entity) for j in range(16 * groups)]
    u = np.array(words).reshape(groups, 16, 4).transpose(0, 2, 1).reshape(-1)[:tokens]
    return np.array([uniform24(int(x)) for x in u])


def by_lane(size: int) -> np.ndarray:
    """Return 0..size-1 in the order in which a kernel sums them."""
    return np.array(sorted(range(size), key=lambda k: (k % 16, k // 16)), int)


def invert(p: np.ndarray, target: float) -> int:
    """Return the index at which the cumulative sum of ``p``, taken by lanes, exceeds ``target``."""
    order = by_lane(len(p))
    at = np.searchsorted(np.cumsum(p[order]), target, side="right")
    return int(order[min(at, len(p) - 1)])


class Active:
    """The topics that a document uses, by position; a new one takes the first idle position.

    Once statistics are collected, positions are kept: new topics are appended.
    """

    def __init__(self, z: np.ndarray) -> None:
        self.topics: list[int] = list(dict.fromkeys(z[z >= 0].tolist()))

    def draw(self, u: float, n: np.ndarray, phi: np.ndarray, alpha: float, collect: bool) -> int:
        """Draw a token's topic: from counted topics by weight n phi, or from all by phi alone."""
        p = (n * phi)[self.topics] if self.topics else np.zeros(0)
        bucket = alpha * phi.sum()
        beyond = u * (p.sum() + bucket) - p.sum()
        if beyond < 0:
            return self.topics[invert(p, u * (p.sum() + bucket))]
        topic = invert(phi, beyond / alpha)
        if topic not in self.topics:
            idle = [] if collect else [i for i, k in enumerate(self.topics) if n[k] == 0]
            if idle:
                self.topics[idle[0]] = topic
            else:
                self.topics.append(topic)
        return topic


def documents_gibbs(
    phi,
    topics,
    indptr,
    indices,
    counts,
    doc_ids,
    alpha,
    sweeps,
    kept,
    rao_blackwell,
    seed,
    chain,
    step,
    purpose,
    z=None,
    sparse=(),
):
    """Return word counts (R, K), document counts (n, K), topics of tokens; not in fixed point."""
    phi = np.asarray(phi, np.float64)[:, :topics]
    words, documents = np.zeros(phi.shape), np.zeros((len(indptr) - 1, topics))
    address = Address(seed, chain, purpose, step)
    final = []
    for d in range(len(indptr) - 1):
        entries = slice(indptr[d], indptr[d + 1])
        x = np.repeat(indices[entries], counts[entries])
        zd = np.full(len(x), -1) if z is None else np.array(z[d])
        n = np.bincount(zd[zd >= 0], minlength=topics).astype(float)
        active = Active(zd)
        for m in range(sweeps):
            u = uniforms(address, int(doc_ids[d]), len(x), m)
            for i, w in enumerate(x):
                if zd[i] >= 0:
                    n[zd[i]] -= 1
                p = (alpha + n) * phi[w]
                collect = m >= sweeps - kept
                once = sweeps == kept == 1 and not rao_blackwell
                if topics > DENSE_TOPICS and (d in sparse or not once):
                    zd[i] = active.draw(u[i], n, phi[w], alpha, collect)
                else:
                    zd[i] = invert(p, u[i] * p.sum())
                n[zd[i]] += 1
                if collect:
                    add = p / p.sum() if rao_blackwell else np.eye(topics)[zd[i]]
                    words[w] += add
                    documents[d] += add
        final.append(zd)
    return words, documents, final
