"""Unit vectors: checks, tangents, great circles, and draws (uniform or von Mises-Fisher).

The last axis of every array is that of the coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pysgrld.core import core
from pysgrld.errors import UsageError
from pysgrld.samplers.targets.common import Noise, check_numbers, check_sizes, log_total
from pysgrld.types import Doubles

#: Numbers of random streams, one for each use of random numbers.
CHAINS, ADDED, UNIFORM, EXACT, COSINES = range(5)


def dot(a: Doubles, b: Doubles) -> Doubles:
    """Return inner products over the last axis, (..., 1).

    Parameters
    ----------
    a, b : (..., d) float64
        Vectors.
    """
    return np.asarray(np.einsum("...d,...d->...", a, b)[..., None])


def unit(vectors: npt.ArrayLike, name: str, axes: Sequence[int]) -> Doubles:
    """Return vectors scaled to length 1.

    Parameters
    ----------
    vectors : (..., d) array_like
        Vectors of any length above 0, d >= 2.
    name : str
        Name of the vectors in messages.
    axes : sequence of int
        Allowed numbers of axes of the array.

    Raises
    ------
    UsageError
        If the vectors are anything else.
    """
    try:
        x = np.asarray(vectors, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is not an array of numbers") from None
    if x.ndim not in axes or not x.size or x.shape[-1] < 2:
        raise UsageError(
            f"{name} has shape {x.shape}, but must contain vectors of two or more coordinates"
        )
    if not np.isfinite(x).all():
        raise UsageError(f"{name} has a coordinate that is not a finite number")
    largest = np.abs(x).max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        raise UsageError(f"{name} has a vector of zeros, which has no direction")
    x = x / largest  # Scale first, so that squares neither overflow nor underflow.
    return np.asarray(x / np.sqrt(dot(x, x)))


def tangent(x: Doubles, g: Doubles) -> Doubles:
    """Project vectors onto the tangent spaces at unit vectors.

    Parameters
    ----------
    x : (..., d) float64
        Unit vectors.
    g : (..., d) float64
        Any vectors.
    """
    return np.asarray(g - x * dot(x, g))


def great_circle(x: Doubles, v: Doubles, time: float) -> tuple[Doubles, Doubles]:
    """Move points along great circles for a time; return the new points and velocities.

    Parameters
    ----------
    x : (..., d) float64
        Unit vectors.
    v : (..., d) float64
        Velocities, tangent at x.
    time : float
        Any time.
    """
    pace = np.sqrt(dot(v, v))
    angle = pace * time
    cosine = np.cos(angle)
    end = x * cosine + v * (time * np.sinc(angle / np.pi))
    end /= np.sqrt(dot(end, end))
    return end, tangent(end, v * cosine - x * (pace * np.sin(angle)))


def uniform(shape: Sequence[int], *, seed: int = 0) -> Doubles:
    """Draw uniformly distributed unit vectors, as initial states of chains.

    Parameters
    ----------
    shape : (chains, d) or (chains, vectors, d)
        Shape of the array; the last number is that of the coordinates, at least 2.
    seed : int
        Seed, at least 0.

    Returns
    -------
    (chains, d) or (chains, vectors, d) float64
        Unit vectors.

    Raises
    ------
    UsageError
        A `ValueError`, if the shape is not of this form.

    Examples
    --------
    >>> from pysgrld import sphere
    >>> sphere.uniform((1000, 3)).shape
    (1000, 3)
    """
    if len(shape) not in (2, 3) or min(shape) < 1 or shape[-1] < 2:
        raise UsageError(
            f"shape is {tuple(shape)}, but must be (chains, coordinates) or (chains, vectors, "
            "coordinates), with two or more coordinates"
        )
    z, _ = Noise(shape[0], int(np.prod(shape[1:])), seed, stream=UNIFORM).draw(0)
    return unit(z.reshape(shape), "uniform", (2, 3))


def mean_resultant_length(d: int, kappa: float) -> float:
    """Return the length of a von Mises-Fisher distribution's mean vector.

    It is A_d(kappa) = I_(d/2)(kappa) / I_(d/2-1)(kappa), a ratio of modified Bessel functions, 0
    for uniform points and 1 if all points are equal. It is exact to 14 digits for any d.

    Parameters
    ----------
    d : int
        Number of coordinates, at least 2: 2 is a circle.
    kappa : float
        Concentration, in (0, 10^9).

    Returns
    -------
    float
        In (0, 1).

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.

    Examples
    --------
    >>> from pysgrld import sphere
    >>> round(sphere.mean_resultant_length(3, 2.0), 4)
    0.5373
    """
    if int(d) != d or d < 2:
        raise UsageError(f"d is {d}: wanted a whole number of at least 2")
    (concentration,) = check_numbers("kappa", kappa, below=1e9)
    return core.bessel_ratio(float(d), float(concentration))


class VonMisesFisher:
    """A von Mises-Fisher distribution on a unit sphere, or a mixture of such distributions.

    The density of a component is c_d(kappa) exp(kappa m'x) with respect to area; in two dimensions it is
    von Mises' on the circle. Density, gradient and draws are for any number of coordinates.

    Parameters
    ----------
    means : (d,) or (components, d) array_like
        Mean directions, of any length above 0.
    kappa : float or (components,) floats
        Concentrations in (0, 10^9): one for all components, or one for each.
    weights : float or (components,) floats
        Weights of the components, in (0, 10^9); they need not sum to 1.

    Attributes
    ----------
    means : (components, d) float64
        Mean directions, unit vectors.
    kappa : (components,) float64
        Concentrations.
    weights : (components,) float64
        Weights, which sum to 1.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.

    References
    ----------
    Mardia and Jupp (2000), Directional statistics. Wood (1994), Simulation of the von Mises Fisher
    distribution.

    Examples
    --------
    >>> from pysgrld import sphere
    >>> target = sphere.VonMisesFisher([[1, 0, 0], [0, 1, 0]], kappa=50, weights=[3, 1])
    >>> float(target.draw(4000)[:, 0].mean().round(1))
    0.7
    """

    def __init__(
        self,
        means: npt.ArrayLike,
        kappa: float | npt.ArrayLike,
        weights: float | npt.ArrayLike = 1.0,
    ) -> None:
        self.means = np.atleast_2d(unit(means, "means", (1, 2)))
        components, d = self.means.shape
        self.kappa = check_numbers("kappa", kappa, components, below=1e9)
        self.weights = check_numbers("weights", weights, components, below=1e9)
        self.weights = self.weights / self.weights.sum()
        self._log_scale = np.log(self.weights)
        self._log_scale += [core.log_normaliser(float(d), float(k)) for k in self.kappa]

    def log_density(self, x: npt.ArrayLike) -> Doubles:
        """Return the log density of directions, relative to the area of the sphere.

        Parameters
        ----------
        x : (..., d) array_like
            Unit vectors.

        Returns
        -------
        (...) float64
            One for each vector.
        """
        return log_total(self._terms(np.asarray(x, np.float64)))

    def energy(self, x: Doubles) -> Doubles:
        """Return minus the log density.

        Parameters
        ----------
        x : (..., d) float64
            Unit vectors.

        Returns
        -------
        (...) float64
            One for each vector.
        """
        return -self.log_density(x)

    def gradient(self, x: Doubles) -> Doubles:
        """Return the Euclidean gradient of the energy, which samplers project onto tangents.

        Parameters
        ----------
        x : (..., d) float64
            Unit vectors.

        Returns
        -------
        (..., d) float64
            A gradient for each vector.
        """
        terms = self._terms(np.asarray(x, np.float64))
        share = np.exp(terms - terms.max(axis=0))
        share /= share.sum(axis=0)
        return -np.asarray(np.einsum("c...,cd->...d", share, self.kappa[:, None] * self.means))

    def draw(self, samples: int, *, seed: int = 0) -> Doubles:
        """Draw independent points from the distribution, by Wood's rejection sampling.

        Parameters
        ----------
        samples : int
            Number of points, at least 1.
        seed : int
            Seed, at least 0; a point does not depend on ``samples``.

        Returns
        -------
        (samples, d) float64
            Unit vectors.

        Raises
        ------
        UsageError
            A `ValueError`, if ``samples`` is out of range.
        """
        check_sizes(samples, 0, 1, 1)
        d = self.means.shape[1]
        z, pick = Noise(samples, d, seed, stream=EXACT).draw(0)
        chosen = np.searchsorted(np.cumsum(self.weights)[:-1], pick, side="right")
        mean, kappa = self.means[chosen], self.kappa[chosen]
        # Draw the cosine of the angle between each point and its component's mean direction by
        # algorithm VM* of Wood (1994).
        b = (d - 1) / (2.0 * kappa + np.sqrt(4.0 * kappa**2 + (d - 1.0) ** 2))
        x0 = (1.0 - b) / (1.0 + b)
        # 1 - x0^2 is computed as 4 b / (1 + b)^2, without cancellation.
        c = kappa * x0 + (d - 1) * np.log(4.0 * b / (1.0 + b) ** 2)
        cosine = np.zeros(samples)
        pending, attempt = np.arange(samples), 0
        while len(pending):
            attempt += 1
            ordinal = (pending.astype(np.int64)[:, None] * 3 + np.arange(3)).ravel()
            entity = np.full(ordinal.size, attempt)
            u = core.uniforms(entity, ordinal, seed, 0, core.Purpose.toy_noise, COSINES)
            u = u.reshape(-1, 3)
            # Draw a symmetric beta variate of shape (d-1)/2 from the cosine of a uniform angle.
            radius = np.sqrt(-np.expm1(np.log(u[:, 0]) * 2.0 / (d - 2))) if d > 2 else 1.0
            beta = 0.5 + 0.5 * radius * np.cos(2.0 * math.pi * u[:, 1])
            bb, k = b[pending], kappa[pending]
            w = (1.0 - (1.0 + bb) * beta) / (1.0 - (1.0 - bb) * beta)
            log_ratio = k * w + (d - 1) * np.log1p(-x0[pending] * w) - c[pending]
            taken = log_ratio >= np.log(u[:, 2])
            cosine[pending[taken]] = w[taken]
            pending = pending[~taken]
        cosine = np.clip(cosine, -1.0, 1.0)[:, None]
        # Combine the cosines with uniform directions orthogonal to the mean directions.
        across = tangent(mean, z)
        return mean * cosine + across * np.sqrt((1.0 - cosine**2) / dot(across, across))

    def _terms(self, x: Doubles) -> Doubles:
        """Return the logs of all components' terms in the density, (components, ...)."""
        along = np.einsum("...d,cd->c...", x, self.kappa[:, None] * self.means)
        return np.asarray(along + self._log_scale.reshape(-1, *(1,) * (x.ndim - 1)))
