"""Sampling of documents in which each token has a topic, by collapsed Gibbs given phi.

    theta_d ~ Dirichlet(alpha),  z ~ theta_d,  w ~ phi_z

An iteration (`pysgrld.chain.blocks.BlockChain.advance`), with a minibatch of B out of D documents:

1. rows of phi that its words need are brought up to date, and read;
2. topics z of its tokens are sampled given phi, theta integrated out (`GibbsDocuments.visit`), and
   counted by word; if alpha is learned, its sufficient statistics are counted, too;
3. counts times D/B estimate the corpus's; given these, a sampler of topics moves phi, and a sampler of
   shapes moves alpha;
4. a learned eta is drawn given phi at intervals, or given the counts if they cover the whole corpus.

Kernel: cpp/kernels/documents_gibbs.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pysgrld.chain.communicator import ALONE, Collected, Communicator, RowsHere
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core
from pysgrld.core.draws import Draw, sampling_weights
from pysgrld.core.restore import check_topics, restore_arrays
from pysgrld.options.priors import ALPHA_BLOCK
from pysgrld.samplers.state import Counts
from pysgrld.types import UNIT, Array, Documents, Doubles, Floats, Int32s, Int64s, Key, Minibatch


def resolve_alpha(draw: Draw, alpha: float | None) -> float | Floats:
    """Return the Dirichlet prior of documents: one number, or a value for each topic, (Kp,).

    Parameters
    ----------
    draw : Draw
        Rows of all blocks, word-major.
    alpha : float or None
        The fixed prior, or None if alpha is learned.

    Returns
    -------
    float or array of float32, (Kp,)
        Parameters of theta ~ Dirichlet(alpha).
    """
    return draw[ALPHA_BLOCK] if alpha is None else alpha


def alpha_evidence(tables: Int64s, q: Doubles, scale: float, level: float) -> Counts:
    """Return the sufficient statistics for updating alpha, scaled from a minibatch to the corpus.

    Parameters
    ----------
    tables : array of int64, (Kp,)
        Tables of all documents of the minibatch.
    q : array of float64, (n,)
        Beta variates of the documents (Escobar and West 1995).
    scale : float
        Training documents over documents of the minibatch, D/B.
    level : float
        Factor on the step size of alpha.

    Returns
    -------
    Counts
        Sufficient statistics X and Q, scaled to the corpus.
    """
    rate = float(q.sum()) * scale
    return Counts(np.zeros(1, np.int32), tables[None, :], scale, level, rate)


def token_places(documents: Documents) -> Int64s:
    """Return the position of each document's first token among the tokens of all documents.

    Parameters
    ----------
    documents : Documents
        n documents.

    Returns
    -------
    array of int64, (n + 1,)
        Positions; the last one is the number of tokens.
    """
    return np.concatenate(([0], np.cumsum(documents.lengths))).astype(np.int64)


#: Number of sweeps to draw initial topics of tokens, given topics over words.
FIRST_SWEEPS = 10


class TokenTopics(DocumentSampler):
    """Document sampler that gives each token a topic, and can store the topics of all tokens.

    Attributes
    ----------
    topics : int
        K.
    alpha : float or None
        Symmetric Dirichlet parameter per topic of a document, or None if alpha_k are learned.
    z : (N,) int32 or None
        Stored topics of all tokens, -1 before the first iteration, or None if topics are not stored
        between iterations.
    token_ptr : (n + 1,) int64 or None
        Position of each document's first token in ``z``.
    """

    by_document = frozenset({"z"})
    topics: int
    alpha: float | None
    z: Int32s | None = None
    token_ptr: Int64s | None = None

    def keep(self, documents: Documents) -> None:
        """Allocate persistent topic assignments of all tokens, initially -1 (no topic)."""
        self.token_ptr = token_places(documents)
        self.z = np.full(self.token_ptr[-1], -1, np.int32)

    def sample_first(self, key: Key, draw: Draw, batch: Minibatch, threads: int) -> None:
        """Draw initial topics of all tokens, by several sweeps given topics over words."""
        documents = GibbsDocuments(
            topics=self.topics,
            alpha=self.alpha,
            sweeps=FIRST_SWEEPS,
            kept=1,
            rao_blackwell=False,
            threads=threads,
        )
        documents.keep(Documents(batch.indptr, batch.indices, batch.counts))
        documents.visit(key, draw, batch)
        assert self.z is not None
        assert documents.z is not None
        self.z[:] = documents.z

    def arrays(self) -> dict[str, Array]:
        """Return the topics of all tokens, ``z``, if they are stored between iterations."""
        return {} if self.z is None else {"z": self.z}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the topics of all tokens from a checkpoint's arrays, if topics are stored.

        Raises
        ------
        CheckpointError
            If the array is missing, or has topics outside 0 to K - 1.
        """
        restore_arrays(self.arrays(), arrays)
        if self.z is not None:
            check_topics("z", self.z, self.topics)


