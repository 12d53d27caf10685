"""Steps of simplex rows against their oracles: values where noise can be repeated, and contracts.

The law of the random steps is tested in tests/statistical.
"""

import numpy as np
import pytest
from oracles import simplex as oracle
from oracles.philox import Address

from pysgrld.core import core, padded_width

SIZES = [(1, 1), (1, 17), (3, 15), (70, 16), (64, 17), (65, 100), (130, 129), (5, 300)]


def named(step):
    return step.__name__


def simplex_sgrhmc(*, g, **arguments):
    """With momenta that are 1 before the step."""
    r = np.ones(g.shape, "float32")
    core.simplex_sgrhmc(g=g, r=r, rate=0.5, **arguments)


STEPS = [core.simplex_scir, core.simplex_sgrld, simplex_sgrhmc, core.simplex_relax]


def make_state(v, k, seed=0, low=0.0):
    """g, its sums, and counts of some rows only."""
    rng = np.random.default_rng(seed)
    g = core.zeros(v, padded_width(k), "float32")
    g[:, :k] = rng.gamma(0.5, 3.0, size=(v, k)) + low
    rows = np.flatnonzero(rng.random(v) < 0.6).astype(np.int32)
    counts = np.zeros((len(rows), padded_width(k)), np.int64)
    counts[:, :k] = rng.poisson(2.0, (len(rows), k))
    return {"g": g, "sums": g.sum(axis=0, dtype=np.float64), "rows": rows, "counts": counts}


def settings(k, **changes):
    return {
        "topics": k,
        "eta": 0.1,
        "factor": 1.5,
        "h": 0.02,
        "seed": 5,
        "chain": 1,
        "step": 9,
        "stream": 2,
        "threads": 1,
        "work": core.Workspace(),
    } | changes


def dense(state, k, factor=1.5):
    """g (V, K) in double and N_kw (V, K)."""
    n = np.zeros((len(state["g"]), k))
    n[state["rows"]] = state["counts"][:, :k] * factor
    return state["g"][:, :k].astype(np.float64), n


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_relax_is_the_oracle_s(v, k):
    state = make_state(v, k)
    expected = oracle.simplex_relax(*dense(state, k), 0.1, 0.02)
    core.simplex_relax(**state, **settings(k))
    np.testing.assert_allclose(state["g"][:, :k], expected, rtol=1e-6)


