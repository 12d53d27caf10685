"""The potential of topics, -ln p(topics | documents), and its gradient.

Liu, Zhu and Song (2016), eq. (9) and (10), with the factors that the paper leaves out: the derivative
of the normalisation of vbar, and that of ln c_V, which is a ratio of Bessel functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pysgrld.core import core
from pysgrld.models.sam.directions import Directions
from pysgrld.models.sam.proportions import Products
from pysgrld.samplers.state import EnergyGradient
from pysgrld.types import Doubles, Floats


class Prior(NamedTuple):
    """The prior of topics: mu ~ vMF(m, kappa0), beta_k ~ vMF(mu, sigma), mu integrated out.

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


def products_of(
    x: Doubles, of: Directions, prior: Prior, work: core.Workspace, threads: int
) -> tuple[Products, float]:
    """Give the inner products of topics and documents, and ||kappa0 m + sigma sum_k beta_k||."""
    k = prior.topics
    gram, toward = core.sphere_moments(
        x=x, topics=k, centre=prior.centre, work=work, threads=threads
    )
    along = core.sphere_along(
        x=x, topics=k, indptr=of.indptr, indices=of.indices, values=of.values, threads=threads
    )
    square = (
        prior.kappa0**2
        + 2.0 * prior.kappa0 * prior.sigma * math.fsum(toward[:k].tolist())
        + prior.sigma**2 * math.fsum(gram[:k, :k].ravel().tolist())
    )
    return Products(gram, along), math.sqrt(max(square, 1e-300))


class Data(NamedTuple):
    """Documents whose proportions were sampled.

    Attributes
    ----------
    of : Directions
    samples : (n, N, Kp) float32
        Proportions of each document.
    kappa : float
    scale : float
        D/B.
    """

    of: Directions
    samples: Floats
    kappa: float
    scale: float

    @property
    def weight(self) -> float:
        """Weight of a sample of a document."""
        kept: int = self.samples.shape[1]
        return self.kappa * self.scale / kept

    def part(self, begin: int, end: int) -> Data:
        """Give some documents in a row."""
        first, last = self.of.indptr[[begin, end]]
        of = Directions(
            self.of.indptr[begin : end + 1] - first,
            self.of.indices[first:last],
            self.of.values[first:last],
        )
        return self._replace(of=of, samples=self.samples[begin:end])


class Asked(NamedTuple):
    """The points where a potential is asked, what is known there, and how to compute.

    Attributes
    ----------
    x : (V, Kp) float64
    prior : Prior
    products : Products
    resultant : float
        ||kappa0 m + sigma sum_k beta_k||.
    work : Workspace
    threads : int
    """

    x: Doubles
    prior: Prior
    products: Products
    resultant: float
    work: core.Workspace
    threads: int

    @property
    def pull(self) -> float:
        """The factor sigma A_V(||mbar||) / ||mbar|| of the prior's gradient."""
        ratio: float = core.bessel_ratio(len(self.x), self.resultant)
        return self.prior.sigma * ratio / self.resultant


def slope_of(asked: Asked, data: Data) -> EnergyGradient:
    """Give the energy and its Euclidean gradient, averaged over samples of the proportions."""
    gradient, cosines = _gradient(asked, data, asked.products.along, asked.pull)
    energy = core.log_normaliser(len(asked.x), asked.resultant) - data.weight * cosines
    return EnergyGradient(energy, gradient)


def noisy_slope_of(asked: Asked, data: Data) -> EnergyGradient:
    """Give the slope with an estimate of the gradient's noise, by two halves of the minibatch.

    The variance of a coordinate, the same for all of a topic: the trace of the covariance of the sum over
    n documents of the minibatch, drawn without replacement, over the V - 1 dimensions of the sphere.
    """
    n, prior = len(data.samples), asked.prior
    half = n // 2
    if half == 0 or data.scale <= 1.0:
        return slope_of(asked, data)
    along = asked.products.along
    first, toward = _gradient(asked, data.part(0, half), along[:half], 0.0)
    other, further = _gradient(asked, data.part(half, n), along[half:], 0.0)
    squares = core.sphere_halves(
        x=asked.x,
        topics=prior.topics,
        first=first,
        other=other,
        centre=prior.centre,
        pull=asked.pull,
        of_centre=prior.kappa0,
        of_sum=prior.sigma,
        of_first=1.0 / half,
        of_other=1.0 / (n - half),
        work=asked.work,
        threads=asked.threads,
    )
    trace = squares / (1.0 / half + 1.0 / (n - half))  # of a document
    noise = trace * n * (1.0 - 1.0 / data.scale) / max(1, len(asked.x) - 1)
    energy = core.log_normaliser(len(asked.x), asked.resultant)
    return EnergyGradient(energy - data.weight * (toward + further), first, noise)


def _gradient(asked: Asked, data: Data, along: Doubles, pull: float) -> tuple[Doubles, float]:
    """Give the gradient of documents, and of the prior times its factor, and the sum of cosines."""
    k = asked.prior.topics
    proportions, outer, cosines = core.sphere_evidence(
        gram=asked.products.gram,
        along=along,
        topics=k,
        samples=data.samples,
        work=asked.work,
        threads=asked.threads,
    )
    gradient = core.sphere_gradient(
        x=asked.x,
        topics=k,
        centre=asked.prior.centre,
        pull=pull,
        of_centre=asked.prior.kappa0,
        of_sum=asked.prior.sigma,
        weight=data.weight,
        indptr=data.of.indptr,
        indices=data.of.indices,
        values=data.of.values,
        proportions=proportions,
        outer=outer,
        work=asked.work,
        threads=asked.threads,
    )
    return gradient, math.fsum(cosines.tolist())
