"""Effects: formulas made into questions, and regressions of documents whose answers are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from pysgrld.effects.answers import Regression
from pysgrld.effects.design import LEVELS, design
from pysgrld.errors import UsageError

S, K = 20, 3


def about(**columns):
    """What is known of documents: columns with their kinds."""
    return SimpleNamespace(
        columns=[SimpleNamespace(name=name, kind=kind) for name, (kind, _) in columns.items()],
        values=lambda name, rows: [columns[name][1][row] for row in rows],
    )


def made(n, rng):
    party = rng.choice(["dem", "rep"], n).tolist()
    return about(
        party=("category", party),
        year=("integer", rng.integers(1990, 2020, n).tolist()),
        when=("time", [f"{y}-07-02T00:00:00Z" for y in rng.integers(2000, 2010, n)]),
        same=("category", ["x"] * n),
        many=("string", [f"v{i}" for i in range(n)]),
        twice=("category", party),
        gaps=("real", [None if i % 4 == 0 else float(i) for i in range(n)]),
    )


def asked(formula, n=200, **contrasts):
    return design(formula, made(n, np.random.default_rng(0)), np.arange(n), contrasts)


def test_a_formula_asks_for_shares_and_differences():
    """Red with: levels in another order; names of functions taken for columns."""
    found = asked("~ party + bs(year, df=4)")
    assert found.matrix.shape == (200, 6)
    told = [(a.column, a.what, a.label) for a in found.asked]
    assert told[:3] == [
        ("party", "share", "dem"),
        ("party", "share", "rep"),
        ("party", "difference", "rep - dem"),
    ]
    assert [t[:2] for t in told[3:]] == [
        ("year", "share"),
        ("year", "share"),
        ("year", "difference"),
    ]
    found = asked("party * np.log(year)", year=("1990", "2010"), party=("rep", "dem"))
    labels = [a.label for a in found.asked if a.what == "difference"]
    assert labels == ["dem - rep", "2010 - 1990"]
    # a difference is that of the shares
    shares = {a.label: a.weights for a in found.asked if a.what == "share"}
    np.testing.assert_allclose(found.asked[2].weights, shares["dem"] - shares["rep"])


def test_documents_without_a_value_are_left_out_and_dates_are_years():
    found = asked("~ gaps + when")
    assert found.missing == 50
    assert (found.rows % 4 != 0).all()
    when = found.matrix[:, found.names.index("when")]
    assert 2000.4 < when.min() < when.max() < 2009.6


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("~ nothing", "the corpus has no such column; its columns are 'party'"),
        ("party ~ year", "has a left side"),
        ("~ party +", "is no formula"),
        ("~ foo(year)", "cannot be computed: .*foo"),
        ("~ same", "'same' has 1 value in 200 documents"),
        ("~ many", f"'many' is text of 200 values, at most {LEVELS}"),
        ("~ party + twice", "'twice.*' follows from the columns before it"),
        ("~ 1", "names no column"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(formula, said):
    with pytest.raises(UsageError, match=said) as caught:
        asked(formula)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("contrasts", "said"),
    [
        ({"party": ("dem", "green")}, "party=green: its values are dem, rep"),
        ({"year": ("1990", "late")}, "compared at two of them"),
        ({"when": ("1", "2")}, "the formula has no such column"),
    ],
)
def test_contrasts_that_are_not_there_are_refused(contrasts, said):
    with pytest.raises(UsageError, match=said):
        asked("~ party + year", **contrasts)


def shares_of(found, rng, effect=0.0, noise=0.1, draws=S):
    """Shares that go with the first column by an effect, the same in all draws."""
    n = len(found.rows)
    x = found.matrix[:, 1]
    share = 0.3 + effect * x + rng.normal(0, noise, n)
    rest = (1 - share) / 2
    return np.repeat(np.stack([share, rest, rest], axis=1)[None], draws, axis=0).astype(np.float32)


def answered(found, shares, units=None, lengths=None):
    n = shares.shape[1]
    units = np.arange(n) if units is None else units
    lengths = np.full(n, 100) if lengths is None else lengths
    regression = Regression(found, units, lengths, len(shares), K)
    for places in np.array_split(np.arange(n), 3):
        here = slice(places[0], places[-1] + 1)
        regression.add(here, shares[:, here])
    regression.restore_spread()
    return regression.answers(known=True)


def test_means_are_those_of_least_squares():
    """Red with: documents of the last block alone; questions put to the wrong coefficients."""
    found = asked("~ party + year")
    shares = shares_of(found, np.random.default_rng(1), 0.1)
    beta = np.linalg.lstsq(found.matrix, shares[0, :, 0].astype(float), rcond=None)[0]
    answers = answered(found, shares)[0]
    for question, answer in zip(found.asked, answers, strict=True):
        assert answer.mean == pytest.approx(question.weights @ beta, abs=1e-6)
        assert (answer.column, answer.label) == (question.column, question.label)
        assert answer.low < answer.mean < answer.high
    assert answers[2].surely == 1
    assert answers[0].surely is None


@pytest.mark.parametrize("n", [9, 200])
def test_intervals_hold_the_effect_nine_times_in_ten(n):
    """Red with: normal deviates for Student's t, or draws' noise that is counted twice (n = 9: 84 %)."""
    rng, held = np.random.default_rng(2), []
    for _ in range(300):
        party = about(party=("category", ["dem", "rep"] * n))
        found = design("~ party", party, np.arange(n), {})
        difference = answered(found, shares_of(found, rng, 0.1, draws=2))[0][2]
        held.append(difference.low <= 0.1 <= difference.high)
    assert 0.865 <= np.mean(held) <= 0.935


def test_documents_that_came_together_count_as_one():
    """Red with: clusters that are not heard of: 61 % of the differences leave 0 out."""
    rng, out = np.random.default_rng(3), []
    for _ in range(150):
        cluster = np.arange(200) // 10
        of = rng.integers(0, 2, 20)
        party = np.array(["dem", "rep"])[of[cluster]].tolist()
        found = design("~ party", about(party=("category", party)), np.arange(200), {})
        shares = shares_of(found, rng, 0.0, 0.02)
        shares[:, :, 0] += rng.normal(0, 0.1, 20)[cluster].astype(np.float32)
        difference = answered(found, shares, units=cluster)[0][2]
        out.append(not difference.low <= 0 <= difference.high)
    assert 0.04 <= np.mean(out) <= 0.16


def test_spread_that_short_documents_lack_is_restored():
    """Posterior means of normal shares. Red with: nothing restored (0.07)."""
    rng = np.random.default_rng(4)
    n = 4000
    found = design("~ party", made(n, rng), np.arange(n), {})
    x = found.matrix[:, 1]
    lengths = np.where(rng.random(n) < 0.2 + 0.6 * x, 10, 100)
    truth = 0.4 + 0.1 * (x - 0.5) + rng.normal(0, 0.05, n)
    error = np.where(lengths == 10, 0.07, 0.02)
    seen = truth + rng.normal(0, error)
    spread = truth.var()
    reliable = spread / (spread + error**2)
    centre = 0.4 + reliable * (seen - 0.4)
    draws = centre + rng.normal(0, np.sqrt(reliable) * error, (S, n))
    shares = np.stack([draws, (1 - draws) / 2, (1 - draws) / 2], axis=2).astype(np.float32)
    difference = answered(found, shares, lengths=lengths)[0][2]
    assert difference.mean == pytest.approx(0.1, abs=0.006)
    # of either length by itself, too
    for length in (10, 100):
        some = np.flatnonzero(lengths == length)
        part = design("~ party", made(n, np.random.default_rng(4)), some, {})
        own = answered(part, shares[:, some], lengths=lengths[some])[0][2]
        assert own.mean == pytest.approx(0.1, abs=0.025)
