"""Gibbs sampling of token topics given phi, one token at a time in double (C.3).

The kernel's uniforms are used (token i of sweep m has its own address), and its order of the
topics: k mod 16 first, then k div 16. So topics agree token by token, except where a uniform falls
within float32 rounding of a boundary, once in about a million tokens.
"""

from __future__ import annotations

import numpy as np
from oracles.philox import Address, uniform24


def uniforms(address: Address, entity: int, tokens: int, sweep: int) -> np.ndarray:
    """The uniforms of one sweep: 64 tokens share 16 blocks, word by word."""
    groups = -(-tokens // 64)
    first = 16 * sweep * groups
    words = [address.block(first + j, entity) for j in range(16 * groups)]
    u = np.array(words).reshape(groups, 16, 4).transpose(0, 2, 1).reshape(-1)[:tokens]
    return np.array([uniform24(int(x)) for x in u])


def documents_gibbs(
    phi, topics, indptr, indices, counts, doc_ids, alpha, sweeps, kept, rao_blackwell,
    seed, chain, step, purpose, z=None,
):  # fmt: skip
    """Return word counts (R, K), document counts (n, K), topics of tokens; not in fixed point."""
    phi = np.asarray(phi, np.float64)[:, :topics]
    order = np.array(sorted(range(topics), key=lambda k: (k % 16, k // 16)))
    words, documents = np.zeros(phi.shape), np.zeros((len(indptr) - 1, topics))
    address = Address(seed, chain, purpose, step)
    final = []
    for d in range(len(indptr) - 1):
        entries = slice(indptr[d], indptr[d + 1])
        x = np.repeat(indices[entries], counts[entries])
        zd = np.full(len(x), -1) if z is None else np.array(z[d])
        n = np.bincount(zd[zd >= 0], minlength=topics).astype(float)
        for m in range(sweeps):
            u = uniforms(address, int(doc_ids[d]), len(x), m)
            for i, w in enumerate(x):
                if zd[i] >= 0:
                    n[zd[i]] -= 1
                p = (alpha + n) * phi[w]
                cumulative = np.cumsum(p[order])
                zd[i] = order[np.searchsorted(cumulative, u[i] * cumulative[-1], side="right")]
                n[zd[i]] += 1
                if m >= sweeps - kept:
                    add = p / p.sum() if rao_blackwell else np.eye(topics)[zd[i]]
                    words[w] += add
                    documents[d] += add
        final.append(zd)
    return words, documents, final
