"""pysgrld.DeepLDA: what it shares with LDA, and what layers add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pysgrld import LDA, DeepLDA
from pysgrld.errors import NotFittedError


@pytest.fixture(scope="module")
def counts():
    """Four topics of disjoint words; the first two always occur together, and so do the others."""
    rng = np.random.default_rng(0)
    share = rng.dirichlet([1.0, 1.0], 200)
    theta = np.zeros((200, 4))
    theta[:100, :2], theta[100:, 2:] = share[:100], share[100:]
    topics = np.kron(np.eye(4), np.full(6, 1 / 6))
    return np.stack([rng.multinomial(60, p) for p in theta @ topics])


@pytest.fixture(scope="module")
def fitted(counts):
    return DeepLDA((4, 2), max_iter=200, random_state=1).fit(counts)


def test_the_second_layer_finds_which_topics_go_together(fitted):
    """Red with: tables split by Phi of the layer alone; statistics of a layer given to another."""
    first = fitted.weights_[0].reshape(4, 4, 6).sum(axis=2)
    group = first.argmax(axis=1)  # which of the true topics each one is
    assert sorted(group) == [0, 1, 2, 3]
    together = fitted.weights_[1] @ np.eye(2)[group // 2]  # share of each true pair
    assert (together.max(axis=1) > 0.9).all()
    assert together.argmax(axis=1).tolist() in ([0, 1], [1, 0])


def test_proportions_of_the_second_layer_tell_the_groups_apart(fitted, counts):
    theta = fitted.transform(counts, layer=2)
    assert theta.shape == (200, 2)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-9)
    chosen = theta.argmax(axis=1)
    agree = (chosen == np.repeat([0, 1], 100)).mean()
    assert max(agree, 1 - agree) > 0.98


def test_shapes_of_matrices_and_their_sums(fitted):
    assert [w.shape for w in fitted.weights_] == [(4, 24), (2, 4)]
    assert fitted.components_.shape == (4, 24)
    assert fitted.r_.shape == (2,)
    assert (fitted.r_ > 0).all()
    for matrix in (*fitted.weights_, fitted.topics_over_words(2)):
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-5)
    through = fitted.weights_[1] @ fitted.weights_[0]
    np.testing.assert_allclose(fitted.topics_over_words(2), through, atol=1e-4)


def test_perplexity_is_near_the_truth(fitted, counts):
    """Documents of two topics of six words each: between 6 and 12."""
    assert 6 < fitted.perplexity(counts) < 12
    assert fitted.perplexity_ < 12


@pytest.mark.parametrize(
    "algo",
    ["scir", *(pytest.param(a, marks=pytest.mark.nightly) for a in ("tlasgr", "sgrld")), "gibbs"],
)
def test_every_sampler_finds_the_pairs(algo, counts):
    model = DeepLDA((4, 2), algo=algo, max_iter=250, random_state=1).fit(counts)
    group = model.weights_[0].reshape(4, 4, 6).sum(axis=2).argmax(axis=1)
    together = model.weights_[1] @ np.eye(2)[group // 2]
    assert (together.max(axis=1) > 0.8).all()


def test_sparse_and_dense_input_give_the_same_model(counts):
    dense, thin = (
        DeepLDA((3, 2), burn_in=0, max_iter=20).fit(x).components_
        for x in (counts, sparse.csr_array(counts))
    )
    assert dense.tobytes() == thin.tobytes()


def test_a_model_is_saved_and_goes_on(tmp_path, counts, fitted):
    fitted.save(tmp_path / "run")
    again = DeepLDA.load(tmp_path / "run")
    assert again.components_.tobytes() == fitted.components_.tobytes()
    assert again.transform(counts, 2).tobytes() == fitted.transform(counts, 2).tobytes()
    assert again.partial_fit(counts[:50]).n_iter_ == fitted.n_iter_ + 1
    with pytest.raises(ValueError, match="the run's model is dlda, not lda"):
        LDA.load(tmp_path / "run")


def test_minibatches_by_hand(counts):
    model = DeepLDA((4, 2), total_samples=200, minibatch=50, warm_up=25, random_state=1)
    for t in range(100):
        model.partial_fit(counts[t % 4 :: 4])
    assert model.n_iter_ == 100
    mass = model.components_.reshape(4, 4, 6).sum(axis=2)
    assert sorted(mass.argmax(axis=1)) == [0, 1, 2, 3]


def test_binary_data_say_only_which_words_are_there(counts):
    """Red with: counts that reach the sampler."""
    one, two = (
        DeepLDA((4, 2), link="binary", burn_in=0, max_iter=30).fit(x).components_
        for x in ((counts > 0).astype(int), counts)
    )
    assert one.tobytes() == two.tobytes()


def test_real_data_have_no_scale(counts):
    """A change of unit is taken up by the rate of each document: the same topics, bit for bit."""
    rng = np.random.default_rng(1)
    x = np.where(counts > 0, rng.gamma(np.maximum(counts, 1), 0.01), 0.0)
    model = DeepLDA((4, 2), link="real", max_iter=60, random_state=1, holdout=0).fit(x)
    mass = model.components_.reshape(4, 4, 6).sum(axis=2)
    assert sorted(mass.argmax(axis=1)) == [0, 1, 2, 3]
    again = DeepLDA((4, 2), link="real", max_iter=60, random_state=1, holdout=0).fit(x * 1024.0)
    assert again.components_.tobytes() == model.components_.tobytes()
    assert model.transform(x, 2).shape == (200, 2)


def test_a_fit_to_reals_begins_with_a_unit_of_its_own(counts):
    """Red with: the unit of the fit before, in which these are too many."""
    model = DeepLDA((4, 2), link="real", max_iter=2, burn_in=0).fit(counts / 7)
    again = DeepLDA((4, 2), link="real", max_iter=2, burn_in=0).fit(counts * 512.0)
    assert model.fit(counts * 512.0).components_.tobytes() == again.components_.tobytes()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"layers": (2, 4)}, "none with more topics than the layer below"),
        ({"layers": ()}, "1 to 8 layers"),
        ({"layers": (4, 0)}, "1 to 8 layers"),
        ({"layers": (4, 2), "link": "probit"}, "link in counts, binary, real"),
        ({"layers": (4, 2), "eta": -1.0}, "eta > 0"),
        ({"layers": (4, 2), "eta": (1.0, 1.0, 1.0)}, "3 numbers"),
        ({"layers": (4, 2), "algo": "vi"}, "algo in scir"),
    ],
)
def test_bad_parameters_are_value_errors(parameters, said, counts):
    with pytest.raises(ValueError, match=said):
        DeepLDA(**parameters, max_iter=2).fit(counts)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_reals_are_value_errors(bad, counts):
    x = counts.astype(float)
    x[3, 5] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity|finite and not negative"):
        DeepLDA((4, 2), link="real", max_iter=2).fit(x)


@pytest.mark.parametrize(("holdout", "max_iter"), [(None, None), (0.1, 9), (5, 9)])
def test_reals_have_no_held_out_score(holdout, max_iter, counts):
    """Red with: reals split into tokens, of which there are far too many."""
    with pytest.raises(ValueError, match="link='real' has no held-out score; give max_iter"):
        DeepLDA((4, 2), link="real", holdout=holdout, max_iter=max_iter).fit(counts / 7)


def test_fractions_need_the_right_link(counts):
    with pytest.raises(ValueError, match="counts must be whole numbers"):
        DeepLDA((4, 2), max_iter=2).fit(counts * 0.5)


def test_layers_that_are_not_there(fitted, counts):
    for layer in (0, 3, 1.5):
        with pytest.raises(ValueError, match="layer: wanted 1 to 2"):
            fitted.transform(counts, layer)
    with pytest.raises(NotFittedError, match="this DeepLDA is not fitted yet"):
        DeepLDA((4, 2)).transform(counts, 2)


def test_one_layer_is_a_model_too(counts):
    model = DeepLDA((5,), burn_in=0, max_iter=30).fit(counts)
    assert model.transform(counts).shape == (200, 5)
    assert repr(DeepLDA((5,), algo="tlasgr")) == "DeepLDA(layers=(5,), algo='tlasgr')"
    names = model.get_feature_names_out().tolist()
    assert names[:2] == ["deeplda0", "deeplda1"]
