"""Base class of readers, which infer the topics of documents given the topics over words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.core.restore import restore_arrays
from pysgrld.types import Array, Documents, Doubles, Floats, HeldOutCounts, Int32s, Int64s, Key

#: Number of Gibbs sweeps of a document's new chain. Results are averaged over the second half.
FRESH_SWEEPS = 50
#: Number of sweeps of a chain that continues from the previous posterior sample. Results are
#: averaged over the second half. Few sweeps are enough, because the topics have changed little. The
#: sweeps take as long as the work before and after them.
FURTHER_SWEEPS = 4
#: Number of sweeps before the first draw of a document's topics. Only the last state is kept, so
#: half of `FRESH_SWEEPS` is enough.
DRAW_SWEEPS = FRESH_SWEEPS // 2
#: Number of sweeps between two draws of a document's topics. With this number, intervals from
#: twenty draws cover the truth even if topics overlap.
NEXT_DRAW_SWEEPS = 12

#: Number of the first random stream for the proportions of documents. It is far above the numbers
#: of the streams for blocks of topics.
_STREAM = 1 << 10
#: Number of low bits of a document's id that distinguish documents within a random stream. The
#: other bits of the id choose the stream.
_BITS = 31
#: Dirichlet parameters may differ between topics. Token counts, and the parameters minus their
#: minimum, are then multiplied by this factor, so that sums can be rounded to whole numbers.
_FINE = 1 << 32
#: Maximum of a Dirichlet parameter minus the minimum, after multiplication by `_FINE`. Only a
#: forged sample may exceed it.
_MOST = 2.0**61
#: The key of a token's random numbers is a document's id plus the layer's number, which is shifted
#: by this number of bits. The tokens' random numbers thus differ from the document's.
_LAYER = 44
#: Maximum number of probabilities (tokens x topics) in a block of tokens.
_CELLS = 1 << 22


class VisitPurpose(Enum):
    """Purpose for which documents are sampled given the topics.

    A visit is one sampling of the documents. The purpose of a visit determines the number of
    sweeps; `held_out_sweeps` has the numbers for Gibbs samplers.
    """

    #: The chains of documents continue from the previous visit, and the mean over sweeps is added
    #: to the running average.
    CONTINUE = "continue"
    #: The chains of documents continue from the previous visit, and their last state is a draw of
    #: the documents' topics.
    DRAW = "draw"
    #: New chains start, and are discarded after the visit.
    AFRESH = "afresh"
    #: Proportions of new documents are inferred. Each document has its own random numbers.
    NEW = "new"


class Sweeps(NamedTuple):
    """Number of Gibbs sweeps to sample documents once, and number of sweeps that are averaged.

    Attributes
    ----------
    purpose : Purpose
        Separates the random numbers of the sweeps from the random numbers of other visits.
    number, kept : int
        Number of sweeps, and number of sweeps at the end that are averaged.
    go_on : bool
        True if the documents' persistent chains continue; False if new chains start.
    """

    purpose: core.Purpose
    number: int
    kept: int
    go_on: bool


def sweeps_of_new(number: int, *, longest: int) -> Sweeps:
    """Return the numbers of sweeps to infer new documents; the second half is averaged.

    Parameters
    ----------
    number : int
    longest : int
        Number of tokens of the longest document. If this document is too long for counts over all
        kept sweeps, only the last sweep is kept.
    """
    half = number // 2
    n_counted = half if longest <= core.MAX_COLLECTED // half else 1
    return Sweeps(core.Purpose.infer, number, n_counted, go_on=False)


def held_out_sweeps(how: VisitPurpose, *, fresh: bool) -> Sweeps:
    """Return the numbers of sweeps to sample held-out documents for the given purpose.

    Parameters
    ----------
    how : Visiting
        Any purpose except ``NEW``.
    fresh : bool
        True if the documents' persistent chains have not started yet.
    """
    half = FRESH_SWEEPS // 2
    if how is VisitPurpose.AFRESH:
        return Sweeps(core.Purpose.point_evaluation, FRESH_SWEEPS, half, go_on=False)
    if not fresh:
        n_counted = FURTHER_SWEEPS // 2 if how is VisitPurpose.CONTINUE else 1
        return Sweeps(core.Purpose.evaluation, FURTHER_SWEEPS, n_counted, go_on=True)
    n_counted = half if how is VisitPurpose.CONTINUE else 1
    return Sweeps(core.Purpose.evaluation, FRESH_SWEEPS, n_counted, go_on=True)


def sweeps_of_draw(*, fresh: bool) -> Sweeps:
    """Return the number of sweeps between two draws of documents' topics, as `Sweeps`.

    Parameters
    ----------
    fresh : bool
        True if the documents' persistent chains have not started yet.
    """
    number = DRAW_SWEEPS if fresh else NEXT_DRAW_SWEEPS
    return Sweeps(core.Purpose.infer, number, 1, go_on=True)


class DocumentDraw(NamedTuple):
    """A joint draw of the topic proportions of documents and of the topics of their tokens.

    The tokens' topics z come from the last sweep, and theta ~ Dirichlet(alpha + n) given the counts
    n of the same z. The means over sweeps from which proportions are inferred are no draws: they
    leave out the uncertainty within a document. So do the shares n / N of the tokens, as they leave
    out the variation of the Dirichlet distribution.

    Attributes
    ----------
    theta : (n, K) float32
        Proportions; rows sum to 1.
    tokens : (n, K) float32
        Number of tokens of each topic.
    """

    theta: Floats
    tokens: Floats


class DocumentDraws(NamedTuple):
    """Draws of topic proportions and token topics of documents, one for each of S topic samples.

    Attributes
    ----------
    theta : (S, n, K) float32
        Proportions of the topics in each document; they sum to 1.
    tokens : (S, n, K) float32
        Number of tokens of each topic in each document, in the same draw.
    """

    theta: Floats
    tokens: Floats


class Reader(ABC):
    """Base class of readers, which infer the topic proportions of documents given the topics."""

    @abstractmethod
    def predict(self, key: Key, parts: Draw, scored: HeldOutCounts, how: VisitPurpose) -> Doubles:
        """Return the probability of each held-out word of each document given topics, (nnz,)."""

    @abstractmethod
    def theta(self, key: Key, parts: Draw, how: VisitPurpose, layer: int) -> Doubles:
        """Return the documents' proportions of a layer's topics, (n, K), with rows that sum to 1.

        Layers are counted from 0.
        """

    @abstractmethod
    def draw(self, key: Key, parts: Draw, layer: int) -> DocumentDraw:
        """Continue the documents' chains, and draw proportions and token topics of a layer.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    @abstractmethod
    def token_topics(self, key: Key, parts: Draw, layer: int) -> Int32s:
        """Continue the documents' chains, and return each token's topic in a layer, (N,).

        Tokens are in the order of the entries of the documents.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    def metrics(self, scored: HeldOutCounts) -> dict[str, float]:
        """Return additional scores of the samples so far, by name."""
        del scored
        return {}

    @abstractmethod
    def shares(self, layer: int) -> Doubles:
        """Return each topic's current share of a layer's tokens, (K,)."""

    def arrays(self) -> dict[str, Array]:
        """Return the state of the documents' chains, from which `restore` continues exactly."""
        return {}

    def restore(self, arrays: Mapping[str, Array], prefix: str) -> None:
        """Restore the state that `arrays` returned; error messages put ``prefix`` before array names.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        restore_arrays(self.arrays(), arrays, prefix)


class Readers(NamedTuple):
    """Factory of document readers for one model with given options.

    Attributes
    ----------
    layers : tuple of int
        Numbers of topics of each layer.
    longest : int
        Maximum number of tokens of a document for which counts over a whole visit are possible.
    make : callable (documents, doc_ids, threads)
        Returns a reader; word ids of the documents are rows of the phi that is passed to the
        reader.
    """

    layers: tuple[int, ...]
    longest: int
    make: Callable[[Documents, Int64s, int], Reader]


# ---- random draws for several readers


def draw_proportions(
    counts: Int64s,
    topics: int,
    alpha: float | Floats,
    key: Key,
    ids: Int64s,
    work: core.Workspace,
    threads: int,
) -> Floats:
    """Draw topic proportions of documents from Dirichlet(alpha + counts), (n, K) float32.

    The proportions are gamma variables divided by their sum. Gamma variables with a small shape
    alpha are mostly 0 in single precision, and all of them may be 0 in a document without tokens.
    Such a document therefore gets one token, with a topic drawn in proportion to alpha. The
    distribution is the same, because Dirichlet(alpha) is the mixture of Dirichlet(alpha + e_k) over
    topics k ~ alpha, with e_k the unit vector of topic k.

    The kernel takes counts, and one shape for all topics. If the parameters alpha differ, the shape
    is their minimum, and their differences to the minimum are added to the counts, in units of
    2^-32.

    Parameters
    ----------
    counts : (n, Kp) int64
    topics : int
        Number of topics K.
    alpha : float, or (Kp,) float32
        One parameter for all topics, or a parameter for each topic.
    key : Key
    ids : (n,) int64
        Keys of the documents' random numbers, all different.
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
        more = np.rint((alpha[:topics].astype(np.float64) - least) * unit)
        counts[:, :topics] += np.minimum(more, _MOST).astype(int)
        alpha = least
    theta = np.empty((n, topics), np.float32)
    order = np.argsort(ids, kind="stable")
    high = ids[order] >> _BITS
    for beyond in np.unique(high).tolist():
        tied = order[high == beyond]
        g = core.zeros(len(tied), stride, "float32")
        core.simplex_scir_rows(
            g=g,
            sums=np.zeros(stride),
            topics=topics,
            eta=alpha,
            rows=(ids[tied] & ((1 << _BITS) - 1)).astype(np.int32),
            lengths=np.full(len(tied), np.inf),
            counts=np.ascontiguousarray(counts[tied]),
            factor=1.0 / unit,
            packed=True,
            purpose=core.Purpose.look_pass,
            stream=_STREAM + beyond,
            work=work,
            threads=threads,
            **key._asdict(),
        )
        theta[tied] = g[:, :topics] / g.sum(axis=1, keepdims=True, dtype=np.float64)
    return theta


