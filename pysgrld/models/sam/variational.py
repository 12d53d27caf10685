"""Variational Bayes for documents of a spherical admixture, and the potential energy of topics.

Reisinger, Waters, Silverthorn and Mooney (2010): topics are q(beta_k) = vMF(bt_k, sigma), their mean
q(mu) = vMF(mt, kappa0), and proportions q(theta_d) = Dir(at_d). With a = A(sigma) and a0 = A(kappa0),
ratios of Bessel functions, a bt_k is the mean of a topic. The objective at the best mt, R / ||R||, is

    J = a0 ||R|| + sum_d J_d,    R = kappa0 m + a sigma sum_k bt_k.

With s = sum_k at_dk, the term of a document is

    J_d = kappa rho_d + E_q ln Dir(theta_d | alpha) - E_q ln q(theta_d),
    rho_d = a at_d^T bt^T v_d / (s sqrt(E_d)),
    E_d = (s + (1 - a^2) sum_k at_dk^2 + a^2 at_d^T bt^T bt at_d) / (s (s + 1)).

E_d is exactly E ||beta theta_d||^2, but rho_d only approximates the expected cosine, so J is no bound. In
an iteration, Newton steps in ln at_d increase J_d, damped by the Fisher information of q (`fit`); then
the topics move by the gradient of -J, with documents scaled to the corpus (`VariationalPotential`).

In all functions up to `fit`, documents are the last axis of arrays, and results of a document do not
depend on the other documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core, padded_width
from pysgrld.core.arithmetic import exp, log
from pysgrld.core.draws import Draw
from pysgrld.core.restore import check_positive, restore_arrays
from pysgrld.models.sam.proportions import Prior, Products, directions, start, topic_products
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.samplers.state import EnergyGradient, Potential
from pysgrld.types import Array, Documents, Doubles, Key, Minibatch

#: Number of documents fitted together.
BLOCK = 256
#: Minimum value of a document's variational parameters.
LEAST = 1e-5
#: A document has converged if the predicted gain of its next step, in nats, is less than this
#: number.
TOLERANCE = 1e-4
#: Maximum change of a parameter's logarithm in one step.
LONGEST = 2.0
#: Initial damping of Newton steps.
DAMPING = 1.0
#: A rejected step increases the damping by this factor.
MORE = 8.0


class Law(NamedTuple):
    """Parameters of the variational objective: kappa, alpha, and the norm of a topic's mean vector.

    Attributes
    ----------
    kappa, alpha : float
    shrink : float
        a, the norm of a topic's mean vector.
    """

    kappa: float
    alpha: float
    shrink: float


class GammaFunctions(NamedTuple):
    """Values of the log gamma function and of its first three derivatives."""

    log: Doubles
    psi: Doubles
    psi1: Doubles
    psi2: Doubles


def gamma_functions(x: Doubles) -> GammaFunctions:
    """Compute ln Gamma and its derivatives for positive x, by Stirling's series at x + 8.

    Parameters
    ----------
    x : array of float64
        Positive numbers, of any shape.

    Returns
    -------
    GammaFunctions
        Arrays of the shape of `x`.
    """
    product, first = np.ones_like(x), np.zeros_like(x)
    second, third = np.zeros_like(x), np.zeros_like(x)
    for i in range(8):
        inverse = 1.0 / (x + i)
        product = product * (x + i)
        first += inverse
        second += inverse**2
        third += inverse**3
    y = x + 8.0
    r = 1.0 / y
    q = r * r
    logs = (y - 0.5) * log(y) - y + 0.5 * math.log(2.0 * math.pi)
    logs += r * (1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q * (1 / 1188)))))
    psi = log(y) - 0.5 * r
    psi -= q * (1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132)))))
    psi1 = r + 0.5 * q
    psi1 += r * q * (1 / 6 - q * (1 / 30 - q * (1 / 42 - q * (1 / 30 - q * (5 / 66)))))
    psi2 = -q - r * q
    psi2 -= q * q * (1 / 2 - q * (1 / 6 - q * (1 / 6 - q * (3 / 10 - q * (5 / 6)))))
    return GammaFunctions(logs - log(product), psi - first, psi1 + second, psi2 - 2.0 * third)


class Cosines(NamedTuple):
    """Expected cosine rho of each document with its topic mixture, and terms of its formula.

    Attributes
    ----------
    rho, length, square : (n,)
        rho_d, s and E_d.
    mixed : (K, n)
        bt^T bt at_d.
    """

    rho: Doubles
    length: Doubles
    square: Doubles
    mixed: Doubles


def expected_cosines(shapes: Doubles, gram: Doubles, along: Doubles, law: Law) -> Cosines:
    """Compute the expected cosine rho of each document with its mixture of topics.

    Parameters
    ----------
    shapes : (K, n)
    gram : (K, K)
        bt^T bt.
    along : (K, n)
        bt^T v_d.
    law : Law
    """
    a2 = law.shrink**2
    mixed = np.zeros_like(shapes)
    for j in range(len(shapes)):
        mixed += gram[:, j, None] * shapes[j]
    s = shapes.sum(axis=0)
    spread = s + (1.0 - a2) * (shapes * shapes).sum(axis=0) + a2 * (shapes * mixed).sum(axis=0)
    square = np.maximum(spread, 1e-24) / (s * (s + 1.0))
    rho = law.shrink * (shapes * along).sum(axis=0) / (s * np.sqrt(square))
    return Cosines(rho, s, square, mixed)


def objective(shapes: Doubles, gram: Doubles, along: Doubles, law: Law) -> Doubles:
    """Compute the objective J_d of each document up to a constant, (n,).

    Arguments are as in `expected_cosines`.
    """
    return _value(shapes, expected_cosines(shapes, gram, along, law), gamma_functions(shapes), law)


def _value(shapes: Doubles, cosines: Cosines, gammas: GammaFunctions, law: Law) -> Doubles:
    whole = gamma_functions(cosines.length)
    objective_value: Doubles = (
        law.kappa * cosines.rho
        + ((law.alpha - shapes) * (gammas.psi - whole.psi) + gammas.log).sum(axis=0)
        - whole.log
    )
    return objective_value


class Expansion(NamedTuple):
    """Second-order expansion of each document's objective in the logs of its parameters.

    Attributes
    ----------
    value : (n,)
    gradient : (K, n)
    curvature, metric : (K, K, n)
        Minus the second derivatives, and the Fisher information of q.
    """

    value: Doubles
    gradient: Doubles
    curvature: Doubles
    metric: Doubles


def expand(shapes: Doubles, gram: Doubles, along: Doubles, law: Law) -> Expansion:
    """Compute the objective J_d of each document with its first and second derivatives.

    Arguments are as in `expected_cosines`.
    """
    k = len(shapes)
    cosines, gammas = expected_cosines(shapes, gram, along, law), gamma_functions(shapes)
    s, a2, rho = cosines.length, law.shrink**2, cosines.rho
    whole, rest = gamma_functions(s), k * law.alpha - s
    spread = cosines.square * s * (s + 1.0)
    # `sides`: derivatives of log(`spread`) with respect to the Dirichlet parameters `shapes`.
    sides = (1.0 + 2.0 * (1.0 - a2) * shapes + 2.0 * a2 * cosines.mixed) / spread
    # `pull`: derivatives of log h with respect to `shapes`, where h = 1 / (s
    # sqrt(`cosines.square`)) is a factor of `rho`.
    pull = 0.5 * (1.0 / (s + 1.0) - 1.0 / s - sides)
    straight = law.shrink * along / (s * np.sqrt(cosines.square))
    first = law.kappa * (straight + rho * pull)
    first += (law.alpha - shapes) * gammas.psi1 - rest * whole.psi1
    second = straight[:, None] * pull + pull[:, None] * straight
    second += rho * (pull[:, None] * pull + 0.5 * sides[:, None] * sides)
    second += rho * 0.5 * (1.0 / (s * s) - 1.0 / (s + 1.0) ** 2)
    second -= rho / spread * a2 * gram[:, :, None]
    second *= law.kappa
    second += whole.psi1 - rest * whole.psi2
    diagonal = np.arange(k)
    second[diagonal, diagonal] -= law.kappa * (1.0 - a2) * rho / spread
    second[diagonal, diagonal] += (law.alpha - shapes) * gammas.psi2 - gammas.psi1
    gradient = shapes * first
    outer = shapes[:, None] * shapes
    curvature, metric = -outer * second, -outer * whole.psi1
    curvature[diagonal, diagonal] -= gradient
    metric[diagonal, diagonal] += shapes * shapes * gammas.psi1
    return Expansion(_value(shapes, cosines, gammas, law), gradient, curvature, metric)


def solve(matrix: Doubles, right: Doubles) -> tuple[Doubles, Doubles]:
    """Solve n symmetric systems of K linear equations by elimination.

    The elimination overwrites the arguments, which have shapes (K, K, n) and (K, n).

    Return the solutions, and the minimum pivot of each system, which is above 0 if its matrix is
    positive definite.
    """
    k = len(right)
    least = np.full(right.shape[1], np.inf)
    for i in range(k):
        least = np.minimum(least, matrix[i, i])
        # The solution is unusable if the matrix is not positive definite.
        matrix[i, i, matrix[i, i] <= 0.0] = np.inf
        share = matrix[i + 1 :, i] / matrix[i, i]
        matrix[i + 1 :, i + 1 :] -= share[:, None] * matrix[i, i + 1 :]
        right[i + 1 :] -= share * right[i]
    for i in reversed(range(k)):
        right[i] -= (matrix[i, i + 1 :] * right[i + 1 :]).sum(axis=0)
        right[i] /= matrix[i, i]
    return right, least


def fit(shapes: Doubles, gram: Doubles, along: Doubles, law: Law, passes: int) -> None:
    """Increase each document's objective J_d by optimising the document's parameters in place.

    No step decreases J_d.

    Parameters
    ----------
    shapes : (n, K)
        Parameters of documents, at least `LEAST`.
    gram : (K, K)
    along : (n, K)
    law : Law
    passes : int
        Maximum number of steps of a document, which has fewer steps if it converges.
    """
    diagonal = np.arange(len(gram))
    for begin in range(0, len(shapes), BLOCK):
        mine = slice(begin, begin + BLOCK)
        block, toward = shapes[mine].T.copy(), along[mine].T.copy()
        damping = np.full(block.shape[1], DAMPING)
        going = np.arange(block.shape[1])
        for _ in range(passes):
            now = block[:, going]
            expansion = expand(now, gram, toward[:, going], law)
            # A parameter at its minimum stays there while the gradient is negative.
            held = (now <= LEAST) & (expansion.gradient < 0.0)
            gradient = np.where(held, 0.0, expansion.gradient)
            matrix = expansion.curvature + damping[going] * expansion.metric
            matrix[held[:, None] | held] = 0.0
            matrix[diagonal, diagonal] = np.where(held, 1.0, matrix[diagonal, diagonal])
            step, pivot = solve(matrix, gradient.copy())
            share = LONGEST / np.maximum(np.abs(step).max(axis=0), LONGEST)
            proposal = np.maximum(now * exp(share * step), LEAST)
            rises = objective(proposal, gram, toward[:, going], law) >= expansion.value
            better = (pivot > 0.0) & rises
            block[:, going[better]] = proposal[:, better]
            promise = 0.5 * (1.0 + damping[going]) * (gradient * step).sum(axis=0)
            damping[going] *= np.where(better, 1.0 / MORE, MORE)
            going = going[(pivot <= 0.0) | (promise >= TOLERANCE)]
            if not len(going):
                break
        shapes[mine] = block.T


def objective_parameters(options: SphericalOptions, words: int) -> Law:
    """Return the constants of the variational objective, which depend on the vocabulary size.

    Parameters
    ----------
    options : SphericalOptions
        Resolved options.
    words : int
        Vocabulary size V.

    Returns
    -------
    Law
        Constants alpha, kappa and a = A_V(sigma) (Reisinger et al. 2010).
    """
    return Law(options.kappa, options.alpha, core.bessel_ratio(words, options.sigma))


def initial_parameters(products: Products, law: Law, topics: int) -> Doubles:
    """Return initial parameters for `fit`, (n, K), from least-squares proportions."""
    sharp = topics * law.alpha + math.sqrt(topics * law.kappa)
    shapes: Doubles = sharp * start(products, topics)[:, :topics]
    return shapes


def expected_proportions(options: SphericalOptions, words: int, products: Products) -> Doubles:
    """Fit documents, and return their mean proportions, (n, K); rows sum to 1."""
    k, law = options.topics, objective_parameters(options, words)
    shapes = initial_parameters(products, law, k)
    fit(shapes, products.gram[:k, :k], products.along[:, :k], law, options.sweeps)
    theta: Doubles = shapes / shapes.sum(axis=1, keepdims=True)
    return theta


class VariationalDocuments(DocumentSampler):
    """Variational fit of documents as unit vectors, with a Dirichlet posterior of proportions.

    Parameters
    ----------
    options : SphericalOptions
    idf, centre : (V,) float64
        Weights of words, and the mean direction of the training documents.
    threads : int

    Attributes
    ----------
    gained : (1,) float64
        J per document, up to a constant, in the last iteration.
    kept : (n, K) float64 or None
        Parameters from which documents of the whole corpus continue, 0 before the first iteration,
        or None if documents start afresh in each iteration.
    """

    def __init__(
        self, options: SphericalOptions, idf: Doubles, centre: Doubles, threads: int
    ) -> None:
        self.idf, self.centre, self.threads = idf, centre, threads
        self.parameters, self.passes = objective_parameters(options, len(idf)), options.sweeps
        pull = self.parameters.shrink * options.sigma
        self.prior = Prior(centre, options.kappa0, pull, options.topics)
        self.toward = core.bessel_ratio(len(idf), options.kappa0)
        self.gained = np.zeros(1)
        self.work = core.Workspace()
        self.kept: Doubles | None = None

    def keep(self, documents: Documents) -> None:
        """Allocate the variational parameters of the given documents, initially 0."""
        self.kept = np.zeros((len(documents), self.prior.topics))

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Potential]:
        """Return the topics' potential energy, given a minibatch's documents.

        It fits documents when it is evaluated.
        """
        # The arguments are unused. Nothing is random, and documents are fitted later, whenever the
        # energy is evaluated.
        del key, draw, comm
        return {"phi": VariationalPotential(self, batch)}

    def metrics(self) -> dict[str, float]:
        """Return the objective J per document, as a metric."""
        return {"objective": float(self.gained[0])}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name."""
        state: dict[str, Array] = {"gained": self.gained, "idf": self.idf, "centre": self.centre}
        return state if self.kept is None else state | {"at": self.kept}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state from the arrays of a checkpoint.

        Raises
        ------
        CheckpointError
            If an array is missing.
        """
        restore_arrays(self.arrays(), arrays)
        if self.kept is not None and self.kept.any():
            check_positive("at", self.kept)


class VariationalPotential:
    """The topics' potential energy -J, scaled from a minibatch to the corpus, and its gradient.

    A `Potential`.

    Parameters
    ----------
    documents : VariationalDocuments
    batch : Minibatch
    """

    def __init__(self, documents: VariationalDocuments, batch: Minibatch) -> None:
        self.documents, self.scale = documents, batch.scale
        texts = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.directions = directions(texts, documents.idf)
        self.fitted: Doubles = np.zeros((0, 0))

    def sample_and_evaluate(
        self, key: Key, part: int, x: Doubles, *, noise: bool = False
    ) -> EnergyGradient:
        """Fit documents given topics x, and return energy and gradient at x.

        ``x`` is (V, Kp).
        """
        del key, part, noise  # Nothing is random.
        mine, k = self.documents, self.documents.prior.topics
        products, resultant = topic_products(
            x, self.directions, mine.prior, mine.work, mine.threads
        )
        shapes = mine.kept
        if shapes is None or shapes[0, 0] == 0.0:
            shapes = initial_parameters(products, mine.parameters, k)
            if mine.kept is not None:
                mine.kept[:] = shapes
                shapes = mine.kept
        fit(shapes, products.gram[:k, :k], products.along[:, :k], mine.parameters, mine.passes)
        self.fitted = shapes
        return self._energy_gradient(x, products, resultant)

    def evaluate(self, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Return energy and gradient at topics x, given the last fit of documents."""
        del noise
        mine = self.documents
        products = topic_products(x, self.directions, mine.prior, mine.work, mine.threads)
        return self._energy_gradient(x, *products)

    def _energy_gradient(self, x: Doubles, products: Products, resultant: float) -> EnergyGradient:
        mine = self.documents
        k, law, shapes = mine.prior.topics, mine.parameters, self.fitted.T.copy()
        gram, along = products.gram[:k, :k], products.along[:, :k].T.copy()
        cosines = expected_cosines(shapes, gram, along, law)
        proportions, outer = (
            np.zeros((shapes.shape[1], padded_width(k))),
            np.zeros((padded_width(k), padded_width(k))),
        )
        proportions[:, :k] = (law.shrink * shapes / (cosines.length * np.sqrt(cosines.square))).T
        shares = shapes * (
            law.shrink**2 * cosines.rho / (cosines.square * cosines.length * (cosines.length + 1.0))
        )
        for j in range(k):
            outer[j, :k] = (shares * shapes[j]).sum(axis=1)
        gradient = core.sphere_gradient(
            x=x,
            topics=k,
            centre=mine.centre,
            pull=mine.toward * mine.prior.sigma / resultant,
            of_centre=mine.prior.kappa0,
            of_sum=mine.prior.sigma,
            weight=law.kappa * self.scale,
            **self.directions._asdict(),
            proportions=proportions,
            outer=outer,
            work=mine.work,
            threads=mine.threads,
        )
        gained = math.fsum(objective(shapes, gram, along, law).tolist())
        mine.gained[0] = gained / shapes.shape[1] + mine.toward * resultant / (
            self.scale * shapes.shape[1]
        )
        return EnergyGradient(-mine.toward * resultant - self.scale * gained, gradient)
