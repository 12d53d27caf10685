"""Array arithmetic with bitwise identical results on every processor.

NumPy's logarithms and exponentials, and the products that it leaves to a BLAS (``@``, ``np.dot``),
round differently from one processor to the next. Code that computes results uses the functions of
this module instead. Sums of NumPy (``.sum``, ``.mean``, ``np.add.reduceat``, ``np.bincount``) add
in an order that no processor changes.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pysgrld.core import core
from pysgrld.types import Array, Doubles


def log(x: npt.ArrayLike) -> Array:
    """Return the logarithm of each element, without warnings: minus infinity for 0, NaN below 0.

    The logarithms of float32 numbers are rounded once, to float32.

    Parameters
    ----------
    x : array_like
        Numbers of at least 0.

    Returns
    -------
    ndarray
        float64, or float32 if ``x`` is float32; of the shape of ``x``.
    """
    values = np.asarray(x)
    logs = core.log(_doubles(values))
    return logs.astype(np.float32) if values.dtype == np.float32 else logs


def exp(x: npt.ArrayLike) -> Doubles:
    """Return the exponential of every element.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        float64, of the shape of ``x``.
    """
    return core.exp(_doubles(x))


def log1p(x: npt.ArrayLike) -> Doubles:
    """Return log(1 + x) of every element.

    Parameters
    ----------
    x : array_like
        Numbers above -1.

    Returns
    -------
    ndarray
        float64, of the shape of ``x``.
    """
    return core.log1p(_doubles(x))


def cospi(x: npt.ArrayLike) -> Doubles:
    """Return cos(pi x) of every element.

    Parameters
    ----------
    x : array_like
        Numbers in units of pi radians.

    Returns
    -------
    array of float64
        Cosines, of the shape of `x`.
    """
    return core.cospi(_doubles(x))


def logaddexp(a: npt.ArrayLike, b: npt.ArrayLike) -> Doubles:
    """Return log(exp(a) + exp(b)) for all elements of two arrays, which are broadcast.

    Parameters
    ----------
    a, b : array_like
        Logarithms.

    Returns
    -------
    ndarray
        float64, of the broadcast shape.
    """
    top = np.maximum(a, b)
    # Infinite arguments are valid: their difference may be NaN, which needs no warning.
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.subtract(a, b))
    return np.where(np.isfinite(apart), top + log1p(exp(-apart)), top)


def normals(u: Doubles, v: Doubles) -> Doubles:
    """Return standard normal variates from pairs of uniform variates, by Box and Muller's method.

    Parameters
    ----------
    u, v : (...) float64
        Uniforms, of equal shapes.

    Returns
    -------
    ndarray
        float64, of the shape of ``u``.
    """
    z: Doubles = np.sqrt(-2.0 * log(u)) * cospi(2.0 * v)
    return z


def dot(a: Array, b: Array) -> float:
    """Return the inner product of two vectors.

    Parameters
    ----------
    a, b : (n,) array

    Returns
    -------
    float
    """
    return float((a * b).sum(dtype=np.float64))


def product(a: Array, b: Array) -> Doubles:
    """Return the product of two matrices, or of a matrix and a vector, in double precision.

    Parameters
    ----------
    a : (n, m) array
    b : (m, p) or (m,) array

    Returns
    -------
    (n, p) or (n,) float64
    """
    if b.ndim == 1:
        return product(a, b[:, None])[:, 0]
    return core.product(_doubles(a), _doubles(b))


def _doubles(x: npt.ArrayLike) -> Doubles:
    return np.ascontiguousarray(x, np.float64).reshape(np.shape(x))


def median(x: npt.ArrayLike) -> float:
    """Return the median of all numbers that are not NaN, or NaN without such numbers.

    NumPy's function would import masked arrays, which takes a tenth of the start of ``sgmc
    topics``.

    Parameters
    ----------
    x : array_like
        Numbers of any shape.

    Returns
    -------
    float
        The middle number, or the mean of the two middle ones.
    """
    values = _doubles(np.asarray(x)).ravel()
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return math.nan
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
