"""Documents as unit vectors, and sampling of their proportions by Hamiltonian trajectories.

Kernels: cpp/kernels/sphere_documents.cpp and its neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pysgrld.core import core
from pysgrld.core.draws import Draw
from pysgrld.types import Documents, Doubles, Floats, Int32s, Int64s, Key

# ---- documents as unit vectors


class Directions(NamedTuple):
    """Documents as unit vectors in compressed sparse rows.

    A document without weighted words is a vector of zeros.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nnz,) int32
    values : (nnz,) float64
    """

    indptr: Int64s
    indices: Int32s
    values: Doubles

    @property
    def weightless(self) -> np.ndarray:
        """Mask of the documents in which no word has a weight above 0, (n,) bool."""
        n = len(self.indptr) - 1
        holders = np.repeat(np.arange(n), np.diff(self.indptr))
        is_weightless: np.ndarray = np.bincount(holders, self.values != 0.0, n) == 0
        return is_weightless


def directions(documents: Documents, idf: Doubles) -> Directions:
    """Multiply word counts n_dw by weights idf_w, and scale each document to norm 1.

    Parameters
    ----------
    documents : Documents
    idf : (V,) float64
        Weights of words, all 1 for ``tf``.
    """
    weights = documents.counts * idf[documents.indices]
    norms = np.sqrt(documents.sum_by_document(weights * weights))
    with np.errstate(divide="ignore"):
        scale = np.where(norms > 0.0, 1.0 / norms, 0.0)
    values = weights * np.repeat(scale, np.diff(documents.indptr))
    return Directions(documents.indptr, documents.indices, values)


# ---- inner products, which determine the distribution of proportions


class Products(NamedTuple):
    """Inner products of topics with each other, and of topics with documents.

    Attributes
    ----------
    gram : (Kp, Kp) float64
    along : (n, Kp) float64
    """

    gram: Doubles
    along: Doubles


class Prior(NamedTuple):
    """Prior of topics: von Mises-Fisher distributions around a mean mu, which is integrated out.

    mu ~ vMF(m, kappa0), beta_k ~ vMF(mu, sigma).

    Attributes
    ----------
    centre : (V,) float64
        m, a unit vector.
    kappa0, sigma : float
    topics : int
    """

    centre: Doubles
    kappa0: float
    sigma: float
    topics: int


def topic_products(
    x: Doubles, vectors: Directions, prior: Prior, work: core.Workspace, threads: int
) -> tuple[Products, float]:
    """Return inner products of topics and documents, and the norm of the topics' weighted sum.

    The weighted sum is kappa0 m + sigma sum_k beta_k (see `Prior`).

    Parameters
    ----------
    x : (V, Kp) float64
        The topics.
    vectors : Directions
        The documents.
    prior : Prior
    work : Workspace
    threads : int
    """
    k = prior.topics
    gram, toward = core.sphere_moments(
        x=x, topics=k, centre=prior.centre, work=work, threads=threads
    )
    along = core.sphere_along(x=x, topics=k, **vectors._asdict(), threads=threads)
    square = (
        prior.kappa0**2
        + 2.0 * prior.kappa0 * prior.sigma * math.fsum(toward[:k].tolist())
        + prior.sigma**2 * math.fsum(gram[:k, :k].ravel().tolist())
    )
    return Products(gram, along), math.sqrt(max(square, 1e-300))


def draw_products(
    draw: Draw, vectors: Directions, topics: int, work: core.Workspace, threads: int
) -> Products:
    """Return inner products of a draw's topics with each other, and with documents."""
    v, kp = draw["phi"].shape
    x = core.zeros(v, kp, "float64")
    x[:] = draw["phi"]
    gram, _ = core.sphere_moments(x=x, topics=topics, centre=None, work=work, threads=threads)
    along = core.sphere_along(x=x, topics=topics, **vectors._asdict(), threads=threads)
    return Products(gram, along)


# ---- proportions given topics


def start(products: Products, topics: int) -> Doubles:
    """Return initial proportions, (n, Kp), from a least-squares fit of documents by topics.

    The solutions G^-1 b are raised to at least 0.1/K and normalised.

    Liu, Zhu and Song (2016) start from the same proportions. Each document is solved separately, by
    elimination.

    Parameters
    ----------
    products : Products
        Inner products of topics and documents: G (K, K) and b.
    topics : int
        Number of topics K.

    Returns
    -------
    array of float64, (n, Kp)
        Rows that sum to 1; columns beyond K are 0.
    """
    n, stride = products.along.shape
    gram = products.gram[:topics, :topics].copy()
    gram[np.diag_indices(topics)] += 1e-9 * max(1e-30, float(np.trace(gram)) / topics)
    right = products.along[:, :topics].T.copy()
    # The matrix is symmetric and positive definite, so pivoting is not needed.
    for k in range(topics):
        pivot = gram[k] / gram[k, k]
        row = right[k] / gram[k, k]
        factor = gram[:, k].copy()
        factor[k] = 0.0
        gram -= factor[:, None] * pivot
        right -= factor[:, None] * row
        gram[k], right[k] = pivot, row
    # Copy the array to a fixed memory layout, because rounding errors of the following sums depend
    # on the layout.
    proportions = np.ascontiguousarray(np.maximum(right, 0.1 / topics).T)
    theta = np.zeros((n, stride))
    theta[:, :topics] = proportions / proportions.sum(axis=1, keepdims=True)
    return theta


class Walk(NamedTuple):
    """Model of the topic proportions of documents, and the settings of their Hamiltonian sampler.

    Attributes
    ----------
    topics : int
    kappa, alpha : float
    parametrisation : str
        "root": on the sphere of square roots, theta_k = x_k^2. The density of x is that of theta
        times prod_k |x_k|; it is even in every coordinate, so that no reflection is needed. "flat":
        on the simplex itself, along lines that are reflected at the faces, as in the paper's code.
    trajectories, kept, leaps : int
        Number of trajectories in an iteration, number of their ends that are kept, and number of
        steps of a trajectory.
    """

    topics: int
    kappa: float
    alpha: float
    parametrisation: str
    trajectories: int
    kept: int
    leaps: int = 10


class Walked(NamedTuple):
    """Topic proportions drawn by `walk`, with acceptance rate and mean jump of the trajectories.

    Attributes
    ----------
    samples : (n, kept, Kp) float32
    acceptance : float
        Fraction of the trajectories that were accepted.
    jump : float
        Mean squared distance in theta that trajectories moved.
    """

    samples: Floats
    acceptance: float
    jump: float


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
    """Draw the documents' topic proportions by Hamiltonian trajectories that start at ``theta``.

    The last draws are written to ``theta``.

    Parameters
    ----------
    key : Key
    products : Products
    law : Walk
    length : float
        Size of a step.
    doc_ids : (n,) int64
        Ids of the documents, which key their randomness.
    theta : (n, Kp) float64
        Changed in place; rows sum to 1.
    purpose : Purpose
    work : Workspace
    threads : int
    """
    samples, accepted, jumped = core.sphere_proportions(
        **products._asdict(),
        topics=law.topics,
        kappa=law.kappa,
        alpha=law.alpha,
        length=length,
        trajectories=law.trajectories,
        kept=law.kept,
        leaps=law.leaps,
        chart=law.parametrisation,
        doc_ids=doc_ids,
        theta=theta,
        purpose=purpose,
        work=work,
        threads=threads,
        **key._asdict(),
    )
    every = max(1, len(doc_ids) * law.trajectories)
    return Walked(samples, float(accepted.sum()) / every, float(jumped.sum()) / every)
