"""pysgrld.LDA and the matrices it takes."""

from __future__ import annotations

import doctest
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import pysgrld.estimators.deep_lda
import pysgrld.estimators.lda
import pysgrld.samplers.targets.directions
import pysgrld.samplers.targets.langevin
import pysgrld.samplers.targets.simplex
import pysgrld.samplers.targets.sphere
from pysgrld import LDA, DeepLDA, DPMixture
from pysgrld.errors import (
    ConvergenceWarning,
    NotFittedError,
    NumericalError,
    OutputError,
    UsageError,
)
from pysgrld.estimators import fitting
from pysgrld.estimators.inputs import as_documents


@pytest.fixture(scope="module")
def counts():
    """Three topics with disjoint words, 60 documents each.

    With as many topics as there are, a chain may sit for long where two are merged: seed 1 does.
    """
    return np.kron(np.eye(3, dtype=int), np.ones((60, 8), dtype=int)) * 2


@pytest.fixture(scope="module")
def fitted(counts):
    return LDA(n_components=3, max_iter=300, random_state=3).fit(counts)


@pytest.mark.parametrize(
    "module",
    [
        pysgrld.estimators.lda,
        pysgrld.estimators.deep_lda,
        pysgrld.samplers.targets.simplex,
        pysgrld.samplers.targets.langevin,
        pysgrld.samplers.targets.sphere,
        pysgrld.samplers.targets.directions,
    ],
)
def test_examples_in_docstrings_are_true(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert found.failed == 0


@pytest.mark.parametrize("algo", ["scir", "sgrld", "gibbs", "cgs", "ovb", "hsvg"])
def test_every_sampler_finds_topics_with_disjoint_words(algo, counts):
    lda = LDA(n_components=3, algo=algo, max_iter=240, random_state=3).fit(counts)
    mass = lda.components_.reshape(3, 3, 8).sum(axis=2)
    assert sorted(mass.argmax(axis=1)) == [0, 1, 2]
    assert (mass.max(axis=1) > 0.95).all()


def test_partial_fit_goes_on_after_fit(counts):
    """Red with: the number of documents seen, which only the first `partial_fit` had set."""
    lda = LDA(n_components=3, warm_up=0, burn_in=0, max_iter=5, holdout=0).fit(counts)
    assert lda.partial_fit(counts[:10]).n_iter_ == 6


@pytest.mark.parametrize("algo", ["gibbs", "cgs", "scir"])
def test_too_few_iterations_for_a_sample_are_warned_of(algo, counts):
    """Red with: no warning, and a perplexity that is no number."""
    few = LDA(n_components=3, algo=algo, max_iter=30, random_state=3)
    with pytest.warns(ConvergenceWarning, match="max_iter=30 ends before") as told:
        few.fit(counts)
    assert [Path(warning.filename).name for warning in told] == ["test_estimators.py"]
    assert few.n_samples_ == 0
    assert 1 < few.perplexity_ < 24


def test_an_approximation_is_not_warned_of(counts):
    """Its samples are none by nature, and its figure is there after few iterations too."""
    lda = LDA(n_components=3, algo="ovb", max_iter=3).fit(counts)
    assert 1 < lda.perplexity_ < 24


def test_partial_fit_refuses_what_needs_the_whole_corpus_after_fit_too(counts):
    """Red with: a check before the first iteration only."""
    lda = LDA(n_components=3, algo="gibbs", burn_in=0, max_iter=5, holdout=0).fit(counts)
    with pytest.raises(ValueError, match="needs the whole corpus"):
        lda.partial_fit(counts[:10])


def test_rows_of_components_and_of_transform_sum_to_one(fitted, counts):
    assert fitted.components_.shape == (3, 24)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(fitted.transform(counts).sum(axis=1), 1, atol=1e-12)


def test_threads_do_not_change_the_model(counts):
    one, two = (LDA(3, max_iter=60, n_jobs=n).fit(counts).components_ for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_seeds_change_the_model(counts):
    one, two = (
        LDA(3, burn_in=0, max_iter=20, random_state=n).fit(counts).components_ for n in (1, 2)
    )
    assert one.tobytes() != two.tobytes()


def test_sparse_and_dense_counts_give_the_same_model(fitted, counts):
    lda = LDA(n_components=3, max_iter=300, random_state=3).fit(sparse.csr_matrix(counts))
    assert lda.components_.tobytes() == fitted.components_.tobytes()


def test_perplexity_of_disjoint_topics_is_near_the_words_of_one_topic(fitted, counts):
    assert 7.5 < fitted.perplexity(counts) < 10
    assert fitted.score(counts) == pytest.approx(-np.log(fitted.perplexity(counts)))


def test_a_saved_model_is_the_same_when_loaded(fitted, counts, tmp_path):
    fitted.save(tmp_path / "run")
    loaded = LDA.load(tmp_path / "run")
    assert loaded.components_.tobytes() == fitted.components_.tobytes()
    assert loaded.transform(counts).tobytes() == fitted.transform(counts).tobytes()
    with pytest.raises(OutputError, match=r"choose another folder$"):
        fitted.save(tmp_path / "run")


@pytest.mark.parametrize("lazy", ["on", "off"])
def test_partial_fit_after_load_goes_on_as_without_it(lazy, counts, tmp_path):
    model = LDA(3, total_samples=180, burn_in=2, lazy=lazy)
    for begin in range(0, 180, 30):
        model.partial_fit(counts[begin : begin + 30])
    model.save(tmp_path / "run")
    other = LDA.load(tmp_path / "run")
    for lda in (model, other):
        lda.partial_fit(counts[:30])
    assert other.n_iter_ == model.n_iter_ == 7
    assert other.components_.tobytes() == model.components_.tobytes()


def test_without_max_iter_it_stops_when_settled(counts):
    lda = LDA(n_components=3, random_state=3).fit(counts)
    assert lda.n_samples_ >= 50
    assert 7.5 < lda.perplexity_ < 12


def test_nothing_of_an_earlier_fit_is_left(counts):
    """Red with: the perplexity of the fit before; words of one model and topics of another."""
    model = LDA(3, max_iter=60, holdout=0.2).fit(counts)
    assert model.perplexity_ > 0
    model.set_params(holdout=0).fit(counts)
    assert not hasattr(model, "perplexity_")
    with pytest.raises(NumericalError, match=r"use a \w+ step_size"):
        model.set_params(algo="sgrld", step_size=(1e6, 1, 0)).fit(counts[:, :5])
    with pytest.raises(NotFittedError):
        model.transform(counts)


def test_parameters_are_read_and_set_as_in_scikit_learn():
    from sklearn.base import clone

    lda = clone(LDA(n_components=7, eta=0.2))
    assert lda.get_params()["n_components"] == 7
    assert lda.set_params(eta=0.3).eta == 0.3
    assert repr(lda) == "LDA(n_components=7, eta=0.3)"
    assert repr(DeepLDA(np.array([3, 2]))) == "DeepLDA(layers=array([3, 2]))"
    with pytest.raises(ValueError, match="invalid parameter 'beta'"):
        lda.set_params(beta=1)


def test_unfitted_model_says_so(counts):
    with pytest.raises(NotFittedError, match="not fitted"):
        LDA().transform(counts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 0}, "n_components >= 1"),
        ({"algo": "vb"}, "algo in scir"),
        ({"lazy": "yes"}, "lazy: wanted auto|on|off, found 'yes'".replace("|", r"\|")),
        ({"lazy": "on", "algo": "sgrld"}, "^lazy does not apply to algo sgrld"),
        ({"alpha": -1.0}, "alpha > 0"),
        ({"eta": 0}, "eta > 0"),
        ({"minibatch": 1.5}, "minibatch >= 1"),
        ({"step_size": (1, 2)}, "A, B, C"),
        ({"random_state": -1}, "random_state >= 0"),
        ({"holdout": 500}, "hold out fewer"),
    ],
)
def test_a_wrong_parameter_is_named(changes, message, counts):
    with pytest.raises(ValueError, match=message):
        LDA(**{"n_components": 3} | changes).fit(counts)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1, -1]], r"X\[0, 1\] is -1"),
        ([[1.5, 1]], r"X\[0, 0\] is 1.5"),
        ([[np.nan, 1]], "NaN"),
        ([1, 2], "1 dimension,"),
        ([["a", "b"]], "dtype"),
        (["a text", "another"], "scikit-learn's CountVectorizer"),
        ([["a", "text"], ["another"]], "scikit-learn's CountVectorizer"),
        ([[(0, 2), (3, 1)], [(1, 1)]], "not a matrix of numbers"),
        (np.zeros((0, 3)), "at least one document"),
        (sparse.csr_matrix([[0.5, 0], [0, 2]]), r"X\[0, 0\] is 0.5"),
        (np.array([[2.0**31]]), "2147483647"),
    ],
)
def test_a_bad_matrix_is_named(x, message):
    with pytest.raises(ValueError, match=message):
        as_documents(x)


