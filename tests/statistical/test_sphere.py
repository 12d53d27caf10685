"""Samplers on spheres: laws that are known, kept by chains that start in them; temperatures; draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.judge import Z, z_mean

from pysgrld.experiments import sam_circle, sam_vmf_posterior
from pysgrld.samplers.targets import sphere

pytestmark = pytest.mark.statistical

#: Of cos, sin, cos 2, sin 2 of the angle, under the two modes of `sam_circle.TARGET`: by quadrature.
CIRCLE = (0.44669157, -0.25789750, -0.32132337, -0.18551614)


def scores(x):
    """Scores of the four means, one point a chain."""
    angle = np.arctan2(x[:, 1], x[:, 0])
    found = (np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle))
    return [z_mean(f, e) for f, e in zip(found, CIRCLE, strict=True)]


@pytest.mark.parametrize(
    "options",
    [
        {"step_size": 0.02, "friction": 10.0, "gradient_noise": 700.0, "noise_estimate": 700.0},
        {"step_size": 0.05, "friction": 1.0, "burn_in": 150},
        {"step_size": 0.3, "algo": "gmc", "leaps": 5, "burn_in": 10},
    ],
    ids=["noise", "exact gradients", "trajectories"],
)
def test_two_modes_on_a_circle_are_kept(options):
    """docs/internals/mathematics.md, "Two modes on a circle".

    Red with: noise of variance eps for 2 C eps, or not projected; the noise of the gradient not left out;
    everything accepted.
    """
    start = sam_circle.TARGET.draw(2000, seed=1)
    assert max(map(abs, scores(start))) < Z
    options = {"samples": 1, "thin": 1, "burn_in": 300, "seed": 5} | options
    draws = sphere.sample(sam_circle.TARGET, start, **options)
    assert max(map(abs, scores(draws.x[0]))) < Z
    if "algo" not in options:
        assert draws.temperature.mean() == pytest.approx(1.0, abs=0.1)


def test_a_thermostat_finds_the_temperature_and_the_friction_that_noise_needs():
    """Temperature 1 within .02, friction C + eps V / 2 within 10 %, on a circle: M = 1.

    Red with: the two dimensions of the plane, where temperature is 2.
    """
    start = sam_circle.TARGET.draw(500, seed=1)
    draws = sphere.sample(
        sam_circle.TARGET,
        start,
        algo="gsgnht",
        step_size=0.02,
        friction=2.5,
        gradient_noise=250.0,
        samples=40,
        thin=10,
        burn_in=700,
    )
    assert draws.temperature.mean() == pytest.approx(1.0, abs=0.02)
    assert draws.friction.mean() == pytest.approx(2.5 + 0.02 * 250.0 / 2, rel=0.1)


def test_the_released_thermostat_is_hot_by_the_ratio_of_dimensions():
    """Red with: the mended one under its name."""
    outcome = sam_circle.work(sam_circle.CircleTask("gsgnht-released", 0, True), lambda part: None)
    assert outcome.temperature > 1.25


def test_the_posterior_of_two_directions_is_kept_by_minibatches():
    """Variances and covariance of the exact law, from draws of it; 300 steps, minibatches of ten.

    Red with: the gradient of a minibatch not scaled; the noise of one estimate for that of ten; noise of
    variance eps for 2 C eps.
    """
    mass, angles = sam_vmf_posterior.exact(), sam_vmf_posterior.ANGLES
    rng, chains = np.random.default_rng(1), 400
    at = np.searchsorted(np.cumsum(mass), rng.random(chains))
    width = angles[1] - angles[0]
    start = np.stack([angles[at // len(angles)], angles[at % len(angles)]], axis=1)
    start += (rng.random(start.shape) - 0.5) * width
    draws = sphere.sample(
        sam_vmf_posterior.TwoDirections(sam_vmf_posterior.points()),
        sam_vmf_posterior.circle_points(start),
        step_size=0.002,
        friction=30.0,
        minibatch=10,
        noise_estimate="fisher",
        samples=1,
        thin=300,
        seed=3,
    )
    for a in (start, np.arctan2(draws.x[0, ..., 1], draws.x[0, ..., 0])):
        assert abs(z_mean(a[:, 0], 0.0)) < Z
        assert abs(z_mean(a[:, 0] ** 2, 0.096499**2)) < Z
        assert abs(z_mean(a[:, 1] ** 2, 0.272343**2)) < Z
        assert abs(z_mean(a[:, 0] * a[:, 1], -0.024760)) < Z
    assert draws.temperature.mean() == pytest.approx(1.0, abs=0.03)
    assert draws.clipped.mean() < 0.03 * 300


@pytest.mark.parametrize(("d", "kappa"), [(2, 20.0), (3, 2.0), (100, 50.0), (3497, 3e4)])
def test_exact_draws_have_the_mean_and_the_spread_of_their_law(d, kappa):
    """E m'x = A, E (m'x)^2 = 1 - (d - 1) A / kappa, nothing across.

    Red with: the Bessel order of d + 2; a beta variate of shape d/2; everything accepted.
    """
    mean = np.zeros(d)
    mean[:2] = 0.6, 0.8
    x = sphere.VonMisesFisher(mean, kappa).draw(4000 if d < 1000 else 400, seed=2)
    along, length = x @ mean, sphere.mean_resultant_length(d, kappa)
    assert abs(z_mean(along, length)) < Z
    assert abs(z_mean(along**2, 1 - (d - 1) * length / kappa)) < Z
    assert abs(z_mean(x @ np.r_[0.8, -0.6, mean[2:]], 0.0)) < Z


def test_components_are_drawn_by_their_weights():
    """Red with: weights by their squares; all of one component."""
    x = sphere.VonMisesFisher([[1, 0], [-1, 0]], 1e4, [1, 3]).draw(4000, seed=3)
    assert abs(z_mean(x[:, 0] > 0, 0.25)) < Z
    assert math.isclose(np.abs(x[:, 0]).mean(), 1.0, abs_tol=1e-3)
