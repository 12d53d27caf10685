"""The kernel of deep LDA as many independent documents at once, between NumPy's arrays and its own.

Documents have V words, all of them entries of the vocabulary; arrays are those of `oracles.deep`.
"""

from __future__ import annotations

import numpy as np

from pysgrld.core import core, padded_width

WORK = core.Workspace()


def rows(matrix):
    """Topics (V, K) as the kernel reads them."""
    matrix = np.asarray(matrix)
    out = core.zeros(len(matrix), padded_width(matrix.shape[1]), "float32")
    out[:, : matrix.shape[1]] = matrix
    return out


def packed(parts):
    """(n, K_l) of every layer, side by side and padded."""
    return np.concatenate([rows(part) for part in parts], axis=1)


def unpacked(wide, layers):
    """The same backwards, in double."""
    starts = np.cumsum([0] + [padded_width(k) for k in layers])
    return [wide[:, s : s + k].astype(float) for s, k in zip(starts, layers, strict=False)]


def compressed(x):
    """Documents (n, V) of counts, some of them 0, in sparse rows."""
    present = x > 0
    return {
        "indptr": np.concatenate(([0], np.cumsum(present.sum(axis=1)))),
        "indices": np.nonzero(present)[1].astype(np.int32),
        "counts": x[present].astype(np.int32),
    }


def fixed(phi, r, prior, **more):
    """Arguments of the kernel that do not change: topics (V, K), r and constants."""
    layers = [p.shape[1] for p in phi]
    return (
        {
            "phi": [rows(p) for p in phi],
            "topics": layers,
            "r": rows(r[None])[0],
            "start": packed([np.full((1, k), 1 / k) for k in layers])[0],
            "link": "counts",
            "sweeps": 1,
            "kept": 1,
            "held": 0,
            "rao_blackwell": False,
            "seed": 1,
            "chain": 0,
            "purpose": core.Purpose.test,
            "work": WORK,
            "threads": 1,
        }
        | prior._asdict()
        | more
    )


def visit(arguments, x, step, **more):
    """One call for documents (n, V) of counts: (words, above, tables, q, mean)."""
    return core.documents_deep(
        **arguments, **compressed(x), doc_ids=np.arange(len(x)), step=step, **more
    )
