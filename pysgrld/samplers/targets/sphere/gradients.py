"""Energies of unit vectors, and gradients of them that have noise, or are of minibatches."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pysgrld.errors import UsageError
from pysgrld.samplers.targets.simplex.common import Noise, minibatch_of
from pysgrld.samplers.targets.sphere.geometry import ADDED, tangent
from pysgrld.types import Doubles, Int64s, Key


class Energy(Protocol):
    """An energy of unit vectors, minus the logarithm of a density; constants may be left out."""

    def energy(self, x: Doubles) -> Doubles:
        """Compute the energy of each chain's vectors.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.

        Returns
        -------
        (chains,) or (chains, vectors) float64
            Those of a chain's vectors are added.
        """

    def gradient(self, x: Doubles) -> Doubles:
        """Compute the Euclidean gradient, of the shape of x; it need not be tangent.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.
        """


class ObservedEnergy(Energy, Protocol):
    """An energy that depends on observations, a posterior: for minibatches.

    Attributes
    ----------
    observations : int
        How many there are.
    """

    observations: int

    def estimates(self, x: Doubles, chosen: Int64s) -> Doubles:
        """Estimate the gradient by single observations: that of the prior and N times that of the one.

        Parameters
        ----------
        x : (chains, d) or (chains, vectors, d) float64
            Unit vectors.
        chosen : (chains, minibatch) int64
            Numbers of the observations, from 0.

        Returns
        -------
        (chains, minibatch, d) or (chains, minibatch, vectors, d) float64
            Their mean is an estimate of the gradient.
        """


class Gradients:
    """The gradients that chains are moved by, and what is known of their noise.

    Parameters
    ----------
    target : object
        As `sample` has it.
    x : (chains, ..., d) float64
        Points of the chains, as they start.
    minibatch, gradient_noise, noise_estimate, seed
        As `sample` has them.

    Raises
    ------
    UsageError
        If an argument is out of range, or the target lacks what is needed.
    """

    def __init__(
        self,
        target: Energy | ObservedEnergy,
        x: Doubles,
        minibatch: int | None,
        gradient_noise: float,
        noise_estimate: float | str | None,
        seed: int,
    ) -> None:
        self.target, self.shape, self.seed = target, x.shape, seed
        self.minibatch = minibatch
        self._sd = checked("gradient_noise", gradient_noise, zero=True) ** 0.5
        self._noise = Noise(len(x), x[0].size, seed, stream=ADDED)
        self.fisher = isinstance(noise_estimate, str)
        if self.fisher and noise_estimate != "fisher":
            raise UsageError(f"noise_estimate is {noise_estimate!r}: wanted a variance, or fisher")
        if self.fisher and (minibatch is None or minibatch < 2):
            raise UsageError("noise_estimate: fisher needs a minibatch of two or more")
        known = noise_estimate if noise_estimate is not None and not self.fisher else 0.0
        self.known = checked("noise_estimate", known, zero=True)
        wanted = ["gradient"] if minibatch is None else ["observations", "estimates"]
        missing = [name for name in wanted if not hasattr(target, name)]
        if missing:
            raise UsageError(f"target has no {missing[0]}, which is needed here")
        if getattr(target, "observations", 1) < 1:
            raise UsageError("target has no observation: wanted one or more")
        self.at(0, x)

    @property
    def exact(self) -> bool:
        """Whether they have no noise."""
        return self.minibatch is None and self._sd == 0 and self.known == 0

    def at(self, t: int, x: Doubles) -> tuple[Doubles, Doubles | float]:
        """Give the gradient, of the shape of x, and the variance of its noise that is known.

        Parameters
        ----------
        t : int
            Number of the iteration, from 0.
        x : (chains, ..., d) float64
            Points.

        Returns
        -------
        gradient : (chains, ..., d) float64
            Perhaps with noise; not projected.
        variance : (chains, n, n) float64, or float
            Of all n coordinates of a chain, or the same for each of them; 0 where nothing is known.
        """
        variance: Doubles | float = self.known
        if self.minibatch is None:
            gradient = self._checked(self.target.gradient(x), "gradient", self.shape)
        else:
            gradient, each = self._estimated(t, x)
            if self.fisher:
                variance = _covariance(tangent(x[:, None], each)) / self.minibatch
        if self._sd:
            z, _ = self._noise.at(t)
            gradient = gradient + self._sd * z.reshape(self.shape)
        return gradient, variance

    def energy(self, x: Doubles) -> Doubles:
        """Compute the energies of chains, (chains,).

        Parameters
        ----------
        x : (chains, ..., d) float64
            Points.
        """
        found = np.asarray(self.target.energy(x), np.float64)
        if found.shape not in (self.shape[:1], self.shape[:-1]):
            raise UsageError(f"energy has shape {found.shape}: wanted {self.shape[:-1]}")
        return np.asarray(found.reshape(len(x), -1).sum(axis=1))

    def _estimated(self, t: int, x: Doubles) -> tuple[Doubles, Doubles]:
        assert self.minibatch is not None
        target: ObservedEnergy = self.target  # type: ignore[assignment]
        key = Key(self.seed, 0, t)
        chosen = minibatch_of(target.observations, self.minibatch, len(x), key)
        shape = (len(x), self.minibatch, *self.shape[1:])
        each = self._checked(target.estimates(x, chosen), "estimates", shape)
        return each.mean(axis=1), each

    def _checked(self, given: Doubles, name: str, shape: tuple[int, ...]) -> Doubles:
        found = np.asarray(given, np.float64)
        if found.shape != shape:
            raise UsageError(f"{name} has shape {found.shape}: wanted {shape}")
        return found


def _covariance(each: Doubles) -> Doubles:
    """Estimate the covariance over the second axis, of all that follows it as one vector."""
    flat = each.reshape(*each.shape[:2], -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("cbi,cbj->cij", flat, flat) / (each.shape[1] - 1))


def checked(name: str, value: float | str, *, zero: bool = False) -> float:
    """Refuse what is no finite number above 0, or at least 0.

    Parameters
    ----------
    name : str
        What it is called in messages.
    value : object
    zero : bool
        Whether 0 is fine.

    Raises
    ------
    UsageError
        Naming it.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not (0.0 <= number < 1e300) or (number == 0.0 and not zero):
        least = "of at least 0" if zero else "above 0"
        raise UsageError(f"{name} is {value!r}: wanted a number {least}")
    return number
