"""Points, documents and valid arguments for tests of the sphere kernels."""

import numpy as np
from oracles import sphere as oracle

from pysgrld.core import core, padded_width
from pysgrld.models.sam.proportions import Directions

TEAM = {"work": core.Workspace(), "threads": 1}
KEY = {"seed": 5, "chain": 1, "step": 9}
#: Words and topics: neither multiples of 4 nor of 16, and more rows than are summed together.
SIZES = [(2, 1), (3, 2), (70, 16), (5, 17), (1027, 2)]
DOCUMENTS = [1, 15, 16, 17, 300]
CHARTS = ["root", "flat"]


def wide(matrix):
    """Return columns padded with zeros to a multiple of 16, in double."""
    matrix = np.asarray(matrix, np.float64)
    out = core.zeros(len(matrix), padded_width(matrix.shape[1]), "float64")
    out[:, : matrix.shape[1]] = matrix
    return out


def points(v, k, seed=0):
    """Return unit vectors (V, K), and velocities tangent to them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(v, k)) + 0.3
    x /= np.linalg.norm(x, axis=0)
    return x, oracle.tangent(x, rng.normal(size=(v, k)))


def squares(v):
    return (wide(v) ** 2).sum(axis=0)


def documents(n, v, seed=0):
    """Return sparse unit vectors (n, V), every seventh one 0, also as compressed rows."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, v)) * (rng.random((n, v)) < max(0.1, 3 / v))
    dense[3::7] = 0.0
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    dense = np.divide(dense, norms, out=np.zeros_like(dense), where=norms > 0)
    present = dense != 0
    indptr = np.concatenate(([0], np.cumsum(present.sum(axis=1))))
    rows = Directions(indptr, np.nonzero(present)[1].astype(np.int32), dense[present])
    return dense, rows


def walking(n, k, chart="root", v=40, **changes):
    """Return arguments of `core.sphere_proportions`; every seventh document is empty."""
    x, _ = points(v, k)
    _, of = documents(n, v)
    theta = np.random.default_rng(8).dirichlet(np.full(k, 3.0), n)
    return {
        "gram": core.sphere_moments(x=wide(x), topics=k, centre=None, **TEAM)[0],
        "along": core.sphere_along(x=wide(x), topics=k, threads=1, **of._asdict()),
        "topics": k,
        "kappa": 12.0,
        "alpha": 1.3,
        "length": 0.08 if chart == "root" else 0.04,
        "trajectories": 4,
        "kept": 3,
        "leaps": 5,
        "chart": chart,
        "doc_ids": np.arange(n) + 2**33,
        "theta": wide(theta),
        "purpose": core.Purpose.test,
        **KEY,
        **TEAM,
    } | changes


def walked(call, **changes):
    """Return all results of a call that leaves its start unchanged."""
    call = call | changes
    call["theta"] = call["theta"].copy()
    return (*core.sphere_proportions(**call), call["theta"])


def bytes_of(arrays):
    return [a.tobytes() for a in arrays]
