"""pysgrld.simplex: Dirichlet posteriors from minibatched counts, by the figures of the SCIR paper."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from pysgrld import simplex

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
        SPARSE, alpha=ALPHA, algo=algo, step_size=h, minibatch=minibatch, samples=1000,
        burn_in=1000, chains=5, start=np.full(10, 100.1), seed=5,
    )  # fmt: skip
    return [mean_distance(draws.log_omega[:, c]) for c in range(5)]


@pytest.mark.parametrize(
    ("algo", "h", "minibatch", "reference"),
    [
        ("scir", 0.05, 1, 0.132),
        ("scir", 0.05, 10, 0.091),
        ("scir", 0.1, 100, 0.053),
        ("scir", 0.5, 500, 0.039),
        ("sgrld", 0.0025, 10, 0.414),
        ("sgrld", 0.0025, 100, 0.382),
    ],
)
def test_distance_to_the_sparse_posterior_is_that_of_an_independent_implementation(
    algo, h, minibatch, reference
):
    """Reference: specification, section E.8, mean of five seeds. Red with: the scale N/n left out."""
    assert abs(np.mean(chains(algo, h, minibatch)) - reference) < 0.03


def test_all_observations_give_the_posterior_exactly_for_a_large_step():
    """Red with: the prior counted twice."""
    draws = simplex.sample(SPARSE, alpha=ALPHA, step_size=50.0, samples=1000, chains=5, seed=1)
    distances = [mean_distance(draws.log_omega[:, c]) for c in range(5)]
    assert abs(np.mean(distances) - 0.0274) < 0.006


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": [1, -1]}, ">= 0"),
        ({"counts": [[1]]}, "shape"),
        ({"alpha": 0.0}, "alpha"),
        ({"algo": "mh"}, "scir or sgrld"),
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
