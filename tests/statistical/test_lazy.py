"""Lazy rows against dense ones (docs/internals/mathematics.md, "Lazy rows"). A topic is a replicate.

Counts are prescribed, so that topics are independent and only what rows hold when they are read can
differ.
"""

import gzip
from pathlib import Path

import numpy as np
import pytest
from oracles.judge import KS, Z, ks_two, z_mean, z_two
from trial_counts import counts

from pysgrld import LDA
from pysgrld.core import padded_width
from pysgrld.corpus.minibatches import Epochs
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.table import find_model
from pysgrld.samplers import lazy_rows as _lazy
from pysgrld.samplers.scir import ScirSettings
from pysgrld.samplers.state import Counts
from pysgrld.types import Documents, Minibatch

pytestmark = pytest.mark.statistical

V, K, ETA = 6, 20_000, 0.3
#: Words and their counts in each iteration: word 4 comes twice with a gap of nine, word 5 never.
SCRIPT = [
    {0: 3, 4: 12},
    {0: 1, 1: 2},
    {1: 5},
    {0: 2, 2: 1},
    {1: 1},
    {0: 4, 2: 30},
    {1: 3},
    {0: 1},
    {0: 2, 1: 1},
    {3: 2},
    {0: 3, 4: 9},
    {0: 1, 2: 2},
]
FACTOR = 0.7


def batch_of(words):
    """A minibatch that only says which words it has."""
    nothing = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
    return Minibatch(*nothing, np.array(sorted(words), np.int32), np.zeros(0, np.int64), 1.0)


def chain_of(lazy, *, seed=1, warm_up=0, k=K, threads=1):
    """A chain whose documents say what `SCRIPT` does, and which notes the rows that they read."""
    settings = {
        "algo": "scir",
        "model": "lda",
        "seed": seed,
        "warm-up": warm_up,
        "topics": k,
        "step-size": (0.25, 5.0, 0.5),
        "minibatch": 1,
        "alpha": 0.1,
        "eta": ETA,
        "sweeps": 1,
        "kept-sweeps": 1,
        "counts": "sampled",
        "lazy": lazy,
        "scale-weight": (0.5, 21.0, 0.7),
    }
    nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    options = LDAOptions.from_values(settings, ScirSettings.from_values(settings))
    stream = Epochs.of(options, nobody, np.arange(1))
    chain = find_model("lda").chain(options, stream, CorpusFacts(V, V * k), RunOn(threads))
    chain.read, chain.dense = {}, []

    def visit(key, phis, batch, comm):
        chain.read[key.step] = chain.states["phi"].g[batch.words, :k].astype(np.float64)
        if lazy == "on" and (chain.states["phi"].sums[:k] < _lazy.DENSE).any():
            chain.dense.append(key.step)
        counts = np.zeros((len(batch.words), padded_width(k)), np.int64)
        said = SCRIPT[key.step % len(SCRIPT)]
        counts[:, :k] = np.array([said[w] for w in batch.words])[:, None]
        return {"phi": Counts(batch.words, counts, FACTOR)}

    chain.documents.visit = visit
    return chain


def advance(chain, steps):
    for _ in range(steps):
        chain.advance(batch_of(SCRIPT[chain.step % len(SCRIPT)]))
    return chain


def now(chain):
    """All rows as of now, (V, K): a copy where they are lazy."""
    state = chain.states["phi"]
    g = state.current_rows_and_sums(chain.key)[0] if lazy(chain) else state.g
    return g[:, : chain.topics.shape[1]].astype(np.float64)


def lazy(chain):
    return isinstance(chain.states["phi"], _lazy.LazyRows)


@pytest.fixture
def never_dense(monkeypatch):
    monkeypatch.setattr(_lazy, "DENSE", 0.0)


