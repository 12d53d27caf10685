"""pysgrld.samplers.targets.sphere: great circles, densities, noise of gradients, and bad input."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from oracles import sphere as oracle

from pysgrld.errors import NumericalError
from pysgrld.samplers.targets import sphere
from pysgrld.samplers.targets.directions import dot, great_circle
from pysgrld.samplers.targets.sphere import FrictionChains, Gradients, TrajectoryChains

PULL = SimpleNamespace(gradient=lambda x: -np.ones_like(x), energy=lambda x: -x.sum(axis=-1))


def moving(seed=1, shape=(4, 2, 5)):
    """Points with velocities, tangent."""
    x = sphere.uniform(shape, seed=seed)
    v = sphere.uniform(shape, seed=seed + 1) * 2.0
    return x, v - x * dot(x, v)


# ---- great circles


def test_a_great_circle_is_followed_as_a_fixture_has_it():
    """Red with: half the time; the sign of the velocity's way to x."""
    x, v = great_circle(np.array([1.0, 0, 0]), np.array([0.0, 1.2, 1.6]), 0.3)
    assert x == pytest.approx([0.82533561, 0.33878548, 0.45171398], abs=1e-8)
    assert v == pytest.approx([-1.12928495, 0.99040274, 1.32053698], abs=1e-8)
    x, v = moving(shape=(3, 4))
    there = oracle.geodesic(x.T, v.T, 0.7)
    for ours, plain in zip(great_circle(x, v, 0.7), there, strict=True):
        assert ours == pytest.approx(plain.T, abs=1e-14)


def test_great_circles_are_periodic_and_can_be_gone_back():
    """Red with: the pace of all vectors of a chain together."""
    x, v = moving()
    pace = np.sqrt(dot(v, v))
    for x1, v1, pace1 in zip(x.reshape(-1, 5), v.reshape(-1, 5), pace.ravel(), strict=True):
        again = great_circle(x1, v1, 2 * np.pi / pace1)
        assert again[0] == pytest.approx(x1, abs=1e-13)
        assert again[1] == pytest.approx(v1, abs=1e-13)
    there, onward = great_circle(x, v, 0.9)
    back, turned = great_circle(there, -onward, 0.9)
    assert back == pytest.approx(x, abs=1e-13)
    assert turned == pytest.approx(-v, abs=1e-13)


def test_a_point_without_velocity_stays():
    """Red with: a division by the pace."""
    x, v = great_circle(np.array([[0.0, 1.0]]), np.zeros((1, 2)), 3.0)
    assert x.tolist() == [[0.0, 1.0]]
    assert not v.any()


def test_points_stay_on_spheres_and_velocities_tangent():
    """After two thousand steps, to rounding. Red with: neither noise nor velocities projected."""
    x, _ = moving()
    moved = FrictionChains(Gradients(PULL, x, None, 50.0, None, 0), x, 0.1, 1.0, 0)
    for t in range(2000):
        moved.step(t, 0.1)
    assert np.abs(dot(moved.x, moved.x) - 1).max() < 1e-15
    assert np.abs(dot(moved.x, moved.v)).max() < 1e-14


def test_rounding_is_taken_out_at_once():
    """Red with: points not normalised; velocities not made tangent."""
    x, v = moving()
    x, v = great_circle(x * (1 + 1e-9), v + 1e-9 * x, 1e-3)
    assert np.abs(dot(x, x) - 1).max() < 1e-15
    assert np.abs(dot(x, v)).max() < 1e-14


def test_without_noise_and_force_velocities_keep_their_length():
    """Red with: friction in a trajectory."""
    x, _ = moving()
    still = SimpleNamespace(gradient=np.zeros_like, energy=lambda x: np.zeros(len(x)))
    moved = TrajectoryChains(Gradients(still, x, None, 0.0, None, 0), x, 50, 0)
    moved.step(0, 0.1)
    assert moved.accepted.tolist() == [1.0] * 4
    before = TrajectoryChains(Gradients(still, x, None, 0.0, None, 0), x, 1, 0)
    before.step(0, 1e-9)
    assert moved.warmth() == pytest.approx(before.warmth(), abs=1e-13)


