"""The von Mises-Fisher distribution and mixtures of it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pysgrld.core import core
from pysgrld.errors import UsageError
from pysgrld.samplers.targets.simplex.common import Noise, check_sizes
from pysgrld.samplers.targets.sphere.geometry import COSINES, EXACT, dot, tangent, unit
from pysgrld.types import Doubles


def mean_resultant_length(d: int, kappa: float) -> float:
    """Compute the length of the mean of a von Mises-Fisher distribution.

    It is A_d(kappa) = I_(d/2)(kappa) / I_(d/2-1)(kappa), a ratio of modified Bessel functions, 0 where
    points are uniform and 1 where all are the same; to 14 digits for any d.

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
    (checked,) = _positive(kappa, "kappa", 1)
    return core.bessel_ratio(float(d), float(checked))


class VonMisesFisher:
    """A von Mises-Fisher distribution on the unit sphere, or a mixture of several.

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
        self.kappa = _positive(kappa, "kappa", components)
        self.weights = _positive(weights, "weights", components)
        self.weights = self.weights / self.weights.sum()
        self._log_scale = np.log(self.weights)
        self._log_scale += [core.log_normaliser(float(d), float(k)) for k in self.kappa]

    def log_density(self, x: npt.ArrayLike) -> Doubles:
        """Compute the logarithm of the density with respect to area.

        Parameters
        ----------
        x : (..., d) array_like
            Unit vectors.

        Returns
        -------
        (...) float64
            One for each vector.
        """
        terms = self._terms(np.asarray(x, np.float64))
        top = terms.max(axis=0)
        return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))

    def energy(self, x: Doubles) -> Doubles:
        """Compute minus the logarithm of the density.

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
        """Compute the Euclidean gradient of the energy; the samplers project it.

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
        """Draw independent points: exact, by Wood's rejection.

        Parameters
        ----------
        samples : int
            Number of points, at least 1.
        seed : int
            Seed, at least 0; a point does not depend on how many there are.

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
        z, u = Noise(samples, self.means.shape[1], seed, stream=EXACT).at(0)
        chosen = np.searchsorted(np.cumsum(self.weights)[:-1], u, side="right")
        mean, cosine = self.means[chosen], self._cosines(chosen, seed)[:, None]
        across = tangent(mean, z)
        return mean * cosine + across * np.sqrt((1.0 - cosine**2) / dot(across, across))

    def _cosines(self, chosen: npt.NDArray[np.intp], seed: int) -> Doubles:
        """Draw the cosines of points with the mean directions of their components."""
        d, kappa = self.means.shape[1], self.kappa[chosen]
        b = (d - 1) / (2.0 * kappa + np.sqrt(4.0 * kappa**2 + (d - 1.0) ** 2))
        x0 = (1.0 - b) / (1.0 + b)
        # 1 - x0^2 without its cancellation
        c = kappa * x0 + (d - 1) * np.log(4.0 * b / (1.0 + b) ** 2)
        found = np.zeros(len(chosen))
        left, attempt = np.arange(len(chosen)), 0
        while len(left):
            attempt += 1
            u = _uniforms(left, seed, attempt)
            # a symmetric beta variate of shape (d-1)/2, by the cosine of a uniform angle
            radius = np.sqrt(-np.expm1(np.log(u[:, 0]) * 2.0 / (d - 2))) if d > 2 else 1.0
            beta = 0.5 + 0.5 * radius * np.cos(2.0 * math.pi * u[:, 1])
            bb, k = b[left], kappa[left]
            w = (1.0 - (1.0 + bb) * beta) / (1.0 - (1.0 - bb) * beta)
            log_ratio = k * w + (d - 1) * np.log1p(-x0[left] * w) - c[left]
            taken = log_ratio >= np.log(u[:, 2])
            found[left[taken]] = w[taken]
            left = left[~taken]
        return np.clip(found, -1.0, 1.0)

    def _terms(self, x: Doubles) -> Doubles:
        """Compute the logarithms of the components' shares of the density, (components, ...)."""
        along = np.einsum("...d,cd->c...", x, self.kappa[:, None] * self.means)
        return np.asarray(along + self._log_scale.reshape(-1, *(1,) * (x.ndim - 1)))


def _uniforms(points: npt.NDArray[np.intp], seed: int, attempt: int) -> Doubles:
    """Draw three uniforms for each point of an attempt."""
    ordinal = points.astype(np.int64)[:, None] * 3 + np.arange(3)
    entity = np.full(ordinal.size, attempt)
    u = core.uniforms(entity, ordinal.ravel(), seed, 0, core.Purpose.toy_noise, COSINES)
    return np.asarray(u).reshape(-1, 3)


def _positive(given: float | npt.ArrayLike, name: str, components: int) -> Doubles:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        values = np.zeros(())
    if values.shape not in ((), (components,)) or not ((values > 0) & (values < 1e9)).all():
        many = f", or {components} of them" if components > 1 else ""
        raise UsageError(f"{name} is {given!r}: wanted a number in (0, 10^9){many}")
    return np.broadcast_to(values, (components,)).copy()
