"""Clusters of topics of several chains, which training begins with."""

import numpy as np
import pytest

from pysgrld import LDA
from pysgrld.chain import clusters
from pysgrld.chain.clusters import cluster_means, distances, start_variance, ward
from pysgrld.train import short_chains


def topics(number, words=30, seed=0, concentration=0.1):
    return np.random.default_rng(seed).dirichlet(np.full(words, concentration), number)


@pytest.mark.parametrize("k", [1, 2, 7, 39, 40])
@pytest.mark.parametrize("concentration", [0.05, 1.0])
def test_clusters_are_those_of_wards_rule(k, concentration):
    """Beside SciPy's, whose merges are the same. Red with: sizes left out of the update."""
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    phi = topics(40, concentration=concentration).astype(np.float32)
    tree = hierarchy.ward(np.sqrt(phi.astype(float)))
    expected = hierarchy.fcluster(tree, k, "maxclust")
    found = ward(phi, k)
    assert len(set(found.tolist())) == k
    pairs = found[:, None] == found
    np.testing.assert_array_equal(pairs, expected[:, None] == expected)


def test_topics_that_chains_have_in_common_are_found_in_any_order():
    """Red with: a mean over chains without matching."""
    planted = topics(6)
    rng = np.random.default_rng(1)
    chains = [
        np.stack([rng.dirichlet(400 * planted[k] + 0.01) for k in rng.permutation(6)])
        for _ in range(5)
    ]
    means = cluster_means(np.concatenate(chains).astype(np.float32), 6)
    np.testing.assert_allclose(means.sum(axis=1), 1.0, rtol=1e-5)
    common = np.minimum(planted[:, None], means).sum(axis=2)
    assert sorted(common.argmax(axis=1).tolist()) == list(range(6))
    assert common.max(axis=1).min() > 0.95


def test_distances_are_exact_whatever_order_they_are_summed_in():
    """Words in another order: other sums of products. Red with: square roots that are not rounded."""
    phi = topics(60, words=2000, concentration=1.0).astype(np.float32)
    order = np.random.default_rng(2).permutation(2000)
    np.testing.assert_array_equal(distances(phi), distances(np.ascontiguousarray(phi[:, order])))


def test_clustering_can_be_stopped_at_any_step():
    """Red with: one product of all topics, or a loop that never asks."""
    phi = topics(60, words=2000).astype(np.float32)
    asked = []

    def waiting():
        asked.append(1)

    cluster_means(phi, 5, waiting)
    total = len(asked)
    assert total > 55  # before each union of two clusters
    for last in (1, total // 2, total):
        asked.clear()

        def stopping(last=last):
            asked.append(1)
            if len(asked) == last:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            cluster_means(phi, 5, stopping)


@pytest.mark.parametrize("block", [1, 3_000, 1 << 21])
def test_distances_are_the_same_in_blocks_of_any_size(monkeypatch, block):
    """Red with: blocks below the diagonal left out."""
    phi = topics(41, words=100).astype(np.float32)
    monkeypatch.setattr(clusters, "_BLOCK", block)
    root = np.rint(np.sqrt(phi.astype(np.float64)) * 2**20) / 2**20
    expected = ((root[:, None] - root) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances(phi), expected)


def test_the_variance_between_chains_is_that_of_matched_topics():
    """Red with: topics of one number compared; a mean that a chain without the topic raises."""
    planted, rng = topics(6, words=200, concentration=0.5), np.random.default_rng(1)
    roots, chains = np.sqrt(planted), []
    for _ in range(30):
        chain = np.abs(roots + rng.normal(0.0, 0.02, roots.shape)) ** 2
        chains.append((chain / chain.sum(axis=1, keepdims=True))[rng.permutation(6)])
    together, means = np.concatenate(chains).astype(np.float32), planted.astype(np.float32)
    probability = np.sort(planted, axis=1)[:, -20:].sum(axis=1)
    found = start_variance(together, means)
    np.testing.assert_allclose(found, 20 * 0.02**2 / probability, rtol=0.2)
    together[:6] = 1 / 200  # A chain without any of the topics hardly changes the median.
    np.testing.assert_allclose(start_variance(together, means), found, rtol=0.15)
    np.testing.assert_array_equal(start_variance(np.tile(means, (3, 1)), means), 0.0)
    assert start_variance(means, means) is None


def fitted(**given):
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(6, 0.2), 300)
    counts = np.stack([rng.multinomial(40, row) for row in theta @ topics(6, 60)])
    return LDA(6, max_iter=80, holdout=0, exact_sweeps=0, **given).fit(counts).components_


def test_a_fit_begins_with_clusters_where_it_is_asked_to():
    """Red with: clusters beside a max_iter that nobody asked them for."""
    several, one = fitted(starts=4), fitted(starts=1)
    assert not np.array_equal(several, one)
    np.testing.assert_array_equal(one, fitted())  # as there is a max_iter
    np.testing.assert_array_equal(several, fitted(starts=4, n_jobs=2))
    assert not np.array_equal(several, fitted(starts=4, random_state=1))


def test_short_chains_are_of_random_numbers_of_their_own(monkeypatch):
    """Red with: one seed for all; numbers of the short chains alone, the same in every run."""
    seen = []

    def looked_at(topics, k, waiting):
        seen.extend(topics.reshape(-1, k, topics.shape[1]))
        return cluster_means(topics, k, waiting)

    monkeypatch.setattr(short_chains, "cluster_means", looked_at)
    for seed in (0, 1):
        fitted(starts=3, random_state=seed)
    assert len({topics.tobytes() for topics in seen}) == 6