def test_sparse_duplicates_are_added_and_zeros_dropped():
    x = sparse.csr_matrix(([1, 2, 0], [0, 0, 1], [0, 3]), shape=(1, 3))
    documents, words = as_documents(x)
    assert (documents.indices.tolist(), documents.counts.tolist(), words) == ([0], [3], 3)


def test_one_document_is_trained_on():
    """Red with: a refusal, as none can be held out."""
    assert LDA(2, exact_sweeps=0).fit(np.full((1, 4), 5)).n_samples_ >= 50


def test_a_matrix_of_no_counts_is_refused():
    with pytest.raises(ValueError, match="every document is empty"):
        LDA(2).fit(np.zeros((4, 5)))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("at", [0, 3, -1])
@pytest.mark.parametrize("value", [-7, 10**6])
def test_a_compressed_matrix_with_rows_outside_its_entries_is_refused(make, at, value):
    """Red with: SciPy trusted with it (a crash)."""
    x = make(np.eye(5, dtype=int))
    x.indptr[at] = value
    with pytest.raises(ValueError, match=r"X\.indptr does not fit a cs[rc] matrix with 5 entries"):
        LDA(2, max_iter=2).fit(x)


def test_whole_numbers_are_read_as_objects_too():
    """As pandas gives nullable integers. Red with: refused for their dtype."""
    documents, _ = as_documents(np.array([[2, 0], [0, 3]], dtype=object))
    assert documents.counts.tolist() == [2, 3]


