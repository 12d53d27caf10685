"""Steps of listed rows, each with a length of its own: the same kernel as for all rows at once."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width

V, K, ETA = 200, 21, 0.1
KERNELS = ["scir", "relax"]


def make_g(seed=0):
    g = core.zeros(V, padded_width(K), "float32")
    g[:, :K] = np.random.default_rng(seed).gamma(0.5, 30.0, size=(V, K))
    return g


def make_list(seed=1, share=0.6):
    """Some rows, a length for each, one of them 0, and counts."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(V) < share).astype(np.int32)
    lengths = rng.gamma(1.0, 0.2, len(rows))
    lengths[3] = 0.0
    counts = np.zeros((len(rows), padded_width(K)), np.int64)
    counts[:, :K] = rng.poisson(2.0, (len(rows), K))
    return rows, lengths, counts


def step_of_rows(kernel, g, rows, lengths, **changes):
    """In place on g; returns what the sums were corrected by."""
    sums = np.zeros(padded_width(K))
    getattr(core, f"simplex_{kernel}_rows")(
        **{
            "g": g,
            "sums": sums,
            "topics": K,
            "eta": ETA,
            "rows": rows,
            "lengths": lengths,
            "counts": None,
            "factor": 1.5,
            "packed": False,
            "purpose": core.Purpose.scir_pass,
            "seed": 5,
            "chain": 1,
            "step": 9,
            "stream": 2,
            "work": core.Workspace(),
            "threads": 1,
        }
        | changes
    )
    return sums


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_list_of_all_rows_of_one_length_moves_as_all_rows_do(kernel):
    rows, _, counts = make_list()
    dense, listed = make_g(), make_g()
    getattr(core, f"simplex_{kernel}")(
        g=dense,
        sums=dense.sum(axis=0, dtype=float),
        topics=K,
        eta=ETA,
        rows=rows,
        counts=counts,
        factor=1.5,
        h=0.3,
        seed=5,
        chain=1,
        step=9,
        stream=2,
        work=core.Workspace(),
        threads=1,
    )
    all_counts = np.zeros((V, padded_width(K)), np.int64)
    all_counts[rows] = counts
    everything = np.arange(V, dtype=np.int32)
    step_of_rows(kernel, listed, everything, np.full(V, 0.3), counts=all_counts)
    assert listed.tobytes() == dense.tobytes()


