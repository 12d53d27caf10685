"""Sampling of documents in the spherical admixture model, and the potential energy of its topics.

    mu ~ vMF(m, kappa0),  beta_k ~ vMF(mu, sigma),  theta_d ~ Dirichlet(alpha),
    v_d ~ vMF(beta theta_d / ||beta theta_d||, kappa)

(Reisinger, Waters, Silverthorn and Mooney 2010; sampled as in Liu, Zhu and Song 2016.) In an
iteration with a minibatch:

1. its documents become unit vectors v_d: counts, weighted and divided by their norm;
2. their proportions theta_d move by Hamiltonian trajectories, the topics beta fixed, from the end
   of the last iteration or from least squares (`pysgrld.models.sam.proportions`);
3. the topics move by the gradient of -ln p(topics | documents), averaged over samples of the
proportions
   (`SphericalPotential`), under a sampler of directions, which evaluates it as it moves.
"""

from __future__ import annotations

import math

import numpy as np

from pysgrld.chain.communicator import ALONE, Communicator
from pysgrld.chain.protocol import DocumentSampler
from pysgrld.core import core, padded_width
from pysgrld.core.draws import Draw
from pysgrld.models.sam.proportions import (
    Prior,
    Products,
    Walk,
    directions,
    start,
    topic_products,
    walk,
)
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.samplers.state import EnergyGradient, Potential
from pysgrld.types import Array, Block, Documents, Doubles, Floats, Key, Minibatch

#: Target acceptance rate of trajectories of proportions.
ACCEPTED = 0.8
#: Rate at which the step size of trajectories of proportions adapts.
RATE = 0.05
#: Initial step size of proportions, in units of their posterior scale 1 / sqrt(kappa).
FIRST_STEP = 0.2


def blocks(options: SphericalOptions, v: int, centre: Doubles) -> tuple[Block, ...]:
    """Return the only block of the model: topics as unit vectors.

    Parameters
    ----------
    options : SphericalOptions
        Resolved options.
    v : int
        Vocabulary size V.
    centre : array of float64, (V,)
        Mean direction of the training documents.

    Returns
    -------
    tuple of Block
        ``phi`` (V, K); each topic is a column of length 1.
    """
    return (
        Block(
            name="phi",
            geometry="sphere",
            shape=(v, options.topics),
            prior=options.sigma,
            stream=0,
            mass=0.0,
            hyper=centre,
            settings=options.settings,
        ),
    )


