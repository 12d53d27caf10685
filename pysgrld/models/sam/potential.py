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
from pysgrld.samplers.protocol import Slope
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


def slope_of(
    x: Doubles,
    of: Directions,
    prior: Prior,
    kappa: float,
    scale: float,
    samples: Floats,
    products: Products,
    resultant: float,
    work: core.Workspace,
    threads: int,
) -> Slope:
    """Give the energy and its Euclidean gradient, averaged over samples of the proportions.

    Parameters
    ----------
    x : (V, Kp)
    of : Directions
    prior : Prior
    kappa : float
    scale : float
        D/B.
    samples : (n, N, Kp) float32
        Proportions.
    products, resultant
        As `products_of` gives them at x.
    work : Workspace
    threads : int
    """
    k, v = prior.topics, len(x)
    proportions, outer, cosines = core.sphere_evidence(
        gram=products.gram,
        along=products.along,
        topics=k,
        samples=samples,
        work=work,
        threads=threads,
    )
    weight = kappa * scale / samples.shape[1]
    energy = core.log_normaliser(v, resultant) - weight * math.fsum(cosines.tolist())
    gradient = core.sphere_gradient(
        x=x,
        topics=k,
        centre=prior.centre,
        pull=prior.sigma * core.bessel_ratio(v, resultant) / resultant,
        of_centre=prior.kappa0,
        of_sum=prior.sigma,
        weight=weight,
        indptr=of.indptr,
        indices=of.indices,
        values=of.values,
        proportions=proportions,
        outer=outer,
        work=work,
        threads=threads,
    )
    return Slope(energy, gradient)
