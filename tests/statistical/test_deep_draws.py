"""The draws of deep LDA one by one: tables, splits, theta, rates, and what is collected of them."""

from itertools import pairwise

import numpy as np
import pytest
from oracles import deep
from oracles.judge import KS, P, Z, ks, pmf_p, z_mean
from scipy import special
from statistical.deep_chains import fixed, packed, rows, unpacked, visit

from pysgrld.core import core
from pysgrld.types import UNIT

pytestmark = pytest.mark.statistical

VAGUE, PRIOR = deep.Prior(0.01, 0.01, 1.0, 1.0), deep.Prior()


def tables(n, shape, draws, step=0):
    return core.tables(
        n=np.full(draws, n),
        shape=np.full(draws, float(shape)),
        seed=1,
        chain=0,
        step=step,
        purpose=core.Purpose.test,
    )


@pytest.mark.parametrize(
    ("n", "shape", "draws"),
    [
        (2, 1e-3, 100_000),
        (5, 0.7, 100_000),
        (17, 0.2, 100_000),
        (64, 2.5, 100_000),
        (600, 0.3, 100_000),
        (513, 40.0, 50_000),
        (2000, 1.7, 100_000),
        (2000, 300.0, 1000),
        (100_000, 0.05, 50_000),
    ],
)
def test_tables_have_the_law_of_a_chinese_restaurant(n, shape, draws):
    """Below 512 customers one by one, from there on from table to table.

    Red with: the shape 1.1 times; the second customer left out; a jump by lgamma of j + 1, or 1%
    too far, or that goes on one customer later; one table whatever the customers.
    """
    pmf = deep.crt_pmf(n, shape, min(n, 1000 if shape > 9 else 120))
    assert pmf_p(tables(n, shape, draws), pmf) > P


def test_tables_of_five_customers_have_the_probabilities_of_the_fixture():
    """docs/internals/mathematics.md, "Tables"."""
    exact = deep.crt_pmf(5, 0.7)[1:]
    assert exact == pytest.approx([0.300676, 0.438486, 0.214858, 0.042972, 0.003008], abs=6e-7)


def test_tables_of_a_million_customers_have_their_mean_and_variance():
    mean, variance = deep.crt_moments(1e6, 3.0)
    x = tables(1_000_000, 3.0, 20_000)
    assert abs(z_mean(x, mean)) < Z
    assert abs(z_mean((x - mean) ** 2, variance)) < Z


def test_nobody_has_no_table_and_anybody_has_one_however_small_the_shape():
    assert tables(0, 0.5, 5).tolist() == [0] * 5
    assert tables(1, 1e-300, 5).tolist() == [1] * 5
    assert tables(5000, 1e-300, 5).tolist() == [1] * 5
    assert tables(600, 1e9, 5).tolist() == [600] * 5


def test_negative_binomial_counts_and_their_tables_are_poisson_tables_and_their_counts():
    """r = 1.3, p = .6: E x = Cov(x, tables) = 1.95, E tables = 1.3 ln 2.5.

    docs/internals/mathematics.md, "Counts without theta".

    Red with: the shape 1.1 times; one table whatever the customers.
    """
    x = np.random.default_rng(1).negative_binomial(1.3, 0.4, 200_000)
    seats = core.tables(
        n=x, shape=np.full(len(x), 1.3), seed=1, chain=0, step=1, purpose=core.Purpose.test
    )
    poisson = 1.3 * np.log(2.5)
    assert abs(z_mean(seats, poisson)) < Z
    assert abs(z_mean((seats - poisson) ** 2, poisson)) < Z
    assert abs(z_mean((x - 1.95) * (seats - poisson), 1.95)) < Z


def weights(k):
    """Twelve orders of magnitude, in no order; every seventh is zero."""
    w = 10.0 ** -np.random.default_rng(k).permutation(np.linspace(0, 12, k))
    w[2::7] = 0.0
    w[:2] = 0.3, 1.0
    return w


