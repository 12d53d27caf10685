"""Latent Dirichlet allocation: documents by collapsed Gibbs of their topics, given phi.

Kernel: cpp/kernels/documents_gibbs.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.parts import weights_of
from pysgrld.restore import check_topics, put_back
from pysgrld.schedule import Schedule
from pysgrld.types import (
    UNIT,
    Array,
    Block,
    Documents,
    Doubles,
    Int32s,
    Int64s,
    Key,
    Minibatch,
    Parts,
    Scored,
    Statistics,
)


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
    state : dict of arrays, optional
        Topics of tokens that are kept between visits: ``z`` int32.
    token_ptr : int64 array, optional
        Where each document's begin.
    """

    topics: int
    alpha: float
    sweeps: int
    kept: int
    rao_blackwell: bool
    threads: int
    work: core.Workspace
    state: dict[str, Array] | None = None
    token_ptr: Int64s | None = None


def blocks(options: Mapping[str, Any], v: int, tokens: float) -> tuple[Block, ...]:
    """The one global part: topics over words."""
    weight = Schedule(*options["scale-weight"])
    k, eta = options["topics"], options["eta"]
    natural = options.get("cir-rate") == "natural"  # runs older than the option lack it
    return (Block("phi", "simplex", (v, k), eta, 0, float(tokens), weight, natural=natural),)


def local(options: Mapping[str, Any], words: int, threads: int) -> Local:
    """How these options want documents sampled."""
    del words
    return Local(
        topics=options["topics"],
        alpha=options["alpha"],
        sweeps=options["sweeps"],
        kept=options["kept-sweeps"],
        rao_blackwell=options["counts"] == "rao-blackwell",
        threads=threads,
        work=core.Workspace(),
    )


def keep(local: Local, documents: Documents) -> Local:
    """The same with the topics of all tokens kept between visits."""
    token_ptr = token_places(documents)
    z = np.full(token_ptr[-1], -1, np.int32)
    return local._replace(state={"z": z}, token_ptr=token_ptr)


def token_places(documents: Documents) -> Int64s:
    """Where the tokens of each document begin in an array of all of them."""
    return np.concatenate(([0], np.cumsum(documents.lengths))).astype(np.int64)


def local_step(key: Key, parts: Parts, batch: Minibatch, local: Local) -> dict[str, Statistics]:
    """Sample the topics of the minibatch's tokens given phi; count words by topic.

    Patterson and Teh (2013), eq. (11). Randomness: purpose ``documents``, entity = document.
    """
    counts, _ = core.documents_gibbs(
        phi=weights_of(parts),
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
        z=None if local.state is None else local.state["z"],
        token_ptr=local.token_ptr,
        work=local.work,
        threads=local.threads,
    )
    assert counts is not None
    unit = UNIT if local.rao_blackwell else 1
    level = batch.scale * int(batch.counts.sum(dtype=np.int64)) / local.topics
    factor = batch.scale / (unit * local.kept)
    return {"phi": Statistics(batch.words, counts, factor, level)}


class Reader:
    """Documents of which others are to be predicted: the topics of their tokens, phi fixed.

    Parameters
    ----------
    options : mapping
        Resolved: ``topics`` and ``alpha`` are read.
    documents : Documents
        Observed tokens, over the rows of phi that are given later.
    doc_ids : (n,) int64
    threads : int
    """

    def __init__(
        self, options: Mapping[str, Any], documents: Documents, doc_ids: Int64s, threads: int
    ) -> None:
        self.topics: int = options["topics"]
        self.alpha: float = options["alpha"]
        self.documents, self.doc_ids, self.threads = documents, doc_ids, threads
        self._lengths = documents.lengths
        self._token_ptr = token_places(documents)
        self._z: Int32s = np.full(self._token_ptr[-1], -1, np.int32)
        self._work = core.Workspace()

    def counts(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int, *,
        go_on: bool,
    ) -> Int64s:  # fmt: skip
        """Expected tokens of every topic, summed over the kept sweeps, (n, Kp) in units of 2^-24."""
        _, counts = core.documents_gibbs(
            phi=weights_of(parts),
            topics=self.topics,
            indptr=self.documents.indptr,
            indices=self.documents.indices,
            counts=self.documents.counts,
            doc_ids=self.doc_ids,
            alpha=self.alpha,
            sweeps=sweeps,
            kept=kept,
            rao_blackwell=True,
            seed=key.seed,
            chain=key.chain,
            step=key.step,
            purpose=purpose,
            z=self._z if go_on else None,
            token_ptr=self._token_ptr if go_on else None,
            want_words=False,
            want_documents=True,
            work=self._work,
            threads=self.threads,
        )
        assert counts is not None
        return counts

    def predict(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int,
        scored: Scored, *, go_on: bool, fresh: bool = True,
    ) -> Doubles:  # fmt: skip
        """Probability of every scored entry (Patterson and Teh 2013, eq. 12 to 15)."""
        del fresh  # tokens without a topic say it
        return core.predictive(
            phi=parts["phi"],
            topics=self.topics,
            indptr=scored.indptr,
            indices=scored.indices,
            doc_counts=self.counts(key, parts, purpose, sweeps, kept, go_on=go_on),
            tokens=self._lengths,
            alpha=self.alpha,
            factor=1.0 / (UNIT * kept),
            threads=self.threads,
        )

    def theta(
        self, key: Key, parts: Parts, purpose: core.Purpose, sweeps: int, kept: int, layer: int
    ) -> Doubles:
        """(alpha + E[n_dk]) / (K alpha + N_d), (n, K) (Patterson and Teh 2013, eq. 15)."""
        del layer  # there is one
        counts = self.counts(key, parts, purpose, sweeps, kept, go_on=False)
        weights = self.alpha + counts[:, : self.topics] / (UNIT * kept)
        theta: Doubles = weights / weights.sum(axis=1, keepdims=True)
        return theta

    def shares(self, layer: int) -> Doubles:
        """Share of the tokens that each topic has as the documents' chains stand, (K,)."""
        del layer  # there is one
        counts: Doubles = np.bincount(self._z, minlength=self.topics) / max(1, len(self._z))
        return counts

    def figures(self, scored: Scored) -> dict[str, float]:
        """None beside the perplexity."""
        del scored
        return {}

    def state(self) -> dict[str, Array]:
        """What a checkpoint must hold for the documents' chains to go on exactly."""
        return {"z": self._z}

    def restore(self, state: Mapping[str, Array], prefix: str) -> None:
        """Go on from `state`.

        Raises
        ------
        CheckpointError
            If it is not that of these documents.
        """
        put_back(self.state(), state, prefix)
        check_topics(f"{prefix}z", self._z, self.topics)
