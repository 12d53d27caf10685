"""Kernels of points on spheres against plain NumPy: values, odd sizes, and bytes.

The law of proportions is tested in tests/statistical.
"""

import numpy as np
import pytest
from oracles import sphere as oracle
from oracles.philox import Address
from oracles.simplex import row_normals
from sphere_calls import (
    DOCUMENTS,
    KEY,
    SIZES,
    TEAM,
    bytes_of,
    documents,
    points,
    squares,
    walked,
    walking,
    wide,
)

from pysgrld.core import core, padded_width
from pysgrld.errors import NumericalError
from pysgrld.models.sam.documents import SphericalDocuments, SphericalPotential
from pysgrld.models.sam.proportions import Directions, Prior
from pysgrld.models.sam.resolved import SphericalOptions
from pysgrld.types import Minibatch

# ---- Bessel functions: docs/internals/mathematics.md has no table of them, mpmath has


@pytest.mark.parametrize(
    ("d", "kappa", "normaliser", "ratio"),
    [
        (3, 2, -3.1262444390235, 0.5373147207275481),
        (2, 20, -19.427487494654, 0.9746705078898071),
        (100, 50, 75.321915356057, 0.4150685852658482),
        (3497, 3e4, -15141.677457548, 0.9434284841344769),
        (7702, 2e4, 11426.072977681, 0.8258354808292043),
        (100_000, 1e4, 433249.70306186, 0.09901953244794425),
    ],
)
def test_bessel_functions_of_every_order(d, kappa, normaliser, ratio):
    """Values of mpmath with 30 digits. Red with: I of order d/2 for d/2 - 1; u4 left out."""
    assert core.bessel_ratio(d, kappa) == pytest.approx(ratio, rel=3e-14)
    assert core.log_normaliser(d, kappa) == pytest.approx(normaliser, rel=1e-13, abs=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3, 7.5, 41, 42, 43, 80])
def test_small_orders_are_those_of_scipy(d):
    """Around the order from which the expansion is used directly. Red with: a shift by 31 orders."""
    for kappa in (1e-3, 0.5, 3.0, 40.0, 600.0):
        expected = oracle.log_normaliser(d, kappa)
        assert core.log_normaliser(d, kappa) == pytest.approx(expected, abs=2e-9), kappa


@pytest.mark.parametrize("d", [2, 3, 42, 3497])
def test_without_concentration_the_density_is_uniform(d):
    """And near it there is no jump. Red with: kappa / d for the ratio left out."""
    for kappa in (0.0, 1e-9, 1e-8 * d, 1.001e-8 * d):
        assert core.log_normaliser(d, kappa) == pytest.approx(-oracle.area(d), rel=1e-10)
        assert core.bessel_ratio(d, kappa) == pytest.approx(kappa / d, rel=1e-7)


@pytest.mark.parametrize("d", [2, 20, 3497])
def test_the_ratio_is_the_slope_of_the_normaliser(d):
    """A = -d ln c / d kappa. Red with: the ratio of the next order."""
    for kappa in (30.0, 5e3):
        h = 1e-4 * kappa
        slope = core.log_normaliser(d, kappa + h) - core.log_normaliser(d, kappa - h)
        assert core.bessel_ratio(d, kappa) == pytest.approx(-slope / (2 * h), rel=2e-6)


@pytest.mark.parametrize("kernel", [core.bessel_ratio, core.log_normaliser])
@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_bessel_functions_name_the_bad_argument(kernel, wrong):
    with pytest.raises(ValueError, match=r"^d: must be finite and at least 1"):
        kernel(wrong, 1.0)
    with pytest.raises(ValueError, match=r"^kappa: must be finite and at least 0"):
        kernel(3.0, wrong)


# ---- points


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_moments_are_the_inner_products(v, k):
    """Red with: the last rows of a block of four counted twice; the lower triangle not mirrored."""
    x, _ = points(v, k)
    centre = np.random.default_rng(1).normal(size=v)
    gram, along = core.sphere_moments(x=wide(x), topics=k, centre=centre, **TEAM)
    np.testing.assert_allclose(gram[:k, :k], x.T @ x, atol=1e-13)
    np.testing.assert_allclose(along[:k], centre @ x, atol=1e-13)
    assert not gram[k:].any()
    assert not gram[:, k:].any()
    assert (gram == gram.T).all()
    same, none = core.sphere_moments(x=wide(x), topics=k, centre=None, **TEAM)
    assert same.tobytes() == gram.tobytes()
    assert not none.any()


