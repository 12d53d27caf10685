"""Proportions of documents given topics, by Hamiltonian trajectories.

Kernel: cpp/kernels/sphere_documents.cpp.

On the sphere of square roots (`root`) the density of x, theta_k = x_k^2, is that of theta times
prod_k |x_k|, even in every coordinate: no reflection is needed. On the simplex itself (`flat`), as the
paper's code has it, lines are reflected at the faces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.types import Doubles, Floats, Int64s, Key


class Products(NamedTuple):
    """Inner products of topics with each other, and with documents: all that proportions depend on.

    Attributes
    ----------
    gram : (Kp, Kp) float64
    along : (n, Kp) float64
    """

    gram: Doubles
    along: Doubles


class Walk(NamedTuple):
    """The law that proportions are drawn from, and how.

    Attributes
    ----------
    topics : int
    kappa, alpha : float
    chart : str
        "root" or "flat".
    trajectories, kept, leaps : int
        Trajectories at a visit, how many of their ends are kept, and steps of each.
    """

    topics: int
    kappa: float
    alpha: float
    chart: str
    trajectories: int
    kept: int
    leaps: int = 10


class Walked(NamedTuple):
    """Proportions that were drawn.

    Attributes
    ----------
    samples : (n, kept, Kp) float32
    acceptance : float
        Share of the trajectories that was accepted.
    jump : float
        Mean squared distance of theta that a trajectory went.
    """

    samples: Floats
    acceptance: float
    jump: float


def start(products: Products, topics: int) -> Doubles:
    """Fit proportions by least squares, G^-1 b, floored at 0.1/K and normalised, (n, Kp).

    Liu, Zhu and Song (2016) start there. Solved by elimination, a document whatever the others are.
    """
    n, stride = products.along.shape
    gram = products.gram[:topics, :topics].copy()
    gram[np.diag_indices(topics)] += 1e-9 * max(1e-30, float(np.trace(gram)) / topics)
    right = products.along[:, :topics].T.copy()
    for k in range(topics):  # symmetric and positive: pivots need no search
        pivot = gram[k] / gram[k, k]
        row = right[k] / gram[k, k]
        factor = gram[:, k].copy()
        factor[k] = 0.0
        gram -= factor[:, None] * pivot
        right -= factor[:, None] * row
        gram[k], right[k] = pivot, row
    # document by document: how a sum is taken depends on how an array lies
    found = np.ascontiguousarray(np.maximum(right, 0.1 / topics).T)
    theta = np.zeros((n, stride))
    theta[:, :topics] = found / found.sum(axis=1, keepdims=True)
    return theta


def walk(
    key: Key,
    products: Products,
    law: Walk,
    length: float,
    doc_ids: Int64s,
    theta: Doubles,
    purpose: core.Purpose,
    work: core.Workspace,
    threads: int,
) -> Walked:
    """Draw proportions of documents, which start at ``theta`` and leave it where they end.

    Parameters
    ----------
    key : Key
    products : Products
    law : Walk
    length : float
        Size of a step.
    doc_ids : (n,) int64
        Key the documents' randomness.
    theta : (n, Kp) float64
        Changed in place; rows sum to 1.
    purpose : Purpose
    work : Workspace
    threads : int
    """
    samples, accepted, jumped = core.sphere_proportions(
        gram=products.gram,
        along=products.along,
        topics=law.topics,
        kappa=law.kappa,
        alpha=law.alpha,
        length=length,
        trajectories=law.trajectories,
        kept=law.kept,
        leaps=law.leaps,
        chart=law.chart,
        doc_ids=doc_ids,
        theta=theta,
        purpose=purpose,
        work=work,
        threads=threads,
        **key.address(),
    )
    every = max(1, len(doc_ids) * law.trajectories)
    return Walked(samples, float(accepted.sum()) / every, float(jumped.sum()) / every)