def draw_token_topics(
    rows: Array, documents: Int64s, phi: Floats, theta: Doubles, key: Key, ids: Int64s, layer: int
) -> Int32s:
    """Draw each token's topic with probability proportional to phi[w] * theta[d], (N,) int32.

    Here w is the token's row of ``phi``, and d the token's document.

    Parameters
    ----------
    rows : (N,) integers
        Row of ``phi`` for each token: its word, or its topic in the layer below.
    documents : (N,) int64
        Document of each token, in ascending order.
    phi : (rows, K)
    theta : (n, K)
        Proportions of each document, which need not sum to 1.
    key : Key
    ids : (n,) int64
        Keys of the documents' random numbers, all different.
    layer : int
        The layer of the topics, counted from 0.
    """
    z = np.empty(len(rows), np.int32)
    # Index of the first token in the document of each token.
    first = np.searchsorted(documents, documents)
    entity = ids[documents] + ((layer + 1) << _LAYER)
    place = np.arange(len(rows)) - first
    u = core.uniforms(entity, place, key.seed, key.chain, core.Purpose.infer, key.step)
    block = max(1, _CELLS // theta.shape[1])
    for begin in range(0, len(rows), block):
        piece = slice(begin, begin + block)
        ends = np.cumsum(phi[rows[piece]] * theta[documents[piece]], axis=1)
        # Draw by inverse transform sampling. With ">" instead of ">=", a topic of weight 0 is never
        # drawn.
        z[piece] = np.argmax(ends > u[piece, None] * ends[:, -1:], axis=1)
    return z
