"""The values that flow: positions of documents that are never listed."""

import numpy as np
import pytest

from pysgrld.types import Others


@pytest.mark.parametrize(
    "without", [[], [0], [9], [0, 1, 2], [3, 4, 9], [0, 5, 9], list(range(10))]
)
def test_others_are_what_a_list_of_them_would_be(without):
    """Red with: bisection to the left."""
    others = Others(10, np.array(without, np.int64))
    listed = np.setdiff1d(np.arange(10), without)
    assert len(others) == len(listed)
    assert others[:].tolist() == np.asarray(others).tolist() == list(others) == listed.tolist()
    assert others[1:5:2].tolist() == listed[1:5:2].tolist()
    places = np.arange(len(listed))[::-1]
    assert others[places].tolist() == listed[places].tolist()
