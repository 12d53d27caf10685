"""Intervals of effects: how often they hold effects that are known, of documents however short."""

import numpy as np
import pytest

from pysgrld.effects.composition import Fit, Regression, WordAllocation, bootstrap_sets
from pysgrld.report.population import sure_signs
from pysgrld.types import Documents

pytestmark = pytest.mark.statistical

TOPICS, WORDS = 4, 60


def as_documents(counts):
    rows, words = np.nonzero(counts)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
    return Documents(
        indptr.astype(np.int64), words.astype(np.int32), counts[rows, words].astype(np.int32)
    )


def held(corpora, documents, lengths, clusters=0):
    """Shares of intervals that hold known effects, leave 0 out of null columns, and are called sure."""
    inside, outside, called = [], [], []
    for seed in range(corpora):
        rng = np.random.default_rng(seed)
        phi = rng.dirichlet(np.full(WORDS, 0.3), TOPICS)  # topics that overlap
        low, of_party, of_year = rng.dirichlet(np.full(TOPICS, 2.0), 3)
        number = (
            clusters or documents
        )  # all documents of a cluster have the same columns and proportions
        party, coin = rng.integers(0, 2, (2, number))
        year, null = rng.random((2, number))
        mean = 0.3 * low + 0.35 * np.where(party[:, None] == 1, of_party, low)
        mean += 0.35 * (year[:, None] * of_year + (1 - year[:, None]) * low)
        known = {1: 0.35 * (of_party - low), 2: 0.35 * (of_year - low)}
        theta = np.array([rng.dirichlet(0.5 * m + 1e-9) for m in mean])
        units = rng.permutation(np.arange(documents) % number)
        length = rng.choice(lengths, documents)
        counts = np.array(
            [rng.multinomial(n, t @ phi) for n, t in zip(length, theta[units], strict=True)]
        )
        x = np.column_stack([np.ones(number), party, year, coin, null])[units].astype(float)
        sorting = WordAllocation.from_topics(phi, None, [phi])
        regression = Regression(x, units if clusters else None, TOPICS, bootstrap_sets(1))
        regression.add(0, sorting.shares(as_documents(counts)))
        fit = Fit(regression, sorting.back)
        for column in range(1, 5):
            sampled = fit.estimate(np.eye(5)[column])
            low_end, high_end = sampled.interval(-1.0)
            if column in known:
                inside += ((low_end <= known[column]) & (known[column] <= high_end)).tolist()
            else:
                outside += ((low_end > 0) | (high_end < 0)).tolist()
                called += (sure_signs(sampled.in_errors()) != 0).tolist()
    return np.mean(inside), np.mean(outside), np.mean(called)


def test_intervals_of_effects_on_short_documents_hold_the_truth():
    """Red with: `Sorting.back` the identity (0.62 held); a stretch of half (0.63)."""
    inside, outside, called = held(40, 300, [5, 10, 30])
    assert 0.85 <= inside <= 0.95  # 320 intervals, whose standard error is 0.017
    assert 0.05 <= outside <= 0.15
    assert called <= 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("length", [5, 10, 30, 100])
def test_intervals_of_effects_hold_the_truth_nine_times_in_ten(length):
    """Bars of docs/calibration.md, by the length of documents: 88 to 92 %; of null columns 8 to 12 %."""
    inside, outside, called = held(400, 500, [length])
    assert 0.88 <= inside <= 0.92
    assert 0.08 <= outside <= 0.12
    assert called <= 0.05


def test_intervals_of_effects_of_few_documents_are_wide_enough():
    """Red with: a stretch of 1 and normal quantiles (0.77 held)."""
    inside, outside, _ = held(100, 16, [30])
    assert inside >= 0.86
    assert outside <= 0.14


def test_intervals_of_effects_over_clusters_hold_the_truth():
    """Red with: clusters that are forgotten (0.38 held)."""
    inside, outside, _ = held(40, 300, [20], clusters=30)
    assert 0.84 <= inside <= 0.96
    assert 0.04 <= outside <= 0.17


def test_a_test_of_a_column_of_four_values_has_its_level():
    """Red with: a covariance over documents that is halved (0.33 rejected)."""
    p, found = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        value = rng.choice(4, 100)
        shares = rng.dirichlet(np.full(TOPICS, 0.7), 100)
        for moved, values in ((0.0, p), (0.25, found)):
            part = moved * (value[:, None] == 2)
            x = np.column_stack([np.ones(100), *(value == i for i in (1, 2, 3))]).astype(float)
            regression = Regression(x, None, TOPICS, bootstrap_sets(1))
            regression.add(0, (1 - part) * shares + part * np.eye(TOPICS)[0])
            values += Fit(regression, np.eye(TOPICS)[None]).test(np.eye(4)[1:]).tolist()
    assert 0.01 <= np.mean(np.array(p) < 0.05) <= 0.09  # 160 tests, standard error 0.017
    assert np.mean(np.array(found[::TOPICS]) < 0.05) > 0.5
