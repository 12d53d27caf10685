"""The spherical admixture model has the law that it says: proportions, topics, and its score.

Liu, Zhu and Song (2016), eq. 9 and 10, and section 5.3. Corpora are so small that the truth is known by
quadrature.
"""

from itertools import permutations

import numpy as np
import pytest
from oracles import sphere as oracle
from oracles.judge import KS, Z, ks, z_mean, z_two
from scipy import stats
from trial_counts import counts

from pysgrld.core import core, padded_width
from pysgrld.evaluate import HeldOut
from pysgrld.models.resolve import resolve
from pysgrld.models.sam.documents import SphericalDocuments, blocks
from pysgrld.models.sam.proportions import Directions, Products, Walk, walk
from pysgrld.models.sam.score import DRAWS, LogPerplexity, dirichlets
from pysgrld.options.option import Facts
from pysgrld.samplers import SAMPLERS
from pysgrld.types import Documents, Key, Minibatch

pytestmark = pytest.mark.statistical

WORK = core.Workspace()
CHARTS = ["root", "flat"]


def wide(matrix):
    """Columns padded with zeros to a multiple of 16, in double."""
    out = core.zeros(len(matrix), padded_width(matrix.shape[1]), "float64")
    out[:, : matrix.shape[1]] = matrix
    return out


def rows_of(dense):
    """Vectors (n, V) in compressed rows, zeros among them."""
    n, v = dense.shape
    return Directions(
        np.arange(0, n * v + 1, v), np.tile(np.arange(v, dtype=np.int32), n), dense.ravel()
    )


def unit(x, axis=0):
    return x / np.linalg.norm(x, axis=axis, keepdims=True)


def options(words, documents, algo="gmc-bgibbs", **given):
    given = {name.replace("_", "-"): value for name, value in given.items()}
    facts = Facts(documents, words, 10 * documents, 0, lambda *_: words)
    return resolve({"model": "sam", "algo": algo} | given, facts).options


# ---- proportions given topics


def proportions(chart, k, kappa, alpha, length, start, *, trajectories=60, leaps=8):
    """Where independent documents of one direction end, and topics and direction themselves."""
    rng = np.random.default_rng(3)
    beta, v = unit(rng.normal(size=(7, k)) + 0.4), unit(rng.normal(size=7) + 0.4)
    n = len(start)
    products = Products(
        wide(np.pad(beta.T @ beta, ((0, padded_width(k) - k), (0, 0)))),
        wide(np.tile(v @ beta, (n, 1))),
    )
    theta = wide(start)
    law = Walk(k, kappa, alpha, chart, trajectories, 1, leaps)
    found = walk(
        Key(1, 0, 0), products, law, length, np.arange(n), theta, core.Purpose.test, WORK, 1
    )
    assert found.acceptance > 0.2
    return theta[:, :k], beta, v


@pytest.mark.parametrize(("chart", "length"), [("root", 0.09), ("flat", 0.045)])
@pytest.mark.parametrize("alpha", [0.8, 2.0])
def test_proportions_have_their_posterior(chart, length, alpha):
    """Moments by quadrature over a triangle.

    Red with: 2 (alpha - 1) for 2 alpha - 1; kappa/2 in the energy; everything accepted; a uniform that is
    the velocity's; K for K - 1 where lines are reflected.
    """
    n, m = 6_000, 500
    start = np.full((n, 3), 1 / 3)
    theta, beta, v = proportions(chart, 3, 25.0, alpha, length, start)
    at = (np.arange(m) + 0.5) / m
    a, b = (x[at[:, None] + at < 1] for x in np.meshgrid(at, at, indexing="ij"))
    grid = np.stack([a, b, 1 - a - b], axis=1)
    mixed = grid @ beta.T
    density = np.exp(25.0 * (mixed @ v / np.linalg.norm(mixed, axis=1)) - 25.0)
    density *= np.prod(grid ** (alpha - 1), axis=1)
    density /= density.sum()
    for k in range(3):
        for power in (1, 2):
            expected = density @ grid[:, k] ** power
            assert abs(z_mean(theta[:, k] ** power, expected)) < Z, (k, power)


