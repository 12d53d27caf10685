"""I.11: a run is a function of its seed; threads, pauses and instruction sets cannot matter."""

import numpy as np
import pytest

from pysgrld.core import core
from pysgrld.models import lda
from pysgrld.samplers import SAMPLERS, _lazy, _state
from pysgrld.stream import Stream
from pysgrld.types import Block, Documents, Key, Statistics

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


def run(name, form="rows", *, threads=1, seed=1, chain=0, stop=None):
    """Bytes of the state after five iterations; ``stop`` ends, copies the state, and goes on."""
    sampler = SAMPLERS[name]
    log = form.endswith("log")
    block = Block("phi", "simplex", (V, K), 0.001 if log else 0.05, 0, 2000.0,
                  natural=form.startswith("natural"))  # fmt: skip
    init = _state.start_log if log else _state.start_rows
    state = init(Key(seed, chain, 0), block, threads)
    if form == "lazy":
        state = _lazy.start(state)
    if sampler.begin:
        state = sampler.begin(state, block)
    local = lda.Local(K, 0.1, 4, 2, True, threads, core.Workspace())
    stream = Stream(Corpus(), np.arange(40), 7, seed, chain)
    step = 0.3 if sampler.relative else 0.003
    for t in range(5):
        if t == stop:
            state = {k: v.copy() for k, v in state.items()}
            local = lda.Local(K, 0.1, 4, 2, True, threads, core.Workspace())
            stream = Stream(Corpus(), np.arange(40), 7, seed, chain)
        key, batch = Key(seed, chain, t), stream.minibatch(t)
        if form == "lazy":
            state = sampler.catch_up(key, state, batch.words, block, threads, warm=False)
        phi = sampler.rows(state, batch.words, block, threads)
        statistics = lda.local_step(key, {"phi": phi}, batch, local)["phi"]
        state = sampler.step(key, state, statistics, block, step / (1 + t), threads)
    return b"".join(state[k].tobytes() for k in sorted(state))


@pytest.mark.parametrize("form", ["rows", "log"])
def test_gibbs_draw_does_not_depend_on_where_it_starts(form):
    """Red with: a transition of length 1 in place of a fresh draw."""
    block = Block("phi", "simplex", (V, K), 0.05, 0, 2000.0)
    init = _state.start_rows if form == "rows" else _state.start_log
    counts = np.random.default_rng(2).poisson(3, (V, 32))
    statistics = Statistics(np.arange(V, dtype=np.int32), counts, 1.0)
    drawn = []
    for seed in (1, 2):
        state = init(Key(seed, 0, 0), block, 1)
        state = SAMPLERS["gibbs"].step(Key(5, 0, 3), state, statistics, block, 0.1, 1)
        drawn.append(b"".join(state[k].tobytes() for k in sorted(state)))
    assert drawn[0] == drawn[1]


CASES = [("scir", "rows"), ("scir", "lazy"), ("scir", "log"), ("sgrld", "rows"), ("gibbs", "rows"),
         ("tlasgr", "rows"), ("tlfsgr", "rows"), ("smld", "rows"), ("smld-approx", "rows"),
         ("scir", "natural"), ("scir", "natural-log")]  # fmt: skip


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