@pytest.mark.parametrize("n", DOCUMENTS)
def test_documents_along_topics(n):
    """Red with: the entries of the document before."""
    x, _ = points(103, 17)
    dense, of = documents(n, 103)
    along = core.sphere_along(x=wide(x), topics=17, threads=1, **of._asdict())
    np.testing.assert_allclose(along[:, :17], dense @ x, atol=1e-14)
    assert not along[:, 17:].any()


@pytest.mark.parametrize(("v", "k"), SIZES)
@pytest.mark.parametrize("pace", [1e-9, 0.4, 5.0, 3e6])
def test_points_drift_along_geodesics(v, k, pace):
    """Slow ones by a series, fast ones by whole turns.

    Red with: the time left out; velocities turned by the new x.
    """
    x, v_ = points(v, k)
    v_ *= pace / np.maximum(np.linalg.norm(v_, axis=0), 1e-30)
    place, speed, found = wide(x), wide(v_), squares(v_)
    core.sphere_drift(x=place, v=speed, squares=found, topics=k, length=0.7, damp=0.25, **TEAM)
    expected, moved = oracle.geodesic(x, v_, 0.7)
    exact = 1e-13 * max(1.0, pace * 1e-2)
    np.testing.assert_allclose(place[:, :k], expected, atol=exact)
    np.testing.assert_allclose(speed[:, :k], 0.25 * moved, atol=pace * exact)
    np.testing.assert_allclose(found, squares(speed), rtol=1e-13)
    assert not place[:, k:].any()
    assert not speed[:, k:].any()


def test_a_known_geodesic():
    x, v = wide([[1.0], [0.0], [0.0]]), wide([[0.0], [1.2], [1.6]])
    core.sphere_drift(x=x, v=v, squares=squares(v), topics=1, length=0.3, damp=1.0, **TEAM)
    np.testing.assert_allclose(x[:, 0], [0.82533561, 0.33878548, 0.45171398], atol=5e-9)
    np.testing.assert_allclose(v[:, 0], [-1.12928495, 0.99040274, 1.32053698], atol=5e-9)


def test_geodesics_keep_length_and_tangency_and_run_back():
    """Ten thousand steps."""
    x, v = points(37, 3)
    place, speed, found = wide(x), wide(v), squares(v)
    shape = {"topics": 3, "length": 0.1, "damp": 1.0} | TEAM
    before = found.copy()
    for _ in range(10_000):
        core.sphere_drift(x=place, v=speed, squares=found, **shape)
    np.testing.assert_allclose(found, before, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(place[:, :3], axis=0), 1.0, atol=1e-14)
    np.testing.assert_allclose((place * speed).sum(axis=0), 0.0, atol=1e-13)
    speed *= -1.0
    for _ in range(10_000):
        core.sphere_drift(x=place, v=speed, squares=found, **shape)
    np.testing.assert_allclose(place[:, :3], x, atol=1e-9)


def test_what_is_off_the_sphere_is_put_back():
    """Rounding does not add up.

    Red with: points not divided by their length, velocities not projected.
    """
    x, v = points(37, 3)
    place, speed = wide(x * (1 + 1e-7)), wide(v + 1e-7 * x)
    shape = {"topics": 3, "length": 0.1, "damp": 1.0} | TEAM
    core.sphere_drift(x=place, v=speed, squares=squares(v), **shape)
    np.testing.assert_allclose(np.linalg.norm(place[:, :3], axis=0), 1.0, atol=1e-14)
    np.testing.assert_allclose((place * speed).sum(axis=0), 0.0, atol=1e-13)


def test_a_point_that_is_none_any_more_is_named():
    x, v = points(9, 3)
    v[:, 1] = np.inf
    with pytest.raises(NumericalError, match=r"^topic 1 is not finite any more"):
        core.sphere_drift(
            x=wide(x), v=wide(v), squares=squares(v), topics=3, length=1.0, damp=1.0, **TEAM
        )


