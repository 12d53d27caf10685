"""Unit vectors: checks, tangents, great circles. The last axis of an array is that of the coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError
from pysgrld.samplers.targets.simplex.common import Noise
from pysgrld.types import Doubles

#: Streams of random numbers, so that chains share none with the points that they start from.
CHAINS, ADDED, UNIFORM, EXACT, COSINES = range(5)


def dot(a: Doubles, b: Doubles) -> Doubles:
    """Compute inner products over the last axis, which is kept with length 1.

    Parameters
    ----------
    a, b : (..., d) float64
        Vectors.
    """
    return np.asarray(np.einsum("...d,...d->...", a, b)[..., None])


def unit(given: npt.ArrayLike, name: str, axes: Sequence[int]) -> Doubles:
    """Check vectors and give them with length 1.

    Parameters
    ----------
    given : (..., d) array_like
        Vectors of any length above 0, d >= 2.
    name : str
        How messages call them.
    axes : sequence of int
        Numbers of axes that the array may have.

    Raises
    ------
    UsageError
        If they are anything else.
    """
    try:
        x = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: wanted an array of numbers") from None
    if x.ndim not in axes or not x.size or x.shape[-1] < 2:
        raise UsageError(f"{name} has shape {x.shape}: wanted vectors of two or more coordinates")
    if not np.isfinite(x).all():
        raise UsageError(f"{name} has a coordinate that is no finite number")
    largest = np.abs(x).max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        raise UsageError(f"{name} has a vector of zeros, which has no direction")
    x = x / largest  # squares neither overflow nor vanish
    return np.asarray(x / np.sqrt(dot(x, x)))


def tangent(x: Doubles, g: Doubles) -> Doubles:
    """Project vectors to the tangent spaces at unit vectors.

    Parameters
    ----------
    x : (..., d) float64
        Unit vectors.
    g : (..., d) float64
        Any vectors.
    """
    return np.asarray(g - x * dot(x, g))


def great_circle(x: Doubles, v: Doubles, time: float) -> tuple[Doubles, Doubles]:
    """Follow great circles for a time; give points and velocities, rounding taken out.

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
    there = x * cosine + v * (time * np.sinc(angle / np.pi))
    there /= np.sqrt(dot(there, there))
    return there, tangent(there, v * cosine - x * (pace * np.sin(angle)))


def uniform(shape: Sequence[int], *, seed: int = 0) -> Doubles:
    """Draw unit vectors that are uniform on their spheres, to start chains from.

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
        A `ValueError`, if the shape is another.

    Examples
    --------
    >>> from pysgrld import sphere
    >>> sphere.uniform((1000, 3)).shape
    (1000, 3)
    """
    if len(shape) not in (2, 3) or min(shape) < 1 or shape[-1] < 2:
        raise UsageError(f"shape is {tuple(shape)}: wanted chains, vectors if several, coordinates")
    z, _ = Noise(shape[0], int(np.prod(shape[1:])), seed, stream=UNIFORM).at(0)
    return unit(z.reshape(shape), "uniform", (2, 3))
