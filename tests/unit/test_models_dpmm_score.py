"""Scores of mixtures on whole documents: by hand, in blocks, averaged, and put back."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from pysgrld.errors import CheckpointError, NumericalError
from pysgrld.evaluate import hold_out_whole
from pysgrld.models.dpmm import likelihood as multinomials
from pysgrld.models.dpmm.likelihood import log_likelihoods, responsibilities
from pysgrld.models.dpmm.resolved import MixtureOptions
from pysgrld.models.dpmm.slice_sampling import Mixture, Settings
from pysgrld.models.table import find_model
from pysgrld.types import Documents, Key

X = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 5, 0, 0], [1, 1, 1, 1]])
OPTIONS = MixtureOptions.from_values({"model": "dpmm", "eta": 0.5})
KEY = Key(0, 0, 0)


def documents(x):
    rows = [np.flatnonzero(row) for row in x]
    indptr = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    counts = np.concatenate([row[r] for row, r in zip(x, rows, strict=True)])
    return Documents(indptr, np.concatenate(rows).astype(np.int32), counts.astype(np.int32))


def parts(seed, left=0.25):
    rng = np.random.default_rng(seed)
    w = np.append((1 - left) * rng.dirichlet(np.ones(3)), left)
    return {"phi": rng.dirichlet(np.ones(4), 3).T.astype(np.float32), "w": w.astype(np.float32)}


def by_hand(p, x):
    prior = gammaln(2.0) - gammaln(2.0 + x.sum()) + (gammaln(0.5 + x) - math.lgamma(0.5)).sum()
    phi, w = p["phi"].astype(float), p["w"].astype(float)
    return w[:-1] @ np.prod(phi.T**x, axis=1) + w[-1] * np.exp(prior)


@pytest.fixture
def held_out():
    return hold_out_whole(documents(X), np.arange(4))


@pytest.fixture
def density(held_out):
    return find_model("dpmm").scorer(OPTIONS, held_out, 4, 1)


def test_empty_documents_are_left_out_and_counted(held_out, density):
    assert held_out.dropped == 1
    assert held_out.doc_ids.tolist() == [0, 2, 3]
    assert held_out.observed.tokens == 0
    assert len(held_out.observed) == len(held_out.held_out) == 3
    assert density.held_out.held_out.tokens == X.sum()
    assert density.words.tolist() == [0, 1, 2, 3]


def test_point_and_average_by_hand(density):
    """Densities are averaged, then logarithms, then documents. Red with: logarithms averaged over
    samples; the rest of the stick left out; words that do not occur not in the prior's total.
    """
    draws = [parts(seed) for seed in (1, 2, 3)]
    some = X[[0, 2, 3]]
    assert math.isnan(density.average())
    for n, p in enumerate(draws, 1):
        each = np.array([[by_hand(q, x) for x in some] for q in draws[:n]])
        assert density.update(KEY, p) == pytest.approx(-np.log(each.mean(axis=0)).mean(), rel=1e-6)
        assert density.point(KEY, p) == pytest.approx(-np.log(each[-1]).mean(), rel=1e-6)
    assert density.samples == 3
    assert density.average() < np.mean([density.point(KEY, p) for p in draws])


def test_words_of_no_held_out_document_count_in_the_prior(density):
    """V is the vocabulary's. Red with: the words at hand for V."""
    few = find_model("dpmm").scorer(OPTIONS, hold_out_whole(documents(X[:1]), np.arange(1)), 4, 1)
    assert few.words.tolist() == [0, 2]
    p = parts(4)
    assert few.point(KEY, p | {"phi": p["phi"][few.words]}) == pytest.approx(
        -math.log(by_hand(p, X[0])), rel=1e-6
    )


def test_what_single_precision_lacks_is_left_to_the_prior(density):
    """A word that no component has. Red with: nan for the sum of nothing."""
    p = parts(5)
    p["phi"][1] = 0.0
    found = density.point(KEY, p)
    prior = by_hand({"phi": np.zeros((4, 3)), "w": p["w"]}, X[2])
    each = [
        by_hand(p, X[0]),
        prior,
        by_hand({"phi": p["phi"] * [[1], [0], [1], [1]], "w": p["w"]}, X[3]),
    ]
    assert found == pytest.approx(-np.log(each).mean(), rel=1e-6)
    p["phi"][0] = np.nan
    with pytest.raises(NumericalError, match="held-out documents are not finite"):
        density.point(KEY, p)


def test_the_unigram_is_that_of_training_counts(density):
    counts = np.array([10, 0, 5, 5])
    q = (counts + 0.01) / 20.04
    expected = -(X * np.log(q)).sum() / 3
    assert density.unigram(counts) == pytest.approx(expected, rel=1e-12)


