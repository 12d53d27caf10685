"""A run is a function of its seed; threads, pauses and instruction sets cannot matter."""

import numpy as np
import pytest

from pysgrld.core import core
from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.token_topics import GibbsDocuments
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers import lazy_rows as _lazy
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.samplers.tlasgr import ScaledSettings
from pysgrld.types import Block, Documents, Key

V, K = 150, 20


class Corpus:
    """Forty random documents."""

    def __init__(self):
        rng = np.random.default_rng(1)
        table = rng.poisson(0.4, (40, V))
        self.rows = [(np.flatnonzero(r).astype(np.int32), r[r > 0].astype(np.int32)) for r in table]

    def take(self, ids):
        chosen = [self.rows[i] for i in ids]
        return Documents(
            np.cumsum([0] + [len(w) for w, _ in chosen]),
            np.concatenate([w for w, _ in chosen]),
            np.concatenate([c for _, c in chosen]),
        )


@pytest.fixture(autouse=True)
def lazy_rows_stay_lazy(monkeypatch):
    """However small the topics of this corpus are."""
    monkeypatch.setattr(_lazy, "DENSE", 0.0)


#: Settings of forms of a state that are not the default ones.
SETTINGS = {
    "lazy": ScirSettings(lazy="on"),
    "natural": ScirSettings("natural"),
    "natural-log": ScirSettings("natural"),
    "reflect": ScaledSettings("reflect"),
}


def run(name, form="rows", *, threads=1, seed=1, chain=0, stop=None):
    """Bytes of the state after five iterations; ``stop`` ends, copies the state, and goes on."""
    sampler = SAMPLERS[name]
    log = form.endswith("log")
    block = Block(
        "phi",
        "simplex",
        (V, K),
        0.001 if log else 0.05,
        0,
        2000.0,
        sparse=True,
        settings=SETTINGS.get(form),
    )
    state = sampler.start(Key(seed, chain, 0), block, threads).end_warm_up()
    documents = documents_of(threads)
    stream = Epochs(Corpus(), np.arange(40), 7, seed, chain)
    step = 0.3 if sampler.relative else 0.003
    for t in range(5):
        if t == stop:
            kept = {name: array.copy() for name, array in state.arrays().items()}
            state = sampler.from_checkpoint(block, kept, threads)
            documents = documents_of(threads)
            stream = Epochs(Corpus(), np.arange(40), 7, seed, chain)
        key, batch = Key(seed, chain, t), stream.minibatch(t)
        state.catch_up(key, batch.words)
        found = documents.visit(key, {"phi": state.rows(batch.words)}, batch)["phi"]
        state.step(key, found, step / (1 + t))
    return bytes_of(state)


def documents_of(threads):
    return GibbsDocuments(
        topics=K, alpha=0.1, sweeps=4, kept=2, rao_blackwell=True, threads=threads
    )


def bytes_of(state):
    return b"".join(a.tobytes() for _, a in sorted(state.arrays().items()))


@pytest.mark.parametrize("form", ["rows", "log"])
def test_gibbs_draw_does_not_depend_on_where_it_starts(form):
    """Red with: a transition of length 1 in place of a fresh draw."""
    block = Block("phi", "simplex", (V, K), 0.05 if form == "rows" else 0.001, 0, 2000.0)
    counts = np.random.default_rng(2).poisson(3, (V, 32))
    found = Counts(np.arange(V, dtype=np.int32), counts, 1.0)
    drawn = []
    for seed in (1, 2):
        state = SAMPLERS["gibbs"].start(Key(seed, 0, 0), block, 1).end_warm_up()
        state.step(Key(5, 0, 3), found, 0.1)
        drawn.append(bytes_of(state))
    assert drawn[0] == drawn[1]


CASES = [
    ("scir", "rows"),
    ("scir", "lazy"),
    ("scir", "log"),
    ("sgrld", "rows"),
    ("sgrhmc", "rows"),
    ("gibbs", "rows"),
    ("tlasgr", "rows"),
    ("tlasgr", "reflect"),
    ("tlfsgr", "rows"),
    ("smld", "rows"),
    ("smld-approx", "rows"),
    ("scir", "natural"),
    ("scir", "natural-log"),
]


@pytest.mark.parametrize("case", CASES, ids="-".join)
@pytest.mark.parametrize("threads", [2, 7])
def test_threads_give_identical_bytes_after_five_iterations(case, threads):
    """Red with: documents keyed by the slot of scratch memory they happen to use; rows keyed by
    the thread.
    """
    assert run(*case, threads=threads) == run(*case)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_instruction_sets_give_identical_bytes_after_five_iterations(case):
    """Red with: a constant of the normals one ulp off on one of them."""
    before, seen = core.isa(), set()
    for name in core.available_isas():
        core.use_isa(name)
        seen.add(run(*case))
    core.use_isa(before)
    assert len(seen) == 1


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_stopped_at_three_and_resumed_equals_uninterrupted(case):
    """Red with: documents keyed by the slot of scratch memory they happen to use."""
    assert run(*case, stop=3) == run(*case)


@pytest.mark.parametrize("case", CASES, ids="-".join)
@pytest.mark.parametrize("changed", ["seed", "chain"])
def test_another_seed_or_chain_gives_another_state(case, changed):
    """Red with: the chain left out of the counter."""
    assert run(*case, **{changed: 2}) != run(*case)