@pytest.mark.parametrize("k", [3, 16, 20, 40, 64, 100, 128, 200])
@pytest.mark.parametrize("small", [1.0, 1e-30])
def test_tokens_are_split_in_proportion_to_their_weights(k, small):
    """``small``: products of phi and theta that float32 does not hold.

    Zero weight is never chosen. Red with: products below 1e-25 not lifted.
    """
    w, documents = weights(k), 10
    phi = np.full((1, k), small)
    theta = np.repeat(packed([w[None] * (1e-10 if small < 1 else 1.0)]), documents, axis=0)
    words, *_ = visit(
        fixed([phi], np.ones(k), PRIOR),
        np.full((documents, 1), 20_000),
        0,
        theta=theta,
        rates=np.ones((documents, 2)),
    )
    found = np.repeat(np.arange(k), words[0, :k])
    assert len(found) == 20_000 * documents
    assert not words[0][:k][w == 0].any()
    assert pmf_p(found, w / w.sum()) > P


@pytest.mark.parametrize("k", [3, 20, 130])
@pytest.mark.parametrize("small", [1.0, 1e-30])
def test_tables_are_split_in_proportion_to_their_weights(k, small):
    """Of layer 2, with shapes so large that every customer has a table.

    Red with: split in proportion to phi alone; products below 1e-25 not lifted.
    """
    w, documents = weights(k), 500
    phi2 = np.array([np.full(k, small), np.full(k, 1.0)])
    theta = np.repeat(packed([[[1.0, 0.0]], w[None] * 1e10]), documents, axis=0)
    theta2 = theta if small == 1 else theta * np.where(np.arange(theta.shape[1]) < 16, 1, 1e-20)
    _, (words,), *_ = visit(
        fixed([np.ones((1, 2)), phi2], np.ones(k), PRIOR),
        np.full((documents, 1), 400),
        0,
        theta=theta2.astype(np.float32),
        rates=np.ones((documents, 3)),
    )
    found = np.repeat(np.arange(k), words[0, :k])
    assert len(found) == (400 * documents if small == 1 else documents)
    assert not words[0][:k][w == 0].any()
    assert pmf_p(found, w / w.sum()) > P


def pit_gamma(x, shape, rate):
    """Uniform where x is Gamma(shape, 1/rate)."""
    return special.gammainc(shape, x * rate)


def pit_odds(c, a, b):
    """Uniform where p = 1 / (1 + c) is Beta(a, b), with neither p nor 1 - p rounded to 1."""
    return np.where(
        c > 1, special.betainc(a, b, 1 / (1 + c)), 1 - special.betainc(b, a, c / (1 + c))
    )


def uniform(u, above=0.0):
    assert ks(u, lambda v: v, above) < KS


def many(layers, n, prior=PRIOR, documents_seed=3):
    """Topics, r, documents with state, of the model; totals are as if counts had been drawn."""
    rng = np.random.default_rng(documents_seed)
    below = (4, *layers)
    phi = [rng.dirichlet(np.ones(v), k).T for v, k in zip(below, layers, strict=False)]
    r = np.array([0.05, 0.8, 6.0, 1.0][: layers[-1]])
    local = deep.forward(rng, [p[None] for p in phi], r[None], n, PRIOR)
    counts, _ = deep.upward(rng, local.x, [p[None] for p in phi], local.theta, r[None])
    state = {
        "theta": packed([t[0] for t in local.theta]),
        "rates": np.concatenate((local.c[0], np.ones((n, 1))), axis=1),
        "totals": packed([c[1][0] for c in counts]),
    }
    return fixed(phi, r, prior), phi, r, local.x[0], state