# ---- the von Mises-Fisher distribution


@pytest.mark.parametrize(("d", "kappa"), [(2, 20.0), (3, 2.0), (7, 0.3)])
def test_the_density_is_the_one_of_the_oracle(d, kappa):
    """Red with: the order d/2 for d/2 - 1."""
    x = sphere.uniform((5, d), seed=3)
    mean = np.arange(1.0, d + 1)
    ours = sphere.VonMisesFisher(mean, kappa).log_density(x)
    along = x @ mean / np.linalg.norm(mean)
    assert ours == pytest.approx(oracle.log_normaliser(d, kappa) + kappa * along, abs=1e-8)


def test_a_mixture_on_the_circle_has_the_moments_that_are_known():
    """By an independent quadrature. Red with: weights left out, or not to the sum of 1."""
    target = sphere.VonMisesFisher([[1, 3**0.5], [1, -(3**0.5)]], 5.0, [1, 2])
    angle = np.linspace(-np.pi, np.pi, 3600, endpoint=False)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    p = np.exp(target.log_density(x)) * 2 * np.pi / 3600
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    found = [p @ f for f in (x[:, 0], x[:, 1], np.cos(2 * angle), np.sin(2 * angle))]
    assert found == pytest.approx([0.44669157, -0.25789750, -0.32132337, -0.18551614], abs=1e-8)


def test_the_gradient_is_that_of_the_energy():
    """Red with: a component's share without its concentration; the sign."""
    target = sphere.VonMisesFisher([[1, 0, 0], [0, 3, 4]], [2.0, 9.0], [1, 3])
    x = sphere.uniform((6, 3), seed=5)
    numbers = oracle.numerical_gradient(lambda x: target.energy(x).sum(), x.copy())
    assert target.gradient(x) == pytest.approx(numbers, abs=1e-7)


def test_a_far_tail_neither_overflows_nor_is_no_number():
    target = sphere.VonMisesFisher([[1, 0], [1, 1e-200]], 1e8)
    assert np.isfinite(target.log_density([[-1.0, 0.0]])).all()
    assert np.isfinite(target.gradient(np.array([[-1.0, 0.0]]))).all()
    assert sphere.VonMisesFisher([1e-300, 0], 2).means.tolist() == [[1.0, 0.0]]


def test_a_draw_does_not_depend_on_how_many_there_are():
    """Red with: uniforms that are keyed by how many draws are left."""
    target = sphere.VonMisesFisher(np.eye(10)[:2], 30.0)
    assert (target.draw(100, seed=4) == target.draw(300, seed=4)[:100]).all()


# ---- noise


def test_the_noise_that_is_added_leaves_out_what_the_gradient_has():
    """2 C h I - h^2 V, for a number and for a matrix. Red with: h V for h^2 V; C h for 2 C h."""
    x, _ = moving(shape=(1, 2, 2))
    known = Gradients(PULL, x, None, 0.0, 30.0, 0)
    moved = FrictionChains(known, x, 0.1, 4.0, 0)
    unit = np.eye(4)[:, None, :]

    def covariance(variance):
        root = np.array([moved.scaled_noise(z, 0.1, variance).ravel() for z in unit])
        return root.T @ root

    assert covariance(30.0) == pytest.approx(0.5 * np.eye(4), abs=1e-15)
    root = np.arange(16.0).reshape(4, 4) / 8
    matrix = root @ root.T
    expected = 0.8 * np.eye(4) - 0.01 * matrix
    assert covariance(matrix[None]) == pytest.approx(expected, abs=1e-14)
    assert moved.clipped.tolist() == [0]
    values, vectors = np.linalg.eigh(0.8 * np.eye(4) - matrix)
    clipped = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
    assert values[0] < 0
    assert covariance(100.0 * matrix[None]) == pytest.approx(clipped, abs=1e-13)
    assert moved.clipped.tolist() == [4]


