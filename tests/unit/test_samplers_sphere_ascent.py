"""Points that go to where an energy is least: the samplers ``vi`` and ``svi``."""

import numpy as np
import pytest
from oracles.sphere import tangent

from pysgrld.core import padded_width
from pysgrld.samplers.ascent import Ascent, AscentSettings, default_step
from pysgrld.samplers.state import EnergyGradient
from pysgrld.types import Block, Key, Schedule

V, K = 6, 3
BLOCK = Block("phi", "sphere", (V, K), 1.0, 0, 0.0, np.eye(V)[0], settings=AscentSettings(50))


class Bowl:
    """Energy sum_k (x_k^T A x_k / 2 - b_k^T x_k), of different curvatures; counts its calls."""

    def __init__(self):
        self.asked = 0
        self.b = np.random.default_rng(0).normal(size=(V, K)) * 30.0
        self.a = np.logspace(0.0, 2.0, V)[:, None] * np.array([1.0, 3.0, 9.0])

    def sample_and_evaluate(self, key, part, x, *, noise=False):
        return self.evaluate(x)

    def evaluate(self, x, *, noise=False):
        self.asked += 1
        inner, gradient = x[:, :K], np.zeros_like(x)
        gradient[:, :K] = self.a * inner - self.b
        return EnergyGradient(float((0.5 * self.a * inner**2 - self.b * inner).sum()), gradient)


def state():
    return Ascent.start(Key(1, 0, 0), BLOCK, 1)


def test_points_come_to_rest_where_the_gradient_is_normal_to_the_sphere():
    """Red with: the length of a step that is not learnt; velocities that are not projected."""
    found, bowl = state(), Bowl()
    for t in range(3):
        found.step(Key(1, 0, t), bowl, 1.0)
    assert bowl.asked < 100
    x = found.x[:, :K]
    slope = bowl.evaluate(found.x).gradient[:, :K]
    np.testing.assert_allclose(tangent(x, slope), 0.0, atol=1e-3)
    assert ((x * slope).sum(axis=0) < 0.0).all()  # the least, and not the greatest
    np.testing.assert_allclose((x * x).sum(axis=0), 1.0, rtol=1e-14)


def test_the_energy_falls_with_every_step():
    """Red with: the first step taken as it is."""
    found, bowl = state(), Bowl()
    found.time[0] = 1e3
    energies = [bowl.evaluate(found.x).energy]
    found.set_velocities(Key(1, 0, 0), bowl.evaluate(found.x))
    for _ in range(12):
        energies.append(found.search_line(Key(1, 0, 0), bowl, bowl.evaluate(found.x)).energy)
        assert bowl.evaluate(found.x).energy == energies[-1]
    assert np.all(np.diff(energies) <= 0.0)
    assert energies[-1] < energies[0] - 1.0


def test_points_at_an_optimum_stay_there():
    """Red with: a step kept that gained nothing."""
    found, bowl = state(), Bowl()
    for t in range(20):
        found.step(Key(1, 0, t), bowl, 1.0)
    before = found.x.copy()
    found.step(Key(1, 0, 20), bowl, 1.0)
    np.testing.assert_allclose(found.x, before, atol=1e-6)
    assert np.isfinite(found.time).all()


def test_online_points_go_a_share_of_the_way():
    """Red with: the shares exchanged; a mixture that is not normalised."""
    whole, part = state(), state()
    old = part.x[:, :K].copy()
    whole.step(Key(1, 0, 0), Bowl(), 1.0)
    part.step(Key(1, 0, 0), Bowl(), 0.25)
    mixed = 0.75 * old + 0.25 * whole.x[:, :K]
    np.testing.assert_allclose(
        part.x[:, :K], mixed / np.linalg.norm(mixed, axis=0), rtol=1e-12, atol=1e-14
    )
    assert (part.x[:, K:] == 0.0).all()
    assert part.x.shape == (V, padded_width(K))


def test_weights_are_the_papers():
    """(t + 5)^-0.8. Red with: 1 + t/5 without the factor."""
    weight = Schedule(*default_step(None, AscentSettings()))
    assert [weight(t) for t in (0, 1, 95)] == pytest.approx([5**-0.8, 6**-0.8, 100**-0.8])
