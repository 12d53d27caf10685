"""Effects of columns: formulas, what words are sorted to, weightings, degrees of freedom."""

import re
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from pysgrld.effects import composition, latest_period
from pysgrld.effects.answers import (
    EffectRequest,
    estimate_effects,
    number_clusters,
    requested_columns,
)
from pysgrld.effects.composition import Fit, Regression, WordAllocation, bootstrap_sets
from pysgrld.effects.design import Design, formula_columns, to_date, to_years
from pysgrld.errors import UsageError
from pysgrld.types import Documents


def made(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "party": rng.choice(["dem", "ind", "rep"], n).tolist(),
        "year": rng.integers(1990, 2011, n).astype(float).tolist(),
        "incumbent": [bool(x) for x in rng.integers(0, 2, n)],
    }


def as_documents(counts):
    rows, words = np.nonzero(counts)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
    return Documents(
        indptr.astype(np.int64), words.astype(np.int32), counts[rows, words].astype(np.int32)
    )


# ---- formulas


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("~ party + bs(year, df=4)", ["party", "year"]),
        ("party * year", ["party", "year"]),
        ("~ np.log(year) + C(party, contr.sum)", ["year", "party"]),
        ("~ `first year` + {party}", ["first year", "party"]),
    ],
)
def test_the_columns_of_a_formula_are_those_that_it_names(formula, named):
    """Red with: formulaic's own list, which lacks the columns of bs()."""
    assert set(formula_columns(formula, named)) == set(named)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (
            "~ parti",
            "the documents have no column 'parti'; the columns are 'party', 'year', 'incumbent'",
        ),
        ("~ party +", "Operator"),
        ("y ~ party", "the left side is always the topics"),
        ("~ party + s(year)", "write the smooth curve s(year) as bs(year, df=4)"),
        ("~ 1", "uses no column of the documents"),
        ("~ year + I(2 * year)", "a combination of the terms before it"),
        ("~ bs(year, df=1)", "df"),
    ],
)
def test_what_does_not_parse_or_fit_is_refused_in_a_line(formula, said):
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        Design(formula, made())
    assert "\n" not in str(refused.value)


def test_columns_that_cannot_tell_anything_are_refused():
    n = 150
    columns = {"same": ["x"] * n, "text": [f"t{i}" for i in range(n)], "none": [None] * n}
    for name, said in (("same", "the same value"), ("text", "150 different"), ("none", "no doc")):
        with pytest.raises(UsageError, match=said):
            Design(f"~ {name}", columns)
    with pytest.raises(UsageError, match="3 documents are too few for the 3"):
        Design("~ year + I(year ** 2)", {"year": [1.0, 2.0, 3.0]})
    with pytest.raises(UsageError, match="infinite or NaN in a document"):
        Design("~ np.log(year)", {"year": [-1.0, 2.0, 3.0, 4.0]})


def test_documents_without_a_value_are_left_out():
    columns = made()
    columns["party"][3], columns["year"][7] = None, float("nan")
    design = Design("~ party + year", columns)
    assert design.missing == 2
    assert set(range(200)) - set(design.used.tolist()) == {3, 7}


def test_numbers_are_compared_at_their_quartiles_and_categories_in_all_pairs():
    design = Design("~ party + year + incumbent", made())
    told = [(c.column, c.first.value, c.second.value) for c in design.comparisons()]
    low, high = (f"{q:g}" for q in np.quantile(made()["year"], (0.25, 0.75), method="nearest"))
    assert told == [
        ("party", "dem", "ind"),
        ("party", "dem", "rep"),
        ("party", "ind", "rep"),
        ("year", low, high),
        ("incumbent", "no", "yes"),
    ]


