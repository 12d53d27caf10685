"""Topics as unnormalised rows, the form that nearly all simplex samplers work on, and their warm-up.

``g`` (V, Kp) float32, phi_kw = g_kw / s_k; ``sums`` (Kp,) float64, the s_k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core, padded
from pysgrld.samplers.seeds import start_at_seeds
from pysgrld.samplers.state import BlockState, Counts
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key

#: Blocks of rows for each peer from which on they share them: fewer are stepped sooner than sent.
FEWEST = 2


def totals(found: Counts, block: Block) -> Doubles:
    """Sum N_kw over words: N_k, (K,), an exact sum of integers times the factor."""
    counts: Doubles = found.counts.sum(axis=0)[: block.shape[1]] * found.factor
    return counts


def drawn(key: Key, block: Block, threads: int) -> dict[str, Array]:
    """Draw the arrays of rows: Gamma(1) times their expected scale, tokens / (K V), or 1 if unknown."""
    v, k = block.shape
    arrays: dict[str, Array] = {
        "g": core.zeros(v, padded(k), "float32"),
        "sums": np.zeros(padded(k)),
    }
    core.simplex_start(
        **arrays,
        topics=k,
        scale=max(block.prior, block.mass / (v * k)) if block.mass else 1.0,
        seed=key.seed,
        chain=key.chain,
        stream=block.stream,
        work=core.Workspace(),
        threads=threads,
    )
    return start_at_seeds(block.seeds, arrays["g"], arrays["sums"])


def _cuts(shares: list[int], rows: int) -> list[int]:
    """Return the rows at which the shares of blocks begin, and where the last one ends."""
    return [min(rows, core.ROW_BLOCK * share) for share in shares]


class FromRows(BlockState[Counts]):
    """A state that sampling goes on from after a warm-up of rows."""

    @classmethod
    def start(cls, key: Key, block: Block, threads: int) -> BlockState[Counts]:
        """Draw rows, which become such a state when the warm-up is over."""
        return WarmUp(block, threads, cls, **drawn(key, block, threads))


class Rows(FromRows):
    """Unnormalised rows in single precision; samplers differ in `step`."""

    names: ClassVar[tuple[str, ...]] = ("g", "sums")
    of_topics = "sums"
    g: Floats
    sums: Doubles
    _sent: Floats = np.empty((0, 0), np.float32)

    def step_by(
        self, kernel: Callable[..., None], rows: Int32s | None, /, **arguments: Any
    ) -> None:
        """Step all rows by a kernel, or some; where there are peers each steps a share of their blocks.

        A block of rows is stepped alike by whoever does, and what all blocks add to the sums is added in
        their order: results do not depend on how many there are.

        Parameters
        ----------
        kernel : callable
        rows : (R,) int32 or None
            Those that are stepped, ascending; all where None.
        **arguments
            Of the kernel.
        """
        n = len(self.g) if rows is None else len(rows)
        shares, peers = self._shares(n, arguments["rows"] if rows is None else None), self.peers
        if peers is None or shares is None:
            kernel(**arguments)
            return
        first, last = shares[peers.rank : peers.rank + 2]
        added = np.zeros((shares[-1], self.g.shape[1]))
        peers.move(partial(kernel, **arguments, added=added, first=first, last=last))
        peers.complete(added, shares)
        core.simplex_add_blocks(sums=self.sums, added=added, anew=rows is None)
        cuts = _cuts(shares, n)
        if rows is None:
            peers.complete(self.g, cuts)
            return
        begin, end = cuts[peers.rank : peers.rank + 2]
        if len(self._sent) < n:  # memory that the next step takes over
            self._sent = np.empty((n + n // 8, self.g.shape[1]), np.float32)
        sent = self._sent[:n]
        np.take(self.g, rows[begin:end], axis=0, out=sent[begin:end], mode="clip")
        peers.complete(sent, cuts)
        self.g[rows[:begin]] = sent[:begin]
        self.g[rows[end:]] = sent[end:]

    def _shares(self, rows: int, counted: Int32s | None = None) -> list[int] | None:
        """Return the blocks of so many rows at which the share of each peer begins; None: no shares.

        Rows that have counts, all where None, are twice the work of others: counts come from all peers.
        """
        blocks, peers = -(-rows // core.ROW_BLOCK), self.peers
        if peers is None or blocks < FEWEST * peers.size:
            return None
        work = np.full(blocks, core.ROW_BLOCK)
        if counted is not None:
            work += np.bincount(counted // core.ROW_BLOCK, minlength=blocks)
        done = np.cumsum(work)
        ends = np.arange(1, peers.size) * int(done[-1]) // peers.size
        return [0, *np.searchsorted(done, ends, side="right").tolist(), blocks]

    def owned_of_all(self, words: Int32s) -> Sequence[int] | None:
        """Return `owned` where all rows are stepped, each by its own counts."""
        shares = self._shares(len(self.g), words)
        if shares is None:
            return None
        cuts: list[int] = np.searchsorted(words, _cuts(shares, len(self.g))).tolist()
        return cuts

    def owned_of_these(self, words: Int32s) -> Sequence[int] | None:
        """Return `owned` where these rows are stepped and no others."""
        shares = self._shares(len(words))
        return None if shares is None else _cuts(shares, len(words))

    def arguments(self, key: Key, found: Counts) -> dict[str, Any]:
        """Return the arguments that all kernels have that step all rows."""
        return {
            "g": self.g,
            "sums": self.sums,
            "topics": self.block.shape[1],
            "eta": self.block.prior,
            "rows": found.rows,
            "counts": found.counts,
            "factor": found.factor,
            "work": self.work,
            "threads": self.threads,
            **key._asdict(),
            "stream": self.block.stream,
        }

    def reading(self, words: Int32s | None) -> dict[str, Any]:
        """Return the arguments that all kernels have that read rows.

        What is read of some words, in every iteration, is in memory that the next one takes over.
        """
        return {
            "g": self.g,
            "sums": self.sums,
            "topics": self.block.shape[1],
            "rows": words,
            "work": None if words is None else self.work,
            "threads": self.threads,
        }

    def rows(self, words: Int32s | None = None) -> Floats:
        """Return phi of these words, floored so that no token lacks a topic."""
        return core.simplex_phi(**self.reading(words))

    def add_to(self, total: Doubles) -> None:
        """Add phi of all words to ``total``, (V, Kp)."""
        core.simplex_add_phi(
            total=total,
            g=self.g,
            sums=self.sums,
            topics=self.block.shape[1],
            eta=self.block.prior,
            lengths=self.waited(),
            threads=self.threads,
        )

    def waited(self) -> Doubles | None:
        """Return the time for which each row has waited to be stepped, (V,); None where none waits."""
        return None


class WarmUp(Rows):
    """Rows in the noise-free warm-up, which move by the mean of the CIR transition.

    Kernel: simplex_relax in cpp/kernels/simplex_common.cpp.
    """

    owned = Rows.owned_of_all

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make the noise-free step g <- g e^-h + (eta + N)(1 - e^-h)."""
        self.step_by(core.simplex_relax, None, **self.arguments(key, statistics), h=h)


FromRows.warm_up = WarmUp
