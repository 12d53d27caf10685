"""Variational Bayes of directions: Dirichlet laws of documents, the energy of topics, whole runs."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from oracles.sphere import numerical_gradient, tangent
from scipy import special

from pysgrld.cli import main
from pysgrld.core import core, padded_width
from pysgrld.models.sam.proportions import Products
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.models.sam.variational import (
    LEAST,
    Law,
    VariationalDocuments,
    expand,
    expected_cosines,
    expected_proportions,
    fit,
    gamma_functions,
    objective,
    objective_parameters,
)
from pysgrld.models.table import find_model
from pysgrld.options.option import Facts
from pysgrld.types import Documents, Key, Minibatch


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
    """Against a grid of 250 x 250. Red with: a step whose parts are cut one by one."""
    _, gram, along = given(2, 4)
    law = Law(kappa, alpha, 0.8)
    at = np.ones((4, 2))
    fit(at, gram, along.T, law, 100)
    axis = np.exp(np.linspace(np.log(1e-3), np.log(1e4), 250))
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


# ---- the energy of topics, and runs

V, K, N = 9, 3, 6
WORDS = np.arange(V, dtype=np.int32)
KEY = Key(0, 0, 0)
DATA = Path(__file__).parents[1] / "data"


def options(**other):
    given = {"topics": K, "kappa": 80.0, "sigma": 20.0, "kappa0": 15.0, "alpha": 0.8}
    plain = {"model": "sam", "algo": "vi", "sweeps": 100, "kept_sweeps": 1, "weighting": "tf"}
    fields = dict.fromkeys(SphericalOptions.__dataclass_fields__)
    return SphericalOptions(**(fields | given | plain | other))


def batch(scale=1.0):
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 5, (N, V)).astype(np.int32)
    indptr = np.arange(N + 1, dtype=np.int64) * V
    ids = np.arange(N, dtype=np.int64)
    return Minibatch(indptr, np.tile(WORDS, N), counts.ravel(), WORDS, ids, scale)


def points(seed=0):
    x = core.zeros(V, padded_width(K), "float64")
    x[:, :K] = np.random.default_rng(seed).normal(size=(V, K)) + 0.5
    x[:, :K] /= np.linalg.norm(x[:, :K], axis=0)
    return x


def potential(scale=1.0, **other):
    centre = np.full(V, V**-0.5)
    mine = VariationalDocuments(options(**other), np.ones(V), centre, 1)
    return mine, mine.visit(KEY, {}, batch(scale))["phi"]


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_the_gradient_is_that_of_the_energy(scale):
    """On the spheres, of documents as they were fitted.

    Red with: a^2 left out of H; the scale of a minibatch on the prior.
    """
    _, found = potential(scale)
    x = points()
    slope = found.sample_and_evaluate(KEY, 0, x)
    padding = np.zeros((V, padded_width(K) - K))

    def energy(inner):
        inner = inner / np.linalg.norm(inner, axis=0)
        return found.evaluate(np.ascontiguousarray(np.hstack([inner, padding]))).energy

    expected = numerical_gradient(energy, x[:, :K].copy())
    np.testing.assert_allclose(
        tangent(x[:, :K], slope.gradient[:, :K]), expected, atol=1e-5 * scale
    )
    assert (slope.gradient[:, K:] == 0.0).all()


def test_the_energy_has_the_prior_once_and_the_documents_by_scale():
    """The best mean of topics is taken: a0 ||kappa0 m + a sigma sum_k bt_k||. Red with: a left out."""
    x, centre = points(), np.full(V, V**-0.5)
    energies = {}
    for scale in (1.0, 3.0):
        mine, found = potential(scale)
        energies[scale] = found.sample_and_evaluate(KEY, 0, x).energy
    documents = (energies[3.0] - energies[1.0]) / 2.0
    a, a0 = core.bessel_ratio(V, 20.0), core.bessel_ratio(V, 15.0)
    length = np.linalg.norm(15.0 * centre + a * 20.0 * x[:, :K].sum(axis=1))
    assert energies[1.0] - documents == pytest.approx(-a0 * length, rel=1e-10)
    assert mine.metrics()["objective"] == pytest.approx(-energies[3.0] / (3.0 * N), rel=1e-12)


def test_documents_that_are_kept_go_on_from_their_last_fit():
    """Red with: every visit fitted afresh, whose steps at most do not add up."""
    mine, _ = potential(sweeps=1)
    some = batch()
    mine.keep(Documents(some.indptr, some.indices, some.counts))
    x, energies = points(), []
    for _ in range(30):
        energies.append(mine.visit(KEY, {}, some)["phi"].sample_and_evaluate(KEY, 0, x).energy)
    assert np.all(np.diff(energies) <= 0.0)
    assert energies[1] < energies[0]
    _, afresh = potential()
    assert energies[-1] == pytest.approx(afresh.sample_and_evaluate(KEY, 0, x).energy, abs=1e-4)
    again, _ = potential(sweeps=1)
    again.keep(Documents(some.indptr, some.indices, some.counts))
    again.restore(mine.arrays())
    assert again.arrays()["at"].tobytes() == mine.arrays()["at"].tobytes()


def test_proportions_are_means_of_fitted_laws_and_the_priors_where_there_is_no_weight():
    """Red with: the start given, which is least squares."""
    gram = np.eye(padded_width(K))
    along = np.zeros((2, padded_width(K)))
    along[0, :K] = 0.9, 0.1, 0.1
    mine, at = options(), np.ones((2, K))
    fit(at, np.eye(K), along[:, :K], objective_parameters(mine, V), 100)
    theta = expected_proportions(mine, V, Products(gram, along))
    np.testing.assert_allclose(theta, at / at.sum(axis=1, keepdims=True), rtol=1e-3)
    np.testing.assert_allclose(theta[1], 1.0 / K, rtol=1e-5)


@pytest.mark.parametrize(("algo", "warnings"), [("svi", 0), ("sggmc", 1)])
def test_proportions_that_are_fitted_do_not_mix_slowly(algo, warnings):
    """Red with: a warning about steps that a fit does not take."""
    facts = Facts(100, V, 1000, 0, lambda *_: V)
    said = find_model("sam").remarks(
        options(algo=algo, alpha=0.1, theta_parametrisation="root"), facts
    )
    assert len(list(said)) == warnings


@pytest.mark.parametrize("algo", ["vi", "svi"])
def test_a_run_is_scored_and_read_without_samples_and_its_objective_rises(
    algo, tmp_path, monkeypatch
):
    """Red with: documents that forget their fit; topics that go down the gradient."""
    monkeypatch.chdir(tmp_path)

    def sgmc(*args):
        done = CliRunner().invoke(main, list(map(str, args)))
        return done.exit_code, done.stdout + done.stderr

    corpus = DATA / "tiny.txt"
    how = ["--min-df", 1, "--max-df", 1.0, "-k", 2, "--iterations", 8, "--holdout", 0, "--quiet"]
    code, said = sgmc("train", corpus, "--algo", algo, *how, "--eval-every", 1, "--out", "run")
    assert (code, said.count("\n")) == (0, 1)
    assert "warning: 2 topics are too many for 3 documents" in said
    lines = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    rises = [line["objective"] for line in lines if "objective" in line]
    assert len(rises) >= 3
    if algo == "vi":
        assert np.all(np.diff(rises) >= -1e-9 * abs(rises[-1]))
        assert rises[-1] > rises[0] + 0.01
    code, said = sgmc("infer", "run", corpus)
    rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert code == 0
    assert [sum(row["topics"]) for row in rows] == pytest.approx([1.0] * len(rows), abs=1e-5)
    assert sgmc("topics", "run")[0] == 0
    code, said = sgmc("diagnose", "run")
    assert code == 2
    assert f"{algo} approximates the posterior" in said