def test_the_share_gained_is_one_of_the_perplexity_per_token(density):
    """Red with: nats of a document for those of a token."""
    per_token = 3 / X.sum()
    before, now = 11.0, 10.9
    expected = 1 - np.exp(now * per_token) / np.exp(before * per_token)
    assert density.share_gained(before, now) == pytest.approx(expected, rel=1e-12)
    assert density.share_gained(now, before) < 0
    assert np.isfinite(density.share_gained(-1e30, 1e30))  # red with: an overflow of a forged score


def test_going_on_from_a_state_is_exact(held_out, density):
    again = find_model("dpmm").scorer(OPTIONS, held_out, 4, 1)
    again.restore(density.arrays())
    assert again.samples == 0
    density.update(KEY, parts(1))
    again.restore(density.arrays())
    kept = density.arrays()
    assert again.update(KEY, parts(2)) == density.update(KEY, parts(2))
    assert kept["samples"].tolist() == [1]
    with pytest.raises(CheckpointError, match=r"density\.total"):
        again.restore(kept | {"total": np.zeros(2)})


@pytest.mark.parametrize("cells", [1, 7, 1000])
def test_likelihoods_in_blocks(cells, monkeypatch):
    """Red with: a block that ends within a document."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, (23, 4))
    x[x.sum(axis=1) == 0, 0] = 1
    log_phi = np.log(rng.dirichlet(np.ones(4), 3).T)
    monkeypatch.setattr(multinomials, "CELLS", cells)
    np.testing.assert_allclose(log_likelihoods(documents(x), log_phi), x @ log_phi, rtol=1e-12)


def test_words_that_no_component_has_leave_a_document_to_the_weights():
    """Of what is left, sums are 1. Red with: nan for the sum of nothing."""
    phi = np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]], np.float32)
    some = Documents(np.array([0, 1, 2, 2]), np.array([2, 1], np.int32), np.ones(2, np.int32))
    with np.errstate(divide="ignore"):
        found = responsibilities(some, np.log(phi), np.log([0.6, 0.3]))
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [1.0, 0.0], [2 / 3, 1 / 3]], rtol=1e-6)


def chain():
    mixture = Mixture(np.arange(20), 4, Settings("scir", start=3), 1)
    x = np.random.default_rng(1).integers(1, 3, (20, 4))
    for _ in range(5):
        mixture.iterate(documents(x), np.arange(20))
    return mixture


def test_a_chain_scores_as_its_parts_do(density):
    mixture = chain()
    assert density.point(KEY, mixture.draw()) == pytest.approx(
        -mixture.log_predictive(documents(X[[0, 2, 3]])).mean(), rel=1e-6
    )
    some = mixture.draw(np.array([2, 0], np.int32))
    np.testing.assert_array_equal(some["phi"], mixture.draw()["phi"][[2, 0]])
    assert some["w"].sum() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("z", lambda a: a[:-1], "'z' of the checkpoint has type int32"),
        ("z", lambda a: a.astype(np.int64), "'z' of the checkpoint has type int64"),
        ("z", lambda a: np.where(a == 0, 99, a).astype(np.int32), "has topic 99"),
        ("z", lambda a: np.full_like(a, -1), "inconsistent components"),
        ("z", lambda a: np.zeros_like(a), "inconsistent components"),
        ("sticks.log_g", lambda a: a[:1], "'sticks.log_g' of the checkpoint"),
        ("sticks.log_g", lambda a: np.array(1.0), "'sticks.log_g' of the checkpoint"),
        ("phi.log_g", lambda a: a[:3], "'phi.log_g' of the checkpoint"),
        ("phi.log_g", lambda a: a[:, :1], "lacks some of its"),
        ("concentration", lambda a: -a, "inconsistent components"),
        ("concentration", lambda a: None, "lacks array 'concentration'"),
    ],
)
def test_what_is_no_state_of_the_chain_is_refused(name, change, said):
    """Nothing is changed then. Red with: a check left out."""
    mixture = chain()
    assert mixture.components >= 2
    kept = {n: a.copy() for n, a in mixture.arrays().items()}
    changed = dict(kept)
    changed[name] = change(kept[name])
    if changed[name] is None:
        del changed[name]
    with pytest.raises(CheckpointError, match=said.replace(".", r"\.")):
        mixture.restore(9, changed)
    assert mixture.step == 5
    for n, a in mixture.arrays().items():
        np.testing.assert_array_equal(a, kept[n])
