"""Samplers of points on spheres against plain NumPy, a step at a time, with the same noise."""

import numpy as np
import pytest
from oracles import sphere as oracle
from oracles.philox import Address
from oracles.simplex import row_normals

from pysgrld.errors import NumericalError
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.state import EnergyGradient
from pysgrld.samplers.trajectories import uniform
from pysgrld.types import Block, Key

V, K, H, FRICTION, PARTS = 70, 3, 0.2, 0.3, 3
KEY = Key(4, 1, 6)
CENTRE = np.full(V, V**-0.5)
BLOCK = Block("phi", "sphere", (V, K), 1.0, 2, 0.0, CENTRE)
SETTINGS = {"friction": FRICTION, "inner-steps": PARTS, "leapfrog-steps": PARTS}


class Bowl:
    """A quadratic energy; says how much noise minibatches make."""

    def __init__(self, noise=None):
        rng = np.random.default_rng(1)
        self.tilt, self.curve, self.noise = rng.normal(size=(V, K)), rng.random((V, K)), noise
        self.asked = []

    def energy(self, x):
        return (self.tilt * x + 0.5 * self.curve * x * x).sum()

    def gradient(self, x):
        return self.tilt + self.curve * x

    def sample_and_evaluate(self, key, part, x, *, noise=False):
        self.asked.append(part)
        return self.evaluate(x)

    def evaluate(self, x, *, noise=False):
        gradient = np.zeros_like(x)
        gradient[:, :K] = self.gradient(x[:, :K])
        noise = None if self.noise is None else np.pad(self.noise, (0, x.shape[1] - K))
        return EnergyGradient(self.energy(x[:, :K]), gradient, noise)


def started(algo, **given):
    settings = SAMPLERS[algo].settings_class.from_values(SETTINGS | given)
    return SAMPLERS[algo].start(Key(4, 1, 0), BLOCK._replace(settings=settings), 1)


def noise(part, step=KEY.step):
    return row_normals((V, K), Address(KEY.seed, KEY.chain, "sphere_noise", step, 2), part)


def bare(state):
    return state.x[:, :K].copy(), state.v[:, :K].copy()


@pytest.mark.parametrize("algo", ["sggmc", "gmc-bgibbs"])
def test_points_start_around_the_centre_with_velocities_of_temperature_1(algo):
    """Red with: noise of length 1 for 1/sqrt(V) a coordinate; velocities with the noise of places."""
    x, v = bare(started(algo))
    expected = CENTRE[:, None] + noise(2**31, 0) / np.sqrt(V)
    expected /= np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(x, expected, atol=1e-6)
    np.testing.assert_allclose(v, oracle.tangent(expected, noise(2**31 + 1, 0)), atol=1e-5)


@pytest.mark.parametrize("known", [None, np.array([0.0, 4.0, 40.0])])
@pytest.mark.parametrize("algo", ["sggmc", "gsgnht"])
def test_a_step_is_geodesic_friction_force_friction_geodesic(algo, known):
    """Liu, Zhu and Song (2016), eq. 5 to 8, with as many parts as the dynamics say.

    Red with: noise of variance a for 2 a; the noise of minibatches added; friction once; a thermostat of
    V dimensions, or one that is moved once; the friction of the start for that of the thermostat.
    """
    state, bowl = started(algo), Bowl(known)
    x, v = bare(state)
    zeta = FRICTION
    state.step(KEY, bowl, H)

    def breathe():
        return 0.5 * H * H * ((v * v).sum() / (K * (V - 1)) - 1) if algo == "gsgnht" else 0.0

    left = 2 * FRICTION - (0.0 if known is None else H * H * known)
    sd = np.sqrt(np.maximum(0.0, left))
    for part in range(PARTS):
        zeta += breathe()
        x, v = oracle.geodesic(x, v, H / 2)
        v = np.exp(-zeta / 2) * v
        v = v + oracle.tangent(x, -H * bowl.gradient(x) + sd * noise(part))
        v = np.exp(-zeta / 2) * v
        x, v = oracle.geodesic(x, v, H / 2)
        zeta += breathe()
    np.testing.assert_allclose(state.x[:, :K], x, atol=1e-5)
    np.testing.assert_allclose(state.v[:, :K], v, atol=1e-5)
    if algo == "gsgnht":
        assert state.zeta[0] == pytest.approx(zeta, abs=1e-6)
    assert bowl.asked == list(range(PARTS))


