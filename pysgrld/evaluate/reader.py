"""Reading documents given topics: the base of readers, sweeps of a visit, draws that readers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.core.restore import put_back
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s, Key, Scored

#: Sweeps of a document's chain when it starts, the second half of them kept.
FRESH_SWEEPS = 50
#: Sweeps of a chain that continues from the previous posterior sample, the second half kept: its
#: topics have moved little, and half of a visit's cost is its beginning and end.
FURTHER_SWEEPS = 4
#: Sweeps before the first of a document's draws: only the last state counts, as for continued
#: chains.
DRAW_SWEEPS = FRESH_SWEEPS // 2
#: Sweeps from one draw to the next: enough that twenty draws cover the truth if topics overlap.
NEXT_DRAW_SWEEPS = 12

#: Stream of the random numbers of proportions: far above the streams of blocks of topics. A stream
#: is for entities of 31 bits; larger entities have further streams.
_STREAM, _BITS = 1 << 10, 31
#: Unit of the counts that parameters which differ add to.
_FINE = 1 << 32
#: First random number of a layer's tokens: beyond the random numbers of the documents themselves.
_LAYER = 44
#: Numbers that are worked on together.
_CELLS = 1 << 22


class Visiting(Enum):
    """Purpose of a visit of documents given topics, which decides its sweeps.

    A reader knows how long each visit takes; `sweeps_of` has what Gibbs samplers share.
    """

    #: Their persistent chains continue, for the running average.
    CONTINUE = "continue"
    #: Their persistent chains continue, and only the last state counts: one draw of the documents'
    #: topics.
    DRAW = "draw"
    #: Chains of their own, forgotten afterwards.
    AFRESH = "afresh"
    #: New documents with proportions to be inferred, each with its own randomness.
    NEW = "new"


class Sweeps(NamedTuple):
    """Gibbs sweeps of one visit.

    Attributes
    ----------
    purpose : Purpose
        Separates their randomness from that of other visits.
    number, kept : int
        How many there are, and how many of them, the last, are averaged.
    go_on : bool
        Whether the documents' kept chains are what moves.
    """

    purpose: core.Purpose
    number: int
    kept: int
    go_on: bool


def sweeps_of_new(number: int, *, longest: int) -> Sweeps:
    """Return the sweeps that infer proportions of new documents; the second half is kept.

    Parameters
    ----------
    number : int
    longest : int
        Tokens of the longest document: of one that is too long for all kept sweeps to be counted, the
        last sweep alone is kept.
    """
    half = number // 2
    n_counted = half if longest <= core.MAX_COLLECTED // half else 1
    return Sweeps(core.Purpose.infer, number, n_counted, go_on=False)


def sweeps_of(how: Visiting, *, fresh: bool) -> Sweeps:
    """Return the sweeps of a visit of held-out documents.

    Parameters
    ----------
    how : Visiting
        Not of new documents.
    fresh : bool
        Whether the documents' kept chains have not begun yet.
    """
    half = FRESH_SWEEPS // 2
    if how is Visiting.AFRESH:
        return Sweeps(core.Purpose.point_evaluation, FRESH_SWEEPS, half, go_on=False)
    if not fresh:
        n_counted = FURTHER_SWEEPS // 2 if how is Visiting.CONTINUE else 1
        return Sweeps(core.Purpose.evaluation, FURTHER_SWEEPS, n_counted, go_on=True)
    n_counted = half if how is Visiting.CONTINUE else 1
    return Sweeps(core.Purpose.evaluation, FRESH_SWEEPS, n_counted, go_on=True)


def sweeps_of_draw(*, fresh: bool) -> Sweeps:
    """Return the sweeps that lead to a document's next draw; only the last of them counts.

    Parameters
    ----------
    fresh : bool
        Whether the documents' kept chains have not begun yet.
    """
    number = DRAW_SWEEPS if fresh else NEXT_DRAW_SWEEPS
    return Sweeps(core.Purpose.infer, number, 1, go_on=True)


class DocumentDraw(NamedTuple):
    """One draw of documents' proportions and of their tokens' topics, jointly.

    The tokens' topics z come from the last sweep, and theta ~ Dirichlet(alpha + n) given the counts
    n of that very z. Means over sweeps, from which proportions are inferred, are no draws: they
    leave out the uncertainty within a document. So do the tokens' shares n / N, which lack the
    Dirichlet law.

    Attributes
    ----------
    theta : (n, K) float32
        Proportions; rows sum to 1.
    tokens : (n, K) float32
        Tokens of each topic.
    """

    theta: Floats
    tokens: Floats


class DocumentDraws(NamedTuple):
    """Draws of the topics of some documents, one for each sample of the topics.

    Attributes
    ----------
    theta : (S, n, K) float32
        Proportions of the topics in each document; they sum to 1.
    tokens : (S, n, K) float32
        Tokens of each topic in each document, of the same draw.
    """

    theta: Floats
    tokens: Floats


class Reader(ABC):
    """Documents that are read under given topics: their proportions, and what these predict."""

    @abstractmethod
    def predict(self, key: Key, parts: Draw, scored: Scored, how: Visiting) -> Doubles:
        """Return the probability of every scored entry, (nnz,)."""

    @abstractmethod
    def theta(self, key: Key, parts: Draw, how: Visiting, layer: int) -> Doubles:
        """Return the proportions of a layer's topics, counted from 0, (n, K); rows sum to 1."""

    @abstractmethod
    def draw(self, key: Key, parts: Draw, layer: int) -> DocumentDraw:
        """Continue the documents' persistent chains, and draw proportions and tokens of a layer.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    @abstractmethod
    def token_topics(self, key: Key, parts: Draw, layer: int) -> Int32s:
        """Continue the documents' persistent chains, and return each token's topic of a layer, (N,).

        Tokens of an entry of the documents follow one another.

        Raises
        ------
        UsageError
            If documents are not sampled.
        """

    def figures(self, scored: Scored) -> dict[str, float]:
        """Return further numbers of the samples so far, by name."""
        del scored
        return {}

    @abstractmethod
    def shares(self, layer: int) -> Doubles:
        """Return the share of the tokens of each topic of a layer in the current state, (K,)."""

    def arrays(self) -> dict[str, Array]:
        """Return the state of the documents' chains, from which they continue exactly."""
        return {}

    def restore(self, arrays: Mapping[str, Array], prefix: str) -> None:
        """Continue from `arrays`; ``prefix`` is put before their names in messages.

        Raises
        ------
        CheckpointError
            If the arrays do not fit these documents.
        """
        put_back(self.arrays(), arrays, prefix)


