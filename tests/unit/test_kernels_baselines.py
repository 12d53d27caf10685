"""Kernels of the baselines and of mixtures: odd sizes, empty documents, and arguments that are refused.

Their laws are tested in tests/statistical; here is what memory errors would show in.
"""

import contextlib

import numpy as np
import pytest

from pysgrld.core import core, padded_width

WORDS, LENGTHS = 11, [0, 3, 1, 70, 0, 130]


def documents():
    rng = np.random.default_rng(1)
    rows = [np.unique(rng.integers(0, WORDS, n)) for n in LENGTHS]
    indptr = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    indices = np.concatenate(rows).astype(np.int32)
    return {"indptr": indptr, "indices": indices, "counts": 1 + indices % 5}


def tokens(given):
    ends = np.concatenate(([0], np.cumsum(given["counts"], dtype=np.int64)))
    return ends[given["indptr"]]


def collapsed(topics, /, steps=(0,), **changed):
    given, chains = documents(), len(steps)
    token_ptr = tokens(given)
    arguments = {
        "rows": WORDS,
        "topics": topics,
        "doc_ids": np.arange(len(LENGTHS)),
        "alpha": np.full((chains, padded_width(topics)), 0.1, np.float32),
        "priors": np.full((chains, 1, padded_width(topics)), 0.05, np.float32),
        "prior_of": np.zeros(WORDS, np.int32),
        "mass": np.full((chains, padded_width(topics)), 0.05 * (WORDS + 4)),
        "sweeps": 3,
        "seed": 1,
        "chain": 0,
        "steps": list(steps),
        "z": [np.full(token_ptr[-1], -1, np.int32) for _ in steps],
        "token_ptr": token_ptr,
        "work": core.Workspace(),
        "threads": 2,
        **given,
    } | changed
    return core.documents_collapsed(**arguments), arguments["z"], given


@pytest.mark.parametrize("topics", [1, 15, 16, 17, 100, 128, 129, 300])
def test_collapsed_counts_are_those_of_the_topics(isa, topics):
    counts, (z,), given = collapsed(topics)
    assert z.min() >= 0
    assert z.max() < topics
    expected = np.zeros((WORDS, padded_width(topics)), np.int64)
    np.add.at(expected, (np.repeat(given["indices"], given["counts"]), z), 1)
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("topics", [5, 100, 300])
@pytest.mark.parametrize("number", [2, 3, 4, 7])
def test_collapsed_chains_draw_the_same_together_and_alone(isa, topics, number):
    """Red with: a chain that sees the counts, the prior or the random numbers of another one."""
    steps = [7 * c + 3 for c in range(number)]
    alpha = np.full((number, padded_width(topics)), 0.1, np.float32)
    alpha += np.arange(number, dtype=np.float32)[:, None]
    counts, found, _ = collapsed(topics, steps=steps, alpha=alpha)
    assert not np.array_equal(found[0], found[1])
    for c, step in enumerate(steps):
        alone, (z,), _ = collapsed(topics, steps=(step,), alpha=alpha[c : c + 1])
        np.testing.assert_array_equal(found[c], z)
        np.testing.assert_array_equal(counts.reshape(number, WORDS, -1)[c], alone)


@pytest.mark.parametrize("topics", [5, 100, 300])
def test_collapsed_sweeps_that_are_interrupted_draw_the_same(isa, topics):
    """Red with: an increment that is lost where a call ends; random numbers of a sweep's first call."""
    given = {name: np.tile(a, 40) for name, a in documents().items() if name != "indptr"}
    lengths = np.tile(np.diff(documents()["indptr"]), 40)
    given["indptr"] = np.concatenate(([0], np.cumsum(lengths)))
    many = given | {"token_ptr": tokens(given), "doc_ids": np.arange(len(lengths))}
    empty = [np.full(many["token_ptr"][-1], -1, np.int32) for _ in range(2)]
    counts, whole, _ = collapsed(topics, steps=(1, 2), **many, z=[z.copy() for z in empty])
    visited, places = np.zeros(1, np.int64), []

    def interrupt():
        places.append(int(visited[0]))
        raise InterruptedError

    again = many | {"z": empty, "visited": visited, "waiting": interrupt}
    while len(places) < 100:
        with contextlib.suppress(InterruptedError):
            found, parts, _ = collapsed(topics, steps=(1, 2), **again)
            break
    assert any(place % len(lengths) for place in places)
    assert visited[0] == 0
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_array_equal(found, counts)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": np.zeros((1, 16), np.float32)}, "alpha"),
        ({"alpha": np.ones((2, 16), np.float32)}, "alpha"),
        ({"sweeps": 0}, "sweeps"),
        ({"steps": ()}, "steps"),
        ({"priors": np.full((1, 1, 15), 0.1, np.float32)}, "priors"),
        ({"priors": np.zeros((1, 1, 16), np.float32)}, "priors"),
        ({"prior_of": np.zeros(WORDS - 1, np.int32)}, "prior_of"),
        ({"prior_of": np.ones(WORDS, np.int32)}, "prior_of"),
        ({"prior_of": np.full(WORDS, -1, np.int32)}, "prior_of"),
        ({"mass": np.ones((1, 5))}, "mass"),
        ({"mass": np.zeros((1, 16))}, "mass"),
        ({"rows": 3}, "is not a row"),
        ({"doc_ids": np.arange(2)}, "doc_ids"),
        ({"token_ptr": np.zeros(len(LENGTHS) + 1, np.int64)}, "token_ptr"),
        ({"z": [np.full(1000, 9, np.int32)]}, "z: topics"),
    ],
)
def test_collapsed_refuses_what_it_would_read_beyond(changed, said):
    with pytest.raises(ValueError, match=said):
        collapsed(5, **changed)