@pytest.mark.parametrize("h", [0.2, 1.9])
def test_a_trajectory_is_accepted_by_its_energy(h):
    """Half a kick, geodesics and kicks, half a kick (Byrne and Girolami 2013); a long one is refused.

    Red with: a whole kick at either end; the velocity of the last iteration; a place that is left where a
    trajectory was refused.
    """
    state, bowl = started("gmc-bgibbs"), Bowl()
    before = {name: array.copy() for name, array in state.arrays().items()}
    x, _ = bare(state)
    v = oracle.tangent(x, noise(0))
    energy = bowl.energy(x) + (v * v).sum() / 2
    for _ in range(PARTS):
        v = v - h / 2 * oracle.tangent(x, bowl.gradient(x))
        x, v = oracle.geodesic(x, v, h)
        v = v - h / 2 * oracle.tangent(x, bowl.gradient(x))
    gained = energy - bowl.energy(x) - (v * v).sum() / 2
    taken = np.log(uniform(KEY)) <= gained
    assert taken == (h < 1)
    state.step(KEY, bowl, h)
    assert state.accepted.tolist() == [float(taken), 1.0]
    if taken:
        np.testing.assert_allclose(state.x[:, :K], x, atol=1e-5)
        np.testing.assert_allclose(state.v[:, :K], v, atol=1e-5)
    else:
        for name in ("x", "v", "squares"):
            assert state.arrays()[name].tobytes() == before[name].tobytes()
    assert bowl.asked == [0]


def test_a_trajectory_whose_energy_is_not_a_number_is_refused():
    """Red with: `log(u) <= nan`, after which the acceptance is NaN for ever."""

    class Bottomless(Bowl):
        def evaluate(self, x):
            return super().evaluate(x)._replace(energy=np.nan)

    state = started("gmc-bgibbs")
    before = state.x.tobytes()
    assert state.follow(KEY, Bottomless(), H) == 0.0
    assert state.accepted.tolist() == [0.0, 1.0]
    assert state.x.tobytes() == before


def test_a_step_is_adapted_by_dual_averaging():
    """Hoffman and Gelman (2014), eq. 6, after one trajectory that was surely accepted or refused.

    Red with: a step that grows where trajectories are refused; 1 / m for m^-0.75; the first step's factor
    in the first iteration; a count of iterations from 0.
    """
    for h, acceptance in ((1e-6, 1.0), (1.9, 0.0)):
        state = started("gmc-bgibbs", **{"adapted-iterations": 2})
        state.step(KEY._replace(step=0), Bowl(), h)
        first = (0.65 - acceptance) / 11
        expected = np.log(10) - 20 * first
        np.testing.assert_allclose(state.adapted, [expected, expected, first], atol=1e-5)
    last = state.adapted.copy()
    state.step(KEY._replace(step=1), Bowl(), 1e-9)
    second = first + (0.65 - 1 - first) / 12
    expected = np.log(10) - np.sqrt(2) * 20 * second
    mean = last[1] + 2**-0.75 * (expected - last[1])
    np.testing.assert_allclose(state.adapted, [expected, mean, second], atol=1e-5)


@pytest.mark.parametrize("h", [0.01, 1.9])
def test_an_adapted_step_accepts_two_thirds_and_is_frozen(h):
    """From acceptance 1 and 0. Red with: the step without its factor; adaptation that goes on."""
    state, adapted = started("gmc-bgibbs", **{"adapted-iterations": 150}), 150
    for t in range(adapted):
        state.step(KEY._replace(step=t), Bowl(), h)
    frozen, before = state.adapted.copy(), state.accepted.copy()
    for t in range(adapted, adapted + 200):
        state.step(KEY._replace(step=t), Bowl(), h)
    accepted, every = state.accepted - before
    assert state.adapted.tolist() == frozen.tolist()
    assert every == 200
    assert 0.5 < accepted / every < 0.9


@pytest.mark.parametrize("zeta", [-1e9, -np.inf, np.nan])
def test_friction_that_speeds_points_up_without_end_is_no_number(zeta):
    """Red with: OverflowError of a factor that no double can hold."""
    state = started("gsgnht")
    state.zeta[:] = zeta
    with pytest.raises(NumericalError, match="is not finite any more"):
        state.step(KEY, Bowl(), H)
