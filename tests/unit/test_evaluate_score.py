"""Standard errors of held-out figures: against the bootstrap, many corpora, and an exact case.

docs/internals/mathematics.md, "Standard errors".
"""

import math
import pickle

import numpy as np
import pytest

from pysgrld.evaluate import PERPLEXITY, Estimate


def documents(n, rng):
    """Log probabilities and tokens of n documents, long ones harder to predict by the token."""
    tokens = rng.integers(2, 60, n).astype(float)
    ease = rng.normal(0.01 * tokens, 0.4)
    return -tokens * (6.0 + ease), tokens


def perplexity(logs, tokens):
    return Estimate.perplexity(math.exp(-logs.sum() / tokens.sum()), logs, tokens)


def test_error_is_the_spread_of_the_perplexity_over_resampled_documents():
    """Red with: the mean over documents for the ratio of sums; tokens as what is sampled; no factor
    of the perplexity.
    """
    rng = np.random.default_rng(1)
    logs, tokens = documents(300, rng)
    drawn = rng.integers(0, 300, (4000, 300))
    spread = np.exp(-logs[drawn].sum(axis=1) / tokens[drawn].sum(axis=1)).std()
    assert perplexity(logs, tokens).error == pytest.approx(spread, rel=0.05)


def test_error_is_the_spread_over_corpora():
    """Red with: the error without n / (n - 1)."""
    rng = np.random.default_rng(2)
    found = [perplexity(*documents(12, rng)) for _ in range(6000)]
    mean_square = np.mean([f.error**2 for f in found])
    assert mean_square == pytest.approx(np.var(found, ddof=1), rel=0.06)


def test_error_of_a_mean_is_the_exact_one():
    """Red with: n for n - 1."""
    values = np.array([1.0, 4.0, 2.5])
    figure = Estimate.mean(7.0, values)
    assert float(figure) == 7.0
    assert figure.error == pytest.approx(values.std(ddof=1) / math.sqrt(3), rel=1e-12)


def test_figures_of_the_same_documents_are_compared_in_pairs():
    """Red with: the errors of both added up as if their documents were others."""
    rng = np.random.default_rng(3)
    logs, tokens = documents(300, rng)
    better = logs + tokens * rng.normal(0.1, 0.02, 300)
    gap = perplexity(better, tokens).subtract(perplexity(logs, tokens))
    drawn = rng.integers(0, 300, (4000, 300))
    lengths = tokens[drawn].sum(axis=1)
    gaps = np.exp(-better[drawn].sum(axis=1) / lengths) - np.exp(-logs[drawn].sum(axis=1) / lengths)
    assert gap.error == pytest.approx(gaps.std(), rel=0.05)
    assert gap.error < 0.5 * perplexity(logs, tokens).error


def test_a_copy_knows_its_error():
    """Red with: a figure that cannot be sent to another process."""
    figure = Estimate.mean(2.0, np.array([1.0, 3.0]))
    copy = pickle.loads(pickle.dumps(figure))
    assert (copy, copy.error) == (2.0, figure.error)


def test_one_document_has_no_error():
    assert math.isnan(perplexity(np.array([-3.0]), np.array([1.0])).error)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (764.52, 27.31, "765 ± 27"),
        (1368.04, 153.0, "1,368 ± 153"),
        (764.52, 3.42, "764.5 ± 3.4"),
        (764.52, 0.021, "764.5 ± 0.0"),
        (764.52, math.nan, "764.5"),
        (764.52, None, "764.5"),
    ],
)
def test_the_error_says_how_many_digits_are_shown(value, error, shown):
    assert PERPLEXITY.show(value, error) == shown


def test_a_figure_of_other_documents_is_what_they_have():
    """Red with: influences added up for a perplexity."""
    logs, tokens = np.array([-3.0, -40.0, -5.0]), np.array([1.0, 9.0, 2.0])
    drawn = np.array([2, 2, 0])
    perplexity = Estimate.perplexity(math.exp(48 / 12), logs, tokens)
    assert perplexity.among(drawn) == pytest.approx(math.exp(13 / 5))
    assert Estimate.mean(1.0 + logs.mean(), logs).among(drawn) == pytest.approx(1.0 - 13 / 3)
    assert pickle.loads(pickle.dumps(perplexity)).among(drawn) == perplexity.among(drawn)


def test_perplexities_are_averaged_by_their_logarithms_and_other_figures_as_they_are():
    tokens = np.array([1.0, 3.0])
    a = Estimate.perplexity(math.exp(2.0), np.array([-2.0, -6.0]), tokens)
    b = Estimate.perplexity(math.exp(4.0), np.array([-1.0, -15.0]), tokens)
    mean = Estimate.combine([a, b])
    assert mean == pytest.approx(math.exp(3.0))
    assert mean.among(np.array([0])) == pytest.approx(math.exp(1.5))
    c, d = Estimate.mean(2.0, np.array([1.0, 3.0])), Estimate.mean(4.0, np.array([2.0, 6.0]))
    assert Estimate.combine([c, d]) == 3.0
    assert Estimate.combine([c, d]).among(np.array([0])) == pytest.approx(1.5)


def test_topics_that_predict_no_better_than_counts_are_reported():
    """Red with: a remark on toys whose few documents say nothing; none for books as documents."""
    record = {"perplexity": 1795.0, "perplexity_se": 20.0, "unigram_perplexity": 1800.0}
    assert "no better than word frequencies alone (perplexity 1,795" in PERPLEXITY.remark(record)
    for better in ({"perplexity": 1700.0}, {"perplexity_se": 300.0}, {"unigram_perplexity": None}):
        assert not PERPLEXITY.remark(record | better)


@pytest.mark.parametrize("key", ["perplexity", "perplexity_se", "unigram_perplexity"])
@pytest.mark.parametrize("value", [["x", None], {}, "x", None])
def test_a_record_whose_score_is_no_number_has_no_remark(key, value):
    """Red with: float of a list, which ended `topics` with 70 for a forged record."""
    record = {"perplexity": 1795.0, "perplexity_se": 20.0, "unigram_perplexity": 1800.0}
    assert not PERPLEXITY.remark(record | {key: value})
