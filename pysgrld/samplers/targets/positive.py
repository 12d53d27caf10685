"""SCIR for a positive number, with gamma and lognormal targets (Baker et al. 2018, section 2.3).

Both targets are posteriors, so that minibatches are defined. Estimates from minibatches keep the mean
and widen the distribution: with a process of unit rate, by tanh(h/2) times the variance of the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pysgrld.errors import UsageError
from pysgrld.samplers.log_rows import cir_transition
from pysgrld.samplers.targets.common import (
    Noise,
    check_numbers,
    check_schedule,
    check_sizes,
    draw_minibatch,
    iterations,
)
from pysgrld.types import Doubles, Key, Schedule


def gamma(
    counts: npt.ArrayLike = (),
    *,
    shape: float,
    rate: float = 1.0,
    step_size: float | Sequence[float] = 0.1,
    minibatch: int | None = None,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    start: float | None = None,
    seed: int = 0,
) -> Doubles:
    """Sample the mean X of Poisson counts from its gamma posterior.

    The posterior is Gamma(shape + sum of counts, rate + number of counts).

    The process is the Cox-Ingersoll-Ross process on (rate + number) X. It is exact for every step
    if all counts are used. Without counts this samples any gamma distribution. Baker, Fearnhead,
    Fox and Nemeth (2018), section 2.3.

    Parameters
    ----------
    counts : (N,) whole numbers >= 0
        Observations, Poisson given X.
    shape, rate : float
        Shape and rate of the gamma prior, > 0.
    step_size : float or (A, B, C)
        Diffusion time h > 0, constant or A (1 + t/B)^(-C) with A, B > 0 and C in [0, 1].
    minibatch : int, optional
        Observations per iteration, at least 1, drawn with replacement; by default all, once each.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    chains : int
        Independent chains, at least 1.
    start : float, optional
        Start of every chain, > 0; by default the prior's mean.
    seed : int
        Seed, at least 0; the draws depend on nothing else than the arguments.

    Returns
    -------
    (samples, chains) float64
        Logarithms of X: with small shapes X may be far below the smallest float.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.
    """
    sizes = samples, burn_in, thin, chains
    x, schedule = _check_observations(
        "counts", counts, minibatch, sizes, step_size, shape=shape, rate=rate, start=start
    )
    if not ((x >= 0) & (x == np.floor(x))).all():
        raise UsageError("counts must be whole numbers >= 0")
    log_scale = math.log(rate + len(x))
    first = math.log(shape / rate if start is None else start)
    log_g = np.full((1, chains), first + log_scale)
    total, draws = float(x.sum()), np.empty((samples, chains))
    for t, draw in iterations(samples, burn_in, thin):
        key = Key(seed, 0, t)
        if minibatch is None:
            shapes = np.full(chains, shape + total)
        else:
            observed = x[draw_minibatch(len(x), minibatch, chains, key)]
            shapes = shape + observed.sum(1) * (len(x) / minibatch)
        cir_transition(key, log_g, shapes[None], stream=0, h=schedule(t), threads=1)
        if draw is not None:
            draws[draw] = log_g[0] - log_scale
    return draws


def lognormal(
    observations: npt.ArrayLike = (),
    *,
    noise: float = 1.0,
    mean: float = 0.0,
    variance: float = 1.0,
    step_size: float | Sequence[float] = 0.1,
    minibatch: int | None = None,
    samples: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    chains: int = 1,
    start: float | None = None,
    seed: int = 0,
) -> Doubles:
    """Sample X > 0, observed with multiplicative lognormal errors, from its lognormal posterior.

    log of an observation ~ N(log X, noise), log X ~ N(mean, variance). The process is the
    exponential Ornstein-Uhlenbeck one, d log X = (m - log X) dt + sqrt(2 v) dW, drawn exactly for
    every step. (Baker, Fearnhead, Fox and Nemeth 2018, section 2.3, name geometric Brownian motion,
    which has no stationary distribution.)

    Parameters
    ----------
    observations : (N,) floats > 0
        X times lognormal errors.
    noise : float
        Variance of the errors' logarithms, > 0.
    mean : float
        Mean of log X a priori.
    variance : float
        Variance of log X a priori, > 0.
    step_size : float or (A, B, C)
        Diffusion time h > 0, constant or A (1 + t/B)^(-C) with A, B > 0 and C in [0, 1].
    minibatch : int, optional
        Observations per iteration, at least 1, drawn with replacement; by default all, once each.
    samples : int
        Draws to keep of each chain, at least 1.
    burn_in : int
        Iterations before the first draw, at least 0.
    thin : int
        Iterations from one draw to the next, at least 1.
    chains : int
        Independent chains, at least 1.
    start : float, optional
        Start of every chain, > 0; by default the prior's median.
    seed : int
        Seed, at least 0; the draws depend on nothing else than the arguments.

    Returns
    -------
    (samples, chains) float64
        Logarithms of X.

    Raises
    ------
    UsageError
        A `ValueError`, if an argument is out of range.
    """
    sizes = samples, burn_in, thin, chains
    x, schedule = _check_observations(
        "observations",
        observations,
        minibatch,
        sizes,
        step_size,
        noise=noise,
        variance=variance,
        start=start,
    )
    if not (x > 0).all():
        raise UsageError("observations must be > 0")
    if not math.isfinite(mean):
        raise UsageError(f"mean is {mean}, but must be a finite number")
    logs = np.log(x)
    v = 1.0 / (1.0 / variance + len(x) / noise)
    log_x = np.full(chains, mean if start is None else math.log(start))
    total, draws, normals = float(logs.sum()), np.empty((samples, chains)), Noise(chains, 1, seed)
    for t, draw in iterations(samples, burn_in, thin):
        seen: float | Doubles = total
        if minibatch is not None:
            observed = logs[draw_minibatch(len(x), minibatch, chains, Key(seed, 0, t))]
            seen = observed.sum(1) * (len(x) / minibatch)
        m = v * (mean / variance + seen / noise)
        h, (z, _) = schedule(t), normals.draw(t)
        log_x = m + (log_x - m) * math.exp(-h) + math.sqrt(-v * math.expm1(-2.0 * h)) * z[:, 0]
        if draw is not None:
            draws[draw] = log_x
    return draws


def _check_observations(
    name: str,
    values: npt.ArrayLike,
    minibatch: int | None,
    sizes: tuple[int, int, int, int],
    step_size: float | Sequence[float],
    **positive: float | None,
) -> tuple[Doubles, Schedule]:
    """Check arguments; return the observations as an array, and the schedule of step sizes.

    Refuse a minibatch without observations, ``positive`` arguments that are not above 0, unless they
    are None, and ``sizes`` that `check_sizes` refuses.
    """
    try:
        x = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        x = np.full(1, np.nan)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise UsageError(f"{name} must be a vector of finite numbers")
    if minibatch is not None and len(x) == 0:
        raise UsageError(f"{name} is empty, so no minibatch can be drawn; leave out minibatch")
    for argument, value in positive.items():
        if value is not None:
            check_numbers(argument, value)
    check_sizes(*sizes, minibatch)
    return x, check_schedule(step_size)
