"""Langevin dynamics in four coordinate systems. A chain is a replicate.

Patterson and Teh (2013), section 3; docs/internals/mathematics.md, "Dirichlet posteriors".
"""

from __future__ import annotations

import numpy as np
import pytest
from oracles.judge import Z, z_mean
from oracles.mirrored import gradient
from scipy import stats

from pysgrld.samplers.targets import simplex
from pysgrld.samplers.targets.common import Noise
from pysgrld.samplers.targets.langevin import COORDINATES, Target

pytestmark = pytest.mark.statistical

N = np.array([9.0, 3, 1, 0, 0])
ALPHA = np.array([0.1, 0.3, 0.1, 0.2, 0.1])
TARGET = Target(ALPHA + N, 13.0)
FIG1 = np.array([90, 5, 5, 0, 0, 0, 0, 0, 0, 0])


@pytest.fixture(params=COORDINATES)
def system(request):
    return COORDINATES[request.param]


def points(system, n=3):
    """Some points, (n, m), none near an edge."""
    return system.start(np.log(np.random.default_rng(1).gamma(3.0, size=(n, 5))))


def differences(f, u, step=1e-6):
    """Central differences of f (...,) or (..., m) by each coordinate of u (m,): (m, ...)."""
    return np.array([(f(u + step * e) - f(u - step * e)) / (2 * step) for e in np.eye(len(u))])


def place(system, u):
    return system.place(u, TARGET, 0.05, False)


def root(system, u):
    """B with B B' = G^-1, column by column."""
    p = place(system, u)
    return np.array([system.multiply_noise(p, TARGET, e) for e in np.eye(len(u))]).T


def test_log_density_is_that_of_the_posterior_in_these_coordinates(system):
    """Against scipy's Dirichlet and Gamma and the Jacobian by differences, up to a constant.

    Red with: exponent a - 1 in the natural coordinates; -g left out; total for -total.
    """
    constants = []
    for u in points(system):
        p = place(system, u)
        if system.reduced:
            jacobian = differences(lambda v: place(system, v).phi[:-1], u)
            exact = stats.dirichlet.logpdf(p.phi / p.phi.sum(), ALPHA + N)
        else:
            jacobian = differences(
                lambda v: place(system, v).phi * np.exp(place(system, v).log_mass), u
            )
            g = p.phi * np.exp(p.log_mass)
            exact = stats.gamma.logpdf(g, ALPHA).sum() + np.dot(N, p.log_phi)
        exact += np.linalg.slogdet(jacobian)[1]
        constants.append(p.log_density - exact)
    np.testing.assert_allclose(constants, constants[0], atol=1e-7)


def test_gradient_is_that_of_the_log_density(system):
    """Red with: a - 1 for a or a for a - 1; the reference's term left out; no -1 of the prior."""
    for u in points(system):
        exact = differences(lambda v: place(system, v).log_density, u)
        found = system.drift(u, place(system, u).phi, TARGET, False)
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_drift_is_the_natural_gradient_and_the_divergence_of_the_inverse_metric(system):
    """Red with: no curvature term (eta - 1 for eta in SGRLD); the paper's one without 1/N; twice it."""
    for u in points(system):
        inverse = root(system, u) @ root(system, u).T
        slopes = differences(lambda v: root(system, v) @ root(system, v).T, u)  # (m, m, m)
        divergence = np.einsum("kjk->j", slopes)
        exact = inverse @ system.drift(u, place(system, u).phi, TARGET, False) + divergence
        found = system.drift(u, place(system, u).phi, TARGET, True)
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_metric_is_the_one_of_the_paper_and_its_root_that_of_its_inverse(system):
    """Table 1: N times Fisher's metric of an observation, or that of the prior.

    Red with: N left out; log det of the other sign; the mean of v left out.
    """
    v = np.array([0.3, -1.0, 0.7, 0.2, 0.4])
    constants = []
    for u in points(system):
        p, m = place(system, u), len(u)
        if system.is_reflected:
            exact = np.diag(1 / p.u)
        elif not system.reduced:
            exact = np.diag(np.exp(p.u))
        else:
            jacobian = differences(lambda w: place(system, w).phi, u)  # d phi / du, (m, d)
            exact = 13.0 * jacobian @ np.diag(1 / p.phi) @ jacobian.T
        square, log_det = system.metric(p, TARGET, v[:m])
        assert square == pytest.approx(v[:m] @ exact @ v[:m], rel=1e-6)
        np.testing.assert_allclose(
            root(system, u) @ root(system, u).T @ exact, np.eye(m), atol=1e-6
        )
        constants.append(log_det - np.linalg.slogdet(exact)[1])
    np.testing.assert_allclose(constants, constants[0], atol=1e-6)


