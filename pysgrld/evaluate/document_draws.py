"""Draws of documents' proportions given their tokens' topics."""

from __future__ import annotations

import numpy as np

from pysgrld.core import core
from pysgrld.types import Floats, Int64s, Key

#: Stream of the random numbers of proportions: far above those of blocks of topics. A stream is for
#: entities of 31 bits; those above have further ones.
_STREAM, _BITS = 1 << 10, 31
#: Unit of the counts that parameters which differ add to.
_FINE = 1 << 32


def proportions_given(
    counts: Int64s,
    topics: int,
    alpha: float | Floats,
    key: Key,
    ids: Int64s,
    work: core.Workspace,
    threads: int,
) -> Floats:
    """Draw theta ~ Dirichlet(alpha + n) of documents whose topics have been counted, (n, K) float32.

    Gammas over their sums. Those of a small alpha are mostly 0 in single precision, and of a document
    without tokens they may all be: it takes one token of a topic in proportion to alpha, which is the
    same law, as Dirichlet(alpha) is the mean of Dirichlet(alpha + e_k) over topics k ~ alpha.

    The kernel knows one shape for all cells and counts beside it: of parameters that differ the least is
    that shape, and what others have beyond it joins the counts, in units of 2^-32.

    Parameters
    ----------
    counts : (n, Kp) int64
    topics : int
        K.
    alpha : float, or (Kp,) float32
        For all topics, or for each.
    key : Key
    ids : (n,) int64
        Key each document's randomness: no two alike.
    work : Workspace
    threads : int
    """
    n, stride = counts.shape
    empty = np.flatnonzero(counts.sum(axis=1) == 0)
    if len(empty):
        nothing = np.zeros(len(empty), np.int64)
        where = core.uniforms(
            ids[empty], nothing, key.seed, key.chain, core.Purpose.infer, key.step
        )
        counts = counts.copy()
        if isinstance(alpha, np.ndarray):
            edges = np.cumsum(alpha[:topics], dtype=np.float64)
            chosen = np.minimum(np.searchsorted(edges, where * edges[-1], "right"), topics - 1)
        else:
            chosen = (where * topics).astype(np.int64)
        counts[empty, chosen] = 1
    unit = 1
    if isinstance(alpha, np.ndarray):
        unit, least = _FINE, float(alpha[:topics].min())
        counts = counts * unit
        counts[:, :topics] += np.rint((alpha[:topics].astype(np.float64) - least) * unit).astype(
            int
        )
        alpha = least
    theta = np.empty((n, topics), np.float32)
    order = np.argsort(ids, kind="stable")
    high = ids[order] >> _BITS
    for beyond in np.unique(high).tolist():
        some = order[high == beyond]
        g = core.zeros(len(some), stride, "float32")
        core.simplex_scir_rows(
            g=g,
            sums=np.zeros(stride),
            topics=topics,
            eta=alpha,
            rows=(ids[some] & ((1 << _BITS) - 1)).astype(np.int32),
            lengths=np.full(len(some), np.inf),
            counts=np.ascontiguousarray(counts[some]),
            factor=1.0 / unit,
            packed=True,
            purpose=core.Purpose.look_pass,
            stream=_STREAM + beyond,
            work=work,
            threads=threads,
            **key.address(),
        )
        theta[some] = g[:, :topics] / g.sum(axis=1, keepdims=True, dtype=np.float64)
    return theta
