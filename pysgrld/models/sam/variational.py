"""Documents of a spherical admixture model by variational Bayes, and the potential that they make.

Reisinger, Waters, Silverthorn and Mooney (2010): topics are q(beta_k) = vMF(bt_k, sigma), their mean
q(mu) = vMF(mt, kappa0), and documents Dirichlet laws (`pysgrld.models.sam.dirichlet`). The objective at
the best mt, which is R / ||R||, is

    J = a0 ||R|| + sum_d J_d,    R = kappa0 m + a sigma sum_k bt_k,

with a = A(sigma) and a0 = A(kappa0), ratios of Bessel functions. It is no bound; -J is the energy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pysgrld.chain.ranks.alone import ALONE
from pysgrld.chain.ranks.protocol import Communicator
from pysgrld.core import core, padded
from pysgrld.core.draws import Draw
from pysgrld.core.restore import check_positive, put_back
from pysgrld.models.sam.directions import directions
from pysgrld.models.sam.dirichlet import Law, expected_cosines, fit, objective
from pysgrld.models.sam.potential import Prior, products_of
from pysgrld.models.sam.proportions import Products, start
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.samplers.state import EnergyGradient, Potential
from pysgrld.types import Array, Documents, Doubles, Key, Minibatch


def law_of(options: SphericalOptions, words: int) -> Law:
    """Give the law of documents over so many words."""
    return Law(options.kappa, options.alpha, core.bessel_ratio(words, options.sigma))


def started(products: Products, law: Law, topics: int) -> Doubles:
    """Give parameters that a fit starts from, (n, K): least squares, about as sharp as they will be."""
    sharp = topics * law.alpha + math.sqrt(topics * law.kappa)
    found: Doubles = sharp * start(products, topics)[:, :topics]
    return found


def expected_proportions(options: SphericalOptions, words: int, products: Products) -> Doubles:
    """Fit the laws of documents, and give the means of their proportions, (n, K); rows sum to 1."""
    k, law = options.topics, law_of(options, words)
    at = started(products, law, k)
    fit(at, products.gram[:k, :k], products.along[:, :k], law, options.sweeps)
    theta: Doubles = at / at.sum(axis=1, keepdims=True)
    return theta


class VariationalDocuments:
    """Documents as directions, each with a Dirichlet law of its proportions that is fitted to topics.

    Parameters
    ----------
    options : SphericalOptions
    idf, centre : (V,) float64
        Weights of words, and the mean direction of the training documents.
    threads : int

    Attributes
    ----------
    gained : (1,) float64
        J for each document, but for a constant, as of the last visit.
    """

    def __init__(
        self, options: SphericalOptions, idf: Doubles, centre: Doubles, threads: int
    ) -> None:
        self.idf, self.centre, self.threads = idf, centre, threads
        self.law, self.passes = law_of(options, len(idf)), options.sweeps
        pull = self.law.shrink * options.sigma
        self.prior = Prior(centre, options.kappa0, pull, options.topics)
        self.toward = core.bessel_ratio(len(idf), options.kappa0)
        self.gained = np.zeros(1)
        self.work = core.Workspace()
        self._at: Doubles | None = None

    def keep(self, documents: Documents) -> None:
        """Keep the parameters of these documents between visits; 0 where there are none yet."""
        self._at = np.zeros((len(documents), self.prior.topics))

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Potential]:
        """Give the potential of the minibatch's documents; they are fitted where it is asked."""
        del key, draw, comm  # nothing is random, and it is asked at points that the topics move to
        return {"phi": VariationalPotential(self, batch)}

    def at(self, products: Products) -> Doubles:
        """Give the parameters that documents go on from: kept ones, else where they start."""
        if self._at is None:
            return started(products, self.law, self.prior.topics)
        if self._at[0, 0] == 0.0:
            self._at[:] = started(products, self.law, self.prior.topics)
        return self._at

    def figures(self) -> dict[str, float]:
        """Give the objective for each document."""
        return {"objective": float(self.gained[0])}

    def arrays(self) -> dict[str, Array]:
        """Give the weights of words, and the parameters of documents where they are kept."""
        own: dict[str, Array] = {"gained": self.gained, "idf": self.idf, "centre": self.centre}
        return own if self._at is None else own | {"at": self._at}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy them out of a checkpoint.

        Raises
        ------
        CheckpointError
            If it lacks them.
        """
        put_back(self.arrays(), arrays)
        if self._at is not None and self._at.any():
            check_positive("at", self._at)


class VariationalPotential:
    """The energy -J of topics, scaled to the corpus, and its gradient.

    Parameters
    ----------
    documents : VariationalDocuments
    batch : Minibatch
    """

    def __init__(self, documents: VariationalDocuments, batch: Minibatch) -> None:
        self.documents, self.scale = documents, batch.scale
        some = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.directions = directions(some, documents.idf)
        self.fitted: Doubles = np.zeros((0, 0))

    def drawn(self, key: Key, part: int, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Fit the documents to x, and return energy and gradient there."""
        del key, part, noise  # nothing is random
        mine = self.documents
        products, resultant = self._products(x)
        k = mine.prior.topics
        self.fitted = mine.at(products)
        fit(self.fitted, products.gram[:k, :k], products.along[:, :k], mine.law, mine.passes)
        return self._slope(x, products, resultant)

    def at(self, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Return energy and gradient at x, the documents as they were fitted last."""
        del noise
        return self._slope(x, *self._products(x))

    def _products(self, x: Doubles) -> tuple[Products, float]:
        mine = self.documents
        return products_of(x, self.directions, mine.prior, mine.work, mine.threads)

    def _slope(self, x: Doubles, products: Products, resultant: float) -> EnergyGradient:
        mine = self.documents
        k, law, at = mine.prior.topics, mine.law, self.fitted.T.copy()
        gram, along = products.gram[:k, :k], products.along[:, :k].T.copy()
        of = expected_cosines(at, gram, along, law)
        proportions, outer = np.zeros((at.shape[1], padded(k))), np.zeros((padded(k), padded(k)))
        proportions[:, :k] = (law.shrink * at / (of.length * np.sqrt(of.square))).T
        shares = at * (law.shrink**2 * of.rho / (of.square * of.length * (of.length + 1.0)))
        for j in range(k):
            outer[j, :k] = (shares * at[j]).sum(axis=1)
        gradient = core.sphere_gradient(
            x=x,
            topics=k,
            centre=mine.centre,
            pull=mine.toward * mine.prior.sigma / resultant,
            of_centre=mine.prior.kappa0,
            of_sum=mine.prior.sigma,
            weight=law.kappa * self.scale,
            indptr=self.directions.indptr,
            indices=self.directions.indices,
            values=self.directions.values,
            proportions=proportions,
            outer=outer,
            work=mine.work,
            threads=mine.threads,
        )
        gained = math.fsum(objective(at, gram, along, law).tolist())
        mine.gained[0] = gained / at.shape[1] + mine.toward * resultant / (self.scale * at.shape[1])
        return EnergyGradient(-mine.toward * resultant - self.scale * gained, gradient)