@pytest.mark.parametrize("riemannian", [False, True])
def test_density_of_a_proposal_is_that_of_what_is_proposed(system, riemannian):
    """Normal with the drift's mean and 2h G^-1, folded where coordinates are positive.

    Red with: h for 2h; the mirrored half left out; determinant left out; mean of the other end.
    """
    h, constants = np.array([[0.05]]), []
    u = points(system)
    for origin, to in ((0, 1), (1, 2), (2, 0)):
        here = system.place(u[[origin]], TARGET, h, riemannian)
        b = root(system, u[origin]) if riemannian else np.eye(len(u[origin]))
        covariance = 2 * 0.05 * b @ b.T
        if system.is_reflected:
            s = np.sqrt(np.diag(covariance))
            parts = [stats.norm.pdf(sign * u[to], here.mean[0], s) for sign in (1, -1)]
            exact = np.log(parts[0] + parts[1]).sum()
        else:
            exact = stats.multivariate_normal.logpdf(u[to], here.mean[0], covariance)
        found = system.log_q(here, u[[to]], TARGET, h, riemannian)
        constants.append(found[0] - exact)
    np.testing.assert_allclose(constants, constants[0], atol=1e-8)


EASY = {  # step sizes, plain and Riemannian
    "reduced-mean": (0.001, 0.1),
    "reduced-natural": (0.2, 0.1),
    "expanded-mean": (0.1, 0.1),
    "expanded-natural": (0.2, 0.1),
}


@pytest.mark.parametrize(
    ("coordinates", "riemannian"),
    [
        *((coordinates, True) for coordinates in COORDINATES),
        # coordinates by those above; that the metric is left out, by the first
        *(
            pytest.param(coordinates, False, marks=[pytest.mark.nightly] if i else [])
            for i, coordinates in enumerate(COORDINATES)
        ),
    ],
)
def test_a_metropolis_step_makes_every_system_exact(coordinates, riemannian):
    """alpha = 2, n = (3, 1, 0): means .5, .3, .2, E phi_3^2 = .05455.

    Red with: everything accepted; density of the proposal not mirrored; h for 2h in the noise.
    """
    draws = simplex.langevin(
        [3, 1, 0],
        coordinates=coordinates,
        riemannian=riemannian,
        alpha=2.0,
        chains=300,
        step_size=EASY[coordinates][riemannian],
        samples=100,
        thin=5,
        burn_in=150,
        start=[3, 2, 1],
        seed=1,
    )
    means = draws.omega.mean(axis=0)
    for category, exact in enumerate((0.5, 0.3, 0.2)):
        assert abs(z_mean(means[:, category], exact)) < Z
    assert abs(z_mean((draws.omega[..., 2] ** 2).mean(axis=0), 3 / 55)) < Z
    assert draws.accepted.min() > 0.2
    assert draws.accepted.max() < 1.0


