"""Kernels given floats that no caller should hand in: they end, with a refusal or with a result."""

import hostile_calls as hostile
import numpy as np
import pytest

from pysgrld.core import core
from pysgrld.errors import NumericalError

#: Arguments of a function that shares its code with one that is tried with them.
OF_ALIASES = {
    (f"simplex_{kernel}", argument)
    for kernel in ("sgrld", "scir_natural", "relax", "relax_rows")
    for argument in ("totals", "rank", "size")
}
SAMPLED = ["documents_gibbs", "documents_mean_field", "documents_collapsed", "documents_deep"]


def test_no_float_crashes_or_hangs_a_kernel():
    """Every 56th of all calls, and all by night; counts that come back are those of the tokens.

    Red with: loops of attempts without an end (g of infinity, log g of NaN, tiny shapes); a digamma's
    recurrence from minus infinity; phi that is no weight, whose tokens were counted 10^9 times or less
    than none (and above 128 topics written beside the arrays, which ended larger calls by SIGSEGV).
    """
    numbers = list(range(0, len(hostile.cases()), 56))
    assert hostile.attack(numbers) == []


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("isa", core.available_isas())
def test_no_number_crashes_or_hangs_a_kernel_of_any_kind(isa, threads, monkeypatch):
    """All of them, by every instruction set."""
    monkeypatch.setenv("SGMC_ISA", isa)
    numbers = list(range(len(hostile.every_case())))
    for seed in (1, 2):
        assert hostile.attack(numbers, seed, threads) == []


def test_every_function_and_integer_of_the_core_is_tried():
    """Red with: a function or an argument of ``_core.pyi`` that no call of hostile_calls.py has."""
    calls = hostile.calls(5, 1, 1)
    tried = {
        (kernel.split("#")[0], name)
        for kernel, arguments in calls.items()
        for name, value in arguments.items()
        if value is not None
    }
    takes = {name: arguments for name, arguments in hostile.functions().items() if arguments}
    assert {kernel.split("#")[0] for kernel in calls} == set(takes)
    assert {
        (function, argument)
        for function in takes
        for argument in hostile.integers_of(function)
        if (function, argument) not in tried | OF_ALIASES
    } == set()
    public = {name for name in dir(core) if not name.startswith("_")}
    functions = {name for name in public if callable(getattr(core, name))}
    assert functions - {"Purpose", "Workspace"} == set(hostile.functions())


@pytest.mark.timeout(1200)
def test_no_integer_crashes_or_hangs_a_function():
    """Every 104th of all calls, and all by night.

    Red with: zeros(-1, 4), which wrote beside its memory; rows of -2^63 and topics of 2^31 - 1 of
    documents_collapsed; passes of 2^31 - 1 of documents_expected (.ci/sanitizers shows overflows that
    do no harm here).
    """
    first, last = len(hostile.cases()), len(hostile.every_case())
    assert hostile.attack(list(range(first, last, 104))) == []


@pytest.mark.parametrize("kernel", hostile.calls(5, 1, 1))
def test_arrays_that_are_not_aligned_are_copied_or_refused(kernel):
    """Packed records and buffers with an offset have them.

    Red with: all kernels, which read them as if they were aligned: undefined, and an error of the
    processor where it does not do that.
    """
    call = getattr(core, kernel.split("#")[0])
    for name, value in hostile.calls(5, 1, 1)[kernel].items():
        first = value[0] if isinstance(value, list) else value
        if not isinstance(first, np.ndarray):
            continue
        good = hostile.calls(5, 1, 1)[kernel]
        arguments = hostile.calls(5, 1, 1)[kernel]
        arguments[name] = hostile.misaligned(arguments[name])
        before = hostile.misaligned(arguments[name])
        want = call(**good)
        try:
            result = call(**arguments)
        except TypeError:  # it would be written to
            np.testing.assert_equal(arguments[name], before)
            continue
        np.testing.assert_equal(result, want)
        np.testing.assert_equal(arguments[name], good[name])