@pytest.mark.parametrize(("chart", "length"), [("root", 0.09), ("flat", 0.045)])
@pytest.mark.parametrize("alpha", [0.6, 1.0, 3.0])
def test_proportions_without_concentration_have_their_prior(chart, length, alpha):
    """Begun elsewhere, or where faces have poles, at which a line is refused, in the law itself.

    Red with: 2 (alpha - 1) for 2 alpha - 1; K for K - 1 where lines are reflected, or one bounce only.
    """
    begun = alpha if chart == "flat" and alpha < 1 else 1.5
    start = np.random.default_rng(1).dirichlet(np.full(4, begun), 5_000)
    theta, *_ = proportions(chart, 4, 0.0, alpha, length, start)
    assert ks(theta[:, 0], lambda x: stats.beta.cdf(x, alpha, 3 * alpha)) < KS
    assert ks(theta[:, 3], lambda x: stats.beta.cdf(x, alpha, 3 * alpha)) < KS


# ---- the potential of topics


def small(algo="gmc-bgibbs", **given):
    """A tiny model: options, centre, and six documents as counts over five words."""
    counts = np.random.default_rng(4).poisson(1.2, (6, 5)) + np.eye(6, 5, dtype=int)
    given = {"topics": 3, "kappa": 9.0, "sigma": 3.0, "kappa0": 2.0, "sweeps": 12} | given
    return options(5, 6, algo, **given), np.full(5, 5**-0.5), counts


def batch_of(counts, ids, scale):
    some = counts[list(ids)]
    present = some > 0
    return Minibatch(
        np.concatenate(([0], np.cumsum(present.sum(axis=1)))),
        np.nonzero(present)[1].astype(np.int32),
        some[present].astype(np.int32),
        np.arange(counts.shape[1], dtype=np.int32),
        np.array(ids),
        scale,
    )


def slopes(algo, size, **given):
    """Slopes of all minibatches of a size in every order, at some topics, which are given too."""
    chosen, centre, counts = small(algo, **given)
    documents = SphericalDocuments(chosen, np.linspace(0.5, 1.5, 5), centre, 1)
    x, found = unit(np.random.default_rng(5).normal(size=(5, 3))), []
    for ids in permutations(range(6), size) if size < 6 else [range(6)]:
        documents.length[:] = 0.05  # it is adapted by what every minibatch accepts
        potential = documents.visit(Key(1, 0, 3), {}, batch_of(counts, ids, 6 / size))["phi"]
        noise = chosen.settings.noise_estimate == "on"
        found.append(potential.sample_and_evaluate(Key(1, 0, 3), 0, wide(x), noise=noise))
    return found, x


@pytest.mark.parametrize("estimate", ["on", "off"])
def test_gradients_of_all_minibatches_average_to_that_of_the_corpus(estimate):
    """Exactly, as a document's proportions do not depend on its minibatch: the energy's too.

    Red with: the prior times D/B; documents not times D/B; proportions keyed by the place in the batch.
    """
    every, _ = slopes("sggmc", 2, noise_estimate=estimate)
    (whole,), _ = slopes("sggmc", 6, noise_estimate=estimate)
    assert len(every) == 30
    mean = np.mean([s.gradient for s in every], axis=0)
    np.testing.assert_allclose(mean, whole.gradient, rtol=1e-11, atol=1e-12)
    assert np.mean([s.energy for s in every]) == pytest.approx(whole.energy, rel=1e-12)
    assert whole.noise is None