def mean_field(topics, /, **changed):
    given = documents()
    rng = np.random.default_rng(2)
    weights = core.zeros(WORDS, padded_width(topics), "float32")
    weights[:, :topics] = rng.gamma(0.5, size=(WORDS, topics)) + 1e-6
    gamma = core.zeros(len(LENGTHS), padded_width(topics), "float32")
    gamma[:, :topics] = 1.0
    arguments = {
        "weights": weights,
        "topics": topics,
        "alpha": 0.2,
        "sweeps": 5,
        "tolerance": 1e-3,
        "gamma": gamma,
        "work": core.Workspace(),
        "threads": 2,
        **given,
    } | changed
    return core.documents_mean_field(**arguments), arguments["gamma"], given


@pytest.mark.parametrize("topics", [1, 16, 17, 200])
def test_mean_field_shares_out_all_tokens(isa, topics):
    """An empty document has its prior alone."""
    counts, gamma, given = mean_field(topics)
    per_word = np.bincount(given["indices"], given["counts"], minlength=WORDS)
    np.testing.assert_allclose(counts.sum(axis=1) / 2**24, per_word, rtol=1e-5)
    assert (counts[:, topics:] == 0).all()
    lengths = np.diff(tokens(given))
    np.testing.assert_allclose(gamma.sum(axis=1), topics * 0.2 + lengths, rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"sweeps": 0}, "sweeps"),
        ({"gamma": np.zeros((len(LENGTHS), 16), np.float32)}, "gamma: must be positive"),
        ({"gamma": np.ones((2, 16), np.float32)}, "gamma has shape"),
        ({"topics": 17}, "padded"),
    ],
)
def test_mean_field_refuses_what_it_would_read_beyond(changed, said):
    with pytest.raises(ValueError, match=said):
        mean_field(5, **changed)


def mixture(components, /, **changed):
    given = documents()
    rng = np.random.default_rng(3)
    log_phi = core.zeros(WORDS, padded_width(components), "float32")
    log_phi[:, :components] = np.log(rng.dirichlet(np.ones(WORDS), components)).T
    log_weight = np.full(padded_width(components), -np.inf, np.float32)
    log_weight[:components] = -np.arange(components, dtype=np.float32)
    arguments = {
        "log_phi": log_phi,
        "log_weight": log_weight,
        "components": components,
        "doc_ids": np.arange(len(LENGTHS)),
        "slice": np.full(len(LENGTHS), -0.5, np.float32),
        "seed": 1,
        "chain": 0,
        "step": 0,
        "threads": 2,
        **given,
    } | changed
    return core.documents_mixture(**arguments)


@pytest.mark.parametrize("components", [1, 16, 17, 50])
def test_documents_stay_within_their_slices(isa, components):
    """Only the first component is above the slice; below it, all of them."""
    assert (mixture(components) == 0).all()
    wide = mixture(components, slice=np.full(len(LENGTHS), -1e9, np.float32))
    assert (wide >= 0).all()
    assert (wide < components).all()


def test_mixture_refuses_what_it_would_read_beyond():
    with pytest.raises(ValueError, match="slice has shape"):
        mixture(5, slice=np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="log_weight has shape"):
        mixture(5, log_weight=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="padded"):
        mixture(5, components=17)


def test_weights_and_starts_refuse_other_shapes():
    g, sums = core.zeros(4, 16, "float32"), np.ones(16)
    g[:, :3] = 1.0
    with pytest.raises(ValueError, match="rows: not rows of g"):
        core.dirichlet_weights(g=g, sums=sums, topics=3, rows=np.array([4], np.int32), threads=1)
    with pytest.raises(ValueError, match="sums has shape"):
        core.dirichlet_weights(g=g, sums=np.ones(3), topics=3, rows=None, threads=1)
    with pytest.raises(ValueError, match="must be positive"):
        core.dirichlet_start(
            g=g,
            sums=sums,
            topics=3,
            shape=0.0,
            seed=1,
            chain=0,
            stream=0,
            work=core.Workspace(),
            threads=1,
        )