@pytest.mark.parametrize("model", [LDA(2, max_iter=2), DeepLDA((2, 1), max_iter=2)])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_document_of_too_many_tokens_is_refused(model, method):
    """Red with: numbers of documents from 0 in words of the core, or minutes that Ctrl-C does not end."""
    counts = np.eye(4, dtype=int)
    counts[2, 2] = 2**24 // 5 + 1
    with pytest.raises(ValueError, match=r"^document 3 has 3,355,444 tokens, but the maximum is"):
        getattr(model.set_params(holdout=0, sweeps=10), method)(counts)


def test_half_precision_is_read_without_a_warning():
    LDA(2, max_iter=60, minibatch=3).fit(np.eye(6, dtype=np.float16))


def test_a_mixture_needs_a_number_of_iterations():
    with pytest.raises(ValueError, match=r"max_iter: wanted a whole number >= 1 .*, found None"):
        DPMixture(max_iter=None).fit(np.eye(5, dtype=int))


class Frame:
    """What is asked of a DataFrame."""

    def __init__(self, x, columns):
        self.x, self.columns, self.shape = np.asarray(x), columns, np.shape(x)

    def __array__(self, dtype=None, copy=None):
        return self.x.astype(dtype or self.x.dtype)


@pytest.mark.parametrize(
    "estimator", [LDA(2, max_iter=3, holdout=0), DPMixture(max_iter=3, burn_in=1)]
)
def test_a_frame_whose_columns_are_in_another_order_is_refused(estimator):
    """Red with: values taken by their places, whatever the columns are called."""
    x = np.array([[3, 0, 1], [0, 4, 1], [2, 1, 0]])
    frame = Frame(x, ["sun", "moon", "star"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(estimator).fit(frame)
    assert fitted.feature_names_in_.tolist() == ["sun", "moon", "star"]
    use = fitted.transform if hasattr(fitted, "transform") else fitted.predict_proba
    np.testing.assert_array_equal(use(frame), use(x))
    with pytest.raises(UsageError, match="column 0 of X is 'moon', but was 'sun' in fit"):
        use(Frame(x[:, [1, 0, 2]], ["moon", "sun", "star"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not hasattr(fitted.fit(x), "feature_names_in_")


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_an_estimator_that_another_thread_fits_is_refused_in_a_sentence(fit, monkeypatch):
    """Red with: "internal: a workspace is in use by another thread", or a hang."""
    model = LDA(2, max_iter=10, burn_in=0, holdout=0, warm_up=0)
    started, go = threading.Event(), threading.Event()
    advance = LDA._advance

    def slow(self, batch=None):
        started.set()
        go.wait(20)
        advance(self, batch)

    monkeypatch.setattr(LDA, "_advance", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(getattr(model, fit), np.eye(4))
        started.wait(20)
        try:
            with pytest.raises(
                UsageError, match=r"^this LDA is being fitted by another thread; wait"
            ):
                getattr(model, fit)(np.eye(4))
        finally:
            go.set()
        first.result()
    getattr(model, fit)(np.eye(4))


def test_a_keyboard_interrupt_within_an_iteration_leaves_what_was_fitted(monkeypatch):
    """As a second Ctrl-C, or a handler of somebody else's. Red with: no components_."""
    model, advance = LDA(2, max_iter=30, burn_in=2, holdout=0, warm_up=0), LDA._advance

    def broken_off(self, batch=None):
        if self._posterior.chain.step == 8:
            raise KeyboardInterrupt
        advance(self, batch)

    monkeypatch.setattr(LDA, "_advance", broken_off)
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.eye(4))
    assert model.n_iter_ == 8
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    assert model.transform(np.eye(4)).shape == (4, 2)


def test_a_count_that_needs_too_much_memory_is_named(monkeypatch):
    """Red with: "X has 40 features: topics over that many need"."""
    monkeypatch.setattr(fitting, "allowed_memory", lambda: 1 << 28)
    x = np.ones((30, 40), int)
    x[3, 5] = 10**9
    with pytest.raises(
        UsageError, match=r"^X\[3, 5\] is 1,000,000,000: a document with that many tokens"
    ):
        LDA(5, max_iter=5, holdout=0).fit(x)


@pytest.mark.parametrize(
    "changed",
    [
        {"n_components": 5},
        {"eta": 0.9},
        {"algo": "sgrld"},
        {"step_size": (0.1, 1.0, 0.5)},
        {"random_state": 3},
    ],
)
def test_parameters_of_a_chain_cannot_change_between_partial_fits(changed):
    """Red with: new values that have no effect, without a word."""
    x = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = LDA(n_components=3, total_samples=100, max_iter=20, warm_up=0, burn_in=0).partial_fit(x)
    before = {name: model.get_params()[name] for name in changed}
    model.set_params(**changed)
    (name,) = changed
    with pytest.raises(
        ValueError, match=rf"^{name}: was .* when training began.*set the old value"
    ):
        model.partial_fit(x)
    assert model.n_iter_ == 1
    assert model.set_params(**before).partial_fit(x).n_iter_ == 2
    model.set_params(**changed).fit(x)
    model.set_params(max_iter=1000, n_jobs=1, verbose=0, total_samples=50).partial_fit(x)


def test_parameters_of_a_chain_are_known_after_load_and_with_generators(tmp_path):
    """Red with: generators that are another value when a number is drawn; a model that was loaded."""
    x = np.random.default_rng(0).poisson(1.0, (30, 12))
    for state in (np.random.RandomState(1), np.random.default_rng(1)):
        model = LDA(n_components=3, total_samples=100, random_state=state).partial_fit(x)
        pickle.loads(pickle.dumps(model.partial_fit(x))).partial_fit(x)
    model.save(tmp_path / "m")
    found = LDA.load(tmp_path / "m").partial_fit(x)
    with pytest.raises(ValueError, match=r"eta: was None when training began"):
        found.set_params(eta=0.5).partial_fit(x)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_masked_entries_are_refused_with_their_number(dtype):
    """Red with: counts below a mask that are taken for known ones."""
    x = np.random.default_rng(0).poisson(1.0, (30, 12)).astype(dtype)
    masked = np.ma.masked_array(x, mask=x == 2)
    for call in (LDA(n_components=3).fit, LDA(n_components=3).partial_fit):
        with pytest.raises(ValueError, match=rf"masked array with {(x == 2).sum()} masked entries"):
            call(masked)
    model = LDA(n_components=3, total_samples=100).partial_fit(np.ma.masked_array(x, mask=False))
    with pytest.raises(ValueError, match=r"masked array"):
        model.transform(masked)
