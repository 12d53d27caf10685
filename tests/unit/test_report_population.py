"""Shares in groups of documents like these: intervals and signs, on populations that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from pysgrld.report.document_pass import DrawnBlock
from pysgrld.report.population import GroupOfEach, PopulationShares, Sampled, sure_signs

S = 20


def seen(theta, groups, lengths=None, draws=None, blocks=1):
    """Shares in groups of documents whose proportions, (n, K), are drawn with noise, or as given."""
    n, k = theta.shape
    lengths = np.full(n, 100) if lengths is None else lengths
    if draws is None:
        draws = np.repeat(theta[None], S, axis=0)
    visitor = PopulationShares(groups)
    visitor.begin(len(draws), n, k)
    for places in np.array_split(np.arange(n), blocks):
        here = slice(places[0], places[-1] + 1)
        values = draws[:, here].astype(np.float32)
        tokens = values * lengths[here, None].astype(np.float32)
        visitor.add(DrawnBlock(here, values, tokens, lengths[here], np.ones(values.shape[1:])))
    return visitor.shares


def in_halves(n):
    return GroupOfEach(np.arange(n) % 2, 2)


def test_means_are_of_these_documents_each_once_and_by_words():
    """Red with: lengths for ones."""
    rng = np.random.default_rng(0)
    theta, lengths = rng.dirichlet(np.ones(4), 30), rng.integers(1, 500, 30)
    groups = GroupOfEach(np.arange(30) % 4 - 1, 3)  # every fourth document is in none
    found = seen(theta, groups, lengths)
    tokens = theta * lengths[:, None]
    for group in range(3):
        here, others = groups.of == group, groups.of != group
        by_documents = theta[here].mean(axis=0)
        by_words = tokens[here].sum(axis=0) / lengths[here].sum()
        np.testing.assert_allclose(found.documents.mean[:, group], by_documents, rtol=1e-5)
        np.testing.assert_allclose(found.words.mean[:, group], by_words, rtol=1e-5)
        more = by_documents - theta[others].mean(axis=0)
        np.testing.assert_allclose(found.documents.more[:, group], more, atol=1e-6)
    np.testing.assert_allclose(found.documents.mean[:, -1], theta.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(
        found.words.mean[:, -1], tokens.sum(axis=0) / lengths.sum(), rtol=1e-5
    )


def test_blocks_of_documents_do_not_matter():
    """Red with: weights drawn block by block, of which each is others'."""
    theta = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    one, several = (seen(theta, in_halves(40), blocks=blocks) for blocks in (1, 7))
    for a, b in zip(one, several, strict=True):
        for part, other in zip(a, b, strict=True):
            np.testing.assert_allclose(part, other, atol=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "spread", "least", "most"),
    [
        (6, 2.0, 0.86, 0.93),
        pytest.param(30, 2.0, 0.87, 0.93, marks=pytest.mark.nightly),
        pytest.param(200, 0.3, 0.86, 0.92, marks=pytest.mark.nightly),
    ],
)
def test_intervals_hold_the_mean_of_the_population(n, spread, least, most):
    """Nine in ten, of few documents too. Red with: no stretch (0.78 of six documents)."""
    rng = np.random.default_rng(2)
    truth, held, apart = np.array([0.2, 0.3, 0.5]), [], []
    for _ in range(80):
        found = seen(rng.dirichlet(spread * truth * 3, 2 * n), in_halves(2 * n)).documents
        inside = (found.low <= truth[:, None]) & (truth[:, None] <= found.high)
        held.append(inside[:, :2])
        apart.append((found.more_low[:, 0] <= 0) & (found.more_high[:, 0] >= 0))
    assert least < np.mean(held) < most
    assert 0.87 < np.mean(apart) < 0.94


@pytest.mark.statistical
def test_noise_of_documents_is_counted_once_and_that_of_topics_is_added():
    """Differences of two groups of one population exclude 0 one time in ten.

    Red with: variance of the draws added whole (3 % where documents are short).
    """
    rng = np.random.default_rng(3)
    excluded, n, prior = [], 100, np.array([0.4, 0.6, 1.0])
    for _ in range(80):
        truth = rng.dirichlet(prior, n)
        posterior = rng.standard_gamma(rng.multinomial(10, truth) + prior, (S, n, 3))
        posterior /= posterior.sum(axis=2, keepdims=True)
        found = seen(truth, in_halves(n), draws=posterior).documents
        excluded.append((found.more_low[:, 0] > 0) | (found.more_high[:, 0] < 0))
    assert 0.07 < np.mean(excluded) < 0.14
    # topics that all documents share move in the draws: as wide as those, with no documents' noise
    flat = np.full((400, 3), 1 / 3)
    moved = flat[None] + rng.normal(0, 0.02, (S, 1, 1)) * np.array([1.0, -1.0, 0.0])
    found = seen(flat, in_halves(400), draws=moved).documents
    drawn = np.quantile(moved[:, 0, 0], (0.05, 0.95), method="weibull")
    assert found.high[0, 0] - found.low[0, 0] == pytest.approx(np.ptp(drawn), rel=0.02)
    assert found.more_high[0, 0] - found.more_low[0, 0] < 1e-6


