"""CPU time of an iteration by its parts, of one rank or several: the table of docs/internals/ranks.md.

    python benchmarks/ranks.py                      # one process
    mpiexec -n 2 python benchmarks/ranks.py         # beside it: the same chain over two
    mpiexec -n 2 python benchmarks/ranks.py --sum   # our sum of counts, and the library's own
    mpiexec -n 8 python benchmarks/ranks.py --bytes # bytes of an iteration, and what the model says
    python benchmarks/ranks.py --networks           # one process: its parts, modelled for a network

Processor time of the last rank, one thread, of each part the least of all iterations. Waiting for
others is left out as far as a barrier before each message does that: what a library spins meanwhile
counts. Numbers of cases may follow.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict

import numpy as np

from pysgrld.chain.communicator import launch
from pysgrld.chain.rank_cost import Cost
from pysgrld.core import core, padded_width
from pysgrld.corpus.minibatches import Epochs, minibatch_words
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.run.machine import rss_bytes
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
#: Parts of an iteration.
PARTS = (
    *(
        "prepared",
        "asked",
        "read",
        "fetched",
        "documents",
        "counts",
        "spread",
        "rows",
        "sums",
        "meet",
    ),
)
#: Gigabits a second of a network, and seconds of a message without length: assumed, not measured.
NETWORKS = {"10 Gb/s": (10.0, 30e-6), "100 Gb/s": (100.0, 2e-6)}
RANKS = (1, 2, 4, 16, 64, 256, 1_024)
LARGE = [
    (100_000, 100, 10_000, "scir", 4),
    (200_000, 500, 2_000, "scir", 4),
    (200_000, 500, 20_000, "scir", 3),
]


def corpus(v, documents):
    """Make documents of 150 tokens, with words by Zipf's law."""
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
    """Adds up processor time of some functions, without that of other timed functions they call."""

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
    """Return a chain after its warm-up, and its words."""
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
    return find_model("lda").chain(options, stream, CorpusFacts(v, some.tokens), run_on), getattr(
        options.settings, "lazy", "off"
    )


def measured(case, comm, barrier):
    """Return the milliseconds of each part of an iteration: the minimum over all iterations."""
    *sizes, algo, iterations = case
    chain, lazy = chain_of(*sizes, algo, comm)
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
        timed.of(comm, "exchange_requests", "meet", barrier)
        timed.of(comm, "request_rows", "asked", barrier)
        timed.of(comm, "fetch", "fetched", barrier)
        timed.of(comm, "_sum_at_owners", "counts", barrier)
        timed.of(comm, "allgather_rows", "sums", barrier)
    for _ in range(iterations):
        timed.spent.clear()
        batch = team_batch(chain, comm, timed)
        chain.advance(batch)
        lines.append(dict(timed.spent))
    core.documents_gibbs, core.spread = gibbs, spread
    chain.close()
    took = {part: 1e3 * min(x.get(part, 0.0) for x in lines) for part in PARTS}
    took["words"] = len(batch.words)
    if comm.size > 1:
        took["words"] = float(np.mean(comm.allgather(len(batch.words))))
        before = comm.metrics()["exchange_bytes"]
        chain.advance(batch)
        took["sent"] = float(np.mean(comm.allgather(comm.metrics()["exchange_bytes"] - before)))
    return lazy, took


