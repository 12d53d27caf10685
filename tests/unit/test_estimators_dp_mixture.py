"""`pysgrld.DPMixture`: conventions, scores, refusals."""

import copy
import doctest
import warnings

import numpy as np
import pytest
from scipy import sparse

import pysgrld.estimators.dp_mixture
from pysgrld import DPMixture
from pysgrld.errors import NotFittedError, UsageError
from pysgrld.models.dpmm.chain import MixtureChain


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(1)
    which = rng.integers(3, size=150)
    p = np.kron(np.eye(3), np.full(4, 0.24)) + 0.04 / 12
    x = np.array([rng.multinomial(12, p[j]) for j in which])
    x[7] = 0
    return x


@pytest.fixture(scope="module")
def fitted(counts):
    return DPMixture(algo="gibbs", max_iter=200, burn_in=100).fit(counts)


def test_examples_in_docstrings_are_true():
    assert doctest.testmod(pysgrld.estimators.dp_mixture).failed == 0


def test_shapes_and_sums(fitted, counts):
    j = len(fitted.weights_)
    assert fitted.components_.shape == (j, 12)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    assert fitted.weights_.sum() < 1.0
    assert (np.diff(fitted.weights_) <= 0).all()
    assert fitted.labels_.shape == (150,)
    assert fitted.labels_[7] == -1
    assert len(fitted.n_components_trace_) == len(fitted.concentration_trace_) == 200
    assert fitted.n_samples_ == 50
    np.testing.assert_allclose(fitted.predict_proba(counts).sum(axis=1), 1.0)
    np.testing.assert_allclose(
        fitted.predict_proba(counts)[7], fitted.weights_ / fitted.weights_.sum()
    )


def test_labels_are_rows_of_components(fitted, counts):
    """Red with: labels of the chain's order where components are sorted by weight."""
    agree = fitted.predict(counts) == fitted.labels_
    assert agree[np.arange(150) != 7].mean() > 0.95


