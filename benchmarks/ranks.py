"""CPU time of an iteration by its parts, of one rank or several: the table of docs/internals/ranks.md.

    python benchmarks/ranks.py                      # one process
    mpiexec -n 2 python benchmarks/ranks.py         # beside it: the same chain over two
    mpiexec -n 2 python benchmarks/ranks.py --sum   # our sum of counts, and the library's own

Processor time of rank 0, one thread, of each part the least of all iterations. Waiting for others is left
out as far as a barrier before each message does that: what a library spins meanwhile counts.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict

import numpy as np

from pysgrld.chain.communicator import launch
from pysgrld.core import core
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import model_of
from pysgrld.options.option import Facts
from pysgrld.types import Documents

TOKENS = 150
CASES = [
    (8_000, 100, 400, "scir", 40),
    (8_000, 100, 4_000, "scir", 12),
    (100_000, 100, 400, "scir", 40),
    (100_000, 100, 10_000, "scir", 5),
    (100_000, 100, 10_000, "sgrld", 5),
    (200_000, 500, 2_000, "scir", 5),
    (100_000, 100, 10_000, "gibbs", 5),
    (100_000, 100, 80_000, "gibbs", 4),
]


def corpus(v, documents):
    """Documents of 150 tokens, words by Zipf's law."""
    rng = np.random.default_rng(0)
    weights = np.cumsum(1.0 / np.arange(1, v + 1))
    words = np.searchsorted(weights / weights[-1], rng.random((documents, TOKENS)))
    words.sort(axis=1)
    new = np.ones(words.shape, bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    at = np.flatnonzero(new)
    counts = np.diff(np.append(at, words.size))
    indptr = np.append(0, np.cumsum(new.sum(axis=1)))
    return Documents(indptr, words.reshape(-1)[at].astype(np.int32), counts.astype(np.int32))


class Timed:
    """Adds up the processor time of some functions, each without what others of them take."""

    def __init__(self):
        self.spent, self._inside = defaultdict(float), []

    def of(self, owner, name, part, before=lambda: None):
        function = getattr(owner, name)

        def timed(*args, **kwargs):
            before()
            began = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                took = time.process_time() - began
                self.spent[part] += took - self._inside.pop()
                if self._inside:
                    self._inside[-1] += took

        setattr(owner, name, timed)


def chain_of(v, k, size, algo, comm):
    """A chain beyond its warm-up, and its words."""
    whole = algo == "gibbs"
    some = corpus(v, size if whole else 4 * size)
    everything = np.arange(len(some))
    facts = Facts(len(some), v, some.tokens, 0, minibatch_words(some, everything))
    given = {"algo": algo, "topics": k, "seed": 1}
    if not whole:
        given |= {"minibatch": size, "warm-up": 1}
    options = resolve(given, facts).options
    stream = Epochs.of(options, some, everything, comm.rank, comm.size)
    run_on = RunOn(1, comm=comm)
    return model_of("lda").chain(options, stream, CorpusFacts(v, some.tokens), run_on), getattr(
        options.settings, "lazy", "off"
    )


def measured(case, comm, barrier):
    """Milliseconds by part, of each the least of all iterations."""
    *sizes, algo, iterations = case
    chain, lazy = chain_of(*sizes, algo, comm)
    comm.words = sizes[0]
    timed, lines = Timed(), []
    chain.advance(team_batch(chain, comm, timed))
    chain.advance(team_batch(chain, comm, timed))
    state = chain.states["phi"]
    gibbs = core.documents_gibbs
    spread = core.spread
    timed.of(core, "documents_gibbs", "documents")
    timed.of(core, "spread", "spread")
    for name in ("catch_up", "step"):
        timed.of(state, name, "rows")
    timed.of(state, "rows", "read")
    if comm.size > 1:
        timed.of(comm, "meet", "meet", barrier)
        timed.of(comm, "_add_up", "sum", barrier)
        timed.of(comm, "_add_own", "sum", barrier)
        timed.of(comm, "complete", "moved", barrier)
    for _ in range(iterations):
        timed.spent.clear()
        batch = team_batch(chain, comm, timed)
        chain.advance(batch)
        lines.append(dict(timed.spent))
    core.documents_gibbs, core.spread = gibbs, spread
    chain.close()
    parts = ("read", "documents", "spread", "rows", "pack", "meet", "sum", "moved")
    took = {part: 1e3 * min(x.get(part, 0.0) for x in lines) for part in parts}
    took["megabytes"] = 8e-6 * len(batch.words) * state.g.shape[1]
    return lazy, took


def team_batch(chain, comm, timed):
    """The documents of the next iteration, read without help of another thread."""
    began = time.process_time()
    batch = chain._whole or chain.stream.minibatch(chain.step)
    timed.spent["read"] += time.process_time() - began
    words = comm.meet(batch).words
    began = time.process_time()
    batch = batch.over(words)
    timed.spent["pack"] += time.process_time() - began
    return batch


def sums(comm, barrier):
    """Our sum and the library's own of some sizes: the least of 12, processor time of this rank."""
    from pysgrld.chain import mpi as ranks
    from pysgrld.chain.mpi import MPI

    if comm.rank == 0:
        print("| MB | MPI_Allreduce, ms | ours, ms | ratio |\n|---:|---:|---:|---:|")
    ranks.FEW = 0
    for rows in (1_000, 4_000, 8_000, 20_000, 50_000, 100_000):
        counts = np.ones((rows, 112), np.int64).reshape(-1)
        ways = {
            "theirs": lambda: comm.comm.Allreduce(MPI.IN_PLACE, counts, op=MPI.SUM),  # noqa: B023
            "ours": lambda: comm._add_up(counts),  # noqa: B023
        }
        took = dict.fromkeys(ways, float("inf"))
        for _ in range(12):
            for name, way in ways.items():
                counts[:] = 1
                barrier()
                began = time.process_time()
                way()
                took[name] = min(took[name], 1e3 * (time.process_time() - began))
                assert (counts == comm.size).all()
        if comm.rank == 0:
            theirs, ours = took["theirs"], took["ours"]
            print(
                f"| {counts.nbytes / 1e6:.1f} | {theirs:.1f} | {ours:.1f} | {ours / theirs:.2f} |"
            )


def main():
    if launch().size > 1:
        from pysgrld.chain.mpi import Ranks

        comm = Ranks()
        barrier = comm.comm.Barrier
    else:
        from pysgrld.chain.communicator import Communicator

        comm, barrier = Communicator(), lambda: None
    if "--sum" in sys.argv:
        sums(comm, barrier)
        return
    if comm.rank == 0:
        print(
            "| V, K, B | rows | P | read | documents | spread | rows | pack | meet | sum (MB) | moved | "
            "all |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        )
    for case in CASES:
        lazy, t = measured(case, comm, barrier)
        if comm.rank == 0:
            v, k, size, algo, _ = case
            whole = sum(ms for name, ms in t.items() if name != "megabytes")
            print(
                f"| {v:,}, {k}, {size:,} {algo} | {'lazy' if lazy == 'on' else 'all'} | {comm.size} | "
                f"{t['read']:.1f} | {t['documents']:.0f} | {t['spread']:.1f} | {t['rows']:.1f} | "
                f"{t['pack']:.1f} | {t['meet']:.1f} | {t['sum']:.1f} ({t['megabytes']:.1f}) | "
                f"{t['moved']:.1f} | {whole:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