@pytest.mark.parametrize(("v", "k"), SIZES)
@pytest.mark.parametrize("part", [0, 3])
def test_forces_are_projected_with_their_noise(v, k, part):
    """With the kernel's normals.

    Red with: noise that is not projected; parts of a step with one noise.
    """
    x, pace = points(v, k)
    rng = np.random.default_rng(2)
    gradient, sd = rng.normal(size=(v, k)), rng.random(k)
    z = row_normals((v, k), Address(5, 1, "sphere_noise", 9, 2), part)
    force = -0.3 * gradient + sd * z
    expected = 0.5 * (pace + oracle.tangent(x, force))
    speed, found, used = wide(pace), np.zeros(padded_width(k)), wide(gradient)
    call = {"x": wide(x), "topics": k, "length": 0.3, "stream": 2, "part": part} | KEY | TEAM
    core.sphere_force(gradient=used, v=speed, squares=found, sd=wide(sd[None])[0], damp=0.5, **call)
    np.testing.assert_allclose(speed[:, :k], expected, atol=3e-6)
    np.testing.assert_allclose(found, squares(speed), rtol=1e-13)
    assert not speed[:, k:].any()
    speed = wide(pace)
    core.sphere_force(gradient=wide(gradient), v=speed, squares=found, sd=None, damp=1.0, **call)
    expected = pace - 0.3 * oracle.tangent(x, gradient)
    np.testing.assert_allclose(speed[:, :k], expected, atol=1e-14)


# ---- statistics and gradients


@pytest.mark.parametrize("n", DOCUMENTS)
@pytest.mark.parametrize(("v", "k"), [(103, 2), (40, 17)])
def test_evidence_is_that_of_whole_vectors(n, v, k):
    """The form in inner products is exact. Red with: c / n for c / n^2 in the outer products."""
    x, _ = points(v, k)
    dense, of = documents(n, v)
    samples = np.random.default_rng(3).dirichlet(np.full(k, 0.7), (n, 3))
    kept = wide(samples.reshape(-1, k)).reshape(n, 3, -1).astype(np.float32)
    gram, _ = core.sphere_moments(x=wide(x), topics=k, centre=None, **TEAM)
    along = core.sphere_along(x=wide(x), topics=k, threads=1, **of._asdict())
    found = core.sphere_evidence(gram=gram, along=along, topics=k, samples=kept, **TEAM)
    u, outer, cosines = oracle.statistics(x, dense, kept[:, :, :k].astype(np.float64))
    np.testing.assert_allclose(found[0][:, :k], u, rtol=1e-12)
    np.testing.assert_allclose(found[1][:k, :k], outer, atol=1e-12 * n)
    np.testing.assert_allclose(found[2], cosines, atol=1e-12)
    assert not found[0][:, k:].any()
    assert not found[1][k:].any()


def slope_at(x, dense, of, theta, prior, kappa, scale=1.0):
    """What the model makes of the kernels: energy and gradient (V, K), of samples (n, N, K)."""
    k = prior.topics
    kept = wide(theta.reshape(-1, k)).reshape(*theta.shape[:2], padded_width(k)).astype(np.float32)
    fields = dict.fromkeys(SphericalOptions.__dataclass_fields__)
    numbers = {"kappa": kappa, "kappa0": prior.kappa0, "sigma": prior.sigma, "topics": k}
    model = SphericalDocuments(SphericalOptions(**(fields | numbers)), x[:, 0], prior.centre, 1)
    none = Minibatch(
        of.indptr[:1], of.indices[:0], of.indices[:0], of.indices, of.indptr[:0], scale
    )
    potential = SphericalPotential(model, none)
    potential.directions, potential.samples = of, kept
    found = potential.evaluate(wide(x))
    assert not found.gradient[:, k:].any()
    return found.energy, found.gradient[:, :k]


