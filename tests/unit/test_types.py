"""The values that flow: positions of documents that are never listed."""

import numpy as np
import pytest

from pysgrld.types import PositionsExcept, wider


@pytest.mark.parametrize(
    "without", [[], [0], [9], [0, 1, 2], [3, 4, 9], [0, 5, 9], list(range(10))]
)
def test_others_are_what_a_list_of_them_would_be(without):
    """Red with: bisection to the left."""
    others = PositionsExcept(10, np.array(without, np.int64))
    listed = np.setdiff1d(np.arange(10), without)
    assert len(others) == len(listed)
    assert others[:].tolist() == np.asarray(others).tolist() == list(others) == listed.tolist()
    assert others[1:5:2].tolist() == listed[1:5:2].tolist()
    places = np.arange(len(listed))[::-1]
    assert others[places].tolist() == listed[places].tolist()


def test_draws_vary_as_the_posterior_up_to_half_as_much_noise_again():
    """Two thirds of the variance are given the counts (docs/choosing-a-sampler.md)."""
    assert [wider(noise) for noise in (1.0, 1.5, 3.0)] == pytest.approx([1.0, 1.0, 2.0])
