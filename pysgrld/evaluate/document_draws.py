"""Draws of documents' topics, going on over kept samples of the topics.

A draw is one point of the joint posterior of a document's proportions and of its tokens' topics, given
one sample of the topics over words. A document's Gibbs chain goes on from sample to sample, and of each
visit the *last* sweep counts alone: its tokens' topics z are one draw, and theta ~ Dirichlet(alpha + n)
given the counts n of that very z makes (theta, z) one draw of both. Means over sweeps, which proportions
are read from (`pysgrld.evaluate.proportions`), are no draws: they leave out what is unsure within a
document. So do the tokens' shares n / N, which lack the Dirichlet law around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.core.draws import Draw
from pysgrld.evaluate.proportions import over_their_words
from pysgrld.evaluate.reader import DocumentDraw, Readers
from pysgrld.types import Documents, Floats, Int32s, Int64s, Key

#: Gives the draws of the topics, of some words, one after the other, each with the key of its documents.
DrawsOf = Callable[[Int32s], Iterable[tuple[Key, Draw]]]

#: Stream of the random numbers of proportions: far above those of blocks of topics. A stream is for
#: entities of 31 bits; those above have further ones.
_STREAM, _BITS = 1 << 10, 31
#: Unit of the counts that parameters which differ add to.
_FINE = 1 << 32


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

    @classmethod
    def stacked(cls, draws: Iterable[DocumentDraw], shape: tuple[int, int, int]) -> DocumentDraws:
        """Stack S draws one after the other."""
        found = cls(np.empty(shape, np.float32), np.empty(shape, np.float32))
        for s, (theta, tokens) in enumerate(draws):
            found.theta[s], found.tokens[s] = theta, tokens
        return found


def document_draws(
    readers: Readers, draws: DrawsOf, documents: Documents, ids: Int64s, threads: int, at: int = 0
) -> Iterator[DocumentDraw]:
    """Draw the topics of documents given one draw of the topics over words after the other.

    Parameters
    ----------
    readers : Readers
    draws : callable
        Is given the words that documents have; gives draws of their rows.
    documents : Documents
    ids : (n,) int64
        Key each document's randomness, with the keys of the draws: no two alike.
    threads : int
    at : int
        The layer whose topics are meant, counted from 0.

    Yields
    ------
    DocumentDraw
        One for each draw of the topics; a document's depends on its counts and its id, not on the others.

    Raises
    ------
    CorpusError
        If a document is too long for a sweep to be counted.
    UsageError
        If documents are not sampled.
    """
    check_lengths(documents.lengths, 1, "document", ids)
    there, words = over_their_words(documents, ids)
    reader = readers(there, ids, threads)
    for key, draw in draws(words):
        yield reader.draw(key, draw, at)


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