@pytest.mark.statistical
def test_one_long_document_makes_shares_by_words_unsure():
    """Coin flips, and one document of half of all words. Red with: documents for effective ones."""
    rng = np.random.default_rng(4)
    lengths = np.full(60, 50)
    lengths[0] = 3000
    theta = rng.dirichlet(np.ones(4), 60)
    theta[0] = [0.97, 0.01, 0.01, 0.01]
    found = seen(theta, in_halves(60), lengths)
    assert not found.words.sign.any()
    assert found.words.low[0, 0] < 0.3
    assert found.words.high[0, 0] == 1.0
    assert found.documents.high[0, 0] < 0.5


def test_clusters_count_as_one():
    """Documents of a cluster are the same one again. Red with: documents for units."""
    theta = np.repeat(np.random.default_rng(5).dirichlet(np.ones(3), 12), 25, axis=0)
    cluster = np.arange(300) // 25
    of = cluster % 2
    alone, together = (seen(theta, GroupOfEach(of, 2, c)).documents for c in (None, cluster))
    widths = [(e.high - e.low)[:, :2].mean() for e in (alone, together)]
    assert 5 < widths[1] / widths[0] < 9  # 5 for the root of 25, and Student's t of six clusters
    np.testing.assert_allclose(alone.mean, together.mean)
    one = seen(theta, GroupOfEach(of, 2, np.zeros(300, np.int64))).documents
    assert one.low[:, :2].max() == 0
    assert one.high.min() == 1
    assert not one.sign.any()


def test_a_topic_of_a_few_long_documents_is_not_surely_more_anywhere():
    """Red with: degrees of freedom by lengths alone: 14 % of the differences leave 0 out."""
    rng = np.random.default_rng(5)
    left_out = []
    for _ in range(250):
        n = 300
        lengths = rng.lognormal(4.0, 1.2, n).astype(np.int64) + 1
        theta = rng.dirichlet([0.01, 1.0, 1.0], n)
        theta[rng.random(n) < 0.04] = [0.9, 0.05, 0.05]
        words = seen(theta, GroupOfEach(rng.integers(0, 2, n), 2), lengths).words
        left_out.append(words.more_low[0, 0] > 0 or words.more_high[0, 0] < 0)
    assert 0.03 <= np.mean(left_out) <= 0.125


