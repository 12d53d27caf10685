"""The base of all states: their arrays, and the answers that most samplers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from pysgrld.core.restore import put_back
from pysgrld.samplers.protocol import BlockState, E
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key


class State(BlockState[E], ABC):
    """A block under a sampler; `pysgrld.samplers.protocol.BlockState` has the contract.

    Parameters
    ----------
    block : Block
    threads : int
        Number of threads that its steps may use.
    **arrays
        Its arrays, which it owns from here on: one for each of ``names``.
    """

    #: The attributes that are its arrays, as a checkpoint names them.
    names: ClassVar[tuple[str, ...]]

    def __init__(self, block: Block, threads: int, **arrays: Array) -> None:
        self.block, self.threads = block, threads
        for name in self.names:
            setattr(self, name, arrays[name])

    @abstractmethod
    def step(self, key: Key, statistics: E, h: float) -> None:
        """Move the block by one iteration of step size ``h``."""

    @abstractmethod
    def rows(self, words: Int32s | None = None) -> Floats:
        """Give the rows of these words, of all where None, as documents read them."""

    @abstractmethod
    def summary(self) -> Doubles:
        """Give a number for each topic, (K,), that is not finite where the topic is not."""

    def settle(self) -> State[E]:
        """Give itself: it samples already."""
        return self

    def take_prior(self, prior: float) -> None:
        """Go on with another prior."""
        self.block = self.block._replace(prior=prior)

    def catch_up(self, key: Key, words: Int32s) -> None:
        """Do nothing: no row waits."""
        del key, words

    def look(self, key: Key, words: Int32s | None = None) -> Floats:
        """Give `rows`: none waits."""
        del key
        return self.rows(words)

    def weights(self, words: Int32s | None = None) -> Floats | None:
        """Give None: tokens get topics by `rows`."""
        del words
        return None

    def add_to(self, total: Doubles) -> None:
        """Add `rows` of all words to ``total``."""
        total += self.rows()

    def contraction(self, tokens: Doubles, h: float) -> Doubles | None:
        """Give None: steps are no Euler steps in units of the topics' scale."""
        del tokens, h
        return None

    def not_finite(self) -> int | None:
        """Give the first topic, from 0, that is not finite any more, or None."""
        bad = np.flatnonzero(~np.isfinite(self.summary()))
        return int(bad[0]) if len(bad) else None

    def arrays(self) -> dict[str, Array]:
        """Give the state's own arrays by name, not copies."""
        return {name: getattr(self, name) for name in self.names}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Copy the arrays of a checkpoint into the state's own.

        Raises
        ------
        CheckpointError
            If one is missing, or of another type or shape.
        """
        put_back(self.arrays(), arrays, f"{self.block.name}.")
