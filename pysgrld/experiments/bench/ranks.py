"""Benchmark of training iterations with MPI, to predict the useful number of processes (ranks).

All ranks measure wall time together, and the first rank reports it. The reported values are medians
of several repeats, but the model uses the fastest iteration, which other load on the machine
disturbs least.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pysgrld.chain.communicator import Collected, Communicator
from pysgrld.chain.rank_cost import Cost
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.minibatches import Epochs, Source, minibatch_words
from pysgrld.errors import LaunchError
from pysgrld.experiments.bench.timing import SCHEMA, machine, result_row
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts, Resolved
from pysgrld.run.machine import threads
from pysgrld.train.begin import begin
from pysgrld.types import Documents, Minibatch

#: Number of timed repeats, which follow a first repeat that is not timed.
REPEATS = 5
#: Number of timed repeats in a quick benchmark.
QUICK_REPEATS = 1
#: Number of messages that are timed together.
MESSAGES = 100
#: Megabytes of counts that the ranks send to each other.
SIZES = (1.0, 10.0, 100.0)
#: Megabytes of counts that the ranks send to each other in a quick benchmark.
QUICK_SIZES = (0.1, 3.0)
#: Number of counts in a row of the matrix that is sent.
ACROSS = 112
#: Sizes of the measured minibatches, as multiples of the smallest one.
TIMES = (1, 4, 16, 64)
#: Sizes of the measured minibatches in a quick benchmark.
QUICK_TIMES = (1, 2)
#: If an iteration takes more seconds than this, no larger minibatch is measured.
LONG = 5.0
#: Numbers of ranks for which the model predicts the time of an iteration.
RANKS = (1, 2, 4, 8, 16, 32, 64)
#: Number of generated documents in a minibatch.
MINIBATCH = 400
#: Vocabulary size of the generated documents.
WORDS = 20_000
#: Number of tokens of each generated document.
TOKENS = 150


class Setting(NamedTuple):
    """Training documents and number of topics of a benchmark with several ranks.

    Attributes
    ----------
    source : Source
    name : str
    documents, words, tokens : int
        Totals D, V and N.
    topics : int
    """

    source: Source
    name: str
    documents: int
    words: int
    tokens: int
    topics: int

    def options(self, minibatch: int | None) -> Resolved:
        """Return the options of a training run that takes samples from its second iteration on."""
        of_words = minibatch_words(self.source, np.arange(self.documents))
        settings = {"topics": self.topics, "minibatch": minibatch, "warm-up": 1, "seed": 1}
        explicit = {name: value for name, value in settings.items() if value is not None}
        return resolve(
            explicit, Facts(self.documents, self.words, self.tokens, 0, of_words)
        ).options


def measure_ranks(
    comm: Communicator,
    *,
    quick: bool = False,
    corpus: Path | None = None,
    topics: int | None = None,
    minibatch: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Measure the times of messages and iterations; predict times for other numbers of ranks.

    Parameters
    ----------
    comm : Communicator
        At least two members; each makes the same call.
    quick : bool
        Whether to measure few sizes once each, as a check that the benchmark works.
    corpus : Path, optional
        Training corpus, visible to all members; by default generated documents.
    topics, minibatch : int, optional
        Default: 100 topics, and the default minibatch of training, but 400 for generated documents.
    tell : callable (done, total), optional

    Returns
    -------
    dict
        ``schema``, ``machine``, ``quick`` and ``rows`` as `results.measure` gives them;
        ``ranks``, ``nodes``, ``library``; ``corpus`` with ``name``, ``documents``, ``words``, ``topics``;
        and ``model``, by minibatch: ``minibatch``, number of ``busy`` ranks, and for each number of
        ``ranks`` the ``ms`` of an iteration and the share of it that is ``shared`` work.

    Raises
    ------
    LaunchError
        If the communicator has only one member.
    SgmcError
        If the corpus cannot be read.
    """
    if comm.size < 2:
        raise LaunchError(
            "--mpi needs at least two processes: start it with mpiexec -n 2 sgmc bench --mpi"
        )
    repeats = QUICK_REPEATS if quick else REPEATS
    sizes, times = (QUICK_SIZES, QUICK_TIMES) if quick else (SIZES, TIMES)
    total = 1 + len(sizes) + len(times)
    hosts = comm.allgather(comm.host)
    latency = _messages(comm, repeats)
    rows = [
        result_row("messages", "an empty message to all ranks", "us", [1e6 * x for x in latency])
    ]
    for done, size in enumerate(sizes, 1):
        tell(done, total)
        took = _added(comm, int(125_000 * size), repeats)
        rows.append(result_row("messages", f"{size:g} MB of counts of words", "ms", took))
    model = []
    with tempfile.TemporaryDirectory(prefix="sgmc-bench-") as scratch:
        setting = _setting(
            corpus, topics or 100, (minibatch or MINIBATCH) * times[-1], Path(scratch)
        )
        comm.exchange_requests()  # Wait until every rank has the documents.
        first = minibatch or (setting.options(None).minibatch if corpus else MINIBATCH)
        for done, size in enumerate((first * many for many in times), 1 + len(sizes)):
            tell(done, total)
            if size > max(first, setting.documents):
                break
            options = setting.options(size)
            group = f"an iteration, {options.minibatch:,} documents, {comm.size} ranks"
            iteration_times = _iterations(comm, setting, options, repeats)
            rows += [result_row(group, name, "ms", took) for name, took in iteration_times.items()]
            fastest = int(np.argmin(iteration_times["all of it"]))
            whole, sampling, moving, _, exchange = (
                took[fastest] / 1e3 for took in iteration_times.values()
            )
            one = min(latency) / math.ceil(math.log2(comm.size))
            cost = Cost.measured(comm.size, whole, sampling + moving, exchange, one)
            model.append(
                {
                    "minibatch": options.minibatch,
                    "busy": cost.busy(),
                    "ranks": list(RANKS),
                    "ms": [round(1e3 * cost.seconds(n), 3) for n in RANKS],
                    "shared": [round(cost.share(n), 3) for n in RANKS],
                }
            )
            if any(comm.allgather(whole > LONG)):
                break
    tell(total, total)
    return {
        "schema": SCHEMA,
        "machine": machine(),
        "quick": quick,
        "rows": rows,
        "ranks": comm.size,
        "nodes": len(set(hosts)),
        "library": comm.library,
        "corpus": {
            name: getattr(setting, name) for name in ("name", "documents", "words", "topics")
        },
        "model": model,
    }


