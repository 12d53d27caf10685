"""Topics as points on spheres with velocities, which is the state of all samplers on spheres.

``x`` (V, Kp) float64, word-major: column k is a unit vector. ``v`` has the same shape: column k is
tangent to the sphere at x_k. Columns beyond K are 0. Geodesics are followed exactly, and rounding
errors are removed after each geodesic (`run_sphere_drift` in cpp/drivers/sphere.cpp).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.samplers.state import BlockState, Potential
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key

#: Value of ``part`` in `Points.change_velocities` for random initial positions. Steps use other
#: values.
_START = 2**31
#: Value of ``part`` in `Points.change_velocities` for random initial velocities.
_PACE = 2**31 + 1


class Points(BlockState[Potential]):
    """Topics as points on spheres; subclasses for samplers differ in `step`.

    Parameters
    ----------
    block : Block
        Its ``hyper`` is the centre that points start around, (V,) float64.
    threads : int
    **arrays
        ``x``, ``v``, and the sampler's additional arrays.

    Attributes
    ----------
    squares : (Kp,) float64
        Squared norms of the velocities ``v``, stored with them so that they are restored exactly.
    """

    names: ClassVar[tuple[str, ...]] = ("x", "v", "squares")
    of_topics = "squares"
    x: Doubles
    v: Doubles
    squares: Doubles

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> Self:
        """Draw initial points around a centre, and initial velocities at temperature 1.

        A point is m + z / sqrt(V), scaled to length 1, with m the centre and z ~ N(0, 1).
        """
        v, k = block.shape
        state = cls(block, threads, **cls.new_arrays(block))
        state.change_velocities(key, _START, np.zeros_like(state.x), sd=v**-0.5)
        state.x[:, :k] = state.v[:, :k] + np.asarray(block.hyper)[:, None]
        state.v[:], state.squares[:] = 0.0, 0.0
        state.move(0.0)
        state.change_velocities(key, _PACE, np.zeros_like(state.x), sd=1.0)
        return state

    @classmethod
    def new_arrays(cls, block: Block) -> dict[str, Array]:
        """Return the arrays of a new state, with their values before the first step."""
        v, k = block.shape
        kp = padded_width(k)
        return {
            "x": core.zeros(v, kp, "float64"),
            "v": core.zeros(v, kp, "float64"),
            "squares": np.zeros(kp),
        }

    # ---- steps

    @abstractmethod
    def step(self, key: Key, statistics: Potential, h: float) -> None:
        """Move the points in one iteration with step size ``h``."""

    def move(self, time: float, damp: float = 1.0) -> None:
        """Move along geodesics for the given time, then multiply the velocities by ``damp``.

        Raises
        ------
        NumericalError
            If a point is not finite any more.
        """
        core.sphere_drift(
            x=self.x,
            v=self.v,
            squares=self.squares,
            topics=self.block.shape[1],
            length=time,
            damp=damp,
            work=self.work,
            threads=self.threads,
        )

    def change_velocities(
        self,
        key: Key,
        part: int,
        gradient: Doubles,
        time: float = 0.0,
        sd: float | Doubles | None = None,
        damp: float = 1.0,
    ) -> None:
        """Change the velocities by a gradient and by noise, then multiply them by ``damp``.

        v <- damp (v + Lambda(x) (-time gradient + sd z)), with z ~ N(0, 1) and Lambda(x) the
        projection onto the tangent space at x.

        The gradient is overwritten.

        Parameters
        ----------
        key : Key
        part : int
            Separates the noise of the calls in one iteration.
        gradient : (V, Kp)
        time : float
        sd : float or (Kp,), optional
            One standard deviation for all topics, or one for each topic; no noise if None.
        damp : float
        """
        k = self.block.shape[1]
        scales = None
        if sd is not None:
            scales = np.zeros(len(self.squares))
            scales[:k] = sd if isinstance(sd, float) else sd[:k]
        core.sphere_force(
            gradient=gradient,
            x=self.x,
            v=self.v,
            squares=self.squares,
            topics=k,
            length=time,
            sd=scales,
            damp=damp,
            part=part,
            work=self.work,
            threads=self.threads,
            **key._asdict(),
            stream=self.block.stream,
        )

    # ---- reading

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return the points' rows for the given words in single precision; by default all rows."""
        return (self.x if words is None else self.x[words]).astype(np.float32)

    def add_to(self, total: Doubles) -> None:
        """Add the points to ``total``, the sum from which mean directions are computed."""
        total += self.x

    def metrics(self) -> dict[str, float]:
        """Return the temperature, which is the mean squared velocity of a topic per dimension."""
        v, k = self.block.shape
        return {"temperature": math.fsum(self.squares[:k].tolist()) / (k * max(1, v - 1))}