def test_a_word_that_no_component_explains_leaves_a_row_to_the_weights():
    """A column without counts, under a prior that makes it less probable than a number can say.

    Red with: nan for the sum of nothing, and 0 for the most probable component of it.
    """
    x = np.kron(np.eye(2, dtype=int), np.full((20, 4), 5))
    x = np.column_stack([x, np.zeros(40, int)])
    fitted = DPMixture(algo="gibbs", base=1e-5, max_iter=40, burn_in=20).fit(x)
    assert (fitted.components_[:, -1] == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted.predict_proba(np.array([[0, 0, 0, 0, 0, 0, 0, 0, 1], x[0]]))
    np.testing.assert_allclose(found[0], fitted.weights_ / fitted.weights_.sum())
    assert found[1].max() > 0.99


def test_score_is_the_mean_of_averaged_densities(fitted, counts):
    """Higher for data of the same kind; an average of densities, at least that of logarithms."""
    scores = fitted.score_samples(counts)
    assert scores[7] == 0.0
    assert fitted.score(counts) == pytest.approx(scores.mean())
    assert fitted.score(counts[:, ::-1]) == pytest.approx(fitted.score(counts), abs=6)
    shuffled = np.random.default_rng(2).permuted(counts, axis=1)
    assert fitted.score(shuffled) < fitted.score(counts) - 5
    one = copy.copy(fitted)
    each = []
    for sample in fitted._samples:
        one._samples = [sample]
        each.append(one.score_samples(counts))
    assert (scores >= np.mean(each, axis=0) - 1e-12).all()


def interrupt_at(step, ctrl_c, monkeypatch):
    """Press Ctrl-C within this iteration."""
    advance = MixtureChain.advance

    def interrupted(chain):
        advance(chain)
        if chain.step == step:
            ctrl_c()

    monkeypatch.setattr(MixtureChain, "advance", interrupted)


def test_ctrl_c_leaves_a_mixture_of_the_samples_so_far(counts, ctrl_c, monkeypatch):
    """Red with: all iterations lost; samples of the one fit under the components of the other."""
    model = DPMixture(algo="gibbs", max_iter=20, burn_in=10, random_state=1)
    with monkeypatch.context() as patch:
        interrupt_at(15, ctrl_c, patch)
        with pytest.raises(KeyboardInterrupt):
            model.fit(counts)
    whole = DPMixture(algo="gibbs", max_iter=15, burn_in=10, random_state=1).fit(counts)
    assert model.n_samples_ == 5
    assert len(model.n_components_trace_) == 15
    assert model.score(counts) == whole.score(counts)
    assert model.components_.tobytes() == whole.components_.tobytes()


def test_ctrl_c_before_the_first_sample_leaves_a_mixture_as_it_was(counts, ctrl_c, monkeypatch):
    model = DPMixture(algo="gibbs", max_iter=20, burn_in=10).fit(counts)
    before = model.score(counts)
    interrupt_at(5, ctrl_c, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(random_state=1).fit(counts)
    assert model.score(counts) == before


@pytest.mark.parametrize("algo", ["scir", "sgrld"])
def test_minibatches_find_the_three_kinds(algo, counts):
    mixture = DPMixture(algo=algo, minibatch=50, max_iter=300, burn_in=100).fit(counts)
    assert mixture.weights_[:3].sum() > 0.6
    top = {frozenset(np.argsort(-row)[:4].tolist()) for row in mixture.components_[:3]}
    assert len(top) == 3


def test_sparse_counts_threads_and_seeds(counts):
    one, two, three, other = (
        DPMixture(max_iter=20, burn_in=5, minibatch=50, **how).fit(x)
        for x, how in (
            (counts, {}),
            (sparse.csr_matrix(counts), {}),
            (counts, {"n_jobs": 7}),
            (counts, {"random_state": 1}),
        )
    )
    assert one.components_.tobytes() == two.components_.tobytes() == three.components_.tobytes()
    assert one.components_.tobytes() != other.components_.tobytes()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"algo": "ovb"}, "algo: wanted one of scir, sgrld, gibbs, found 'ovb'"),
        ({"base": 0}, "base: wanted a number above 0"),
        ({"concentration_prior": (1,)}, "concentration_prior: wanted shape and rate"),
        ({"concentration": "x"}, "concentration: wanted one of sticks, escobar-west"),
        ({"minibatch": 0}, "minibatch: wanted a whole number >= 1"),
        ({"algo": "gibbs", "minibatch": 5}, "minibatch does not apply to algo='gibbs'"),
        ({"algo": "gibbs", "step_size": 0.1}, "step_size does not apply to algo='gibbs'"),
        ({"max_iter": 10, "burn_in": 10}, "burn_in is 10, but must be less than max_iter 10"),
    ],
)
def test_what_is_out_of_range_is_refused(how, said, counts):
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        DPMixture(**how).fit(counts)


def test_empty_matrices_and_unfitted_mixtures_are_refused(counts):
    with pytest.raises(UsageError, match="every document is empty"):
        DPMixture().fit(np.zeros((3, 4)))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        DPMixture().predict(counts)


def test_parameters_by_name():
    mixture = DPMixture(algo="gibbs", base=0.1)
    assert mixture.get_params()["base"] == 0.1
    assert repr(mixture) == "DPMixture(algo='gibbs', base=0.1)"
    assert mixture.set_params(base=0.2).base == 0.2
    with pytest.raises(UsageError, match="invalid parameter 'alpha'"):
        mixture.set_params(alpha=1)


@pytest.mark.parametrize("name", ["algo", "base", "max_iter"])
def test_a_parameter_that_is_none_and_has_to_be_something_is_named(name, counts):
    """Red with: KeyError: None, and TypeErrors about NoneType."""
    given = {"max_iter": 3, "burn_in": 1} | {name: None}
    with pytest.raises(UsageError, match=f"^{name}: wanted .*, found None$"):
        DPMixture(**given).fit(counts)


@pytest.mark.parametrize(("max_iter", "burn_in"), [(1, 0), (30, 6), (200, 40)])
def test_the_default_burn_in_leaves_samples_of_any_fit(counts, max_iter, burn_in):
    """Red with: burn-in of 200 iterations, which refused every fit of 200 or less."""
    fitted = DPMixture(algo="gibbs", max_iter=max_iter).fit(counts[:30])
    same = DPMixture(algo="gibbs", max_iter=max_iter, burn_in=burn_in).fit(counts[:30])
    np.testing.assert_array_equal(fitted.components_, same.components_)
    assert fitted.n_samples_ == same.n_samples_
