"""Arguments, initial states, minibatches and noise of chains on known distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pysgrld.core import core, padded_width
from pysgrld.errors import UsageError
from pysgrld.samplers.rows import draw_initial_rows
from pysgrld.types import Array, Block, Doubles, Int64s, Key, Schedule

#: Function called at intervals with the fraction of iterations done, in [0, 1]. An exception that
#: it raises stops the chains.
Progress = Callable[[float], None]


class Draws(NamedTuple):
    """Draws from chains over a simplex.

    Attributes
    ----------
    log_omega : (samples, chains, d) float64
        Logarithms of the probabilities. The probability of a sparse category may be too small for a
        float.
    log_mass : (samples, chains) float64
        Logarithm of the unnormalised total, with a distribution that depends on the sampler; 0 if
        the coordinates have no total.
    accepted : (chains,) float64, or None
        Fraction of the proposals that were accepted; without a Metropolis step, 1 minus the
        fraction refused. None for samplers without proposals.
    refused : (chains,) int64, or None
        Proposals that were not finite or left the simplex, and so were not taken.
    """

    log_omega: Doubles
    log_mass: Doubles
    accepted: Doubles | None = None
    refused: Int64s | None = None

    @property
    def omega(self) -> Doubles:
        """Probabilities of the categories, (samples, chains, d) float64; each row sums to 1."""
        return np.exp(self.log_omega)


# ---- arguments


def check_numbers(
    name: str, numbers: object, size: int = 1, *, zero: bool = False, below: float = 1e300
) -> Doubles:
    """Check that numbers are positive, and return an array; a single number is repeated.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    numbers : float or (size,) floats
        The numbers.
    size : int
        Number of elements of the result.
    zero : bool
        Whether 0 is allowed.
    below : float
        Exclusive upper bound: 10^9, or by default any finite number.

    Returns
    -------
    (size,) float64
        A copy.

    Raises
    ------
    UsageError
        If the numbers are anything else.
    """
    try:
        values = np.asarray(numbers, np.float64)
        # True and False are refused, although Python treats them as numbers.
        if np.asarray(numbers).dtype == bool:
            raise TypeError
    except (TypeError, ValueError):
        values = np.full((), np.nan)
    least = values >= 0 if zero else values > 0
    if values.shape not in ((), (size,)) or not (least & (values < below)).all():
        bounds = "of at least 0" if zero else "above 0" if below > 1e9 else "in (0, 10^9)"
        many = f", or {size} of them" if size > 1 else ""
        raise UsageError(f"{name} is {numbers!r}: wanted a number {bounds}{many}")
    return np.broadcast_to(values, (size,)).copy()


def check_posterior(
    counts: npt.ArrayLike, alpha: npt.ArrayLike, minibatch: int | None
) -> tuple[Int64s, Doubles]:
    """Check and return the counts of d categories, (d,) int64, and their prior, (d,) float64.

    Parameters
    ----------
    counts : (d,) whole numbers >= 0
        Counts of any dtype; their sum is below 2^53.
    alpha : float or (d,) floats
        Prior, in (0, 10^9).
    minibatch : int or None
        Number of observations per iteration, or None for all.

    Raises
    ------
    UsageError
        If the arguments are anything else, or if a minibatch must be drawn and all counts are 0.
    """
    n = np.asarray(counts)
    if n.ndim != 1 or len(n) < 1 or n.dtype.kind not in "biuf":
        raise UsageError(f"counts has shape {n.shape}; give a vector with one count per category")
    if not (np.isfinite(n).all() and (n >= 0).all() and (n == np.floor(n)).all()):
        raise UsageError("counts must be whole numbers >= 0")
    if float(n.sum()) >= 2**53:
        raise UsageError("counts sum to 2^53 or more; give smaller counts")
    if minibatch is not None and not n.any():
        raise UsageError(
            "counts are all 0, so no minibatch can be drawn; give counts above 0, or leave out "
            "minibatch"
        )
    return n.astype(np.int64), check_numbers("alpha", alpha, len(n), below=1e9)


def check_sizes(
    samples: int, burn_in: int, thin: int, chains: int, minibatch: int | None = None
) -> None:
    """Raise `UsageError` if numbers of draws, iterations, chains or observations are invalid.

    Parameters
    ----------
    samples, burn_in, thin, chains : int
        At least 1, 0, 1 and 1.
    minibatch : int, optional
        At least 1.

    Raises
    ------
    UsageError
        If one of them is too small, or is not a whole number.
    """
    for name, value, low in (
        ("samples", samples, 1),
        ("burn_in", burn_in, 0),
        ("thin", thin, 1),
        ("chains", chains, 1),
        ("minibatch", 1 if minibatch is None else minibatch, 1),
    ):
        if int(value) != value or value < low:
            raise UsageError(f"{name} is {value}: wanted a whole number of at least {low}")


def check_schedule(step_size: float | Sequence[float]) -> Schedule:
    """Check the argument ``step_size``, and return the schedule that it defines.

    Parameters
    ----------
    step_size : float or (A, B, C)
        A constant, or A (1 + t/B)^(-C): A, B > 0 and C in [0, 1].

    Raises
    ------
    UsageError
        If the step size is anything else.
    """
    try:
        a, b, c = (step_size, 1.0, 0.0) if np.ndim(step_size) == 0 else step_size  # type: ignore[misc]
        schedule = Schedule(float(a), float(b), float(c))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(
            f"step_size is {step_size!r}; give a number above 0, or three numbers (A, B, C) for "
            "the step size A*(1 + t/B)^(-C) of iteration t"
        ) from None
    if not (schedule.a > 0 and schedule.b > 0 and 0 <= schedule.c <= 1):
        raise UsageError(
            f"step_size is {step_size!r}, but the step size A*(1 + t/B)^(-C) needs A > 0, B > 0 "
            "and 0 <= C <= 1"
        )
    return schedule


# ---- chains


def iterations(
    samples: int, burn_in: int, thin: int, progress: Progress | None = None
) -> Iterator[tuple[int, int | None]]:
    """Yield the number of each iteration, and the number of its draw (None if not stored).

    Parameters
    ----------
    samples, burn_in, thin : int
        Number of draws, of iterations before the first draw, and from one draw to the next.
    progress : callable (part), optional
        Called at intervals with the fraction of iterations done.

    Yields
    ------
    t : int
        Number of the iteration, from 0.
    at : int or None
        Number of the draw, from 0, or None if the iteration is not stored.
    """
    total = burn_in + samples * thin
    for t in range(total):
        if progress and t % 500 == 0:
            progress(t / total)
        after = t + 1 - burn_in
        yield t, after // thin - 1 if after > 0 and after % thin == 0 else None


def start_rows(
    d: int, chains: int, start: npt.ArrayLike | None, seed: int, alpha: float
) -> dict[str, Array]:
    """Return initial unnormalised rows of d categories, in which each column is a chain.

    Parameters
    ----------
    d, chains : int
        Number of categories, and of chains.
    start : (d,) positive numbers, optional
        Start of every chain; by default Gamma(1) draws.
    seed : int
        Seed of these draws.
    alpha : float
        Dirichlet prior.

    Returns
    -------
    dict of str to array
        ``g`` (d, padded chains) float32, and ``sums`` (padded chains) float64 of its columns.

    Raises
    ------
    UsageError
        If a start is given that is not d positive numbers.
    """
    block = Block("omega", "simplex", (d, chains), alpha, 0, 0.0)
    arrays = draw_initial_rows(Key(seed, 0, 0), block, 1)
    if start is not None:
        g = np.asarray(start, np.float64)
        if g.shape != (d,) or not (np.isfinite(g).all() and (g > 0).all()):
            raise UsageError(f"start must be {d} positive numbers, one per category")
        arrays["g"][:, :chains] = g[:, None]
        arrays["sums"][:chains] = g.sum()
    return arrays


def safe_log(g: npt.NDArray[np.float32]) -> Doubles:
    """Return logarithms in float64; 0 counts as the smallest normal float32.

    Parameters
    ----------
    g : array of float32
        Non-negative.
    """
    return np.log(np.maximum(g.astype(np.float64), np.finfo(np.float32).tiny))


def log_total(log_g: Doubles, axis: int = 0) -> Doubles:
    """Return log-sum-exp over an axis, without overflow.

    NumPy does the sum, for any axis. `pysgrld.samplers.log_rows.log_sums` rounds equally on every
    processor, which draws of topics need.

    Parameters
    ----------
    log_g : (..., n, ...) float64
        Logarithms of the summands.
    axis : int
        The axis that is summed over; it is not in the result.
    """
    top = log_g.max(axis=axis, keepdims=True)
    return np.asarray(
        (top + np.log(np.exp(log_g - top).sum(axis=axis, keepdims=True))).squeeze(axis)
    )


def draw_minibatch(total: int, minibatch: int, chains: int, key: Key) -> Int64s:
    """Draw indices of observations, from 0 to total - 1, with replacement, (chains, minibatch).

    Parameters
    ----------
    total : int
        Number of observations to draw from, below 2^53.
    minibatch, chains : int
        Number of draws of a chain, and of chains.
    key : Key
        Address of the iteration's random numbers.
    """
    u = core.uniforms(
        np.repeat(np.arange(chains), minibatch),
        np.tile(np.arange(minibatch), chains),
        key.seed,
        key.chain,
        core.Purpose.minibatch_choice,
        key.step,
    )
    # If the total is near 2^53, u * total may be rounded up to the total.
    chosen = np.minimum(np.floor(u * total), total - 1).astype(np.int64)
    return chosen.reshape(chains, minibatch)


def count_minibatch(n: Int64s, minibatch: int, chains: int, key: Key) -> Int64s:
    """Draw a minibatch for each chain, and return its counts of categories, (d, padded chains).

    Parameters
    ----------
    n : (d,) int64
        Number of observations in each category.
    minibatch, chains : int
        Number of observations in a chain's minibatch, and of chains.
    key : Key
        Address of the iteration's random numbers.
    """
    counts = core.zeros(len(n), padded_width(chains), "int64")
    chosen = draw_minibatch(int(n.sum()), minibatch, chains, key)
    category = np.searchsorted(np.cumsum(n), chosen.ravel(), side="right")
    np.add.at(counts, (category, np.repeat(np.arange(chains), minibatch)), 1)
    return counts


class Noise:
    """Random numbers of chains: normal variates and one uniform variate in each iteration.

    Each number is computed from its chain, iteration and position.

    Iterations are drawn in groups; the size of a group does not change the draws.

    Parameters
    ----------
    chains, normals : int
        Number of chains, and of normals for each chain in an iteration.
    seed : int
        Seed of all numbers.
    stream : int
        Two streams never share a number.
    """

    #: Approximate number of variates drawn at once.
    PIECE = 1 << 17

    def __init__(self, chains: int, normals: int, seed: int, stream: int = 0) -> None:
        self._shape, self._seed, self._stream = (chains, normals), seed, stream
        self._width = normals + normals % 2 + 1
        self._some = max(1, self.PIECE // (chains * self._width))
        self._first = -1
        self._z = self._u = np.zeros(0)

    def draw(self, t: int) -> tuple[Doubles, Doubles]:
        """Return an iteration's noise: normal variates (chains, normals), and uniforms (chains,).

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        """
        first = t - t % self._some
        if first != self._first:
            chains, normals = self._shape
            size = chains * self._width
            u = core.uniforms(
                np.repeat(np.arange(first, first + self._some), size),
                np.tile(np.arange(size), self._some),
                self._seed,
                0,
                core.Purpose.toy_noise,
                self._stream,
            ).reshape(self._some, chains, self._width)
            half = (self._width - 1) // 2
            radius, angle = np.sqrt(-2.0 * np.log(u[..., :half])), 2.0 * math.pi * u[..., half:-1]
            z = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
            self._z, self._u, self._first = z[..., :normals], u[..., -1], first
        return self._z[t - first], self._u[t - first]
