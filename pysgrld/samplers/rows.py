"""Topics stored as unnormalised rows, which is the state of most samplers on the simplex.

``g`` (V, Kp) float32 has a row for each word, with phi_kw = g_kw / s_k. ``sums`` (Kp,) float64 are
the sums s_k over words.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError
from pysgrld.samplers.seeds import start_at_seeds
from pysgrld.samplers.state import BlockState, Counts, Peers
from pysgrld.types import Array, Block, Doubles, Floats, Int32s, Key


def totals(statistics: Counts, block: Block) -> Doubles:
    """Return the estimated number N_k of the corpus's tokens in each topic, (K,).

    Integer counts are summed, which is exact, and then multiplied by the factor.
    """
    counts: Doubles = statistics.counts.sum(axis=0)[: block.shape[1]] * statistics.factor
    return counts


def draw_initial_rows(
    key: Key, block: Block, threads: int, peers: Peers | None = None
) -> dict[str, Array]:
    """Draw Gamma(1) variates as initial rows, scaled to a word's mean number of tokens per topic.

    The factor is at least the prior, and 1 if the number of tokens is unknown.
    """
    v, k = block.shape
    scale = max(block.prior, block.mass / (v * k)) if block.mass else 1.0
    return draw_by_kernel(core.simplex_start, key, block, threads, peers, scale=scale)


def draw_by_kernel(
    kernel: Callable[..., None],
    key: Key,
    block: Block,
    threads: int,
    peers: Peers | None,
    **parameter: float,
) -> dict[str, Array]:
    """Draw initial rows by a compiled kernel; each process draws the rows that it owns."""
    v, k = block.shape
    arrays: dict[str, Array] = {
        "g": allocate_zeros(v, padded_width(k), peers),
        "sums": np.zeros(padded_width(k)),
    }
    arguments: dict[str, Any] = {
        "topics": k,
        "seed": key.seed,
        "chain": key.chain,
        "stream": block.stream,
    }
    arguments |= parameter | {"work": core.Workspace(), "threads": threads}
    update_on_all_processes(peers, kernel, anew=True, **arrays, **arguments)
    if block.seeds is not None:
        start_at_seeds(block.seeds, arrays["g"], peers)
        state = WarmUp(block, threads, None, **arrays)
        state.peers = peers
        state.recompute_sums()
    return arrays


def allocate_zeros(rows: int, columns: int, peers: Peers | None) -> Floats:
    """Allocate a matrix of zeros, which uses memory only for rows that are written.

    Memory is allocated page by page as it is written. With several processes, pages are small,
    because most large pages would have rows of several processes.
    """
    if peers is None or rows == 0:
        return core.zeros(rows, columns, "float32")
    memory = mmap.mmap(-1, 4 * rows * columns, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.float32).reshape(rows, columns)


def update_on_all_processes(
    peers: Peers | None, kernel: Callable[..., None], /, *, anew: bool, **arguments: Any
) -> None:
    """Update rows by a compiled kernel that all processes call at the same time.

    Each process writes the rows that it owns.

    A unit of rows is updated in the same way on every process, and the contributions of the units
    to the sums are added in a fixed order. Results therefore do not depend on the number of
    processes.

    Parameters
    ----------
    peers : Peers or None
    kernel : callable
    anew : bool
        True if the sums of the written rows replace the sums, as when all rows are written;
        else the sums are corrected.
    **arguments
        Arguments of the kernel, which changes ``g`` and ``sums``.

    Raises
    ------
    NumericalError
        If the kernel raises it, here or in another process.
    """
    if peers is None:
        kernel(**arguments)
        return
    v, across = arguments["g"].shape
    units = -(-v // core.ROW_UNIT)
    contributions = np.zeros((units + peers.size, across))
    # `contributions` begins with a row for each unit of `core.ROW_UNIT` topic rows. Then it has a
    # row for each process, which is the error flag of the process.
    added, wrong = (contributions[:units], None)
    try:
        peers.move(partial(kernel, **arguments, added=added, rank=peers.rank, size=peers.size))
    except NumericalError as error:
        wrong = error
        contributions[units + (peers.rank - units) % peers.size] = 1.0
    peers.allgather_rows(contributions)
    if contributions[units:].any():
        raise wrong or NumericalError(
            "another process failed to update its part of the topics; see its message"
        )
    core.simplex_add_units(sums=arguments["sums"], added=added, anew=anew)


class StateFromRows(BlockState[Counts]):
    """Base class of states that begin with a warm-up on unnormalised rows."""

    @classmethod
    def start(
        cls, key: Key, block: Block, threads: int, peers: Peers | None = None
    ) -> BlockState[Counts]:
        """Draw the initial rows of the warm-up that precedes sampling."""
        return WarmUp(block, threads, cls, **draw_initial_rows(key, block, threads, peers))


class Rows(StateFromRows):
    """Topics stored as unnormalised rows in single precision; subclasses differ in `step`."""

    names: ClassVar[tuple[str, ...]] = ("g", "sums")
    of_topics = "sums"
    g: Floats
    sums: Doubles

    def step_with_kernel(
        self, kernel: Callable[..., None], key: Key, counts: Counts, **options: Any
    ) -> None:
        """Update the rows that this process owns, by a compiled kernel."""
        update_on_all_processes(
            self.peers, kernel, anew=True, **self.update_arguments(key, counts), **options
        )

    def recompute_sums(self) -> None:
        """Recompute the topics' sums from the rows; a kernel step of size 0 leaves the rows unchanged."""
        nothing = Counts(np.zeros(0, np.int32), np.zeros((0, self.g.shape[1]), np.int64), 0.0)
        self.step_with_kernel(core.simplex_relax, Key(0, 0, 0), nothing, h=0.0)

    def totals_argument(self, counts: Counts) -> dict[str, Any]:
        """Return the kernel argument ``totals`` (token counts of topics), or {} for one process."""
        if self.peers is None:
            return {}
        return {"totals": self.peers.sum_over_processes(counts.counts.sum(axis=0))}

    def update_arguments(self, key: Key, counts: Counts) -> dict[str, Any]:
        """Return the arguments common to all kernels that update all rows."""
        return {
            "g": self.g,
            "sums": self.sums,
            "topics": self.block.shape[1],
            "eta": self.block.prior,
            "rows": counts.rows,
            "counts": counts.counts,
            "factor": counts.factor,
            "work": self.work,
            "threads": self.threads,
            **key._asdict(),
            "stream": self.block.stream,
        }

    def read_arguments(self, words: Int32s | None) -> dict[str, Any]:
        """Return the arguments common to all kernels that read rows.

        The kernels write to memory that every iteration reuses.
        """
        return {
            "g": self.g,
            "sums": self.sums,
            "topics": self.block.shape[1],
            "rows": words,
            "work": None if words is None else self.work,
            "threads": self.threads,
        }

    def rows(self, words: Int32s | None = None, out: Floats | None = None) -> Floats:
        """Return the probabilities phi of the given words in each topic, with a small lower bound.

        Because of the bound, each token can have some topic. The result is written to ``out``, if
        given.
        """
        return core.simplex_phi(**self.read_arguments(words), out=out)

    def final_rows(self, key: Key) -> Floats:
        """Return the probabilities phi of all words; the result overwrites the rows in memory.

        The state must not be used any more.
        """
        del key
        return self.rows(out=self.g)

    def read(self, words: Int32s, out: Floats | None = None) -> Floats:
        """Return the given words' rows for sampling documents.

        The result is written to ``out``, or else to scratch memory of the state.
        """
        return self.rows(words, out)

    def add_to(self, total: Doubles) -> None:
        """Add the probabilities phi of all words to ``total``, (V, Kp)."""
        core.simplex_add_phi(
            total=total,
            g=self.g,
            sums=self.sums,
            topics=self.block.shape[1],
            eta=self.block.prior,
            lengths=self.missed_step_sizes(),
            threads=self.threads,
        )

    def missed_step_sizes(self) -> Doubles | None:
        """Return the total step size of the updates that each row has missed, (V,).

        Return None if no row is lazy.
        """
        return None


class WarmUp(Rows):
    """Unnormalised rows in the noise-free warm-up, which follows the mean of CIR transitions.

    Kernel: simplex_relax in cpp/kernels/simplex_common.cpp.
    """

    held = ("g",)

    def step(self, key: Key, statistics: Counts, h: float) -> None:
        """Make the noise-free step g <- g e^-h + (eta + N)(1 - e^-h), with N the counts."""
        self.step_with_kernel(core.simplex_relax, key, statistics, h=h)


StateFromRows.warm_up = WarmUp
