"""Documents of LDA under collapsed Gibbs: the topics of all tokens are the chain's whole state.

Kernel: cpp/kernels/documents_collapsed.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.models.lda import token_places
from pysgrld.types import Array, Documents, Int64s, Key, Minibatch, Parts, Statistics


class Local(NamedTuple):
    """How tokens are sampled.

    Attributes
    ----------
    topics, words : int
        K and V.
    alpha, eta : float
        Symmetric Dirichlet parameters per topic of a document, and per word of a topic.
    sweeps : int
        Over all tokens, an iteration.
    threads : int
        The chain itself runs on one.
    work : Workspace
    state : dict of arrays
        Topics of tokens: ``z`` int32, -1 before the first sweep.
    token_ptr : int64 array
        Where each document's begin.
    """

    topics: int
    words: int
    alpha: float
    eta: float
    sweeps: int
    threads: int
    work: core.Workspace
    state: dict[str, Array]
    token_ptr: Int64s


def local(options: Mapping[str, Any], words: int, threads: int) -> Local:
    """How these options want tokens sampled; of no documents yet."""
    return Local(
        topics=options["topics"],
        words=words,
        alpha=options["alpha"],
        eta=options["eta"],
        sweeps=options["sweeps"],
        threads=threads,
        work=core.Workspace(),
        state={},
        token_ptr=np.zeros(1, np.int64),
    )


def keep(local: Local, documents: Documents) -> Local:
    """The same, of these documents."""
    token_ptr = token_places(documents)
    return local._replace(state={"z": np.full(token_ptr[-1], -1, np.int32)}, token_ptr=token_ptr)


def step(key: Key, parts: Parts, batch: Minibatch, local: Local) -> dict[str, Statistics]:
    """Sweep over all tokens, each given all others; counts of words by topic as they then are.

    Griffiths and Steyvers (2004), eq. (5). Randomness: purpose ``documents``, entity = document.
    """
    del parts  # topics are integrated out
    counts = core.documents_collapsed(
        rows=len(batch.words),
        topics=local.topics,
        indptr=batch.indptr,
        indices=batch.indices,
        counts=batch.counts,
        doc_ids=batch.doc_ids,
        alpha=local.alpha,
        eta=local.eta,
        words=local.words,
        sweeps=local.sweeps,
        seed=key.seed,
        chain=key.chain,
        step=key.step,
        z=local.state["z"],
        token_ptr=local.token_ptr,
        work=local.work,
        threads=local.threads,
    )
    level = int(batch.counts.sum(dtype=np.int64)) / local.topics
    return {"phi": Statistics(batch.words, counts, 1.0, level)}
