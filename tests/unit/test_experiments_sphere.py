"""Experiments on circles: the posterior of two directions, and what is measured on draws."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import sphere as oracle

from pysgrld.experiments import sam_circle, sam_vmf_posterior
from pysgrld.samplers.targets import sphere


def test_the_gradient_of_two_directions_is_that_of_their_energy():
    """Red with: the derivative of the middle's length left out; the prior for every observation."""
    target = sam_vmf_posterior.TwoDirections(sam_vmf_posterior.points())
    v = sphere.VonMisesFisher([1.0, 0.0], 5.0).draw(6, seed=1).reshape(3, 2, 2)
    numbers = oracle.numerical_gradient(lambda v: target.energy(v).sum(), v.copy())
    assert target.gradient(v) == pytest.approx(numbers, abs=1e-5)


def test_the_posterior_of_two_directions_has_the_moments_that_are_known():
    """By an independent quadrature of 801 by 801 points. Red with: a point left out; v1 for m."""
    first, second, correlation = sam_vmf_posterior.moments(sam_vmf_posterior.exact())
    assert first == pytest.approx(0.096499, abs=1e-6)
    assert second == pytest.approx(0.272343, abs=1e-6)
    assert correlation * first * second == pytest.approx(-0.024760, abs=1e-6)


def test_total_variation_of_an_angle_is_that_of_its_bins():
    """Red with: the other angle; the sum without its half."""
    law = sam_vmf_posterior.exact()
    assert sam_vmf_posterior.variation(law, law, 0) == 0.0
    only = np.where(sam_vmf_posterior.ANGLES[:, None] < 0, law, 0.0)
    only /= only.sum()
    assert sam_vmf_posterior.variation(only, law, 0) == pytest.approx(0.5, abs=0.01)
    assert sam_vmf_posterior.variation(only, law, 1) > 0.3
    assert sam_vmf_posterior.variation(only, law, 1) < 0.49


def test_bins_of_the_circle_have_the_masses_that_are_known():
    """Arcs of 30 degrees from -180, by an independent quadrature; total variation at temperature 2.

    Red with: weights exchanged; a density to the power T.
    """
    arcs = sam_circle.masses().reshape(12, 3).sum(axis=1)
    assert arcs == pytest.approx(
        (
            *(0.00077, 0.00940, 0.07684, 0.24633, 0.24666, 0.08152),
            *(0.04780, 0.12388, 0.12322, 0.03843, 0.00471, 0.00044),
        ),
        abs=1e-5,
    )
    assert sam_circle.variation(sam_circle.masses(2.0)) == pytest.approx(0.156, abs=0.001)
