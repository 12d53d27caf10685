"""Held-out documents, each of which is split into observed and held-out tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pysgrld.core import check_lengths, core
from pysgrld.errors import CorpusError, plural
from pysgrld.evaluate.reader import FRESH_SWEEPS
from pysgrld.types import Documents, Int32s, Int64s


class HeldOut(NamedTuple):
    """Held-out documents, each split into an observed part and a non-empty held-out part.

    Attributes
    ----------
    observed, held_out : Documents
        Counts of the run's words in the parts, with the same documents in the same order. The
        observed parts are empty if documents are scored whole, and not empty otherwise.
    doc_ids : (n,) int64
        Positions of the documents in their corpus, the keys of their random numbers.
    dropped : int
        Number of documents that could not be split, or were empty in one part.
    """

    observed: Documents
    held_out: Documents
    doc_ids: Int64s
    dropped: int


def split(documents: Documents, doc_ids: Int64s, observed: float, seed: int) -> HeldOut:
    """Split each document's tokens at random into observed and held-out tokens.

    Of N >= 2 tokens, max(1, min(N - 1, round((1 - observed) N))) are drawn without replacement and
    held out. Documents with fewer than two tokens are dropped and counted. The split of a document
    depends only on the seed and its position in the corpus.

    Parameters
    ----------
    documents : Documents
    doc_ids : (n,) int64
    observed : float
        Fraction of the tokens that is observed, in (0, 1).
    seed : int

    Returns
    -------
    HeldOut

    Raises
    ------
    CorpusError
        If the observed part of a document is too long for exact counts.
    """
    n, lengths = len(documents), documents.lengths
    n_held_out = np.rint((1.0 - observed) * lengths).astype(np.int64)
    n_held_out = np.maximum(1, np.minimum(lengths - 1, n_held_out))
    # Check the documents' lengths first, because arrays with one entry per token take much memory.
    check_lengths(lengths - n_held_out, FRESH_SWEEPS // 2, "held-out document")
    entry_doc = np.repeat(np.arange(n), np.diff(documents.indptr))
    token_entry = np.repeat(np.arange(len(documents.indices)), documents.counts)
    token_doc = entry_doc[token_entry]
    start = np.cumsum(lengths) - lengths
    ordinal = np.arange(len(token_doc)) - start[token_doc]
    u = core.uniforms(doc_ids[token_doc], ordinal, seed, 0, core.Purpose.holdout_split, 0)
    rank = np.empty(len(u), np.int64)
    # The rank of a token is its position in a random order of the document's tokens.
    rank[np.lexsort((u, token_doc))] = ordinal
    held = rank < n_held_out[token_doc]
    keep = lengths >= 2
    parts = []
    for chosen in (~held, held):
        counts = np.bincount(token_entry[chosen], minlength=len(documents.indices))
        part = replace(documents, counts=counts.astype(np.int32))
        parts.append(_select(part, keep))
    return HeldOut(parts[0], parts[1], doc_ids[keep], int(n - keep.sum()))


def pair_parts(observed: Documents, held_out: Documents) -> HeldOut:
    """Combine two corpora: observed and held-out parts of the same documents, in the same order.

    A document that is empty in either corpus is dropped and counted.

    Parameters
    ----------
    observed, held_out : Documents

    Raises
    ------
    CorpusError
        If the numbers of documents differ, or both parts are the same.
    """
    if len(observed) != len(held_out):
        raise CorpusError(
            f"the observed corpus has {plural(len(observed), 'document')} but the held-out corpus "
            f"has {len(held_out)}; they must be the same documents in the same order"
        )
    arrays = [(part.indptr, part.indices, part.counts) for part in (observed, held_out)]
    if observed.tokens and all(map(np.array_equal, *arrays)):
        raise CorpusError(
            "the observed and the held-out corpus are the same; give two different parts of the "
            "same documents"
        )
    keep = (np.diff(observed.indptr) > 0) & (np.diff(held_out.indptr) > 0)
    ids = np.flatnonzero(keep).astype(np.int64)
    return HeldOut(_select(observed, keep), _select(held_out, keep), ids, len(observed) - len(ids))


def hold_out_whole(documents: Documents, doc_ids: Int64s) -> HeldOut:
    """Hold out all tokens of each document; empty documents are dropped and counted.

    Parameters
    ----------
    documents : Documents
        The documents to score.
    doc_ids : (n,) int64
        Positions of the documents in the corpus.

    Returns
    -------
    HeldOut
    """
    keep = np.diff(documents.indptr) > 0
    selected = _select(documents, keep)
    nothing = replace(
        selected,
        indptr=np.zeros_like(selected.indptr),
        indices=selected.indices[:0],
        counts=selected.counts[:0],
    )
    return HeldOut(nothing, selected, doc_ids[keep], len(documents) - len(selected))


def _select(documents: Documents, keep: np.ndarray) -> Documents:
    """Return only the chosen documents, without entries that have a count of 0."""
    entry_doc = np.repeat(np.arange(len(documents)), np.diff(documents.indptr))
    chosen = keep[entry_doc] & (documents.counts > 0)
    per_doc = np.bincount(entry_doc[chosen], minlength=len(documents))[keep]
    indptr = np.concatenate(([0], np.cumsum(per_doc))).astype(np.int64)
    indices: Int32s = documents.indices[chosen].astype(np.int32)
    counts = documents.counts[chosen].astype(np.int32)
    slices = None if documents.slices is None else documents.slices[keep]
    return Documents(indptr, indices, counts, slices, documents.copies)
