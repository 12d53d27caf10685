"""Latent Dirichlet allocation: documents by collapsed Gibbs of their topics, given phi.

Kernel: cpp/kernels/documents_gibbs.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core
from pysgrld.draws import Draw, weights_of
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.restore import check_topics, put_back
from pysgrld.samplers.protocol import Counts
from pysgrld.schedule import Schedule
from pysgrld.types import UNIT, Array, Block, Documents, Int32s, Int64s, Key, Minibatch


def blocks(options: LDAOptions, v: int, tokens: float) -> tuple[Block, ...]:
    """Give the one block of the model: topics over words."""
    weight = Schedule(*options.scale_weight)
    k, eta = options.topics, options.eta
    natural = options.cir_rate == "natural"  # runs older than the option lack it
    clip = options.edge == "clip"
    mass = float(tokens)
    return (Block("phi", "simplex", (v, k), eta, 0, mass, weight, natural=natural, clip=clip),)


def token_places(documents: Documents) -> Int64s:
    """Give the places where the tokens of each document begin in an array of all of them."""
    return np.concatenate(([0], np.cumsum(documents.lengths))).astype(np.int64)


class GibbsDocuments:
    """Documents by Gibbs sampling of their tokens' topics, theta integrated out.

    Parameters
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
    """

    def __init__(
        self,
        *,
        topics: int,
        alpha: float,
        sweeps: int,
        kept: int,
        rao_blackwell: bool,
        threads: int,
    ) -> None:
        self.topics, self.alpha = topics, alpha
        self.sweeps, self.kept, self.rao_blackwell = sweeps, kept, rao_blackwell
        self._z: Int32s | None = None
        self._token_ptr: Int64s | None = None
        self._work, self._threads = core.Workspace(), threads

    def keep(self, documents: Documents) -> None:
        """Keep the topics of all tokens between visits; none has one yet."""
        self._token_ptr = token_places(documents)
        self._z = np.full(self._token_ptr[-1], -1, np.int32)

    def visit(self, key: Key, draw: Draw, batch: Minibatch) -> dict[str, Counts]:
        """Sample the topics of the minibatch's tokens given phi; count words by topic.

        Patterson and Teh (2013), eq. (11). Randomness: purpose ``documents``, entity = document.
        """
        counts, _ = core.documents_gibbs(
            phi=weights_of(draw),
            topics=self.topics,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            alpha=self.alpha,
            sweeps=self.sweeps,
            kept=self.kept,
            rao_blackwell=self.rao_blackwell,
            **key.address(),
            purpose=core.Purpose.documents,
            z=self._z,
            token_ptr=self._token_ptr,
            work=self._work,
            threads=self._threads,
        )
        assert counts is not None
        unit = UNIT if self.rao_blackwell else 1
        level = batch.scale * int(batch.counts.sum(dtype=np.int64)) / self.topics
        factor = batch.scale / (unit * self.kept)
        return {"phi": Counts(batch.words, counts, factor, level)}

    def arrays(self) -> dict[str, Array]:
        """Give the topics of all tokens, ``z``, where they are kept."""
        return {} if self._z is None else {"z": self._z}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the topics of all tokens out of a checkpoint, where they are kept.

        Raises
        ------
        CheckpointError
            If it lacks them, or has topics that there are not.
        """
        put_back(self.arrays(), arrays)
        if self._z is not None:
            check_topics("z", self._z, self.topics)


def documents(options: LDAOptions, words: int, threads: int) -> GibbsDocuments:
    """Make the sampler of documents that resolved options ask for."""
    del words
    return GibbsDocuments(
        topics=options.topics,
        alpha=options.alpha,
        sweeps=options.sweeps,
        kept=options.kept_sweeps,
        rao_blackwell=options.counts == "rao-blackwell",
        threads=threads,
    )
