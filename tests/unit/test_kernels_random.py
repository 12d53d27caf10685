"""Addresses, uniforms, permutations and elementary functions against their oracles."""

import numpy as np
import pytest
from oracles.order import permute, uniform
from oracles.philox import PURPOSES, Address, uniform24, uniform_open
from scipy import special

from pysgrld.core import core, padded_width


def test_purposes_have_the_numbers_of_the_table():
    assert {p.name: p.value for p in core.Purpose.__members__.values()} == PURPOSES


def test_purposes_are_unique_and_leave_room_for_the_stream():
    numbers = [p.value for p in core.Purpose.__members__.values()]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < 256


def test_unknown_instruction_set_is_refused_by_name():
    with pytest.raises(ValueError, match="'itanium' is not available"):
        core.use_isa("itanium")


def test_uniform24_of_the_draw_kernel_is_the_oracle_s(isa):
    address = Address(7, 0, "test", 3)
    expected = [uniform24(address.block(0, i)[0]) for i in range(40)]
    assert core.draw("uniform24", np.zeros(40, np.float32), 7, 3).tolist() == expected


def test_uniform_open_of_the_draw_kernel_is_the_oracle_s(isa):
    address = Address(2**40 + 7, 0, "test", 2**33)
    expected = [np.float32(uniform_open(address.block(0, i)[0])) for i in range(40)]
    got = core.draw("uniform_open", np.zeros(40, np.float32), 2**40 + 7, 2**33)
    np.testing.assert_allclose(got, expected, rtol=2**-23)


def test_uniforms_are_the_oracle_s(isa):
    entity, ordinal = np.array([0, 5, 2**40, 5]), np.array([0, 1, 2, 70000])
    address = Address(11, 2, "holdout_split", 9)
    expected = [uniform(int(e), int(j), address) for e, j in zip(entity, ordinal, strict=True)]
    got = core.uniforms(entity, ordinal, 11, 2, core.Purpose.holdout_split, 9)
    assert got.tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 3, 5, 1000])
def test_permute_is_the_oracle_s(isa, n):
    address = Address(3, 1, "epoch_order", 4)
    got = core.permute(np.arange(n), n, 3, 1, core.Purpose.epoch_order, 4)
    assert got[:50].tolist() == [permute(i, n, address) for i in range(min(n, 50))]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 1000, 4096, 4097])
def test_permute_is_a_bijection(n):
    got = core.permute(np.arange(n), n, 3, 1, core.Purpose.epoch_order, 4)
    assert np.sort(got).tolist() == list(range(n))


def test_permute_reaches_beyond_32_bits():
    n = 10**12
    got = core.permute(np.array([0, 1, n - 1]), n, 3, 1, core.Purpose.epoch_order, 4)
    assert ((got >= 0) & (got < n)).all()
    assert len(set(got.tolist())) == 3


@pytest.mark.parametrize("bad", [-1, 10])
def test_permute_refuses_a_position_outside(bad):
    with pytest.raises(ValueError, match=rf"position: {bad} is not in \[0, 10\)"):
        core.permute(np.array([bad]), 10, 1, 0, core.Purpose.epoch_order, 0)


def test_uniforms_refuses_unequal_lengths():
    with pytest.raises(ValueError, match="ordinal has shape"):
        core.uniforms(np.arange(3), np.arange(2), 1, 0, core.Purpose.test, 0)