def test_relax_of_infinite_length_is_the_shape():
    state = make_state(20, 5)
    core.simplex_relax(**state, **settings(5, h=np.inf))
    np.testing.assert_allclose(state["g"][:, :5], 0.1 + dense(state, 5)[1], rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_subnormal_numbers_are_flushed_to_zero(isa, threads):
    """Read or made, on every thread. Red with: FPCR, or MXCSR, left as it is."""
    state = make_state(100, 5) | {
        "rows": np.zeros(0, np.int32),
        "counts": core.zeros(0, 16, "int64"),
    }
    state["g"][:, :5] = np.array([1e-40, 1.5e-38, 4.0, 2e-38, 2.5e-38])
    core.simplex_relax(**state, **settings(5, eta=1.2e-38, h=np.log(2.0), threads=threads))
    halved = np.float32([0.0, 0.0, 2.0, 0.0, 1.25e-38])
    np.testing.assert_array_equal(state["g"][:, :5], np.tile(halved, (100, 1)))


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_sgrld_is_the_oracle_s_with_the_same_normals(v, k):
    state = make_state(v, k)
    z = oracle.sgrld_normals((v, k), 5, 1, 9, 2)
    expected = oracle.simplex_sgrld(*dense(state, k), 0.1, 0.02, z)
    core.simplex_sgrld(**state, **settings(k))
    np.testing.assert_allclose(state["g"][:, :k], expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize(("v", "k"), SIZES)
@pytest.mark.parametrize("eta", [0.1, 0.9])
def test_sgrhmc_is_the_oracle_s_with_the_same_normals(v, k, eta):
    """Red with: no correction; half a kick; a mirror that keeps the momentum; friction of 2 g."""
    state, r = make_state(v, k, low=0.01), core.zeros(v, padded_width(k), "float32")
    r[:, :k] = np.random.default_rng(1).normal(size=(v, k))
    z = oracle.row_normals((v, k), Address(5, 1, "sgrhmc_noise", 9, 2))
    g, n = dense(state, k)
    moved, fast = oracle.simplex_sgrhmc(g, r[:, :k].astype(float), n, eta, 0.5, 0.02, z)
    core.simplex_sgrhmc(**state, r=r, rate=0.5, **settings(k, eta=eta))
    np.testing.assert_allclose(state["g"][:, :k], moved, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(r[:, :k], fast, rtol=1e-4, atol=1e-3)
    assert not r[:, k:].any()


@pytest.mark.parametrize("isa", core.available_isas())
@pytest.mark.parametrize("factor", [1.0, 2.0**-24, 0.3])
def test_counts_of_every_size_become_floats_of_one_rounding(isa, factor):
    """Up to 2^62, where a conversion in two halves has bits to lose.

    Red with: the constant of the halves off by 2^52; the lower half read as a signed number.
    """
    counts = np.random.default_rng(1).integers(0, 2**62, (6, 16))
    counts >>= np.random.default_rng(2).integers(0, 62, (6, 16))
    counts[0, :4] = [0, 2**31, 2**32 - 1, 2**53 + 1]
    g = core.zeros(6, 16, "float32")
    before = core.isa()
    core.use_isa(isa)
    core.simplex_relax(
        g=g,
        sums=np.zeros(16),
        rows=np.arange(6, dtype=np.int32),
        counts=counts,
        **settings(16, h=np.inf, eta=1e-30, factor=factor),
    )
    core.use_isa(before)
    expected = (counts.astype(np.float64) * factor).astype(np.float32)
    assert (g == expected + np.float32(1e-30)).all()


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_start_is_the_oracle_s(v, k):
    state = {"g": core.zeros(v, padded_width(k), "float32"), "sums": np.zeros(padded_width(k))}
    core.simplex_start(
        **state, topics=k, scale=2.5, seed=5, chain=1, stream=3, work=core.Workspace(), threads=1
    )
    expected = oracle.simplex_start((v, k), 2.5, 5, 1, 3)
    np.testing.assert_allclose(state["g"][:, :k], expected, rtol=1e-6, atol=3e-7)
    np.testing.assert_allclose(state["sums"][:k], expected.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_phi_is_normalised_g(v, k):
    state = make_state(v, k, low=1e-3)
    phi = core.simplex_phi(g=state["g"], sums=state["sums"], topics=k, rows=None, threads=1)
    np.testing.assert_allclose(phi[:, :k], oracle.simplex_phi(dense(state, k)[0]), rtol=1e-6)
    assert not phi[:, k:].any()


def test_phi_of_chosen_rows_is_those_rows_of_phi():
    state = make_state(300, 20)
    common = {"g": state["g"], "sums": state["sums"], "topics": 20, "threads": 2}
    rows = np.array([299, 0, 5, 5], np.int32)
    phi = core.simplex_phi(**common, rows=rows)
    assert phi.tobytes() == core.simplex_phi(**common, rows=None)[rows].tobytes()


def test_phi_in_memory_that_is_lent_is_the_holder_s_alone():
    """Red with: memory lent to two at a time; memory that does not go back."""
    state, work = make_state(300, 20), core.Workspace()
    common = {"g": state["g"], "sums": state["sums"], "topics": 20, "threads": 1, "work": work}
    own = core.simplex_phi(**common | {"work": None}, rows=None)
    few = np.array([299, 0], np.int32)
    first = core.simplex_phi(**common, rows=None)
    second = core.simplex_phi(**common, rows=few)
    assert first.tobytes() == own.tobytes()
    assert second.tobytes() == own[few].tobytes()
    address = first.ctypes.data
    del first
    assert core.simplex_phi(**common, rows=few[:1]).ctypes.data == address
    view = core.simplex_phi(**common, rows=few).T
    del work, common
    assert view.T.tobytes() == own[few].tobytes()


def test_phi_of_a_zero_cell_is_the_floor():
    g = core.zeros(2, 16, "float32")
    g[0, :3] = 1.0
    phi = core.simplex_phi(g=g, sums=g.sum(axis=0, dtype=float), topics=3, rows=None, threads=1)
    assert phi[1, :3].tolist() == [np.float32(core.PHI_FLOOR)] * 3


@pytest.mark.parametrize("step", STEPS, ids=named)
@pytest.mark.parametrize(("v", "k"), SIZES)
def test_step_keeps_pads_at_zero_and_sums_up_to_date(step, v, k):
    state = make_state(v, k)
    for t in range(3):
        step(**state, **settings(k, step=t))
    assert not state["g"][:, k:].any()
    assert (state["g"] >= 0).all()
    np.testing.assert_allclose(state["sums"], state["g"].sum(axis=0, dtype=np.float64), rtol=1e-12)


@pytest.mark.parametrize("step", STEPS, ids=named)
@pytest.mark.parametrize(("v", "k"), SIZES)
def test_threads_1_2_7_and_every_instruction_set_give_the_same_bytes(step, v, k):
    before, seen = core.isa(), set()
    for name in core.available_isas():
        core.use_isa(name)
        for threads in (1, 2, 7):
            state = make_state(v, k)
            state["counts"] *= np.where(state["rows"] % 3 == 0, 50, 1)[:, None]
            for t in range(2):
                step(**state, **settings(k, step=t, threads=threads))
            seen.add((state["g"].tobytes(), state["sums"].tobytes()))
    core.use_isa(before)
    assert len(seen) == 1


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("isa", core.available_isas())
def test_log_step_gives_the_same_bytes_as_on_one_thread_of_the_baseline(isa, threads):
    rng = np.random.default_rng(1)
    start, shape = np.log(rng.gamma(3.0, size=(50, 7))), rng.gamma(0.5, 5, size=(50, 7)) + 1e-3

    def run(n):
        log_g = start.copy()
        core.simplex_scir_log(
            log_g=log_g, shape=shape, h=0.3, seed=1, chain=0, step=2, stream=0, threads=n
        )
        return log_g.tobytes()

    before = core.isa()
    core.use_isa("baseline")
    expected = run(1)
    core.use_isa(isa)
    got = run(threads)
    core.use_isa(before)
    assert got == expected


@pytest.mark.parametrize("step", [core.simplex_scir, core.simplex_sgrld, simplex_sgrhmc], ids=named)
@pytest.mark.parametrize("changed", ["seed", "chain", "step", "stream"])
def test_another_address_gives_other_draws(step, changed):
    a, b = make_state(20, 5), make_state(20, 5)
    step(**a, **settings(5))
    step(**b, **settings(5, **{changed: 7}))
    assert a["g"].tobytes() != b["g"].tobytes()


@pytest.mark.parametrize("step", STEPS, ids=named)
def test_rows_without_counts_and_rows_with_counts_zero_move_alike(step):
    a, b = make_state(20, 5), make_state(20, 5)
    a["rows"], a["counts"] = np.zeros(0, np.int32), np.zeros((0, 16), np.int64)
    b["rows"], b["counts"] = np.arange(20, dtype=np.int32), np.zeros((20, 16), np.int64)
    step(**a, **settings(5))
    step(**b, **settings(5))
    assert a["g"].tobytes() == b["g"].tobytes()


@pytest.mark.parametrize(("v", "k"), [(70, 17), (130, 129), (65, 300)])
@pytest.mark.parametrize(
    ("step", "eta", "g", "h"),
    [
        (core.simplex_scir, 0.3, 0.0, np.inf),
        (core.simplex_scir, 5.5, 0.0, np.inf),
        (core.simplex_scir, 0.3, 40.0, 0.1),
        (core.simplex_sgrld, 0.3, 1.0, 0.01),
    ],
    ids=["small gammas", "gammas", "poisson counts", "normals"],
)
def test_no_two_cells_share_their_random_numbers(step, eta, g, h, v, k):
    """All cells start alike: two neighbours equal to two others would be one address used twice."""
    state = {"g": core.zeros(v, padded_width(k), "float32"), "rows": np.zeros(0, np.int32)}
    state["g"][:, :k] = g
    state["sums"] = state["g"].sum(axis=0, dtype=np.float64)
    state["counts"] = np.zeros((0, padded_width(k)), np.int64)
    step(**state, **settings(k, eta=eta, h=h))
    x = state["g"][:, :k].reshape(-1)
    pairs = x[:-1].astype(np.complex128) + 1j * x[1:]
    assert len(np.unique(pairs)) == len(pairs)


def test_scir_moves_zero_cells_to_fresh_gammas():
    g = core.zeros(50, 16, "float32")
    core.simplex_scir(
        g=g,
        sums=np.zeros(16),
        rows=np.zeros(0, np.int32),
        counts=np.zeros((0, 16), np.int64),
        **settings(16, eta=2.0),
    )
    assert (g > 0).all()


def test_scir_ends_when_a_large_rate_draws_count_zero_and_the_shape_is_below_one():
    """Rates just above 10 give count 0 once in 22,000 draws: the cell must become a small gamma."""
    g = core.zeros(20_000, 16, "float32")
    h = 0.1
    g[:] = 10.0001 * np.expm1(h)
    core.simplex_scir(
        g=g,
        sums=g.sum(axis=0, dtype=float),
        rows=np.zeros(0, np.int32),
        counts=np.zeros((0, 16), np.int64),
        **settings(16, eta=0.05, h=h),
    )
    assert np.isfinite(g).all()
    assert (g < 1e-6).any()


@pytest.mark.parametrize("eta", [0.01, 0.999999, 1.0, 1.000001])
def test_scir_is_finite_for_shapes_and_counts_of_every_size(eta):
    sizes = np.array([0, 1e-30, 1e-3, 1.0, 9.999, 10.001, 1e4, 1e8], np.float32)
    g = core.zeros(8, 16, "float32")
    g[:] = sizes[:, None]
    counts = np.tile(np.array([0, 1, 2, 10, 10**3, 10**5, 10**7, 10**9]).repeat(2), (8, 1))
    core.simplex_scir(
        g=g,
        sums=g.sum(axis=0, dtype=float),
        rows=np.arange(8, dtype=np.int32),
        counts=counts,
        **settings(16, eta=eta, h=0.1),
    )
    assert np.isfinite(g).all()
    assert (g >= 0).all()


BAD = {
    "g: rows must be padded": {"topics": 17},
    "g: rows must be padded ": {"topics": 0},
    "g: rows must be padded  ": {
        "g": np.ones((4, 15), np.float32),
        "sums": np.ones(15),
        "counts": np.ones((2, 15), np.int64),
    },
    "g has shape": {"g": np.ones(16, np.float32)},
    "sums has shape": {"sums": np.ones(15)},
    "counts has shape": {"counts": np.ones((1, 16), np.int64)},
    "counts has shape ": {"counts": np.ones((2, 15), np.int64)},
    "rows: must be strictly": {"rows": np.array([1, 1], np.int32)},
    "rows: must be strictly ": {"rows": np.array([-1, 1], np.int32)},
    "rows: must be strictly  ": {"rows": np.array([1, 4], np.int32)},
    "h: must be positive": {"h": -1.0},
    "h: must be positive ": {"h": np.nan},
    "eta: must be positive": {"eta": 0.0},
    "eta: must be positive ": {"eta": np.nan},
    "factor: must be finite": {"factor": -1.0},
    "factor: must be finite ": {"factor": np.inf},
    "factor: must be finite  ": {"factor": np.nan},
}


@pytest.mark.parametrize("step", STEPS, ids=named)
@pytest.mark.parametrize("message", BAD)
def test_bad_argument_is_named(step, message):
    good = {
        "g": np.ones((4, 16), np.float32),
        "sums": np.full(16, 4.0),
        "rows": np.array([0, 2], np.int32),
        "counts": np.ones((2, 16), np.int64),
        **settings(16),
    }
    with pytest.raises(ValueError, match=message.strip()):
        step(**good | BAD[message])


@pytest.mark.parametrize("step", STEPS, ids=named)
def test_a_step_of_no_length_leaves_rows_where_they_are_or_is_refused(step):
    """Rows that move by the mean may: it makes their sums anew."""
    g, sums = np.ones((4, 16), np.float32), np.full(16, 7.0)
    nothing = {"rows": np.zeros(0, np.int32), "counts": np.zeros((0, 16), np.int64)}
    given = {"g": g, "sums": sums} | nothing | settings(16) | {"h": 0.0}
    if step is not core.simplex_relax:
        with pytest.raises(ValueError, match="h: must be positive"):
            step(**given)
        return
    step(**given)
    k = given["topics"]
    assert (g[:, :k] == 1.0).all()
    assert (sums[:k] == 4.0).all()


@pytest.mark.parametrize("step", STEPS, ids=named)
@pytest.mark.parametrize(
    "wrong",
    [
        {"g": np.ones((4, 16))},
        {"g": np.ones((8, 16), np.float32)[::2]},
        {"sums": np.full(16, 4.0, np.float32)},
    ],
    ids=["float64", "strided", "float32 sums"],
)
def test_state_that_would_be_copied_is_refused(step, wrong):
    good = {
        "g": np.ones((4, 16), np.float32),
        "sums": np.full(16, 4.0),
        "rows": np.zeros(0, np.int32),
        "counts": np.zeros((0, 16), np.int64),
        **settings(16),
    }
    with pytest.raises(TypeError):
        step(**good | wrong)


@pytest.mark.parametrize("message", ["rows: not rows of g", "rows: not rows of g "])
def test_phi_refuses_rows_outside(message):
    row = 4 if message.endswith(" ") else -1
    with pytest.raises(ValueError, match=message.strip()):
        core.simplex_phi(
            g=np.ones((4, 16), np.float32),
            sums=np.ones(16),
            topics=3,
            rows=np.array([row], np.int32),
            threads=1,
        )


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("shape: must be positive", {"shape": np.zeros((2, 3))}),
        ("shape: must be positive", {"shape": np.full((2, 3), np.inf)}),
        ("shape: must be positive", {"shape": np.full((2, 3), np.nan)}),
        ("shape has shape", {"shape": np.ones((3, 2))}),
        ("log_g has shape", {"log_g": np.zeros(3)}),
        ("h: must be positive", {"h": 0.0}),
    ],
)
def test_log_step_names_the_bad_argument(message, changes):
    good = {
        "log_g": np.zeros((2, 3)),
        "shape": np.ones((2, 3)),
        "h": 1.0,
        "seed": 1,
        "chain": 0,
        "step": 0,
        "stream": 0,
        "threads": 1,
    }
    with pytest.raises(ValueError, match=message):
        core.simplex_scir_log(**good | changes)
