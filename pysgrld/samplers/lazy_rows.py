"""Lazy rows: the row of a word in the topic matrix is brought up to date only when it is read.

Several CIR transitions with a constant shape have the same distribution as one CIR transition of
their total length. A word that is absent from a minibatch has shape eta in every topic, so all the
steps that it missed are made as one step of their total length when the word is needed next. The
cost of an iteration depends on its words, not on the vocabulary size. The same holds for the mean
of the transition, which is used in the noise-free warm-up.

Lazy rows have two arrays in addition to the rows: ``last`` (V,) float64, the running time up to
which each row is current, and ``now`` (1,) float64, the running time, which is the sum of all step
lengths. ``sums`` becomes the conditional mean of s_k given the values last drawn. All rows relax at
the same rate, so over a step

    E[s_k] <- E[s_k] e^-h + V eta (1 - e^-h)

and a row that is drawn adds the difference of its new value and its expected value. This is the
only approximation: the relative error of s_k, common to all words of a topic, is about 1/sqrt(s_k).
The error is kept small and removed at intervals: while s_k of some topic is below `DENSE`, all rows
are updated in each step, and every `RENEW` iterations all rows are brought up to date, so that
``sums`` are exact afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core
from pysgrld.errors import CheckpointError
from pysgrld.samplers.rows import Rows, draw_initial_rows, update_on_all_processes
from pysgrld.samplers.state import BlockState, Counts, Peers
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key

#: Number of iterations after which all rows are brought up to date, so that rounding errors and
#: missing noise do not accumulate in the sums.
RENEW = 1000
#: Lazy steps are used only if each topic's sum over all rows is at least this number. In lazy
#: steps, the conditional mean of the sum replaces the sum. At this minimum, the relative error of
#: the mean is 3 %.
DENSE = 1000.0


class LazyRows(Rows):
    """Topics with lazy rows: a word's row may stay unchanged until a minibatch reads the row.

    The subclass for a sampler sets the kernels ``step_all`` and ``step_some``.
    """

    names = ("g", "sums", "last", "now")
    held = ("g", "last")
    #: Of these two kernels, ``step_all`` updates all rows with the same step length. ``step_some``
    #: updates only the listed rows, each with a different step length.
    step_all: ClassVar[Callable[..., None]]
    step_some: ClassVar[Callable[..., None]]
    last: Doubles
    now: Doubles
    #: True if `catch_up` has brought all rows up to date in this iteration.
    _is_up_to_date = True

    @classmethod
    def start(
        cls, key: Key, block: Block, threads: int, peers: Peers | None = None
    ) -> BlockState[Counts]:
        """Draw initial rows, which are up to date."""
        times = {"last": np.zeros(block.shape[0]), "now": np.zeros(1)}
        return LazyWarmUp(
            block, threads, cls, **draw_initial_rows(key, block, threads, peers), **times
        )

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Update the rows of the minibatch's words; other words' rows are updated when read.

        `catch_up` must have brought the rows of the minibatch's words up to date.

        While the sum of a topic is small, all rows are updated; `catch_up` has then brought all
        rows up to date.
        """
        v, k = self.block.shape
        if self._is_up_to_date and self._has_small_sum():
            self.step_with_kernel(self.step_all, key, statistics, h=h)
            self.now += h
            self.last[:] = self.now
            return
        eta = float(np.float32(self.block.prior))  # The kernel, too, has eta in single precision.
        self.sums[:k] += (v * eta - self.sums[:k]) * -math.expm1(-h)
        update_on_all_processes(
            self.peers,
            self.step_some,
            anew=False,
            **self.update_arguments(key, statistics),
            lengths=np.full(len(statistics.rows), h),
            packed=False,
            purpose=core.Purpose.scir_pass,
        )
        self.now += h
        self.last[statistics.rows] = self.now

    def catch_up(self, key: Key, words: Int32s) -> None:
        """Bring the rows of ``words`` up to date, or sometimes all rows.

        All rows are brought up to date every `RENEW` iterations, and if the sum of a topic is small.
        """
        self._is_up_to_date = key.step % RENEW == 0 or self._has_small_sum()
        self._apply_missed_updates(key, self._outdated_rows() if self._is_up_to_date else words)

    def current_rows(self, key: Key, words: Int32s | None = None) -> Floats:
        """Return the up-to-date phi of the given words, without changing the state."""
        g, sums = self.current_rows_and_sums(key, words)
        k = self.block.shape[1]
        return core.simplex_phi(g=g, sums=sums, topics=k, rows=None, threads=self.threads)

    def final_rows(self, key: Key) -> Floats:
        """Return the up-to-date phi of all words; the result overwrites the rows in memory."""
        words, self.sums = np.arange(len(self.g), dtype=np.int32), self.sums.copy()
        self.step_some(
            **self._missed_update_arguments(key, words, core.Purpose.look_pass), packed=True
        )
        return super().final_rows(key)

    def current_rows_and_sums(
        self, key: Key, words: Int32s | None = None
    ) -> tuple[Floats, Doubles]:
        """Return up-to-date copies of the rows of ``words`` (or all rows) and of the topics' sums.

        The rows are (R, Kp). Their draws use other random numbers than `catch_up`. The sums are
        corrected by the new draws, so a copy of all rows has exact sums.
        """
        if words is None:
            words = np.arange(len(self.g), dtype=np.int32)
        g, sums = self.g[words], self.sums.copy()
        arguments = self._missed_update_arguments(key, words, core.Purpose.look_pass)
        self.step_some(**arguments | {"g": g, "sums": sums}, packed=True)
        return g, sums

    def missed_step_sizes(self) -> Doubles:
        """Return the total step size of the updates that each row has missed, (V,)."""
        return self.now - self.last

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy a checkpoint's arrays into the state's arrays.

        Raises
        ------
        CheckpointError
            If an array is missing, has another type or shape, or has a time in ``last`` after ``now``.
        """
        super().restore(arrays)
        if not (self.last <= self.now).all():
            name = f"{self.block.name}.last"
            raise CheckpointError(
                f"array '{name}' of the checkpoint has iterations after the checkpoint's iteration"
            )

    def _outdated_rows(self) -> Int32s:
        return self.owned_rows(np.flatnonzero(self.last < self.now).astype(np.int32))

    def _has_small_sum(self) -> bool:
        return bool(self.sums[: self.block.shape[1]].min() < DENSE)

    def _apply_missed_updates(self, key: Key, words: Int32s) -> None:
        """Apply the missed updates to the rows of ``words``, and adjust the topics' sums.

        In these steps a row has no counts.
        """
        arguments = self._missed_update_arguments(key, words, core.Purpose.catch_up_pass)
        update_on_all_processes(self.peers, self.step_some, anew=False, **arguments, packed=False)
        self.last[words] = self.now

    def _missed_update_arguments(
        self, key: Key, words: Int32s, purpose: core.Purpose
    ) -> dict[str, Any]:
        """Return the arguments with which a kernel applies missed updates to rows of ``words``."""
        nothing = Counts(words, np.zeros((0, 0), np.int64), 0.0)
        return self.update_arguments(key, nothing) | {
            "counts": None,
            "purpose": purpose,
            "lengths": self.now - self.last[words],
        }


class LazyWarmUp(LazyRows):
    """Lazy rows in the noise-free warm-up, which follows the mean of CIR transitions."""

    step_all = staticmethod(core.simplex_relax)
    step_some = staticmethod(core.simplex_relax_rows)

    def end_warm_up(self) -> BlockState[Any]:
        """Bring all rows up to date, and return the state from which sampling starts."""
        words = self._outdated_rows()
        # The warm-up draws nothing, so any key will do.
        self._apply_missed_updates(Key(0, 0, 0), words)
        return super().end_warm_up()


LazyRows.warm_up = LazyWarmUp