@pytest.mark.parametrize("size", [2, 3])
def test_the_noise_of_minibatches_is_estimated_without_bias(size):
    """Over all minibatches and their orders it is exactly the variance of a coordinate of the gradient.

    Red with: documents drawn with replacement; V for V - 1; halves of one size where they are not.
    """
    every, x = slopes("sggmc", size)
    gradients = np.array([oracle.tangent(x, s.gradient[:, :3]) for s in every])
    spread = gradients.var(axis=0).sum(axis=0) / 4
    estimated = np.mean([s.noise[:3] for s in every], axis=0)
    np.testing.assert_allclose(estimated, spread, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_mean_direction_is_integrated_out(k):
    """Over a circle, by quadrature. Red with: the sign of ln c; sigma times K for the sum of topics."""
    rng = np.random.default_rng(k)
    m, beta = unit(rng.normal(size=2)), unit(rng.normal(size=(2, k)))
    angle = np.arange(4000) * 2 * np.pi / 4000
    mu = np.stack([np.cos(angle), np.sin(angle)])
    joint = np.exp(2.5 * m @ mu + 3.5 * beta.sum(axis=1) @ mu).mean() * 2 * np.pi
    law = options(2, 4, topics=k, kappa=9.0, kappa0=2.5, sigma=3.5)
    documents = SphericalDocuments(law, np.ones(2), m, 1)
    potential = documents.visit(Key(1, 0, 0), {}, batch_of(np.ones((1, 2), int), (), 1.0))["phi"]
    potential.samples = np.zeros((0, 1, padded_width(k)), np.float32)
    found = potential.evaluate(wide(beta))
    assert found.energy == pytest.approx(-np.log(joint), abs=1e-9)


# ---- the whole model


def joint_draws(rng, n, law):
    """Topics (n, 3, K), proportions (n, D, K) and documents (n, D, 3) from the prior."""
    k, d = law.topics, 2
    m = np.tile(np.eye(3)[0], (n, 1))
    mu = oracle.von_mises_fisher(rng, m, law.kappa0)
    beta = np.stack([oracle.von_mises_fisher(rng, mu, law.sigma) for _ in range(k)], axis=2)
    theta = rng.dirichlet(np.full(k, law.alpha), (n, d))
    return beta, theta, documents_of(rng, beta, theta, law.kappa)


def documents_of(rng, beta, theta, kappa):
    mixed = unit(np.einsum("nvk,ndk->ndv", beta, theta), axis=2)
    return oracle.von_mises_fisher(rng, mixed.reshape(-1, 3), kappa).reshape(mixed.shape)


def functions(beta, theta, v):
    """Statistics that do not depend on which topic is the first, (n,) each."""
    toward, inner = beta[:, 0].sum(axis=1), (beta[:, :, 0] * beta[:, :, 1]).sum(axis=1)
    mixed = unit(np.einsum("nvk,ndk->ndv", beta, theta), axis=2)
    cosine = (mixed * v).sum(axis=2)
    return {
        "m beta": toward,
        "(m beta)^2": (beta[:, 0] ** 2).sum(axis=1),
        "beta beta": inner,
        "(beta beta)^2": inner**2,
        "theta^2": (theta**2).sum(axis=(1, 2)),
        "theta^4": (theta**4).sum(axis=(1, 2)),
        "m v": v[:, :, 0].sum(axis=1),
        "v v": (v[:, 0] * v[:, 1]).sum(axis=1),
        "cosine": cosine.sum(axis=1),
        "length": np.einsum("nvk,ndk->ndv", beta, theta).__pow__(2).sum(axis=(1, 2)),
    }


@counts(200, 1000)
def test_visits_and_trajectories_keep_the_joint_law(n):
    """Copies that start in it, through the classes of training.

    docs/internals/mathematics.md, "Joint laws".

    Red with: no half before the kinetic energy at one end; everything accepted; documents weighed three
    times; the sign of ln c; proportions that start afresh in every iteration; 2 (alpha - 1) for
    2 alpha - 1. Green with topics that are moved given the proportions of the visit before: to draw both
    at once leaves these statistics alone.
    """
    copies, rounds = n, 6
    law = options(
        3, 2, topics=2, kappa=4.0, sigma=3.0, kappa0=2.0, alpha=1.5, theta_step=0.3, sweeps=2
    )
    rng = np.random.default_rng(6)
    beta, theta, v = joint_draws(rng, copies, law)
    batch = batch_of(np.ones((2, 3), int), (0, 1), 1.0)
    documents = SphericalDocuments(law, np.ones(3), np.eye(3)[0], 1)
    block = blocks(law, 3, np.eye(3)[0])[0]
    state = SAMPLERS["gmc-bgibbs"].start(Key(1, 0, 0), block, 1)
    documents.keep(Documents(batch.indptr, batch.indices, batch.counts))
    total = {}
    for t in range(rounds):
        for r in range(copies):
            key = Key(r, 0, t)
            potential = documents.visit(key, {}, batch)["phi"]
            potential.directions = rows_of(v[r])
            state.x[:, :2], documents.kept[:, :2] = beta[r], theta[r]
            state.step(key, potential, 0.5)
            beta[r], theta[r] = state.x[:, :2], potential.samples[:, -1, :2]
        v = documents_of(rng, beta, theta, law.kappa)
        for name, value in functions(beta, theta, v).items():
            total[name] = total.get(name, 0) + value / rounds
    assert 0.5 < state.accepted[0] / state.accepted[1] < 0.95
    expected = functions(*joint_draws(rng, 50_000, law))
    scores = {name: z_two(total[name], expected[name]) for name in total}
    assert max(map(abs, scores.values())) < Z, scores


def exact_posterior(v, law, m):
    """Means of statistics of two topics on a circle, by a grid of their angles."""
    angle = (np.arange(180) + 0.5) * 2 * np.pi / 180
    at = np.stack([np.cos(angle), np.sin(angle)])
    shares = (np.arange(120) + 0.5) / 120
    weight = stats.beta.pdf(shares, law.alpha, law.alpha)
    mixed = at[:, :, None, None] * shares + at[:, None, :, None] * (1 - shares)
    mixed /= np.maximum(np.linalg.norm(mixed, axis=0), 1e-12)
    logs = np.zeros((180, 180))
    for document in v:
        cosine = np.einsum("v,vabs->abs", document, mixed)
        logs += np.log((np.exp(law.kappa * cosine) * weight).sum(axis=2))
    both = law.kappa0 * m[:, None, None] + law.sigma * (at[:, :, None] + at[:, None, :])
    logs -= oracle.log_normaliser(2, np.linalg.norm(both, axis=0))
    density = np.exp(logs - logs.max())
    density /= density.sum()
    first, second = np.meshgrid(angle, angle, indexing="ij")
    beta = np.stack([[np.cos(first), np.cos(second)], [np.sin(first), np.sin(second)]])
    return {name: (density * f).sum() for name, f in on_the_circle(beta).items()}


def on_the_circle(beta):
    """Statistics of topics (2, K, ...) that do not depend on which is the first."""
    toward, up = beta[0].sum(axis=0), beta[1].sum(axis=0)
    return {
        "x": toward,
        "y": up,
        "x^2": (beta[0] ** 2).sum(axis=0),
        "xy": (beta[0] * beta[1]).sum(axis=0),
        "beta beta": (beta[:, 0] * beta[:, 1]).sum(axis=0),
    }


@pytest.mark.parametrize(
    ("algo", "step", "iterations", "given"),
    [
        pytest.param(  # as test_visits_and_trajectories_keep_the_joint_law
            *("gmc-bgibbs", 0.45, 4_000, {"sweeps": 2, "kept_sweeps": 1}), marks=pytest.mark.nightly
        ),
        pytest.param(  # as gsgnht, whose friction stands still
            *("sggmc", 0.25, 6_500, {"friction": 0.3, "sweeps": 25, "kept_sweeps": 20}),
            marks=pytest.mark.nightly,
        ),
        ("gsgnht", 0.25, 3_000, {"friction": 0.3, "sweeps": 25, "kept_sweeps": 20}),
    ],
)
def test_every_sampler_has_the_posterior_of_topics(algo, step, iterations, given):
    """Whole corpus, small steps; truth by quadrature, standard errors by 30 batches.

    Red with: noise of variance a for 2 a; the thermostat by V dimensions; the derivative of the
    normalisation left out; the prior's sign.
    """
    law = options(
        2, 3, algo, topics=2, kappa=5.0, sigma=2.0, kappa0=2.0, alpha=1.5, theta_step=0.1, **given
    )
    angles = np.array([0.1, 0.9, 1.6])
    v, m = np.stack([np.cos(angles), np.sin(angles)], axis=1), unit(np.array([1.0, 1.0]))
    documents = SphericalDocuments(law, np.ones(2), m, 1)
    batch = batch_of(np.ones((3, 2), int), (0, 1, 2), 1.0)
    if SAMPLERS[algo].whole_corpus:
        documents.keep(Documents(batch.indptr, batch.indices, batch.counts))
    state = SAMPLERS[algo].start(Key(1, 0, 0), blocks(law, 2, m)[0], 1)
    seen = np.empty((2, 2, iterations))
    for t in range(iterations):
        key = Key(1, 0, t)
        potential = documents.visit(key, {}, batch)["phi"]
        potential.directions = rows_of(v)
        state.step(key, potential, step)
        seen[:, :, t] = state.x[:, :2]
    truth, scores = exact_posterior(v, law, m), {}
    for name, values in on_the_circle(seen[:, :, 200:]).items():
        means = values[: len(values) // 30 * 30].reshape(30, -1).mean(axis=1)
        scores[name] = z_mean(means, truth[name])
    assert max(map(abs, scores.values())) < Z, scores


# ---- the score


def scored(k, n=9, **given):
    """A scorer of counts, a draw of topics, and both as plain arrays."""
    rng, v = np.random.default_rng(8), max(6, k + 3)
    counts = rng.poisson(1.0, (n, v)) + np.eye(n, v, dtype=int)
    counts[:, 0] += 1
    batch = batch_of(counts, range(n), 1.0)
    documents = Documents(batch.indptr, batch.indices, batch.counts)
    law = options(v, n, "sggmc", topics=k, **given)
    none = Documents(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
    scorer = LogPerplexity(law, HeldOut(none, documents, np.arange(n), 0), v, 1)
    beta, idf = unit(rng.normal(size=(v, k)) + 0.5), rng.random(v) + 0.2
    draw = {"phi": wide(beta).astype(np.float32), "idf": idf.astype(np.float32)}
    directions = unit(counts * draw["idf"].astype(np.float64), axis=1)
    return scorer, draw, draw["phi"][:, :k].astype(np.float64), directions, law


def log_density(beta, v, theta, kappa):
    """ln p(v | beta, theta), by whole vectors."""
    mixed = unit(theta @ beta.T, axis=-1)
    return oracle.log_normaliser(len(beta), kappa) + kappa * mixed @ v


@pytest.mark.parametrize(("k", "kappa"), [(1, 5.0), (3, 20.0), (17, 300.0)])
def test_the_score_is_the_average_density_of_proportions_from_the_prior(k, kappa):
    """Document by document, the same proportions for all.

    Red with: c of V + 2 dimensions; a mean of logarithms.
    """
    scorer, draw, beta, v, law = scored(k, kappa=kappa, alpha=2.0)
    theta = dirichlets(np.full((DRAWS, k), 2.0), Key(7, 0, 0), 201, 1)
    logs = [np.logaddexp.reduce(log_density(beta, d, theta, kappa)) - np.log(DRAWS) for d in v]
    assert float(scorer.point(Key(7, 0, 5), draw)) == pytest.approx(-np.mean(logs), abs=1e-8)
    assert law.kappa == kappa


def test_equal_samples_change_nothing_and_others_are_averaged_as_densities():
    """Red with: logarithms added; the number of samples left out."""
    scorer, draw, *_ = scored(3, kappa=20.0)
    key = Key(7, 0, 5)
    alone = float(scorer.point(key, draw))
    for _ in range(5):
        assert float(scorer.update(key, draw)) == pytest.approx(alone, abs=1e-12)
    other = draw | {"phi": np.roll(draw["phi"], 1, axis=0)}
    logs = [
        s.influence * -len(s.influence) - float(s)
        for s in (scorer.point(key, draw), scorer.point(key, other))
    ]
    expected = np.logaddexp(logs[0] + np.log(5 / 6), logs[1] + np.log(1 / 6))
    assert float(scorer.update(key, other)) == pytest.approx(-expected.mean(), abs=1e-9)


def test_with_equal_proportions_the_score_is_in_closed_form():
    """Alpha without bounds. Red with: c of V + 2 dimensions."""
    scorer, draw, beta, v, _ = scored(3, kappa=20.0, alpha=1e7)
    expected = -np.mean([log_density(beta, d, np.full(3, 1 / 3), 20.0) for d in v])
    assert float(scorer.update(Key(7, 0, 5), draw)) == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("kappa", [5.0, 200.0])
def test_importance_sampling_has_the_density_of_a_document(kappa):
    """Copies of one document, of two topics: their mean density is the integral over one share.

    Red with: the prior left out of the weights; the proposal's normaliser; logarithms averaged.
    """
    scorer, draw, beta, v, _ = scored(2, n=1, kappa=kappa, alpha=1.5)
    copies = 300
    one = scorer.held_out.held_out
    many = one.take(np.zeros(copies, np.int64))
    none = Documents(np.zeros(copies + 1, np.int64), one.indices[:0], one.counts[:0])
    scorer = LogPerplexity(scorer.options, HeldOut(none, many, np.arange(copies), 0), 6, 1)
    logs = scorer.importance(Key(7, 0, 5), draw)
    share = (np.arange(20_000) + 0.5) / 20_000
    theta = np.stack([share, 1 - share], axis=1)
    prior = stats.beta.pdf(share, 1.5, 1.5)
    found = log_density(beta, v[0], theta, kappa)
    truth = np.log((np.exp(found - found.max()) * prior).mean()) + found.max()
    assert abs(z_mean(np.exp(logs - truth), 1.0)) < Z
    assert np.std(logs) < 0.3
    scorer.update(Key(7, 0, 5), draw)
    assert scorer.metrics()["log_perplexity_importance"] == pytest.approx(-truth, abs=0.1)