@pytest.mark.parametrize("kernel", SAMPLED)
def test_sweeps_without_end_are_refused(kernel):
    """Red with: 2^31 - 1 sweeps of a few tokens, which took a quarter of an hour and no signals."""
    call = hostile.calls(5, 1, 1)[next(n for n in hostile.calls(5, 1, 1) if n.startswith(kernel))]
    with pytest.raises(ValueError, match=f"^sweeps: 2147483647, wanted at most {core.MAX_SWEEPS}"):
        getattr(core, kernel)(**call | {"sweeps": 2**31 - 1})


def test_more_draws_than_a_call_may_make_are_refused():
    """Red with: counts of 10^6 an entry, times as many sweeps as there may be.

    Deep documents draw once an entry, whatever its count: real data in units of 2^-20 have counts that
    large (tests/unit/test_estimators_deep_lda.py is red with tokens for entries there).
    """
    call = hostile.calls(5, 1, 1)["documents_gibbs"]
    call["counts"][:] = 1_000_000
    with pytest.raises(
        ValueError, match=r"^sweeps: \d+ tokens or entries times 4000 sweeps, wanted"
    ):
        core.documents_gibbs(**call | {"sweeps": 4000, "kept": 1})


def test_tables_of_more_customers_than_are_counted_are_refused():
    how = {"seed": 1, "chain": 0, "step": 0, "purpose": core.Purpose.test}
    with pytest.raises(ValueError, match=f"^n: wanted 0 to {core.MAX_COLLECTED}"):
        core.tables(n=np.array([core.MAX_COLLECTED + 1]), shape=np.ones(1), **how)


@pytest.mark.parametrize("topics", hostile.TOPICS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 0.0])
def test_rows_of_weights_that_are_no_weights_are_named(topics, value):
    """The row is named; a row of zeros is none either: its tokens would be without a topic."""
    phi = hostile.matrix(hostile.WORDS, topics, 1)
    phi[4, : topics if value == 0 else 1] = value
    call = hostile.calls(topics, 1, 1)
    for kernel, name in (("documents_gibbs", "phi"), ("documents_mean_field", "weights")):
        with pytest.raises(NumericalError, match=f"^{name}: row 4 sums to "):
            getattr(core, kernel)(**call[kernel] | {name: phi})
    deep = call["documents_deep"]
    deep["phi"] = [np.full_like(phi, value), deep["phi"][1]]
    with pytest.raises(NumericalError, match=r"^phi, theta, r: "):
        core.documents_deep(**deep)


@pytest.mark.parametrize("kernel", ["simplex_scir", "simplex_scir_natural", "simplex_scir_rows"])
def test_steps_that_float32_cannot_follow_are_refused(kernel):
    call = hostile.calls(5, 1, 1)[kernel]
    short = np.full(3, 1e-40) if kernel == "simplex_scir_rows" else 1e-40
    with pytest.raises(NumericalError, match=r"^h: steps of 1e-40 are shorter than 1e-20"):
        getattr(core, kernel)(**call | {"lengths" if kernel == "simplex_scir_rows" else "h": short})


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_cells_that_cannot_be_drawn_are_no_numbers_and_neither_are_their_sums(shape):
    """Infinite cells under sums that are finite: whoever asks for the new sums finds them.

    Red with: no end.
    """
    call = hostile.calls(20, 1, 1)["simplex_scir"]
    g = np.array(call["g"])
    g[2, 3] = np.inf
    call["counts"][:] = shape
    core.simplex_scir(**call | {"g": g})
    assert not np.isfinite(g[2, 3])
    assert not np.isfinite(call["sums"][3])
    assert np.isfinite(np.delete(g, 3, axis=1)).all()


@pytest.mark.parametrize("mean", [10.5, 1e3, 1e6, 1e9, 1e13, 1e20, 1e30])
def test_attempts_suffice_for_whatever_can_be_drawn(mean):
    """The bound of a loop of attempts is never met by numbers, however large they are."""
    n = 200_000
    for kind in ("gamma", "poisson"):
        x = core.draw(kind, np.full(n, mean, np.float32), 3).astype(np.float64)
        assert np.isfinite(x).all()
        assert abs(x.mean() / np.float32(mean) - 1) < max(5 / np.sqrt(mean * n), 1e-6)
