"""Latent Dirichlet allocation: documents by collapsed Gibbs of their topics, given phi.

Kernel: cpp/kernels/documents_gibbs.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from pysgrld.core import core
from pysgrld.types import UNIT, Block, Floats, Int32s, Int64s, Key, Minibatch, Statistics


class Local(NamedTuple):
    """How documents are sampled.

    Attributes
    ----------
    topics : int
        K.
    alpha : float
        Symmetric Dirichlet parameter per topic.
    sweeps, kept : int
        Gibbs sweeps at a visit, and how many of them (the last) are collected.
    rao_blackwell : bool
        Collect p_k / sum p of every token instead of its sampled topic.
    threads : int
    work : Workspace
        Scratch memory of the caller.
    z, token_ptr : arrays, optional
        Topics of tokens that are kept between visits (int32), and where each document's begin.
    """

    topics: int
    alpha: float
    sweeps: int
    kept: int
    rao_blackwell: bool
    threads: int
    work: core.Workspace
    z: Int32s | None = None
    token_ptr: Int64s | None = None


def blocks(options: dict[str, object], v: int, tokens: int) -> tuple[Block, ...]:
    """The one global part: topics over words."""
    k, eta = options["topics"], options["eta"]
    assert isinstance(k, int)
    assert isinstance(eta, float)
    return (Block("phi", "simplex", (v, k), eta, 0, float(tokens)),)


def local_step(
    key: Key, phis: dict[str, Floats], batch: Minibatch, local: Local
) -> dict[str, Statistics]:
    """Sample the topics of the minibatch's tokens given phi; count words by topic.

    Patterson and Teh (2013), eq. (11). Randomness: purpose ``documents``, entity = document.
    """
    counts, _ = core.documents_gibbs(
        phi=phis["phi"],
        topics=local.topics,
        indptr=batch.indptr,
        indices=batch.indices,
        counts=batch.counts,
        doc_ids=batch.doc_ids,
        alpha=local.alpha,
        sweeps=local.sweeps,
        kept=local.kept,
        rao_blackwell=local.rao_blackwell,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        purpose=core.Purpose.documents,
        z=local.z,
        token_ptr=local.token_ptr,
        work=local.work,
        threads=local.threads,
    )
    assert counts is not None
    unit = UNIT if local.rao_blackwell else 1
    return {"phi": Statistics(batch.words, counts, batch.scale / (unit * local.kept))}
