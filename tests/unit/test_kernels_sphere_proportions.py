"""The kernel of documents' proportions on spheres against the oracle's walk, and lane by lane.

Its law is tested in tests/statistical.
"""

import numpy as np
import pytest
from oracles import sphere as oracle
from oracles.philox import Address
from sphere_calls import CHARTS, bytes_of, walked, walking

from pysgrld.core import core


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize(("k", "n"), [(1, 1), (2, 15), (3, 17), (4, 16), (16, 2), (17, 300)])
def test_proportions_walk_as_the_oracle_does(chart, k, n):
    """With the kernel's numbers; of 300 documents some. The mean jump counts accepted ones only.

    Red with: 2 (alpha - 1) for 2 alpha - 1; the Jacobian of the normalisation left out; a whole kick at
    the end; the energy of the simplex with the gradient of the sphere; a uniform
    that is the velocity's; the first samples for the last.
    """
    call = walking(n, k, chart)
    samples, accepted, jumped, last = walked(call)
    address = Address(5, 1, "test", 9)
    for d in range(0, n, 41 if n > 20 else 1):
        start = call["theta"][d, :k]
        ends, taken = oracle.walk(
            address,
            2**33 + d,
            start,
            call["gram"][:k, :k],
            call["along"][d, :k],
            12.0,
            1.3,
            call["length"],
            4,
            5,
            chart,
        )
        np.testing.assert_allclose(last[d, :k], ends[-1], atol=3e-5)
        np.testing.assert_allclose(samples[d, :, :k], ends[1:], atol=3e-5)
        assert accepted[d] == taken.sum()
        steps = np.diff(np.vstack([start[None], ends]), axis=0)
        np.testing.assert_allclose(jumped[d], (steps**2).sum(), atol=1e-4)
    assert not samples[:, :, k:].any()
    np.testing.assert_allclose(last.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("time", "theta", "speed"),
    [(1.0, (0.5, 0.1, 0.4), (-0.3, 0.4, -0.1)), (3.0, (0.1, 0.8, 0.1), (0.3, 0.1, -0.4))],
)
def test_known_reflections(time, theta, speed):
    """One bounce and two: the oracle of the flat chart, to which the kernel is compared."""
    found = oracle.reflected(np.array([0.5, 0.3, 0.2]), np.array([0.1, -0.4, 0.3]), time)
    np.testing.assert_allclose(found[0], theta, atol=1e-14)
    np.testing.assert_allclose(found[1], speed, atol=1e-14)


def test_lines_are_reflected_at_every_face():
    """No energy but that of the simplex: long lines, every trajectory accepted.

    Red with: K for K - 1 in the reflection.
    """
    k, n = 5, 17
    call = walking(n, k, "flat", kappa=0.0, alpha=1.0, length=0.9)
    samples, accepted, *_ = walked(call)
    assert (accepted == 4).all()
    for d in range(n):
        ends, _ = oracle.walk(
            Address(5, 1, "test", 9),
            2**33 + d,
            call["theta"][d, :k],
            call["gram"][:k, :k],
            call["along"][d, :k],
            0.0,
            1.0,
            0.9,
            4,
            5,
            "flat",
        )
        np.testing.assert_allclose(samples[d, :, :k], ends[1:], atol=3e-4)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("n", [15, 16, 17, 40])
def test_a_document_does_not_depend_on_its_lane_or_its_neighbours(chart, n):
    """Red with: an arc by its series for all sixteen where the first's is; numbers keyed by the lane."""
    # some bounce, and some turn by more than the series
    alpha = 0.6 if chart == "root" else 1.0
    call = walking(n, 5, chart, kappa=2.0, alpha=alpha, length=0.5, leaps=2, trajectories=9)
    together = walked(call)
    assert together[1].sum() > 2 * n
    order = np.random.default_rng(9).permutation(n)
    moved = {name: call[name][order] for name in ("along", "doc_ids", "theta")}
    assert bytes_of(a[order] for a in together) == bytes_of(walked(call, **moved))
    for d in (0, n - 1):
        one = {name: call[name][d : d + 1] for name in ("along", "doc_ids", "theta")}
        assert bytes_of(a[d : d + 1] for a in together) == bytes_of(walked(call, **one))


@pytest.mark.parametrize("changed", ["seed", "chain", "step", "doc_ids", "purpose"])
def test_another_address_gives_other_proportions(changed):
    call = walking(16, 3)
    other = {"doc_ids": call["doc_ids"] + 1, "purpose": core.Purpose.documents}.get(changed, 7)
    assert bytes_of(walked(call)) != bytes_of(walked(call, **{changed: other}))


def test_trajectories_that_leave_the_numbers_are_refused():
    """A slope that is too steep for numbers leaves every document where it is."""
    for chart in CHARTS:
        call = walking(17, 3, chart, kappa=1e300)
        samples, accepted, jumped, last = walked(call)
        assert not accepted.any()
        assert not jumped.any()
        np.testing.assert_allclose(last, call["theta"], rtol=1e-15)
        assert np.isfinite(samples).all()