class GibbsDocuments(TokenTopics):
    """Gibbs sampler of documents: sweeps over the topics of tokens, with theta integrated out.

    Parameters
    ----------
    topics : int
        K.
    alpha : float or None
        Symmetric Dirichlet parameter per topic, or None if alpha_k are learned.
    sweeps, kept : int
        Number of Gibbs sweeps over a document in an iteration, and number of last sweeps that are
        collected.
    rao_blackwell : bool
        Collect p_k / sum p of every token instead of its sampled topic.
    threads : int
    """

    def __init__(
        self,
        *,
        topics: int,
        alpha: float | None,
        sweeps: int,
        kept: int,
        rao_blackwell: bool,
        threads: int,
    ) -> None:
        self.topics, self.alpha = topics, alpha
        self.sweeps, self.kept, self.rao_blackwell = sweeps, kept, rao_blackwell
        #: True if the counts of a word are first summed over documents and then distributed over
        #: topics.
        self.active = rao_blackwell and topics > core.DENSE_TOPICS
        self._work, self._threads = core.Workspace(), threads

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Counts]:
        """Sample the topics of a minibatch's tokens given phi, and count the words of each topic.

        Patterson and Teh (2013), eq. (11). Randomness: purpose ``documents``, entity = document.
        """
        phi, alpha = sampling_weights(draw), resolve_alpha(draw, self.alpha)
        sampled = comm.collect(lambda part: self._sample_documents(key, phi, alpha, part), batch)
        assert sampled.words is not None
        counts, (tokens, *tables) = sampled.by_word[0], sampled.sums
        if self.active:
            is_local = sampled.words is batch.words
            rows = RowsHere(phi) if is_local else comm.read(sampled.words)
            core.spread(
                **rows._asdict(),
                alpha=alpha,
                topics=self.topics,
                bucket=sampled.by_word[1],
                counts=counts,
                work=self._work,
                threads=self._threads,
            )
        unit = UNIT if self.rao_blackwell else 1
        level = batch.scale * int(tokens[0]) / self.topics
        factor = batch.scale / (unit * self.kept)
        statistics = {"phi": Counts(sampled.words, counts, factor, level)}
        if sampled.values is not None:
            statistics[ALPHA_BLOCK] = alpha_evidence(tables[0], sampled.values, batch.scale, level)
        return statistics

    def _sample_documents(
        self, key: Key, phi: Floats, alpha: float | Floats, batch: Minibatch
    ) -> Collected:
        """Sample topics of a minibatch's tokens; count tokens of words in topics, and all tokens.

        With `active`, also return counts that are not yet distributed over topics. If alpha is
        learned, also return its sufficient statistics from the topics of the last sweep: tables, and
        q of each document.
        """
        bucket = np.zeros(len(batch.words), np.int64) if self.active else None
        z, token_ptr = self.z, self.token_ptr
        if self.alpha is None and z is None:
            token_ptr = token_places(Documents(batch.indptr, batch.indices, batch.counts))
            z = np.full(token_ptr[-1], -1, np.int32)
        counts, _ = core.documents_gibbs(
            phi=phi,
            topics=self.topics,
            indptr=batch.indptr,
            indices=batch.indices,
            counts=batch.counts,
            doc_ids=batch.doc_ids,
            alpha=alpha,
            sweeps=self.sweeps,
            kept=self.kept,
            rao_blackwell=self.rao_blackwell,
            **key._asdict(),
            purpose=core.Purpose.documents,
            z=z,
            token_ptr=token_ptr,
            bucket=bucket,
            work=self._work,
            threads=self._threads,
        )
        assert counts is not None
        by_word = (counts,) if bucket is None else (counts, bucket)
        tokens = np.array([batch.tokens])
        if not isinstance(alpha, np.ndarray):
            return Collected(by_word, (tokens,))
        assert z is not None
        assert token_ptr is not None
        tables, q = core.alpha_evidence(
            z=z,
            token_ptr=token_ptr,
            doc_ids=batch.doc_ids,
            alpha=alpha,
            topics=self.topics,
            **key._asdict(),
            threads=self._threads,
        )
        return Collected(by_word, (tokens, tables), q)