class SphericalDocuments(DocumentSampler):
    """Sampler of topic proportions, given the topics, for documents that are unit vectors.

    Parameters
    ----------
    options : SphericalOptions
    idf, centre : (V,) float64
        Weights of words, and the mean direction of the training documents.
    threads : int

    Attributes
    ----------
    length : (1,) float64
        Step size of proportions, which is adapted in the burn-in and then constant.
    moved : (2,) float64
        Fraction of trajectories accepted, and squared jump of proportions, in the last iteration.
    kept : (n, Kp) float64 or None
        Proportions from which documents of the whole corpus continue, -1 before the first
        iteration, or None if documents start afresh in each iteration.
    """

    def __init__(
        self, options: SphericalOptions, idf: Doubles, centre: Doubles, threads: int
    ) -> None:
        self.options, self.idf, self.threads = options, idf, threads
        self.prior = Prior(centre, options.kappa0, options.sigma, options.topics)
        self.walk = Walk(
            options.topics,
            options.kappa,
            options.alpha,
            options.theta_parametrisation,
            options.sweeps,
            options.kept_sweeps,
        )
        self.length = np.array([options.theta_step or FIRST_STEP / math.sqrt(options.kappa)])
        self.moved = np.zeros(2)
        self.work = core.Workspace()
        self.kept: Doubles | None = None

    def keep(self, documents: Documents) -> None:
        """Allocate the topic proportions of the given documents, initially -1 (not drawn)."""
        self.kept = np.full((len(documents), padded_width(self.walk.topics)), -1.0)

    def visit(
        self, key: Key, draw: Draw, batch: Minibatch, comm: Communicator = ALONE
    ) -> dict[str, Potential]:
        """Return the topics' potential energy, given a minibatch's documents.

        It samples proportions when it is evaluated.
        """
        # The arguments are unused, because proportions are sampled later, whenever the energy is
        # evaluated.
        del key, draw, comm
        return {"phi": SphericalPotential(self, batch)}

    def metrics(self) -> dict[str, float]:
        """Return the acceptance rate and mean squared jump of proportions in the last iteration."""
        acceptance, jump = self.moved.tolist()
        return {"theta_acceptance": acceptance, "theta_jump": jump}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that the next iteration needs, by name."""
        state: dict[str, Array] = {
            "theta.length": self.length,
            "theta.moved": self.moved,
            "idf": self.idf,
            "centre": self.prior.centre,
        }
        return state if self.kept is None else state | {"theta": self.kept}


class SphericalPotential:
    """The topics' potential energy -ln p(topics | a minibatch's documents), and its gradient.

    A `Potential`. Liu, Zhu and Song (2016), eq. (9) and (10), averaged over samples of the
    proportions, with two factors that the paper omits: the derivative of the normalisation of vbar,
    and the derivative of ln c_V, which is a ratio of Bessel functions.

    Parameters
    ----------
    documents : SphericalDocuments
    batch : Minibatch

    Attributes
    ----------
    directions : Directions
    samples : (n, N, Kp) float32
        Last sample of the proportions of each document.
    """

    def __init__(self, documents: SphericalDocuments, batch: Minibatch) -> None:
        self.documents, self.batch = documents, batch
        texts = Documents(batch.indptr, batch.words[batch.indices], batch.counts)
        self.directions = directions(texts, documents.idf)
        self.samples: Floats = np.zeros((0, 0, 0), np.float32)

    def sample_and_evaluate(
        self, key: Key, part: int, x: Doubles, *, noise: bool = False
    ) -> EnergyGradient:
        """Sample documents' proportions given topics x; return the energy and its gradient at x.

        ``x`` is (V, Kp).
        """
        mine = self.documents
        products, resultant = topic_products(
            x, self.directions, mine.prior, mine.work, mine.threads
        )
        theta = mine.kept
        if theta is None or theta[0, 0] < 0.0:
            theta = start(products, mine.walk.topics)
            if mine.kept is not None:
                mine.kept[:] = theta
                theta = mine.kept
        result = walk(
            key,
            products,
            mine.walk,
            float(mine.length[0]),
            self.batch.doc_ids + (part << 40),
            theta,
            core.Purpose.documents,
            mine.work,
            mine.threads,
        )
        self.samples = result.samples
        mine.moved[:] = result.acceptance, result.jump
        if mine.options.theta_step is None and key.step < mine.options.burn_in:
            mine.length *= math.exp(RATE * (result.acceptance - ACCEPTED))
        return self._energy_gradient(x, products, resultant, noise=noise)

    def evaluate(self, x: Doubles, *, noise: bool = False) -> EnergyGradient:
        """Return the energy and its gradient at topics x, given the last samples of proportions."""
        mine = self.documents
        products = topic_products(x, self.directions, mine.prior, mine.work, mine.threads)
        return self._energy_gradient(x, *products, noise=noise)

    def _energy_gradient(
        self, x: Doubles, products: Products, resultant: float, *, noise: bool
    ) -> EnergyGradient:
        """Return the energy, its Euclidean gradient and, if requested, the gradient's variance.

        The variance of a coordinate, equal for all coordinates of a topic, is estimated from two halves
        of the minibatch. It is the trace of the covariance of the sum over the n documents, drawn without
        replacement, divided by the V - 1 dimensions of the sphere.
        """
        mine, v, n = self.documents, len(x), len(self.samples)
        prior, scale = mine.prior, self.batch.scale
        # Factors of two terms of the gradient. `weight` is the factor for each sample of a
        # document's proportions. `pull` is the factor for the prior, sigma A_V(||mbar||) /
        # ||mbar||.
        weight = mine.options.kappa * scale / self.samples.shape[1]
        pull = prior.sigma * core.bessel_ratio(v, resultant) / resultant
        energy, half = core.log_normaliser(v, resultant), n // 2
        if not noise or half == 0 or scale <= 1.0:
            gradient, cosines = self._gradient(x, products, 0, n, weight, pull)
            return EnergyGradient(energy - weight * cosines, gradient)
        first, toward = self._gradient(x, products, 0, half, weight, 0.0)
        other, further = self._gradient(x, products, half, n, weight, 0.0)
        squares = core.sphere_halves(
            x=x,
            topics=prior.topics,
            first=first,
            other=other,
            centre=prior.centre,
            pull=pull,
            of_centre=prior.kappa0,
            of_sum=prior.sigma,
            of_first=1.0 / half,
            of_other=1.0 / (n - half),
            work=mine.work,
            threads=mine.threads,
        )
        # Trace of the covariance matrix of a single document's gradient.
        trace = squares / (1.0 / half + 1.0 / (n - half))
        variance = trace * n * (1.0 - 1.0 / scale) / max(1, v - 1)
        return EnergyGradient(energy - weight * (toward + further), first, variance)

    def _gradient(
        self, x: Doubles, products: Products, begin: int, end: int, weight: float, pull: float
    ) -> tuple[Doubles, float]:
        """Return the gradient for a chunk of documents, plus ``pull`` times the prior's gradient.

        Also return the sum of the cosines between documents and their
        mixtures of topics.
        """
        mine, vectors = self.documents, self.directions
        prior, (first, last) = mine.prior, vectors.indptr[[begin, end]]
        proportions, outer, cosines = core.sphere_evidence(
            gram=products.gram,
            along=products.along[begin:end],
            topics=prior.topics,
            samples=self.samples[begin:end],
            work=mine.work,
            threads=mine.threads,
        )
        gradient = core.sphere_gradient(
            x=x,
            topics=prior.topics,
            centre=prior.centre,
            pull=pull,
            of_centre=prior.kappa0,
            of_sum=prior.sigma,
            weight=weight,
            indptr=vectors.indptr[begin : end + 1] - first,
            indices=vectors.indices[first:last],
            values=vectors.values[first:last],
            proportions=proportions,
            outer=outer,
            work=mine.work,
            threads=mine.threads,
        )
        return gradient, math.fsum(cosines.tolist())