@pytest.mark.parametrize(
    ("coordinates", "riemannian", "h"),
    [
        ("expanded-mean", True, 0.025),
        pytest.param("reduced-natural", False, 0.2, marks=pytest.mark.nightly),
        pytest.param("expanded-natural", False, 0.2, marks=pytest.mark.nightly),
    ],
)
def test_where_a_count_is_zero_the_usable_systems_are_exact(coordinates, riemannian, h):
    """alpha = .5, n = (3, 1, 0): P(phi_3 < .03) = .4097, E phi_3 = 1/11.

    Red with: density of the proposal not mirrored (E phi_3 = .063).
    """
    draws = simplex.langevin(
        [3, 1, 0],
        coordinates=coordinates,
        riemannian=riemannian,
        alpha=0.5,
        chains=400,
        step_size=h,
        samples=150,
        thin=5,
        burn_in=700,
        seed=2,
    )
    rare = draws.omega[..., 2]
    assert abs(z_mean(rare.mean(axis=0), 1 / 11)) < Z
    below = (rare < 0.03).mean(axis=0)
    assert abs(z_mean(below, stats.beta.cdf(0.03, 0.5, 5.0))) < Z


@pytest.mark.parametrize(
    ("eps", "total", "rare"),
    [
        pytest.param(0.01, 3.3, 0.0303, marks=pytest.mark.nightly),
        (0.1, 6.8, 0.0591),
        (1.0, 36.0, 0.243),
    ],
)
def test_without_it_the_expanded_mean_chain_has_the_bias_of_the_table(eps, total, rare):
    """Within 5 % of docs/internals/mathematics.md, "What reflection costs" (exact: 1 and .0069).

    Red with: noise variance h; drift 2h.
    """
    h = eps / 2
    draws = simplex.langevin(
        FIG1,
        adjusted=False,
        step_size=h,
        chains=400,
        samples=60,
        burn_in=int(8 / h) + 100,
        thin=max(1, int(0.1 / h)),
        start=FIG1 / 50 + 0.02,
        seed=1,
    )
    assert np.exp(draws.log_mass).mean() == pytest.approx(total, rel=0.05)
    assert draws.omega[..., 3:].sum(axis=-1).mean() == pytest.approx(rare, rel=0.05)
    assert (draws.accepted == 1).all()


@pytest.mark.parametrize(
    "order",
    [
        *(pytest.param(o, marks=pytest.mark.nightly) for o in ((0, 1, 2, 3), (3, 0, 1, 2))),
        (2, 3, 1, 0),
    ],
)
def test_reduced_natural_steps_are_exact_whichever_category_is_the_reference(order):
    """Red with: the reference's exponent a - 1."""
    n, alpha = np.array([6, 2, 1, 0])[list(order)], np.array([0.5, 1.5, 1.0, 0.7])[list(order)]
    draws = simplex.langevin(
        n,
        coordinates="reduced-natural",
        riemannian=False,
        alpha=alpha,
        step_size=0.1,
        chains=400,
        samples=100,
        thin=5,
        burn_in=500,
        seed=3,
    )
    exact = (alpha + n) / (alpha + n).sum()
    for category in range(4):
        assert abs(z_mean(draws.omega[..., category].mean(axis=0), exact[category])) < Z


@pytest.mark.parametrize("y", [[0.7, 0.4, -0.7, 2.0], [800.0, 1.0, 790.0, -3.0], [-40.0] * 4])
def test_plain_steps_in_reduced_natural_coordinates_are_mirrored_langevin(y):
    """The gradient is minus that of the dual potential, also where exp(y) has no double.

    Hsieh et al. (2018), eq. 3.7.
    """
    system = COORDINATES["reduced-natural"]
    p = place(system, np.array(y))
    found = system.drift(p.u, p.phi, TARGET, False)
    np.testing.assert_allclose(found, -gradient(np.array(y), ALPHA + N), rtol=1e-12)
    assert np.isfinite(p.log_phi).all()


