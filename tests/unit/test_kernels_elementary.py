"""Logarithms, exponentials and products of doubles: within their errors, and the same bits everywhere."""

import math

import numpy as np
import pytest

from pysgrld.core import arithmetic, core

RNG = np.random.default_rng(5)
NUMBERS = {
    "log": np.concatenate([np.exp(RNG.uniform(-700, 700, 5000)), RNG.uniform(0.5, 2, 5000)]),
    "log1p": np.concatenate([RNG.uniform(-0.999, 1, 5000), 10.0 ** RNG.uniform(-20, 20, 5000)]),
    "exp": np.concatenate([RNG.uniform(-707, 708, 5000), RNG.uniform(-1, 1, 5000)]),
    "cospi": RNG.uniform(-2, 2, 10000),
}
#: Largest error in units of the last place; cos(pi x) near its zeros is compared in absolute terms.
ULPS = {"log": 1.0, "log1p": 2.0, "exp": 1.0}
EXACT = {"log": np.log, "log1p": np.log1p, "exp": np.exp}


@pytest.mark.parametrize("name", ULPS)
def test_a_function_is_within_its_error(isa, name):
    x = NUMBERS[name]
    exact = EXACT[name](x.astype(np.longdouble))
    found = getattr(core, name)(x).astype(np.longdouble)
    assert np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float64))) < ULPS[name]


def test_cospi_is_within_its_error(isa):
    x = NUMBERS["cospi"]
    pi = np.longdouble("3.14159265358979323846264338")
    assert np.max(np.abs(core.cospi(x) - np.cos(pi * x.astype(np.longdouble)))) < 3e-16
    quarters = core.cospi(np.array([0.0, 0.5, 1.0, 1.5, 2.0, -0.5, -1.0, 101.5]))
    assert np.array_equal(quarters, [1, 0, -1, 0, 1, 0, -1, 0])


@pytest.mark.parametrize("name", NUMBERS)
def test_instruction_sets_give_the_same_bits(name):
    before, found = core.isa(), {}
    try:
        for isa in core.available_isas():
            core.use_isa(isa)
            found[isa] = getattr(core, name)(NUMBERS[name]).tobytes()
    finally:
        core.use_isa(before)
    assert len(set(found.values())) == 1


def test_ends_of_the_range_are_those_of_ieee(isa):
    tiny = 5e-324
    x = np.array([0.0, -0.0, tiny, 1e-310, 1.0, np.inf, -1.0, -np.inf, np.nan])
    expected = [-np.inf, -np.inf, math.log(tiny), math.log(1e-310), 0.0, np.inf, *[np.nan] * 3]
    np.testing.assert_allclose(core.log(x), expected, rtol=1e-15)
    x = np.array([0.0, 709.7, 709.9, np.inf, -740.0, -746.5, -np.inf, np.nan])
    expected = [1.0, math.exp(709.7), np.inf, np.inf, math.exp(-740.0), 0.0, 0.0, np.nan]
    np.testing.assert_allclose(core.exp(x), expected, rtol=1e-15)
    x = np.array([-1.0, -2.0, np.inf, np.nan, 0.0, 1e-300])
    np.testing.assert_array_equal(core.log1p(x), [-np.inf, np.nan, np.inf, np.nan, 0.0, 1e-300])


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 2), (9, 40, 17), (0, 3, 2), (3, 0, 2)])
def test_a_product_adds_from_the_first_term_to_the_last(isa, shape):
    n, m, k = shape
    a, b = RNG.normal(size=(n, m)), RNG.normal(size=(m, k))
    expected = np.zeros((n, k))
    for j in range(m):
        expected += a[:, j, None] * b[j]
    assert core.product(a, b).tobytes() == expected.tobytes()


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"b has shape \(2, 2\), wanted \(3, any\)"):
        core.product(np.zeros((2, 3)), np.zeros((2, 2)))


def test_logaddexp_is_numpy_s_also_of_infinities():
    a = np.array([0.0, -np.inf, -np.inf, np.inf, np.inf, 3.0, -800.0, np.nan])
    b = np.array([1.0, -np.inf, 2.0, np.inf, -np.inf, -900.0, -801.0, 0.0])
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp(a, b)
    np.testing.assert_allclose(arithmetic.logaddexp(a, b), expected, rtol=1e-15)


def test_arrays_of_any_layout_and_precision_are_taken():
    x = RNG.uniform(0.1, 9.0, (6, 4))
    np.testing.assert_array_equal(arithmetic.log(x.T[::2]), arithmetic.log(x).T[::2])
    single = arithmetic.log(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.log(x), rtol=1e-6, atol=1e-7)
    assert arithmetic.exp(0) == 1.0
    np.testing.assert_allclose(arithmetic.product(x, x[0]), x @ x[0], rtol=1e-14)
    assert arithmetic.dot(np.arange(3), np.arange(3.0)) == 5.0


@pytest.mark.parametrize("numbers", [[3.0], [4.0, 1.0], [[2.0, np.nan], [9.0, 4.0]], [5, 1, 2, 2]])
def test_the_median_is_that_of_numpy(numbers):
    """Red with: NaN among the numbers; one of the two middle numbers instead of their mean."""
    assert arithmetic.median(numbers) == np.nanmedian(numbers)
    assert np.isnan(arithmetic.median([np.nan]))