@pytest.mark.parametrize(("warm_up", "dense_below"), [(0, 0.0), (5, 0.0), (0, 1.8), (5, 3.0)])
def test_rows_have_the_dense_law_when_read_and_at_the_end(warm_up, dense_below, monkeypatch):
    """Below 1.8 or 3 lies one or another of the topics in some iterations and none in others.

    Red with: catch-up after the documents; no catch-up; lengths of one step for all that were
    missed; shape eta + 1 in the catch-up; ``last`` not set after a step; with a warm-up, rows not
    brought up to date at its end.
    """
    monkeypatch.setattr(_lazy, "DENSE", dense_below)
    lazy = advance(chain_of("on", seed=1, warm_up=warm_up), len(SCRIPT))
    dense = advance(chain_of("off", seed=2, warm_up=warm_up), len(SCRIPT))
    assert (0 < len(lazy.dense) < 10) == (dense_below > 0)
    for t, rows in lazy.read.items():
        for i, values in enumerate(rows):
            assert ks_two(values, dense.read[t][i]) < KS, (t, i)
    for w, (a, b) in enumerate(zip(now(lazy), now(dense), strict=True)):
        assert ks_two(a, b) < KS, w


def test_the_warm_up_is_the_same_lazily(never_dense):
    """Red with: steps of noise in place of their mean; lengths of one step; eta left out."""
    lazy, dense = (advance(chain_of(how, warm_up=99), 12) for how in ("on", "off"))
    for t, rows in lazy.read.items():
        np.testing.assert_allclose(rows, dense.read[t], rtol=1e-5)
    np.testing.assert_allclose(now(lazy), now(dense), rtol=1e-5)
    sums = lazy.states["phi"].sums[:K]
    np.testing.assert_allclose(sums, dense.states["phi"].sums[:K], rtol=1e-5)


def test_no_row_takes_noise_free_steps_into_sampling(never_dense):
    """Red with: rows not brought up to date at the end of the warm-up."""
    chain = advance(chain_of("on", warm_up=5, k=16), 5)
    warmed = float(chain.states["phi"].now[0])
    advance(chain, 1)
    assert (chain.states["phi"].last >= warmed).all()


def test_sums_are_the_conditional_mean_of_the_topics_sums_with_the_variance_of_e6(never_dense):
    """S_k - Ebar_k has mean 0 and variance sum 2 g (e - e^2) + eta (1 - e)^2.

    Red with: decay of Ebar by e^-2h; V eta left out; expected values without eta; Ebar not
    corrected by the catch-up.
    """
    chain = advance(chain_of("on"), len(SCRIPT))
    state = chain.states["phi"]
    error = now(chain).sum(axis=0) - state.sums[:K]
    e = np.exp(-(state.now - state.last))[:, None]
    variance = (2 * state.g[:, :K] * (e - e * e) + ETA * (1 - e) ** 2).sum(axis=0)
    assert abs(z_mean(error, 0.0)) < Z
    assert abs(z_mean(error**2 - variance, 0.0)) < Z
    dense = advance(chain_of("off", seed=2), len(SCRIPT))
    assert abs(z_two(state.sums[:K], dense.states["phi"].sums[:K])) < Z


def test_recursion_is_the_closed_form_after_500_iterations(never_dense, monkeypatch):
    """sum_w g e^-tau + eta (1 - e^-tau), to 1e-10.

    Red with: eta in double, which the kernel has as float32; decay after the correction.
    """
    monkeypatch.setattr(_lazy, "RENEW", 10**9)
    chain = advance(chain_of("on", k=40), 500)
    state, eta = chain.states["phi"], float(np.float32(ETA))
    e = np.exp(-(state.now - state.last))[:, None]
    closed = (state.g.astype(np.float64) * e + eta * (1 - e)).sum(axis=0)
    np.testing.assert_allclose(state.sums[:40], closed[:40], rtol=1e-10)


def test_sums_are_those_of_all_rows_every_so_many_iterations(never_dense, monkeypatch):
    """Red with: renewal left out; counted by the process."""
    monkeypatch.setattr(_lazy, "RENEW", 7)
    chain = chain_of("on", k=16)
    visit, seen = chain.documents.visit, []

    def look(key, phis, batch, comm):
        state = chain.states["phi"]
        if (state.last == state.now).all():
            seen.append(key.step)
            np.testing.assert_allclose(state.sums, state.g.sum(axis=0, dtype=float), 1e-6)
        return visit(key, phis, batch, comm)

    chain.documents.visit = look
    advance(chain, 22)
    assert seen == [0, 7, 14, 21]


def test_small_topics_make_all_rows_dense_bit_for_bit(monkeypatch):
    """Red with: the lazy step there too; rows not current after the dense step."""
    monkeypatch.setattr(_lazy, "DENSE", np.inf)
    lazy, dense = (advance(chain_of(how, k=40), 12).states["phi"] for how in ("on", "off"))
    assert lazy.g.tobytes() == dense.g.tobytes()
    assert lazy.sums.tobytes() == dense.sums.tobytes()