def test_minibatches_leave_the_mean_of_the_drift_as_it_is_and_are_scaled():
    """One step of plain reduced-natural coordinates, whose drift is linear in the counts.

    Red with: counts of the minibatch not scaled.
    """
    start, h, n = np.array([3.0, 2.0, 1.0]), 0.05, np.array([6, 3, 1])
    draws = simplex.langevin(
        n,
        coordinates="reduced-natural",
        riemannian=False,
        adjusted=False,
        alpha=0.5,
        step_size=h,
        minibatch=4,
        samples=1,
        chains=40_000,
        start=start,
        seed=4,
    )
    u = draws.log_omega[0, :, :2] - draws.log_omega[0, :, 2:]
    y = np.log(start[:2] / start[2])
    mean = y - h * gradient(y, n + 0.5)
    p = n / 10
    for category in range(2):
        assert abs(z_mean(u[:, category], mean[category])) < Z
        spread = h**2 * 100 / 4 * p[category] * (1 - p[category])
        squares = (u[:, category] - mean[category]) ** 2
        assert abs(z_mean(squares, 2 * h + spread)) < Z


def test_a_chain_does_not_depend_on_the_others():
    """Nor on how many iterations' noise is drawn at once. Red with: ordinals by the number of chains."""
    steps = np.array([0.01, 0.1, 0.3])
    three = simplex.langevin([3, 1, 0], step_size=steps, samples=50, chains=3, start=[1, 1, 1])
    one = simplex.langevin([3, 1, 0], step_size=steps[0], samples=50, start=[1, 1, 1])
    np.testing.assert_array_equal(three.log_omega[:, :1], one.log_omega)
    assert three.accepted[2] < three.accepted[0]


def test_noise_is_normal_and_its_pieces_do_not_show(monkeypatch):
    """Red with: the same uniforms for radius and angle; one piece's noise for all."""
    whole = Noise(7, 3, 5)
    z = np.array([whole.draw(t)[0] for t in range(3000)])
    u = np.array([whole.draw(t)[1] for t in range(3000)])
    monkeypatch.setattr(Noise, "PIECE", 100)
    pieces = Noise(7, 3, 5)
    np.testing.assert_array_equal(z, [pieces.draw(t)[0] for t in range(3000)])
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-5
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-5
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(z_mean(z[..., i] * z[..., j], 0.0)) < Z
    assert abs(z_mean(z[1:] * z[:-1], 0.0)) < Z
    assert abs(z_mean(z[:, 1:] * z[:, :-1], 0.0)) < Z


def test_proposals_that_cannot_be_are_counted():
    """Red with: refused ones not counted; one that left the simplex taken."""
    draws = simplex.langevin(
        FIG1, coordinates="reduced-mean", adjusted=False, step_size=0.3, samples=200, chains=20
    )
    np.testing.assert_allclose(draws.accepted, 1 - draws.refused / 200)
    assert draws.refused.min() > 100
    assert np.isfinite(draws.log_omega).all()
    wild = simplex.langevin(
        FIG1, coordinates="expanded-natural", step_size=1.0, samples=200, chains=20
    )
    assert wild.refused.sum() > 0
    assert np.isfinite(wild.log_omega).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coordinates": "polar"}, "coordinates is 'polar'"),
        ({"counts": [3]}, "only one category"),
        ({"counts": [0, 0], "coordinates": "reduced-mean"}, "coordinates='reduced-mean' needs"),
        ({"minibatch": 2}, "with adjusted=True"),
        ({"minibatch": 2, "counts": [0, 0], "adjusted": False}, "no minibatch can be drawn"),
        ({"step_size": 0.0}, "step_size"),
        ({"step_size": [0.1, 0.2]}, r"step_size is \[0.1, 0.2\]: wanted a number above 0"),
        ({"step_size": [0.1, 0.2], "chains": 3}, "or 3 of them"),
        ({"step_size": "a"}, "step_size"),
        ({"alpha": [1.0, 2.0]}, "alpha"),
        ({"alpha": "a"}, "alpha"),
        ({"alpha": [1.0, 0.0, 1.0]}, "alpha"),
        ({"start": [1.0, 0.0, 1.0]}, "positive"),
    ],
)
def test_a_wrong_argument_is_named(changes, message):
    arguments = {"counts": [3, 1, 0]} | changes
    with pytest.raises(ValueError, match=message):
        simplex.langevin(arguments.pop("counts"), **arguments)