@pytest.mark.parametrize("layers", [(4,), (3, 4), (5, 3, 4)], ids=len)
def test_theta_is_gamma_given_counts_and_rates(layers):
    """Step 10, every layer: shapes from far below 1 to far above.

    Each value goes to the uniform that it would have been drawn by, given those above it. Red with:
    q left out of the rate; q of the layer above; p / (1 - p) for q; the shape left out.
    """
    n = 8_000
    arguments, phi, r, x, state = many(layers, n)
    counts, c = unpacked(state["totals"], layers), state["rates"].copy()
    visit(arguments, x, 0, **state)
    theta = unpacked(state["theta"], layers)
    q = [np.ones(n)]
    for j in range(len(layers)):
        q.append(np.log1p(q[-1] / c[:, j]))
    shape = np.broadcast_to(r, theta[-1].shape)
    for j in range(len(layers) - 1, -1, -1):
        u = pit_gamma(theta[j], shape + counts[j], (c[:, j] + q[j])[:, None])
        floor = special.gammainc(shape + counts[j], deep.FLOOR * (c[:, j] + q[j])[:, None])
        for k in range(layers[j]):
            seen = u[:, k][floor[:, k] < 1e-6]
            assert len(seen) > 200
            uniform(seen)
        shape = theta[j] @ phi[j].T


@pytest.mark.parametrize(
    "layers", [(4,), pytest.param((3, 4), marks=pytest.mark.nightly), (5, 3, 4)], ids=len
)
@pytest.mark.parametrize(
    "prior",
    [pytest.param(VAGUE, id="vague", marks=pytest.mark.nightly), pytest.param(PRIOR, id="narrow")],
)
@pytest.mark.parametrize("empty", [False, True])
def test_rates_have_their_conditional_laws(layers, prior, empty):
    """Steps 4 to 6; with Beta(.01, .01) an empty document has p within 1e-30 of 0 or 1.

    Red with: theta of layer 1 for that of layer 2 in p's law; the layer above's theta in the rate
    of c, or that below in its shape; p / (1 - p) for q; q of the layer below, or p for it, given
    back; rates before the counts.
    """
    n = 8_000
    arguments, _, r, x, state = many(layers, n, prior)
    x = np.zeros_like(x) if empty else x
    *_, tables_found, q, _ = visit(arguments, x, 0, **state)
    sums = [own.sum(axis=1) for own in unpacked(state["theta"], layers)] + [np.full(n, r.sum())]
    c = state["rates"]
    assert np.isfinite(c).all()
    assert (c > 0).all()
    uniform(pit_odds(c[:, 0], prior.a0 + x.sum(axis=1), prior.b0 + sums[1]))
    for j in range(1, len(layers)):
        uniform(pit_gamma(c[:, j], prior.e0 + sums[j + 1], prior.f0 + sums[j]))
    np.testing.assert_allclose(q, deep.top_q(c[:, : len(layers)]), rtol=1e-12)
    assert (tables_found.sum() == 0) == empty


@pytest.mark.parametrize("layers", [(4,), (3, 4), (5, 3, 4)], ids=len)
def test_held_rates_stay_to_the_bit(layers):
    arguments, _, _, x, state = many(layers, 50)
    before = state["rates"].copy()
    visit(arguments | {"sweeps": 4, "held": 4}, x, 0, **state)
    assert (state["rates"] == before).all()
    visit(arguments | {"sweeps": 5, "held": 4}, x, 0, **state)
    assert (state["rates"][:, :-1] != before[:, :-1]).all()


#: One document, its posterior by enumeration: docs/internals/mathematics.md, "One document".
X = np.array([[3, 1, 2]])
PHI = [np.array([[0.7, 0.2], [0.1, 0.5], [0.2, 0.3]]), np.array([[0.6, 0.3], [0.4, 0.7]])]
R = np.array([0.8, 0.5])


