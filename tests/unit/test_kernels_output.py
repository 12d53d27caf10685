"""Numbers as they are written, and the greatest of each row."""

import numpy as np
import pytest

from pysgrld.core import core


def numbers():
    rng = np.random.default_rng(0)
    tens = 10.0 ** np.arange(-16, 3)
    return np.concatenate(
        [
            *(tens, np.nextafter(tens, 0), np.nextafter(tens, 9)),
            *(rng.random(20_000), rng.dirichlet(np.full(50, 0.05), 200).ravel()),
            *(10 ** rng.uniform(-20, 9, 20_000), rng.random(2_000).round(5)),
            (rng.integers(10**6, 10**7, 5_000) + 0.5) * 1e-10,  # in the middle between two
            np.arange(2_000) / 2**20,  # and exactly so
            [
                0.0,
                -0.0,
                1.0,
                9.9999995e-5,
                0.99999995,
                0.99999994,
                1e7,
                5e-324,
                -0.25,
                np.inf,
                np.nan,
            ],
        ]
    )


def test_decimals_are_those_of_the_c_library():
    """Red with: the sum rounded up without a look at the middle; an exponent of one before rounding."""
    values = numbers()
    found = core.decimals(values[:, None], separator="")
    assert found == [b"%.7g" % value for value in values.tolist()]


def test_rows_are_joined_and_whole_numbers_get_a_point():
    """Red with: a point in 1e-09; rows that run into each other."""
    values = np.array([[1.0, 1e-9, 0.0], [0.25, -2.0, 1e20]])
    assert core.decimals(values, separator=", ", point=True) == [
        b"1.0, 1e-09, 0.0",
        b"0.25, -2.0, 1e+20",
    ]
    assert core.decimals(values, separator=",") == [b"1,1e-09,0", b"0.25,-2,1e+20"]
    assert core.decimals(values[:0], separator=",") == []
    assert core.decimals(values[:, :0], separator=",") == [b"", b""]


@pytest.mark.parametrize("top", [0, 1, 5, 12, 13, 50])
def test_the_greatest_come_first_and_of_equal_ones_the_first(top):
    """Red with: a sort that leaves the order of equal ones open."""
    values = np.random.default_rng(1).integers(-3, 6, (40, 50)) / 4
    values[values == 0] *= np.resize([1, -1], (values == 0).sum())  # -0 is 0
    expected = np.argsort(-values, axis=1, kind="stable")[:, :top]
    np.testing.assert_array_equal(core.greatest(values, top=top), expected)


@pytest.mark.parametrize("top", [-1, 4])
def test_more_of_a_row_than_it_has_is_refused(top):
    with pytest.raises(ValueError, match=rf"top: wanted 0 to 3, found {top}"):
        core.greatest(np.zeros((2, 3)), top=top)
