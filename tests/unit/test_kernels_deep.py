"""documents_deep, simplex_tlasgr and simplex_smld: same bytes however they are run, and refusals."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width


def rows(matrix):
    out = core.zeros(len(matrix), padded_width(matrix.shape[1]), "float32")
    out[:, : matrix.shape[1]] = matrix
    return out


def arguments(layers=(40, 17, 3), v=30, documents=25, seed=0, **more):
    """Random topics and documents; the fourth is empty."""
    rng = np.random.default_rng(seed)
    below = (v, *layers)
    phi = [rows(rng.dirichlet(np.full(n, 0.3), k).T) for n, k in zip(below, layers, strict=False)]
    x = rng.poisson(0.7, (documents, v))
    x[3] = 0
    x[5] *= 40
    sizes = [p.shape[1] for p in phi]
    start = np.concatenate([np.arange(s) < k for s, k in zip(sizes, layers, strict=True)])
    r = np.where(np.arange(sizes[-1]) < layers[-1], 0.3, 0)
    return {
        "phi": phi,
        "topics": list(layers),
        "r": r.astype(np.float32),
        "start": start.astype(np.float32),
        "indptr": np.concatenate(([0], np.cumsum((x > 0).sum(axis=1)))),
        "indices": np.nonzero(x)[1].astype(np.int32),
        "counts": x[x > 0].astype(np.int32),
        "doc_ids": np.arange(documents) + 2**33,
        "a0": 0.01,
        "b0": 0.01,
        "e0": 1.0,
        "f0": 1.0,
        "link": "counts",
        "sweeps": 6,
        "kept": 4,
        "held": 1,
        "rao_blackwell": False,
        "seed": 3,
        "chain": 1,
        "step": 2,
        "purpose": core.Purpose.test,
        "work": core.Workspace(),
        "threads": 1,
    } | more


def state(call):
    n, wide = len(call["doc_ids"]), len(call["start"])
    return {
        "theta": np.zeros((n, wide), np.float32),
        "rates": np.zeros((n, len(call["phi"]) + 1)),
        "totals": np.zeros((n, wide), np.float32),
    }


def run(call, **changes):
    """Bytes of all that a call gives; then of a second one that resumes from its state."""
    call = call | changes
    kept, found = state(call), []
    if call["link"] != "counts":
        del kept["totals"]
    for fresh in (True, False):
        words, above, tables, q, mean = core.documents_deep(
            **call, **kept, fresh=fresh, want_mean=True
        )
        found += [a.tobytes() for a in (words, *above, tables, q, mean, *kept.values())]
    return found


def test_every_instruction_set_is_there_to_be_compared():
    assert core.available_isas()[0] == "baseline"


@pytest.mark.parametrize("link", ["counts", "binary", "real"])
@pytest.mark.parametrize("layers", [(16,), (5, 3), (130, 40, 17, 3)], ids=str)
@pytest.mark.parametrize("rao_blackwell", [False, True])
def test_threads_and_instruction_sets_give_the_same_bytes(layers, link, rao_blackwell):
    call = arguments(layers, link=link, rao_blackwell=rao_blackwell)
    before, expected = core.isa(), run(call)
    try:
        for isa in core.available_isas():
            core.use_isa(isa)
            for threads in (1, 2, 3):
                assert run(call, threads=threads) == expected, (isa, threads)
    finally:
        core.use_isa(before)


@pytest.mark.parametrize("changed", ["seed", "chain", "step", "doc_ids", "purpose"])
def test_another_address_gives_other_draws(changed):
    call = arguments()
    other = {"doc_ids": call["doc_ids"] + 1, "purpose": core.Purpose.documents}.get(changed, 7)
    assert run(call) != run(call, **{changed: other})


def test_a_document_does_not_depend_on_those_beside_it():
    call = arguments()
    alone = state(call)
    core.documents_deep(**call, **alone)
    begin, end = call["indptr"][7], call["indptr"][8]
    one = call | {
        "indptr": np.array([0, end - begin]),
        "indices": call["indices"][begin:end],
        "counts": call["counts"][begin:end],
        "doc_ids": call["doc_ids"][7:8],
    }
    kept = {name: np.zeros_like(a[:1]) for name, a in alone.items()}
    core.documents_deep(**one, **kept)
    for name, array in kept.items():
        assert array[0].tolist() == alone[name][7].tolist()


def test_a_fresh_state_is_written_but_not_read():
    call = arguments()
    kept = state(call)
    for array in kept.values():
        array[:] = np.nan
    found = core.documents_deep(**call, **kept, fresh=True)
    clean = core.documents_deep(**call, **state(call), fresh=True)
    assert all(np.isfinite(array).all() for array in kept.values())
    assert [a.tolist() for a in found[1]] == [a.tolist() for a in clean[1]]


@pytest.mark.parametrize("rao_blackwell", [False, True])
def test_rows_that_no_document_has_are_zero(rao_blackwell):
    call = arguments(v=31, rao_blackwell=rao_blackwell)
    call["phi"][0] = np.concatenate([call["phi"][0], call["phi"][0][:2]])
    core.documents_deep(**call)  # leaves its counts in the workspace
    words, *_ = core.documents_deep(
        **call
        | {
            "indptr": np.array([0, 1]),
            "indices": np.array([4], np.int32),
            "counts": np.array([2], np.int32),
            "doc_ids": np.array([1]),
        }
    )
    assert np.flatnonzero(words.any(axis=1)).tolist() == [4]


def test_pads_stay_zero_and_counts_are_conserved():
    call = arguments()
    kept = state(call)
    words, above, tables, _, mean = core.documents_deep(**call, **kept, want_mean=True)
    tokens = np.bincount(call["indices"], call["counts"], minlength=30)
    assert words.sum(axis=1).tolist() == (4 * tokens).tolist()
    assert not words[:, 40:].any()
    for counts, k in zip(above, (17, 3), strict=True):
        assert not counts[:, k:].any()
    # a table for whoever has a token, never more of them
    per_topic = [words.sum(axis=0)[:40], above[0].sum(axis=1)]
    assert (per_topic[1] <= per_topic[0]).all()
    assert (above[1].sum(axis=1) <= above[0].sum(axis=0)[:17]).all()
    assert (tables[0, :3] <= above[1].sum(axis=0)[:3]).all()
    assert tables[0, 3:].tolist() == [0] * 13
    real = call["start"] > 0
    for name in ("theta", "totals"):
        assert not kept[name][:, ~real].any()
    assert (kept["theta"][:, real] >= np.float32(1e-30)).all()
    assert not mean[:, ~real].any()


def test_no_documents_are_no_counts():
    call = arguments() | {
        "indptr": np.zeros(1, np.int64),
        "indices": np.zeros(0, np.int32),
        "counts": np.zeros(0, np.int32),
        "doc_ids": np.zeros(0, np.int64),
    }
    words, above, tables, q, _ = core.documents_deep(**call)
    assert not words.any()
    assert not any(a.any() for a in above)
    assert not tables.any()
    assert q.tolist() == []


WRONG = {
    "phi, topics": {"topics": [40, 17]},
    "phi": {"topics": [40, 16, 3]},
    "r": {"r": np.ones(32, np.float32)},
    "r: must be positive": {"r": np.zeros(16, np.float32)},
    "start": {"start": np.ones(16, np.float32)},
    "doc_ids": {"doc_ids": np.arange(24)},
    "sweeps, kept, held": {"kept": 7},
    "sweeps, kept, held ": {"sweeps": 0, "kept": 0},
    "sweeps, kept, held  ": {"held": -1},
    "a0": {"a0": 0.0},
    "b0": {"b0": -1.0},
    "e0": {"e0": np.inf},
    "f0": {"f0": np.nan},
    "link: wanted counts, binary or real, found 'gauss'": {"link": "gauss"},
    "threads": {"threads": 0},
    "theta, rates: both or neither": {"theta": np.zeros((25, 96), np.float32)},
    "theta": {"theta": np.zeros((25, 64), np.float32), "rates": np.zeros((25, 4))},
    "rates": {"theta": np.zeros((25, 96), np.float32), "rates": np.zeros((25, 3))},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_argument_is_named(message):
    with pytest.raises(ValueError, match=f"^{message.strip()}"):
        core.documents_deep(**arguments() | WRONG[message])


def test_more_layers_than_there_may_be_are_refused():
    layers = (3,) * (core.MAX_LAYERS + 1)
    with pytest.raises(ValueError, match=f"1 to {core.MAX_LAYERS} layers"):
        core.documents_deep(**arguments(layers))
    core.documents_deep(**arguments(layers[1:]))


def test_tables_and_latent_counts_name_the_bad_argument():
    how = {"seed": 1, "chain": 0, "step": 0, "purpose": core.Purpose.test}
    for n, shape, message in (([-1], [1.0], "n"), ([3], [0.0], "shape"), ([3, 4], [1.0], "shape")):
        with pytest.raises(ValueError, match=f"^{message}"):
            core.tables(n=np.array(n), shape=np.array(shape), **how)
    with pytest.raises(ValueError, match="link: wanted binary or real"):
        core.latent_counts("counts", np.ones(1), 1)


EDGES = {"tlasgr": {"clip": False}, "tlasgr-clip": {"clip": True}}


def step_of(kernel, v, k, seed=0, **more):
    """One step of random topics: its state afterwards."""
    rng = np.random.default_rng(seed)
    touched = np.arange(0, v, 3, dtype=np.int32)
    counts = np.zeros((len(touched), padded_width(k)), np.int64)
    counts[:, :k] = rng.poisson(3, (len(touched), k))
    totals = counts.sum(axis=0)[:k] * 0.5 + 0.1 * v
    how = {
        "topics": k,
        "eta": 0.1,
        "rows": touched,
        "counts": counts,
        "factor": 0.5,
        "totals": totals,
        "seed": 1,
        "chain": 0,
        "step": 4,
        "stream": 8,
        "work": core.Workspace(),
        "threads": 1,
    }
    g = rows(rng.gamma(0.3, size=(v, k)) + 1e-6)
    if kernel in EDGES:
        found = {"g": g, "sums": g.sum(axis=0, dtype=np.float64)}
        core.simplex_tlasgr(**found, **how | {"steps": 0.3 / totals} | EDGES[kernel] | more)
    else:
        y = rows(np.log(g[:, :k]) - np.log(g[-1, :k]))
        sums = np.zeros(padded_width(k))
        sums[:k] = np.log(np.exp(y[:, :k].astype(float)).sum(axis=0))
        found = {"y": y, "log_sums": sums}
        approximate = kernel == "smld-approx"
        core.simplex_smld(**found, **how | {"h": 1e-3, "approximate": approximate} | more)
    return found


KERNELS = [*EDGES, "smld", "smld-approx"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("v", "k"), [(2, 1), (64, 16), (65, 17), (300, 130)])
def test_steps_give_the_same_bytes_on_threads_and_instruction_sets(kernel, v, k):
    def found(threads):
        return [a.tobytes() for a in step_of(kernel, v, k, threads=threads).values()]

    before, expected = core.isa(), found(1)
    try:
        for isa in core.available_isas():
            core.use_isa(isa)
            for threads in (1, 2, 3):
                assert found(threads) == expected, (isa, threads)
    finally:
        core.use_isa(before)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("changed", ["seed", "chain", "step", "stream"])
def test_another_address_gives_another_step(kernel, changed):
    one, other = step_of(kernel, 20, 5), step_of(kernel, 20, 5, **{changed: 9})
    for a, b in zip(one.values(), other.values(), strict=True):
        assert (a != b).any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_two_cells_of_a_step_share_their_noise(kernel):
    """Cells alike before it differ after it, but for pads and the word that is the reference."""
    v, k = 200, 100
    none = {"rows": np.zeros(0, np.int32), "counts": np.zeros((0, padded_width(k)), np.int64)}
    how = {
        "topics": k,
        "eta": 1.0,
        "factor": 1.0,
        "totals": np.full(k, float(v)),
        "seed": 1,
        "chain": 0,
        "step": 0,
        "stream": 0,
        "work": core.Workspace(),
        "threads": 1,
    } | none
    if kernel in EDGES:
        found = rows(np.full((v, k), 1 / v))
        sums = found.sum(axis=0, dtype=np.float64)
        core.simplex_tlasgr(g=found, sums=sums, steps=np.full(k, 1e-4), **how | EDGES[kernel])
    else:
        found, sums = rows(np.zeros((v, k))), np.full(padded_width(k), np.log(v))
        core.simplex_smld(
            y=found, log_sums=sums, h=1e-3, approximate=kernel == "smld-approx", **how
        )
        found = found[:-1]
    cells = found[:, :k].ravel()
    # float32 has some 2^20 values in reach: a few pairs meet by chance
    assert len(np.unique(cells)) > 0.97 * cells.size


@pytest.mark.parametrize("kernel", EDGES)
def test_a_topic_that_is_no_number_is_seen_in_its_sum_at_either_edge(kernel):
    """Red with: a clip that takes 0 for what is no number."""
    found = step_of(kernel, 20, 5, steps=np.array([1e-3, 3e38, 1e-3, 1e-3, 1e-3]))
    assert np.isfinite(found["sums"]).tolist() == [True, False, True, True, True] + 11 * [True]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("totals", {"totals": np.ones(4)}),
        ("threads", {"threads": 0}),
        ("rows", {"rows": np.arange(7, dtype=np.int32) + 14}),
    ],
    ids=["totals", "threads", "rows"],
)
def test_bad_argument_of_a_step_is_named(kernel, message, changes):
    with pytest.raises(ValueError, match=f"^{message}"):
        step_of(kernel, 20, 5, **changes)


def test_step_sizes_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"^steps: must be positive"):
        step_of("tlasgr", 20, 5, steps=np.array([1, 1, 1, 1, np.nan]))
    with pytest.raises(ValueError, match=r"^h: must be positive"):
        step_of("smld", 20, 5, h=0.0)
