"""Documents as Dirichlet laws of their proportions: the objective, its derivatives, and the climb."""

import numpy as np
import pytest
from scipy import special

from pysgrld.models.sam.dirichlet import (
    LEAST,
    Law,
    expand,
    expected_cosines,
    fit,
    gamma_functions,
    objective,
)


def given(k=3, n=5, seed=0):
    """Products of k topics, one of them with negative weights, and n documents; parameters."""
    rng = np.random.default_rng(seed)
    topics = rng.gamma(1.0, 1.0, (30, k))
    topics[:, 0] -= 0.6
    topics /= np.linalg.norm(topics, axis=0)
    documents = rng.gamma(0.5, 1.0, (n, 30))
    documents /= np.linalg.norm(documents, axis=1)[:, None]
    return rng.gamma(2.0, 3.0, (k, n)), topics.T @ topics, (documents @ topics).T


def test_gamma_functions_are_those_of_scipy():
    """Red with: a term of a series left out; the recurrence without its last term."""
    x = 10.0 ** np.linspace(-5.0, 6.0, 3001)
    found = gamma_functions(x)
    np.testing.assert_allclose(found.log, special.gammaln(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.psi, special.digamma(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.psi1, special.polygamma(1, x), rtol=1e-12)
    np.testing.assert_allclose(found.psi2, special.polygamma(2, x), rtol=1e-12)


def test_the_squared_length_of_a_mixture_is_that_of_its_moments():
    """E ||beta theta||^2 of independent topics of mean a bt_k. Red with: s + 1 for s; a for a^2."""
    at, gram, along = given()
    law = Law(1.0, 1.0, 0.7)
    s = at.sum(axis=0)
    second = (at[:, None] * at + np.eye(3)[:, :, None] * at) / (s * (s + 1.0))
    inner = law.shrink**2 * gram + (1.0 - law.shrink**2) * np.eye(3)
    square = (inner[:, :, None] * second).sum(axis=(0, 1))
    found = expected_cosines(at, gram, along, law)
    np.testing.assert_allclose(found.square, square, rtol=1e-13)
    np.testing.assert_allclose(
        found.rho, law.shrink * (at * along).sum(axis=0) / (s * np.sqrt(square)), rtol=1e-13
    )


def test_without_documents_the_objective_is_minus_the_distance_to_the_prior():
    """Of Kullback and Leibler, in closed form. Red with: a sign; alpha - 1 for alpha."""
    at, gram, along = given()
    alpha = np.full_like(at, 1.3)
    s, whole = at.sum(axis=0), alpha.sum(axis=0)
    distance = special.gammaln(s) - special.gammaln(at).sum(axis=0)
    distance -= special.gammaln(whole) - special.gammaln(alpha).sum(axis=0)
    distance += ((at - alpha) * (special.digamma(at) - special.digamma(s))).sum(axis=0)
    law = Law(0.0, 1.3, 0.7)
    best = objective(alpha, gram, along, law)
    np.testing.assert_allclose(best - objective(at, gram, along, law), distance, rtol=1e-10)


def test_derivatives_are_those_of_the_objective():
    """Red with: any factor of the gradient or of the curvature."""
    at, gram, along = given()
    law, step = Law(200.0, 0.7, 0.8), 1e-5
    here = expand(at, gram, along, law)
    np.testing.assert_allclose(here.value, objective(at, gram, along, law), rtol=1e-14)
    for k in range(len(at)):
        move = np.exp(step * np.eye(len(at))[:, k : k + 1])
        up, down = (expand(at * m, gram, along, law) for m in (move, 1.0 / move))
        slope = (up.value - down.value) / (2.0 * step)
        np.testing.assert_allclose(here.gradient[k], slope, atol=1e-6)
        bend = (down.gradient - up.gradient) / (2.0 * step)
        np.testing.assert_allclose(here.curvature[:, k], bend, atol=1e-6)
    fisher = (np.diag(at[:, 0] ** 2 * special.polygamma(1, at[:, 0]))) - np.outer(
        at[:, 0], at[:, 0]
    ) * special.polygamma(1, at[:, 0].sum())
    np.testing.assert_allclose(here.metric[:, :, 0], fisher, rtol=1e-10)


@pytest.mark.parametrize(("kappa", "alpha"), [(40.0, 1.0), (3000.0, 0.3), (0.0, 2.0)])
def test_the_fit_is_the_best_of_all_laws_of_two_topics(kappa, alpha):
    """Against a grid of 400 x 400. Red with: a step whose parts are cut one by one."""
    _, gram, along = given(2, 4)
    law = Law(kappa, alpha, 0.8)
    at = np.ones((4, 2))
    fit(at, gram, along.T, law, 100)
    axis = np.exp(np.linspace(np.log(1e-3), np.log(1e4), 400))
    grid = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    for d in range(4):
        own = np.repeat(along[:, d : d + 1], grid.shape[1], axis=1)
        values = objective(grid, gram, own, law)
        best = objective(at[d][:, None], gram, along[:, d : d + 1], law)[0]
        assert values.max() - 1e-6 <= best <= values.max() + 0.1
        np.testing.assert_allclose(np.log(at[d]), np.log(grid[:, values.argmax()]), atol=0.1)
    if not kappa:
        np.testing.assert_allclose(at, alpha, rtol=1e-4)


def test_a_fit_never_falls_and_goes_on_from_where_it_is():
    """Red with: steps that are taken whether or not they gain."""
    at, gram, along = given(6, 300)  # more than a block
    law = Law(3e4, 10.0, 0.95)
    found = at.T.copy()
    before = objective(at, gram, along, law)
    for _ in range(4):
        fit(found, gram, along.T, law, 2)
        now = objective(found.T, gram, along, law)
        assert (now >= before).all()
        before = now
    fit(found, gram, along.T, law, 100)
    assert np.abs(expand(found.T.copy(), gram, along, law).gradient).max() < 0.05
    alone = at[:, 257:258].T.copy()
    together = at.T.copy()
    fit(alone, gram, along[:, 257:258].T, law, 100)
    fit(together, gram, along.T, law, 100)
    assert alone[0].tobytes() == together[257].tobytes()


def test_parameters_stay_above_their_least_value_where_the_prior_has_none():
    """Red with: no floor, where a parameter underflows to 0."""
    _, gram, along = given(4, 3)
    at = np.ones((3, 4))
    fit(at, gram, along.T, Law(50.0, 1e-12, 0.9), 100)
    assert np.isfinite(at).all()
    assert at.min() == LEAST