@pytest.mark.parametrize(
    ("kind", "points", "function", "ulp"),
    [
        ("log", np.geomspace(1.2e-38, 3.4e38, 100_001), np.log, 1),
        ("log", np.linspace(0.5, 2, 200_001), np.log, 1),
        ("exp", np.linspace(-87.3, 88, 200_001), np.exp, 1),
        ("expm1m", np.geomspace(1e-30, 100, 100_001), lambda x: -np.expm1(-x), 2.5),
        ("expm1m", np.linspace(0.2, 2, 200_001), lambda x: -np.expm1(-x), 2.5),
        ("sine", np.linspace(-1, 1, 200_001), lambda x: np.sin(np.pi / 4 * x), 2),
        ("cosine", np.linspace(-1, 1, 200_001), lambda x: np.cos(np.pi / 4 * x), 2),
    ],
)
def test_elementary_function_keeps_its_promised_error(isa, kind, points, function, ulp):
    """The bounds of math.hpp. Red with: the last coefficient of any of them 1 % off."""
    x = points.astype(np.float32)
    got = core.draw(kind, x, 1).astype(np.float64)
    exact = function(x.astype(np.float64))
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert (np.abs(got - exact) / unit).max() <= ulp


def test_digamma_keeps_its_promised_error(isa):
    x = np.geomspace(1e-4, 1e8, 100_001).astype(np.float32)
    got = core.draw("digamma", x, 1)
    np.testing.assert_allclose(got, special.digamma(x.astype(np.float64)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "x", "value"),
    [
        ("exp", 1000, np.exp(88)),
        ("exp", np.inf, np.exp(88)),
        ("exp", np.nan, np.exp(88)),
        ("expm1m", np.inf, 1),
        ("expm1m", 0, 0),
    ],
)
def test_elementary_function_at_the_ends_of_its_range(isa, kind, x, value):
    got = core.draw(kind, np.array([x], np.float32), 1)
    np.testing.assert_allclose(got, value, rtol=1e-6)


def test_exp_far_below_is_zero(isa):
    x = np.array([-88, -100, -1000, -np.inf], np.float32)
    assert core.draw("exp", x, 1).tolist() == [0.0] * 4


def test_floats_become_integers_as_on_every_processor(isa):
    """Red with: NEON's own conversions, which end at 2^31 - 1 and make no number a zero."""
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.7, 2.0**24 + 2, 2.0**31 - 128, -(2.0**31)])
    beyond = np.array([2.0**31, np.inf, -np.inf, -1e20, np.nan])
    both = np.concatenate((x, beyond)).astype(np.float32)
    for kind, function in (("truncated", np.trunc), ("rounded", np.rint)):
        expected = [*function(x), *[-(2.0**31)] * len(beyond)]
        assert core.draw(kind, both, 1).tolist() == expected


@pytest.mark.parametrize(
    ("message", "state", "n"),
    [("state has shape", (4, 15), 1), ("state has shape", (3, 16), 1), ("n: must be", (4, 16), -1)],
)
def test_row_words_names_the_bad_argument(message, state, n):
    with pytest.raises(ValueError, match=message):
        core.row_words(np.ones(state, np.uint32), n)


def test_draw_refuses_an_unknown_kind():
    with pytest.raises(ValueError, match="kind: no sampler called 'cauchy'"):
        core.draw("cauchy", np.zeros(1, np.float32), 1)


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [("normal", 0.0), ("gamma", 0.01), ("gamma", 50.0), ("poisson", 2.0), ("poisson", 40.0)],
)
def test_draws_are_equal_on_every_instruction_set(kind, parameter):
    before = core.isa()
    got = []
    for name in core.available_isas():
        core.use_isa(name)
        got.append(core.draw(kind, np.full(10_001, parameter, np.float32), 5).tobytes())
    core.use_isa(before)
    assert len(set(got)) == 1


def test_zeros_are_aligned_to_cache_lines_and_zero():
    a = core.zeros(3, 32, "float32")
    assert a.ctypes.data % 64 == 0
    assert a.shape == (3, 32)
    assert not a.any()


def test_zeros_refuses_an_unknown_dtype():
    with pytest.raises(ValueError, match="dtype: wanted float32"):
        core.zeros(1, 16, "complex64")


@pytest.mark.parametrize(("k", "columns"), [(1, 16), (15, 16), (16, 16), (17, 32), (129, 144)])
def test_padded_rounds_up_to_a_vector(k, columns):
    assert padded_width(k) == columns