def test_a_known_energy_and_gradient_of_topics():
    """Red with: the derivative of the normalisation left out; the prior's sign; kappa0 for sigma."""
    x = np.array([[0.6, 0.0], [0.8, 0.6], [0.0, 0.8]])
    of = Directions(np.array([0, 1]), np.array([2], np.int32), np.ones(1))
    prior = Prior(np.array([1.0, 0.0, 0.0]), 2.0, 3.0, 2)
    theta = np.array([[[0.25, 0.75]]])
    energy, gradient = slope_at(x, np.array([[0.0, 0.0, 1.0]]), of, theta, prior, 5.0)
    assert energy == pytest.approx(-9.5162810306, abs=1e-9)
    expected = [[-1.39621719, -1.08469520], [-1.04038001, 0.30954858], [-1.75034831, -3.29065145]]
    np.testing.assert_allclose(gradient, expected, atol=6e-9)


@pytest.mark.parametrize(("v", "k"), [(7, 3), (3, 1), (21, 17)])
def test_the_gradient_is_that_of_the_energy(v, k):
    """By finite differences of the plain energy.

    Red with: the derivative of the normalisation left out.
    """
    x, _ = points(v, k)
    dense, of = documents(5, v)
    samples = np.random.default_rng(4).dirichlet(np.ones(k), (5, 2)).astype(np.float32)
    samples = samples.astype(np.float64)
    centre = np.full(v, v**-0.5)
    prior = Prior(centre, 2.0, 3.0, k)

    def energy(at):
        each = [oracle.energy(at, dense, samples[:, s], centre, 2.0, 3.0, 5.0) for s in range(2)]
        return sum(each) / 2

    found, gradient = slope_at(x, dense, of, samples, prior, 5.0)
    assert found == pytest.approx(energy(x), abs=1e-8)
    np.testing.assert_allclose(gradient, oracle.numerical_gradient(energy, x), atol=1e-6)


