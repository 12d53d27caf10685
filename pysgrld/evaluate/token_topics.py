"""Topics of documents' tokens, drawn one by one given the documents' proportions."""

from __future__ import annotations

import numpy as np

from pysgrld.core import core
from pysgrld.types import Array, Documents, Doubles, Floats, Int32s, Int64s, Key

#: Where the random numbers of a layer begin: beyond those of the documents themselves.
_LAYER = 44
#: Numbers that are worked on together.
_CELLS = 1 << 22


def document_of_each_token(documents: Documents) -> Int64s:
    """Give the place of the document that each token is in, (N,), in the order of the entries."""
    return np.repeat(np.arange(len(documents)), documents.lengths)


def topics_given(
    rows: Array, of: Int64s, phi: Floats, theta: Doubles, key: Key, ids: Int64s, at: int
) -> Int32s:
    """Draw the topic of each token: topic k in proportion to phi_wk theta_dk, (N,) int32.

    Parameters
    ----------
    rows : (N,) integers
        What each token is, as a row of ``phi``: its word, or its topic of the layer below.
    of : (N,) int64
        The document of each, ascending.
    phi : (rows, K)
    theta : (n, K)
        Of each document, of any sum.
    key : Key
    ids : (n,) int64
        Key each document's randomness: no two alike.
    at : int
        The layer of the topics, counted from 0.
    """
    z = np.empty(len(rows), np.int32)
    first = np.searchsorted(of, of)  # of the document that the token is in
    entity = ids[of] + ((at + 1) << _LAYER)
    place = np.arange(len(rows)) - first
    u = core.uniforms(entity, place, key.seed, key.chain, core.Purpose.infer, key.step)
    each = max(1, _CELLS // theta.shape[1])
    for begin in range(0, len(rows), each):
        some = slice(begin, begin + each)
        ends = np.cumsum(phi[rows[some]] * theta[of[some]], axis=1)
        # the first topic whose end is above u of the total: one without weight is never it
        z[some] = np.argmax(ends > u[some, None] * ends[:, -1:], axis=1)
    return z