def test_one_document_has_the_posterior_of_the_enumeration():
    """Red with: tables by the sum of shapes for the cell's own; split by phi alone; q of the layer
    above, or p / (1 - p), in theta's rate; one table whatever the customers.
    """
    n = 15_000
    state = {
        "theta": packed([np.ones((n, 2))] * 2),
        "rates": np.tile([0.4 / 0.6, 1.5, 1.0], (n, 1)),
        "totals": packed([np.ones((n, 2))] * 2),
    }
    x = np.repeat(X, n, axis=0)
    words, (above,), *_ = visit(fixed(PHI, R, PRIOR, sweeps=30, held=30), x, 0, **state)
    theta, counts = unpacked(state["theta"], (2, 2)), unpacked(state["totals"], (2, 2))
    assert abs(z_mean(counts[0][:, 0], 3.720231)) < Z
    assert abs(z_mean(counts[0][:, 0] ** 2, 16.918704)) < Z
    assert abs(z_mean(counts[1].sum(axis=1), 3.070484)) < Z
    assert abs(z_mean(theta[1][:, 0], 1.173862)) < Z
    assert abs(z_mean(theta[1][:, 1], 0.634896)) < Z
    assert abs(z_mean(theta[0][:, 0], 2.769010)) < Z
    # what is summed over documents is what their states say
    assert words[:, :2].sum(axis=0).tolist() == counts[0].sum(axis=0).tolist()
    assert above[:, :2].sum(axis=0).tolist() == counts[1].sum(axis=0).tolist()


@pytest.mark.parametrize(
    "layers",
    [*(pytest.param(layers, marks=pytest.mark.nightly) for layers in ((3,), (4, 3))), (5, 4, 3)],
    ids=len,
)
def test_expected_counts_are_the_mean_of_sampled_ones_in_every_layer(layers):
    """Red with: 5% more of them in the upper layers."""
    found = {}
    for expect in (False, True):
        found[expect] = []
        for step in range(40):
            arguments, _, _, x, state = many(layers, 300, documents_seed=step)
            del state["totals"]
            how = {"sweeps": 6, "kept": 4, "rao_blackwell": expect}
            words, above, tables_found, *_ = visit(arguments | how, x, step, **state)
            unit = UNIT if expect else 1
            found[expect].append([w / unit for w in (words, *above)] + [tables_found])
    for j, k in enumerate(layers):
        sampled, expected = (
            np.array([run[j] for run in found[e]])[:, :, :k] for e in (False, True)
        )
        difference = sampled - expected
        error = difference.std(axis=0, ddof=1) / np.sqrt(40)
        assert np.abs(difference.mean(axis=0) / error).max() < Z


@pytest.mark.parametrize("n", [1, 127, 128, 129, 255, 500, 100_000])
@pytest.mark.parametrize("k", [1, 2, 20, 130])
def test_expected_counts_of_any_size_are_shares_of_them(n, k):
    """One word, then one topic whose shape is so large that every customer has a table.

    Red with: a fixed point of 32 bits up to 255 of them.
    """
    w = np.random.default_rng(k).gamma(0.5, size=k) + 1e-3
    phi2 = np.ones((1, k))
    arguments = fixed([np.ones((1, 1)), phi2], np.ones(k), PRIOR, rao_blackwell=True)
    theta = packed([[[1.0]], w[None] * 1e12 / w.sum()])
    words, (above,), *_ = visit(
        arguments, np.array([[n]]), 0, theta=theta, rates=np.ones((1, 3)), totals=None
    )
    assert words[0, 0] == n * UNIT
    np.testing.assert_allclose(above[0, :k] / UNIT, n * w / w.sum(), rtol=3e-6, atol=1e-6)
    assert not above[0, k:].any()


@pytest.mark.parametrize("small", [1.0, 1e-20])
@pytest.mark.parametrize("k", [3, 20, 130])
def test_expected_counts_and_proportions_are_shares_where_weights_are_lifted(small, k):
    """Products of 1e-40 and less; the proportions are (r + n) / (r. + n.).

    Red with: phi as it is beside a sum of lifted weights.
    """
    w = np.random.default_rng(k).gamma(0.5, size=k) + 1e-3
    arguments = fixed([np.full((1, k), small)], np.ones(k), PRIOR, rao_blackwell=True)
    words, *_, mean = visit(
        arguments,
        np.array([[50]]),
        0,
        want_mean=True,
        theta=packed([small * w[None]]),
        rates=np.ones((1, 2)),
    )
    np.testing.assert_allclose(words[0, :k] / UNIT, 50 * w / w.sum(), rtol=3e-6, atol=1e-6)
    np.testing.assert_allclose(mean[0, :k], (1 + 50 * w / w.sum()) / (k + 50), rtol=3e-6)