def test_only_the_documents_count_times_the_scale_of_a_minibatch():
    """Red with: the prior times D/B, too."""
    x, _ = points(11, 3)
    dense, of = documents(4, 11)
    theta = np.random.default_rng(5).dirichlet(np.ones(3), (4, 2))
    prior = Prior(np.eye(11)[0], 2.0, 3.0, 3)
    one, three = (slope_at(x, dense, of, theta, prior, 5.0, s) for s in (1.0, 3.0))
    none = Directions(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    alone = slope_at(x, dense[:0], none, theta[:0], prior, 5.0)
    for a, b, c in zip(one, three, alone, strict=True):
        np.testing.assert_allclose(b - c, 3.0 * (a - c), rtol=1e-12)


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_the_gradient_of_rows_is_the_formula(v, k):
    """With a centre and without. Red with: the prior's sign; kappa0 for sigma; no outer products."""
    x, _ = points(v, k)
    dense, of = documents(17, v)
    rng = np.random.default_rng(6)
    u, outer, centre = rng.random((17, k)), rng.normal(size=(k, k)), rng.normal(size=v)
    call = {"x": wide(x), "topics": k, "pull": 0.7, "of_centre": 1.3, "of_sum": 0.4, "weight": 2.5}
    square = np.zeros((padded_width(k), padded_width(k)))
    square[:k, :k] = outer
    call |= {"proportions": wide(u), "outer": square} | of._asdict() | TEAM
    toward = 0.4 * x.sum(axis=1, keepdims=True) - np.zeros((1, k))
    data = 2.5 * (dense.T @ u - x @ outer)
    found = core.sphere_gradient(centre=centre, **call)
    expected = -0.7 * (1.3 * centre[:, None] + toward) - data
    np.testing.assert_allclose(found[:, :k], expected, atol=1e-13)
    assert not found[:, k:].any()
    found = core.sphere_gradient(centre=None, **call)
    np.testing.assert_allclose(found[:, :k], -0.7 * toward - data, atol=1e-13)


@pytest.mark.parametrize(("v", "k"), SIZES)
def test_halves_become_a_whole_and_their_difference(v, k):
    """The sum with the prior, and the squared difference within the tangent spaces."""
    x, first = points(v, k)
    rng = np.random.default_rng(10)
    other, centre = rng.normal(size=(v, k)), rng.normal(size=v)
    factors = {"pull": 0.7, "of_centre": 1.3, "of_sum": 0.4, "of_first": 0.5, "of_other": 0.25}
    call = {"x": wide(x), "topics": k, "other": wide(other)} | factors | TEAM
    apart = oracle.tangent(x, 0.5 * first - 0.25 * other)
    for m in (centre, None):
        whole = wide(first)
        found = core.sphere_halves(first=whole, centre=m, **call)
        np.testing.assert_allclose(found[:k], (apart**2).sum(axis=0), atol=1e-12 * v)
        assert not found[k:].any()
        prior = 0.4 * x.sum(axis=1) + (0.0 if m is None else 1.3 * m)
        expected = first + other - 0.7 * prior[:, None]
        np.testing.assert_allclose(whole[:, :k], expected, atol=1e-13)
        assert not whole[:, k:].any()


@pytest.mark.parametrize(("k", "n"), [(1, 1), (2, 15), (16, 65), (17, 300)])
@pytest.mark.parametrize("kappa", [0.0, 7.0, 3e4])
def test_cosines_are_averaged_as_densities(k, n, kappa):
    """Red with: a mean of logarithms."""
    x, _ = points(40, k)
    dense, of = documents(n, 40)
    theta = np.random.default_rng(7).dirichlet(np.ones(k), 33)
    gram, _ = core.sphere_moments(x=wide(x), topics=k, centre=None, **TEAM)
    along = core.sphere_along(x=wide(x), topics=k, threads=1, **of._asdict())
    found = core.sphere_cosines(
        gram=gram, along=along, topics=k, theta=wide(theta), kappa=kappa, **TEAM
    )
    mixed = theta @ x.T
    logs = kappa * dense @ (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).T
    expected = np.logaddexp.reduce(logs, axis=1) - np.log(33)
    np.testing.assert_allclose(found, expected, atol=1e-12 * max(1.0, kappa))


# ---- the same bits


def everything(threads):
    """Bytes of what all kernels give of one model, on points that they move themselves."""
    v, k, n = 2083, 18, 300
    x, pace = points(v, k)
    dense, of = documents(n, v)
    team = {"work": core.Workspace(), "threads": threads}
    place, speed, found = wide(x), wide(pace), squares(pace)
    core.sphere_drift(x=place, v=speed, squares=found, topics=k, length=0.4, damp=0.9, **team)
    gram, toward = core.sphere_moments(x=place, topics=k, centre=dense[0], **team)
    along = core.sphere_along(x=place, topics=k, threads=threads, **of._asdict())
    call = walking(n, k) | {"gram": gram, "along": along, "length": 0.3} | team
    walks = walked(call)
    flat = walked(call, chart="flat")
    statistics = core.sphere_evidence(gram=gram, along=along, topics=k, samples=walks[0], **team)
    prior = {"centre": dense[0], "pull": 0.5, "of_centre": 2.0, "of_sum": 3.0}
    gradient = core.sphere_gradient(
        x=place,
        topics=k,
        weight=1.5,
        proportions=statistics[0],
        outer=statistics[1],
        **prior,
        **of._asdict(),
        **team,
    )
    cosines = core.sphere_cosines(
        gram=gram, along=along, topics=k, theta=walks[-1][:50], kappa=900.0, **team
    )
    whole = gradient.copy()
    pair = {"first": whole, "other": speed, "of_first": 0.5, "of_other": 0.5}
    apart = core.sphere_halves(x=place, topics=k, **prior, **pair, **team)
    core.sphere_force(
        gradient=gradient.copy(),
        x=place,
        v=speed,
        squares=found,
        topics=k,
        length=0.1,
        sd=np.full(padded_width(k), 0.3),
        damp=0.8,
        stream=0,
        part=1,
        **KEY,
        **team,
    )
    arrays = (
        place,
        speed,
        found,
        gram,
        toward,
        along,
        *walks,
        *flat,
        *statistics,
        gradient,
        whole,
        apart,
        cosines,
    )
    return bytes_of(arrays)


def test_threads_and_instruction_sets_give_the_same_bytes():
    """Red with: sums over rows added by threads as they come."""
    before, expected = core.isa(), everything(1)
    try:
        for isa in core.available_isas():
            core.use_isa(isa)
            for threads in (1, 2, 4):
                assert everything(threads) == expected, (isa, threads)
    finally:
        core.use_isa(before)
