"""Convergence diagnostics of chains: split R-hat and effective sample sizes.

The definitions follow Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization,
folding, and localization: an improved R-hat", Bayesian Analysis 16 (2021), with the conventions of
ArviZ. The results equal those of ArviZ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pysgrld.types import Doubles

#: Minimum number of draws of a chain for any diagnostic.
FEWEST = 4
#: Quantities are processed in blocks of this number, which limits the memory.
BLOCK = 512
#: Quantiles for the effective sample size in the tails.
TAILS = (0.05, 0.95)


class Convergence(NamedTuple):
    """Diagnostics of several quantities; each array has one value per quantity.

    Attributes
    ----------
    rhat : array
        Rank-normalised split R-hat, the maximum of the bulk R-hat and the folded R-hat; 1 for mixed
        chains, NaN for a constant quantity.
    bulk, tail : array
        Effective sample sizes of the draws of all chains, in the middle of the distribution and in
        its 5 % tails.
    """

    rhat: Doubles
    bulk: Doubles
    tail: Doubles


def convergence(draws: Doubles) -> Convergence:
    """Compute R-hat and effective sample sizes of many quantities.

    Parameters
    ----------
    draws : (C, N, ...)
        N draws of each of C chains. With a single chain, its first half is compared with its
        second.

    Returns
    -------
    Convergence
        Arrays with the shape of the further axes; NaN if a quantity has a NaN, or if N is below 4.

    Notes
    -----
    R-hat of draws that are folded about the median also detects chains with the same centre and
    different spread (Vehtari et al. 2021, section 3). The effective sample size in the tails is the
    smaller of the sizes for the 5 % and 95 % quantiles.
    """
    shape = draws.shape[2:]
    flat = np.asarray(draws, np.float64).reshape(*draws.shape[:2], int(np.prod(shape)))
    results = np.full((3, flat.shape[2]), np.nan)
    if flat.shape[1] < FEWEST or flat.shape[0] < 1:
        return Convergence(*(row.reshape(shape) for row in results))
    for begin in range(0, flat.shape[2], BLOCK):
        columns = flat[:, :, begin : begin + BLOCK]
        halves = _halves(columns)
        with np.errstate(invalid="ignore"):  # Infinity minus infinity correctly gives NaN.
            folded = np.abs(halves - np.median(halves, axis=(0, 1)))
        scores, tails = _normal_scores(halves), []
        for q in TAILS:
            # The quantile is one of the draws, so rounding cannot change which draws are at or
            # below it.
            below = columns <= np.quantile(columns, q, axis=(0, 1), method="lower")
            tails.append(_effective(_halves(below.astype(np.float64))))
        rhat = np.maximum(_scale_reduction(scores), _scale_reduction(_normal_scores(folded)))
        for row, figure, values in (
            (0, rhat, halves),
            (1, _effective(scores), halves),
            (2, np.minimum(*tails), columns),
        ):
            results[row, begin : begin + BLOCK] = np.where(
                np.isnan(values).any(axis=(0, 1)), np.nan, figure
            )
    return Convergence(*(row.reshape(shape) for row in results))


def bulk_sizes(draws: Doubles) -> Doubles:
    """Return bulk effective sample sizes, which are equal to those from `convergence`.

    Parameters
    ----------
    draws : (C, N, ...)
        As for `convergence`, which takes four times as long as this function.

    Returns
    -------
    array of float64
        Effective sample sizes, with the shape of the further axes.
    """
    shape = draws.shape[2:]
    flat = np.asarray(draws, np.float64).reshape(*draws.shape[:2], int(np.prod(shape)))
    sizes = np.full(flat.shape[2], np.nan)
    if flat.shape[1] >= FEWEST and flat.shape[0] >= 1:
        for begin in range(0, len(sizes), BLOCK):
            halves = _halves(flat[:, :, begin : begin + BLOCK])
            missing = np.isnan(halves).any(axis=(0, 1))
            sizes[begin : begin + BLOCK] = np.where(
                missing, np.nan, _effective(_normal_scores(halves))
            )
    return sizes.reshape(shape)


def _halves(draws: Doubles) -> Doubles:
    """Split each chain into halves, without the middle draw if the number of draws is odd."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws: Doubles) -> Doubles:
    """Rank-normalise draws: return normal quantiles of their ranks, with mean ranks for ties."""
    # Import here, because this import takes as long as the import of the estimators.
    from statistics import NormalDist

    flat = draws.reshape(-1, draws.shape[2])
    size = len(flat)
    order = np.argsort(flat, axis=0, kind="stable")
    ascending = np.take_along_axis(flat, order, axis=0)
    place = np.arange(size)[:, None]
    new = np.ones(flat.shape, bool)
    new[1:] = ascending[1:] != ascending[:-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=0)
    ends = np.ones(flat.shape, bool)
    ends[:-1] = new[1:]
    last = np.minimum.accumulate(np.where(ends, place, size)[::-1], axis=0)[::-1]
    # Mean ranks are multiples of 1/2. So twice a mean rank is the index in a table of normal
    # quantiles.
    quantile = NormalDist().inv_cdf
    table = np.array(
        [
            quantile((i / 2 - 3 / 8) / (size + 1 / 4)) if 2 <= i <= 2 * size else np.nan
            for i in range(2 * size + 1)
        ]
    )
    scores = np.empty(flat.shape)
    np.put_along_axis(scores, order, table[first + last + 2], axis=0)
    return scores.reshape(draws.shape)


def _scale_reduction(scores: Doubles) -> Doubles:
    """Compute R-hat of rank-normalised chains with n draws each: sqrt((B / W + n - 1) / n).

    B is n times the variance of the chains' means, and W the mean of the chains' variances.
    """
    n = scores.shape[1]
    between = n * scores.mean(axis=1).var(axis=0, ddof=1)
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    constant = np.ptp(scores, axis=(0, 1)) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((between / within + n - 1) / n)
    return np.where(constant, np.nan, r_hat)


def _effective(draws: Doubles) -> Doubles:
    """Return the effective sample size of all chains combined (Vehtari et al. 2021, section 3.2).

    Autocorrelations are summed in pairs up to the end of Geyer's initial positive sequence; no pair
    counts for more than an earlier pair. The result is at most S log10 S for S draws in all.
    """
    chains, n, _ = draws.shape
    centred = draws - draws.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    covariance = np.fft.irfft(power, size, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0].copy()
    if chains > 1:
        total += draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    pairs = max(1, -(-(n - 2) // 2))
    even = rho[: 2 * pairs : 2]
    sums = even + rho[1 : 2 * pairs : 2]
    # Autocorrelations are summed up to the first pair of lags whose sum is not positive. Without
    # such a pair, all pairs are summed.
    stop = sums <= 0
    last = np.where(stop.any(axis=0), stop.argmax(axis=0), pairs - 1)
    falling = np.minimum.accumulate(sums, axis=0)
    counted = np.where(np.arange(pairs)[:, None] < last, falling, 0.0).sum(axis=0)
    rest, pair = (np.take_along_axis(a, last[None, :], axis=0)[0] for a in (even, sums))
    tau = -1.0 + 2.0 * counted + np.where((rest > 0) | (pair >= 0), rest, 0.0)
    draws_in_all = chains * n
    tau = np.maximum(tau, 1.0 / math.log10(draws_in_all))
    constant = np.ptp(draws, axis=(0, 1)) < np.finfo(float).resolution
    return np.where(constant, float(draws_in_all), draws_in_all / tau)