def test_a_look_at_some_rows_is_what_a_look_at_all_gives_them(never_dense):
    """Red with: draws keyed by the place in the list."""
    chain = advance(chain_of("on", k=40), 9)
    some = np.array([1, 3, 5], np.int32)
    state, key = chain.states["phi"], chain.key._replace(step=9)
    few, _ = state.current_rows_and_sums(key, some)
    assert few.tobytes() == state.current_rows_and_sums(key)[0][some].tobytes()


def test_all_topics_as_of_now_are_normalised_by_their_own_sums(never_dense):
    """Red with: sums of the copy not corrected."""
    chain = advance(chain_of("on", k=40), 9)
    np.testing.assert_allclose(chain.draw()["phi"][:, :40].sum(axis=0), 1.0, rtol=1e-6)


def test_the_mean_adds_what_is_expected_of_each_row(never_dense):
    """Against the mean over topics of drawn copies.

    Red with: rows as they were last drawn; eta left out.
    """
    chain = advance(chain_of("on"), 9)
    total = np.zeros((V, padded_width(K)))
    chain.add_to({"phi": total})
    drawn = now(chain) / chain.states["phi"].sums[:K]
    for w in range(V):
        assert abs(z_mean(total[w, :K] - drawn[w], 0.0)) < Z


# ---- the same bits


def state_bytes(chain):
    if chain.step == 12 and lazy(chain):
        assert 0 < len(chain.dense) < 12
    return b"".join(a.tobytes() for _, a in sorted(chain.arrays().items()))


@pytest.fixture
def busy(monkeypatch):
    """All that can happen to lazy rows happens within twelve iterations."""
    monkeypatch.setattr(_lazy, "DENSE", 4.0)
    monkeypatch.setattr(_lazy, "RENEW", 5)


@pytest.mark.parametrize("stop", range(1, 12))
def test_stopped_anywhere_and_resumed_equals_undisturbed(stop, busy):
    """Red with: ``now`` left out of what is kept; renewal counted by the process."""
    first = advance(chain_of("on", k=40, warm_up=3), stop)
    kept = {name: a.copy() for name, a in first.arrays().items()}
    second = chain_of("on", k=40, warm_up=3)
    second.restore(stop, kept)
    advance(second, 12 - stop)
    assert state_bytes(second) == state_bytes(advance(chain_of("on", k=40, warm_up=3), 12))


def test_looking_often_or_never_leaves_the_same_state(busy):
    """Red with: a look that corrects the sums of the chain itself."""
    often, never = chain_of("on", k=40, warm_up=3), chain_of("on", k=40, warm_up=3)
    for _ in range(12):
        advance(often, 1)
        often.draw()
        often.draw(np.array([0, 4], np.int32))
        often.add_to({"phi": np.zeros((V, padded_width(40)))})
    assert state_bytes(often) == state_bytes(advance(never, 12))


# ---- end to end


def bible():
    lines = gzip.decompress(
        (Path(__file__).parents[2] / "data" / "docword.bible.txt.gz").read_bytes()
    ).split(b"\n")
    documents, words = int(lines[0]), int(lines[1])
    d, w, n = np.array([line.split() for line in lines[3:] if line], np.int64).T
    counts = np.zeros((documents, words), np.int32)
    counts[d - 1, w - 1] = n
    return counts


@counts(1, 5)
def test_held_out_perplexity_is_the_dense_one_within_half_a_per_cent(n):
    """Mean of some seeds. Red with: no catch-up; held-out words scored as they were last drawn."""
    matrix, ratios = bible(), []
    for seed in range(n):
        scores = []
        for how in ("off", "on"):
            lda = LDA(
                10,
                minibatch=50,
                sweeps=5,
                step_size=(0.467, 1.0, 0.0),
                max_iter=250,
                lazy=how,
                random_state=seed,
            )
            scores.append(lda.fit(matrix).perplexity_)
        sums = lda._posterior.chain.states["phi"].sums[:10]
        assert sums.min() > _lazy.DENSE  # rows were lazy indeed
        ratios.append(np.log(scores[1] / scores[0]))
    assert abs(np.mean(ratios)) < 0.005, ratios
