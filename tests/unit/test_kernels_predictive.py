"""predictive: held-out probabilities against one line of NumPy."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width


def make(topics, documents=70, rows=9, seed=0):
    rng = np.random.default_rng(seed)
    phi = np.zeros((rows, padded_width(topics)), np.float32)
    phi[:, :topics] = rng.dirichlet(np.full(rows, 0.5), topics).T
    lengths = rng.integers(0, 5, documents)
    doc_counts = np.zeros((documents, padded_width(topics)), np.int64)
    doc_counts[:, :topics] = rng.integers(0, 2**26, (documents, topics))
    return {
        "phi": phi,
        "topics": topics,
        "indptr": np.concatenate(([0], np.cumsum(lengths))),
        "indices": rng.integers(0, rows, lengths.sum()).astype(np.int32),
        "doc_counts": doc_counts,
        "tokens": rng.integers(1, 90, documents),
        "alpha": 0.3,
        "factor": 2.0**-25,
        "threads": 1,
    }


@pytest.mark.parametrize("topics", [1, 15, 16, 17, 100, 129, 300])
def test_probabilities_are_theta_times_phi(topics):
    a = make(topics)
    theta = (0.3 + a["doc_counts"][:, :topics] * 2.0**-25) / (topics * 0.3 + a["tokens"][:, None])
    document = np.repeat(np.arange(70), np.diff(a["indptr"]))
    expected = (theta[document] * a["phi"][a["indices"], :topics]).sum(axis=1)
    np.testing.assert_allclose(core.predictive(**a), expected, rtol=1e-13)


def test_threads_and_every_instruction_set_give_the_same_bytes():
    before, seen = core.isa(), set()
    for name in core.available_isas():
        core.use_isa(name)
        seen |= {core.predictive(**make(20) | {"threads": n}).tobytes() for n in (1, 2, 7)}
    core.use_isa(before)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("phi has shape", {"phi": np.ones(16, np.float32)}),
        ("doc_counts has shape", {"doc_counts": np.zeros((2, 16), np.int64)}),
        ("doc_counts has shape", {"doc_counts": np.zeros((1, 32), np.int64)}),
        ("tokens has shape", {"tokens": np.ones(2, np.int64)}),
        ("indptr: must start", {"indptr": np.array([1, 2])}),
        ("indptr: must start", {"indptr": np.array([0, 3])}),
        ("indices: not a row", {"indices": np.array([0, 4], np.int32)}),
        ("indices: not a row", {"indices": np.array([0, -1], np.int32)}),
    ],
)
def test_bad_argument_is_named(message, changes):
    with pytest.raises(ValueError, match=message):
        core.predictive(**good() | changes)


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("phi: rows must be padded", {"topics": 17}),
        ("phi: rows must be padded", {"topics": 0}),
        (
            "phi: rows must be padded",
            {"phi": np.ones((4, 10), np.float32), "doc_counts": np.zeros((1, 10), np.int64)},
        ),
    ],
)
def test_topics_that_do_not_fit_phi_are_named(message, changes):
    with pytest.raises(ValueError, match=message):
        core.predictive(**good() | changes)


def test_decreasing_indptr_is_named():
    changes = {
        "indptr": np.array([0, 3, 2]),
        "doc_counts": np.zeros((2, 16), np.int64),
        "tokens": np.ones(2, np.int64),
    }
    with pytest.raises(ValueError, match="indptr: must not decrease"):
        core.predictive(**good() | changes)


def good():
    return {
        "phi": np.ones((4, 16), np.float32),
        "topics": 3,
        "indptr": np.array([0, 2]),
        "indices": np.array([0, 1], np.int32),
        "doc_counts": np.zeros((1, 16), np.int64),
        "tokens": np.ones(1, np.int64),
        "alpha": 0.1,
        "factor": 1.0,
        "threads": 1,
    }
