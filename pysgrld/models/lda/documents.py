"""Latent Dirichlet allocation: documents by collapsed Gibbs of their topics, given phi.

Kernel: cpp/kernels/documents_gibbs.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.core import core
from pysgrld.draws import Draw, weights_of
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.seeds import seeds_of
from pysgrld.restore import check_topics, put_back
from pysgrld.samplers.protocol import Counts
from pysgrld.schedule import Schedule
from pysgrld.team.alone import ALONE
from pysgrld.team.protocol import Collected, Team
from pysgrld.types import UNIT, Array, Block, Documents, Floats, Int32s, Int64s, Key, Minibatch


def blocks(options: LDAOptions, v: int, tokens: float) -> tuple[Block, ...]:
    """Give the one block of the model: topics over words.

    Published settings start where the papers do, at Gamma(1), not at the corpus's scale.
    """
    weight = Schedule(*options.scale_weight)
    k, eta = options.topics, options.eta
    natural = options.cir_rate == "natural"  # runs older than the option lack it
    clip = options.edge == "clip"
    mass = 0.0 if options.preset else float(tokens)
    seeds = seeds_of(options, tokens)
    return (
        Block(
            "phi", "simplex", (v, k), eta, 0, mass, weight, natural=natural, clip=clip, seeds=seeds
        ),
    )


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
        #: Whether some counts are spread over a word's row when all are added up.
        self.active = rao_blackwell and topics > core.DENSE_TOPICS
        self._work, self._threads = core.Workspace(), threads

    def keep(self, documents: Documents) -> None:
        """Keep the topics of all tokens between visits; none has one yet."""
        self._token_ptr = token_places(documents)
        self._z = np.full(self._token_ptr[-1], -1, np.int32)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, team: Team = ALONE
    ) -> dict[str, Counts]:
        """Sample the topics of the minibatch's tokens given phi; count words by topic.

        Patterson and Teh (2013), eq. (11). Randomness: purpose ``documents``, entity = document.
        """
        phi = weights_of(draw)
        found = team.add(self._sampled(key, phi, part) for part in team.parts(batch))
        counts, tokens, *bucket = found.sums
        if bucket:
            core.spread(
                phi=phi, bucket=bucket[0], counts=counts, work=self._work, threads=self._threads
            )
        unit = UNIT if self.rao_blackwell else 1
        level = batch.scale * int(tokens[0]) / self.topics
        factor = batch.scale / (unit * self.kept)
        return {"phi": Counts(batch.words, counts, factor, level)}

    def _sampled(self, key: Key, phi: Floats, batch: Minibatch) -> Collected:
        """Sample some documents: counts of words by topic, tokens, and counts yet to be spread."""
        bucket = np.zeros(len(batch.words), np.int64) if self.active else None
        counts, _ = core.documents_gibbs(
            phi=phi,
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
            bucket=bucket,
            work=self._work,
            threads=self._threads,
        )
        assert counts is not None
        sums = counts, np.array([batch.tokens])
        return Collected(sums if bucket is None else (*sums, bucket))

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


def documents(options: LDAOptions, block: Block, threads: int) -> GibbsDocuments:
    """Make the sampler of documents that resolved options ask for."""
    del block
    return GibbsDocuments(
        topics=options.topics,
        alpha=options.alpha,
        sweeps=options.sweeps,
        kept=options.kept_sweeps,
        rao_blackwell=options.counts == "rao-blackwell",
        threads=threads,
    )