def test_values_are_compared_with_a_reference_or_with_the_most_frequent_of_many():
    """Red with: the first value by the alphabet; a reference that is not there passed over."""
    design = Design("~ party + incumbent", made())
    told = [(c.first.value, c.second.value) for c in design.comparisons(reference="ind")]
    assert told == [("ind", "dem"), ("ind", "rep"), ("no", "yes")]
    with pytest.raises(UsageError, match="the values are dem, ind, rep, no, yes"):
        design.comparisons(reference="green")
    states = [f"s{i % 12:02}" for i in range(60)] + ["s07"] * 9
    firsts = {c.first.value for c in Design("~ state", {"state": states}).comparisons()}
    assert firsts == {"s07"}


def test_a_prediction_leaves_other_columns_as_they_are():
    """The difference between years depends on how many documents each party has."""
    columns = made()
    design = Design("~ party * year", columns)
    (comparison,) = design.comparisons([("year", "1995", "2000")])
    step = dict(zip(design.names, comparison.second.mean - comparison.first.mean, strict=True))
    assert step["year"] == pytest.approx(5.0)
    share = np.mean([p == "rep" for p in columns["party"]])
    assert step["party[T.rep]:year"] == pytest.approx(5.0 * share)


@pytest.mark.parametrize(
    ("contrast", "said"),
    [
        (("party", "dem", "green"), "the values are dem, ind, rep"),
        (("year", "1900", "2000"), "from 1990 to 2010"),
        (("incumbent", "no", "yes"), "the formula has no such column"),
    ],
)
def test_a_contrast_that_is_not_there_is_refused(contrast, said):
    with pytest.raises(UsageError, match=said):
        Design("~ party + year", made()).comparisons([contrast])


def test_dates_are_years_and_shown_as_months():
    """Red with: 2004.5 for a date, February for 1 March, or 1999.53 along a column of whole years."""
    assert to_years(np.datetime64("2004-07-02")) == pytest.approx(2004.5, abs=0.01)
    assert to_years(np.datetime64("1999-01-01")) == 1999.0
    days = [None, *(np.datetime64(f"{year}-12-31") for year in range(1999, 2009))]
    design = Design("~ day", {"day": days})
    (pair,) = design.comparisons()
    assert (pair.first.value, pair.second.value) == ("2001-12", "2006-12")
    assert design.matrix[0, 1] == pytest.approx(1999.997, abs=0.001)
    days = [np.datetime64(f"{year}-03-01") for year in range(1999, 2009)]
    (pair,) = Design("~ day", {"day": days}).comparisons()
    assert (pair.first.value, pair.second.value) == ("2001-03", "2006-03")
    labels = [point.value for point in Design("~ year", {"year": range(1990, 2021)}).curve("year")]
    assert labels == sorted(set(labels))
    assert all(label.isdigit() for label in labels)


def test_a_number_of_years_is_its_day_again():
    """Red with: a year of 365 days."""
    for day in ("1999-01-01", "2000-02-29", "1899-12-31", "2024-12-31"):
        assert str(to_date(to_years(np.datetime64(day, "D")))) == day


# ---- shares of words


def test_shares_are_right_on_average_however_short_documents_are():
    """Red with: what words are sorted to, not taken back."""
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(40, 0.3), 4)
    theta = np.array([0.55, 0.25, 0.15, 0.05])
    sorting = WordAllocation.from_topics(phi, None, [phi])
    counts = rng.multinomial(3, theta @ phi, size=20_000)
    mean = (sorting.shares(as_documents(counts)) @ sorting.back[0]).mean(axis=0)
    np.testing.assert_allclose(mean, theta, atol=0.015)


def test_a_draw_of_the_topics_takes_back_its_own_mistakes():
    rng = np.random.default_rng(2)
    mean, draw = (rng.dirichlet(np.full(40, 0.3), 4) for _ in range(2))
    sorting = WordAllocation.from_topics(0.5 * mean + 0.5 * draw, None, [draw])
    np.testing.assert_allclose(draw @ sorting.weights @ sorting.back[0], np.eye(4), atol=1e-5)


# ---- regression


