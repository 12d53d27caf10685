"""simplex.sample: Dirichlet posteriors from minibatched counts, by the figures of the SCIR paper."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.judge import Z, z_mean, z_variance
from scipy import special, stats

from pysgrld.samplers.targets import simplex

pytestmark = pytest.mark.statistical

SPARSE = np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0])
ALPHA = 0.1


def mean_distance(log_omega, counts=SPARSE):
    """Mean Kolmogorov-Smirnov distance of the Rosenblatt transform to uniform."""
    a = ALPHA + counts
    distances = []
    for j in range(len(a) - 1):
        left = log_omega[:, j] - special.logsumexp(log_omega[:, j:], axis=1)
        v = stats.beta.cdf(np.exp(left), a[j], a[j + 1 :].sum())
        distances.append(stats.kstest(v, "uniform").statistic)
    return float(np.mean(distances))


def chains(algo, h, minibatch):
    draws = simplex.sample(
        SPARSE,
        alpha=ALPHA,
        algo=algo,
        step_size=h,
        minibatch=minibatch,
        samples=1000,
        burn_in=1000,
        chains=5,
        start=np.full(10, 100.1),
        seed=5,
    )
    return [mean_distance(draws.log_omega[:, c]) for c in range(5)]


@pytest.mark.parametrize(
    ("algo", "h", "minibatch", "reference"),
    [
        ("scir", 0.05, 1, 0.132),
        pytest.param("scir", 0.05, 10, 0.091, marks=pytest.mark.nightly),
        pytest.param("scir", 0.1, 100, 0.053, marks=pytest.mark.nightly),
        pytest.param("scir", 0.5, 500, 0.039, marks=pytest.mark.nightly),
        ("sgrld", 0.0025, 10, 0.414),
        pytest.param("sgrld", 0.0025, 100, 0.382, marks=pytest.mark.nightly),
    ],
)
def test_distance_to_the_sparse_posterior_is_that_of_an_independent_implementation(
    algo, h, minibatch, reference
):
    """Mean of five seeds (docs/internals/mathematics.md, "A thousand observations").

    Red with: the scale N/n left out.
    """
    assert abs(np.mean(chains(algo, h, minibatch)) - reference) < 0.03


def test_all_observations_give_the_posterior_exactly_for_a_large_step():
    """Red with: the prior counted twice."""
    draws = simplex.sample(SPARSE, alpha=ALPHA, step_size=50.0, samples=1000, chains=5, seed=1)
    distances = [mean_distance(draws.log_omega[:, c]) for c in range(5)]
    assert abs(np.mean(distances) - 0.0274) < 0.006


def test_a_prior_may_differ_between_categories():
    """Red with: the first category's for all."""
    alpha, n = np.array([0.2, 3.0, 1.0]), np.array([4, 0, 1])
    omega = simplex.sample(n, alpha=alpha, step_size=50.0, samples=1, chains=40_000).omega[0]
    exact = (alpha + n) / 9.2
    for category in range(3):
        assert abs(z_mean(omega[:, category], exact[category])) < Z


def test_mirrored_langevin_meets_the_dirichlet_law_for_small_steps():
    """h A / 2 is .02: mean within 1 %, variance within 5 %. Red with: h for 2h; log_mass of y kept."""
    n, h = np.array([30, 25, 25, 20]), 4e-4
    draws = simplex.sample(
        n,
        alpha=0.5,
        algo="smld",
        step_size=h,
        samples=50,
        thin=20,
        burn_in=500,
        chains=4_000,
        start=n + 0.5,
        seed=1,
    )
    exact = (n + 0.5) / 102
    assert draws.omega.mean(axis=(0, 1)) == pytest.approx(exact, rel=0.01)
    assert draws.omega.var(axis=(0, 1)) == pytest.approx(exact * (1 - exact) / 103, rel=0.05)
    assert not draws.log_mass.any()


def test_minibatches_widen_mirrored_langevin_s_steps():
    """One step from a point: variance 2h + h^2 Var[N]. Red with: counts not scaled."""
    n, h, start = np.array([60, 25, 15]), 0.02, np.array([60.0, 25.0, 15.0])
    draws = simplex.sample(
        n,
        alpha=0.5,
        algo="smld",
        step_size=h,
        minibatch=5,
        samples=1,
        chains=50_000,
        start=start,
        seed=1,
    )
    y = draws.log_omega[0, :, 0] - draws.log_omega[0, :, 2]
    mean = np.log(4.0) + h * (60.5 - 101.5 * 0.6)
    assert abs(z_mean(y, mean)) < Z
    assert abs(z_variance(y, 2 * h + h * h * 20**2 * 5 * 0.6 * 0.4, mean)) < Z


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": [1, -1]}, ">= 0"),
        ({"counts": [[1]]}, "shape"),
        ({"alpha": 0.0}, "alpha"),
        ({"algo": "mh"}, "scir, sgrld or smld"),
        ({"algo": "smld", "alpha": [1.0, 2.0, 1.0]}, "takes one alpha for all"),
        ({"alpha": [1.0, 2.0]}, "alpha"),
        ({"step_size": -1}, "step_size"),
        ({"samples": 0}, "samples"),
        ({"minibatch": 0}, "minibatch"),
        ({"counts": [0, 0], "minibatch": 3}, "all 0"),
        ({"start": [1.0]}, "positive numbers"),
    ],
)
def test_a_wrong_argument_is_named(changes, message):
    arguments = {"counts": [3, 1, 0]} | changes
    with pytest.raises(ValueError, match=message):
        simplex.sample(arguments.pop("counts"), **arguments)