def test_minibatches_of_single_estimates_give_their_mean_and_its_covariance():
    """Red with: the covariance of one estimate; estimates not projected."""
    g = np.random.default_rng(1).normal(size=(50, 2, 3))
    target = SimpleNamespace(observations=50, estimates=lambda x, chosen: g[chosen])
    x = sphere.uniform((2000, 2, 3), seed=1)
    x[:] = x[0]
    gradient, variance = Gradients(target, x, 10, 0.0, "fisher", 0).estimate(0, x)
    assert gradient.mean(axis=0) == pytest.approx(g.mean(axis=0), abs=0.03)
    flat = (g - x[0] * dot(x[0], g)).reshape(50, 6)
    assert variance.mean(axis=0) == pytest.approx(np.cov(flat.T, bias=True) / 10, abs=0.004)


# ---- chains


@pytest.mark.parametrize("algo", ["sggmc", "gsgnht", "gmc"])
def test_draws_of_a_chain_do_not_depend_on_the_others(algo):
    """Red with: one thermostat for all; one uniform for all."""
    target, start = sphere.VonMisesFisher([1, 2, 3], 6.0), sphere.uniform((5, 3), seed=2)
    both = [
        sphere.sample(target, x, algo=algo, step_size=0.4, samples=30) for x in (start, start[:2])
    ]
    assert both[0].x[:, :2] == pytest.approx(both[1].x, abs=1e-9)
    assert both[0].friction[:, :2] == pytest.approx(both[1].friction, abs=1e-9)
    assert (both[0].accepted[:2] == both[1].accepted).all()


def test_a_trajectory_that_is_refused_is_gone_back():
    """Red with: everything accepted; the last point of a refused trajectory."""
    start = sphere.uniform((50, 3), seed=1)
    draws = sphere.sample(
        sphere.VonMisesFisher([0, 0, 1], 300.0), start, algo="gmc", step_size=0.35, samples=1
    )
    stayed = np.abs(draws.x[0] - start).max(axis=1) < 1e-12
    assert 0 < stayed.sum() < 50
    assert (draws.accepted == ~stayed).all()


def test_several_vectors_have_energies_that_are_added():
    """Red with: the energy of a chain's first vector."""
    target = sphere.VonMisesFisher([1, 0], 2.0)
    gradients = Gradients(target, sphere.uniform((3, 2, 2)), None, 0.0, None, 0)
    x = sphere.uniform((3, 2, 2), seed=7)
    assert gradients.energy(x) == pytest.approx(target.energy(x).sum(axis=1))


def test_steps_follow_their_schedule():
    """Red with: the first step for all."""
    target, start = sphere.VonMisesFisher([1, 0], 2.0), sphere.uniform((3, 2))
    short = sphere.sample(target, start, step_size=(0.1, 1.0, 1.0), samples=2)
    longer = sphere.sample(target, start, step_size=0.1, samples=2)
    assert (short.x[0] == longer.x[0]).all()
    assert (short.x[1] != longer.x[1]).any()


# ---- bad input


START = [[1.0, 0.0], [0.0, 1.0]]
TARGET = sphere.VonMisesFisher([1, 0], 2.0)
POSTERIOR = SimpleNamespace(observations=3, estimates=lambda x, chosen: np.zeros((2, 4, 2)))

