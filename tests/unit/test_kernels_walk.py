"""Steps of words that walk: against dense linear algebra at odd sizes, and refused arguments."""

import numpy as np
import pytest

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError

HOW = {"seed": 4, "chain": 0, "step": 2, "stream": 0}


def precision(slices, drift, spread):
    """The precision of a walk, dense."""
    steps = np.eye(slices) - np.eye(slices, k=-1)
    variances = np.array([spread**2, *[drift**2] * (slices - 1)])
    return steps.T @ np.diag(1 / variances) @ steps


def walk(words, slices, topics, seed=0):
    """State, counts of two thirds of the rows, and curvature."""
    rng = np.random.default_rng(seed)
    b = core.zeros(words * slices, padded_width(topics), "float32")
    b[:, :topics] = rng.standard_normal((words * slices, topics))
    sums = np.zeros((slices, padded_width(topics)))
    each = b[:, :topics].astype(np.float64).reshape(words, slices, topics)
    sums[:, :topics] = np.log(np.exp(each).sum(axis=0))
    rows = np.flatnonzero(rng.random(words * slices) < 0.66).astype(np.int32)
    counts = np.zeros((len(rows), padded_width(topics)), np.int64)
    counts[:, :topics] = rng.poisson(3.0, (len(rows), topics))
    curvature = core.zeros(words * slices, padded_width(topics), "float32")
    curvature[:, :topics] = rng.gamma(2.0, 2.0, (words * slices, topics))
    arguments = {"b": b, "log_sums": sums, "topics": topics, "rows": rows, "counts": counts}
    arguments |= {"factor": 1.5, "drift": 0.4, "spread": 1.7, "h": 0.2}
    return arguments | {"work": core.Workspace(), "threads": 1} | HOW, curvature


def dense(arguments):
    """Counts, phi and gradient, (words, slices, topics), and the precision of a walk."""
    topics, slices = arguments["topics"], len(arguments["log_sums"])
    b = arguments["b"][:, :topics].astype(np.float64).reshape(-1, slices, topics)
    c = np.zeros(arguments["b"].shape)
    c[arguments["rows"]] = arguments["counts"] * arguments["factor"]
    c = c[:, :topics].reshape(b.shape)
    phi = np.exp(b) / np.exp(b).sum(axis=0)
    q = precision(slices, arguments["drift"], arguments["spread"])
    return c, phi, c - c.sum(axis=0) * phi - np.einsum("ts,wsk->wtk", q, b), q


SIZES = [(1, 1, 1), (2, 3, 5), (67, 4, 17), (130, 1, 16), (5, 40, 33)]


@pytest.mark.parametrize(("words", "slices", "topics"), SIZES)
def test_a_warm_step_is_that_of_newton(words, slices, topics):
    """b moves by (1 - e^-h) (Q + max(m, n phi))^-1 g, m the running mean with these counts.

    Red with: the tie between slices of two words; m before it is brought up to date.
    """
    arguments, curvature = walk(words, slices, topics)
    c, phi, gradient, q = dense(arguments)
    before = arguments["b"][:, :topics].astype(np.float64).reshape(c.shape)
    m = curvature[:, :topics].astype(np.float64).reshape(c.shape)
    m = m + 0.3 * (c - m)
    core.walk_step(**arguments, curvature=curvature, weight=0.3, warm=True)
    found = arguments["b"][:, :topics].astype(np.float64).reshape(c.shape)
    curved = np.maximum(m, c.sum(axis=0) * phi)
    for k in range(topics):
        for w in range(words):
            a = q + np.diag(curved[w, :, k])
            step = -np.expm1(-0.2) * np.linalg.solve(a, gradient[w, :, k])
            np.testing.assert_allclose(found[w, :, k] - before[w, :, k], step, rtol=2e-3, atol=2e-5)
    np.testing.assert_allclose(curvature[:, :topics].reshape(c.shape), m, rtol=1e-5, atol=1e-6)
    sums = np.log(np.exp(found).sum(axis=0))
    np.testing.assert_allclose(arguments["log_sums"][:, :topics], sums, rtol=1e-5, atol=1e-5)
    assert not arguments["b"][:, topics:].any()
    assert not curvature[:, topics:].any()


