"""Variational baselines: against double precision, the bound, scikit-learn, and Gibbs.

docs/internals/mathematics.md, "Variational Bayes".
"""

import numpy as np
import pytest
from oracles import variational
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation

from pysgrld.core import core, padded_width
from pysgrld.core.draws import WEIGHTS
from pysgrld.evaluate import VisitPurpose
from pysgrld.models.lda import mean_field
from pysgrld.models.lda.mean_field import MeanFieldDocuments
from pysgrld.models.lda.reader import MeanFieldReader
from pysgrld.models.token_reader import GibbsReader
from pysgrld.samplers.state import Counts
from pysgrld.samplers.variational import Dirichlets
from pysgrld.types import UNIT, Block, Documents, HeldOutCounts, Key, Minibatch

V, K, D, ALPHA, ETA = 60, 7, 40, 0.15, 0.05
NO_KEY = Key(1, 0, 0)


def table(seed=1, documents=D):
    """Counts of documents, each from a few of some planted topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.1), K)
    theta = rng.dirichlet(np.full(K, 0.2), documents)
    return np.array(
        [
            rng.multinomial(n, t @ topics)
            for n, t in zip(rng.integers(5, 200, documents), theta, strict=True)
        ]
    )


def minibatch(counts, scale=1.0):
    """Documents over all words."""
    rows = [np.flatnonzero(row) for row in counts]
    indptr = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    indices = np.concatenate(rows).astype(np.int32)
    entries = np.concatenate([row[r] for row, r in zip(counts, rows, strict=True)])
    words = np.arange(counts.shape[1], dtype=np.int32)
    return Minibatch(
        indptr, indices, entries.astype(np.int32), words, np.arange(len(counts)), scale
    )


def state_of(lam):
    """The sampler's state that has these parameters, (K, V)."""
    k, v = lam.shape
    g = core.zeros(v, padded_width(k), "float32")
    g[:, :k] = lam.T
    block = Block("phi", "simplex", (v, k), ETA, 0, 0.0)
    return Dirichlets(block, 1, g=g, sums=g.sum(axis=0, dtype=np.float64))


def lam_of(state, k=K):
    return state.g[:, :k].T.astype(np.float64)


def fitted(passes, alpha=ALPHA, k=K, threads=1):
    return MeanFieldDocuments(topics=k, alpha=alpha, sweeps=passes, threads=threads)


def start(seed=2):
    return np.random.default_rng(seed).gamma(0.3, 20.0, (K, V)) + 1e-3


def test_start_is_gamma_100_of_mean_one():
    """Red with: shape 10; not divided by the shape."""
    state = Dirichlets.start(NO_KEY, Block("phi", "simplex", (4000, 20), ETA, 0, 1e9), 1)
    lam = state.g[:, :20].astype(np.float64)
    assert lam.mean() == pytest.approx(1.0, abs=0.002)
    assert lam.std() == pytest.approx(0.1, abs=0.002)
    assert ((lam - 1) ** 3).mean() / lam.std() ** 3 == pytest.approx(0.2, abs=0.04)
    np.testing.assert_allclose(state.sums[:20], lam.sum(axis=0), rtol=1e-9)
    assert (state.g[:, 20:] == 0).all()


@pytest.mark.parametrize("lowest", [1e-3, 0.05, 5.0])
def test_weights_are_exponentials_of_expected_logarithms(isa, lowest):
    """Up to a factor for each word. Red with: rows normalised over words; psi of the sum left out."""
    rng = np.random.default_rng(3)
    lam = lowest + rng.gamma(0.2, 500.0, (K, V)) * (rng.random((K, V)) < 0.5)
    found = state_of(lam).weights()
    assert (found[:, K:] == 0).all()
    lam = lam.astype(np.float32).astype(np.float64)
    expected = (digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))).T
    ratio = found[:, :K] / found[:, :K].max(axis=1, keepdims=True)
    wanted = np.exp(expected - expected.max(axis=1, keepdims=True))
    seen = wanted > 1e-20  # below lies the floor
    # psi is known to 4e-7 of its size, about 1 / lambda
    np.testing.assert_allclose(ratio[seen], wanted[seen], rtol=2e-6 + 8e-7 / lowest)
    assert (ratio[~seen] < 2e-20).all()


