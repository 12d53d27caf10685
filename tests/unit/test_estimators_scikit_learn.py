"""The estimators under scikit-learn's own checks, in its searches, pipelines and containers."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from pysgrld import LDA, SAM, DeepLDA, DPMixture


def whole(x):
    """Round the real numbers that the checks bring, which counts are not; leave what is no matrix."""
    if sparse.issparse(x):
        return x.tocsr().rint() if x.dtype.kind == "f" else x
    if isinstance(x, pd.DataFrame):
        return x.round()
    try:
        found = np.asarray(x)
        return np.rint(found.astype(float)) if found.dtype.kind in "fO" and found.ndim == 2 else x
    except (TypeError, ValueError):
        return x


class OfWhole:
    """An estimator of counts that are made of real numbers."""

    def _documents(self, X, words=None):
        return super()._documents(whole(X), words)


class WholeLDA(OfWhole, LDA):
    pass


class WholeDeepLDA(OfWhole, DeepLDA):
    pass


class WholeDPMixture(OfWhole, DPMixture):
    pass


#: Checks that may fail, and why.
NO_CLASSIFIER = "takes whatever has predict_proba for a classifier of four classes"
EXPECTED = {
    WholeDPMixture: {
        "check_estimator_sparse_array": NO_CLASSIFIER,
        "check_estimator_sparse_matrix": NO_CLASSIFIER,
    }
}
SHORT = {"max_iter": 12, "burn_in": 2, "n_jobs": 1}


@pytest.mark.parametrize(
    "estimator",
    [
        WholeLDA(3, holdout=0, warm_up=0, **SHORT),
        *(  # whose checks are those of WholeLDA, but for the parameters
            pytest.param(estimator, marks=pytest.mark.nightly, id=type(estimator).__name__)
            for estimator in (
                WholeDeepLDA((3, 2), holdout=0, warm_up=0, sweeps=4, **SHORT),
                WholeDPMixture(**SHORT),
            )
        ),
        SAM(2, holdout=0, weighting="tf", sweeps=4, **SHORT),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learns_checks_pass(estimator):
    """Red with: results that depend on rows; no pickle; data that are written to; messages of our own.

    The array API's check is skipped by scikit-learn itself where SciPy does not switch it on.
    """
    expected = EXPECTED.get(type(estimator), {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            estimator, expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    assert len(found) > 40
    assert [(f["check_name"], f["exception"]) for f in found if f["status"] == "failed"] == []
    assert {f["check_name"] for f in found if f["status"] == "xfail"} == set(expected)


COUNTS = np.kron(np.eye(3, dtype=int), np.ones((20, 6), dtype=int)) * 2
ESTIMATORS = [
    LDA(3, max_iter=60, burn_in=5, holdout=0, random_state=3),
    DeepLDA((3, 2), max_iter=40, burn_in=5, holdout=0),
    DPMixture(max_iter=40, burn_in=5),
    SAM(3, weighting="tf", max_iter=40, burn_in=5, holdout=0),
]


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda e: type(e).__name__)
def fitted(request):
    return clone(request.param).fit(COUNTS)


def test_a_row_says_the_same_alone_and_in_any_order(fitted):
    """Red with: a row's number for the key of its random numbers."""
    rng = np.random.default_rng(0)
    x = COUNTS + rng.poisson(0.5, COUNTS.shape)
    use = fitted.transform if hasattr(fitted, "transform") else fitted.predict_proba
    together = use(x)
    alone = np.concatenate([use(row[None]) for row in x])
    np.testing.assert_array_equal(together, alone)
    order = rng.permutation(len(x))
    np.testing.assert_array_equal(use(x[order]), together[order])


def test_equal_documents_have_equal_proportions_and_others_have_not():
    """Red with: a key that is the same for all."""
    lda = clone(ESTIMATORS[0]).fit(COUNTS)
    theta = lda.transform(np.array([[1, 2, 3] * 6, [1, 2, 3] * 6, [3, 2, 1] * 6]))
    np.testing.assert_array_equal(theta[0], theta[1])
    assert (theta[0] != theta[2]).any()


def test_models_are_chosen_in_processes_of_their_own():
    """Red with: estimators that cannot be pickled, or have no score."""
    search = GridSearchCV(
        LDA(max_iter=40, burn_in=10, holdout=0, random_state=3, n_jobs=1),
        {"n_components": [1, 3]},
        cv=2,
        n_jobs=2,
    )
    order = np.random.default_rng(0).permutation(len(COUNTS))
    search.fit(COUNTS[order])
    assert search.best_params_ == {"n_components": 3}
    scores = cross_val_score(search.best_estimator_, COUNTS[order], cv=2)
    np.testing.assert_array_equal(
        scores, [search.cv_results_[f"split{i}_test_score"][1] for i in (0, 1)]
    )


def test_pipelines_are_fitted_shown_and_give_data_frames():
    """Red with: no ``__sklearn_tags__``, which the current scikit-learn asks of every step."""
    texts = pd.Series(["sun moon sun", "moon star", "sun star star"], index=["a", "b", "c"])
    steps = make_pipeline(CountVectorizer(), LDA(2, warm_up=0, burn_in=0, max_iter=10, holdout=0))
    assert steps.fit_transform(texts).shape == (3, 2)
    shown = steps._repr_html_()
    assert "CountVectorizer" in shown
    assert "LDA" in shown
    steps[-1].set_output(transform="pandas")
    frame = steps.transform(texts)
    assert frame.columns.tolist() == steps.get_feature_names_out().tolist() == ["lda0", "lda1"]


def test_texts_are_scored_and_classified():
    """Red with: texts that only `fit` takes."""
    texts = ["moon star sea night"] * 10 + ["bread dough oven salt"] * 10
    lda = LDA(2, algo="gibbs", burn_in=10, max_iter=60, holdout=0)
    assert (cross_val_score(lda, texts, cv=4) < 0).all()
    labels = np.repeat([0, 1], 10)
    steps = make_pipeline(lda, LogisticRegression()).fit(texts, labels)
    assert steps.score(["star night", "salt dough"], [0, 1]) == 1.0


def test_containers_are_chosen_as_scikit_learn_does():
    frame = pd.DataFrame(COUNTS, columns=[f"w{i}" for i in range(18)], index=range(100, 160))
    lda = clone(ESTIMATORS[0]).fit(frame)
    plain = lda.transform(frame)
    with sklearn.config_context(transform_output="pandas"):
        everywhere = lda.transform(frame)
    here = clone(lda.set_output(transform="pandas")).fit_transform(frame)
    for found in (everywhere, here):
        assert found.index.tolist() == frame.index.tolist()
        np.testing.assert_array_equal(found.to_numpy(), plain)
    assert isinstance(lda.set_output(transform="default").transform(frame), np.ndarray)
    with pytest.raises(ValueError, match="transform: wanted one of default, pandas, polars"):
        lda.set_output(transform="arrow")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_what_is_not_fitted_is_said_in_scikit_learns_words_too(estimator):
    with pytest.raises(NotFittedError, match="not fitted"):
        check_is_fitted(estimator)
    with pytest.raises(NotFittedError, match="is not fitted yet; call fit first"):
        estimator.topics_frame()