def test_noise_has_the_covariance_of_the_preconditioner():
    """Of many topics that start alike: mean (1 - e^-h) M g, covariance (1 - e^-2h) M."""
    arguments, curvature = walk(3, 4, 6000)
    for name in ("b", "counts"):
        arguments[name][:, :6000] = arguments[name][:, :1]
    arguments["log_sums"][:, :6000] = arguments["log_sums"][:, :1]
    curvature[:, :6000] = curvature[:, :1]
    c, _, gradient, q = dense(arguments)
    before = arguments["b"][:, :6000].astype(np.float64).reshape(c.shape)
    m = np.maximum(curvature[:, 0].reshape(3, 4), 1.0)
    core.walk_step(**arguments, curvature=curvature, weight=0.3, warm=False)
    moved = arguments["b"][:, :6000].astype(np.float64).reshape(c.shape) - before
    for w in range(3):
        inverse = np.linalg.inv(q + np.diag(m[w]))
        covariance = -np.expm1(-0.4) * inverse
        np.testing.assert_allclose(
            moved[w].mean(axis=1),
            -np.expm1(-0.2) * inverse @ gradient[w, :, 0],
            atol=5 * np.sqrt(covariance.max() / 6000),
        )
        np.testing.assert_allclose(np.cov(moved[w]), covariance, atol=0.09 * covariance.max())


@pytest.mark.parametrize(("words", "slices", "topics"), SIZES)
def test_an_accepted_step_leaves_sums_that_are_those_of_its_rows(words, slices, topics):
    """Red with: sums of the words that moved only, or of proposals that were not accepted."""
    arguments, _ = walk(words, slices, topics)
    before = arguments["b"].copy()
    accepted = core.walk_accept(**arguments)
    b = arguments["b"][:, :topics].astype(np.float64).reshape(words, slices, topics)
    sums = np.log(np.exp(b).sum(axis=0))
    np.testing.assert_allclose(arguments["log_sums"][:, :topics], sums, rtol=1e-5, atol=1e-5)
    moved = (arguments["b"] != before).reshape(words, slices, -1).any(axis=1).sum(axis=0)
    np.testing.assert_array_equal(accepted, moved)
    assert not arguments["b"][:, topics:].any()
    phi = core.walk_phi(
        b=arguments["b"], log_sums=arguments["log_sums"], topics=topics, rows=None, threads=2
    )
    found = phi[:, :topics].reshape(words, slices, topics).sum(axis=0)
    np.testing.assert_allclose(found, 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"h": 0.0}, "h: must be positive"),
        ({"drift": 0.0}, "drift: must be positive"),
        ({"spread": np.nan}, "spread: must be positive"),
        ({"factor": -1.0}, "factor: must be finite, >= 0"),
        ({"topics": 0}, "rows must be padded"),
        ({"rows": np.array([3, 2], np.int32)}, "strictly increasing rows of b"),
        ({"rows": np.array([0, 99], np.int32)}, "strictly increasing rows of b"),
        ({"log_sums": np.zeros((5, 16))}, "a row for each word and slice"),
        ({"threads": 0}, "threads: wanted 1 to 4096"),
    ],
)
def test_refused(changed, said):
    arguments, curvature = walk(2, 3, 5)
    arguments["rows"], arguments["counts"] = arguments["rows"][:2], arguments["counts"][:2]
    with pytest.raises(ValueError, match=said):
        core.walk_accept(**arguments | changed)
    own = {"curvature": curvature, "weight": 0.5, "warm": False}
    with pytest.raises(ValueError, match=said):
        core.walk_step(**arguments | changed, **own)


def test_a_step_by_more_than_all_counts_is_refused():
    arguments, curvature = walk(2, 3, 5)
    with pytest.raises(ValueError, match=r"weight: must be in \[0, 1\]"):
        core.walk_step(**arguments, curvature=curvature, weight=1.5, warm=False)


def test_a_topic_that_is_no_number_is_named():
    arguments, curvature = walk(2, 3, 5)
    arguments["log_sums"][1, 3] = np.nan
    with pytest.raises(NumericalError, match="log_sums: topic 3 is nan"):
        core.walk_step(**arguments, curvature=curvature, weight=0.5, warm=False)