@pytest.mark.parametrize("with_counts", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_moves_alike_whatever_rows_are_listed_beside_it(kernel, with_counts):
    """Red with: random words keyed by the place in the list; the length of another row; counts of
    the last row of a block lost.
    """
    rows, lengths, counts = make_list()
    together = make_g()
    step_of_rows(kernel, together, rows, lengths, counts=counts if with_counts else None)
    alone = make_g()
    for i in range(len(rows)):
        one = slice(i, i + 1)
        step_of_rows(
            kernel, alone, rows[one], lengths[one], counts=counts[one] if with_counts else None
        )
    assert together.tobytes() == alone.tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_are_not_listed_or_of_length_zero_stay(kernel):
    rows, lengths, _ = make_list()
    g = make_g()
    step_of_rows(kernel, g, rows, lengths)
    moved = np.flatnonzero((g != make_g()).any(axis=1))
    np.testing.assert_array_equal(moved, rows[lengths > 0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_packed_rows_move_as_they_do_in_their_places(kernel):
    rows, lengths, counts = make_list()
    g = make_g()
    packed = np.ascontiguousarray(g[rows])
    change = step_of_rows(kernel, g, rows, lengths, counts=counts)
    same = step_of_rows(kernel, packed, rows, lengths, counts=counts, packed=True)
    assert packed.tobytes() == g[rows].tobytes()
    assert same.tobytes() == change.tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_are_corrected_by_the_new_values_minus_those_expected_without_counts(kernel):
    """Red with: eta (1 - e) left out; the length of another row."""
    rows, lengths, counts = make_list()
    g = make_g()
    old = g[rows].astype(np.float64)
    change = step_of_rows(kernel, g, rows, lengths, counts=counts)
    e = np.exp(-lengths)[:, None]
    expected = old * e + float(np.float32(ETA)) * (1 - e)
    wanted = (g[rows] - expected).sum(axis=0)
    np.testing.assert_allclose(change[:K], wanted[:K], rtol=1e-12, atol=1e-12 * old.sum())
    assert not change[K:].any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_and_instruction_sets_give_the_same_bytes(kernel):
    rows, lengths, counts = make_list()
    before, seen = core.isa(), set()
    for name in core.available_isas():
        core.use_isa(name)
        for threads in (1, 2, 7):
            g = make_g()
            change = step_of_rows(kernel, g, rows, lengths, counts=counts, threads=threads)
            seen.add((g.tobytes(), change.tobytes()))
    core.use_isa(before)
    assert len(seen) == 1


def test_each_purpose_has_draws_of_its_own():
    rows, lengths, _ = make_list()
    seen = set()
    for purpose in (core.Purpose.scir_pass, core.Purpose.catch_up_pass, core.Purpose.look_pass):
        g = make_g()
        step_of_rows("scir", g, rows, lengths, purpose=purpose)
        seen.add(g.tobytes())
    assert len(seen) == 3


def test_no_rows_at_all_are_fine():
    nothing = np.zeros(0, np.int32)
    assert not step_of_rows("scir", make_g(), nothing, np.zeros(0)).any()
    packed = np.zeros((0, padded_width(K)), np.float32)
    assert not step_of_rows("scir", packed, nothing, np.zeros(0), packed=True).any()


BAD = {
    "rows: must be strictly": {"rows": np.array([1, 1], np.int32)},
    "rows: must be strictly ": {"rows": np.array([-1, 1], np.int32)},
    "rows: must be strictly  ": {"rows": np.array([1, V], np.int32)},
    "rows: must be strictly   ": {"rows": np.array([4, 1], np.int32), "packed": True},
    "g has shape": {"packed": True},
    "lengths has shape": {"lengths": np.ones(3)},
    "lengths: must be": {"lengths": np.array([1.0, -1.0])},
    "lengths: must be ": {"lengths": np.array([1.0, np.nan])},
    "counts has shape": {"counts": np.zeros((2, 16), np.int64)},
    "purpose: wanted": {"purpose": core.Purpose.scir_gamma},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_argument_is_named(message):
    changes = {"rows": np.array([0, 2], np.int32), "lengths": np.ones(2)} | BAD[message]
    with pytest.raises(ValueError, match=message.strip()):
        step_of_rows("scir", make_g(), **changes)


# ---- the sum of phi


def add_phi(total, g, lengths=None, threads=1):
    core.simplex_add_phi(
        total=total,
        g=g,
        sums=g.sum(axis=0, dtype=float),
        topics=K,
        eta=ETA,
        lengths=lengths,
        threads=threads,
    )


@pytest.mark.parametrize("isa", core.available_isas())
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_added_phi_is_phi_to_the_bit(isa, threads):
    """Red with: the floor left out."""
    before = core.isa()
    core.use_isa(isa)
    g = make_g()
    g[5] = 0.0
    total = np.zeros((V, padded_width(K)))
    add_phi(total, g, threads=threads)
    phi = core.simplex_phi(g=g, sums=g.sum(axis=0, dtype=float), topics=K, rows=None, threads=1)
    core.use_isa(before)
    assert total.tobytes() == phi.astype(np.float64).tobytes()


def test_added_phi_of_rows_left_behind_is_what_is_expected_of_them():
    """Red with: eta left out."""
    g, lengths = make_g(), np.linspace(0.0, 3.0, V)
    total = np.zeros((V, padded_width(K)))
    add_phi(total, g, lengths)
    e = np.exp(-lengths)[:, None]
    expected = (g * e + ETA * (1 - e)) / np.where(g.any(axis=0), g.sum(axis=0, dtype=float), 1.0)
    np.testing.assert_allclose(total[:, :K], expected[:, :K], rtol=1e-6)
    assert not total[:, K:].any()


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("total has shape", {"total": np.zeros((V, 16))}),
        ("lengths", {"lengths": np.ones(3)}),
        ("lengths: must be", {"lengths": np.full(V, -1.0)}),
    ],
)
def test_bad_argument_of_added_phi_is_named(message, changes):
    with pytest.raises(ValueError, match=message):
        add_phi(**{"total": np.zeros((V, padded_width(K))), "g": make_g()} | changes)