@pytest.mark.parametrize(("sweeps", "kept"), [(2, 1), (2, 2), (3, 2)])
def test_kept_sweeps_are_the_last(sweeps, kept):
    """Topics alike, r = (1e-20, 50), all of three tokens in the first topic at first: each sweep
    leaves 3/53 of them there. Red with: the first sweeps collected; all of them.
    """
    n = 8_000
    arguments = fixed([np.ones((1, 2))], np.array([1e-20, 50.0]), PRIOR, sweeps=sweeps, kept=kept)
    theta = np.repeat(packed([[[1.0, 1e-30]]]), n, axis=0)
    words, *_ = visit(arguments, np.full((n, 1), 3), 0, theta=theta, rates=np.ones((n, 2)))
    assert words[0].sum() == 3 * kept * n
    expected = 3 * n * sum((3 / 53) ** s for s in range(sweeps - kept, sweeps))
    random = expected - 3 * n * (kept == sweeps)
    assert words[0, 0] == pytest.approx(expected, abs=3 * Z * np.sqrt(random) + 1)


@pytest.mark.parametrize("layers", [(1,), (1, 1), (1, 1, 1)], ids=len)
@pytest.mark.parametrize("expect", [False, True])
def test_one_topic_has_all_words(layers, expect):
    """Of the kept sweeps only. Red with: all sweeps collected."""
    x = np.array([[5, 0, 2], [0, 0, 0], [1, 1, 400]])
    phi = [np.array([[0.2], [0.5], [0.3]])] + [np.ones((1, 1))] * (len(layers) - 1)
    words, above, tables_found, *_ = visit(
        fixed(phi, np.ones(1), PRIOR, sweeps=5, kept=3, rao_blackwell=expect), x, 0
    )
    unit = UNIT if expect else 1
    assert words[:, 0].tolist() == (3 * unit * x.sum(axis=0)).tolist()
    assert not words[:, 1:].any()
    totals = [words[:, 0].sum() / unit] + [w[0, 0] / unit for w in above] + [tables_found[0, 0]]
    assert all(6 <= b <= a for a, b in pairwise(totals))


@pytest.mark.parametrize("layers", [(3,), (4, 3)], ids=len)
def test_mean_proportions_are_shapes_and_expected_counts_over_their_sum(layers):
    """Given theta, before any draw: layer 1 of one sweep is known. Red with: counts alone."""
    arguments, phi, r, x, state = many(layers, 200)
    del state["totals"]
    theta = unpacked(state["theta"], layers)
    *_, mean = visit(arguments, x, 0, want_mean=True, want_words=False, **state)
    s = theta[1] @ phi[1].T if len(layers) > 1 else np.broadcast_to(r, theta[0].shape)
    w = phi[0][None] * theta[0][:, None]
    n = (x[:, :, None] * w / w.sum(axis=2, keepdims=True)).sum(axis=1)
    expected = (s + n) / (s + n).sum(axis=1, keepdims=True)
    found = unpacked(mean, layers)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-9)
    for own in found:
        np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=1e-5)
    assert rows(found[0]).shape == (200, 16)


def test_mean_proportions_are_averaged_over_the_kept_sweeps():
    """One word, topics alike: the mean of one sweep's proportions is that of any.

    Red with: divided by all sweeps; the first sweeps collected; all of them.
    """
    n = 8_000
    arguments = fixed([np.ones((1, 2))], np.array([1.0, 3.0]), PRIOR, sweeps=12, kept=7)
    *_, mean = visit(arguments, np.full((n, 1), 3), 0, want_mean=True)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=1e-5)
    assert abs(z_mean(mean[:, 0], 0.25)) < Z