def fitted(design, shares, units=None, draws=2):
    k = shares.shape[1]
    regression = Regression(design, units, k, bootstrap_sets(draws))
    regression.add(0, shares)
    return Fit(regression, np.repeat(np.eye(k)[None], draws, axis=0))


def test_coefficients_are_those_of_least_squares_whatever_the_chunks():
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(500), rng.random(500)])
    shares = rng.dirichlet(np.ones(3), 500)
    whole = fitted(x, shares).estimate(np.array([0.0, 1.0]))
    expected = np.linalg.lstsq(x, shares, rcond=None)[0][1]
    np.testing.assert_allclose(whole.drawn.mean(axis=0), expected, atol=1e-5)
    regression = Regression(x, None, 3, bootstrap_sets(2))
    for begin in range(0, 500, 70):
        regression.add(begin, shares[begin : begin + 70])
    parts = Fit(regression, np.repeat(np.eye(3)[None], 2, axis=0)).estimate(np.array([0.0, 1.0]))
    np.testing.assert_allclose(parts.drawn, whole.drawn, atol=1e-5)


def test_a_year_is_a_number_like_others():
    """Red with: sums of squares of years in single precision."""
    rng = np.random.default_rng(7)
    part, shares = rng.random(500), rng.dirichlet(np.ones(3), 500)
    slope = np.array([0.0, 1.0])
    near, far = (
        fitted(np.column_stack([np.ones(500), x]), shares).estimate(slope)
        for x in (part, 2000.0 + 10.0 * part)
    )
    np.testing.assert_allclose(10.0 * far.drawn, near.drawn, atol=1e-5)
    np.testing.assert_allclose(10.0 * far.over_documents, near.over_documents, atol=1e-4)
    assert far.freedom[0] == pytest.approx(near.freedom[0])


def test_spread_over_documents_is_that_of_least_squares():
    """Red with: weights of 1; no stretch."""
    rng = np.random.default_rng(4)
    n = 24
    x = np.column_stack([np.ones(n), np.arange(n) % 2])
    shares = rng.normal(0.5, 0.1, (n, 300))  # as many topics as tell the mean variance
    over = fitted(x, shares).estimate(np.array([0.0, 1.0])).over_documents
    found = (over**2).mean()
    residual = shares - x @ np.linalg.lstsq(x, shares, rcond=None)[0]
    expected = (residual**2).sum(axis=0).mean() / (n - 2) * (1 / 12 + 1 / 12)
    assert found == pytest.approx(expected, rel=0.06)


def test_very_many_documents_are_weighted_together_and_vary_as_much(monkeypatch):
    """Red with: neighbours weighted together, which are alike; documents of the last sum left out."""
    rng = np.random.default_rng(9)
    n, slope = 4_010, np.array([0.0, 1.0])
    x = np.column_stack([np.ones(n), rng.random(n)])
    shares = 0.5 + 0.1 * np.sin(np.arange(n) / 300)[:, None] + rng.normal(0, 0.02, (n, 40))
    alone = fitted(x, shares).estimate(slope)
    monkeypatch.setattr(composition, "_UNITS", 400)
    together = fitted(x, shares).estimate(slope)
    np.testing.assert_allclose(together.drawn, alone.drawn, atol=1e-5)
    ratio = (together.over_documents**2).mean() / (alone.over_documents**2).mean()
    assert ratio == pytest.approx(1.0, abs=0.2)


def test_degrees_of_freedom_are_those_of_the_fewer_documents():
    x = np.column_stack([np.ones(1003), np.arange(1003) < 3])
    regression = Regression(x.astype(float), None, 2, 2)
    stretch, freedom = regression.freedom(np.array([0.0, 1.0]))
    assert freedom == pytest.approx(2.0, abs=0.05)  # Welch's, of 3 documents
    assert stretch == pytest.approx(np.sqrt(2.0), abs=0.02)
    x = np.column_stack([np.ones(40), np.arange(40) % 2]).astype(float)
    assert Regression(x, None, 2, 2).freedom(np.array([0.0, 1.0]))[1] == pytest.approx(38.0)
    alone = np.column_stack([np.ones(40), np.arange(40) < 1]).astype(float)
    assert Regression(alone, None, 2, 2).freedom(np.array([0.0, 1.0]))[1] == 0.0


