"""Decision rules of statistical tests: fixed seeds, |z| < 4.5, p > 1e-5, sqrt(n) D < 2.2."""

from __future__ import annotations

import numpy as np
from scipy import stats

Z, P, KS = 4.5, 1e-5, 2.2


def z_mean(sample: np.ndarray, expected: float) -> float:
    """Return the z-score of the mean of independent values."""
    x = np.asarray(sample, np.float64)
    return float((x.mean() - expected) / (x.std(ddof=1) / np.sqrt(x.size)))


def z_variance(sample: np.ndarray, expected: float, mean: float) -> float:
    """Return the z-score of the variance about a known mean."""
    return z_mean((np.asarray(sample, np.float64) - mean) ** 2, expected)


def z_two(a: np.ndarray, b: np.ndarray) -> float:
    """Return the z-score of the difference between means of two independent samples."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float((a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size))


def ks(sample: np.ndarray, cdf, above: float = 0.0) -> float:
    """Return sqrt(n) sup |F_n - F| over values above ``above``; lower ones may be flushed to zero."""
    x = np.sort(np.asarray(sample, np.float64).ravel())
    n = x.size
    first = int(np.searchsorted(x, above, side="right"))
    f = cdf(x[first:])
    i = np.arange(first, n)
    return float(np.sqrt(n) * max(np.max((i + 1) / n - f), np.max(f - i / n)))


def ks_two(a: np.ndarray, b: np.ndarray) -> float:
    """Return sqrt(n m / (n + m)) D for two samples."""
    a, b = np.ravel(a), np.ravel(b)
    d = stats.ks_2samp(a, b, method="asymp").statistic
    return float(d * np.sqrt(a.size * b.size / (a.size + b.size)))


def uniform_p(values: np.ndarray, bins: int) -> float:
    """Return the p-value of a chi-square test that integers in [0, bins) are uniform."""
    return float(stats.chisquare(np.bincount(values, minlength=bins)).pvalue)


def pmf_p(values: np.ndarray, pmf: np.ndarray, least: float = 10.0) -> float:
    """Return the p-value of a chi-square test for probabilities ``pmf``; rare integers are pooled."""
    expected = np.asarray(pmf, np.float64) * len(values)
    found = np.bincount(values, minlength=len(expected)).astype(float)
    assert len(found) == len(expected), "a value that cannot be"
    common = expected >= least
    rest = max(len(values) - expected[common].sum(), 1e-9)
    other = found[~common].sum()
    chi2 = np.sum((found[common] - expected[common]) ** 2 / expected[common])
    cells = int(common.sum())
    if rest >= 1.0:
        chi2, cells = chi2 + (other - rest) ** 2 / rest, cells + 1
    else:
        assert other <= 5, "far more rare values than there can be"
    return float(stats.chi2.sf(chi2, cells - 1))