def sent(v, k, words, *, lazy, ranks):
    """Bytes that each of some ranks sends in an iteration of SCIR, on average.

    (P - 1)/P of the numbers, topics and counts of the words of a rank's documents, of each 4, 4 and 8
    bytes, and 8 of a count that is yet to be spread; what each unit of rows adds to the sums of topics,
    twice where rows are brought up to date first; and what all say of their documents.
    """
    across, spread = padded_width(k), 8 if k > core.DENSE_TOPICS else 0
    units = (2 if lazy else 1) * (-(-v // core.ROW_UNIT) + ranks)
    each = (4 + 12 * across + spread) * words + 8 * across * units
    return (ranks - 1) / ranks * each + 8 * (2 * ranks + 5)


def check_bytes(comm, barrier):
    """Print the bytes sent in an iteration, counted and modelled."""
    if comm.rank == 0:
        print(
            "| V, K, B | rows | P | counted, MB | modelled, MB | ratio |\n|---|---|---:|---:|---:|---:|"
        )
    for case in (*CASES[:3], LARGE[0], LARGE[1]):
        v, k, size, _, _ = case
        lazy, t = measured((*case[:4], 1), comm, barrier)
        model = sent(v, k, t["words"], lazy=lazy == "on", ranks=comm.size) / 1e6
        counted = t["sent"] / 1e6
        if comm.rank == 0:
            print(
                f"| {v:,}, {k}, {size:,} | {'lazy' if lazy == 'on' else 'all'} | {comm.size} | "
                f"{counted:.2f} | {model:.2f} | {counted / model:.3f} |",
                flush=True,
            )


def networks(comm):
    """Print milliseconds of an iteration by ranks and network, modelled except for one process."""
    parts = np.ones((1, 16_000_000), np.int64)
    out = np.ones(parts.size, np.int64)
    adding = float("inf")  # seconds of a count
    for _ in range(5):
        began = time.process_time()
        core.add_counts(parts=parts, out=out, threads=1)
        adding = min(adding, (time.process_time() - began) / parts.size)
    del parts, out
    print(f"adding a count: {1e9 * adding:.2f} ns\n")
    print("| V, K, B | network | " + " | ".join(f"{n:,}" for n in RANKS) + " | busy |")
    print("|---|---|" + "---:|" * (len(RANKS) + 1))
    for case in LARGE:
        v, k, size, _, _ = case
        lazy, t = measured(case, comm, lambda: None)
        lazy, batch = lazy == "on", corpus(v, size)
        words = {n: len(np.unique(batch.indices[: batch.indptr[max(1, size // n)]])) for n in RANKS}
        shared = (t["documents"] + t["rows"] + t["spread"]) / 1e3
        megabytes = [sent(v, k, words[n], lazy=lazy, ranks=n) / 1e6 for n in RANKS]
        print(
            f"| {v:,}, {k}, {size:,} | MB | " + " | ".join(f"{x:,.1f}" for x in megabytes) + " | |"
        )
        for name, (gigabits, latency) in NETWORKS.items():
            took = []
            for n, sends in zip(RANKS, megabytes, strict=True):
                read = words[n] / words[1] * t["read"] / 1e3
                adds = padded_width(k) * words[n] * adding
                wire = (8e-3 / gigabits * sends + adds) if n > 1 else 0.0
                took.append(shared / n + read + wire + Cost.messages(n) * latency)
            busy = max(n for n, all_ in zip(RANKS, took, strict=True) if shared / n >= all_ / 2)
            line = " | ".join(f"{1e3 * x:,.0f}" for x in took)
            print(f"| | {name} | {line} | {busy:,} |", flush=True)


def team_batch(chain, comm, timed):
    """Read the documents of the next iteration without help of another thread."""
    began = time.process_time()
    batch = chain._whole or chain.stream.minibatch(chain.step)
    timed.spent["prepared"] += time.process_time() - began
    comm.exchange_requests(batch)
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
            "ours": lambda: comm._allreduce(counts),  # noqa: B023
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
    if "--bytes" in sys.argv:
        check_bytes(comm, barrier)
        return
    if "--networks" in sys.argv:
        networks(comm)
        return
    if comm.rank == 0:
        print("| V, K, B | rows | P | " + " | ".join(PARTS) + " | all | sent, MB | resident, MB |")
        print("|---|---|---:|" + "---:|" * (len(PARTS) + 3))
    for case in [CASES[int(n)] for n in sys.argv[1:]] or CASES:
        lazy, t = measured(case, comm, barrier)
        if comm.rank == comm.size - 1:  # the first has all topics where it looks at them
            v, k, size, algo, _ = case
            line = " | ".join(f"{t[part]:.1f}" for part in PARTS)
            print(
                f"| {v:,}, {k}, {size:,} {algo} | {'lazy' if lazy == 'on' else 'all'} | {comm.size} | "
                f"{line} | {sum(t[part] for part in PARTS):.0f} | {t.get('sent', 0.0) / 1e6:.0f} | "
                f"{rss_bytes() / 1e6:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