def test_clusters_count_and_not_their_documents():
    """Red with: clusters that are forgotten: intervals are three times too narrow."""
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(30), 9)
    of_cluster = rng.normal(0.5, 0.1, (30, 50))
    x = np.column_stack([np.ones(270), units % 2]).astype(float)
    alone = fitted(x, of_cluster[units]).estimate(np.array([0.0, 1.0]))
    together = fitted(x, of_cluster[units], units).estimate(np.array([0.0, 1.0]))
    wider = np.sqrt((together.over_documents**2).mean() / (alone.over_documents**2).mean())
    assert wider == pytest.approx(3.0, rel=0.12)
    assert together.freedom[0] == pytest.approx(28.0, abs=0.5)


def test_a_document_without_a_cluster_is_one_of_its_own():
    assert number_clusters(["a", None, "b", "a", None], np.arange(5)).tolist() == [0, 1, 2, 0, 3]


# ---- all together


def test_a_planted_effect_is_found_and_a_column_of_coins_is_not():
    rng = np.random.default_rng(6)
    n = 800
    phi = rng.dirichlet(np.full(60, 0.1), 4)
    party = rng.integers(0, 2, n)
    mean = np.where(party[:, None] == 1, [0.4, 0.3, 0.2, 0.1], [0.1, 0.3, 0.2, 0.4])
    counts = np.array([rng.multinomial(20, rng.dirichlet(2 * m) @ phi) for m in mean])
    columns = {"party": np.where(party, "rep", "dem").tolist(), "coin": made(n)["incumbent"]}
    asked = EffectRequest("~ party + coin")
    documents, topics = as_documents(counts), np.arange(4)
    sorting = WordAllocation.from_topics(phi, None, [phi])
    effects = estimate_effects(asked, columns, sorting, topics, documents.take)
    party_told, coin_told = effects.compared
    assert [t.surely for t in party_told.topics] == [1, 0, 0, -1]
    assert [t.surely for t in coin_told.topics] == [0, 0, 0, 0]
    first = party_told.topics[0]
    assert first.difference.low < 0.3 < first.difference.high
    assert first.second.mean - first.first.mean == pytest.approx(first.difference.mean)
    table = pandas.DataFrame(effects.rows([3, 0], dict.fromkeys(range(4), "x")))
    assert table["topic"].tolist() == [3, 0, 3, 0]
    again = estimate_effects(asked, columns, sorting, topics, documents.take)
    assert again.compared == effects.compared


def test_pieces_of_a_long_document_are_sampled_together():
    """A coin per book is no effect. Red with: pieces as independent documents (some 30 % here)."""
    rng, books, pieces = np.random.default_rng(8), 40, 25
    phi, topics = rng.dirichlet(np.full(60, 0.1), 6), np.arange(6)
    sorting, wholes = (
        WordAllocation.from_topics(phi, None, [phi]),
        np.repeat(np.arange(books), pieces),
    )
    sure = {True: 0, False: 0}
    for _ in range(5):
        shares = np.repeat(rng.dirichlet(np.ones(6), books), pieces, axis=0)
        counts = np.array([rng.multinomial(50, share @ phi) for share in shares])
        coin = np.repeat(rng.permutation(books) % 2, pieces)
        columns = {"coin": np.where(coin, "heads", "tails").tolist()}
        for known in sure:
            effects = estimate_effects(
                EffectRequest("~ coin"),
                columns,
                sorting,
                topics,
                as_documents(counts).take,
                wholes=wholes if known else None,
            )
            sure[known] += sum(t.surely != 0 for t in effects.compared[0].topics)
            assert effects.wholes == (books if known else None)
            assert known or effects.likeness is not None
    assert sure[True] <= 2  # of 30
    assert sure[False] >= 6