def test_a_variance_is_as_unsure_as_that_of_the_clusters_that_make_it():
    """Red with: degrees of freedom of documents that came together; fewer than n of units alike."""
    theta = np.full((200, 2), 0.5)
    theta[:20] = [0.9, 0.1]  # two clusters of ten
    alike = np.random.default_rng(0).normal(0.5, 0.05, 200)
    for cluster, least, most in ((None, 50, 60), (np.arange(200) // 10, 5, 6)):
        visitor = PopulationShares(GroupOfEach(np.zeros(200, np.int64), 1, cluster))
        for shares, bounds in ((theta, (least, most)), (np.c_[alike, 1 - alike], (12, 260))):
            visitor.begin(S, 200, 2)
            draws = np.repeat(shares[None], S, axis=0).astype(np.float32)
            lengths = np.full(200, 100)
            visitor.add(
                DrawnBlock(slice(0, 200), draws, 100 * draws, lengths, np.ones(draws.shape[1:]))
            )
            units = 200 if cluster is None else 20
            freedom = visitor._words.sampled(np.array([1.0, 0.0]), units).freedom
            assert bounds[0] <= freedom[0] <= min(bounds[1], units - 1)


def test_documents_that_are_clusters_of_their_own_are_as_without_clusters():
    """Sums of powers and all documents. Red with: a wrong binomial coefficient; a share of other sign."""
    rng = np.random.default_rng(8)
    of, lengths = rng.integers(0, 3, 120), rng.integers(5, 300, 120)
    theta = rng.dirichlet([0.1, 0.5, 2.0], 120)
    found = [seen(theta, GroupOfEach(of, 3, c), lengths) for c in (None, np.arange(120))]
    for how in ("documents", "words"):
        without, clustered = (getattr(one, how) for one in found)
        for part, other in zip(without, clustered, strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-6, atol=1e-12)


def test_a_group_of_one_document_tells_nothing_of_others():
    theta = np.random.default_rng(6).dirichlet(np.ones(3), 50)
    found = seen(theta, GroupOfEach((np.arange(50) > 0).astype(np.int64), 2)).documents
    assert found.low[:, 0].tolist() == [0, 0, 0]
    assert found.high[:, 0].tolist() == [1, 1, 1]
    assert not found.sign.any()
    everything = seen(theta, GroupOfEach(np.zeros(50, np.int64), 1)).documents
    assert not everything.sign.any()


def test_a_real_difference_is_seen_and_its_sign_is_right():
    rng = np.random.default_rng(7)
    theta = np.concatenate([rng.dirichlet([4, 2, 2], 80), rng.dirichlet([2, 2, 4], 80)])
    found = seen(theta, GroupOfEach(np.arange(160) // 80, 2)).documents
    assert found.sign[:, :2].tolist() == [[1, -1], [0, 0], [-1, 1]]
    np.testing.assert_array_equal(found.more[:, 0], -found.more[:, 1])


@pytest.mark.parametrize(("draws", "n"), [(5, 4), (5, 400), (20, 6)])
def test_errors_are_students_with_both_degrees_of_freedom(draws, n):
    """Beside scipy's t and Rubin's formulas. Red with: 1 for 1 + 1/S; a normal law."""
    rng = np.random.default_rng(10)
    drawn = 0.03 + rng.normal(0, 0.01, (draws, 1))
    sampled = Sampled(drawn, rng.normal(0, 0.01, (400, 1)), np.zeros(1), np.array([n - 1.0]))
    within, between = (sampled.over_documents**2).mean(), drawn.var(ddof=1) * (1 + 1 / draws)
    total = within + between
    freedom = total**2 / (within**2 / (n - 1) + between**2 / (draws - 1))
    p = stats.t.sf(drawn.mean() / math.sqrt(total), freedom)
    assert sampled.in_errors()[0] == pytest.approx(stats.norm.isf(p), rel=0.01)


def test_without_samples_there_are_means_alone():
    theta = np.random.default_rng(8).dirichlet(np.ones(3), 10)
    found = seen(theta, in_halves(10), draws=theta[None]).documents
    np.testing.assert_array_equal(found.low, found.mean)
    assert not found.sign.any()


def test_signs_are_sure_with_all_comparisons_accounted_for():
    """The rule of Benjamini and Hochberg, beside its textbook form. Red with: each p below 0.05."""
    rng = np.random.default_rng(9)
    z = np.concatenate([rng.normal(0, 1, 900), rng.normal(-4, 1, 100)]).reshape(50, 20)
    p = np.array([math.erfc(abs(x) / math.sqrt(2)) for x in z.ravel()])
    ranked = sorted(p)
    bound = max(q for i, q in enumerate(ranked, 1) if q <= 0.05 * i / len(p))
    found = sure_signs(z)
    np.testing.assert_array_equal((found != 0).ravel(), p <= bound)
    assert set(found.ravel().tolist()) <= {-1, 0, 1}
    assert (found.ravel()[:900] != 0).sum() <= 0.1 * (found != 0).sum()
    assert not sure_signs(np.zeros((3, 4))).any()
    assert sure_signs(np.zeros((0, 4))).shape == (0, 4)


def test_shares_beyond_a_bound_keep_the_width_of_their_interval():
    """Red with: 100.0 (100.0 to 100.0) for a predicted share of 104 +- 2 %."""
    rng = np.random.default_rng(0)
    errors = rng.normal(0.0, 0.02, (4000, 3))
    draws = np.tile([1.04, 0.5, -0.04], (2, 1))
    sampled = Sampled(draws, errors, np.zeros(3), np.full(3, 1e6))
    low, high = sampled.interval(0.0)
    np.testing.assert_allclose(low, [1 - 1.645 * 0.02, 0.5 - 1.645 * 0.02, 0.0], atol=0.003)
    np.testing.assert_allclose(high, [1.0, 0.5 + 1.645 * 0.02, 1.645 * 0.02], atol=0.003)