EMPTY = SimpleNamespace(observations=0, estimates=POSTERIOR.estimates)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sphere.VonMisesFisher([0.0, 0.0], 1), "vector of zeros"),
        (lambda: sphere.VonMisesFisher([np.nan, 1.0], 1), "not a finite number"),
        (lambda: sphere.VonMisesFisher(["a", "b"], 1), "array of numbers"),
        (lambda: sphere.VonMisesFisher([1.0], 1), "two or more coordinates"),
        (lambda: sphere.VonMisesFisher([[[1.0, 0.0]]], 1), r"shape \(1, 1, 2\)"),
        (lambda: sphere.VonMisesFisher([1, 0], 0), r"kappa is 0: wanted a number in \(0, 10\^9\)"),
        (lambda: sphere.VonMisesFisher([1, 0], np.inf), "kappa is inf"),
        (lambda: sphere.VonMisesFisher(START, [1, 2, 3]), "or 2 of them"),
        (lambda: sphere.VonMisesFisher(START, 1, [1, -2]), r"weights is \[1, -2\]"),
        (lambda: sphere.mean_resultant_length(1, 2.0), "d is 1"),
        (lambda: sphere.mean_resultant_length(3, -2.0), "kappa is -2.0"),
        (lambda: sphere.uniform((3,)), r"shape is \(3,\)"),
        (lambda: TARGET.draw(0), "samples is 0"),
        (lambda: sphere.sample(TARGET, [1.0, 0.0]), r"start has shape \(2,\)"),
        (lambda: sphere.sample(TARGET, [[1.0, 0.0], [0.0, 0.0]]), "start has a vector of zeros"),
        (lambda: sphere.sample(TARGET, START, algo="hmc"), "wanted sggmc, gsgnht or gmc"),
        (lambda: sphere.sample(TARGET, START, step_size=0), "step_size is 0"),
        (
            lambda: sphere.sample(TARGET, START, friction=-1),
            "friction is -1: wanted a number above 0",
        ),
        (lambda: sphere.sample(TARGET, START, gradient_noise=-1), "gradient_noise is -1"),
        (lambda: sphere.sample(TARGET, START, noise_estimate=-1), "noise_estimate is -1"),
        (
            lambda: sphere.sample(TARGET, START, noise_estimate=2001),
            r"at most 2 \* friction / step_size = 2000",
        ),
        (lambda: sphere.sample(TARGET, START, noise_estimate="f"), "give a variance, or 'fisher'"),
        (lambda: sphere.sample(TARGET, START, noise_estimate="fisher"), "2 observations or more"),
        (lambda: sphere.sample(TARGET, START, minibatch=2), "target has no attribute observations"),
        (lambda: sphere.sample(POSTERIOR, START), "target has no attribute gradient"),
        (
            lambda: sphere.sample(SimpleNamespace(observations=0), START, minibatch=1),
            "no attribute estimates",
        ),
        (
            lambda: sphere.sample(EMPTY, START, minibatch=1),
            "no observation, but at least one is needed",
        ),
        (
            lambda: sphere.sample(POSTERIOR, START, minibatch=3),
            r"estimates returns shape \(2, 4, 2\)",
        ),
        (lambda: sphere.sample(TARGET, START, algo="gmc", gradient_noise=1), "exact gradients"),
        (lambda: sphere.sample(TARGET, START, algo="gmc", leaps=0), "leaps is 0"),
        (lambda: sphere.sample(TARGET, START, samples=0), "samples is 0"),
        (
            lambda: sphere.sample(SimpleNamespace(gradient=lambda x: x[0]), START),
            "gradient returns shape",
        ),
        (
            lambda: sphere.sample(SimpleNamespace(gradient=lambda x: x), START, algo="gmc"),
            "target has no attribute energy",
        ),
        (
            lambda: sphere.sample(
                SimpleNamespace(gradient=lambda x: x, energy=lambda x: 0.0), START, algo="gmc"
            ),
            "energy returns shape",
        ),
    ],
)
def test_wrong_arguments_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_chain_that_is_not_finite_is_named():
    """At once, not when it is to be kept. Red with: gradients that nobody looks at."""
    bad = SimpleNamespace(gradient=lambda x: np.where(x[:, :1] > 0.5, np.nan, x))
    with pytest.raises(NumericalError, match="chain 1 are not finite at iteration 0"):
        sphere.sample(bad, [[-1.0, 0.0], [1.0, 0.0]], samples=1, burn_in=3)
