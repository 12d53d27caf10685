"""Defaults that depend on the number of topics."""

import pytest

from pysgrld.models.resolve import resolve
from pysgrld.options.option import Facts

FACTS = Facts(20_000, 8_000, 2_000_000, 0, lambda size, seed: 4_000)


@pytest.mark.parametrize(
    ("k", "alpha", "eta", "sweeps"),
    [
        (10, 0.075, 0.05, 10),
        (100, 0.05, 0.05, 10),
        (128, 0.039, 5 / 128, 10),
        (129, 0.039, 5 / 129, 20),
        (500, 0.015, 0.01, 20),
        (1_000, 0.015, 0.01, 20),
        (2_000, 0.0075, 0.01, 20),
        (5_000, 0.005, 0.01, 20),
    ],
)
def test_priors_and_sweeps_by_the_number_of_topics(k, alpha, eta, sweeps):
    """Red with: no least alpha, or one that stays; eta that stays; twenty sweeps from 128."""
    found, _ = resolve({"algo": "scir", "topics": k}, FACTS)
    assert (found.alpha, found.eta, found.sweeps) == (alpha, eta, sweeps)


@pytest.mark.parametrize(
    ("k", "length", "alpha"),
    [
        (5, 10, 0.1),  # 0.75/K, at most 0.1
        (10, 10, 0.075),
        (15, 10, 0.05),
        (25, 10, 0.03),
        (10, 126, 0.09),  # L/1400 is more
        (5, 300, 0.1),
        (25, 300, 0.1),
        (40, 300, 0.1),
        (50, 10, 0.03),
        (50, 60, 0.043),
        (50, 600, 0.1),
        (100, 1000, 0.078),
        (50, 2000, 0.1),
        (60, 300, 0.083),
        (20, 2000, 0.1),
        (200, 10, 0.015),
        (200, 60, 0.02),
        (200, 600, 0.025),
        (200, 800, 0.031),
        (200, 2000, 0.05),
        (500, 10, 0.009),
        (500, 60, 0.012),
    ],
)
def test_the_prior_of_short_documents_is_small_and_of_long_ones_large(k, length, alpha):
    """Red with: a number that does not look at their length; a least alpha that does not."""
    facts = FACTS._replace(tokens=FACTS.documents * length)
    assert resolve({"topics": k}, facts)[0].alpha == alpha
    by_time = {"model": "dtm", "time": "year", "topics": k}
    assert resolve(by_time, facts._replace(slicing=None))[0].alpha == alpha


def test_what_is_held_out_at_random_changes_no_default():
    """Chains of other seeds hold other documents out. Red with: the mean length of those of training."""
    found = {
        resolve({"topics": 50}, FACTS._replace(tokens=tokens, mean_length=11.3))[0]
        for tokens in (226_000, 226_100, 251_000)
    }
    assert len({(f.alpha, f.minibatch, f.step_size) for f in found}) == 1


def test_what_is_given_stays():
    """Red with: a default in place of a prior that was typed; of sweeps of a learned alpha."""
    found, _ = resolve({"algo": "scir", "topics": 500, "eta": (0.05,), "sweeps": 10}, FACTS)
    assert (found.eta, found.sweeps) == (0.05, 10)
    found, _ = resolve({"algo": "scir", "topics": 500, "alpha": "learn"}, FACTS)
    assert found.sweeps == 30
    assert resolve({"algo": "gibbs", "topics": 500}, FACTS)[0].sweeps == 1
    assert resolve({"preset": "sgrld-2013"}, FACTS)[0].eta == 0.0001
