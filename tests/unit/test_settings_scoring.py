"""How often documents are scored: rules on counts."""

from __future__ import annotations

import numpy as np
import pytest

from pysgrld.evaluate import HeldOut, visits
from pysgrld.models.resolve import (
    BETWEEN_LOOKS,
    BETWEEN_SAMPLES,
    Work,
    sample_spacing,
    score_spacing,
)
from pysgrld.train.loop import Every
from pysgrld.types import Documents

ONE = Documents(np.array([0, 2]), np.array([0, 1], np.int32), np.array([30, 10], np.int32))
HELD_OUT = HeldOut(ONE, ONE, np.zeros(1, np.int64), 0)


def test_a_score_that_costs_little_leaves_the_least_spacing():
    assert sample_spacing(Work(10, 0), Work(1e6, 0), 100, 5) == 5


def test_samples_are_rarer_in_proportion_to_what_they_cost():
    """Red with: the factor left out; cells of a sample left out; topics left out beside cells."""
    iteration = Work(200_000, 0)
    # a visit takes 25 ns, and 0.05 for each topic in training, 0.07 in a sample
    assert sample_spacing(Work(3_000_000, 0), iteration, 100, 5) == 16 * BETWEEN_SAMPLES
    # a sample of 9 ns a cell beside steps of 2.5 ns
    assert sample_spacing(Work(0, 10**7), Work(0, 10**7), 100, 5) == 3.6 * BETWEEN_SAMPLES
    few, many = (sample_spacing(Work(0, 10**7), iteration, k, 5) for k in (100, 1000))
    assert few > 2 * many


@pytest.mark.parametrize("held_out", [None, HELD_OUT])
def test_looks_are_as_far_apart_as_their_visits_say(held_out):
    """Red with: the sweeps of a posterior sample for those of a look."""
    assert visits(held_out, 50) == (0 if held_out is None else 50 * 40)
    assert score_spacing(held_out, 100.0) == visits(held_out, 50) * BETWEEN_LOOKS / 100


def test_a_clock_waits_for_the_least_iterations_and_iterations_for_no_clock():
    """Red with: the least iterations left out, or counted from the beginning."""
    clock = Every("10s", 0, 0.0, 50)
    assert not clock.due(49, 1000.0)
    assert not clock.due(60, 9.0)
    assert clock.due(50, 10.0)
    clock.last = 50, 10.0
    assert not clock.due(99, 1000.0)
    assert clock.due(100, 1000.0)
    assert Every(7, 0, 0.0, 50).due(7, 0.0)