def test_a_period_of_other_books_is_no_news(monkeypatch):
    """Red with: chunks of a book as independent documents of a period (22 of 80 here)."""
    rng, books, pieces = np.random.default_rng(12), 30, 20
    phi, wholes = rng.dirichlet(np.full(60, 0.1), 8), np.repeat(np.arange(books), pieces)
    sorting = WordAllocation.from_topics(phi, None, [phi])
    monkeypatch.setattr(latest_period, "allocate_words", lambda *args: sorting)
    monkeypatch.setattr(latest_period, "names_of", lambda *args: dict(enumerate("abcdefgh")))
    results = SimpleNamespace(
        fitted=SimpleNamespace(shown=lambda layer: np.arange(8)),
        vocabulary=[f"w{i}" for i in range(60)],
    )
    changes = 0
    for _ in range(10):
        shares = np.repeat(rng.dirichlet(np.ones(8), books), pieces, axis=0)
        documents = as_documents(np.array([rng.multinomial(50, share @ phi) for share in shares]))
        corpus = SimpleNamespace(
            take=documents.take, about=SimpleNamespace(wholes=lambda rows: wholes[rows])
        )
        news = latest_period._compare_topics_and_words(
            results,
            corpus,
            np.arange(len(documents)),
            wholes >= 20,
            (None, None, None, None),
            lambda *args: None,
        )
        changes += sum(topic.change != "steady" for topic in news.topics)
    assert changes <= 6


def test_a_column_of_whole_documents_is_warned_of():
    """Red with: no measure of likeness if pieces are sampled together."""
    rng, authors, books, pieces = np.random.default_rng(9), 12, 10, 8
    phi, topics = rng.dirichlet(np.full(60, 0.1), 4), np.arange(4)
    author = np.repeat(np.arange(authors), books * pieces)
    shares = rng.dirichlet(np.ones(4), authors)[author]
    counts = np.array([rng.multinomial(50, share @ phi) for share in shares])
    columns = {"coin": (author % 2).astype(str).tolist(), "author": author.astype(str).tolist()}
    effects = estimate_effects(
        EffectRequest("~ coin"),
        columns,
        WordAllocation.from_topics(phi, None, [phi]),
        topics,
        as_documents(counts).take,
        wholes=np.repeat(np.arange(authors * books), pieces),
    )
    assert effects.likeness is not None
    assert effects.likeness.column == "author"
    assert 5 < effects.likeness.design_effect <= 10.5  # ten books of an author


def test_a_cluster_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="cluster: unknown column 'house'"):
        requested_columns("~ party", "house", made())


def test_values_with_few_documents_hide_no_difference_between_others():
    """Red with: Hotelling's test alone, whose p-value here is 0.08."""
    rng = np.random.default_rng(4)
    phi, n, sizes = rng.dirichlet(np.full(60, 0.1), 4), 400, 0.85 ** np.arange(21)
    place = rng.choice(21, n, p=sizes / sizes.sum())
    mean = np.where((place == 1)[:, None], [1 / 2, 1 / 6, 1 / 6, 1 / 6], [1 / 4] * 4)
    counts = np.array([rng.multinomial(20, rng.dirichlet(2 * m) @ phi) for m in mean])
    drawn = [phi, *(rng.dirichlet(np.full(60, 0.1), 4) * 0.1 + phi * 0.9 for _ in range(3))]
    effects = estimate_effects(
        EffectRequest("~ place"),
        {"place": [f"place {x}" for x in place]},
        WordAllocation.from_topics(phi, None, drawn),
        np.arange(4),
        as_documents(counts).take,
    )
    test = effects.tests[0]
    assert test.documents == [int((place == int(value[6:])).sum()) for value in test.values]
    assert test.p[0] < 0.01
    largest = max((each.topics[0] for each in effects.compared), key=lambda each: each.rank)
    assert largest.difference.low > 0 or largest.difference.high < 0