@pytest.mark.parametrize("passes", [1, 5, 100])
def test_documents_are_those_of_double_precision(isa, passes):
    """Red with: exp(psi(gamma)) of the gamma before the last pass in the counts; alpha doubled."""
    counts, lam = table(), start()
    batch = minibatch(counts)
    weights = state_of(lam).weights()
    documents = Documents(batch.indptr, batch.indices, batch.counts)
    gamma, found = fitted(passes).fit(weights, documents, want_words=True)
    wanted, words = variational.fit(lam, counts, ALPHA, passes, mean_field.TOLERANCE)
    if passes < 100:  # else one may stop a pass before the other
        np.testing.assert_allclose(gamma[:, :K], wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(gamma[:, :K], wanted, atol=0.5)
    np.testing.assert_allclose(found[:, :K].T / UNIT, words, rtol=0.02, atol=0.3)
    np.testing.assert_allclose(gamma.sum(axis=1), K * ALPHA + counts.sum(axis=1), rtol=1e-5)
    assert (gamma[:, K:] == 0).all()


def test_counts_are_those_of_all_tokens_and_threads_do_not_matter():
    """sum Lamhat = K V eta + (D/B) tokens. Red with: D/B left out."""
    counts, state = table(), state_of(start())
    weights = state.weights()
    batch = minibatch(counts, scale=3.0)
    found = [
        fitted(20, threads=n).visit(NO_KEY, {WEIGHTS: weights}, batch)["phi"] for n in (1, 2, 7)
    ]
    kept = [f.counts.copy() for f in found]
    assert (kept[0] == kept[1]).all()
    assert (kept[0] == kept[2]).all()
    state.step(NO_KEY, found[0], 1.0)
    wanted = K * V * ETA + 3.0 * counts.sum()
    assert lam_of(state).sum() == pytest.approx(wanted, rel=1e-5)
    assert state.sums.sum() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("often", [127, 128, 5000, 3_000_000])
def test_a_word_that_occurs_often_is_counted_whole(often):
    """Red with: 128 occurrences added as 32-bit integers of 2^-24, which they are too large for."""
    counts = np.zeros((1, V), np.int64)
    counts[0, [3, 7]] = often, 2
    weights = state_of(start()).weights()
    found = fitted(20).visit(NO_KEY, {WEIGHTS: weights}, minibatch(counts))["phi"]
    np.testing.assert_allclose(found.counts[[3, 7]].sum(axis=1) / UNIT, [often, 2], rtol=1e-5)


@pytest.mark.parametrize("rho", [0.1, 0.7, 1.0])
def test_a_step_goes_the_weight_s_share_of_the_way(rho):
    """Red with: rho for -log(1 - rho) in the kernel's exponential."""
    lam, batch = start(), minibatch(table())
    weights = state_of(lam).weights()
    statistics = fitted(20).visit(NO_KEY, {WEIGHTS: weights}, batch)["phi"]
    state = state_of(lam)
    state.step(NO_KEY, statistics, rho)
    counts = statistics.counts[:, :K].T * statistics.factor
    np.testing.assert_allclose(
        lam_of(state), (1 - rho) * lam + rho * (ETA + counts), rtol=1e-5, atol=1e-6
    )


def test_the_bound_never_decreases():
    """Documents, then topics, each in turn, the whole corpus at full weight.

    Red with: exp(psi(gamma)) of the pass before; the weights' factors exp(-psi(sum)) left out; alpha
    twice; eta missing in the step.
    """
    counts, lam = table(), start()
    batch = minibatch(counts)
    documents = Documents(batch.indptr, batch.indices, batch.counts)
    state, gamma = state_of(lam), core.zeros(D, padded_width(K), "float32")
    gamma[:, :K] = 1.0
    bounds, work = [], core.Workspace()
    for _ in range(150):
        weights = state.weights()
        found = core.documents_mean_field(
            weights=weights,
            topics=K,
            indptr=documents.indptr,
            indices=documents.indices,
            counts=documents.counts,
            alpha=ALPHA,
            sweeps=1,
            tolerance=0.0,
            gamma=gamma,
            work=work,
            threads=1,
        )
        wide = gamma[:, :K].astype(np.float64)
        bounds.append(variational.bound(lam_of(state), wide, counts, ALPHA, ETA))
        statistics = Counts(batch.words, found, 1.0 / UNIT)
        state.step(NO_KEY, statistics, 1.0)
        bounds.append(variational.bound(lam_of(state), wide, counts, ALPHA, ETA))
    rise = np.diff(bounds) / np.abs(bounds[1:])
    assert rise.min() > -1e-9, rise.min()
    assert bounds[-1] - bounds[0] > 0.1 * abs(bounds[0])


#: With a wide prior a document has one optimum, wherever it starts: scikit-learn starts at random.
SMOOTH = 1.0


def fit_sklearn(counts, way, **how):
    """Scikit-learn's lambda, and what it started from."""
    model = LatentDirichletAllocation(
        K,
        doc_topic_prior=SMOOTH,
        topic_word_prior=ETA,
        mean_change_tol=1e-6,
        max_doc_update_iter=1000,
        random_state=4,
        **how,
    )
    begin = np.random.RandomState(4).gamma(100.0, 0.01, (K, V))
    way(model, counts)
    return model.components_, begin


def own(begin, minibatches, rhos, monkeypatch):
    monkeypatch.setattr(mean_field, "TOLERANCE", 1e-6)
    state = state_of(begin)
    for batch, rho in zip(minibatches, rhos, strict=True):
        weights = state.weights()
        statistics = fitted(1000, SMOOTH).visit(NO_KEY, {WEIGHTS: weights}, batch)["phi"]
        state.step(NO_KEY, statistics, rho)
    return lam_of(state)


def test_batch_variational_bayes_is_scikit_learn_s(monkeypatch):
    """Red with: alpha 0.2 for 0.15; eta 0.06 for 0.05."""
    counts = table()
    wanted, begin = fit_sklearn(counts, lambda m, x: m.fit(x), learning_method="batch", max_iter=8)
    found = own(begin, [minibatch(counts)] * 8, [1.0] * 8, monkeypatch)
    close = np.abs(found - wanted) < 0.02 * wanted + 0.02
    assert close.mean() > 0.995, close.mean()
    assert np.abs(found - wanted).sum() < 0.002 * wanted.sum()


def test_online_variational_bayes_is_scikit_learn_s(monkeypatch):
    """Red with: rho of t for t + 1; D/B left out."""
    counts = table(documents=120)
    parts = [counts[i : i + 20] for i in range(0, 120, 20)] * 3

    def feed(model, _):
        for part in parts:
            model.partial_fit(part)

    wanted, begin = fit_sklearn(
        counts, feed, learning_offset=10.0, learning_decay=0.7, total_samples=120
    )
    rhos = [11.0**-0.7 * (1 + t / 11.0) ** -0.7 for t in range(len(parts))]
    found = own(begin, [minibatch(part, 6.0) for part in parts], rhos, monkeypatch)
    np.testing.assert_allclose(found, wanted, rtol=0.01, atol=0.01)


def test_predictions_are_products_of_means():
    """Patterson and Teh (2013), eq. 16.

    Red with: gamma fitted by phi for the weights; weights for phi in the product.
    """
    counts, lam = table(), start()
    batch = minibatch(counts)
    state = state_of(lam)
    parts = {"phi": state.rows(), WEIGHTS: state.weights()}
    documents = Documents(batch.indptr, batch.indices, batch.counts)
    reader = MeanFieldReader(K, ALPHA, documents, np.arange(len(documents)), 1)
    scored = HeldOutCounts(
        np.arange(0, 3 * D + 1, 3),
        np.tile([0, 7, 59], D).astype(np.int32),
        np.ones(3 * D, np.int32),
    )
    p = reader.predict(NO_KEY, parts, scored, VisitPurpose.AFRESH)
    gamma, _ = variational.fit(lam, counts, ALPHA, 100, 1e-3)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    wanted = theta @ (lam / lam.sum(axis=1, keepdims=True))[:, [0, 7, 59]]
    np.testing.assert_allclose(p.reshape(D, 3), wanted, rtol=0.02, atol=1e-6)
    found = reader.theta(NO_KEY, parts, VisitPurpose.NEW)
    np.testing.assert_allclose(found, theta, atol=0.01)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_hybrid_documents_with_sure_topics_are_gibbs_documents_of_those_topics():
    """exp(E log phi) of lambda = 1e6 phi is phi: the same proportions.

    Red with: weights normalised over words of unequal topics (see the next test too).
    """
    batch = minibatch(table())
    phi = np.random.default_rng(5).dirichlet(np.full(V, 0.3), K) + 1e-4
    phi /= phi.sum(axis=1, keepdims=True)
    own_weights = state_of(1e6 * phi).weights()
    plain = core.zeros(V, padded_width(K), "float32")
    plain[:, :K] = phi.T
    found = []
    for parts in ({WEIGHTS: own_weights}, {"phi": plain}):
        documents = Documents(batch.indptr, batch.indices, batch.counts)
        reader = GibbsReader(K, ALPHA, documents, np.arange(D), 1)
        found.append(reader.theta(NO_KEY, parts, VisitPurpose.NEW))
    np.testing.assert_allclose(*found, atol=1e-4)


def test_a_topic_of_little_mass_weighs_less_than_its_mean_says():
    """Weights are not normalised over words: an unsure topic's sum is below 1."""
    lam = np.full((K, V), 0.2)
    lam[0] = 2000.0
    found = state_of(lam).weights()[:, :K]
    expected = np.exp(digamma(0.2) - digamma(V * 0.2)) / np.exp(
        digamma(2000.0) - digamma(V * 2000.0)
    )
    np.testing.assert_allclose(found[:, 1:] / found[:, :1], expected, rtol=1e-5)
    assert expected < 0.05