def _setting(corpus: Path | None, topics: int, documents: int, scratch: Path) -> Setting:
    """Open a corpus, or generate ``documents`` documents with Zipf-distributed words."""
    if corpus is not None:
        read = open_corpus([str(corpus)], CorpusOptions(), store=scratch / "corpus")
        return Setting(read, corpus.name, read.documents, read.words, read.tokens, topics)
    rng = np.random.default_rng(0)
    weights = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    words = np.searchsorted(weights / weights[-1], rng.random((documents, TOKENS)))
    words.sort(axis=1)
    new = np.ones(words.shape, bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    starts = np.flatnonzero(new)
    made = Documents(
        np.append(0, np.cumsum(new.sum(axis=1))),
        words.reshape(-1)[starts].astype(np.int32),
        np.diff(np.append(starts, words.size)).astype(np.int32),
    )
    return Setting(made, "made documents", documents, WORDS, TOKENS * documents, topics)


def _messages(comm: Communicator, repeats: int) -> list[float]:
    """Return the seconds that a short message among all ranks takes, for each repeat."""
    times = []
    for _ in range(repeats + 1):
        before = comm.metrics()["exchange_seconds"]
        for _ in range(MESSAGES):
            comm.exchange_requests()
        times.append(max(1e-9, (comm.metrics()["exchange_seconds"] - before) / MESSAGES))
    return times[1:]


def _added(comm: Communicator, cells: int, repeats: int) -> list[float]:
    """Return the milliseconds that ranks take to exchange word counts, for each repeat."""
    counts, times = np.ones((-(-cells // ACROSS), ACROSS), np.int64), []
    none, ends = np.zeros(0, np.int32), np.zeros(1, np.int64)
    words = np.arange(len(counts), dtype=np.int32)
    batch, _ = comm.request_rows(Minibatch(ends, none, none, words, ends[1:], 1.0))
    for _ in range(repeats + 1):
        comm.exchange_requests()
        began = time.perf_counter()
        comm.collect(lambda _: Collected((counts,)), batch)
        times.append(1e3 * (time.perf_counter() - began))
    return times[1:]


def _iterations(
    comm: Communicator, setting: Setting, options: Resolved, repeats: int
) -> dict[str, list[float]]:
    """Return the milliseconds of an iteration and of each of its parts, for each repeat."""
    stream = Epochs.of(options, setting.source, np.arange(setting.documents), comm.rank, comm.size)
    run_on = RunOn(threads(None).number, comm=comm)
    chain = begin(options, stream, CorpusFacts(setting.words, setting.tokens), run_on).chain
    times: dict[str, list[float]] = {
        name: []
        for name in (
            "all of it",
            "documents sampled",
            "topics moved",
            "topics read",
            "counts and topics exchanged",
        )
    }
    try:
        for _ in range(2 + repeats):
            batch = chain.next_batch()
            assert batch is not None  # The stream of these minibatches never ends.
            comm.exchange_requests()
            before, began = comm.metrics(), time.perf_counter()
            comm.exchange_requests(batch)
            chain.advance(batch)
            whole, now = time.perf_counter() - began, comm.metrics()
            sampling, moving, exchange = (
                now[f"{name}_seconds"] - before[f"{name}_seconds"]
                for name in ("sampling", "moving", "exchange")
            )
            documents_time = max(0.0, whole - sampling - moving - exchange)
            parts = whole, sampling, moving, documents_time, exchange
            for took, seconds in zip(times.values(), parts, strict=True):
                took.append(1e3 * max(1e-6, seconds))
    finally:
        chain.close()
    # Leave out the first two iterations. The first is the warm-up, and the second also takes a
    # posterior sample.
    return {name: took[2:] for name, took in times.items()}