class Readers(NamedTuple):
    """A maker of readers of documents for one model with its options.

    Attributes
    ----------
    layers : tuple of int
        Numbers of topics of each layer.
    longest : int
        Maximum length of a document, in tokens, for which a whole visit can be counted.
    make : callable (documents, doc_ids, threads)
        Returns a reader of documents over the rows of phi that are given later.
    """

    layers: tuple[int, ...]
    longest: int
    make: Callable[[Documents, Int64s, int], Reader]


# ---- draws that readers share


def proportions_given(
    counts: Int64s,
    topics: int,
    alpha: float | Floats,
    key: Key,
    ids: Int64s,
    work: core.Workspace,
    threads: int,
) -> Floats:
    """Draw theta ~ Dirichlet(alpha + n) of documents given their topic counts, (n, K) float32.

    Gammas over their sums. The gammas of a small alpha are mostly 0 in single precision, and for a
    document without tokens all of them may be 0. It then takes one token of a topic in proportion
    to alpha. That is the same law, as Dirichlet(alpha) is the mean of Dirichlet(alpha + e_k) over
    topics k ~ alpha.

    The kernel takes one shape for all cells, and counts. If parameters differ, the shape is the
    least of them, and the excess of the others joins the counts, in units of 2^-32.

    Parameters
    ----------
    counts : (n, Kp) int64
    topics : int
        K.
    alpha : float, or (Kp,) float32
        For all topics, or for each.
    key : Key
    ids : (n,) int64
        Key each document's randomness; all keys differ.
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


def topics_given(
    rows: Array, documents: Int64s, phi: Floats, theta: Doubles, key: Key, ids: Int64s, layer: int
) -> Int32s:
    """Draw the topic of each token: topic k in proportion to phi_wk theta_dk, (N,) int32.

    Parameters
    ----------
    rows : (N,) integers
        What each token is, as a row of ``phi``: its word, or its topic of the layer below.
    documents : (N,) int64
        The document of each, ascending.
    phi : (rows, K)
    theta : (n, K)
        Of each document, of any sum.
    key : Key
    ids : (n,) int64
        Key each document's randomness; all keys differ.
    layer : int
        The layer of the topics, counted from 0.
    """
    z = np.empty(len(rows), np.int32)
    first = np.searchsorted(documents, documents)  # the first token of the token's document
    entity = ids[documents] + ((layer + 1) << _LAYER)
    place = np.arange(len(rows)) - first
    u = core.uniforms(entity, place, key.seed, key.chain, core.Purpose.infer, key.step)
    block = max(1, _CELLS // theta.shape[1])
    for begin in range(0, len(rows), block):
        piece = slice(begin, begin + block)
        ends = np.cumsum(phi[rows[piece]] * theta[documents[piece]], axis=1)
        # the first topic with an end above u of the total: never a topic without weight
        z[piece] = np.argmax(ends > u[piece, None] * ends[:, -1:], axis=1)
    return z
